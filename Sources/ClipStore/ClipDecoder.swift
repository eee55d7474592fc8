import Policy
import Selection

extension LocatedClip {
  /// Reads a clip from any bytes whatever: what isn't one is an error, never a trap.
  public static func decode(_ bytes: [UInt8]) throws(StoreError) -> LocatedClip { try decode(bytes.span) }

  /// Reads a clip from any bytes whatever: what isn't one is an error, never a trap.
  public static func decode(_ bytes: borrowing Span<UInt8>) throws(StoreError) -> LocatedClip {
    guard bytes.count >= StoredClip.prefixBytes else { throw .tooShort }
    for index in 0..<StoredClip.magic.count where bytes[index] != StoredClip.magic[index] { throw .foreign }
    var prefix = ByteReader((0..<StoredClip.prefixBytes).map { bytes[$0] })
    try prefix.skip(StoredClip.magic.count)
    let version = try prefix.number32()
    guard version == StoredClip.version else { throw .version(version) }
    let headerBytes = Int(try prefix.number32())
    guard headerBytes >= StoredClip.prefixBytes, headerBytes <= bytes.count,
      headerBytes <= StoredClip.longestHeader, try prefix.number64() == bytes.count
    else { throw .lengths }
    // A copy of the header alone: it holds names, no content.
    let header = (0..<headerBytes).map { bytes[$0] }
    guard try prefix.number64() == Digest.of(header) else { throw .altered }
    var fields = ByteReader(header)
    try fields.skip(StoredClip.prefixBytes)
    let clip = try fields.clip()
    guard fields.isAtEnd, let ranges = clip.ranges(after: headerBytes),
      ranges.last?.upperBound ?? headerBytes == bytes.count
    else { throw .lengths }
    return LocatedClip(clip: clip, ranges: ranges)
  }
}

/// Reads numbers and texts, and never past the end.
struct ByteReader {
  private let bytes: [UInt8]
  private var next = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { next == bytes.count }

  private mutating func take(_ count: Int) throws(StoreError) -> Range<Int> {
    guard count >= 0, count <= bytes.count - next else { throw .lengths }
    next += count
    return next - count..<next
  }

  mutating func skip(_ count: Int) throws(StoreError) { _ = try take(count) }

  mutating func byte() throws(StoreError) -> UInt8 { bytes[try take(1).lowerBound] }

  mutating func number32() throws(StoreError) -> UInt32 {
    try take(4).reversed().reduce(0) { $0 << 8 | UInt32(bytes[$1]) }
  }

  mutating func number64() throws(StoreError) -> UInt64 {
    try take(8).reversed().reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
  }

  mutating func identity() throws(StoreError) -> [UInt8] { try take(Place.identityBytes).map { bytes[$0] } }

  mutating func text(_ name: String) throws(StoreError) -> String {
    let count = Int(try number32())
    guard count <= StoredClip.longestText else { throw .field(name) }
    let utf8 = try take(count).map { bytes[$0] }
    guard let text = String(validating: utf8, as: UTF8.self) else { throw .field(name) }
    return text
  }

  mutating func clip() throws(StoreError) -> StoredClip {
    let place = Place(
      display: try text("display"), screen: Int(try number32()), server: try identity(), boot: try identity())
    let selection = try text("selection")
    let time = ServerTime(try number32())
    let copiedAt = MonotonicTime(nanoseconds: try number64())
    let flags = try byte()
    guard !selection.isEmpty, flags & ~3 == 0 else { throw .field("kind") }
    let source = try subject()
    let count = Int(try number32())
    guard count > 0, count <= StoredClip.mostForms else { throw .field("number of forms") }
    var forms: [StoredClip.Form] = []
    for _ in 0..<count { forms.append(try form()) }
    return StoredClip(
      place: place, selection: selection, time: time, source: source, isCut: flags & 1 != 0, copiedAt: copiedAt,
      listsSaveTargets: flags & 2 != 0, forms: forms)
  }

  private mutating func form() throws(StoreError) -> StoredClip.Form {
    let target = try text("target")
    let type = try text("type")
    let format = Int(try byte())
    guard format == 8 || format == 16 || format == 32 else { throw .field("format") }
    guard let count = Int(exactly: try number64()), count % (format / 8) == 0 else { throw .field("size") }
    return StoredClip.Form(target: target, type: type, format: format, count: count)
  }

  private mutating func subject() throws(StoreError) -> Subject {
    var subject: Subject
    switch try byte() {
    case 0:
      let id = Int32(bitPattern: try number32())
      subject = Subject(origin: .local(ProcessIdentity(id: id, startTime: try number64())))
    case 1: subject = Subject(origin: .remote)
    case 2: subject = Subject(origin: .unknown)
    default: throw .field("origin")
    }
    for name in FactName.allCases { subject[name] = try fact(name.rawValue) }
    return subject
  }

  private mutating func fact(_ name: String) throws(StoreError) -> Fact? {
    switch try byte() {
    case 0: nil
    case 1: Fact(try text(name), .attested)
    case 2: Fact(try text(name), .declared)
    case 3: Fact(try text(name), .inferred)
    default: throw .field(name)
    }
  }
}
