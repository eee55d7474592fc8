import ContentActions
@preconcurrency import Glibc

/// Does one action's work, shut in: `xpastebridge-action MEMORY SECONDS OUTPUT built-in NAME TARGET` or
/// `… exec PATH NAME ARGUMENT…`. Started by the daemon alone; standard input is the content, standard output the result.
@main struct ActionChild {
  static func main() {
    do throws(Sandbox.Failure) { try Sandbox.hide() } catch { exit(HelperProtocol.status(of: .noSandbox)) }
    guard let order = HelperProtocol.order(Array(CommandLine.arguments.dropFirst())) else {
      complain("xpastebridge-action: started by the daemon; see xpastebridge-actions(5)\n")
      exit(2)
    }
    do throws(ActionFailure) {
      try run(order)
      exit(0)
    } catch {
      exit(HelperProtocol.status(of: error))
    }
  }

  private static func run(_ order: HelperProtocol.Order) throws(ActionFailure) {
    let program: String? = if case .exec(let path, _) = order.work { path } else { nil }
    // The path was decided without links: one that stands there now leads to another program.
    if let program, !isFreeOfLinks(program) { throw .noProgram }
    do throws(Sandbox.Failure) { try Sandbox.enter(order, program: program) } catch { throw .noSandbox }
    switch order.work {
    case .exec(let path, let words):
      execve(path, words.map { strdup($0) } + [nil], environ)
      throw .noProgram
    case .builtIn(let builtIn, let target):
      try work(builtIn, on: try Input.map(), target: target, memoryBytes: order.memoryBytes)
    }
  }

  private static func work(
    _ builtIn: BuiltIn, on input: UnsafeRawBufferPointer, target: String, memoryBytes: Int
  ) throws(ActionFailure) {
    switch builtIn {
    case .plainText: try Output.write(Texts.utf8(input, target: target))
    case .stripTracking:
      guard let cleaned = LinkCleaner.cleaned(Texts.utf8(input, target: target)) else { throw .notApplicable }
      try Output.write(cleaned)
    case .thumbnail: try Images.thumbnail(input, type: target, memoryBytes: memoryBytes)
    case .removeMetadata: try Images.withoutMetadata(input, type: target, memoryBytes: memoryBytes)
    }
  }

  private static func isFreeOfLinks(_ path: String) -> Bool {
    guard let found = realpath(path, nil) else { return false }
    defer { free(found) }
    return String(cString: found) == path
  }

  private static func complain(_ line: String) {
    _ = line.withCString { Glibc.write(2, $0, strlen($0)) }
  }
}

/// Texts in the encodings of their targets.
enum Texts {
  /// As UTF-8. STRING and C_STRING are Latin-1 (ICCCM 2.7.1); all others that an action takes are UTF-8 as they come.
  static func utf8(_ input: UnsafeRawBufferPointer, target: String) -> [UInt8] {
    guard ["STRING", "C_STRING"].contains(target) else { return Array(input) }
    return input.flatMap { byte in byte < 0x80 ? [byte] : [0xC0 | byte >> 6, 0x80 | byte & 0x3F] }
  }
}

/// Standard input: a file in memory that nobody can change any more.
enum Input {
  /// All of it, until the process ends.
  static func map() throws(ActionFailure) -> UnsafeRawBufferPointer {
    var state = stat()
    guard fstat(0, &state) == 0, state.st_size >= 0 else { throw .failed }
    guard state.st_size > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    guard let found = mmap(nil, state.st_size, PROT_READ, MAP_PRIVATE, 0, 0), found != MAP_FAILED else {
      throw .memoryLimit
    }
    return UnsafeRawBufferPointer(start: found, count: state.st_size)
  }
}

/// Standard output: a file in memory. Beyond the bound the kernel ends the process.
enum Output {
  /// Writes all of it.
  static func write(_ bytes: [UInt8]) throws(ActionFailure) {
    let isWritten = bytes.withUnsafeBytes { write($0.baseAddress, $0.count) }
    guard isWritten else { throw .failed }
  }

  /// Whether all of it could be written.
  static func write(_ start: UnsafeRawPointer?, _ count: Int) -> Bool {
    guard let start else { return count == 0 }
    var written = 0
    while written < count {
      let result = Glibc.write(1, start + written, count - written)
      if result == -1, errno == EINTR { continue }
      guard result > 0 else { return false }
      written += result
    }
    return true
  }
}
