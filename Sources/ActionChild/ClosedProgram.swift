@preconcurrency import CSeccomp
import ContentActions
@preconcurrency import Glibc

/// A program that is executed so that no other process of the user can reach it.
///
/// The kernel closes a process, from its first instruction on, when the file that it executes can't be read by its user
/// (execve(2), PR_SET_DUMPABLE in prctl(2)). A program whose file can be read is therefore copied into memory, and the
/// right to read the copy taken away: nobody can give it back, since nobody reaches a descriptor of it.
enum ClosedProgram {
  /// The descriptor of what is to be executed: the first number that this process can't get once its limits are set.
  static let number = Int32(Sandbox.openFiles)

  /// Scripts whose interpreter is a script. The kernel's own bound.
  private static let mostInterpreters = 5
  /// What the kernel reads of a script's first line (BINPRM_BUF_SIZE).
  private static let lineBytes = 256
  /// `env` in scripts looks here, as it would in a run's `PATH`.
  private static let searchPath = ["/usr/bin/", "/bin/"]

  /// Opens `path` as ``number``; of a script, its interpreter. Returns the words with which that is to be called.
  static func open(_ path: String, _ words: [String]) throws(ActionFailure) -> [String] {
    var (path, words) = (path, words)
    var file = try openFile(path)
    // The path was decided without links: one that stands there now leads to another program.
    guard nameOf(file) == path else { throw .noProgram }
    for _ in 0...mostInterpreters {
      guard let interpreter = interpreter(of: file) else {
        try place(file)
        return words
      }
      close(file)
      words = interpreter + [path] + words.dropFirst()
      var next = interpreter[0]
      // By itself `env` would become the program that it finds, which would be open.
      if next.hasSuffix("/env"), interpreter.count == 2, isPlain(interpreter[1]) {
        words.removeFirst()
        next = searchPath.lazy.map { $0 + interpreter[1] }.first { access($0, X_OK) == 0 } ?? next
      }
      guard let found = realpath(next, nil) else { throw .noProgram }
      path = String(cString: found)
      free(found)
      file = try openFile(path)
    }
    throw .noProgram
  }

  private static func isPlain(_ name: String) -> Bool {
    !name.hasPrefix("-") && !name.unicodeScalars.contains { ["/", "=", " "].contains($0) }
  }

  /// For reading where that is permitted, else as a mere place, which is enough to be executed.
  private static func openFile(_ path: String) throws(ActionFailure) -> Int32 {
    guard access(path, X_OK) == 0 else { throw .noProgram }
    for flags in [O_RDONLY | O_NONBLOCK, xpb_o_path] {
      let file = Glibc.open(path, flags | O_CLOEXEC)
      var state = stat()
      if file >= 0, fstat(file, &state) == 0, state.st_mode & S_IFMT == S_IFREG { return file }
    }
    throw .noProgram
  }

  private static func nameOf(_ file: Int32) -> String? {
    guard let found = realpath("/proc/self/fd/\(file)", nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  /// What a script names in its first line: a program and at most one word. `nil` for what is no script or can't be read.
  private static func interpreter(of file: Int32) -> [String]? {
    var bytes = [UInt8](repeating: 0, count: lineBytes)
    let count = pread(file, &bytes, lineBytes, 0)
    guard count > 2, bytes.starts(with: "#!".utf8) else { return nil }
    let line = bytes[2..<count].prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }
    let blanks = [UInt8(ascii: " "), UInt8(ascii: "\t")]
    let text = line.drop { blanks.contains($0) }
    let name = text.prefix { !blanks.contains($0) }
    var argument = text.dropFirst(name.count).drop { blanks.contains($0) }
    while let last = argument.last, blanks.contains(last) { argument.removeLast() }
    return ([name] + (argument.isEmpty ? [] : [argument])).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func place(_ file: Int32) throws(ActionFailure) {
    defer { close(file) }
    // A mere place: the file can't be read, so it is closed as it stands.
    let isReadable = fcntl(file, F_GETFL) & xpb_o_path == 0
    let closed = isReadable ? try copy(file) : file
    defer { if isReadable { close(closed) } }
    raiseLimit()
    guard fcntl(closed, F_DUPFD_CLOEXEC, number) == number else { throw .notClosed }
  }

  /// The user's limit may be below ``number``; the run gets its own in a moment.
  private static func raiseLimit() {
    let resource = Int32(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(UInt32(resource)), &limit) == 0 else { return }
    _ = xpb_setrlimit(resource, UInt(limit.rlim_max), UInt(limit.rlim_max))
  }

  /// A copy in memory that nobody can read or change.
  private static func copy(_ file: Int32) throws(ActionFailure) -> Int32 {
    var state = stat()
    let made = xpb_memfd_executable("action")
    guard made >= 0, fstat(file, &state) == 0 else { throw .notClosed }
    var copied = 0
    while copied < state.st_size {
      let more = xpb_sendfile(made, file, state.st_size - copied)
      if more < 0, errno == EINTR { continue }
      guard more > 0 else { throw .notClosed }
      copied += more
    }
    guard fchmod(made, 0o111) == 0, xpb_seal(made) == 0 else { throw .notClosed }
    return made
  }
}
