@preconcurrency import Glibc

/// The only place of this module that asks the system. Each function wraps the calls it is named after.
enum SystemCalls {
  /// What the system refused: its number, in words by `reason`.
  struct Failure: Error {
    var number: Int32

    var reason: String { String(cString: strerror(number)) }
  }

  /// What tells whether a file is still the same and unchanged.
  struct Status: Equatable {
    var device: dev_t
    var inode: ino_t
    var bytes: Int
    var isRegular: Bool
    var modified: Int
    var changed: Int

    fileprivate init(_ raw: stat) {
      device = raw.st_dev
      inode = raw.st_ino
      bytes = Int(raw.st_size)
      isRegular = raw.st_mode & S_IFMT == S_IFREG
      modified = raw.st_mtim.tv_sec * 1_000_000_000 + raw.st_mtim.tv_nsec
      changed = raw.st_ctim.tv_sec * 1_000_000_000 + raw.st_ctim.tv_nsec
    }
  }

  /// Opens for reading. Never waits: a FIFO without a writer opens at once and is then seen to be none of ours.
  static func open(_ path: String) throws(Failure) -> Int32 {
    while true {
      let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw Failure(number: errno) }
    }
  }

  static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

  static func fstat(_ descriptor: Int32) throws(Failure) -> Status {
    var raw = stat()
    guard Glibc.fstat(descriptor, &raw) == 0 else { throw Failure(number: errno) }
    return Status(raw)
  }

  /// Whether the path names a folder, a link being followed.
  static func isDirectory(_ path: String) -> Bool {
    var raw = stat()
    return fstatat(AT_FDCWD, path, &raw, 0) == 0 && raw.st_mode & S_IFMT == S_IFDIR
  }

  /// The first bytes of a regular file.
  static func head(of path: String, limit: Int) throws(Failure) -> [UInt8] {
    let descriptor = try open(path)
    defer { close(descriptor) }
    guard try fstat(descriptor).isRegular else { return [] }
    return try read(descriptor, upTo: limit)
  }

  /// Whether something is there, be it a link to nothing.
  static func exists(_ path: String) -> Bool {
    var raw = stat()
    return Glibc.lstat(path, &raw) == 0
  }

  /// At most `limit` bytes from where the descriptor stands.
  static func read(_ descriptor: Int32, upTo limit: Int) throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count < limit {
      let wanted = min(chunk.count, limit - bytes.count)
      let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, wanted) }
      if count == 0 { break }
      if count > 0 {
        bytes += chunk[..<count]
      } else if errno != EINTR {
        throw Failure(number: errno)
      }
    }
    return bytes
  }

  /// The first `limit` names in a folder, in no order.
  static func names(in directory: String, atMost limit: Int) throws(Failure) -> [String] {
    guard let stream = opendir(directory) else { throw Failure(number: errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while names.count < limit {
      errno = 0
      guard let entry = readdir(stream) else { break }
      // `d_name` is imported as a tuple; the name ends with a zero byte inside it.
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
      }
      if let name, name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 || names.count == limit else { throw Failure(number: errno) }
    return names
  }
}
