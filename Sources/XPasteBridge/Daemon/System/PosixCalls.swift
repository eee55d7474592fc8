@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

/// A file descriptor that is closed with its last user.
final class OwnedDescriptor {
  /// The descriptor's number.
  let number: Int32

  /// Takes over `number`.
  init(_ number: Int32) { self.number = number }

  deinit { Glibc.close(number) }
}

/// What `stat` says that matters for noticing a change.
struct FileState: Hashable {
  var device: UInt64
  var inode: UInt64
  var size: Int
  var modifiedNanoseconds: Int
  var changedNanoseconds: Int
  var mode: UInt32

  var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
  var isSymbolicLink: Bool { mode & S_IFMT == S_IFLNK }
  var isRegular: Bool { mode & S_IFMT == S_IFREG }
  var isSocket: Bool { mode & S_IFMT == S_IFSOCK }
}

/// The POSIX calls of the daemon and the command line, one function each, with errors as values.
enum Posix {
  static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws(SystemFailure) -> OwnedDescriptor {
    OwnedDescriptor(try SystemFailure.unlessMinusOne(Glibc.open(path, flags | O_CLOEXEC, mode), "open"))
  }

  /// Writes everything. A descriptor that was made non-blocking (standard output may be shared with a program that did
  /// so) is waited for if `waits`, else EAGAIN is a failure.
  static func write(_ text: String, to descriptor: Int32, waits: Bool = false) throws(SystemFailure) {
    var rest = ArraySlice(text.utf8)
    while !rest.isEmpty {
      // The pointer is used only inside the call.
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written == -1 && errno == EINTR { continue }
      if written == -1 && errno == EAGAIN && waits && poll(descriptor, POLLOUT, milliseconds: 10_000) { continue }
      rest = rest.dropFirst(try SystemFailure.unlessMinusOne(written, "write"))
    }
  }

  /// Reads at most `limit` bytes; an empty array is the end.
  static func read(_ descriptor: Int32, limit: Int) throws(SystemFailure) -> [UInt8] {
    while true {
      var count = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: limit) { storage, initialized in
        count = Glibc.read(descriptor, storage.baseAddress, limit)
        initialized = max(0, count)
      }
      if count == -1 && errno == EINTR { continue }
      try SystemFailure.unlessMinusOne(count, "read")
      return bytes
    }
  }

  static func stat(_ path: String) -> FileState? {
    var found = Glibc.stat()
    return fstatat(AT_FDCWD, path, &found, 0) == 0 ? FileState(found) : nil
  }

  /// Whether files can be made in the folder `path`.
  static func canWrite(_ path: String) -> Bool { access(path, W_OK | X_OK) == 0 }

  static func lstat(_ path: String) -> FileState? {
    var found = Glibc.stat()
    return fstatat(AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) == 0 ? FileState(found) : nil
  }

  /// What is left until `deadline`, rounded up; 0 when it has passed.
  static func milliseconds(until deadline: MonotonicTime) -> Int {
    let now = monotonicNow()
    return now < deadline ? Int((deadline.nanoseconds - now.nanoseconds + 999_999) / 1_000_000) : 0
  }

  static func readlink(_ path: String) -> String? {
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { storage, initialized in
      let count = storage.withMemoryRebound(to: CChar.self) { Glibc.readlink(path, $0.baseAddress!, $0.count) }
      initialized = max(0, count)
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// The first `limit` names in a directory, without `.` and `..`, in C-locale order; `nil` when it can't be read.
  static func directoryEntries(_ path: String, atMost limit: Int = .max) -> [String]? {
    guard let directory = opendir(path) else { return nil }
    defer { closedir(directory) }
    var names: [String] = []
    while names.count < limit, let entry = Glibc.readdir(directory) {
      // d_name is NUL-terminated inside the entry, which is valid until the next readdir.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  static func mkdir(_ path: String, mode: mode_t) throws(SystemFailure) {
    try SystemFailure.unlessMinusOne(Glibc.mkdir(path, mode), "mkdir")
  }

  static func unlink(_ path: String) throws(SystemFailure) {
    try SystemFailure.unlessMinusOne(Glibc.unlink(path), "unlink")
  }

  static func chmod(_ path: String, mode: mode_t) throws(SystemFailure) {
    try SystemFailure.unlessMinusOne(Glibc.chmod(path, mode), "chmod")
  }

  static func rmdir(_ path: String) throws(SystemFailure) {
    try SystemFailure.unlessMinusOne(Glibc.rmdir(path), "rmdir")
  }

  /// The hours and minutes of a wall clock here, of a time in milliseconds after 1970-01-01 UTC.
  static func clock(ofMilliseconds milliseconds: Int) -> (hour: Int, minute: Int) {
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return (0, 0) }
    return (Int(parts.tm_hour), Int(parts.tm_min))
  }

  static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  static func monotonicNow() -> MonotonicTime {
    let time = clock(CLOCK_MONOTONIC)
    return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }

  /// Milliseconds after 1970-01-01 UTC.
  static func wallClockMilliseconds() -> Int {
    let time = clock(CLOCK_REALTIME)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
  }

  private static func clock(_ id: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(id, &time)
    return time
  }

  /// A copy of `descriptor`, at least 3, so that it never becomes a standard stream; -1 on failure.
  static func duplicate(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }

  /// Waits until `descriptor` is ready for `events`; false when the time is over.
  static func poll(_ descriptor: Int32, _ events: Int32, milliseconds: Int) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return Glibc.poll(&entry, 1, Int32(clamping: max(0, milliseconds))) > 0
  }

  static func sleep(milliseconds: Int) {
    var time = timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
    nanosleep(&time, nil)
  }
}

