import BridgeCore
import Policy

/// A record with its time and display: what is written down.
struct AuditEntry: Hashable {
  /// The version of the JSON shape (`schemas/audit.schema.json`).
  static let schemaVersion = 1
  /// Targets named in one record (our choice: more don't help anybody, the count is kept).
  static let namedTargets = 64

  /// What happened.
  var record: AuditRecord
  /// When, in milliseconds after 1970-01-01 UTC.
  var milliseconds: Int
  /// On which display.
  var display: String

  /// The record as one JSON object.
  var json: JSON {
    .object([
      "schema": .integer(Self.schemaVersion),
      "time": .string(UTCTime.text(milliseconds: milliseconds)),
      "display": .string(Label.shortened(display)),
      "action": .string(record.kind.rawValue),
      "selection": .string(Label.shortened(record.selection)),
      "source": record.source.map(RecordJSON.subject),
      "destination": record.destination.map(RecordJSON.subject),
      "targets": RecordJSON.targets(record.targets),
      "leftOut": record.leftOut.isEmpty ? nil : RecordJSON.targets(record.leftOut),
      "targetsOmitted": record.targets.count > Self.namedTargets
        ? .integer(record.targets.count - Self.namedTargets) : nil,
      "bytes": .integer(record.bytes),
      "decision": .string(record.verdict.rawValue),
      "notEnforced": record.notEnforced.map { .string($0.rawValue) },
      "reason": RecordJSON.reason(record.reason),
      "outcome": .string(record.outcome.rawValue),
      "name": record.actionName.map { .string(Label.shortened($0)) },
      "failure": record.failure.map { .string($0.rawValue) },
      "limit": record.limit.map { .string($0.rawValue) },
      "count": .integer(record.count),
      "message": record.message.map { .string(Label.shortened($0)) },
    ])
  }
}

/// The shapes that audit records, `status` and `clients` share.
enum RecordJSON {
  /// Candidates of a subject that are written down. Our choice: more programs that fork are rare, and a record stays short.
  private static let candidates = 8

  /// A subject: where it runs, each known fact with its evidence, which facts aren't known, and which apps it may be.
  static func subject(_ subject: Subject) -> JSON {
    var members: [JSON.Member] = []
    switch subject.origin {
    case .local(let process):
      members.append(JSON.Member("origin", .string("local")))
      members.append(JSON.Member("pid", .integer(Int(process.id))))
      members.append(JSON.Member("startTime", .integer(Int(clamping: process.startTime))))
    case .remote: members.append(JSON.Member("origin", .string("remote")))
    case .unknown: members.append(JSON.Member("origin", .string("unknown")))
    }
    for (name, fact) in subject.facts {
      let value: [JSON.Member] = [
        JSON.Member("value", .string(Label.shortened(fact.value))),
        JSON.Member("evidence", .string(fact.evidence.rawValue)),
      ]
      members.append(JSON.Member(name.rawValue, .object(value)))
    }
    if !subject.unsure.isEmpty {
      let names = FactName.allCases.filter(subject.unsure.contains).map(\.rawValue)
      members.append(JSON.Member("unsure", .strings(names)))
    }
    if !subject.candidates.isEmpty {
      // Candidates are one app each.
      members.append(JSON.Member("candidates", .array(subject.candidates.prefix(candidates).map(self.subject))))
    }
    return .object(members)
  }

  /// The first target names.
  static func targets(_ targets: [String]) -> JSON {
    .strings(targets.prefix(AuditEntry.namedTargets).map { Label.shortened($0, to: 128) })
  }

  /// Why something was decided.
  static func reason(_ reason: Reason) -> JSON {
    switch reason {
    case .rule(let rule):
      .object([
        "kind": .string("rule"), "rule": .string(Label.shortened(rule.name)),
        "file": .string(Label.shortened(rule.position.file)), "line": .integer(rule.position.line),
        "column": .integer(rule.position.column),
      ])
    case .fileDefault(let position):
      .object([
        "kind": .string("file-default"), "file": .string(Label.shortened(position.file)),
        "line": .integer(position.line), "column": .integer(position.column),
      ])
    case .builtInDefault: .object(["kind": .string("built-in-default")])
    case .sameApp: .object(["kind": .string("same-app")])
    case .outsideAudience(let copied): .object(["kind": .string("outside-audience"), "copied": self.reason(copied)])
    case .couldBe(let reason): .object(["kind": .string("could-be"), "reason": self.reason(reason)])
    case .locked: .object(["kind": .string("locked")])
    case .lockdown: .object(["kind": .string("lockdown")])
    }
  }
}

/// The wall clock's time as text.
enum UTCTime {
  /// RFC 3339 with milliseconds, in UTC.
  static func text(milliseconds: Int) -> String {
    let days = Int((Double(milliseconds) / 86_400_000).rounded(.down))
    let rest = milliseconds - days * 86_400_000
    let (year, month, day) = civil(days)
    let date = "\(year)-\(padded(month, 2))-\(padded(day, 2))"
    let time = "\(padded(rest / 3_600_000, 2)):\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1_000 % 60, 2))"
    return "\(date)T\(time).\(padded(rest % 1_000, 3))Z"
  }

  /// The Gregorian date `days` after 1970-01-01, counted in 400-year cycles that begin on a first of March.
  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let cycle = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfCycle = shifted - cycle * 146_097
    let yearOfCycle = (dayOfCycle - dayOfCycle / 1_460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
    let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
