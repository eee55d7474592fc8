import BridgeCore
import Policy
import Selection
import Testing

func marked(_ subject: Subject, _ text: String, _ window: UInt32 = 0x40_0001) -> Stage.Owner {
  Stage.Owner(window, subject, [("UTF8_STRING", .bytes(Array(text.utf8))), ("text/html", .bytes([60]))])
}

extension Stage {
  var primary: NamedAtom { atoms.primary }
  var primaryOwner: Window { owners[primary] ?? .none }
  var primaryStatus: BridgeStatus? { bridge.status.first { $0.selection == "primary" } }

  /// The subject presses the middle button; what became of it.
  mutating func press(_ subject: Subject, isOnWindowManager: Bool = false) -> Bool? {
    let before = releases.count
    feed(.middleButtonPressed(isOnWindowManager: isOnWindowManager), subject)
    return releases.count == before + 1 ? releases.last : nil
  }

  func text(_ received: Received?) -> String? { received.map { String(decoding: $0.bytes, as: UTF8.self) } }
}

@Suite struct PrimaryTests {
  private func policy(_ rules: [Rule], _ primary: SelectionGuard? = nil) -> PolicySet {
    var ruleset = Policies.set(rules).managed
    ruleset.primary = primary
    return PolicySet(managed: ruleset, user: Ruleset())
  }

  /// While it is made, the source is neither robbed nor asked; afterwards its text is asked for once (K10 B098, B099, B103).
  @Test func makingIsLeftAlone() {
    var stage = Stage(Policies.financeStays)
    stage.isPointerBusy = true
    for step in 1...20 {
      stage.copy(marked(Apps.ledger, String(repeating: "x", count: step)), on: stage.primary)
      stage.wait(milliseconds: 20)
    }
    stage.wait(milliseconds: 1_000)
    #expect(stage.asked.isEmpty && stage.claims.isEmpty)
    #expect(stage.primaryStatus?.state == .selecting)
    #expect(stage.bridge.isSettled, "a person's drag is nothing to wait for")
    #expect(stage.pointerReadings >= 17 && stage.pointerReadings <= 20, "every 50 ms while a button is down")
    stage.isPointerBusy = false
    stage.wait(milliseconds: 50)
    #expect(stage.asked == ["TARGETS", "UTF8_STRING"], "text alone, once")
    #expect(stage.claims.isEmpty && stage.primaryOwner == Window(0x40_0001))
    #expect(stage.primaryStatus?.state == .left)
    #expect(stage.primaryStatus?.trigger == .middleButton)
    #expect(stage.audit.map(\.outcome) == [.left] && stage.audit.map(\.selection) == ["primary"])
    #expect(stage.bridge.nextDeadline == nil, "nothing to do until something happens")
  }

  /// Keys make a selection without any button: the quiet counts from the last step.
  @Test func keysMakeItToo() {
    var stage = Stage()
    for _ in 0..<10 {
      stage.copy(marked(Apps.ledger, "abc"), on: stage.primary)
      #expect(!stage.bridge.isSettled)
      stage.wait(milliseconds: 80)
    }
    #expect(stage.asked.isEmpty)
    stage.wait(milliseconds: 70)
    #expect(stage.asked == ["TARGETS", "UTF8_STRING"])
    #expect(stage.bridge.isSettled)
  }

