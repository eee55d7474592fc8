import Foundation

/// What a program can copy and paste, as the drivers in Tests/Programs/heavy name it.
enum ContentKind: String, CaseIterable, Sendable {
  case text, rich, image, files, cells
  /// Text whose looks or properties are in a form that leaves its program as plain text alone.
  case styled
  /// An object of the program's own, which leaves it in no form.
  case object

  static let richText = "<p>first <b>bold</b> and <i>italic</i></p><p>second za\u{17c}\u{f3}\u{142}\u{107}</p>"
  static let styledText = "half of this has looks, za\u{17c}\u{f3}\u{142}\u{107}"
  static let cellText = "name\tvalue\tshare\nfirst\t1\t2.5\nsecond\t42\t0.125\n"

  /// A drawing of one shape, for who copies drawings as pictures.
  static let drawing = Data(
    """
    <svg xmlns="http://www.w3.org/2000/svg" width="200" height="150" viewBox="0 0 200 150">
    <rect x="20" y="10" width="60" height="40" style="fill:#ff8800"/></svg>
    """.utf8)

  /// Writes the sample to a place of the desktop and returns its path: a file, or for files a folder.
  func write(on desktop: Desktop) throws -> String {
    // A new place each time: programs may remember what a place held.
    let path = desktop.path("sample-\(rawValue)")
    switch self {
    case .text:
      try Data("plain text za\u{17c}\u{f3}\u{142}\u{107}, 42 = 6 * 7".utf8).write(to: URL(fileURLWithPath: path))
    case .rich: try Data(Self.richText.utf8).write(to: URL(fileURLWithPath: path))
    case .cells: try Data(Self.cellText.utf8).write(to: URL(fileURLWithPath: path))
    case .styled: try Data(Self.styledText.utf8).write(to: URL(fileURLWithPath: path))
    case .object: try Data("the object".utf8).write(to: URL(fileURLWithPath: path))
    case .image: try Picture.png(width: 40, height: 30).write(to: URL(fileURLWithPath: path))
    case .files:
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      // One has a name that a URI has to escape.
      let files = ["a file.txt": Data("hello\n".utf8), "b.bin": countingBytes(3000), "\u{17c}.txt": Data()]
      for (name, content) in files { try content.write(to: URL(fileURLWithPath: "\(path)/\(name)")) }
    }
    return path
  }
}

/// PNG pictures without a library: stored blocks of deflate, which every reader takes.
enum Picture {
  static func png(width: Int, height: Int) -> Data {
    var rows = Data()
    for y in 0..<height {
      rows.append(0)
      for x in 0..<width {
        rows.append(contentsOf: [x &* 6, y &* 8, x &* y].map { UInt8(truncatingIfNeeded: $0) })
      }
    }
    var packed = Data([0x78, 0x01])
    var rest = rows[...]
    while !rest.isEmpty {
      let block = rest.prefix(0xffff)
      rest = rest.dropFirst(block.count)
      let count = UInt16(block.count)
      packed.append(rest.isEmpty ? 1 : 0)
      packed.append(contentsOf: [count, ~count].flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] })
      packed.append(block)
    }
    packed.append(contentsOf: bigEndian(adler(rows)))
    let header = bigEndian(UInt32(width)) + bigEndian(UInt32(height)) + [8, 2, 0, 0, 0]
    return Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) + chunk("IHDR", Data(header)) + chunk("IDAT", packed)
      + chunk("IEND", Data())
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }

  private static func chunk(_ name: String, _ content: Data) -> Data {
    let named = Data(name.utf8) + content
    return Data(bigEndian(UInt32(content.count))) + named + bigEndian(cyclicRedundancy(named))
  }

  private static func cyclicRedundancy(_ bytes: Data) -> UInt32 {
    var value: UInt32 = .max
    for byte in bytes {
      value ^= UInt32(byte)
      for _ in 0..<8 { value = value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1 }
    }
    return ~value
  }

  private static func adler(_ bytes: Data) -> UInt32 {
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      a = (a + UInt32(byte)) % 65521
      b = (b + a) % 65521
    }
    return b << 16 | a
  }
}
