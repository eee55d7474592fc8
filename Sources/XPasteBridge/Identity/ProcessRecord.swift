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
  /// The innermost unit of its cgroup.
  private(set) var unit: Fact?
  /// Its sandbox.
  private(set) var sandbox: Fact?

  private let directory: Int32
  private var executablePath: String?
  private var cgroup = ""
  private var cgroupReadAt = MonotonicTime(nanoseconds: 0)

  /// How long a cgroup that was read is believed: a launcher moves a process into its own scope after it has started,
  /// and reading it takes 8 µs.
  private static let cgroupMilliseconds = 1_000

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
    let isChanged = path != executablePath
    if isChanged {
      executablePath = path
      executable = path.map { ProcessFile.executable($0, in: directory) }
    }
    let now = MonotonicTime.now
    if isChanged || cgroupReadAt.advanced(byMilliseconds: Self.cgroupMilliseconds) < now {
      cgroupReadAt = now
      let text = ProcessFile.text(directory, "cgroup") ?? ""
      if isChanged || text != cgroup {
        cgroup = text
        let path = Cgroup.path(in: text)
        unit = Cgroup.innermostUnit(of: path).map { Fact($0, .attested) }
        sandbox = Sandbox.name(cgroupPath: path, flatpak: ProcessFile.text(directory, "root/.flatpak-info"))
          .map { Fact($0, .attested) }
      }
    }
    return true
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

  /// Field 22.
  static func startTime(inStat stat: String) -> UInt64? {
    let fields = fields(afterNameInStat: stat)
    return fields.count > 19 ? UInt64(fields[19]) : nil
  }

  /// The executable at `path`, where `exe` of `directory` points, and how sure that is.
  ///
  /// The kernel writes ` (deleted)` behind the path of a removed file, so the suffix goes only if the file has no name
  /// left. The path is attested if it leads us to the same file. A process in a mount name space of its own can show
  /// any path: everybody may make one, so what can't be found from here is only what the program says.
  static func executable(_ path: String, in directory: Int32) -> Fact {
    let suffix = " (deleted)"
    var running = stat()
    guard fstatat(directory, "exe", &running, 0) == 0 else { return Fact(path, .declared) }
    if path.hasSuffix(suffix), running.st_nlink == 0 {
      let name = String(path.dropLast(suffix.count))
      let space = link(directory, "ns/mnt")
      let isOurSpace = space != nil && space == link(AT_FDCWD, "/proc/self/ns/mnt")
      return Fact(name, isOurSpace ? .attested : .declared)
    }
    var named = stat()
    let isSame = stat(path, &named) == 0 && named.st_dev == running.st_dev && named.st_ino == running.st_ino
    return Fact(path, isSame ? .attested : .declared)
  }
}

/// Control groups as systemd lays them out. A program may name groups below its own as it likes, also with marks that
/// make one character with the slash before them; so paths are taken apart by bytes.
nonisolated enum Cgroup {
  private static let unitSuffixes = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"]

  /// The path in `/proc/PID/cgroup`: of the unified hierarchy, else of systemd's own.
  static func path(in text: String) -> String {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
    let line = lines.first { $0.hasPrefix("0::") && $0 != "0::/" } ?? lines.first { $0.contains(":name=systemd:") }
    guard let fields = line?.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false), fields.count == 3
    else { return "" }
    return String(fields[2])
  }

  /// The last part of the path that names a unit.
  static func innermostUnit(of path: String) -> String? {
    parts(of: path).last { part in unitSuffixes.contains { part.hasSuffix($0) } }.map { String($0) }
  }

  /// The names between the slashes.
  static func parts(of path: String) -> [Substring] {
    path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
  }
}

/// Sandboxes that can be told from outside.
nonisolated enum Sandbox {
  /// The sandbox's name: `flatpak:ID` by the file that flatpak puts into the sandbox or by its scope's name, `snap:NAME`
  /// by snapd's scope or service.
  static func name(cgroupPath path: String, flatpak: String?) -> String? {
    if let flatpak, let id = applicationName(inFlatpak: flatpak) { return "flatpak:" + id }
    for part in Cgroup.parts(of: path).reversed() {
      if part.hasPrefix("app-flatpak-"), part.hasSuffix(".scope") {
        // app-flatpak-ID-PID.scope
        let id = part.dropFirst("app-flatpak-".count).dropLast(".scope".count)
        if let dash = id.lastIndex(of: "-") { return "flatpak:" + unescaped(id[..<dash]) }
      }
      if part.hasPrefix("snap.") {
        let name = part.dropFirst("snap.".count).prefix { $0 != "." }
        if !name.isEmpty { return "snap:" + name }
      }
    }
    return nil
  }

  /// `name=` of the section `[Application]`.
  static func applicationName(inFlatpak text: String) -> String? {
    var isApplication = false
    for line in text.split(separator: "\n") {
      if line.hasPrefix("[") {
        isApplication = line == "[Application]"
      } else if isApplication, line.hasPrefix("name=") {
        return String(line.dropFirst("name=".count))
      }
    }
    return nil
  }

  /// systemd writes a dash inside a name as `\x2d`.
  private static func unescaped(_ name: Substring) -> String {
    var parts = ""
    var rest = name
    while let next = rest.first {
      if rest.hasPrefix("\\x2d") {
        parts.append("-")
        rest = rest.dropFirst(4)
      } else {
        parts.append(next)
        rest = rest.dropFirst()
      }
    }
    return parts
  }
}