  /// Where no rule can refuse anything, it stays with its source, and no press is ours to see.
  @Test func nothingAtStake() {
    var stage = Stage(Policies.financeStays)
    stage.copy(marked(Apps.browser, "web"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(!stage.isPointerGuarded && stage.claims.isEmpty)
    #expect(stage.primaryStatus?.state == .left && stage.primaryStatus?.trigger == nil)
  }

  @Test func deniedPressIsSwallowed() {
    var stage = Stage(Policies.financeStays)
    stage.copy(marked(Apps.ledger, "secret"), on: stage.primary)
    #expect(stage.isPointerGuarded, "from the first moment on")
    #expect(stage.press(Apps.browser) == false, "also before it is read")
    #expect(stage.asked.isEmpty, "nothing has to be read for that")
    stage.wait(milliseconds: 200)
    #expect(stage.press(Apps.browser) == false)
    #expect(stage.claims.isEmpty && stage.primaryOwner == Window(0x40_0001))
    let refusals = stage.audit.filter { $0.kind == .paste }
    #expect(refusals.map(\.outcome) == [.refused, .refused] && refusals.map(\.notifies) == [true, false])
    #expect(refusals.allSatisfy { $0.selection == "primary" && $0.destination == Apps.browser })
    #expect(refusals.first?.message == "Finance stays.")
    #expect(stage.isPointerGuarded)
  }

  /// Its own app and whoever is plainly allowed get it from the source itself; the highlight stays.
  @Test func allowedPressIsHandedOn() {
    var stage = Stage(Policies.financeStays)
    stage.copy(marked(Apps.ledger, "figures"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(stage.press(Apps.ledger) == true)
    #expect(stage.audit.filter { $0.kind == .paste }.isEmpty, "an app's own text is nothing to write down")
    #expect(stage.press(Apps.report) == true)
    #expect(stage.audit.last?.kind == .paste && stage.audit.last?.outcome == .left)
    #expect(stage.claims.isEmpty && stage.asked == ["TARGETS", "UTF8_STRING"])
  }

  private var shortMayLeave: PolicySet {
    policy([
      Policies.rule("short may leave", .allow) {
        $0.from = Policies.apps("Ledger")
        $0.size = SizeRange(upTo: 5)
      },
      Policies.rule("finance stays", .deny, line: 2) {
        $0.from = Policies.apps("Ledger")
        $0.to = .not(Policies.apps("Ledger"))
      },
    ])
  }

  /// Where the content decides, what is marked now is read, taken and handed over; more than that is refused.
  @Test func contentDecides() {
    var stage = Stage(shortMayLeave)
    stage.copy(marked(Apps.ledger, "short"), on: stage.primary)
    stage.wait(milliseconds: 200)
    // Tk and xterm mark something else without claiming anew.
    stage.sources[Window(0x40_0001)] = marked(Apps.ledger, "other")
    #expect(stage.press(Apps.browser) == true)
    #expect(stage.primaryOwner == Stage.daemon, "taken before the press is handed on")
    #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.browser, from: stage.primary)) == "other")
    #expect(!stage.isPointerGuarded, "ours: every conversion is decided by itself")
    stage.copy(marked(Apps.ledger, "too long"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(stage.press(Apps.browser) == false)
    #expect(stage.primaryOwner == Window(0x40_0001))
    #expect(stage.audit.filter { $0.kind == .copy }.count == 2, "read again for a press, written down once")
  }

  /// A source that doesn't answer in 20 ms: the press is swallowed, the pointer goes on, and it is said.
  @Test func slowSource() {
    var stage = Stage(shortMayLeave)
    let silent = Stage.Owner(0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)])
    stage.copy(silent, on: stage.primary)
    #expect(stage.press(Apps.browser) == nil)
    #expect(stage.bridge.nextDeadline == stage.now.advanced(byMilliseconds: 20))
    stage.wait(milliseconds: 20)
    #expect(stage.releases == [false])
    #expect(stage.audit.last?.limit == .pressTimeout && stage.audit.last?.outcome == .refused)
    #expect(stage.audit.last?.source == Apps.ledger)
    #expect(stage.press(Apps.browser, isOnWindowManager: true) == nil)
    stage.wait(milliseconds: 20)
    #expect(stage.releases == [false, true], "a title bar's click is never lost")
  }

  /// A press while the owner changes is decided about the new owner.
  @Test func ownerChangesUnderThePress() {
    var stage = Stage(shortMayLeave)
    stage.copy(Stage.Owner(0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)]), on: stage.primary)
    #expect(stage.press(Apps.browser) == nil)
    stage.copy(marked(Apps.report, "free", 0x48_0001), on: stage.primary)
    #expect(stage.releases == [true])
  }

  /// What is refused with a replacement text has to be answered by us.
  @Test func replacement() {
    var stage = Stage(
      policy([
        Policies.rule("redacted", .deny) {
          $0.from = Policies.apps("Ledger")
          $0.to = Policies.apps("Browser")
          $0.obligations.replacement = "redacted"
        }
      ]))
    stage.copy(marked(Apps.ledger, "figures"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(stage.press(Apps.browser) == true)
    #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.browser, from: stage.primary)) == "redacted")
  }

  /// A window manager does other things with the button than to paste: it gets the press, and the refusal if it asks.
  @Test func windowManager() {
    var stage = Stage(Policies.financeStays)
    stage.copy(marked(Apps.ledger, "figures"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(stage.press(Apps.tool, isOnWindowManager: true) == true)
    #expect(stage.primaryOwner == Stage.daemon)
    #expect(stage.paste("UTF8_STRING", by: Apps.tool, from: stage.primary) == nil)
  }

  /// Shift+Insert means PRIMARY in terminals alone: it is handed on to everybody, and what a refused app may then ask for
  /// is taken before.
  @Test func pasteKey() {
    var stage = Stage(Policies.financeStays)
    stage.copy(marked(Apps.ledger, "figures"), on: stage.primary)
    stage.wait(milliseconds: 200)
    for app in [Apps.ledger, Apps.report] { stage.feed(.pasteKeyPressed, app) }
    #expect(stage.keyReleases == 2 && stage.claims.isEmpty)
    #expect(stage.audit.filter { $0.kind == .paste }.isEmpty, "nobody knows what it pastes")
    stage.feed(.pasteKeyPressed, Apps.browser)
    #expect(stage.keyReleases == 3 && stage.primaryOwner == Stage.daemon)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: stage.primary) == nil)
    #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.report, from: stage.primary)) == "figures")
    // A source that doesn't show its text in time loses it.
    stage.copy(Stage.Owner(0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)]), on: stage.primary)
    stage.feed(.pasteKeyPressed, Apps.browser)
    #expect(stage.keyReleases == 3)
    stage.wait(milliseconds: 20)
    #expect(stage.keyReleases == 4 && stage.primaryOwner == Stage.daemon)
    #expect(stage.audit.last?.limit == .pressTimeout)
    #expect(stage.releases.isEmpty)
  }

  /// The key pressed while a click still waits: each device stands still for its own press, so both have to be let go.
  @Test func clickAndKeyAtOnce() {
    var stage = Stage(Policies.financeStays)
    stage.copy(Stage.Owner(0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)]), on: stage.primary)
    stage.wait(milliseconds: 2_200)
    for isClickFirst in [true, false] {
      let (clicks, keys) = (stage.releases.count, stage.keyReleases)
      if isClickFirst { stage.feed(.middleButtonPressed(isOnWindowManager: true), Apps.browser) }
      stage.feed(.pasteKeyPressed, Apps.browser)
      if !isClickFirst { stage.feed(.middleButtonPressed(isOnWindowManager: true), Apps.browser) }
      stage.wait(milliseconds: 60)
      #expect(stage.releases.count == clicks + 1 && stage.keyReleases == keys + 1, "click first: \(isClickFirst)")
      stage.copy(Stage.Owner(0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)]), on: stage.primary)
      stage.wait(milliseconds: 2_200)
    }
  }

