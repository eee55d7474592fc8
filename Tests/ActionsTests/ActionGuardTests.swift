import Policy
import Selection
import Testing

@testable import Actions

@Suite struct ActionGuardTests {
  private static let us = Keyboards.make("us")
  private static let window = Window(0x40_0001)
  private static let ledger = app("Ledger")

  private static func app(_ name: String) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: 7, startTime: 1)), windowClass: Fact(name, .declared),
      executable: Fact("/usr/bin/\(name.lowercased())", .attested))
  }

  private static func policy(_ change: (inout Rule) -> Void) -> PolicySet {
    let position = SourcePosition(file: "test.yaml", line: 3, column: 5)
    var rule = Rule(RuleReference(name: "no", position: position), verdict: .deny)
    rule.apps = .windowClass(Glob(literally: "Ledger"))
    change(&rule)
    var ruleset = Ruleset()
    ruleset.rules = [rule]
    return PolicySet(managed: ruleset, user: Ruleset())
  }

  private static let noCuts = policy { $0.actions = [.cut] }

  private func grabbed(_ effects: [ActionEffect]) -> Set<KeyGrab> {
    effects.reduce(into: []) { grabs, effect in if case .grab(_, let new) = effect { grabs.formUnion(new) } }
  }

  private func released(_ effects: [ActionEffect]) -> Set<KeyGrab> {
    effects.reduce(into: []) { grabs, effect in if case .ungrab(_, let old) = effect { grabs.formUnion(old) } }
  }

  private static func control(_ letter: Character) -> KeyGrab { KeyGrab(key: Keyboards.us(letter), modifiers: 4) }

  @Test func aWindowGetsWhatItsAppMayDo() {
    var actions = ActionGuard(policy: Self.noCuts)
    #expect(actions.see(Self.window, of: Self.ledger, isTopLevel: true) == [.publish(Self.window, [.copy, .paste])])
    #expect(actions.needsKeyboard)
    let grabs = grabbed(actions.setKeyboard(Self.us, group: 0))
    #expect(grabs.contains(Self.control("x")) && !grabs.contains(Self.control("c")))
    #expect(actions.guardedWindowCount == 1)
  }

  @Test func othersNeedNoKeyboard() {
    var actions = ActionGuard(policy: Self.noCuts)
    let effects = actions.see(Self.window, of: Self.app("Editor"), isTopLevel: true)
    #expect(effects == [.publish(Self.window, Set(Action.byCommand))])
    #expect(!actions.needsKeyboard)
    #expect(actions.setKeyboard(Self.us, group: 0).isEmpty)
  }

  @Test func aPopupIsNotWrittenOn() {
    var actions = ActionGuard(policy: Self.noCuts)
    _ = actions.setKeyboard(Self.us, group: 0)
    let effects = actions.see(Self.window, of: Self.ledger, isTopLevel: false)
    #expect(effects.count == 1 && grabbed(effects).contains(Self.control("x")))
    #expect(actions.published(on: Self.window) == nil)
  }

  /// Some programs set WM_CLASS only after they have mapped their window.
  @Test func aLateClassCounts() {
    var actions = ActionGuard(policy: Self.noCuts)
    _ = actions.setKeyboard(Self.us, group: 0)
    _ = actions.see(Self.window, of: Self.app("Starting"), isTopLevel: true)
    let late = actions.see(Self.window, of: Self.ledger, isTopLevel: false)
    #expect(late.first == .publish(Self.window, [.copy, .paste]) && grabbed(late).contains(Self.control("x")))
    let back = actions.see(Self.window, of: Self.app("Other"), isTopLevel: false)
    #expect(released(back) == grabbed(late))
    #expect(actions.see(Self.window, of: Self.app("Other"), isTopLevel: false).isEmpty, "no news")
  }

  @Test func aPolicyChangesWhatIsHeldBack() {
    var actions = ActionGuard(policy: Self.noCuts)
    _ = actions.see(Self.window, of: Self.ledger, isTopLevel: true)
    let cuts = grabbed(actions.setKeyboard(Self.us, group: 0))
    let copies = actions.replacePolicy(Self.policy { $0.actions = [.copy] }) { _ in Self.ledger }
    #expect(copies.first == .publish(Self.window, [.cut, .paste]))
    #expect(released(copies) == cuts && grabbed(copies).contains(Self.control("c")))
    let none = actions.replacePolicy(.allowEverything) { _ in .unknown }
    #expect(released(none) == grabbed(copies))
    #expect(!actions.needsKeyboard)
  }

  /// Only what is different is asked of the server: keys that mean the same in both groups stay held back throughout.
  @Test func anotherGroupMovesOnlyWhatMoves() {
    var actions = ActionGuard(policy: Self.noCuts)
    _ = actions.see(Self.window, of: Self.ledger, isTopLevel: true)
    _ = actions.setKeyboard(Keyboards.make("us", "dvorak"), group: 0)
    let moved = actions.setGroup(1)
    #expect(Set(released(moved).map(\.key)) == [Keyboards.us("x")])
    #expect(Set(grabbed(moved).map(\.key)) == [Keyboards.us("b")])
    #expect(actions.setGroup(1).isEmpty)
  }

  @Test func aWindowThatIsGoneTakesItsKeysAlong() {
    var actions = ActionGuard(policy: Self.noCuts)
    _ = actions.setKeyboard(Self.us, group: 0)
    _ = actions.see(Self.window, of: Self.ledger, isTopLevel: true)
    actions.forget(Self.window)
    // The next program may get the same number at once.
    let again = actions.see(Self.window, of: Self.ledger, isTopLevel: true)
    #expect(grabbed(again).contains(Self.control("x")) && again.first == .publish(Self.window, [.copy, .paste]))
    #expect(released(actions.retire(Self.window)) == grabbed(again), "one that only hides keeps none")
  }

  @Test func occupiedKeysAreToldAndTriedAgain() {
    var actions = ActionGuard(policy: Self.noCuts)
    _ = actions.see(Self.window, of: Self.ledger, isTopLevel: true)
    _ = actions.setKeyboard(Self.us, group: 0)
    actions.occupied([Self.control("x")], on: Self.window)
    #expect(actions.occupiedKeys.map(\.chords) == [["Ctrl+X"]])
    let again = actions.see(Self.window, of: Self.ledger, isTopLevel: false)
    #expect(again == [.grab(Self.window, [Self.control("x")])])
    #expect(actions.occupiedKeys.isEmpty)
  }

  /// Whoever asked for a key last has it, so it is asked for again when its window becomes the active one.
  @Test func keysAreAskedForAnew() {
    var actions = ActionGuard(policy: Self.noCuts)
    _ = actions.see(Self.window, of: Self.ledger, isTopLevel: true)
    #expect(actions.activated(Self.window).isEmpty, "no keyboard yet")
    guard case .grab(_, let grabs)? = actions.setKeyboard(Self.us, group: 0).first else {
      Issue.record("no keys are held back")
      return
    }
    actions.occupied([Self.control("x")], on: Self.window)
    #expect(actions.activated(Self.window) == [.grab(Self.window, grabs)])
    #expect(actions.occupiedKeys.isEmpty, "until the server says so again")
    #expect(actions.activated(Window(0x7f_ffff)).isEmpty)
  }

  @Test func aHeldKeyIsToldOnce() throws {
    var actions = ActionGuard(policy: Self.noCuts)
    _ = actions.see(Self.window, of: Self.ledger, isTopLevel: true)
    _ = actions.setKeyboard(Self.us, group: 0)
    func press(_ milliseconds: UInt64, by subject: Subject = Self.ledger) -> HeldBack? {
      actions.pressed(
        Self.control("x"), on: Self.window, of: subject, at: MonotonicTime(nanoseconds: milliseconds * 1_000_000))
    }
    let first = try #require(press(0))
    #expect(first.action == .cut && first.decision.verdict == .deny)
    for time in stride(from: 30, to: 9_000, by: 30) as StrideTo<UInt64> { #expect(press(time) == nil, "repetitions") }
    #expect(press(12_000) != nil, "pressed anew")
    #expect(press(20_000, by: Self.app("Other")) == nil, "another app by now, which may cut")
  }

  @Test func policiesChooseKeys() {
    var ruleset = Ruleset()
    let position = SourcePosition(file: "test.yaml", line: 1, column: 1)
    ruleset.groups = [Group(name: "g", position: position, matcher: .windowClass(Glob(literally: "Ledger")))]
    ruleset.keys = [
      KeyAssignment(apps: .group("g"), position: position, base: .vim, chords: [.copy: [KeyChord("Ctrl+Shift+K")!]]),
      KeyAssignment(apps: .any, position: position, base: KeySetName.none),
    ]
    let policy = PolicySet(managed: ruleset, user: Ruleset())
    let keys = KeyChoice.keys(of: Self.ledger, in: policy)
    #expect(keys.chords[.copy] == [KeyChord("Ctrl+Shift+K")!])
    #expect(keys.chords[.cut] == KeySet(named: .vim).chords[.cut])
    #expect(KeyChoice.keys(of: Self.app("XTerm"), in: policy) == KeySet([:]))
    #expect(KeyChoice.keys(of: Self.app("XTerm"), in: .allowEverything) == KeySet(named: .terminal))
    #expect(KeyChoice.keys(of: Self.app("Emacs"), in: .allowEverything) == KeySet(named: .emacs))
    #expect(KeyChoice.keys(of: Self.app("Gvim"), in: .allowEverything) == KeySet(named: .vim))
    #expect(KeyChoice.keys(of: .unknown, in: .allowEverything) == KeySet(named: .ordinary))
  }
}

