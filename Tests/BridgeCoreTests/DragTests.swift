import BridgeCore
import Policy
import Selection
import Testing

/// What is dragged is decided when somebody asks for it, and the source stays its owner by name.
@Suite struct DragTests {
  private static let leavesNot = Policies.set([
    Policies.rule("no drags", .deny, line: 4) { ($0.apps, $0.actions) = (Policies.apps("Ledger"), [.drag]) }
  ])
  private static let staysInFinance = Policies.set([
    Policies.rule("finance stays", .deny, line: 5) {
      $0.from = Policies.apps("Ledger", "Report")
      $0.to = .not(Policies.apps("Ledger", "Report"))
      $0.actions = [.drag]
    }
  ])

  private func dragging(_ policy: PolicySet, _ source: Stage.Owner) -> Stage {
    var stage = Stage(policy)
    stage.isPointerBusy = true
    stage.copy(source, on: stage.atoms.drag)
    return stage
  }

  private func texts(_ window: UInt32 = 0x40_0001, of subject: Subject = Apps.ledger) -> Stage.Owner {
    Stage.Owner(
      window, subject,
      [("UTF8_STRING", .bytes([65])), ("text/html", .bytes([66, 67])), ("XdndDirectSave0", .bytes([83]))])
  }

  @Test("a rule about pastes has drags heard of: they are pastes")
  func heard() {
    let stage = dragging(Policies.financeStays, texts())
    #expect(stage.bridge.watchedSelections.contains(stage.atoms.drag))
  }

  @Test("without a rule that could refuse a drag nobody hears of one")
  func unheard() {
    let copiesAlone = Policies.set([
      Policies.rule("no copies", .deny, line: 4) { ($0.apps, $0.actions) = (Policies.apps("Ledger"), [.copy]) }
    ])
    for policy in [Policies.owning, copiesAlone] {
      let stage = dragging(policy, texts())
      #expect(!stage.bridge.watchedSelections.contains(stage.atoms.drag))
      #expect(stage.effects.isEmpty && stage.bridge.nextDeadline == nil)
    }
  }

  @Test("a source that no rule restricts is left alone")
  func unrestricted() {
    let stage = dragging(Self.staysInFinance, texts(of: Apps.browser))
    #expect(stage.effects.isEmpty && stage.bridge.nextDeadline == nil)
    #expect(stage.bridge.status.last?.selection == "drag" && stage.bridge.status.last?.state == .foreign)
  }

  @Test("what may go nowhere isn't even asked for, and the source stays owner by name")
  func denied() {
    var stage = dragging(Self.leavesNot, texts())
    let drag = stage.atoms.drag
    #expect(stage.asked.isEmpty && stage.claims == [drag] && stage.owners[drag] == Window(0x40_0001))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: drag) == nil)
    #expect(stage.paste("text/html", by: Apps.browser, from: drag) == nil)
    // GTK asks for this when it has taken what it moves.
    #expect(stage.paste("DELETE", by: Apps.tool, from: drag) == nil)
    #expect(stage.audit.map(\.kind) == [.drag], "one record for one app")
    let record = stage.audit.first
    #expect(record?.outcome == .refused && record?.source == Apps.ledger && record?.destination == Apps.browser)
    #expect(record?.selection == "drag" && record?.isAlwaysWritten == true && record?.notifies == true)
    #expect(stage.bridge.status.last?.state == .empty)
  }

