import BridgeCore
import Policy
import Selection
import Testing

/// PRIMARY beside CLIPBOARD, SECONDARY and the cut buffers.
@Suite struct OtherSelectionsTests {
  private func policy(_ rules: [Rule], _ primary: SelectionGuard? = nil) -> PolicySet {
    var ruleset = Policies.set(rules).managed
    ruleset.primary = primary
    return PolicySet(managed: ruleset, user: Ruleset())
  }

  /// Who marks text hasn't asked for anything that could be refused; who copies has.
  @Test(arguments: [nil, true] as [Bool?]) func markingBringsNoNotice(notify: Bool?) {
    let denied = Policies.rule("no copies", .deny) {
      $0.from = Policies.apps("Ledger")
      $0.obligations.notify = notify
    }
    var stage = Stage(policy([denied], .own))
    stage.copy(marked(Apps.ledger, "M", 0x50_0001), on: stage.primary)
    #expect(stage.audit.map(\.notifies) == [notify ?? false] && stage.audit.last?.isAlwaysWritten == true)
    stage.copy(marked(Apps.ledger, "C", 0x58_0001))
    #expect(stage.audit.last?.selection == "clipboard" && stage.audit.last?.notifies == true)
  }

  /// Neither of the two is ever taken for the other (K02 B017, K07 B073, B074, K10 B106), and Xdnd's is nobody's business.
  @Test func selectionsDoNotMix() {
    var stage = Stage(policy([], .own))
    for round in 0..<100 {
      stage.copy(marked(Apps.browser, "P\(round)", 0x50_0001), on: stage.primary)
      stage.copy(marked(Apps.browser, "C\(round)", 0x58_0001))
      stage.wait(milliseconds: 150)
      #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.tool, from: stage.primary)) == "P\(round)")
      #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.tool)) == "C\(round)")
      #expect(stage.paste("text/html", by: Apps.tool, from: stage.primary) == nil)
      // No person copies again at once.
      stage.wait(milliseconds: 200)
    }
    let before = stage.effects.count
    stage.copy(marked(Apps.browser, "drag"), on: stage.atom("XdndSelection"))
    stage.wait(milliseconds: 1_000)
    #expect(stage.effects.count == before)
  }

  /// Zero bytes are content, and deselecting touches no other selection (K15 B143).
  @Test func emptyText() {
    var stage = Stage(policy([], .own))
    stage.copy(marked(Apps.browser, "kept"))
    stage.copy(marked(Apps.browser, "", 0x48_0001), on: stage.primary)
    stage.wait(milliseconds: 150)
    #expect(stage.paste("UTF8_STRING", by: Apps.tool, from: stage.primary)?.bytes == [])
    #expect(stage.text(stage.paste("UTF8_STRING", by: Apps.tool)) == "kept")
  }

  @Test func secondaryAndCutBuffers() {
    var ruleset = Policies.denyLedgerCopies.managed
    (ruleset.secondary, ruleset.cutBuffers) = (.guard, .guard)
    var stage = Stage(PolicySet(managed: ruleset, user: Ruleset()))
    stage.copy(marked(Apps.ledger, "secret"), on: stage.atoms.secondary)
    #expect(stage.owners[stage.atoms.secondary] == Stage.daemon)
    stage.copy(marked(Apps.browser, "free"), on: stage.atoms.secondary)
    stage.wait(milliseconds: 200)
    #expect(stage.owners[stage.atoms.secondary] == Window(0x40_0001))
    stage.feed(.cutBufferSet(stage.atom("CUT_BUFFER0"), bytes: 6), Apps.browser)
    #expect(stage.clearedBuffers.isEmpty)
    stage.feed(.cutBufferSet(stage.atom("CUT_BUFFER3"), bytes: 6), Apps.ledger)
    #expect(stage.clearedBuffers == ["CUT_BUFFER3"])
    #expect(stage.audit.last?.selection == "CUT_BUFFER3" && stage.audit.last?.outcome == .emptied)
  }

  /// Nobody can be kept from reading a cut buffer, so a rule about one reader is enough.
  @Test func cutBufferOfARestrictedSource() {
    var ruleset = Policies.financeStays.managed
    ruleset.cutBuffers = .guard
    var stage = Stage(PolicySet(managed: ruleset, user: Ruleset()))
    stage.feed(.cutBufferSet(stage.atom("CUT_BUFFER0"), bytes: 6), Apps.tool)
    #expect(stage.clearedBuffers.isEmpty)
    stage.feed(.cutBufferSet(stage.atom("CUT_BUFFER0"), bytes: 6), Apps.ledger)
    #expect(stage.clearedBuffers == ["CUT_BUFFER0"])
    #expect(stage.audit.map(\.verdict) == [.deny])
  }

