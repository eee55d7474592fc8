import Policy
import Selection
import Testing

@testable import Actions

/// The priority lock as a transcript of what comes in and what has to be done.
@Suite struct PriorityLockTests {
  private let window = Window(0x40_0001)
  private let vault = Self.app("vault", 7)
  private let other = Self.app("other", 8)

  private static func app(_ name: String, _ pid: Int32) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: pid, startTime: 1)), windowClass: Fact(name, .declared),
      executable: Fact("/usr/bin/\(name)", .attested))
  }

  private func time(_ milliseconds: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000).advanced(byMilliseconds: milliseconds)
  }

  private func press(_ lock: inout PriorityLock, _ milliseconds: Int) -> [PriorityLockEffect] {
    lock.keyPressed(
      by: vault, on: window, time: ServerTime(UInt32(5_000 + milliseconds)), at: time(milliseconds))
  }

  /// A lock that holds since 0.
  private func held() -> PriorityLock {
    var lock = PriorityLock()
    #expect(press(&lock, 0) == [.enclose(source: window)])
    #expect(lock.deadline == nil, "the one who encloses has its own limit")
    #expect(lock.enclosed(true, at: time(2)) == [.encloseAgain, .replay])
    #expect(lock.isHeld && lock.deadline == time(PriorityLock.heldMilliseconds), "from the key on")
    return lock
  }

  @Test func aCopyIsTakenAndEverybodyGoesOn() {
    var lock = held()
    #expect(lock.copyTaken().isEmpty, "what CLIPBOARD holds is still an older copy")
    #expect(lock.ownerChanged(to: vault, at: time(10)) == .held)
    #expect(lock.copyTaken() == [.release])
    #expect(!lock.isHeld && lock.deadline == nil && lock.takenCount == 1 && lock.lapsedCount == 0)
    #expect(lock.ownerChanged(to: vault, at: time(12)) == .none, "by menu")
  }

  @Test func aKeyThatCopiesNothingLetsOthersGoOn() {
    var lock = held()
    #expect(lock.deadlineReached(at: time(199)).isEmpty)
    #expect(lock.deadlineReached(at: time(200)) == [.release])
    #expect(!lock.isHeld && lock.deadline == nil && lock.lapsedCount == 1)
  }

  @Test func aLateCopyIsKnownForAMoment() {
    var lock = held()
    _ = lock.deadlineReached(at: time(200))
    #expect(lock.ownerChanged(to: other, at: time(300)) == .none)
    #expect(lock.ownerChanged(to: vault, at: time(1_199)) == .missed)
    #expect(lock.ownerChanged(to: vault, at: time(1_199)) == .none, "once")
    lock = held()
    _ = lock.deadlineReached(at: time(200))
    #expect(lock.ownerChanged(to: vault, at: time(1_200)) == .none)
  }

  @Test func aCopyThatIsBeingReadIsTakenBeforeOthersGoOn() {
    var lock = held()
    #expect(lock.ownerChanged(to: vault, at: time(190)) == .held)
    #expect(lock.deadlineReached(at: time(200)) == [.finishCopy, .release])
    #expect(lock.ownerChanged(to: vault, at: time(201)) == .none, "over")
  }

  @Test func whatCannotBeEnclosedIsSwallowed() {
    var lock = PriorityLock()
    _ = press(&lock, 0)
    #expect(lock.enclosed(false, at: time(3)) == [.swallow, .release])
    _ = press(&lock, 100)
    #expect(lock.enclosed(true, at: time(100 + PriorityLock.lockingMilliseconds)) == [.swallow, .release], "too late")
    #expect(lock.swallowedCount == 2 && !lock.isHeld && lock.ownerChanged(to: vault, at: time(300)) == .none)
  }

  @Test func furtherKeysGoOn() {
    var lock = held()
    #expect(press(&lock, 90) == [.replay])
    #expect(lock.deadline == time(PriorityLock.heldMilliseconds), "nobody can draw it out")
    _ = lock.deadlineReached(at: time(200))
    #expect(press(&lock, 210) == [.enclose(source: window)], "a new one")
  }

  /// Held down, a key would keep all others waiting for as long.
  @Test func aKeyThatRepeatsItselfLocksOnce() {
    var lock = held()
    for milliseconds in stride(from: 40, through: 2_000, by: 40) {
      #expect(press(&lock, milliseconds) == [.swallow])
      _ = lock.deadlineReached(at: time(milliseconds))
    }
    #expect(!lock.isHeld && lock.lapsedCount == 1 && lock.swallowedCount == 0, "nothing to be told")
    #expect(press(&lock, 2_100) == [.enclose(source: window)])
  }

  @Test func othersCannotEndIt() {
    var lock = held()
    #expect(lock.ownerChanged(to: other, at: time(5)) == .none)
    #expect(lock.copyTaken().isEmpty && lock.isHeld)
  }

  @Test func everyStateCanBeAbandoned() {
    var lock = PriorityLock()
    #expect(lock.abandon().isEmpty)
    _ = press(&lock, 0)
    #expect(lock.abandon() == [.release, .replay])
    #expect(lock.enclosed(true, at: time(1)).isEmpty)
    lock = held()
    #expect(lock.abandon() == [.release] && lock.deadline == nil)
    lock = held()
    _ = lock.deadlineReached(at: time(200))
    #expect(lock.abandon().isEmpty && lock.ownerChanged(to: vault, at: time(210)) == .none)
  }
}

