import BridgeCore
import Policy

/// The kinds of journal entries: each has a MESSAGE_ID that never changes, so that fleets can filter by it.
enum JournalKind: String, CaseIterable {
  case copy = "d419b17d936f4b9297b551923fda67e3"
  case cut = "01eb818a731443b9aaf53e2102457513"
  case paste = "9b78f828895f4c8c9f63189055a3d93f"
  case drag = "19290ade84814c15a284dbd1625e45fd"
  case list = "b0fbb40e5e7c47de9da32e93e4927b4b"
  case clear = "fae887faaa23426995b6e4db2dee05a6"
  case expire = "89205856c7614ed3a29d7f99c7d488de"
  case action = "76092bdde819416ea8a5141cd7fb1475"
  case allowOnce = "da6874ce62be46c89b4113def4fff64f"
  case suppressed = "5853d346f1174159ac38a41a124d0ea0"
  case daemonStarted = "1dc9972daf3f4c7696c71f5b44ee98b4"
  case daemonEnded = "b02321b76caf4dfc9d586fc5582283c5"
  case policyLoaded = "1cea8ac10f1e45babde834fb3f73fcda"
  case policyError = "10ffed03a33e4b89818ce2613db137c9"
  case inputFreed = "ca36468b80d84f7197790aef216830db"
  case notice = "669d6737dec04eea8b0ccdb2e8ec418a"

  /// The kind of an audit record.
  init(_ kind: AuditRecord.Kind) {
    switch kind {
    case .copy: self = .copy
    case .cut: self = .cut
    case .paste: self = .paste
    case .drag: self = .drag
    case .list: self = .list
    case .clear: self = .clear
    case .expire: self = .expire
    case .action: self = .action
    case .allowOnce: self = .allowOnce
    }
  }

  /// The kinds that are records, with the field XPB_RECORD.
  static var records: [JournalKind] {
    AuditRecord.Kind.allCases.map(JournalKind.init) + [.suppressed, .daemonStarted, .daemonEnded, .policyLoaded]
  }
}

/// syslog(3)'s priorities that we use.
enum Priority: Int {
  case error = 3
  case warning = 4
  case notice = 5
  case information = 6
}

/// The journal fields of a record.
enum JournalEntry {
  typealias Field = (name: String, value: String)

  /// All fields; `XPB_RECORD` holds the whole record as in the audit file, so that `audit` shows the same from either.
  static func fields(of entry: AuditEntry) -> [Field] {
    let record = entry.record
    var fields: [Field] = [
      ("MESSAGE", AuditSentence.text(of: record)),
      ("MESSAGE_ID", JournalKind(record.kind).rawValue),
      ("PRIORITY", String(priority(of: record).rawValue)),
      ("SYSLOG_IDENTIFIER", "xpastebridge"),
      ("XPB_DISPLAY", Label.shortened(entry.display)),
      ("XPB_ACTION", record.kind.rawValue),
      ("XPB_SELECTION", Label.shortened(record.selection)),
      ("XPB_BYTES", String(record.bytes)),
      ("XPB_DECISION", record.verdict.rawValue),
      ("XPB_OUTCOME", record.outcome.rawValue),
      ("XPB_COUNT", String(record.count)),
    ]
    if let source = record.source { fields += Self.fields(of: source, "XPB_SOURCE_") }
    if let destination = record.destination { fields += Self.fields(of: destination, "XPB_DEST_") }
    if !record.targets.isEmpty {
      let names = record.targets.prefix(AuditEntry.namedTargets).map { Label.shortened($0, to: 128) }
      fields.append(("XPB_TARGETS", names.joined(separator: " ")))
    }
    if let name = record.actionName { fields.append(("XPB_ACTION_NAME", Label.shortened(name))) }
    if let failure = record.failure { fields.append(("XPB_FAILURE", failure.rawValue)) }
    if let verdict = record.notEnforced { fields.append(("XPB_NOT_ENFORCED", verdict.rawValue)) }
    if let limit = record.limit { fields.append(("XPB_LIMIT", limit.rawValue)) }
    fields += Self.fields(of: record.reason)
    fields.append(("XPB_RECORD", entry.json.description))
    return fields
  }

  /// Who `subject` is, each field's name begun with `prefix`.
  static func fields(of subject: Subject, _ prefix: String) -> [Field] {
    let facts = subject.facts
    var fields: [Field] = facts.map { (prefix + $0.name.rawValue.uppercased(), Label.shortened($0.fact.value)) }
    if case .local(let process) = subject.origin { fields.append((prefix + "PID", String(process.id))) }
    let evidence = facts.map { "\($0.name.rawValue)=\($0.fact.evidence.rawValue)" }.joined(separator: " ")
    fields.append((prefix + "EVIDENCE", evidence.isEmpty ? "none" : evidence))
    return fields
  }

  private static func fields(of reason: Reason) -> [Field] {
    switch reason {
    case .rule(let rule):
      [("XPB_RULE", Label.shortened(rule.name))] + fields(of: rule.position)
    case .fileDefault(let position): [("XPB_RULE", "default")] + fields(of: position)
    case .builtInDefault: [("XPB_RULE", "built-in default")]
    case .sameApp: [("XPB_RULE", "same app")]
    case .outsideAudience(let copied): fields(of: copied) + [("XPB_AUDIENCE", "outside")]
    case .couldBe(let reason): fields(of: reason) + [("XPB_CERTAINTY", "could-be")]
    case .locked: [("XPB_RULE", "locked")]
    case .lockdown: [("XPB_RULE", "lockdown")]
    }
  }

  private static func fields(of position: SourcePosition) -> [Field] {
    [("XPB_RULE_FILE", Label.shortened(position.file)), ("XPB_RULE_LINE", String(position.line))]
  }

  private static func priority(of record: AuditRecord) -> Priority {
    record.verdict == .allow && record.limit == nil && record.failure == nil ? .information : .notice
  }
}
