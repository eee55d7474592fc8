/// The name of a display, `host:number.screen`, with the screen told apart.
///
/// `:4` and `:4.0` are the same display. `unix:4` and `localhost:4` are left as they are: they reach the server on
/// other ways, with other rights.
public nonisolated struct DisplayName: Hashable, Sendable, CustomStringConvertible {
  /// What stands before the last colon: empty for the local display, else a host or `protocol/host`.
  public var host: String
  /// The display's number on that host.
  public var number: Int
  /// The screen, where the name says one.
  public var screen: Int?

  /// Reads `text`; `nil` when it isn't the name of a display.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":") else { return nil }
    let parts = text[text.index(after: colon)...].split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let number = Self.number(parts[0]) else { return nil }
    if parts.count == 2 {
      guard let screen = Self.number(parts[1]) else { return nil }
      self.screen = screen
    }
    host = String(text[..<colon])
    self.number = number
  }

  /// The display without its screen: equal for all names of one display.
  public var description: String { "\(host):\(number)" }

  /// Whether the server is reached by the socket of this machine.
  public var isLocal: Bool { host.isEmpty || host == "unix" }

  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 9, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }
}