/// Which keys are stopped for it.
@Suite struct StoppedKeyTests {
  private static let window = Window(0x40_0001)
  private static let ledger = Subject(
    origin: .local(ProcessIdentity(id: 7, startTime: 1)), windowClass: Fact("Ledger", .declared),
    executable: Fact("/usr/bin/ledger", .attested))

  private static func policy(denying denied: Set<Policy.Action> = []) -> PolicySet {
    let position = SourcePosition(file: "test.yaml", line: 3, column: 5)
    var deny = Rule(RuleReference(name: "no", position: position), verdict: .deny)
    deny.actions = denied
    var allow = Rule(RuleReference(name: "protected", position: position), verdict: .allow)
    allow.from = .windowClass(Glob(literally: "Ledger"))
    allow.actions = [.copy, .cut]
    allow.obligations.protect = true
    var ruleset = Ruleset()
    ruleset.rules = denied.isEmpty ? [allow] : [deny, allow]
    return PolicySet(managed: ruleset, user: Ruleset())
  }

  private func keys(_ effects: [ActionEffect]) -> (stopped: Set<KeyGrab>, held: Set<KeyGrab>, released: Set<KeyGrab>) {
    effects.reduce(into: ([], [], [])) { keys, effect in
      switch effect {
      case .publish: break
      case .stop(_, let grabs): keys.0.formUnion(grabs)
      case .grab(_, let grabs): keys.1.formUnion(grabs)
      case .ungrab(_, let grabs), .unstop(_, let grabs): keys.2.formUnion(grabs)
      }
    }
  }

  private static func control(_ letter: Character) -> KeyGrab { KeyGrab(key: Keyboards.us(letter), modifiers: 4) }

  private func seen(_ policy: PolicySet) -> ActionGuard {
    var actions = ActionGuard(policy: policy)
    _ = actions.see(Self.window, of: Self.ledger, isTopLevel: true)
    return actions
  }

  @Test func copyAndCutKeysOfProtectedApps() {
    var actions = seen(Self.policy())
    #expect(!actions.needsKeyboard, "not before it is known that others can be kept waiting")
    #expect(actions.setCanLock(true).isEmpty && actions.needsKeyboard)
    let (stopped, held, _) = keys(actions.setKeyboard(Keyboards.make("us"), group: 0))
    #expect(held.isEmpty && stopped.isSuperset(of: [Self.control("c"), Self.control("x")]))
    #expect(!stopped.contains(Self.control("v")) && actions.lockedWindowCount == 1)
    #expect(actions.stoppedAction(Self.control("x"), on: Self.window) == .cut)
    #expect(actions.stoppedAction(Self.control("v"), on: Self.window) == nil)
    #expect(keys(actions.setCanLock(false)).released == stopped)
    #expect(actions.lockedWindowCount == 0)
  }

  @Test func whatIsDeniedIsHeldBackInstead() {
    var actions = seen(Self.policy(denying: [.cut]))
    _ = actions.setCanLock(true)
    let (stopped, held, _) = keys(actions.setKeyboard(Keyboards.make("us"), group: 0))
    #expect(held.contains(Self.control("x")) && stopped.contains(Self.control("c")))
    #expect(stopped.isDisjoint(with: held))
    let next = keys(actions.replacePolicy(Self.policy()) { _ in Self.ledger })
    #expect(
      next.stopped.contains(Self.control("x")) && next.released == held.intersection(next.stopped), "by another client")
    #expect(keys(actions.retire(Self.window)).released == stopped.union(next.stopped))
  }

  @Test func keysThatSomebodyElseHasAreTold() {
    var actions = seen(Self.policy())
    _ = actions.setCanLock(true)
    _ = actions.setKeyboard(Keyboards.make("us"), group: 0)
    actions.occupied([Self.control("c")], on: Self.window)
    #expect(actions.occupiedKeys.map(\.chords) == [["Ctrl+C"]])
  }
}
