import Glibc

/// The local socket of an X server, asked only to tell "nobody there" from "not let in".
nonisolated enum LocalSocket {
  /// Whether somebody accepts connections for display `displayNumber`.
  static func answers(displayNumber: Int) -> Bool {
    let path = Array("/tmp/.X11-unix/X\(displayNumber)".utf8)
    // Servers listen on the path, in the abstract name space (a leading zero), or on both.
    return listener(path) != nil || listener([0] + path) != nil
  }

  /// The process that listens for display `displayNumber`; `nil` for none.
  static func server(displayNumber: Int) -> Int32? {
    let path = Array("/tmp/.X11-unix/X\(displayNumber)".utf8)
    return listener(path) ?? listener([0] + path)
  }

  /// The process at the other end of a local connection (SO_PEERCRED, unix(7)); `nil` for any other.
  static func peer(of descriptor: Int32) -> Int32? {
    // struct ucred, which the Glibc module hides: pid (0 for one of another pid name space), uid, gid.
    var words: (Int32, UInt32, UInt32) = (0, 0, 0)
    var length = socklen_t(MemoryLayout.size(ofValue: words))
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &words, &length) == 0 else { return nil }
    return words.0
  }

  private static func listener(_ name: [UInt8]) -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { Glibc.close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.prefix($0.count - 1)) }
    let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count + (name[0] == 0 ? 0 : 1)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      // The C interface takes every kind of address as a sockaddr.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(length)) == 0 }
    }
    return isConnected ? peer(of: descriptor) : nil
  }
}
