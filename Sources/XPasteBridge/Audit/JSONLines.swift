@preconcurrency import Glibc

/// Reads a file of one JSON value a line, or standard input, to its end.
enum JSONLines {
  /// A longer line is no record of ours (our choice: 64 names and all facts stay below 64 KiB).
  private static let longestLine = 1 << 20

  /// Hands each line to `take`, without its end; throws what the system refused.
  static func read(_ path: String, _ take: (String) -> Void) throws(SystemFailure) {
    let file = path == "-" ? OwnedDescriptor(Posix.duplicate(0)) : try Posix.open(path, O_RDONLY)
    var line: [UInt8] = []
    while true {
      let bytes = try Posix.read(file.number, limit: 64 << 10)
      for byte in bytes {
        if byte == UInt8(ascii: "\n") {
          take(String(decoding: line, as: UTF8.self))
          line = []
        } else if line.count < longestLine {
          line.append(byte)
        }
      }
      guard bytes.isEmpty else { continue }
      if !line.isEmpty { take(String(decoding: line, as: UTF8.self)) }
      return
    }
  }
}
