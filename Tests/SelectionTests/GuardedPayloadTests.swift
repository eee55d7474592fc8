import GuardedMemory
import Testing

@testable import Selection

/// Where content lies, and what becomes of it there.
@Suite struct GuardedPayloadTests {
  private func bytes(of pages: GuardedPages) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: pages.base, count: pages.byteCount))
  }

  @Test func movedContentIsTheSameForAllItsCopies() {
    let content = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let payload = Payload(content)
    let copy = payload
    let pages = GuardedPages(byteCount: 16 + content.count + 16)
    for chunk in 0..<payload.chunkCount {
      payload.moveChunk(chunk, to: pages, at: 16 + chunk * Payload.segmentBytes)
    }
    #expect(payload.copiedBytes() == content && copy.copiedBytes() == content)
    #expect(bytes(of: pages) == Array(repeating: 0, count: 16) + content + Array(repeating: 0, count: 16))
    // Read where it lies, as the next process does.
    #expect(Payload(16..<16 + content.count, of: pages) == payload)
  }

  @Test func contentGrowsBesideWhatItWasMovedTo() {
    var payload = Payload([1, 2, 3])
    let pages = GuardedPages(byteCount: 8)
    payload.moveChunk(0, to: pages, at: 0)
    payload.append(Payload([4]))
    #expect(payload.copiedBytes() == [1, 2, 3, 4])
    #expect(bytes(of: pages) == Array(repeating: 0, count: 8), "what it was moved to holds nothing any more")
  }

  @Test func contentIsWipedWithItsLastUser() {
    let pages = GuardedPages(byteCount: 64)
    do {
      let payload = Payload(Array(repeating: 0xaa, count: 40))
      payload.moveChunk(0, to: pages, at: 8)
      let copy = payload
      #expect(bytes(of: pages).count { $0 == 0xaa } == 40)
      #expect(copy.count == 40)
    }
    #expect(bytes(of: pages) == Array(repeating: 0, count: 64))
  }

  @Test func pagesAreCounted() {
    // Others count at the same time, so only a lower bound is sure.
    let pages = GuardedPages(byteCount: 1 << 20)
    #expect(GuardedPages.usage.bytes >= 1 << 20)
    #expect(GuardedPages.usage.unlockedBytes <= GuardedPages.usage.bytes)
    pages.wipe(0..<1 << 20)
  }
}
