import BridgeCore
import ContentActions
import Policy

/// Reads records back, for `audit`.
extension AuditEntry {
  /// The record that `json` writes; `nil` when it is none of this version.
  init?(json: JSON) {
    guard json["schema"]?.number == Self.schemaVersion,
      let kind = json["action"]?.text.flatMap(AuditRecord.Kind.init),
      let selection = json["selection"]?.text,
      let verdict = json["decision"]?.text.flatMap(Verdict.init),
      let reason = json["reason"].flatMap({ RecordJSON.reason(reading: $0) }),
      let outcome = json["outcome"]?.text.flatMap(AuditRecord.Outcome.init)
    else { return nil }
    record = AuditRecord(
      kind: kind, selection: selection, source: json["source"].flatMap { RecordJSON.subject(reading: $0) },
      destination: json["destination"].flatMap { RecordJSON.subject(reading: $0) },
      targets: (json["targets"]?.elements ?? []).compactMap(\.text), bytes: json["bytes"]?.number ?? 0,
      verdict: verdict, reason: reason, outcome: outcome,
      limit: json["limit"]?.text.flatMap(AuditRecord.Limit.init), count: json["count"]?.number ?? 1,
      actionName: json["name"]?.text,
      message: json["message"]?.text)
    record.failure = json["failure"]?.text.flatMap(ActionFailure.init)
    record.notEnforced = json["notEnforced"]?.text.flatMap(Verdict.init)
    milliseconds = 0
    display = json["display"]?.text ?? ""
  }
}

extension RecordJSON {
  /// The subject that `json` describes.
  static func subject(reading json: JSON) -> Subject? {
    let origin: Origin
    switch json["origin"]?.text {
    case "local":
      guard let pid = json["pid"]?.number, let start = json["startTime"]?.number else { return nil }
      origin = .local(ProcessIdentity(id: Int32(clamping: pid), startTime: UInt64(clamping: start)))
    case "remote": origin = .remote
    case "unknown": origin = .unknown
    default: return nil
    }
    var subject = Subject(origin: origin)
    for name in FactName.allCases {
      guard let fact = json[name.rawValue], let value = fact["value"]?.text,
        let evidence = fact["evidence"]?.text.flatMap(Evidence.init)
      else { continue }
      subject[name] = Fact(value, evidence)
    }
    subject.unsure = Set((json["unsure"]?.elements ?? []).compactMap { $0.text.flatMap(FactName.init) })
    subject.candidates = (json["candidates"]?.elements ?? []).compactMap { self.subject(reading: $0) }
    return subject
  }

  /// The reason that `json` describes.
  static func reason(reading json: JSON) -> Reason? {
    func position() -> SourcePosition? {
      guard let file = json["file"]?.text, let line = json["line"]?.number, let column = json["column"]?.number
      else { return nil }
      return SourcePosition(file: file, line: line, column: column)
    }
    switch json["kind"]?.text {
    case "rule":
      guard let name = json["rule"]?.text, let position = position() else { return nil }
      return .rule(RuleReference(name: name, position: position))
    case "file-default": return position().map(Reason.fileDefault)
    case "built-in-default": return .builtInDefault
    case "same-app": return .sameApp
    case "outside-audience": return json["copied"].flatMap { reason(reading: $0) }.map { .outsideAudience($0) }
    case "could-be": return json["reason"].flatMap { reason(reading: $0) }.map { .couldBe($0) }
    case "locked": return .locked
    case "lockdown": return .lockdown
    default: return nil
    }
  }
}