  /// By default SECONDARY is left alone, and copies on the root window are guarded where a rule restricts the source.
  @Test func secondaryAndCutBuffersByDefault() {
    var stage = Stage(Policies.denyLedgerCopies)
    stage.copy(marked(Apps.ledger, "secret"), on: stage.atoms.secondary)
    stage.wait(milliseconds: 500)
    #expect(stage.effects.isEmpty)
    stage.feed(.cutBufferSet(stage.atom("CUT_BUFFER0"), bytes: 6), Apps.ledger)
    #expect(stage.clearedBuffers == ["CUT_BUFFER0"])
  }

  /// What toolkits keep on the root window is treated as cut buffers are; what of it is protocol stays.
  @Test func copiesOfToolkitsOnTheRootWindow() {
    let content = ["SDL_CUTBUFFER", "SDL_CUTBUFFER_PRIMARY_SELECTION", "_MOTIF_CLIP_HEADER", "_MOTIF_CLIP_ITEM_2"]
    let motifProtocol = ["_MOTIF_CLIP_LOCK", "_MOTIF_CLIP_NEXT_ID", "_MOTIF_CLIP_FORMAT_STRING"]
    let protocolOnly = motifProtocol + ["CUT_BUFFER", "CUT_BUFFER9"]
    var stage = Stage(Policies.denyLedgerCopies)
    for name in content + protocolOnly { stage.feed(.cutBufferSet(stage.atom(name), bytes: 6), Apps.browser) }
    #expect(stage.clearedBuffers.isEmpty && stage.audit.isEmpty)
    for name in content + protocolOnly { stage.feed(.cutBufferSet(stage.atom(name), bytes: 6), Apps.ledger) }
    #expect(stage.clearedBuffers == content)
    #expect(stage.audit.map(\.selection) == content && stage.audit.allSatisfy { $0.outcome == .emptied })
  }

  /// SDL and Motif answer from the root window, so what may be copied and not be pasted everywhere goes once it is captured.
  @Test func copiesOnTheRootWindowGoAfterTheCapture() {
    var stage = Stage(Policies.financeStays)
    stage.feed(.cutBufferSet(stage.atom("SDL_CUTBUFFER"), bytes: 6), Apps.ledger)
    stage.copy(marked(Apps.ledger, "figure"))
    stage.wait(milliseconds: 249)
    #expect(stage.clearedBuffers.isEmpty)
    stage.wait(milliseconds: 1)
    #expect(stage.clearedBuffers == ["SDL_CUTBUFFER"])
    #expect(stage.audit.last?.selection == "SDL_CUTBUFFER" && stage.audit.last?.outcome == .emptied)
    #expect(stage.owner == Stage.daemon)
  }

  /// Who set it isn't known when no window is active: then any rule about copies counts.
  @Test func copyOnTheRootWindowOfNobodyKnown() {
    var stage = Stage(Policies.denyLedgerCopies)
    stage.feed(.cutBufferSet(stage.atom("SDL_CUTBUFFER"), bytes: 6), nil)
    #expect(stage.clearedBuffers == ["SDL_CUTBUFFER"])
  }

  /// `off` written down stays off, but a user's not against managed rules.
  @Test func copiesOnTheRootWindowLeftAlone() {
    var ruleset = Policies.denyLedgerCopies.managed
    ruleset.cutBuffers = .off
    var stage = Stage(PolicySet(managed: ruleset, user: Ruleset()))
    stage.feed(.cutBufferSet(stage.atom("SDL_CUTBUFFER"), bytes: 6), Apps.ledger)
    #expect(stage.clearedBuffers.isEmpty && stage.audit.isEmpty)
    #expect(PolicySet(managed: Ruleset(), user: ruleset).cutBuffers == .off)
    #expect(PolicySet(managed: Policies.denyLedgerCopies.managed, user: ruleset).cutBuffers == .guard)
    #expect(PolicySet.allowEverything.cutBuffers == .off && PolicySet.locked.cutBuffers == .guard)
  }
}
