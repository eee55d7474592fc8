import ClipStore
import Selection
import Testing
import X11

@testable import XPasteBridge

/// The ledger of requests in memory that outlives the process.
@Suite struct LedgerMemoryTests {
  private func request(_ number: UInt32, time: UInt32 = 7) -> RequestFields {
    RequestFields(
      requestor: Window(number), selection: Atom(1), target: Atom(2), property: Atom(3), time: ServerTime(time))
  }

  private func begun() throws -> LedgerMemory {
    let ledger = try LedgerMemory()
    ledger.begin(
      at: Place(
        display: ":1", screen: 0, server: Array(repeating: 5, count: 16), boot: Array(repeating: 6, count: 16)))
    return ledger
  }

  @Test func requestStandsThereUntilItsAnswerHasLeft() throws {
    let ledger = try begun()
    ledger.received(request(10))
    ledger.received(request(11))
    #expect(try ledger.contents().waiting.map(\.requestor.id).sorted() == [10, 11])
    ledger.answered(request(10))
    #expect(try ledger.contents().waiting.count == 2, "the answer may still be in our own buffer")
    ledger.flushed()
    #expect(try ledger.contents().waiting.map(\.requestor.id) == [11])
    ledger.answered(request(99))
    ledger.flushed()
    #expect(ledger.count == 1)
  }

  @Test func equalRequestsCountEach() throws {
    let ledger = try begun()
    for _ in 0..<2 { ledger.received(request(10)) }
    ledger.answered(request(10))
    ledger.flushed()
    #expect(try ledger.contents().waiting.count == 1)
  }

  @Test func nextProcessReadsItByItsDescriptor() throws {
    let ledger = try begun()
    ledger.received(request(10, time: 0xffff_ffff))
    ledger.note(transfers: 2)
    ledger.isRestoring = true
    let next = try #require(LedgerMemory(ledger.descriptor))
    let found = try next.contents()
    #expect(found.waiting.first?.time == ServerTime(0xffff_ffff))
    #expect(found.transfers == 2 && found.isRestoring)
    #expect(found.server == Array(repeating: 5, count: 16) && found.boot == Array(repeating: 6, count: 16))
  }

  @Test func fullLedgerCountsWhatItDoesNotKeep() throws {
    let ledger = try begun()
    for number in 0..<UInt32(RequestLedger.slotCount + 3) { ledger.received(request(number)) }
    #expect(try ledger.contents().waiting.count == RequestLedger.slotCount)
    #expect(try ledger.contents().unkept == 3 && ledger.unkept == 3)
    for number in 0..<UInt32(RequestLedger.slotCount + 3) { ledger.answered(request(number)) }
    ledger.flushed()
    #expect(try ledger.contents().waiting.isEmpty)
    ledger.received(request(5))
    #expect(try ledger.contents().waiting.count == 1, "there is room again")
  }

  @Test func otherDescriptorsAreNone() throws {
    let unsealed = try Posix.memfd("test", byteCount: RequestLedger.byteCount)
    #expect(LedgerMemory(unsealed) == nil, "its size could change under us")
    let short = try Posix.memfd("test", byteCount: 100)
    try Posix.addSeals(short, Posix.Seals.size)
    #expect(LedgerMemory(short) == nil)
    #expect(LedgerMemory(try Posix.open("/dev/null", 2)) == nil)
  }

  @Test func sealedContentIsNotWrittenAnyMore() throws {
    let descriptor = try Posix.memfd("test", byteCount: 4_096)
    try Posix.addSeals(descriptor, Posix.Seals.size | Posix.Seals.futureWrite)
    #expect(throws: SystemFailure.self) { try Posix.write("x", to: descriptor.number) }
    #expect(Posix.sealedByteCount(descriptor, Posix.Seals.futureWrite) == 4_096)
  }
}
