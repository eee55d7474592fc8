import Policy
import Selection

extension StoredClip {
  /// The bytes before the content, where each form's content belongs, and how many bytes it all takes.
  public func encoded() -> (header: [UInt8], ranges: [Range<Int>], byteCount: Int) {
    var fields = ByteWriter()
    fields.write(text: place.display)
    fields.write(UInt32(truncatingIfNeeded: place.screen))
    fields.bytes += place.server
    fields.bytes += place.boot
    fields.write(text: selection)
    fields.write(time.milliseconds)
    fields.write(copiedAt.nanoseconds)
    fields.write(byte: (isCut ? 1 : 0) | (listsSaveTargets ? 2 : 0))
    fields.write(source)
    fields.write(UInt32(forms.count))
    for form in forms {
      fields.write(text: form.target)
      fields.write(text: form.type)
      fields.write(byte: UInt8(form.format))
      fields.write(UInt64(form.count))
    }
    let headerBytes = Self.prefixBytes + fields.bytes.count
    guard let ranges = ranges(after: headerBytes) else { preconditionFailure("content beyond any memory") }
    let byteCount = ranges.last?.upperBound ?? headerBytes
    var all = ByteWriter()
    all.bytes = Self.magic
    all.write(Self.version)
    all.write(UInt32(headerBytes))
    all.write(UInt64(byteCount))
    all.write(UInt64(0))
    all.bytes += fields.bytes
    let digest = Digest.of(all.bytes)
    for index in 0..<8 {
      all.bytes[Self.digestOffset + index] = UInt8(truncatingIfNeeded: digest >> (8 * UInt64(index)))
    }
    return (all.bytes, ranges, byteCount)
  }
}

/// Writes numbers least significant byte first, and texts behind their length.
struct ByteWriter {
  var bytes: [UInt8] = []

  mutating func write(byte: UInt8) { bytes.append(byte) }
  mutating func write(_ number: UInt32) {
    for index in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt32(index)))) }
  }
  mutating func write(_ number: UInt64) {
    for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))) }
  }
  mutating func write(text: String) {
    let utf8 = Array(text.utf8)
    write(UInt32(utf8.count))
    bytes += utf8
  }

  mutating func write(_ source: Subject) {
    switch source.origin {
    case .local(let process):
      write(byte: 0)
      write(UInt32(bitPattern: process.id))
      write(process.startTime)
    case .remote: write(byte: 1)
    case .unknown: write(byte: 2)
    }
    for name in FactName.allCases {
      guard let fact = source[name] else {
        write(byte: 0)
        continue
      }
      switch fact.evidence {
      case .attested: write(byte: 1)
      case .declared: write(byte: 2)
      case .inferred: write(byte: 3)
      }
      write(text: fact.value)
    }
  }
}

/// FNV-1a, 64 bits: finds a header that isn't what was written, by accident.
enum Digest {
  /// Of all bytes, with the place of the digest itself taken as zero.
  static func of(_ bytes: [UInt8]) -> UInt64 {
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    let own = StoredClip.digestOffset..<StoredClip.digestOffset + 8
    for index in 0..<bytes.count {
      digest ^= own.contains(index) ? 0 : UInt64(bytes[index])
      digest &*= 0x100_0000_01b3
    }
    return digest
  }
}
