@preconcurrency import Glibc
import GuardedMemory

/// The files of the store and the POSIX calls on them.
enum StoreFiles {
  static let database = "boards.sqlite"
  /// A store being made; it gets its name when it is whole.
  static let newDatabase = "boards.sqlite.new"
  static let lock = "boards.lock"
  static let key = "boards.key"
  /// A key being changed to; it gets its name when everything is sealed with it.
  static let newKey = "boards.key.new"

  static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }

  private static func failure(_ call: String, _ path: String) -> StoreFailure {
    let code = errno
    return code == ENOSPC || code == EDQUOT ? .full(path: path) : .system(call: call, path: path, code: code)
  }

  /// Makes the folder and those above it as far as they are missing, for this user alone.
  static func prepareFolder(_ path: String) throws(StoreFailure) {
    var prefix = ""
    for name in path.split(separator: "/") {
      prefix += "/" + name
      guard mkdir(prefix, 0o700) != 0, errno != EEXIST else { continue }
      let code = errno
      // A folder on a read-only disk or one of somebody else's may be there all the same.
      guard access(prefix, F_OK) == 0 else { throw .system(call: "mkdir", path: prefix, code: code) }
    }
    var found = stat()
    guard stat(path, &found) == 0 else { throw failure("stat", path) }
    guard found.st_mode & S_IFMT == S_IFDIR else { throw .system(call: "mkdir", path: path, code: ENOTDIR) }
    guard found.st_uid == geteuid() else { throw .system(call: "stat", path: path, code: EPERM) }
    guard found.st_mode & 0o7777 == 0o700 || chmod(path, 0o700) == 0 else { throw failure("chmod", path) }
  }

  /// Takes the store of this folder for this process; the lock goes with the descriptor, however the process ends.
  static func lockFolder(_ folder: String) throws(StoreFailure) -> StoreDescriptor {
    let path = folder + "/" + lock
    let descriptor = try open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
    guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
      throw errno == EWOULDBLOCK ? .inUse(path: folder + "/" + database) : failure("flock", path)
    }
    return descriptor
  }

  static func open(_ path: String, _ flags: Int32) throws(StoreFailure) -> StoreDescriptor {
    while true {
      let number = Glibc.open(path, flags | O_CLOEXEC, 0o600)
      if number >= 0 { return StoreDescriptor(number) }
      if errno != EINTR { throw failure("open", path) }
    }
  }

  /// Whether something has this name.
  static func exists(_ path: String) -> Bool {
    var found = stat()
    return lstat(path, &found) == 0
  }

  /// Makes sure that `path` is a file of this user that nobody else may read.
  static func closeToOthers(_ path: String) throws(StoreFailure) {
    var found = stat()
    guard lstat(path, &found) == 0 else { throw failure("lstat", path) }
    guard found.st_mode & S_IFMT == S_IFREG, found.st_uid == geteuid() else { throw .foreign(path: path) }
    guard found.st_mode & 0o077 == 0 || chmod(path, 0o600) == 0 else { throw failure("chmod", path) }
  }

  /// Makes sure of that for every file of the store that is there: SQLite gives those that it makes the permissions of the
  /// store's at that moment, and whatever lies there from before keeps its own.
  static func closeAllToOthers(in folder: String) throws(StoreFailure) {
    let databases = [database, newDatabase].flatMap { name in ["", "-journal", "-wal", "-shm"].map { name + $0 } }
    for name in databases + [lock, key, newKey] where exists(folder + "/" + name) {
      try closeToOthers(folder + "/" + name)
    }
  }

  /// At most `limit` bytes from the start of the file, in pages that wipe themselves.
  static func read(_ path: String, limit: Int) throws(StoreFailure) -> (pages: GuardedPages, byteCount: Int) {
    let descriptor = try open(path, O_RDONLY | O_NONBLOCK)
    let pages = GuardedPages(byteCount: limit, wipedAtEnd: true)
    var count = 0
    while count < limit {
      let more = Glibc.read(descriptor.number, pages.base + count, limit - count)
      if more == 0 { break }
      if more < 0 && errno == EINTR { continue }
      guard more > 0 else { throw failure("read", path) }
      count += more
    }
    return (pages, count)
  }

  /// Writes a new file and waits until the disk has it.
  static func write(_ bytes: UnsafeRawBufferPointer, to path: String) throws(StoreFailure) {
    let descriptor = try open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
    var rest = bytes
    while !rest.isEmpty {
      let written = Glibc.write(descriptor.number, rest.baseAddress, rest.count)
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { throw failure("write", path) }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
    }
    guard fsync(descriptor.number) == 0 else { throw failure("fsync", path) }
  }

  /// Gives a file its name and waits until the disk knows it by that.
  static func rename(_ name: String, to other: String, in folder: String) throws(StoreFailure) {
    guard Glibc.rename(folder + "/" + name, folder + "/" + other) == 0 else {
      throw failure("rename", folder + "/" + name)
    }
    try synchronise(folder)
  }

  /// Gives a file, if it is there, one name more.
  static func link(_ name: String, as other: String, in folder: String) throws(StoreFailure) {
    guard Glibc.link(folder + "/" + name, folder + "/" + other) == 0 || errno == ENOENT else {
      throw failure("link", folder + "/" + name)
    }
    try synchronise(folder)
  }

  /// Removes the name, if it is there.
  static func remove(_ path: String) throws(StoreFailure) {
    guard unlink(path) == 0 || errno == ENOENT else { throw failure("unlink", path) }
  }

  /// Waits until the disk knows the names in the folder.
  static func synchronise(_ folder: String) throws(StoreFailure) {
    let descriptor = try open(folder, O_RDONLY | O_DIRECTORY)
    guard fsync(descriptor.number) == 0 else { throw failure("fsync", folder) }
  }
}

/// A descriptor that is closed with its last user.
final class StoreDescriptor {
  let number: Int32
  init(_ number: Int32) { self.number = number }
  deinit { close(number) }
}
