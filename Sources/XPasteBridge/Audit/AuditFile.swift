@preconcurrency import Glibc

/// A file of one JSON object a line, appended to; what can't be written is counted and said once, never fatal.
final class AuditFile {
  /// Where it is.
  let path: String
  private let complain: (String) -> Void
  private var descriptor: OwnedDescriptor?
  /// Why lines aren't being written at the moment.
  private(set) var failure: SystemFailure?
  /// Lines that couldn't be written since the start.
  private(set) var linesLost = 0
  /// Whether the last write ended in the middle of a line.
  private var isTorn = false

  /// Opens or creates `path`; `complain` takes what has to be said about it.
  init(path: String, complain: @escaping (String) -> Void) {
    self.path = path
    self.complain = complain
    reopen()
  }

  /// Opens the path anew, so that a rotated file is let go (logrotate's `postrotate`).
  func reopen() {
    do {
      descriptor = try Posix.open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, mode: 0o600)
      failure = nil
    } catch {
      descriptor = nil
      note(error)
    }
  }

  /// Appends one line.
  func append(_ json: JSON) {
    guard let descriptor else {
      linesLost += 1
      return
    }
    do {
      // A line that was cut off by a full disk is ended first, so that the next one can be read.
      if isTorn { try Posix.write("\n", to: descriptor.number) }
      isTorn = true
      try Posix.write(json.description + "\n", to: descriptor.number)
      isTorn = false
      if failure != nil { complain("audit file \(Label.plain(path)): writing again, \(linesLost) lines were lost") }
      failure = nil
    } catch {
      linesLost += 1
      note(error)
    }
  }

  private func note(_ error: SystemFailure) {
    if failure != error { complain("audit file \(Label.plain(path)): \(error.reason); records are missing there") }
    failure = error
  }
}
