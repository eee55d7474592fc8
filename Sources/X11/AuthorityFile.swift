import Glibc

/// The X authority file (Xsecurity(7)), read only to say why a server refused us.
nonisolated enum AuthorityFile {
  /// Finds out what is wrong with the file that libX11 used for `name`.
  static func problem(for name: DisplayName) -> AuthorityProblem {
    let path: String
    if let named = getenv("XAUTHORITY").map({ String(cString: $0) }), !named.isEmpty {
      path = named
    } else if let home = getenv("HOME") {
      path = String(cString: home) + "/.Xauthority"
    } else {
      return .notNamed
    }
    guard let bytes = contents(path) else { return .unreadable(path: path) }
    return hasEntry(forDisplay: name.number, in: bytes) ? .notAccepted(path: path) : .noEntry(path: path)
  }

  /// Whether one of the file's entries is for display `number`, or for all: an empty number.
  static func hasEntry(forDisplay number: Int, in bytes: [UInt8]) -> Bool {
    let wanted = Array(String(number).utf8)
    var rest = bytes[...]
    while rest.count >= 2 {
      // Family, then address, number, name and data, each counted; the counts are big-endian.
      rest = rest.dropFirst(2)
      var fields: [ArraySlice<UInt8>] = []
      for _ in 0..<4 {
        guard rest.count >= 2 else { return false }
        let count = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        rest = rest.dropFirst(2)
        guard rest.count >= count else { return false }
        fields.append(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      if fields[1].isEmpty || Array(fields[1]) == wanted { return true }
    }
    return false
  }

  private static func contents(_ path: String) -> [UInt8]? {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { Glibc.close(descriptor) }
    // 64 KiB hold some 900 entries: enough for a hint.
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    return count < 0 ? nil : Array(bytes.prefix(count))
  }
}
