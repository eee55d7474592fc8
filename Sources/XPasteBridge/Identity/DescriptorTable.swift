import Glibc

/// Which sockets processes hold, from `/proc/PID/fd`.
nonisolated enum DescriptorTable {
  /// The sockets that one process holds: the descriptor of each, by inode.
  typealias Sockets = [UInt32: Int32]

  /// Processes looked at, and descriptors in all. Our choice: more than a large desktop of one user has; a descriptor
  /// takes 1 to 6 µs, nearly all of it in the kernel.
  private static let processes = 4_096
  private static let descriptors = 32_768

  /// The sockets among `inodes` that each process holds, for all whose table we may read.
  static func holders(of inodes: Set<UInt32>) throws(SystemFailure) -> [Int32: Sockets] {
    guard let directory = opendir("/proc") else { throw SystemFailure(call: "opendir", code: errno) }
    defer { closedir(directory) }
    var found: [Int32: Sockets] = [:]
    var processCount = 0
    var rest = descriptors
    while let number = try nextNumber(in: directory) {
      processCount += 1
      guard processCount <= processes else { throw SystemFailure(call: "readdir", code: E2BIG) }
      let held = try sockets(of: number, among: inodes, limit: &rest)
      if let held, !held.isEmpty { found[number] = held }
    }
    return found
  }

  /// The sockets among `inodes` that process `id` holds; `nil` when its table can't be read.
  static func sockets(of id: Int32, among inodes: Set<UInt32>) throws(SystemFailure) -> Sockets? {
    var rest = descriptors
    return try sockets(of: id, among: inodes, limit: &rest)
  }

  /// Whether descriptor `descriptor` of process `id` is the socket `inode`.
  static func holds(_ id: Int32, _ descriptor: Int32, inode: UInt32) -> Bool {
    socket(AT_FDCWD, "/proc/\(id)/fd/\(descriptor)") == inode
  }

  private static func sockets(
    of id: Int32, among inodes: Set<UInt32>, limit: inout Int
  ) throws(SystemFailure) -> Sockets? {
    guard let directory = opendir("/proc/\(id)/fd") else { return nil }
    defer { closedir(directory) }
    var held: Sockets = [:]
    while let number = try nextNumber(in: directory) {
      limit -= 1
      guard limit >= 0 else { throw SystemFailure(call: "readdir", code: E2BIG) }
      if let inode = socket(dirfd(directory), "\(number)"), inodes.contains(inode) { held[inode] = number }
    }
    return held
  }

  /// The next name that is a number, which is what processes and descriptors have; `nil` at the end, also when the
  /// process has ended.
  private static func nextNumber(in directory: OpaquePointer) throws(SystemFailure) -> Int32? {
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        guard errno == 0 || errno == ENOENT || errno == ESRCH else { throw SystemFailure(call: "readdir", code: errno) }
        return nil
      }
      // d_name ends with a zero inside the entry, which is valid until the next readdir.
      let number = withUnsafeBytes(of: &entry.pointee.d_name) { decimal($0[...], endedBy: 0) }
      if let number { return Int32(exactly: number) }
    }
  }

  /// The inode in a link of the form `socket:[inode]`.
  private static func socket(_ directory: Int32, _ name: String) -> UInt32? {
    withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { link in
      let prefix: StaticString = "socket:["
      let count = readlinkat(directory, name, link.baseAddress!.assumingMemoryBound(to: CChar.self), link.count)
      // No other link of the kernel's begins with this: the paths of files begin with a slash.
      guard count > prefix.utf8CodeUnitCount, count < link.count,
        memcmp(link.baseAddress!, prefix.utf8Start, prefix.utf8CodeUnitCount) == 0
      else { return nil }
      return decimal(UnsafeRawBufferPointer(link)[prefix.utf8CodeUnitCount..<count], endedBy: UInt8(ascii: "]"))
    }
  }

  private static func decimal(_ bytes: Slice<UnsafeRawBufferPointer>, endedBy end: UInt8) -> UInt32? {
    var value: UInt64 = 0
    for (index, byte) in bytes.enumerated() {
      if byte == end { return index == 0 ? nil : UInt32(exactly: value) }
      guard (0x30...0x39).contains(byte), value <= UInt64(UInt32.max) else { return nil }
      value = value * 10 + UInt64(byte - 0x30)
    }
    return nil
  }
}
