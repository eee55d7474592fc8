import Selection
import Testing

@testable import Tray

/// Transcripts: what happens to the item, and what is done about it.
struct TrayModelTests {
  private static let name = "org.kde.StatusNotifierItem-7-1"
  private static func at(_ milliseconds: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(byMilliseconds: 10_000 + milliseconds)
  }

  private static func state(refusals: Int = 0, _ standing: TrayState.Standing = .inForce) -> TrayState {
    var state = TrayState(display: ":0", standing: standing, summary: "\(standing)")
    state.refusals = refusals == 0 ? [] : [.init(action: "paste", reason: "r", count: refusals, clock: "1:00")]
    return state
  }

  /// An item that a watcher shows, and that hosts have read at 0 ms.
  private func shown(_ state: TrayState = state()) -> TrayModel {
    var model = TrayModel(state, busName: Self.name)
    _ = model.watcherChanged(to: ":1.5")
    _ = model.nameAnswered(isOurs: true)
    #expect(model.beRead(at: Self.at(0)) == [.look])
    #expect(model.show(state, at: Self.at(0)) == [])
    return model
  }

  @Test func watcherIsShownTheItemByName() {
    var model = TrayModel(Self.state(), busName: Self.name)
    #expect(!model.isShown)
    #expect(model.watcherChanged(to: ":1.5") == [.requestName])
    #expect(!model.isShown)
    #expect(model.nameAnswered(isOurs: true) == [.register(item: Self.name, watcher: ":1.5")])
    #expect(model.isShown)
    #expect(model.watcherChanged(to: ":1.5") == [], "said again")
  }

  @Test func takenNameLeavesTheConnection() {
    var model = TrayModel(Self.state(), busName: Self.name)
    _ = model.watcherChanged(to: ":1.5")
    #expect(model.nameAnswered(isOurs: false) == [.register(item: TrayModel.itemPath, watcher: ":1.5")])
  }

  @Test func nextWatcherIsShownItToo() {
    var model = shown()
    #expect(model.watcherChanged(to: nil) == [])
    #expect(!model.isShown)
    #expect(model.watcherChanged(to: ":1.9") == [.register(item: Self.name, watcher: ":1.9")])
    #expect(model.watcherChanged(to: ":1.12") == [.register(item: Self.name, watcher: ":1.12")], "without a gap")
  }

  @Test func watcherThatGoesBeforeTheName() {
    var model = TrayModel(Self.state(), busName: Self.name)
    #expect(model.watcherChanged(to: ":1.5") == [.requestName])
    #expect(model.watcherChanged(to: nil) == [])
    #expect(model.nameAnswered(isOurs: true) == [])
    #expect(model.watcherChanged(to: ":1.6") == [.register(item: Self.name, watcher: ":1.6")])
  }

  @Test func watcherThatComesWhileTheNameIsAskedFor() {
    var model = TrayModel(Self.state(), busName: Self.name)
    _ = model.watcherChanged(to: ":1.5")
    #expect(model.watcherChanged(to: ":1.6") == [], "the name is asked for once")
    #expect(model.nameAnswered(isOurs: true) == [.register(item: Self.name, watcher: ":1.6")])
  }

  @Test func refusingWatcherIsToldNothing() {
    var model = shown()
    model.registrationFailed(at: ":1.4", at: Self.at(0))
    #expect(model.isShown, "an earlier one's answer")
    model.registrationFailed(at: ":1.5", at: Self.at(0))
    #expect(!model.isShown)
    model.noteChange()
    #expect(model.deadline == Self.at(TrayModel.retryMilliseconds[0]), "nothing is due but another try")
  }

  @Test func refusingWatcherIsAskedAgain() {
    var model = TrayModel(Self.state(), busName: Self.name)
    _ = model.watcherChanged(to: ":1.5")
    _ = model.nameAnswered(isOurs: true)
    var now = 0
    for wait in TrayModel.retryMilliseconds {
      model.registrationFailed(at: ":1.5", at: Self.at(now))
      #expect(!model.isShown)
      #expect(model.deadlineReached(at: Self.at(now + wait - 1)) == [])
      now += wait
      #expect(model.deadline == Self.at(now))
      #expect(model.deadlineReached(at: Self.at(now)) == [.register(item: Self.name, watcher: ":1.5")])
      #expect(model.isShown && model.deadline == nil)
    }
    model.registrationFailed(at: ":1.5", at: Self.at(now))
    #expect(model.deadline == nil, "no wake-ups without end")
    #expect(model.hostRegistered(by: ":1.5") == [.register(item: Self.name, watcher: ":1.5")])
    model.registrationFailed(at: ":1.5", at: Self.at(now))
    #expect(model.deadline == Self.at(now + TrayModel.retryMilliseconds[0]), "a host is a new beginning")
  }

