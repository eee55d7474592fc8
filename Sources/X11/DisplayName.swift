/// The name of a display, `host:number.screen`, with the screen told apart.
///
/// All spellings by which libX11 comes to the local socket are one: `:4`, `:04.0`, `unix:4`, `unix/any:4`. `localhost:4`
/// is another display: it may be the far end of a tunnel.
public nonisolated struct DisplayName: Hashable, Sendable, CustomStringConvertible {
  /// Empty for a display of this machine's sockets, else the host in small letters, or what stands before the last colon
  /// where that is nothing that libX11 knows.
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
    host = Self.host(in: text[..<colon])
    self.number = number
  }

  /// As libxcb's `xcb_parse_display` and `_xcb_open` take it (measured with 1.15): `unix` as protocol means the socket
  /// whatever host follows; `tcp`, `inet` and `inet6` are ways to the same host.
  private static func host(in text: Substring) -> String {
    if text.isEmpty || text == "unix" || text.hasPrefix("unix/") { return "" }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let isPlain = parts.count == 1 || (parts.count == 2 && ["tcp", "inet", "inet6"].contains(parts[0]))
    let host = parts.last!.lowercased()
    // A host that would read as the local socket stays as it was given.
    return isPlain && !host.isEmpty && host != "unix" ? host : String(text)
  }

  /// The display without its screen: equal for all spellings of one display.
  public var description: String { "\(host):\(number)" }

  /// Whether the server is reached by the socket of this machine.
  public var isLocal: Bool { host.isEmpty }

  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 9, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }
}
