/// A D-Bus message as bytes (D-Bus specification, "Message Protocol"), right in every part unless told otherwise.
struct BusMessageBytes {
  var type: UInt8 = 1
  var flags: UInt8 = 0
  var serial: UInt32 = 1
  var path: String? = "/org/xpastebridge/Bridge"
  var interface: String? = "org.xpastebridge.Bridge1"
  var member: String? = "Status"
  var signature: String?
  var replySerial: UInt32?
  var descriptorCount: UInt32?
  /// A field of a code that means nothing to us, with a string.
  var strayField: UInt8?
  var body: [UInt8] = []
  /// What the header says of the body's length, where that isn't so.
  var bodyLength: UInt32?

  /// The message, little-endian.
  var bytes: [UInt8] {
    var fields: [UInt8] = []
    func field(_ code: UInt8, _ type: Character, _ value: [UInt8]) {
      Self.align(&fields, to: 8)
      fields += [code, 1] + Array(String(type).utf8) + [0]
      if type != "g" { Self.align(&fields, to: 4) }
      fields += value
    }
    if let path { field(1, "o", Self.string(path)) }
    if let interface { field(2, "s", Self.string(interface)) }
    if let member { field(3, "s", Self.string(member)) }
    if let replySerial { field(5, "u", Self.word(replySerial)) }
    if let signature { field(8, "g", [UInt8(truncatingIfNeeded: signature.utf8.count)] + Array(signature.utf8) + [0]) }
    if let descriptorCount { field(9, "u", Self.word(descriptorCount)) }
    if let strayField { field(strayField, "s", Self.string("stray")) }
    var bytes: [UInt8] = [UInt8(ascii: "l"), type, flags, 1]
    bytes += Self.word(bodyLength ?? UInt32(body.count)) + Self.word(serial) + Self.word(UInt32(fields.count)) + fields
    Self.align(&bytes, to: 8)
    return bytes + body
  }

  static func string(_ text: String) -> [UInt8] { word(UInt32(text.utf8.count)) + Array(text.utf8) + [0] }

  static func word(_ word: UInt32) -> [UInt8] { withUnsafeBytes(of: word.littleEndian) { Array($0) } }

  private static func align(_ bytes: inout [UInt8], to step: Int) {
    while bytes.count % step != 0 { bytes.append(0) }
  }
}