@Suite struct CutWatchTests {
  private func time(_ milliseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }
  private let cut = KeyGrab(key: Keyboards.us("x"), modifiers: 4)
  private let copy = KeyGrab(key: Keyboards.us("c"), modifiers: 4)
  private let window = Window(0x40_0001)

  private func watch() -> CutWatch { CutWatch(policy: .allowEverything, keyboard: Keyboards.make("us"), group: 0) }

  @Test func aCutIsKnownForAMoment() {
    var watch = watch()
    let ordinary = KeySet(named: .ordinary)
    #expect(!watch.wasCut(with: ordinary, at: time(0)))
    watch.pressed(cut, focus: window, serverTime: ServerTime(0), at: time(0))
    #expect(watch.wasCut(with: ordinary, at: time(999)) && watch.recentFocus(at: time(999)) == window)
    #expect(!watch.wasCut(with: ordinary, at: time(1_000)) && watch.recentFocus(at: time(1_000)) == nil)
    #expect(!watch.wasCut(with: KeySet(named: .terminal), at: time(10)), "not in a terminal")
  }

  @Test func theLastKeyCounts() {
    var watch = watch()
    watch.pressed(cut, focus: window, serverTime: ServerTime(0), at: time(0))
    watch.pressed(copy, focus: window, serverTime: ServerTime(100), at: time(100))
    #expect(!watch.wasCut(with: KeySet(named: .ordinary), at: time(110)))
  }

