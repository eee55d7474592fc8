import Policy
import Selection

@testable import ClipStore

extension Surface {
  /// What the daemon left for the next one: clips and the ledger of requests, altered in any way.
  static let store = Surface(name: "store", longestInput: 4_096, seeds: { StoreTrial.seeds() }) {
    bytes throws(Finding) in
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    switch first % 3 {
    case 0: try StoreTrial.readClip(rest)
    case 1: try StoreTrial.readClip(StoreTrial.withRightLengths(rest))
    default: try StoreTrial.readLedger(rest)
    }
  }
}

/// Reads bytes as what is kept outside of the process.
enum StoreTrial {
  static func readClip(_ bytes: [UInt8]) throws(Finding) {
    guard let located = try? LocatedClip.decode(bytes) else { return }
    try Finding.unless(located.ranges.count == located.clip.forms.count, "content without a form, or the reverse")
    var end = 0
    for (range, form) in zip(located.ranges, located.clip.forms) {
      try Finding.unless(
        range.lowerBound >= end && range.upperBound <= bytes.count, "content that overlaps or lies outside")
      try Finding.unless(range.count == form.count, "content of another length than its form")
      end = range.upperBound
    }
    // What can be read is what would be written: nothing of it can mean something else to the next reader.
    let written = located.clip.encoded()
    try Finding.unless(
      written.byteCount == bytes.count && written.ranges == located.ranges && bytes.starts(with: written.header),
      "a clip that is read is written otherwise")
  }

  /// A fuzzer doesn't find digests. Lengths and digest are put in, and room for the content behind the header.
  static func withRightLengths(_ fields: [UInt8]) -> [UInt8] {
    var all = ByteWriter()
    all.bytes = StoredClip.magic
    all.write(StoredClip.version)
    all.write(UInt32(StoredClip.prefixBytes + fields.count))
    all.write(UInt64(StoredClip.prefixBytes + fields.count))
    all.write(UInt64(0))
    all.bytes += fields
    func seal() {
      let digest = Digest.of(Array(all.bytes.prefix(StoredClip.prefixBytes + fields.count)))
      for index in 0..<8 {
        all.bytes[StoredClip.digestOffset + index] = UInt8(truncatingIfNeeded: digest >> (8 * UInt64(index)))
      }
    }
    var reader = ByteReader(fields)
    if let clip = try? reader.clip(), let end = clip.ranges(after: all.bytes.count)?.last?.upperBound, end < 1 << 20 {
      for index in 0..<8 { all.bytes[16 + index] = UInt8(truncatingIfNeeded: end >> (8 * index)) }
      all.bytes += [UInt8](repeating: 7, count: max(0, end - all.bytes.count))
    }
    seal()
    return all.bytes
  }

  /// The first bytes of the ledger come from the input, its slots from what is left, again and again.
  static func readLedger(_ bytes: [UInt8]) throws(Finding) {
    let parts = bytes.count > RequestLedger.slotsOffset ? Array(bytes[RequestLedger.slotsOffset...]) : [0]
    var ledger = Array(bytes.prefix(RequestLedger.slotsOffset))
    while ledger.count >= RequestLedger.slotsOffset, ledger.count < RequestLedger.byteCount {
      ledger += parts.prefix(RequestLedger.byteCount - ledger.count)
    }
    guard let read = try? RequestLedger.decode(ledger) else { return }
    try Finding.unless(read.waiting.count <= RequestLedger.slotCount, "more requests than slots")
    try Finding.unless(read.transfers >= 0 && read.unkept >= 0, "a negative count")
    try Finding.unless(
      read.server.count == Place.identityBytes && read.boot.count == Place.identityBytes,
      "an identity of another length")
  }

  // MARK: seeds

  static func seeds() -> [(name: String, bytes: [UInt8])] {
    let place = Place(
      display: ":4", screen: 0, server: [UInt8](repeating: 1, count: 16), boot: [UInt8](repeating: 2, count: 16))
    let source = Subject(
      origin: .local(ProcessIdentity(id: 7, startTime: 9)), windowClass: Fact("A", .declared),
      executable: Fact("/a", .attested))
    let forms = [
      StoredClip.Form(target: "UTF8_STRING", type: "UTF8_STRING", format: 8, count: 3),
      StoredClip.Form(target: "x", type: "ATOM", format: 32, count: 8),
    ]
    let clip = StoredClip(
      place: place, selection: "CLIPBOARD", time: ServerTime(5), source: source, isCut: false,
      copiedAt: MonotonicTime(nanoseconds: 1), listsSaveTargets: true, forms: forms)
    let written = clip.encoded()
    let whole = written.header + [UInt8](repeating: 7, count: written.byteCount - written.header.count)
    var remote = clip
    (remote.source, remote.isCut, remote.forms) = (.unknown, true, [forms[0]])
    let ledger =
      RequestLedger.magic + [UInt8](repeating: 0, count: RequestLedger.slotsOffset - RequestLedger.magic.count)
    return [
      ("clip", [0] + whole), ("fields", [1] + written.header.dropFirst(StoredClip.prefixBytes)),
      ("cut", [1] + remote.encoded().header.dropFirst(StoredClip.prefixBytes)),
      ("ledger", [2] + ledger + [1, 0, 0, 0] + [UInt8](repeating: 9, count: 28)), ("nothing", [2]),
    ]
  }
}
