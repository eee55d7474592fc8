@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

// Content that travels by descriptor: a file in memory, sealed, so that neither side can change it under the other's hands.
extension Posix {
  /// The first `byteCount` bytes of a file in memory that can't shrink.
  static func payload(of descriptor: OwnedDescriptor, byteCount: Int) throws(SystemFailure) -> Payload {
    var payload = Payload()
    try read(descriptor, into: &payload, upTo: byteCount)
    return payload
  }

  /// Goes on reading a file in memory behind what is in `payload`, until that has `end` bytes.
  static func read(_ descriptor: OwnedDescriptor, into payload: inout Payload, upTo end: Int) throws(SystemFailure) {
    let step = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(max(1, end - payload.count), Payload.segmentBytes), alignment: 1)
    defer {
      if let start = step.baseAddress { explicit_bzero(start, step.count) }
      step.deallocate()
    }
    while payload.count < end {
      let wanted = min(step.count, end - payload.count)
      let count = pread(descriptor.number, step.baseAddress, wanted, payload.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemFailure(call: "pread", code: count < 0 ? errno : EIO) }
      payload.append(UnsafeRawBufferPointer(rebasing: step.prefix(count)))
    }
  }

  /// A sealed copy of all that can be read from `source`.
  static func memfd(_ name: String, from source: Int32) throws(SystemFailure) -> OwnedDescriptor {
    let made = try memfd(name, byteCount: 0)
    try copyContents(of: source, to: made.number)
    try addSeals(made, Seals.content)
    return made
  }

  /// Copies all that can be read from `source` to the start of the file `target`.
  static func copyContents(of source: Int32, to target: Int32) throws(SystemFailure) {
    var offset = 0
    while true {
      let bytes = try read(source, limit: Payload.segmentBytes)
      guard !bytes.isEmpty else { return }
      var rest = bytes[...]
      while !rest.isEmpty {
        let written = rest.withUnsafeBytes { pwrite(target, $0.baseAddress, $0.count, offset) }
        if written < 0, errno == EINTR { continue }
        try SystemFailure.unlessMinusOne(written, "pwrite")
        rest = rest.dropFirst(written)
        offset += written
      }
    }
  }

  /// Writes a chunk of content, waiting where a reader is slow.
  static func writeAll(_ payload: Payload, chunk: Int, to descriptor: Int32) throws(SystemFailure) {
    var failure: SystemFailure?
    payload.withChunk(chunk) { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
        if written < 0, errno == EINTR { continue }
        if written < 0, errno == EAGAIN, poll(descriptor, POLLOUT, milliseconds: 10_000) { continue }
        guard written > 0 else { return failure = SystemFailure(call: "write", code: errno) }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
      }
    }
    if let failure { throw failure }
  }

  /// Whether more than half of the descriptors that this process may have are in use.
  static var isShortOfDescriptors: Bool {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
    // The lowest number that is free.
    let next = duplicate(0)
    guard next >= 0 else { return errno == EMFILE }
    close(next)
    return UInt64(next) > min(UInt64(limit.rlim_cur), 1 << 16) / 2
  }

  /// 32 letters and digits that nobody can guess.
  static func randomName() -> String {
    var id = sd_id128_t()
    guard sd_id128_randomize(&id) >= 0 else { return String(UInt64.random(in: 0 ... .max), radix: 16) }
    return withUnsafeBytes(of: &id) { bytes in
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }
}