  /// What another client's grab has taken did nothing in the window; what a grab of ours has only stopped, did.
  @Test func aKeyThatWasTakenIsNone() {
    let ordinary = KeySet(named: .ordinary)
    var watch = watch()
    watch.pressed(cut, focus: window, serverTime: ServerTime(50), at: time(50))
    watch.keyboardTaken(from: Window(2), serverTime: ServerTime(50))
    #expect(watch.wasCut(with: ordinary, at: time(60)), "from another window")
    watch.keyboardTaken(from: window, serverTime: ServerTime(90))
    #expect(watch.wasCut(with: ordinary, at: time(99)), "by something later, as a menu")
    watch.pressed(cut, focus: window, serverTime: ServerTime(95), at: time(95))
    #expect(!watch.wasCut(with: ordinary, at: time(99)), "while it has the keyboard")
    watch.keyboardReturned(to: window)
    watch.pressed(cut, focus: window, serverTime: ServerTime(50), at: time(50))
    watch.keyboardTaken(from: window, serverTime: ServerTime(51))
    #expect(!watch.wasCut(with: ordinary, at: time(60)))
    watch.keyboardReturned(to: window)
    watch.keyHandedOn(serverTime: ServerTime(50))
    #expect(watch.wasCut(with: ordinary, at: time(60)))
    watch.pressed(cut, focus: window, serverTime: ServerTime(500), at: time(500))
    #expect(watch.wasCut(with: ordinary, at: time(510)), "the next one")
  }

