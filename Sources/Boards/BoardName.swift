/// Which names a board may have.
public enum BoardName {
  /// CLIPBOARD's current clip (UIPasteboard, `general`).
  public static let general = "general"
  /// What the name of a unique board begins with.
  public static let uniquePrefix = "org.xpastebridge.unique."
  /// Bytes of a name (our choice, as for the names in policies).
  public static let byteLimit = 128

  /// Whether a program may make a board of this name. The name is also that of an X selection, and programs keep
  /// selections of their own (`XdndSelection`, `WM_S0`, `_XSETTINGS_S0`): so it has a dot inside, as names of domains
  /// turned round have, and doesn't begin with an underscore. What begins like a unique board's name is ours.
  public static func isFree(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard bytes.count <= byteLimit, let first = bytes.first, let last = bytes.last else { return false }
    guard isLetterOrDigit(first), isLetterOrDigit(last), bytes.contains(UInt8(ascii: ".")) else { return false }
    guard bytes.allSatisfy({ isLetterOrDigit($0) || $0 == 0x2d || $0 == 0x2e || $0 == 0x5f }) else { return false }
    return !name.hasPrefix(uniquePrefix)
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
  }
}
