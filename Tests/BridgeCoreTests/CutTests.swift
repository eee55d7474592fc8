import BridgeCore
import Policy
import Selection
import Testing

private let text: [UInt8] = Array("content".utf8)

@Suite struct CutTests {
  private static func deny(_ actions: Set<Policy.Action>) -> PolicySet {
    Policies.set([Policies.rule("no", .deny) { $0.actions = actions }])
  }

  private func take(
    _ replies: [(String, Stage.Reply)], isKnownCut: Bool, couldBeCut: Bool = false,
    under policy: PolicySet = Policies.owning
  ) -> Stage {
    var stage = Stage()
    stage.replacePolicy(policy)
    let source = Stage.Owner(0x40_0001, Apps.ledger, replies)
    (stage.owner, stage.ownerTime) = (source.window, stage.serverTime)
    stage.sources[source.window] = source
    var change = OwnerChange(
      selection: stage.atoms.clipboard, owner: source.window, cause: .set, selectionTime: stage.serverTime)
    (change.isKnownCut, change.couldBeCut) = (isKnownCut, couldBeCut)
    stage.feed(.ownerChanged(change), source.subject)
    return stage
  }

  @Test func aKeyTellsACutFromACopy() {
    let plain: [(String, Stage.Reply)] = [("UTF8_STRING", .bytes(text))]
    let cut = take(plain, isKnownCut: true, under: Self.deny([.cut]))
    #expect(cut.audit.map(\.kind) == [.cut] && cut.audit.map(\.outcome) == [.emptied])
    #expect(cut.asked.isEmpty, "denied at once, nothing is asked")
    let copy = take(plain, isKnownCut: false, under: Self.deny([.cut]))
    #expect(copy.audit.map(\.kind) == [.copy] && copy.audit.map(\.outcome) == [.kept])
    let allowed = take(plain, isKnownCut: true, under: Self.deny([.copy]))
    #expect(allowed.audit.map(\.kind) == [.cut] && allowed.audit.map(\.outcome) == [.kept])
  }

  /// Where it isn't certain whose key it was, the rules about copies and those about cuts count, when it is made and after.
  @Test func aCopyThatCouldBeACutMeetsBoth() {
    let plain: [(String, Stage.Reply)] = [("UTF8_STRING", .bytes(text))]
    for actions in [[.cut], [.copy]] as [Set<Policy.Action>] {
      let refused = take(plain, isKnownCut: false, couldBeCut: true, under: Self.deny(actions))
      #expect(refused.audit.map(\.outcome) == [.emptied] && refused.asked.isEmpty, "\(actions)")
    }
    let large = Policies.set([
      Policies.rule("no large cuts", .deny) { ($0.actions, $0.size) = ([.cut], SizeRange(over: 1)) }
    ])
    let judged = take(plain, isKnownCut: false, couldBeCut: true, under: large)
    #expect(judged.audit.map(\.outcome) == [.emptied], "what only the content tells")
    var kept = take(plain, isKnownCut: false, couldBeCut: true)
    #expect(kept.audit.map(\.outcome) == [.kept])
    kept.replacePolicy(Self.deny([.cut]))
    #expect(kept.paste("UTF8_STRING", by: Apps.browser) == nil, "under a later policy, too")
    // What says itself what it is leaves no doubt.
    let said = take(
      [("x-special/gnome-copied-files", .bytes(Array("copy\nfile:///a".utf8)))], isKnownCut: false, couldBeCut: true,
      under: large)
    #expect(said.audit.map(\.kind) == [.copy] && said.audit.map(\.outcome) == [.kept])
  }

  @Test func theNextCopyIsNone() {
    var stage = take([("UTF8_STRING", .bytes(text))], isKnownCut: true)
    stage.copy(.init(0x50_0001, Apps.browser, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.audit.filter { $0.outcome == .kept }.map(\.kind) == [.cut, .copy])
  }

  /// What file managers put beside their files says it without any key.
  @Test(arguments: [
    ("x-special/gnome-copied-files", "cut\nfile:///a", AuditRecord.Kind.cut),
    ("x-special/gnome-copied-files", "copy\nfile:///cut", .copy),
    ("x-special/gnome-copied-files", "cutlery", .copy),
    ("x-special/mate-copied-files", "cut\nfile:///a", .cut),
    ("x-special/mate-copied-files", "copy\nfile:///cut", .copy),
    ("x-special/desktop-copied-files", "cut", .cut),
    ("application/x-kde-cutselection", "1", .cut),
    ("application/x-kde-cutselection", "0", .copy),
  ]) func filesSayItThemselves(target: String, value: String, kind: AuditRecord.Kind) {
    let files: [(String, Stage.Reply)] = [
      ("text/uri-list", .bytes(Array("file:///a\r\n".utf8))), (target, .bytes(Array(value.utf8))),
    ]
    let kept = take(files, isKnownCut: false)
    #expect(kept.audit.map(\.kind) == [kind])
    var denied = take(files, isKnownCut: false, under: Self.deny([.cut]))
    #expect(denied.audit.allSatisfy { $0.kind == kind })
    let isReadable = denied.paste("text/uri-list", by: Apps.browser) != nil
    #expect(isReadable == (kind == .copy))
  }

  /// A file manager that says "copy" has copied, whatever key was pressed.
  @Test func whatIsSaidCountsMoreThanAKey() {
    let stage = take([("x-special/gnome-copied-files", .bytes(Array("copy\nfile:///a".utf8)))], isKnownCut: true)
    #expect(stage.audit.map(\.kind) == [.copy])
  }
}
