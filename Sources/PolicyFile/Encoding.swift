/// Where bytes stop being UTF-8 text that YAML may be written in.
enum Encoding {
  /// The index of the first byte that is part of no UTF-8 sequence, or that begins a character YAML doesn't allow.
  static func firstFlaw(in bytes: ArraySlice<UInt8>) -> Int? {
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let lead = bytes[index]
      if lead < 0x80 {
        guard lead >= 0x20 && lead != 0x7F || lead == 9 || lead == 10 || lead == 13 else { return index }
        index += 1
        continue
      }
      guard let length = length(from: lead), index + length <= bytes.endIndex else { return index }
      let sequence = bytes[index..<index + length]
      guard let text = String(validating: sequence, as: UTF8.self), let scalar = text.unicodeScalars.first,
        scalar.value >= 0xA0 || scalar.value == 0x85, scalar.value & 0xFFFE != 0xFFFE
      else { return index }
      index += length
    }
    return nil
  }

  /// The first byte of the character at `line` and `column`, both from 1; a line ends with LF, CR or both.
  static func character(atLine line: Int, column: Int, in bytes: ArraySlice<UInt8>) -> UInt8? {
    var rest = bytes
    for _ in 1..<max(1, line) {
      guard let end = rest.firstIndex(where: { $0 == 10 || $0 == 13 }) else { return nil }
      let isPair = rest[end] == 13 && end + 1 < rest.endIndex && rest[end + 1] == 10
      rest = rest[(end + (isPair ? 2 : 1))...]
    }
    return rest.lazy.filter { $0 & 0xC0 != 0x80 }.dropFirst(column - 1).first
  }

  private static func length(from lead: UInt8) -> Int? {
    switch lead {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: nil
    }
  }

  /// Line and column, from 1, of the byte at `offset`; everything before it is UTF-8.
  static func place(of offset: Int, in bytes: ArraySlice<UInt8>) -> (line: Int, column: Int) {
    let before = bytes[bytes.startIndex..<offset]
    let line = before.count { $0 == 10 } + 1
    let lineStart = before.lastIndex(of: 10).map { $0 + 1 } ?? bytes.startIndex
    let column = bytes[lineStart..<offset].count { $0 & 0xC0 != 0x80 } + 1
    return (line, column)
  }
}
