import Policy
import Selection
import Testing

@testable import BridgeCore

/// Content whose source lists a mark of secrecy is a secret, whatever comes of asking for the mark (product.md 5.8).
@Suite struct SecretMarkTests {
  @Test(
    arguments: TargetList.secretMarkers.listed.sorted() + [TargetList.secretMarkers.valued],
    [Stage.Reply.silent, .refuse, .nothingStored])
  func listed(_ mark: String, _ reply: Stage.Reply) {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.vault, [("UTF8_STRING", .bytes([1])), (mark, reply)]))
    stage.wait(milliseconds: 31_000)
    #expect(stage.paste("UTF8_STRING", by: Apps.ledger)?.bytes == [1])
    #expect(stage.bridge.status.first?.isSensitive == true)
    #expect(!stage.effects.contains { if case .retain(_, .some) = $0 { true } else { false } }, "given to nobody")
    stage.wait(milliseconds: 60_000)
    #expect(stage.list(by: Apps.ledger) == [], "gone after its time")
  }

  @Test func otherValues() {
    var stage = Stage()
    stage.copy(
      .init(
        0x40_0001, Apps.vault,
        [("UTF8_STRING", .bytes([1])), (TargetList.secretMarkers.valued, .bytes(Array("public".utf8)))]))
    #expect(stage.bridge.status.first?.isSensitive == false)
  }
}
