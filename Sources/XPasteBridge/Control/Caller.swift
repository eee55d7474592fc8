import Policy

/// The process at the other end of a connection, as the kernel named it when the connection was made.
final class Caller {
  /// Tells the connection from all others of this run.
  let number: UInt64
  /// Boards of which it has been told.
  var known: Set<String> = []
  private let process: ProcessRecord?
  private let executable: Fact?

  init(number: UInt64, process: ProcessRecord?) {
    self.number = number
    self.process = process
    executable = process?.executable
  }

  /// The process; `nil` when it has ended, and when it has become another program: then it may have left the connection
  /// to a child, and what it is now says nothing of who calls.
  var current: ProcessRecord? {
    guard let process, process.refresh(), process.executable == executable else { return nil }
    return process
  }
}
