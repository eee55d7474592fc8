/// An error the server reported for one of our requests.
public nonisolated struct XError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The error's code, for example 3 for BadWindow.
  public var code: UInt8
  /// The request's major opcode.
  public var majorOpcode: UInt8
  /// The request's minor opcode, for extensions.
  public var minorOpcode: UInt16
  /// The XID, atom or value that was bad.
  public var value: UInt32

  /// BadWindow
  static let badWindow: UInt8 = 3
  /// BadMatch
  static let badMatch: UInt8 = 8
  /// BadAccess
  static let badAccess: UInt8 = 10

  /// Whether the window named doesn't exist.
  public var isBadWindow: Bool { code == Self.badWindow }

  /// The error's name, the request's numbers and the bad value.
  public var description: String {
    "\(name) for request \(majorOpcode).\(minorOpcode), value 0x\(String(value, radix: 16))"
  }

  private static let names = [
    "BadRequest", "BadValue", "BadWindow", "BadPixmap", "BadAtom", "BadCursor", "BadFont", "BadMatch", "BadDrawable",
    "BadAccess", "BadAlloc", "BadColor", "BadGC", "BadIDChoice", "BadName", "BadLength", "BadImplementation",
  ]

  private var name: String {
    code > 0 && Int(code) <= Self.names.count ? Self.names[Int(code) - 1] : "error \(code)"
  }
}
