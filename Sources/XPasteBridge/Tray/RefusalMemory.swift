import BridgeCore
import Policy
import Tray

/// The last refusals, those that are alike as one. Records hold no content, so neither does this.
struct RefusalMemory {
  /// A refusal, and how often it was met.
  struct Entry {
    /// What happened the last time.
    var record: AuditRecord
    /// How often.
    var count: Int
    /// When, the last time, in milliseconds after 1970-01-01 UTC.
    var milliseconds: Int
  }

  /// The newest first, as many as the menu shows.
  private(set) var entries: [Entry] = []

  /// Takes one more.
  mutating func note(_ record: AuditRecord, milliseconds: Int) {
    var entry = Entry(record: record, count: record.count, milliseconds: milliseconds)
    if let index = entries.firstIndex(where: { Self.isAlike($0.record, record) }) {
      entry.count += entries.remove(at: index).count
    }
    entries.insert(entry, at: 0)
    if entries.count > TrayMenu.refusalLimit { entries.removeLast() }
  }

  private static func isAlike(_ one: AuditRecord, _ other: AuditRecord) -> Bool {
    TrayFacts.action(of: one) == TrayFacts.action(of: other) && one.source == other.source
      && one.destination == other.destination && one.reason == other.reason
  }
}