/// Unix stream sockets.
extension Posix {
  static func socket() throws(SystemFailure) -> OwnedDescriptor {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    return OwnedDescriptor(try SystemFailure.unlessMinusOne(Glibc.socket(AF_UNIX, type, 0), "socket"))
  }

  static func bind(_ socket: OwnedDescriptor, _ path: String) throws(SystemFailure) {
    try withAddress(path, "bind") { Glibc.bind(socket.number, $0, $1) }
  }

  static func connect(_ socket: OwnedDescriptor, _ path: String) throws(SystemFailure) {
    try withAddress(path, "connect") { Glibc.connect(socket.number, $0, $1) }
  }

  static func listen(_ socket: OwnedDescriptor, backlog: Int32) throws(SystemFailure) {
    try SystemFailure.unlessMinusOne(Glibc.listen(socket.number, backlog), "listen")
  }

  /// The next connection, or `nil` when none waits.
  static func accept4(_ socket: OwnedDescriptor) throws(SystemFailure) -> OwnedDescriptor? {
    let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let number = CSystemd.accept4(socket.number, nil, nil, flags)
    if number == -1 && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) { return nil }
    return OwnedDescriptor(try SystemFailure.unlessMinusOne(number, "accept4"))
  }

  /// The user and the process at the other end when the connection was made, as the kernel knows them (SO_PEERCRED).
  static func peer(_ socket: OwnedDescriptor) throws(SystemFailure) -> (user: uid_t, process: pid_t) {
    var peer = xpb_peer()
    var length = socklen_t(MemoryLayout<xpb_peer>.size)
    try SystemFailure.unlessMinusOne(
      getsockopt(socket.number, SOL_SOCKET, SO_PEERCRED, &peer, &length), "getsockopt")
    return (peer.uid, peer.pid)
  }

  /// Calls `body` with `path` as a socket address; ENAMETOOLONG where it doesn't fit.
  private static func withAddress(
    _ path: String, _ call: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(SystemFailure) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    // One byte stays for the closing NUL.
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw SystemFailure(call: call, code: ENAMETOOLONG)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let result = withUnsafePointer(to: &address) {
      // A sockaddr_un is what the kernel expects behind a sockaddr pointer of family AF_UNIX.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try SystemFailure.unlessMinusOne(result, call)
  }
}

extension FileState {
  init(_ found: stat) {
    device = UInt64(found.st_dev)
    inode = UInt64(found.st_ino)
    size = Int(found.st_size)
    modifiedNanoseconds = found.st_mtim.tv_sec * 1_000_000_000 + found.st_mtim.tv_nsec
    changedNanoseconds = found.st_ctim.tv_sec * 1_000_000_000 + found.st_ctim.tv_nsec
    mode = found.st_mode
  }
}

/// The working directory, and what the kernel tells of changes in directories.
extension Posix {
  static func workingDirectory() -> String? {
    guard let path = getcwd(nil, 0) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

  static func inotifyInit() throws(SystemFailure) -> OwnedDescriptor {
    OwnedDescriptor(
      try SystemFailure.unlessMinusOne(
        inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)), "inotify_init1"))
  }

  static func inotifyAddWatch(_ inotify: OwnedDescriptor, _ path: String, _ mask: Int32) throws(SystemFailure) -> Int32
  {
    try SystemFailure.unlessMinusOne(
      inotify_add_watch(inotify.number, path, UInt32(bitPattern: mask)), "inotify_add_watch")
  }

  /// Fails only when the kernel has already dropped the watch, which is what was wanted.
  static func inotifyRemoveWatch(_ inotify: OwnedDescriptor, _ watch: Int32) {
    inotify_rm_watch(inotify.number, watch)
  }
}
