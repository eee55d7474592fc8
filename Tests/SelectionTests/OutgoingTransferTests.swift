import Selection
import Testing

private let target = NamedAtom(Atom(300), "UTF8_STRING")

private func form(_ count: Int) -> Representation {
  Representation(
    target: target, type: target, format: 8, payload: Payload((0..<count).map { UInt8(truncatingIfNeeded: $0) }))
}

@Suite struct OutgoingTransferTests {
  /// Up to 256 KiB one property, above it chunks (product.md 5.6; K01 B006: 262143, 262144, 262145 bytes).
  @Test(arguments: [(0, false), (1, false), (262_143, false), (262_144, false), (262_145, true), (5_000_000, true)])
  func oneProperyOrChunks(count: Int, incremental: Bool) {
    #expect(OutgoingTransfer.isNeeded(for: form(count).payload) == incremental)
  }

  /// Each deletion is answered by the next chunk, the last one by the zero-length end; the chunks are the content.
  @Test(arguments: [262_145, 524_288, 524_289, 1_048_575, 1_048_576, 1_048_577])
  func chunksAddUp(count: Int) {
    let whole = form(count)
    var transfer = OutgoingTransfer(whole)
    var sent: [UInt8] = []
    var steps = 0
    loop: while true {
      steps += 1
      switch transfer.propertyDeleted() {
      case .store(let chunk): whole.payload.withChunk(chunk) { sent.append(contentsOf: $0) }
      case .storeEnd: break loop
      }
    }
    #expect(sent == whole.payload.copiedBytes())
    #expect(steps == whole.payload.chunkCount + 1)
    #expect(transfer.propertyDeleted() == .storeEnd, "after the end nothing new")
  }
}
