/// Why a text is no JSON, and at which byte.
struct JSONFailure: Error, Hashable, CustomStringConvertible {
  /// What was expected.
  var expected: String
  /// The offset in bytes.
  var offset: Int

  /// `expected … at byte N`
  var description: String { "expected \(expected) at byte \(offset)" }
}

extension JSON {
  /// Reads one JSON value (RFC 8259) that fills `text`.
  init(reading text: String) throws(JSONFailure) {
    var reader = JSONReader(bytes: Array(text.utf8))
    self = try reader.readDocument()
  }
}

/// A recursive-descent reader over bytes.
private struct JSONReader {
  /// Our own documents nest 6 deep; a deeper one is not ours.
  static let deepest = 32

  let bytes: [UInt8]
  var offset = 0
  var depth = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private func failure(_ expected: String) -> JSONFailure { JSONFailure(expected: expected, offset: offset) }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { offset += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard next == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  mutating func readDocument() throws(JSONFailure) -> JSON {
    let value = try readValue()
    skipSpace()
    guard offset == bytes.count else { throw failure("the end") }
    return value
  }

  private mutating func readValue() throws(JSONFailure) -> JSON {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try nested { (reader) throws(JSONFailure) in try reader.readObject() }
    case UInt8(ascii: "["): return try nested { (reader) throws(JSONFailure) in try reader.readArray() }
    case UInt8(ascii: "\""): return .string(try readString())
    case UInt8(ascii: "t"): return try readWord("true", .bool(true))
    case UInt8(ascii: "f"): return try readWord("false", .bool(false))
    case UInt8(ascii: "n"): return try readWord("null", .null)
    default: return try readNumber()
    }
  }

  private mutating func nested(
    _ read: (inout JSONReader) throws(JSONFailure) -> JSON
  ) throws(JSONFailure) -> JSON {
    guard depth < Self.deepest else { throw failure("less nesting") }
    depth += 1
    offset += 1
    let value = try read(&self)
    depth -= 1
    return value
  }

  private mutating func readObject() throws(JSONFailure) -> JSON {
    var members: [JSON.Member] = []
    if take("}") { return .object(members) }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw failure("a member's name") }
      let name = try readString()
      guard take(":") else { throw failure("`:`") }
      members.append(JSON.Member(name, try readValue()))
    } while take(",")
    guard take("}") else { throw failure("`,` or `}`") }
    return .object(members)
  }

  private mutating func readArray() throws(JSONFailure) -> JSON {
    var elements: [JSON] = []
    if take("]") { return .array(elements) }
    repeat { elements.append(try readValue()) } while take(",")
    guard take("]") else { throw failure("`,` or `]`") }
    return .array(elements)
  }

  private mutating func readWord(_ word: String, _ value: JSON) throws(JSONFailure) -> JSON {
    guard bytes[offset...].starts(with: word.utf8) else { throw failure("`\(word)`") }
    offset += word.utf8.count
    return value
  }

  private mutating func readNumber() throws(JSONFailure) -> JSON {
    let start = offset
    while let byte = next, "+-.eE0123456789".utf8.contains(byte) { offset += 1 }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if let integer = Int(text) { return .integer(integer) }
    guard let decimal = Double(text) else {
      offset = start
      throw failure("a value")
    }
    return .decimal(decimal)
  }

  private mutating func readString() throws(JSONFailure) -> String {
    offset += 1
    var text: [UInt8] = []
    while let byte = next {
      offset += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"): text += try readEscape()
      case 0..<0x20:
        offset -= 1
        throw failure("no control character in a string")
      default: text.append(byte)
      }
    }
    throw failure("`\"`")
  }

  private mutating func readEscape() throws(JSONFailure) -> [UInt8] {
    let escapes: [Unicode.Scalar: Unicode.Scalar] = [
      "\"": "\"", "\\": "\\", "/": "/", "b": "\u{8}", "f": "\u{c}", "n": "\n", "r": "\r", "t": "\t",
    ]
    guard let letter = next else { throw failure("an escape") }
    offset += 1
    if letter == UInt8(ascii: "u") { return try readUnicodeEscape() }
    guard let meant = escapes[Unicode.Scalar(letter)] else { throw failure("an escape") }
    return [UInt8(ascii: meant)]
  }

  private mutating func readUnicodeEscape() throws(JSONFailure) -> [UInt8] {
    var units = [try readHexadecimal()]
    // A high surrogate needs the low one that follows; alone it becomes U+FFFD below.
    if (0xd800..<0xdc00).contains(units[0]), bytes[offset...].starts(with: "\\u".utf8) {
      offset += 2
      units.append(try readHexadecimal())
    }
    return Array(String(decoding: units, as: UTF16.self).utf8)
  }

  private mutating func readHexadecimal() throws(JSONFailure) -> UInt16 {
    let end = min(offset + 4, bytes.count)
    let digits = String(decoding: bytes[offset..<end], as: UTF8.self)
    guard digits.utf8.count == 4, let unit = UInt16(digits, radix: 16) else { throw failure("four digits") }
    offset = end
    return unit
  }
}
