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

  /// The first byte of the character at `line` and `column`, both from 1.
  static func character(atLine line: Int, column: Int, in bytes: ArraySlice<UInt8>) -> UInt8? {
    var place = (line: 1, column: 1)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      if place == (line, column) { return bytes[index] }
      index = advance(&place, over: index, in: bytes)
    }
    return nil
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
    var place = (line: 1, column: 1)
    var index = bytes.startIndex
    while index < offset { index = advance(&place, over: index, in: bytes) }
    return place
  }

  /// Moves `place` over the character or line end at `index`, and gives the index behind it. Lines end as libyaml counts
  /// them (YAML 1.1, 5.4): with LF, CR or both, with U+0085, U+2028 or U+2029.
  private static func advance(
    _ place: inout (line: Int, column: Int), over index: Int, in bytes: ArraySlice<UInt8>
  ) -> Int {
    func follow(_ next: UInt8...) -> Bool { bytes[(index + 1)...].starts(with: next) }
    let breakLength =
      switch bytes[index] {
      case 0x0A: 1
      case 0x0D: follow(0x0A) ? 2 : 1
      case 0xC2 where follow(0x85): 2
      case 0xE2 where follow(0x80, 0xA8) || follow(0x80, 0xA9): 3
      default: 0
      }
    guard breakLength == 0 else {
      place = (place.line + 1, 1)
      return index + breakLength
    }
    place.column += 1
    return index + (length(from: bytes[index]) ?? 1)
  }
}
