import BridgeCore
@preconcurrency import Glibc
import Selection

/// Writes what is to be known: audit records and the daemon's own lines, to the journal or standard error, and records
/// to the audit file.
final class AuditSink {
  /// Which records are written.
  enum Choice: String {
    case refusals
    case all
  }

  /// Lines a second (our choice: the core bounds what one client can cause; this bounds all of them together).
  static let linesPerSecond = 100

  /// Writes one entry; the journal or a replacement for tests.
  typealias Writer = ([JournalEntry.Field]) -> Void

  private let display: String
  private let choice: Choice
  private let file: AuditFile?
  private let writer: Writer
  private let now: () -> MonotonicTime
  private var second: UInt64 = 0
  private var linesInSecond = 0
  private var unsaid = 0
  /// Records written since the start.
  private(set) var written = 0
  /// Records of refusals since the start.
  private(set) var refused = 0
  /// Records left out since the start because there were too many.
  private(set) var suppressed = 0
  /// Hears of every refusal, written down or not.
  var onRefusal: (AuditRecord) -> Void = { _ in }
  /// Bytes that all decisions were about since `takeBytesMoved` was last called.
  private var bytesMoved = 0

  /// Writes records of `display` by `writer` and to `file`.
  init(
    display: String, choice: Choice, file: AuditFile?, writer: @escaping Writer = AuditSink.journalOrStandardError,
    now: @escaping () -> MonotonicTime = { Posix.monotonicNow() }
  ) {
    self.display = display
    self.choice = choice
    self.file = file
    self.writer = writer
    self.now = now
  }

  /// The audit file's state for `status`.
  var auditFile: AuditFile? { file }

  /// Takes one record of the core.
  func take(_ record: AuditRecord) {
    bytesMoved += record.bytes
    if [.refused, .refusedByKey, .emptied].contains(record.outcome) {
      refused += record.count
      onRefusal(record)
    }
    guard record.isAlwaysWritten || choice == .all else { return }
    guard admits() else {
      suppressed += 1
      unsaid += 1
      return
    }
    written += 1
    let entry = AuditEntry(record: record, milliseconds: Posix.wallClockMilliseconds(), display: display)
    writer(JournalEntry.fields(of: entry))
    file?.append(entry.json)
  }

  /// Says something about the daemon itself.
  func say(_ text: String, _ kind: JournalKind = .notice, _ priority: Priority = .notice) {
    writer(Self.fields(text, kind, priority) + [("XPB_DISPLAY", Label.shortened(display))])
  }

  /// Whether one more line fits into this second; a new second says first what the last one left out.
  private func admits() -> Bool {
    let current = now().nanoseconds / 1_000_000_000
    if current != second {
      second = current
      linesInSecond = 0
      flush()
    }
    linesInSecond += 1
    return linesInSecond <= Self.linesPerSecond
  }

  /// Says how many records were left out, if any were.
  func flush() {
    guard unsaid > 0 else { return }
    say(
      "\(unsaid) audit records were left out, more than \(Self.linesPerSecond) came in a second", .suppressed, .warning)
    file?.append(
      .object([
        "schema": .integer(AuditEntry.schemaVersion),
        "time": .string(UTCTime.text(milliseconds: Posix.wallClockMilliseconds())),
        "display": .string(Label.shortened(display)), "suppressed": .integer(unsaid),
      ]))
    unsaid = 0
  }

  /// When the records that were left out have to be said at the latest; `nil` when none were.
  var unsaidDeadline: MonotonicTime? {
    unsaid > 0 ? MonotonicTime(nanoseconds: (second + 1) * 1_000_000_000) : nil
  }

  /// Lets a rotated audit file go.
  func reopenFile() { file?.reopen() }

  /// Bytes moved since the last call, to know when memory is worth giving back.
  func takeBytesMoved(atLeast limit: Int) -> Bool {
    guard bytesMoved >= limit else { return false }
    bytesMoved = 0
    return true
  }

  /// The fields of a line of our own.
  static func fields(_ text: String, _ kind: JournalKind, _ priority: Priority) -> [JournalEntry.Field] {
    [
      ("MESSAGE", Label.plain(text, to: 2_048)), ("MESSAGE_ID", kind.rawValue), ("PRIORITY", String(priority.rawValue)),
      ("SYSLOG_IDENTIFIER", "xpastebridge"),
    ]
  }

  /// The journal where there is one, else one line on standard error.
  static let journalOrStandardError: Writer = { fields in
    if Journal.isPresent, (try? Journal.sendv(fields)) != nil { return }
    // A reader that has stopped reading must not stop the daemon. What poll(2) calls writable takes 4096 bytes at least.
    guard Posix.poll(2, POLLOUT, milliseconds: 0) else { return }
    let message = Label.shortened(fields.first { $0.name == "MESSAGE" }?.value ?? "", to: 2_048)
    // Standard error may be closed; a daemon can't say that anywhere else.
    try? Posix.write("xpastebridge: \(message)\n", to: 2)
  }
}
