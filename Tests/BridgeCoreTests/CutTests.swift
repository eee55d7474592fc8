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
    _ replies: [(String, Stage.Reply)], isKnownCut: Bool, under policy: PolicySet = Policies.owning
  ) -> Stage {
    var stage = Stage()
    stage.replacePolicy(policy)
    let source = Stage.Owner(0x40_0001, Apps.ledger, replies)
    (stage.owner, stage.ownerTime) = (source.window, stage.serverTime)
    stage.sources[source.window] = source
    var change = OwnerChange(
      selection: stage.atoms.clipboard, owner: source.window, cause: .set, selectionTime: stage.serverTime)
    change.isKnownCut = isKnownCut
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
