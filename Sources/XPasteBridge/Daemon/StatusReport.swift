import BoardStore
import BridgeCore
import Policy
import Selection

/// The JSON shapes of `status`, `clients` and `policy show` (`schemas/status.schema.json`).
enum StatusReport {
  /// The version of these shapes.
  static let schemaVersion = 1

  /// How one selection stands.
  static func selection(_ status: BridgeStatus) -> JSON {
    .object([
      "selection": .string(Label.shortened(status.selection)),
      "state": .string(status.state.rawValue),
      "source": status.source.map(RecordJSON.subject),
      "targets": RecordJSON.targets(status.targets),
      "bytes": .integer(status.bytes),
      "sensitive": .bool(status.isSensitive),
      "reason": status.reason.map(RecordJSON.reason),
      "transfers": .integer(status.transfers),
      "conversions": .integer(status.conversions),
      "rival": status.rival.map(RecordJSON.subject),
      "trigger": status.trigger.map { .string($0.rawValue) },
    ])
  }

  /// How the policy stands, as a whole and by side.
  static func policy(_ policy: PolicyInForce) -> JSON {
    .object([
      "state": .string(policy.standing.rawValue),
      "files": .strings(policy.files.map { Label.shortened($0) }),
      "rules": .integer(policy.ruleCount),
      "enforced": .bool(policy.policy.isEnforced),
      "errors": .strings(policy.errors.map { Label.shortened($0) }),
      "warnings": .strings(policy.warnings.map { Label.shortened($0) }),
      "loads": .integer(policy.loads),
      "source": .string(policy.isNamed ? "named" : "installed"),
      "managed": side(policy.managed),
      "user": side(policy.user),
    ])
  }

  private static func side(_ side: PolicyInForce.Side) -> JSON {
    .object([
      "state": .string(side.standing.rawValue),
      "rules": .integer(side.ruleset.rules.count),
      "enforced": .bool(side.ruleset.isEnforced),
      "digest": .string(side.digest),
      "files": .array(
        side.files.map { .object(["path": .string(Label.shortened($0.path)), "sha256": .string($0.digest)]) }),
      "errors": .strings(side.lastLoad.errors.map { Label.shortened($0) }),
      "changeable": .strings(side.lastLoad.changeable.map { Label.shortened($0) }),
    ])
  }

  /// The audit trail's state.
  static func audit(_ sink: AuditSink) -> JSON {
    .object([
      "journal": .bool(Journal.isPresent),
      "written": .integer(sink.written),
      "refused": .integer(sink.refused),
      "suppressed": .integer(sink.suppressed),
      "file": sink.auditFile.map { file in
        .object([
          "path": .string(Label.shortened(file.path)),
          "failure": file.failure.map { .string($0.reason) },
          "linesLost": .integer(file.linesLost),
        ])
      },
    ])
  }

  /// The X clients.
  static func clients(_ clients: [ClientDescription]) -> JSON {
    .object([
      "schema": .integer(schemaVersion),
      "clients": .array(
        clients.map { client in
          .object(
            [
              JSON.Member("resourceBase", .integer(Int(client.resourceBase))),
              JSON.Member("self", .bool(client.isSelf)),
              JSON.Member("earlier", .bool(client.isEarlier)),
            ]
              + RecordJSON.subject(client.subject).members)
        }),
    ])
  }

  /// Who is behind a window, what may be done there, and how a policy means it.
  static func identity(of window: Window, _ subject: Subject, may: (Action) -> Bool) -> JSON {
    .object(
      [
        JSON.Member("schema", .integer(schemaVersion)), JSON.Member("window", .integer(Int(window.id))),
        JSON.Member(
          "may", .object(Action.byCommand.map { JSON.Member($0.rawValue, .bool(may($0))) })),
        JSON.Member("matcher", .string(Label.shortened(subject.matcherText, to: 1_024))),
      ] + RecordJSON.subject(subject).members)
  }

  /// How what persistent boards are kept in stands.
  static func boardStore(_ standing: BoardStoreStanding) -> JSON {
    switch standing {
    case .unused: .object(["state": .string("unused")])
    case .opening: .object(["state": .string("opening")])
    case .open(let source): .object(["state": .string("open"), "key": .string(source.rawValue)])
    case .failed(let reason): .object(["state": .string("failed"), "reason": .string(Label.shortened(reason))])
    }
  }

  /// The policy in force, part by part, each with where it is written.
  static func overview(_ policy: PolicyInForce) -> JSON {
    let overview = policy.policy.overview
    return .object([
      "schema": .integer(schemaVersion),
      "state": .string(policy.standing.rawValue),
      "files": .strings(policy.files.map { Label.shortened($0) }),
      "rules": entries(overview.rules),
      "groups": entries(overview.groups),
      "boards": entries(overview.boards),
      "settings": entries(overview.settings),
      "limits": .object(
        overview.limits.sorted { $0.key.rawValue < $1.key.rawValue }
          .map { JSON.Member($0.key.rawValue, .integer($0.value)) }),
      "errors": .strings(policy.errors.map { Label.shortened($0) }),
      "warnings": .strings(policy.warnings.map { Label.shortened($0) }),
    ])
  }

  private static func entries(_ entries: [PolicyOverview.Entry]) -> JSON {
    .array(
      entries.map { entry in
        .object([
          "ruleset": .string(entry.side.rawValue),
          "name": .string(Label.shortened(entry.name)),
          "text": .string(Label.shortened(entry.text, to: 4_096)),
          "file": entry.position.map { .string(Label.shortened($0.file)) } ?? .null,
          "line": entry.position.map { .integer($0.line) } ?? .null,
          "column": entry.position.map { .integer($0.column) } ?? .null,
        ])
      })
  }
}
