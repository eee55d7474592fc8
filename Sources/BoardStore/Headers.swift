/// Writes numbers and texts as the sealed headers have them: little endian, texts behind their length.
struct HeaderWriter {
  private(set) var bytes: [UInt8] = []

  mutating func put(_ number: some FixedWidthInteger) {
    var rest = number
    for _ in 0..<number.bitWidth / 8 {
      bytes.append(UInt8(truncatingIfNeeded: rest))
      rest >>= 8
    }
  }

  mutating func put(_ text: String) { put(Array(text.utf8)) }

  mutating func put(_ piece: [UInt8]) {
    put(UInt32(piece.count))
    bytes += piece
  }
}

/// Reads what ``HeaderWriter`` wrote, from any bytes without a trap; `nil` where they end early.
struct HeaderReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func number<N: FixedWidthInteger>(_: N.Type = N.self) -> N? {
    let width = N.bitWidth / 8
    guard rest.count >= width else { return nil }
    var number: N = 0
    for byte in rest.prefix(width).reversed() { number = number << 8 | N(truncatingIfNeeded: byte) }
    rest = rest.dropFirst(width)
    return number
  }

  mutating func piece() -> [UInt8]? {
    guard let count = number(UInt32.self), rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(Int(count)) }
    return Array(rest.prefix(Int(count)))
  }

  mutating func text() -> String? { piece().map { String(decoding: $0, as: UTF8.self) } }
}

/// What stands sealed in a board's row.
struct BoardHeader {
  var record: BoardRecord

  var bytes: [UInt8] {
    var writer = HeaderWriter()
    writer.put(record.name)
    writer.put(record.changeCount)
    writer.put(record.flags.rawValue)
    return writer.bytes
  }

  init(_ record: BoardRecord) { self.record = record }

  init?(_ bytes: [UInt8]) {
    var reader = HeaderReader(bytes)
    guard let name = reader.text(), let changeCount = reader.number(UInt64.self),
      let flags = reader.number(UInt32.self),
      reader.isAtEnd
    else { return nil }
    record = BoardRecord(name: name, changeCount: changeCount, flags: BoardFlags(rawValue: flags))
  }
}

/// What stands sealed in an item's row. Its position and the time of its end stand beside it in clear, since they order and
/// end items without a key; they are bound to it by its ``Place``.
struct ItemHeader {
  /// A number of this very content: parts of an item that had the same serial before don't open under it.
  var mark: UInt64
  var created: Int64
  var isPinned: Bool
  var source: String
  var representations: [RepresentationRecord]

  var bytes: [UInt8] {
    var writer = HeaderWriter()
    writer.put(mark)
    writer.put(created)
    writer.put(UInt8(isPinned ? 1 : 0))
    writer.put(source)
    writer.put(UInt32(representations.count))
    for representation in representations {
      writer.put(representation.type)
      writer.put(UInt64(representation.byteCount))
    }
    return writer.bytes
  }

  init(_ record: ItemRecord, mark: UInt64, _ representations: [RepresentationRecord]) {
    (self.mark, created, isPinned, source) = (mark, record.created, record.isPinned, record.source)
    self.representations = representations
  }

  init?(_ bytes: [UInt8]) {
    var reader = HeaderReader(bytes)
    guard let mark = reader.number(UInt64.self), let created = reader.number(Int64.self),
      let pinned = reader.number(UInt8.self), let source = reader.text(), let count = reader.number(UInt32.self)
    else { return nil }
    (self.mark, self.created, isPinned, self.source) = (mark, created, pinned != 0, source)
    representations = []
    for _ in 0..<count {
      guard let type = reader.text(), let size = reader.number(UInt64.self), let byteCount = Int(exactly: size) else {
        return nil
      }
      representations.append(RepresentationRecord(type: type, byteCount: byteCount))
    }
    guard reader.isAtEnd else { return nil }
  }
}

/// Where something sealed belongs, as the associated data of its seal: what was sealed for one place doesn't open in another.
enum Place {
  /// The row that tells whether a key is the right one.
  static func keyProof(store: [UInt8]) -> [UInt8] { begun(0, store).bytes }

  static func board(_ id: Int64, store: [UInt8]) -> [UInt8] {
    var place = begun(1, store)
    place.put(id)
    return place.bytes
  }

  static func item(_ row: ItemRow, store: [UInt8]) -> [UInt8] {
    var place = begun(2, store)
    place.put(row.board)
    place.put(row.serial)
    place.put(row.position)
    place.put(row.expires ?? .max)
    return place.bytes
  }

  /// Part `number` of a representation, of which the item's header has the name and the size.
  static func part(_ number: Int, representation: Int, of row: ItemRow, _ header: ItemHeader, store: [UInt8]) -> [UInt8]
  {
    var place = begun(3, store)
    place.put(row.board)
    place.put(row.serial)
    place.put(header.mark)
    place.put(UInt64(representation))
    place.put(UInt64(number))
    place.put(UInt64(header.representations[representation].byteCount))
    place.put(header.representations[representation].type)
    return place.bytes
  }

  private static func begun(_ kind: UInt8, _ store: [UInt8]) -> HeaderWriter {
    var writer = HeaderWriter()
    writer.put("xpastebridge boards 1")
    writer.put(kind)
    writer.put(store)
    return writer
  }
}

/// What stands in clear in an item's row.
struct ItemRow: Hashable {
  var board: Int64
  var serial: Int64
  var position: Int64
  var expires: Int64?
}
