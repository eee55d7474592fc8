@preconcurrency import Glibc

/// `audit`: prints records from the journal, or from a file of one JSON object a line.
enum AuditCommand {
  /// How often a followed file is looked at: inotify would say sooner, but not on network file systems.
  private static let followMilliseconds = 200
  /// A longer line is no record of ours (our choice: 64 names and all facts stay below 64 KiB).
  private static let longestLine = 1 << 20

  /// Prints what is there, and with `--follow` what comes.
  static func run(_ invocation: Invocation) -> Int32 {
    let printer = RecordPrinter(isJSON: invocation.has("json"), display: invocation.value("display"))
    if let path = invocation.value("audit-file") {
      return printFile(path, printer, follows: invocation.has("follow") && path != "-")
    }
    return printJournal(printer, follows: invocation.has("follow"))
  }

  private static func printJournal(_ printer: RecordPrinter, follows: Bool) -> Int32 {
    do throws(SystemFailure) {
      let ids = JournalKind.records.map(\.rawValue)
      let reader = try JournalReader(messageIDs: ids, display: printer.display.map(ControlAddress.key))
      var hasRecords = false
      while true {
        while try reader.next() {
          hasRecords = true
          guard let line = reader.field("XPB_RECORD") else { continue }
          guard printer.print(line) else { return ExitStatus.failed }
        }
        guard follows else { break }
        try reader.wait()
      }
      if !hasRecords && !Journal.isPresent {
        return Console.failed("there is no journal here; give the daemon's file with --audit-file FILE")
      }
      return ExitStatus.done
    } catch {
      return Console.failed("can't read the journal: \(error); give the daemon's file with --audit-file FILE")
    }
  }

  private static func printFile(_ path: String, _ printer: RecordPrinter, follows: Bool) -> Int32 {
    do throws(SystemFailure) {
      var file = path == "-" ? OwnedDescriptor(Posix.duplicate(0)) : try Posix.open(path, O_RDONLY)
      var line: [UInt8] = []
      while true {
        let bytes = try Posix.read(file.number, limit: 64 << 10)
        for byte in bytes {
          guard byte == UInt8(ascii: "\n") else {
            if line.count < longestLine { line.append(byte) }
            continue
          }
          guard printer.print(String(decoding: line, as: UTF8.self)) else { return ExitStatus.failed }
          line = []
        }
        guard bytes.isEmpty else { continue }
        guard follows else { break }
        Posix.sleep(milliseconds: followMilliseconds)
        if isRotated(file, path) {
          file = try Posix.open(path, O_RDONLY)
          line = []
        }
      }
      return printer.unreadable == 0
        ? ExitStatus.done : Console.failed("\(printer.unreadable) lines of `\(Label.plain(path))` are no audit records")
    } catch {
      return Console.failed("can't read `\(Label.plain(path))`: \(error.reason)")
    }
  }

  /// Whether another file is at `path` by now, or the same one was emptied.
  private static func isRotated(_ file: OwnedDescriptor, _ path: String) -> Bool {
    guard let now = Posix.stat(path), let open = Posix.stat("/proc/self/fd/\(file.number)") else { return false }
    return now.inode != open.inode || now.device != open.device || now.size < Int(lseek(file.number, 0, SEEK_CUR))
  }
}

/// Prints records one by one.
final class RecordPrinter {
  private let isJSON: Bool
  /// Only records of this display, if given.
  let display: String?
  /// Lines that are no records.
  private(set) var unreadable = 0

  init(isJSON: Bool, display: String?) {
    self.isJSON = isJSON
    self.display = display
  }

  /// Prints one record; false when standard output is gone.
  func print(_ line: String) -> Bool {
    guard !line.isEmpty else { return true }
    guard let json = try? JSON(reading: line), case .object = json else {
      unreadable += 1
      return true
    }
    if let display, let recorded = json["display"]?.text,
      ControlAddress.key(of: recorded) != ControlAddress.key(of: display)
    {
      return true
    }
    return Console.print(isJSON ? json.description : text(json)) == ExitStatus.done
  }

  private func text(_ json: JSON) -> String {
    let time = StatusText.field(json["time"])
    if let count = json["suppressed"]?.number {
      let program = json["program"].flatMap { RecordJSON.subject(reading: $0) }
      return "\(time) \(AuditSink.text(of: AuditBudget.Gap(program: program, count: count)))"
    }
    if json["event"] != nil { return "\(time) \(StatusText.field(json["text"]))" }
    guard let entry = AuditEntry(json: json) else { return "\(time) a record of another version: \(json)" }
    return "\(time) \(AuditSentence.text(of: entry.record))"
  }
}