  @Test func hostThatComesLaterIsShownTheItem() {
    var model = TrayModel(Self.state(), busName: Self.name)
    #expect(model.hostRegistered(by: ":1.5") == [], "no watcher")
    _ = model.watcherChanged(to: ":1.5")
    #expect(model.hostRegistered(by: ":1.5") == [], "no name yet")
    _ = model.nameAnswered(isOurs: true)
    #expect(
      model.hostRegistered(by: ":1.5") == [.register(item: Self.name, watcher: ":1.5")], "nobody has looked at it")
    #expect(model.hostRegistered(by: ":1.7") == [], "any program can send that signal")
    var known = shown()
    #expect(known.hostRegistered(by: ":1.5") == [], "a further host finds it at the watcher")
  }

  @Test func nothingIsDoneWithoutAWatcher() {
    var model = TrayModel(Self.state(), busName: Self.name)
    model.noteChange()
    #expect(model.deadline == nil)
    #expect(model.deadlineReached(at: Self.at(0)) == [])
    #expect(model.show(Self.state(refusals: 1), at: Self.at(1)) == [])
    #expect(model.beRead(at: Self.at(2)) == [.look], "whoever reads is told what is")
  }

  @Test func nothingIsToldBeforeHostsHaveRead() {
    var model = TrayModel(Self.state(), busName: Self.name)
    _ = model.watcherChanged(to: ":1.5")
    _ = model.nameAnswered(isOurs: true)
    model.noteChange()
    #expect(model.deadline == nil)
    #expect(model.beRead(at: Self.at(0)) == [.look])
    #expect(model.show(Self.state(refusals: 1), at: Self.at(0)) == [])
    #expect(model.beRead(at: Self.at(0)) == [], "and then they know it")
  }

  @Test func changeIsToldAtOnceAndThenAtThePace() {
    var model = shown()
    model.noteChange()
    #expect(model.deadline == MonotonicTime(nanoseconds: 0), "at once")
    #expect(model.deadlineReached(at: Self.at(1)) == [.look])
    let first = model.show(Self.state(refusals: 1), at: Self.at(1))
    #expect(first.first == .signal(.layoutUpdated(revision: 2)))
    #expect(model.deadline == nil)
    for count in 2...1_000 {
      model.noteChange()
      #expect(model.deadline == Self.at(1 + TrayModel.paceMilliseconds))
      #expect(model.deadlineReached(at: Self.at(2)) == [])
      // Reading in between makes nothing faster.
      #expect(model.beRead(at: Self.at(2)) == [], "\(count)")
    }
    #expect(model.deadlineReached(at: Self.at(501)) == [.look])
    let next = model.show(Self.state(refusals: 1_000), at: Self.at(501))
    guard case .signal(.itemsUpdated(let updates, [])) = next.first, next.count == 1 else {
      Issue.record("\(next)")
      return
    }
    #expect(updates.count == 1)
    #expect(model.revision == 2, "the same items")
  }

  @Test func readerGetsWhatIsDue() {
    var model = shown()
    model.noteChange()
    #expect(model.beRead(at: Self.at(1)) == [.look])
    #expect(!model.show(Self.state(refusals: 1), at: Self.at(1)).isEmpty)
    #expect(model.deadline == nil)
  }

  @Test func changeThatChangesNothingIsntTold() {
    var model = shown()
    model.noteChange()
    #expect(model.show(Self.state(), at: Self.at(1)) == [])
    model.noteChange()
    #expect(model.deadline == MonotonicTime(nanoseconds: 0), "no pace to keep: nothing was told")
  }

  nonisolated static let changes: [(TrayState.Standing, Bool, [TraySignal])] = [
    (.inForce, true, [.newIcon, .newAttentionIcon, .newToolTip]),
    (.locked, false, [.newIcon, .newAttentionIcon, .newStatus("NeedsAttention"), .newToolTip]),
    (.lastGood, false, [.newIcon, .newAttentionIcon, .newStatus("NeedsAttention"), .newToolTip]),
    (.inForce, false, []),
  ]

  @Test(arguments: changes)
  func faceIsToldInItsParts(_ row: (standing: TrayState.Standing, isLockedDown: Bool, signals: [TraySignal])) {
    var model = shown()
    var state = Self.state(row.standing)
    state.isLockedDown = row.isLockedDown
    let told = model.show(state, at: Self.at(1)).filter {
      if case .signal(.itemsUpdated) = $0 { false } else { true }
    }
    #expect(told == row.signals.map { .signal($0) })
  }

  @Test func pendingChangeGoesWithTheWatcher() {
    var model = shown()
    model.noteChange()
    _ = model.watcherChanged(to: nil)
    #expect(model.deadline == nil)
    _ = model.watcherChanged(to: ":1.9")
    #expect(model.deadline == nil, "whoever reads anew reads the state of then")
    #expect(model.beRead(at: Self.at(9)) == [.look])
  }

  @Test func revisionGoesOnAfterTheLast() {
    var model = shown()
    for round in 1...3 {
      _ = model.show(Self.state(refusals: round % 2), at: Self.at(round))
      #expect(model.revision == UInt32(1 + round))
    }
  }
}
