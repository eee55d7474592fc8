@preconcurrency import Glibc

/// A lock that one instance of a user holds for each X server, under whatever name it was reached: `:4` and `localhost:4` are
/// one server and two displays, and over TCP the server names no process.
///
/// The lock is the kernel's (fcntl(2), F_SETLK), so it ends with its holder. It keeps out a second start by mistake and
/// nothing more: without it, instances still meet at the mark of the screen.
final class InstanceLock {
  private let path: String
  private let file: OwnedDescriptor

  private init(path: String, file: OwnedDescriptor) {
    self.path = path
    self.file = file
  }

  /// What came of an attempt.
  enum Outcome {
    case taken(InstanceLock)
    /// By the process with this number.
    case held(by: Int32)
    /// Nothing can be made in the folder.
    case impossible
  }

  /// Takes the lock of the server with the mark `server` in `folder`.
  static func take(server: [UInt8], in folder: String) -> Outcome {
    let path =
      folder + "/xpastebridge-server-"
      + server.map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
      }.joined()
    // The holder removes the file as it ends, so what was opened before may be a file without a name.
    for _ in 0..<3 {
      let number = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
      guard number >= 0 else { return .impossible }
      let file = OwnedDescriptor(number)
      var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
      guard fcntl(number, F_SETLK, &lock) == 0 else {
        guard fcntl(number, F_GETLK, &lock) == 0 else { return .impossible }
        if lock.l_type == Int16(F_UNLCK) { continue }
        return .held(by: lock.l_pid)
      }
      var opened = stat()
      var named = stat()
      if fstat(number, &opened) == 0, lstat(path, &named) == 0, opened.st_ino == named.st_ino {
        return .taken(InstanceLock(path: path, file: file))
      }
    }
    return .impossible
  }

  /// Lets go of it and removes the file.
  func release() {
    try? Posix.unlink(path)
    var lock = flock(l_type: Int16(F_UNLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    _ = fcntl(file.number, F_SETLK, &lock)
  }
}
