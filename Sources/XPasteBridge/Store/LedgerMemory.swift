import ClipStore
@preconcurrency import Glibc
import Selection
import X11

/// The ledger of requests that have no answer yet, in memory that the service manager keeps: a request stands there from
/// the moment it is read until its answer has left. A few stores into memory for each; no call.
final class LedgerMemory: RequestWitness {
  let descriptor: OwnedDescriptor
  private let base: UnsafeMutableRawPointer
  private var open: [(slot: Int, request: RequestFields)] = []
  private var leaving: [Int] = []
  private var free = Array((0..<RequestLedger.slotCount).reversed())
  private var transfers = 0
  /// Requests for which there was no room, since the start.
  private(set) var unkept = 0

  /// A new ledger, not yet handed over.
  init() throws(SystemFailure) {
    descriptor = try Posix.memfd("requests", byteCount: RequestLedger.byteCount)
    try Posix.addSeals(descriptor, Posix.Seals.size)
    base = try Self.map(descriptor)
  }

  /// The ledger of the run before; `nil` when it isn't one.
  init?(_ descriptor: OwnedDescriptor) {
    guard Posix.sealedByteCount(descriptor, Posix.Seals.size) == RequestLedger.byteCount,
      let base = try? Self.map(descriptor)
    else { return nil }
    self.descriptor = descriptor
    self.base = base
  }

  isolated deinit { munmap(base, RequestLedger.byteCount) }

  private static func map(_ descriptor: OwnedDescriptor) throws(SystemFailure) -> UnsafeMutableRawPointer {
    let found = mmap(nil, RequestLedger.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.number, 0)
    guard let found, found != MAP_FAILED else { throw SystemFailure(call: "mmap", code: errno) }
    return found
  }

  /// What stands in it.
  func contents() throws(StoreError) -> RequestLedger {
    // Valid for as long as the mapping, which lasts as long as we do; its size is sealed.
    let bytes = UnsafeBufferPointer(
      start: base.assumingMemoryBound(to: UInt8.self), count: RequestLedger.byteCount)
    return try RequestLedger.decode(bytes.span)
  }

  /// Empties it, for requests of this place from now on.
  func begin(at place: Place) {
    memset(base, 0, RequestLedger.byteCount)
    for (offset, bytes) in [
      (0, RequestLedger.magic), (RequestLedger.serverOffset, place.server), (RequestLedger.bootOffset, place.boot),
    ] {
      for (index, byte) in bytes.enumerated() {
        base.storeBytes(of: byte, toByteOffset: offset + index, as: UInt8.self)
      }
    }
  }

  /// Notes that content of the run before is being taken up, or no longer is.
  var isRestoring = false {
    didSet { store(isRestoring ? 1 : 0, at: RequestLedger.restoringOffset) }
  }

  /// Notes how many incremental transfers are going out.
  func note(transfers: Int) {
    guard transfers != self.transfers else { return }
    self.transfers = transfers
    store(UInt32(clamping: transfers), at: RequestLedger.transfersOffset)
  }

  /// Requests that stand in it.
  var count: Int { open.count }

  func received(_ request: RequestFields) {
    guard let slot = free.popLast() else {
      unkept += 1
      return store(UInt32(clamping: unkept), at: RequestLedger.unkeptOffset)
    }
    let start = RequestLedger.slotsOffset + slot * RequestLedger.slotBytes
    store(request.requestor.id, at: start + 4)
    store(request.selection.id, at: start + 8)
    store(request.target.id, at: start + 12)
    store(request.property.id, at: start + 16)
    store(request.time.milliseconds, at: start + 20)
    // Last, so that a slot that counts is whole.
    store(1, at: start)
    open.append((slot, request))
  }

  func answered(_ request: RequestFields) {
    // Mostly the first; equal ones are as good as each other.
    guard let index = open.firstIndex(where: { $0.request == request }) else { return }
    leaving.append(open.remove(at: index).slot)
  }

  func flushed() {
    guard !leaving.isEmpty else { return }
    for slot in leaving { store(0, at: RequestLedger.slotsOffset + slot * RequestLedger.slotBytes) }
    free += leaving
    leaving.removeAll(keepingCapacity: true)
  }

  private func store(_ word: UInt32, at offset: Int) {
    // In bounds: every offset comes from the ledger's form, whose size the mapping has.
    base.storeBytes(of: word, toByteOffset: offset, as: UInt32.self)
  }
}