  @Test("content is asked for first, the claim comes last, and each who asks is decided")
  func decided() {
    var stage = dragging(Self.staysInFinance, texts())
    let drag = stage.atoms.drag
    #expect(
      Set(stage.asked) == Set(["TARGETS"] + stage.atoms.commonInDrags.map(\.name)),
      "nothing twice, nothing that saves a file")
    #expect(stage.asked.count == 1 + stage.atoms.commonInDrags.count)
    #expect(stage.claims == [drag] && stage.owners[drag] == Window(0x40_0001))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: drag) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: drag)?.bytes == [65])
    #expect(stage.paste("text/html", by: Apps.ledger, from: drag)?.bytes == [66, 67], "within its app")
    #expect(stage.audit.map(\.kind) == [.drag, .drag, .drag])
    #expect(stage.audit.map(\.outcome) == [.refused, .served, .served])
    #expect(stage.audit.first?.reason == .rule(RuleReference(name: "finance stays", position: stage.place(5))))
    #expect(stage.retained == nil, "a drag doesn't outlive the process")
  }

  @Test("a source without a list, as Qt is, is asked for what most drags carry; what else is on a list comes after")
  func lists() {
    var owner = texts()
    owner.listing = .refuse
    var stage = dragging(Self.staysInFinance, owner)
    #expect(stage.claims == [stage.atoms.drag])
    #expect(stage.paste("text/html", by: Apps.report, from: stage.atoms.drag)?.bytes == [66, 67])
    owner = texts()
    owner.replies.append(("application/x-own", .bytes([68])))
    stage = dragging(Self.staysInFinance, owner)
    #expect(stage.asked.last == "application/x-own")
    #expect(stage.paste("application/x-own", by: Apps.report, from: stage.atoms.drag)?.bytes == [68])
  }

  @Test("a source that is slow is taken over with what has come")
  func slow() {
    var owner = texts()
    owner.replies[1].1 = .silent
    var stage = dragging(Self.staysInFinance, owner)
    let drag = stage.atoms.drag
    #expect(stage.claims.isEmpty && !stage.bridge.isSettled)
    stage.wait(milliseconds: 250)
    #expect(stage.claims == [drag] && !stage.hasOpenConversions && stage.bridge.isSettled)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: drag)?.bytes == [65])
    #expect(stage.paste("text/html", by: Apps.report, from: drag) == nil)
    #expect(stage.audit.first?.limit == .captureTimeout && stage.audit.first?.outcome == .keptInPart)
    #expect(stage.audit.first?.kind == .drag)
  }

  @Test("a source that shows nothing at all leaves nothing to be had")
  func silent() {
    for listing in [Stage.Reply.silent, .refuse] {
      var owner = texts()
      owner.listing = listing
      owner.replies = owner.replies.map { ($0.0, .silent) }
      var stage = dragging(Self.staysInFinance, owner)
      stage.wait(milliseconds: 250)
      #expect(stage.claims == [stage.atoms.drag])
      #expect(stage.paste("UTF8_STRING", by: Apps.report, from: stage.atoms.drag) == nil)
    }
  }

  @Test("what is too large is taken over without it")
  func large() {
    var owner = texts()
    owner.replies[1].1 = .tooLarge
    var stage = dragging(Self.staysInFinance, owner)
    #expect(stage.claims == [stage.atoms.drag] && stage.bridge.isSettled)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: stage.atoms.drag) == nil)
    #expect(stage.audit.first?.limit == .clipSize)
  }

  @Test("a source that says when it is over ends it")
  func ended() {
    for cause in [OwnerChangeCause.set, .windowDestroyed, .clientClosed] {
      var stage = dragging(Self.staysInFinance, texts())
      stage.clear(cause, on: stage.atoms.drag)
      #expect(stage.bridge.nextDeadline == nil && stage.bridge.status.last?.state == .unowned)
      #expect(stage.owners[stage.atoms.drag] == Window.none)
    }
  }

  @Test("one that says nothing ends five seconds after the button, or after the last who asks")
  func released() {
    var stage = dragging(Self.staysInFinance, texts())
    let drag = stage.atoms.drag
    stage.wait(milliseconds: 60_000)
    #expect(stage.owners[drag] == Window(0x40_0001), "for as long as the button is down")
    #expect(stage.pointerReadings == 240)
    stage.isPointerBusy = false
    stage.wait(milliseconds: 4_000)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: drag)?.bytes == [65])
    stage.wait(milliseconds: 4_900)
    #expect(stage.owners[drag] == Window(0x40_0001))
    stage.wait(milliseconds: 200)
    #expect(stage.owners[drag] == Window.none && stage.bridge.nextDeadline == nil)
    #expect(stage.bridge.status.last?.state == .unowned)
  }

  @Test("the next drag begins anew, as often as the person likes")
  func again() {
    var stage = dragging(Self.staysInFinance, texts())
    for _ in 0..<20 { stage.copy(texts(), on: stage.atoms.drag) }
    #expect(stage.claims.count == 21)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: stage.atoms.drag) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: stage.atoms.drag)?.bytes == [65])
  }

  @Test("a drag that begins while the one before is being read")
  func overtaken() {
    var owner = texts()
    owner.replies[0].1 = .silent
    var stage = dragging(Self.staysInFinance, owner)
    stage.copy(texts(0x40_0002, of: Apps.browser), on: stage.atoms.drag)
    #expect(stage.claims.isEmpty && !stage.hasOpenConversions)
    #expect(stage.bridge.status.last?.state == .foreign && stage.bridge.nextDeadline == nil)
    stage.supersedesNextClaim = true
    stage.copy(texts(), on: stage.atoms.drag)
    stage.copy(texts(0x40_0002, of: Apps.browser), on: stage.atoms.drag)
    #expect(stage.bridge.status.last?.state == .foreign && stage.bridge.nextDeadline == nil)
  }

  @Test("a policy that comes decides who asks from then on; one that goes lets go")
  func newPolicy() {
    var stage = dragging(Self.staysInFinance, texts())
    let drag = stage.atoms.drag
    stage.replacePolicy(Self.leavesNot)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: drag) == nil)
    stage.replacePolicy(Policies.owning)
    #expect(stage.owners[drag] == Window.none && stage.bridge.nextDeadline == nil)
    #expect(!stage.bridge.watchedSelections.contains(drag))
  }

  @Test("the clipboard and what is marked stay as they are")
  func others() {
    var stage = Stage(Self.leavesNot)
    stage.copy(texts())
    stage.copy(marked(Apps.ledger, "marked", 0x40_0009), on: stage.primary)
    stage.wait(milliseconds: 500)
    stage.copy(texts(0x40_0002), on: stage.atoms.drag)
    stage.clear(on: stage.atoms.drag)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == [65])
    #expect(stage.primaryOwner == Window(0x40_0009))
  }
}

extension Stage {
  /// A place in the policy of a scenario.
  func place(_ line: Int) -> SourcePosition { SourcePosition(file: "test.yaml", line: line, column: 1) }
}
