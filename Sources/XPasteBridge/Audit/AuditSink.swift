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

  /// Writes one entry; the journal or a replacement for tests.
  typealias Writer = ([JournalEntry.Field]) -> Void

  private let display: String
  private let choice: Choice
  private let file: AuditFile?
  private let writer: Writer
  private let now: () -> MonotonicTime
  private var budget = AuditBudget()
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
    if budget.begin(now().nanoseconds / 1_000_000_000) { flush() }
    guard budget.admits(record.cause) else {
      suppressed += 1
      return
    }
    written += 1
    let entry = AuditEntry(record: record, milliseconds: Posix.wallClockMilliseconds(), display: display)
    writer(JournalEntry.fields(of: entry))
    file?.append(entry.json)
  }

  /// Says something about the daemon itself.
  func say(
    _ text: String, _ kind: JournalKind = .notice, _ priority: Priority = .notice, fields: [JournalEntry.Field] = []
  ) {
    writer(Self.fields(text, kind, priority) + [("XPB_DISPLAY", Label.shortened(display))] + fields)
  }

  /// Records something about the daemon itself, whatever the limits say: it happens seldom. What stands on standard error
  /// already goes to the journal and the file alone.
  func record(_ record: DaemonRecord, isOnStandardError: Bool = false) {
    let milliseconds = Posix.wallClockMilliseconds()
    if !isOnStandardError || Journal.isPresent {
      writer(record.journalFields(milliseconds: milliseconds, display: display))
    }
    file?.append(record.json(milliseconds: milliseconds, display: display))
  }

  /// Records how many records of each program were left out, if any were.
  func flush() {
    for gap in budget.takeGaps() {
      let time = Posix.wallClockMilliseconds()
      let record = JSON.object([
        "schema": .integer(AuditEntry.schemaVersion), "time": .string(UTCTime.text(milliseconds: time)),
        "display": .string(Label.shortened(display)), "suppressed": .integer(gap.count),
        "program": gap.program.map(RecordJSON.subject),
      ])
      let text = Self.text(of: gap)
      let program = gap.program.map { JournalEntry.fields(of: $0, "XPB_PROGRAM_") } ?? []
      writer(
        Self.fields(text, .suppressed, .warning) + [
          ("XPB_DISPLAY", Label.shortened(display)), ("XPB_COUNT", String(gap.count)),
        ] + program + [("XPB_RECORD", record.description)])
      file?.append(record)
    }
  }

  /// A gap in one line.
  static func text(of gap: AuditBudget.Gap) -> String {
    let program = gap.program.map { AuditSentence.name(of: $0) } ?? "further programs"
    return "\(gap.count) audit records of \(program) were left out, more than \(AuditBudget.ofProgram) came in a second"
  }

  /// When the records that were left out have to be said at the latest; `nil` when none were.
  var unsaidDeadline: MonotonicTime? {
    budget.hasGaps ? MonotonicTime(nanoseconds: (budget.currentSecond + 1) * 1_000_000_000) : nil
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
