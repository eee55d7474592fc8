import Glibc
import Policy
import Selection
import X11

/// One process, held by its directory in `/proc`: once the process is gone every look into that directory fails, even
/// when its number has been given to another. So a record that still answers is the same process.
final class ProcessRecord {
  /// Number and start time.
  let identity: ProcessIdentity
  /// `/proc/PID/exe` as of the last ``refresh()``.
  private(set) var executable: Fact?
  /// What the executable was told to run.
  private(set) var script: Fact?
  /// The innermost unit of its cgroup.
  private(set) var unit: Fact?
  /// Its sandbox.
  private(set) var sandbox: Fact?

  private let directory: Int32
  private var executablePath: String?
  private var running: RunningFile?
  private var cgroup = ""
  private var commandLine: [String] = []
  private var textsReadAt = MonotonicTime(nanoseconds: 0)

  /// How long a cgroup and a command line that were read are believed: a launcher moves a process into its own scope
  /// after it has started, and reading each takes 8 µs.
  private static let textMilliseconds = 1_000

  /// Takes hold of process `id`; `nil` when there is none.
  init?(_ id: Int32) {
    let opened = Glibc.open("/proc/\(id)", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { return nil }
    guard let stat = ProcessFile.text(opened, "stat"), let startTime = ProcessFile.startTime(inStat: stat) else {
      Glibc.close(opened)
      return nil
    }
    directory = opened
    identity = ProcessIdentity(id: id, startTime: startTime)
    guard refresh() else { return nil }
  }

  deinit { Glibc.close(directory) }

  /// Reads again what may change in a running process; `false` when it is gone.
  func refresh() -> Bool {
    let path = ProcessFile.link(directory, "exe")
    // A zombie and a process of another user both have no readable link; the first has ended, the second lives.
    guard path != nil || isRunning else { return false }
    // The path alone doesn't tell: in a mount name space of its own a process can show one path for several files.
    let file = RunningFile(of: directory)
    let isSameFile = file == running
    let isChanged = path != executablePath || !isSameFile
    if isChanged {
      executable = path.map { path in
        ProcessFile.executable(path, in: directory, attestedBefore: isSameFile ? executable : nil)
      }
      executablePath = path
      running = file
    }
    let now = MonotonicTime.now
    if isChanged || textsReadAt.advanced(byMilliseconds: Self.textMilliseconds) < now {
      textsReadAt = now
      readCgroup(isChanged: isChanged)
      readCommandLine(isChanged: isChanged)
    }
    return true
  }

  private func readCgroup(isChanged: Bool) {
    let text = ProcessFile.text(directory, "cgroup") ?? ""
    guard isChanged || text != cgroup else { return }
    cgroup = text
    let path = Cgroup.path(in: text)
    unit = Cgroup.innermostUnit(of: path).map { Fact($0, .attested) }
    let label = ProcessFile.text(directory, "attr/apparmor/current") ?? ProcessFile.text(directory, "attr/current")
    sandbox = Sandbox.name(
      cgroupPath: path, flatpak: ProcessFile.text(directory, "root/.flatpak-info"), label: label ?? ""
    ).map { Fact($0, .attested) }
  }

  /// A command line that hasn't changed keeps its script: a relative path in it is of the folder that the program was
  /// started in, and it may have gone to another since.
  private func readCommandLine(isChanged: Bool) {
    guard let path = executable?.value, let kind = ScriptKind(executable: path) else {
      script = nil
      return
    }
    let words = ProcessFile.words(directory, "cmdline")
    guard isChanged || words != commandLine || script == nil else { return }
    commandLine = words
    let environment = kind == .image ? ProcessFile.words(directory, "environ") : []
    // A program that is just being started has its new executable a moment before its command line.
    if words.isEmpty || kind == .image && environment.isEmpty { textsReadAt = MonotonicTime(nanoseconds: 0) }
    script = kind.script(commandLine: words, environment: environment)
      .flatMap { ScriptFile.path(of: $0, in: directory) }.map { Fact($0, .declared) }
  }

  /// Whether it runs, from the state in its `stat`.
  private var isRunning: Bool {
    guard let stat = ProcessFile.text(directory, "stat") else { return false }
    let state = ProcessFile.fields(afterNameInStat: stat).first
    return state != nil && state != "Z" && state != "X"
  }
}

/// Files below `/proc/PID`.
nonisolated enum ProcessFile {
  /// The first 16 KiB of a file.
  static func text(_ directory: Int32, _ name: String) -> String? {
    let descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { Glibc.close(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { bytes in
      let count = read(descriptor, bytes.baseAddress, bytes.count)
      return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
  }

  /// What everybody may read of a process's name: the first 15 bytes of its file's, if it hasn't changed them.
  static func name(of id: Int32) -> Substring? {
    text(AT_FDCWD, "/proc/\(id)/comm")?.split(separator: "\n").first
  }

  /// The words of a file in which each ends with a zero (`cmdline`, `environ`), as far as 128 KiB go: beyond that a
  /// program only keeps us busy.
  static func words(_ directory: Int32, _ name: String) -> [String] {
    let descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return [] }
    defer { Glibc.close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < 128 << 10 {
      let piece = [UInt8](unsafeUninitializedCapacity: 16 << 10) { storage, count in
        count = max(0, read(descriptor, storage.baseAddress, storage.count))
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    var words = bytes.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    if words.last == "" { words.removeLast() }
    return words
  }

  /// Where a symbolic link points.
  static func link(_ directory: Int32, _ name: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { path in
      let count = readlinkat(directory, name, path.baseAddress!, path.count)
      guard count > 0 else { return nil }
      return String(decoding: UnsafeRawBufferPointer(path).prefix(count), as: UTF8.self)
    }
  }

  /// The fields of `/proc/PID/stat` behind the name, from the state (field 3) on. The name may hold spaces and
  /// parentheses, so the last one counts; and characters that make one with the parenthesis behind them, so bytes count.
  static func fields(afterNameInStat stat: String) -> [Substring] {
    guard let end = stat.utf8.lastIndex(of: UInt8(ascii: ")")) else { return [] }
    let rest = stat.utf8[stat.utf8.index(after: end)...]
    return rest.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }.map { Substring($0) }
  }

  /// When process `id` started; `nil` when there is none.
  static func startTime(ofProcess id: Int32) -> UInt64? {
    text(AT_FDCWD, "/proc/\(id)/stat").flatMap { startTime(inStat: $0) }
  }

  /// Field 22.
  static func startTime(inStat stat: String) -> UInt64? {
    let fields = fields(afterNameInStat: stat)
    return fields.count > 19 ? UInt64(fields[19]) : nil
  }

  /// The executable at `path`, where `exe` of `directory` points, and how sure that is.
  ///
  /// The kernel writes ` (deleted)` behind the path of a removed file, so the suffix goes only if the file has no name
  /// left. A path is attested if it leads us to the same file. A process in a mount name space of its own can show any
  /// path, and everybody may make one, so what can't be found from here is only what the program says.
  ///
  /// A file without a name can't be found by its path: an upgrade has put another in its place. It is attested if it lies
  /// on a mount of ours, where the path that the kernel shows is the one by which we would have found it; or if it was
  /// `attestedBefore`, while it had its name and the process ran the same file.
  static func executable(_ path: String, in directory: Int32, attestedBefore: Fact? = nil) -> Fact {
    let suffix = " (deleted)"
    var running = stat()
    guard fstatat(directory, "exe", &running, 0) == 0 else { return Fact(path, .declared) }
    if path.hasSuffix(suffix), running.st_nlink == 0 {
      let name = String(path.dropLast(suffix.count))
      let isKnown = attestedBefore == Fact(name, .attested)
      return Fact(name, isKnown || MountTable.hasOurs(path, in: directory) ? .attested : .declared)
    }
    var named = stat()
    let isSame = stat(path, &named) == 0 && named.st_dev == running.st_dev && named.st_ino == running.st_ino
    return Fact(path, isSame ? .attested : .declared)
  }
}

/// The file that a process runs.
nonisolated struct RunningFile: Hashable {
  var device: UInt64
  var inode: UInt64

  /// `nil` when it can't be asked for.
  init?(of directory: Int32) {
    var file = stat()
    guard fstatat(directory, "exe", &file, 0) == 0 else { return nil }
    (device, inode) = (UInt64(file.st_dev), UInt64(file.st_ino))
  }
}

/// The mounts of the name space that we are in.
nonisolated enum MountTable {
  /// Bytes of it that are read. Our choice: more than a machine with a thousand containers has.
  private static let limit = 4 << 20

  /// `open` for a path alone (open(2)); the Glibc module hides it behind _GNU_SOURCE.
  private static let pathOnly: Int32 = 0o10_000_000

  /// Whether `exe` of `directory` is a removed file at `path` that lies on one of them. A process of another mount name
  /// space has the mounts of that one, also copies of ours, and each has a number of its own.
  static func hasOurs(_ path: String, in directory: Int32) -> Bool {
    // All is asked of one file: the process may become another program at any time. While the file is open its mount is
    // there, so the mount's number is nobody else's.
    let descriptor = openat(directory, "exe", pathOnly | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { Glibc.close(descriptor) }
    var file = stat()
    guard fstat(descriptor, &file) == 0, file.st_nlink == 0,
      ProcessFile.link(AT_FDCWD, "/proc/self/fd/\(descriptor)") == path
    else { return false }
    guard let info = ProcessFile.text(AT_FDCWD, "/proc/self/fdinfo/\(descriptor)"),
      let line = info.split(separator: "\n").first(where: { $0.hasPrefix("mnt_id:") })
    else { return false }
    let number = line.dropFirst("mnt_id:".count).filter { $0.isNumber }
    return !number.isEmpty && numbers().contains(Substring(number))
  }

  private static func numbers() -> Set<Substring> {
    let descriptor = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { Glibc.close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < limit {
      let piece = [UInt8](unsafeUninitializedCapacity: 64 << 10) { storage, count in
        count = max(0, read(descriptor, storage.baseAddress, storage.count))
      }
      if piece.isEmpty { break }
      bytes += piece
    }
    // Each line begins with the number of the mount. A name in it has its line breaks written as octal.
    let lines = String(decoding: bytes, as: UTF8.self).utf8.split(separator: UInt8(ascii: "\n"))
    return Set(lines.map { Substring($0.prefix { $0 != UInt8(ascii: " ") }) })
  }
}
