import Foundation
import Glibc

/// A point in time by which something has to have happened.
struct Deadline {
  private let end: UInt64

  init(seconds: Double) { end = Self.now + UInt64(seconds * 1e9) }

  static var now: UInt64 { clock_gettime_nsec() }

  private static func clock_gettime_nsec() -> UInt64 {
    var t = timespec()
    clock_gettime(CLOCK_MONOTONIC, &t)
    return UInt64(t.tv_sec) * 1_000_000_000 + UInt64(t.tv_nsec)
  }

  var milliseconds: Int32 { Self.now >= end ? 0 : Int32(min((end - Self.now) / 1_000_000 + 1, 1_000_000)) }
  var isOver: Bool { Self.now >= end }
}

/// Tries `condition` until it holds; between two tries nothing but a short rest, so that a loaded machine isn't loaded more.
func waitUntil(within seconds: Double, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = Deadline(seconds: seconds)
  while true {
    if try condition() { return true }
    if deadline.isOver { return false }
    usleep(2_000)
  }
}

/// Two ends, closed in every program that isn't given them.
private func pipePair(for user: String) throws -> [Int32] {
  var ends: [Int32] = [-1, -1]
  guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
    throw HarnessError(user, expected: "a pipe", found: String(cString: strerror(errno)))
  }
  return ends
}

/// A process of a test in a process group of its own, with its standard input and output in our hands.
final class Child {
  let name: String
  let pid: pid_t
  private var input: Int32
  private let output: Int32
  private var held = Data()
  private var status: Int32?
  private var isEnded = false

  /// Starts `path`. `log` receives its standard error; without `keepsOutput` its standard output too.
  init(
    _ path: String, _ arguments: [String] = [], environment: [String: String], log: String, keepsOutput: Bool = true
  ) throws {
    name = (path as NSString).lastPathComponent
    let toChild = try pipePair(for: path)
    let fromChild = try pipePair(for: path)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
    posix_spawn_file_actions_adddup2(&actions, keepsOutput ? fromChild[1] : 2, 1)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The test's threads block signals and ignore SIGPIPE; a program that inherits that can't be ended politely.
    var nothing = sigset_t()
    sigemptyset(&nothing)
    posix_spawnattr_setsigmask(&attributes, &nothing)
    var everything = sigset_t()
    sigfillset(&everything)
    posix_spawnattr_setsigdefault(&attributes, &everything)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    posix_spawnattr_setpgroup(&attributes, 0)
    var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (argv + envp).forEach { free($0) } }
    var id: pid_t = 0
    let failure = posix_spawn(&id, path, &actions, &attributes, &argv, &envp)
    close(toChild[0])
    close(fromChild[1])
    guard failure == 0 else {
      close(toChild[1])
      close(fromChild[0])
      throw HarnessError(path, expected: "a program that starts", found: String(cString: strerror(failure)))
    }
    pid = id
    input = toChild[1]
    output = fromChild[0]
    Guardian.shared.take(pid)
  }

  deinit {
    end()
    close(output)
  }

  /// Whether it has not ended yet.
  var isAlive: Bool {
    reap(WNOHANG)
    return status == nil
  }

  private func reap(_ options: Int32) {
    guard status == nil else { return }
    var raw: Int32 = 0
    if waitpid(pid, &raw, options) == pid { status = raw & 0x7f == 0 ? (raw >> 8) & 0xff : 128 + (raw & 0x7f) }
  }

  /// Writes to its standard input; an end that is closed already is its business and shows elsewhere.
  func send(_ bytes: Data) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
      if written <= 0 { return }
      rest = rest.dropFirst(written)
    }
  }

  func closeInput() {
    if input >= 0 { close(input) }
    input = -1
  }

  /// The next line of its standard output, `nil` at its end.
  func line(by deadline: Deadline) throws -> Data? {
    // Lines may have megabytes: no byte is looked at twice, and none by a generic search.
    var seen = 0
    while true {
      let end = held.withUnsafeBytes { bytes -> Int? in
        guard let start = bytes.baseAddress else { return nil }
        return memchr(start + seen, 10, bytes.count - seen).map { start.distance(to: UnsafeRawPointer($0)) }
      }
      if let end {
        let line = held.prefix(end)
        held = Data(held.dropFirst(end + 1))
        return Data(line)
      }
      seen = held.count
      guard let piece = try piece(by: deadline) else { return nil }
      held.append(piece)
    }
  }

  /// All that it prints until it closes its standard output.
  func everything(by deadline: Deadline) throws -> Data {
    while let piece = try piece(by: deadline) { held.append(piece) }
    return held
  }

  private func piece(by deadline: Deadline) throws -> Data? {
    var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, deadline.milliseconds) > 0 else {
      throw HarnessError(name, expected: "output in time", found: "none", alive: isAlive ? "\(name) \(pid)" : "")
    }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let got = read(output, &bytes, bytes.count)
    return got > 0 ? Data(bytes[0..<got]) : nil
  }

  /// Its exit status, 128 + N after signal N.
  func exitStatus(within seconds: Double) throws -> Int32 {
    guard waitUntil(within: seconds, { !isAlive }), let status else {
      throw HarnessError(name, expected: "an exit within \(seconds) s", found: "none", alive: "\(name) \(pid)")
    }
    return status
  }

  func signal(_ number: Int32) { kill(pid, number) }

  /// Ends its whole process group: children that it left behind have our pipes too.
  func end() {
    guard !isEnded else { return }
    isEnded = true
    closeInput()
    if kill(-pid, SIGTERM) == 0, !waitUntil(within: 2, { !isAlive }) { kill(-pid, SIGKILL) }
    kill(-pid, SIGCONT)
    if status == nil {
      kill(-pid, SIGKILL)
      reap(0)
    }
    if kill(-pid, 0) == 0 { kill(-pid, SIGKILL) }
    Guardian.shared.release(pid)
  }
}

/// Outlives a test process that crashes, and then ends the process groups that it had started.
final class Guardian: @unchecked Sendable {
  static let shared = Guardian()
  private let input: Int32
  private let lock = NSLock()

  // A variable for each group: a list in one variable made the shell slower with every program started, to seconds each.
  private static let script = """
    trap '' INT TERM
    while read -r op id; do
      case $op in +) eval "group$id=1";; -) unset "group$id";; esac
    done
    set | sed -n 's/^group\\([0-9]*\\)=.*/\\1/p' | while read -r id; do
      kill -s CONT -- -$id
      kill -s KILL -- -$id
    done 2>/dev/null
    """

  private init() {
    Glibc.signal(SIGPIPE, SIG_IGN)
    guard let ends = try? pipePair(for: "guardian") else { fatalError("guardian: expected a pipe, found none") }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var argv: [UnsafeMutablePointer<CChar>?] =
      ["/bin/sh", "-c", Self.script].map { (word: String) in strdup(word) } + [nil]
    var envp: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/bin:/bin"), nil]
    var id: pid_t = 0
    posix_spawn(&id, "/bin/sh", &actions, &attributes, &argv, &envp)
    close(ends[0])
    input = ends[1]
  }

  func take(_ pid: pid_t) { tell("+ \(pid)\n") }
  func release(_ pid: pid_t) { tell("- \(pid)\n") }

  private func tell(_ line: String) {
    lock.withLock { _ = line.withCString { write(input, $0, strlen($0)) } }
  }
}
