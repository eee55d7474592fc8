@preconcurrency import CSystemd
@preconcurrency import Glibc

/// sd-journal, one function each.
enum Journal {
  /// Whether a journal listens; `sd_journal_sendv` itself succeeds without one.
  static var isPresent: Bool { Posix.stat("/run/systemd/journal/socket")?.isSocket ?? false }

  /// Sends one entry of `NAME=value` fields; each is one field whatever its value contains.
  static func sendv(_ fields: [(name: String, value: String)]) throws(SystemFailure) {
    try send(fields.map { "\($0.name)=\($0.value)" })
  }

  /// Sends one entry of fields as they are, from any thread.
  nonisolated static func send(_ fields: [String]) throws(SystemFailure) {
    let texts = fields.map { Array($0.utf8) }
    // One stretch of memory that doesn't move while the iovecs point into it.
    let joined = texts.flatMap { $0 }
    let result = joined.withUnsafeBytes { bytes in
      var entries: [iovec] = []
      var offset = 0
      for text in texts {
        // libsystemd only reads through the pointer; iovec has no const form.
        let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress! + offset)
        entries.append(iovec(iov_base: base, iov_len: text.count))
        offset += text.count
      }
      return CSystemd.sd_journal_sendv(entries, Int32(entries.count))
    }
    try SystemFailure.unlessNegative(result, "sd_journal_sendv")
  }
}

/// An open journal, for reading our own records.
final class JournalReader {
  // Only the main thread uses and releases it.
  private nonisolated(unsafe) let pointer: OpaquePointer

  /// Opens this machine's journals; entries of any of `messageIDs` are read, and of that display if one is given.
  init(messageIDs: [String], display: String?) throws(SystemFailure) {
    var opened: OpaquePointer?
    try SystemFailure.unlessNegative(sd_journal_open(&opened, Int32(SD_JOURNAL_LOCAL_ONLY)), "sd_journal_open")
    pointer = opened!
    // Matches of one field are alternatives, those of different fields must all hold.
    for id in messageIDs { try addMatch("MESSAGE_ID=\(id)") }
    if let display { try addMatch("XPB_DISPLAY=\(display)") }
    // Records are shortened when they are written; libsystemd's own threshold must not cut them again.
    sd_journal_set_data_threshold(pointer, 0)
    try SystemFailure.unlessNegative(sd_journal_seek_head(pointer), "sd_journal_seek_head")
  }

  deinit { sd_journal_close(pointer) }

  private func addMatch(_ match: String) throws(SystemFailure) {
    let bytes = Array(match.utf8)
    try SystemFailure.unlessNegative(
      sd_journal_add_match(pointer, bytes, bytes.count), "sd_journal_add_match")
  }

  /// Moves to the next entry; false at the end.
  func next() throws(SystemFailure) -> Bool {
    try SystemFailure.unlessNegative(sd_journal_next(pointer), "sd_journal_next") > 0
  }

  /// The value of the entry's field `name`.
  func field(_ name: String) -> String? {
    var start: UnsafeRawPointer?
    var length = 0
    guard sd_journal_get_data(pointer, name, &start, &length) >= 0, let start else { return nil }
    // Valid until the next call on this journal; copied here.
    let text = String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
    return String(text.dropFirst(name.count + 1))
  }

  /// Waits until something was written, without end.
  func wait() throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_journal_wait(pointer, UInt64.max), "sd_journal_wait")
  }
}
