@preconcurrency import CSeccomp
import ContentActions
@preconcurrency import Glibc

/// Does one action's work, shut in: `xpastebridge-action MEMORY SECONDS built-in NAME TARGET` or
/// `… exec PATH NAME ARGUMENT…`. Started by the daemon alone: content comes by standard input and the result goes by standard
/// output, once the door (``HelperProtocol``) has told that everything is shut.
@main struct ActionChild {
  static func main() {
    let wasClosed = Sandbox.wasClosed
    do throws(Sandbox.Failure) { try Sandbox.hide() } catch { exit(HelperProtocol.status(of: .noSandbox)) }
    guard let order = HelperProtocol.order(Array(CommandLine.arguments.dropFirst())) else {
      complain("xpastebridge-action: started by the daemon; see xpastebridge-actions(5)\n")
      exit(2)
    }
    // Whatever was handed down by accident; the numbers that come from here on are this program's own.
    _ = xpb_close_range(UInt32(HelperProtocol.door) + 1, .max)
    do throws(ActionFailure) {
      guard wasClosed else { throw .notClosed }
      try run(order)
      exit(0)
    } catch {
      exit(HelperProtocol.status(of: error))
    }
  }

  private static func run(_ order: HelperProtocol.Order) throws(ActionFailure) {
    switch order.work {
    case .exec(let path, let words):
      let words = try ClosedProgram.open(path, words)
      try shut(order, program: path)
      _ = xpb_execute(ClosedProgram.number, words.map { strdup($0) } + [nil], environ)
      throw .noProgram
    case .builtIn(let builtIn, let target):
      try shut(order, program: nil)
      close(HelperProtocol.door)
      try work(builtIn, on: try Input.read(), target: target, memoryBytes: order.memoryBytes)
    }
  }

  private static func shut(_ order: HelperProtocol.Order, program: String?) throws(ActionFailure) {
    do throws(Sandbox.Failure) {
      try Sandbox.enter(order, program: program)
      try Sandbox.tellDoor()
    } catch { throw .noSandbox }
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

/// Standard input: a socket, on which content comes in its own time.
enum Input {
  /// Enough for most texts at once. Our choice.
  private static let firstBytes = 64 << 10

  /// All of it, until the process ends.
  static func read() throws(ActionFailure) -> UnsafeRawBufferPointer {
    var (capacity, count) = (firstBytes, 0)
    guard var bytes = malloc(capacity) else { throw .memoryLimit }
    while true {
      if count == capacity {
        guard let larger = realloc(bytes, capacity * 2) else { throw .memoryLimit }
        (bytes, capacity) = (larger, capacity * 2)
      }
      let more = Glibc.read(0, bytes + count, capacity - count)
      if more < 0, errno == EINTR { continue }
      guard more >= 0 else { throw .failed }
      guard more > 0 else { return UnsafeRawBufferPointer(start: bytes, count: count) }
      count += more
    }
  }
}

/// Standard output: the same socket. The daemon ends who writes beyond the bound.
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
