/// A JSON value whose members keep their order, so that lines can be read by people too.
indirect enum JSON: Hashable {
  case null
  case bool(Bool)
  case integer(Int)
  /// A number that is no integer; only read, never written by us.
  case decimal(Double)
  case string(String)
  case array([JSON])
  case object([Member])

  /// A name and its value.
  struct Member: Hashable {
    var name: String
    var value: JSON

    init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  /// An object of the members that have a value.
  static func object(_ members: KeyValuePairs<String, JSON?>) -> JSON {
    .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }

  /// Strings as a JSON array.
  static func strings(_ strings: [String]) -> JSON { .array(strings.map(JSON.string)) }

  /// The member `name` of an object.
  subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The text of a string.
  var text: String? { if case .string(let text) = self { text } else { nil } }
  /// The number of an integer.
  var number: Int? { if case .integer(let number) = self { number } else { nil } }
  /// The truth of a boolean.
  var truth: Bool? { if case .bool(let truth) = self { truth } else { nil } }
  /// The elements of an array; none for anything else.
  var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }
  /// The members of an object; none for anything else.
  var members: [Member] { if case .object(let members) = self { members } else { [] } }
}

extension JSON: CustomStringConvertible {
  /// The value on one line, without spaces between its parts.
  var description: String {
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .decimal(let value): text += value.isFinite ? String(value) : "null"
    case .string(let value): Self.write(value, to: &text)
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += "," }
        element.write(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { text += "," }
        Self.write(member.name, to: &text)
        text += ":"
        member.value.write(to: &text)
      }
      text += "}"
    }
  }

  /// Escapes what RFC 8259 demands, and what would break a line or steer a terminal that shows it.
  private static func write(_ value: String, to text: inout String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      case "\r": text += "\\r"
      case _ where Label.isUnprintable(scalar):
        for unit in String(scalar).utf16 { text += "\\u" + hexadecimal(unit) }
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }

  private static func hexadecimal(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }
}

/// Names that programs give themselves, made fit to be shown: a peer chooses WM_CLASS, target names and paths freely.
enum Label {
  /// Bytes of one fact in a record (our choice: the longest path that is usual, and 64 of them stay under 32 KiB).
  static let factBytes = 512

  /// `text` cut to `limit` bytes of UTF-8 between two characters, with an ellipsis where something was cut.
  static func shortened(_ text: String, to limit: Int = factBytes) -> String {
    guard text.utf8.count > limit else { return text }
    var kept = ""
    var bytes = 0
    for scalar in text.unicodeScalars {
      bytes += scalar.utf8.count
      guard bytes <= limit else { break }
      kept.unicodeScalars.append(scalar)
    }
    return kept + "…"
  }

  /// `text` shortened, and everything that breaks a line or steers a terminal spelt out.
  static func plain(_ text: String, to limit: Int = factBytes) -> String {
    var shown = ""
    for scalar in shortened(text, to: limit).unicodeScalars {
      if isUnprintable(scalar) {
        shown += "\\u{" + String(scalar.value, radix: 16) + "}"
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }

  /// Control characters, line and paragraph separators, those that turn the direction of writing, and those that show
  /// nothing: with them one name can look like another.
  static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1f, 0x7f...0x9f, 0x2028...0x202e, 0x200b...0x200f, 0x2060...0x2069, 0x061c: true
    case 0xad, 0x115f...0x1160, 0x180e, 0x3164, 0xfeff, 0xe0000...0xe007f: true
    default: false
    }
  }
}
