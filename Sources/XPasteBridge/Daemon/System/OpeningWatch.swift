@preconcurrency import CSystemd
@preconcurrency import Glibc

/// Ends the process when a display isn't open in time. Xlib waits for the server's answer without end and can't be told
/// not to, so a thread of its own looks at the clock; it does nothing but wait, write and end.
final class OpeningWatch {
  /// How long a display may take to answer (our choice: 100 times what a busy server on this machine takes).
  static let milliseconds = 4_000

  /// What the thread is given. Nothing of it changes after the start.
  private nonisolated final class Orders: Sendable {
    let done: Int32
    let milliseconds: Int32
    let output: Int32
    let text: [UInt8]
    let journalFields: [String]

    init(done: Int32, milliseconds: Int, output: Int32, text: String, journalFields: [String]) {
      (self.done, self.milliseconds, self.output) = (done, Int32(clamping: milliseconds), output)
      (self.text, self.journalFields) = (Array(text.utf8), journalFields)
    }

    /// Waits until the display is open, or ends the process.
    func run() {
      var entry = pollfd(fd: done, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, milliseconds) == 0 else {
        close(done)
        return
      }
      if !journalFields.isEmpty { _ = try? Journal.send(journalFields) }
      text.withUnsafeBytes { _ = write(output, $0.baseAddress, $0.count) }
      _exit(ExitStatus.failed)
    }
  }

  private let done: Int32

  /// From now on the time runs. When it is over `text` is written to the descriptor `output` and `journalFields`, each
  /// `NAME=value`, to the journal; the exit status is 1. Without threads or descriptors left nothing is watched.
  init(
    milliseconds: Int = OpeningWatch.milliseconds, output: Int32 = 2, text: String, journalFields: [String] = []
  ) {
    done = xpb_eventfd()
    guard done >= 0 else { return }
    let orders = Orders(
      done: fcntl(done, F_DUPFD_CLOEXEC, 3), milliseconds: milliseconds, output: output, text: text,
      journalFields: journalFields)
    // Without a thread nothing is watched.
    try? DetachedThread.start("opening") { orders.run() }
  }

  /// The display has answered.
  func end() {
    var one: UInt64 = 1
    _ = write(done, &one, MemoryLayout.size(ofValue: one))
  }

  deinit { close(done) }
}
