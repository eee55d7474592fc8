import BridgeCore
import Policy
import Selection
import Testing

private let text: [UInt8] = Array("content".utf8)

/// What outlives the process, and what the next one makes of it.
@Suite struct RestoreTests {
  private func copied(
    _ policy: PolicySet = Policies.owning, by app: Subject = Apps.ledger, _ more: [(String, Stage.Reply)] = []
  ) -> Stage {
    var stage = Stage(policy)
    stage.copy(.init(0x40_0001, app, [("UTF8_STRING", .bytes(text)), ("text/html", .bytes([60, 62]))] + more))
    stage.sources = [:]
    return stage
  }

  @Test func heldClipIsTakenUpWithItsOldTime() {
    var stage = copied()
    let claimed = stage.ownerTime
    stage.serverTime.milliseconds += 90_000
    stage.restart()
    #expect(stage.owner == Stage.daemon && stage.ownerTime == claimed)
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING", "text/html"])
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    #expect(stage.retentions == 1, "it is kept as it was, not given away again")
    stage.restart()
    #expect(stage.paste("text/html", by: Apps.browser)?.bytes == [60, 62])
    stage.clear()
    #expect(stage.retained == nil)
  }

  @Test func whatIsHeldIsSaidAtTheEndAndOnce() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    guard case .retain(_, let held?)? = stage.effects.last else {
      Issue.record("\(stage.effects.suffix(2))")
      return
    }
    #expect(held.representations.map(\.target.name) == ["UTF8_STRING"] && held.source == Apps.ledger)
    for _ in 0..<3 { _ = stage.paste("UTF8_STRING", by: Apps.browser) }
    #expect(stage.retentions == 1)
    stage.copy(.init(0x40_0002, Apps.tool, [("UTF8_STRING", .silent)]))
    #expect(stage.retained == nil, "the old clip is over with the new owner, whatever becomes of the new")
  }

  @Test func newerCopyWins() {
    var stage = copied()
    stage.ownerTime.milliseconds += 5
    // Nobody owns it any more, and the server knows that somebody did.
    stage.restart()
    #expect(stage.owner == .none)
    #expect(stage.retained == nil)
    #expect(stage.bridge.isSettled && stage.bridge.status.first?.state == .unowned)
    // The next copy is taken as any other.
    stage.serverTime.milliseconds += 100
    stage.copy(.init(0x40_0003, Apps.tool, [("UTF8_STRING", .bytes([1]))]))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == [1])
    #expect(stage.audit.allSatisfy { $0.outcome != .left })
  }

  @Test func expiryGoesOnCounting() {
    let expiring = Policies.set([
      Policies.rule("short", .allow) {
        $0.from = Policies.apps("Ledger")
        $0.obligations.expiresAfterSeconds = 20
      }
    ])
    var stage = copied(expiring)
    stage.restart(after: 15_000)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) != nil)
    stage.wait(milliseconds: 5_001)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.retained == nil)

    stage = copied(expiring)
    stage.restart(after: 20_000)
    #expect(stage.owner == .none && stage.retained == nil)
    #expect(stage.audit.last?.kind == .expire && stage.audit.last?.outcome == .dropped)
  }

  @Test func policyIsAskedAnew() {
    var stage = copied()
    stage.restart(policy: Policies.denyLedgerCopies)
    #expect(stage.owner == .none && stage.retained == nil)
    #expect(stage.audit.last?.outcome == .dropped && stage.audit.last?.verdict == .deny)

    stage = copied()
    stage.restart(policy: Policies.financeStays)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.report)?.bytes == text)
    stage.restart(policy: .locked)
    #expect(stage.paste("UTF8_STRING", by: Apps.report) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.ledger)?.bytes == text)
  }

  @Test func whatARuleLeavesOutIsNotKeptAnyLonger() {
    let textOnly = Policies.set([
      Policies.rule("text only", .allow) {
        $0.from = Policies.apps("Ledger")
        $0.obligations.plainText = true
      }
    ])
    var stage = copied()
    stage.restart(policy: textOnly)
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"])
    #expect(stage.retained?.representations.map(\.target.name) == ["UTF8_STRING"])
    stage = copied()
    stage.replacePolicy(textOnly)
    #expect(stage.retained?.representations.map(\.target.name) == ["UTF8_STRING"])
  }

  @Test func secretsAndWhatIsReadOnceAreNotGivenAway() {
    var stage = copied(by: Apps.vault, [("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))])
    #expect(stage.owner == Stage.daemon && stage.retained == nil && stage.retentions == 0)

    let once = Policies.set([
      Policies.rule("once", .allow) {
        $0.obligations.oneShot = true; $0.actions = [.copy]
      }
    ])
    #expect(copied(once).retentions == 0)

    let pasteOnce = Policies.set([
      Policies.rule("once", .allow) {
        $0.obligations.oneShot = true; $0.actions = [.paste]
      }
    ])
    stage = copied(pasteOnce)
    #expect(stage.retained != nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) != nil)
    #expect(stage.retained == nil, "what has been read once doesn't come back")

    stage = copied(Policies.denyLedgerCopies)
    #expect(stage.retentions == 0)
  }

  @Test func secretThatComesBackNeverthelessIsDropped() throws {
    var stage = copied()
    var held = try #require(stage.retained)
    let mark = stage.atom("x-kde-passwordManagerHint")
    held.representations.append(
      Representation(target: mark, type: mark, format: 8, payload: Payload(Array("secret".utf8))))
    stage.owner = .none
    stage.bridge = Bridge(atoms: stage.atoms, policy: Policies.owning)
    let effects = stage.bridge.restore(held, at: stage.now)
    #expect(effects == [.retain(selection: stage.atoms.clipboard, nil)])
  }
}