  /// Where another client has the button, the pointer's way to an app that may not have it is the sign.
  @Test func pointerEntry() {
    var stage = Stage(Policies.financeStays)
    stage.isButtonTaken = true
    stage.copy(marked(Apps.ledger, "figures"), on: stage.primary)
    stage.feed(.pointerEntered, Apps.browser)
    #expect(stage.asked.isEmpty, "not while it is being made")
    stage.copy(marked(Apps.ledger, "figures"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(stage.primaryOwner == Stage.daemon, "the pointer is there still")
    stage.copy(marked(Apps.ledger, "figures"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(stage.primaryStatus?.trigger == .pointerEntry)
    for app in [Apps.ledger, Apps.report] { stage.feed(.pointerEntered, app) }
    #expect(stage.primaryOwner == Window(0x40_0001))
    stage.feed(.pointerEntered, Apps.browser)
    #expect(stage.primaryOwner == Stage.daemon)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: stage.primary) == nil)
    #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.report, from: stage.primary)) == "figures")
    #expect(stage.releases.isEmpty, "nothing stood still")
  }

  /// What was read outlives its source, whether a rule could refuse it or not; a clear is final (K07 B067).
  @Test(arguments: [Apps.ledger, Apps.browser]) func exitAndClear(source: Subject) {
    var stage = Stage(Policies.financeStays)
    stage.copy(marked(source, "left behind"), on: stage.primary)
    stage.wait(milliseconds: 200)
    stage.clear(.clientClosed, on: stage.primary)
    #expect(stage.primaryOwner == Stage.daemon && !stage.isPointerGuarded)
    #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.report, from: stage.primary)) == "left behind")
    #expect((stage.paste("UTF8_STRING", by: Apps.tool, from: stage.primary) == nil) == (source == Apps.ledger))
    stage.clear(on: stage.primary)
    #expect(stage.audit.last?.kind == .clear)
    stage.copy(marked(source, "again"), on: stage.primary)
    stage.wait(milliseconds: 200)
    stage.clear(on: stage.primary)
    stage.wait(milliseconds: 1_000)
    #expect(stage.primaryOwner == .none && stage.claims.count == 1)
    #expect(!stage.isPointerGuarded)
    // Gone before it was read: nothing is there to be kept.
    stage.copy(marked(source, "unread"), on: stage.primary)
    stage.clear(.windowDestroyed, on: stage.primary)
    #expect(stage.primaryOwner == .none && stage.primaryStatus?.state == .unowned)
  }

  /// An app that hangs when a press wants its text and is then ended: what it gave before is served.
  @Test(arguments: [5_000, 15_000]) func hungSourceEnds(milliseconds: Int) {
    var stage = Stage(shortMayLeave)
    stage.copy(marked(Apps.ledger, "early"), on: stage.primary)
    stage.wait(milliseconds: 200)
    stage.sources[Window(0x40_0001)] = Stage.Owner(
      0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)], listing: .silent)
    #expect(stage.press(Apps.browser) == nil)
    stage.wait(milliseconds: milliseconds)
    #expect(stage.releases == [false])
    stage.clear(.clientClosed, on: stage.primary)
    #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.ledger, from: stage.primary)) == "early")
  }

  /// A password manager's mark counts here, too; what it offers is forgotten in time, also while it is left with it.
  @Test func secret() {
    var stage = Stage(
      policy([
        Policies.rule("no secrets", .deny) {
          $0.isSensitive = true
          $0.to = Policies.apps("Browser")
        }
      ]))
    let vault = Stage.Owner(
      0x40_0001, Apps.vault,
      [("UTF8_STRING", .bytes([1])), ("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))])
    stage.copy(vault, on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(stage.primaryStatus?.isSensitive == true && stage.primaryStatus?.bytes == 7)
    #expect(stage.press(Apps.browser) == false)
    #expect(stage.press(Apps.tool) == true)
    stage.copy(vault, on: stage.primary)
    stage.wait(milliseconds: 61_000)
    #expect(stage.primaryStatus?.state == .left && stage.primaryStatus?.bytes == 0)
    #expect(stage.bridge.nextDeadline == nil)
    stage.clear(.clientClosed, on: stage.primary)
    #expect(stage.primaryOwner == .none)
  }

  @Test func denied() {
    var stage = Stage(Policies.denyLedgerCopies)
    stage.copy(marked(Apps.ledger, "secret"), on: stage.primary)
    #expect(stage.primaryOwner == Stage.daemon && stage.asked.isEmpty)
    for app in [Apps.browser, Apps.ledger] {
      #expect(stage.paste("UTF8_STRING", by: app, from: stage.primary) == nil)
    }
    #expect(stage.audit.first?.outcome == .emptied && stage.audit.first?.selection == "primary")
  }

  @Test func protected() {
    var stage = Stage(
      policy([
        Policies.rule("guarded well", .allow) {
          $0.from = Policies.apps("Ledger")
          $0.actions = [.copy]
          $0.obligations.protect = true
        }
      ]))
    stage.copy(marked(Apps.ledger, "secret"), on: stage.primary)
    #expect(stage.claims.isEmpty)
    stage.wait(milliseconds: 150)
    #expect(stage.primaryOwner == Stage.daemon)
    stage.copy(marked(Apps.browser, "free"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(stage.primaryOwner == Window(0x40_0001))
  }

  @Test func modes() {
    var stage = Stage(policy([], .own))
    stage.copy(marked(Apps.browser, "mine"), on: stage.primary)
    stage.wait(milliseconds: 150)
    #expect(stage.primaryOwner == Stage.daemon)
    #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.tool, from: stage.primary)) == "mine")
    // Off: let go, and no longer heard of.
    stage.replacePolicy(policy([], .off))
    #expect(stage.primaryOwner == .none && stage.primaryStatus == nil)
    let before = stage.effects.count
    stage.copy(marked(Apps.browser, "unheard"), on: stage.primary)
    stage.wait(milliseconds: 1_000)
    #expect(stage.effects.count == before)
    #expect(stage.bridge.watchedSelections == [stage.atoms.clipboard])
    stage.replacePolicy(policy([], .guard))
    #expect(stage.bridge.watchedSelections == [stage.atoms.clipboard, stage.primary])
    #expect(stage.primaryStatus?.state == .unowned)
  }

  /// A new policy decides anew about what is still with its owner.
  @Test func policyChange() {
    var stage = Stage()
    stage.copy(marked(Apps.ledger, "text"), on: stage.primary)
    stage.wait(milliseconds: 200)
    #expect(!stage.isPointerGuarded)
    stage.replacePolicy(Policies.financeStays)
    #expect(stage.isPointerGuarded && stage.primaryOwner == Window(0x40_0001))
    stage.replacePolicy(Policies.denyLedgerCopies)
    #expect(stage.primaryOwner == Stage.daemon && !stage.isPointerGuarded)
  }
}
