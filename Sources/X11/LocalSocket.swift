import Glibc

/// The local socket of an X server, asked only to tell "nobody there" from "not let in".
nonisolated enum LocalSocket {
  /// Whether somebody accepts connections for display `displayNumber`.
  static func answers(displayNumber: Int) -> Bool {
    let path = Array("/tmp/.X11-unix/X\(displayNumber)".utf8)
    // Servers listen on the path, in the abstract name space (a leading zero), or on both.
    return accepts(path) || accepts([0] + path)
  }

  private static func accepts(_ name: [UInt8]) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { Glibc.close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.prefix($0.count - 1)) }
    let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count + (name[0] == 0 ? 0 : 1)
    return withUnsafePointer(to: &address) { pointer in
      // The C interface takes every kind of address as a sockaddr.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(length)) == 0 }
    }
  }
}