  /// Whose window it was isn't known, so neither are its keys: any that cuts somewhere could have.
  @Test func aCutThatCouldBe() {
    var watch = watch()
    #expect(!watch.couldHaveCut(at: time(0)))
    watch.pressed(cut, focus: window, serverTime: ServerTime(0), at: time(0))
    #expect(watch.couldHaveCut(at: time(999)) && !watch.couldHaveCut(at: time(1_000)))
    watch.pressed(copy, focus: window, serverTime: ServerTime(10), at: time(10))
    #expect(!watch.couldHaveCut(at: time(20)))
  }

  /// The first key on another device comes together with the news of that keyboard.
  @Test func aNewKeyboardForgetsNothing() {
    var watch = watch()
    watch.pressed(cut, focus: window, serverTime: ServerTime(0), at: time(0))
    let next = CutWatch(policy: .allowEverything, keyboard: Keyboards.make("us", "ru"), group: 0, after: watch)
    #expect(next.wasCut(with: KeySet(named: .ordinary), at: time(10)))
  }

  /// Pastes and copies are kept apart, and each only while somebody asks about it.
  @Test func aPasteIsKnownForAMoment() {
    let paste = KeyGrab(key: Keyboards.us("v"), modifiers: 4)
    let ordinary = KeySet(named: .ordinary)
    var unasked = watch()
    unasked.pressed(paste, focus: window, serverTime: ServerTime(0), at: time(0))
    #expect(unasked.recentPasteFocus(at: time(0)) == nil && !unasked.isInteresting(paste))
    var watch = CutWatch(
      policy: .allowEverything, actions: [.copy, .cut, .paste], keyboard: Keyboards.make("us"), group: 0)
    watch.pressed(paste, focus: window, serverTime: ServerTime(0), at: time(0))
    watch.pressed(cut, focus: Window(2), serverTime: ServerTime(10), at: time(10))
    #expect(watch.wasPaste(with: ordinary, at: time(999)) && watch.recentPasteFocus(at: time(999)) == window)
    #expect(watch.wasCut(with: ordinary, at: time(999)) && watch.recentFocus(at: time(999)) == Window(2))
    #expect(!watch.wasPaste(with: ordinary, at: time(1_000)) && watch.recentPasteFocus(at: time(1_000)) == nil)
    #expect(!watch.wasPaste(with: KeySet(named: .terminal), at: time(10)), "not in a terminal")
    let next = CutWatch(
      policy: .allowEverything, actions: [.paste], keyboard: Keyboards.make("us", "ru"), group: 0, after: watch)
    #expect(next.wasPaste(with: ordinary, at: time(10)))
  }

  /// What is typed is never kept.
  @Test func otherKeysLeaveNoTrace() {
    var watch = watch()
    for key in UInt8(8)...255 {
      for modifiers in [0, 1, 2, 3, 16] as [UInt8] where !watch.isInteresting(KeyGrab(key: key, modifiers: modifiers)) {
        watch.pressed(KeyGrab(key: key, modifiers: modifiers), focus: window, serverTime: ServerTime(0), at: time(0))
      }
    }
    #expect(watch.recentFocus(at: time(0)) == nil)
    for letter in "abcdefghijklmnopqrstuvwxyz" {
      #expect(!watch.isInteresting(KeyGrab(key: Keyboards.us(letter), modifiers: 0)))
    }
  }
}
