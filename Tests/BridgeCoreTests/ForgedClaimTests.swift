import BridgeCore
import Policy
import Selection
import Testing

private let text: [UInt8] = Array("figures".utf8)

/// Claims that other clients make in the name of our window.
@Suite struct ForgedClaimTests {
  /// A claim in the name of our window is nobody's: what we hold stays, what we don't hold is held empty, and both are
  /// written down.
  @Test func forgedClaim() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    let later = ServerTime(stage.ownerTime.milliseconds + 7)
    stage.feed(.claimForged(selection: stage.atoms.clipboard, time: later), nil)
    #expect(stage.ownerTime == later)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    #expect(stage.audit.contains { $0.kind == .copy && $0.outcome == .refused && $0.source?.isUnknown == true })
    stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)]))
    stage.feed(.claimForged(selection: stage.atoms.clipboard, time: later), nil)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.list(by: Apps.browser) == [])
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
  }
}
