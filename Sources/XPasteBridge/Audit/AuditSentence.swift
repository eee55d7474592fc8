import BridgeCore
import Policy

/// A record in words: what, from where to where, why, and what to do. The journal, `audit` and notices say the same.
enum AuditSentence {
  /// The whole sentence, on one line.
  static func text(of record: AuditRecord) -> String {
    var text = "\(record.kind.rawValue) of \(what(record))"
    if let source = record.source { text += " from \(name(of: source))" }
    if let destination = record.destination { text += " to \(name(of: destination))" }
    text += " \(outcome(record)): \(why(record.reason))"
    if let limit = record.limit { text += ", limit \(limit.rawValue)" }
    if record.count > 1 { text += ", \(record.count) times" }
    if let message = record.message { text += "; \(Label.plain(message))" }
    if let advice = advice(record) { text += "; \(advice)" }
    return text
  }

  private static func what(_ record: AuditRecord) -> String {
    let targets = record.targets.prefix(3).map { Label.plain($0, to: 64) }.joined(separator: ", ")
    let more = record.targets.count > 3 ? " and \(record.targets.count - 3) more" : ""
    let subject = targets.isEmpty ? "" : targets + more + ", "
    return "\(subject)\(record.bytes) bytes on \(Label.plain(record.selection, to: 64))"
  }

  /// The class with the executable, or whatever is known.
  static func name(of subject: Subject) -> String {
    let label = subject.windowClass ?? subject.instance ?? subject.sandbox ?? subject.unit ?? subject.host
    let place =
      switch subject.origin {
      case .local(let process): "pid \(process.id)"
      case .remote: "remote"
      case .unknown: "unknown"
      }
    let executable = subject.executable.map { Label.plain($0.value, to: 256) }
    guard let label else { return executable.map { "\($0) (\(place))" } ?? place }
    return "\(Label.plain(label.value, to: 64)) (\(executable.map { "\($0), " } ?? "")\(place))"
  }

  private static func outcome(_ record: AuditRecord) -> String {
    switch record.outcome {
    case .kept: "kept"
    case .keptInPart: "kept in part"
    case .served: "served"
    case .replaced: "answered with the replacement text"
    case .refused: record.verdict == .ask ? "refused until allowed" : "refused"
    case .emptied: "refused, the selection is empty"
    case .left: "left with its owner"
    case .incomplete: "not completed"
    case .dropped: "dropped"
    }
  }

  /// Which rule or default decided, with its place.
  static func why(_ reason: Reason) -> String {
    switch reason {
    case .rule(let rule):
      "rule `\(Label.plain(rule.name, to: 128))` at \(Label.plain(rule.position.description))"
    case .fileDefault(let position): "default at \(Label.plain(position.description))"
    case .builtInDefault: "no rule says otherwise"
    case .sameApp: "same app"
    case .outsideAudience(let copied): "the clip is private, copied under \(why(copied))"
    case .locked: "the policy files have errors"
    }
  }

  private static func advice(_ record: AuditRecord) -> String? {
    guard record.verdict != .allow, record.message == nil else { return nil }
    if case .locked = record.reason { return "repair the files that `xpastebridge status` names" }
    return "`xpastebridge policy explain` shows every rule that was tried"
  }
}
