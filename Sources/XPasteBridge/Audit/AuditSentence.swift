import BridgeCore
import Policy

/// A record in words: what, from where to where, why, and what to do. The journal, `audit` and notices say the same.
enum AuditSentence {
  /// The whole sentence, on one line.
  static func text(of record: AuditRecord) -> String {
    // Of a key that was held back and of a word of the person there is no content.
    let isKey = record.outcome == .refusedByKey || record.kind == .allowOnce
    let action = record.actionName.map { " \(Label.plain($0, to: 64))" } ?? ""
    var text = record.kind.rawValue + action + (isKey ? "" : " of \(what(record))")
    if let source = record.source { text += " from \(name(of: source))" }
    if let destination = record.destination {
      text += "\(record.kind == .action ? " by" : " to") \(name(of: destination))"
    }
    text += " \(outcome(record)): \(why(record.reason))"
    if let failure = record.failure { text += ", \(failure.words)" }
    if let verdict = record.notEnforced { text += ", not enforced: it would be \(verdict)" }
    if !record.leftOut.isEmpty { text += ", without \(targetNames(record.leftOut))" }
    if let limit = record.limit { text += ", limit \(limit.rawValue)" }
    if record.count > 1 { text += ", \(record.count) times" }
    if record.outcome == .emptied, record.selection == "clipboard" {
      // By now the program has deleted what it cut, and from a menu nobody can tell a cut from a copy.
      text += record.kind == .cut ? "; " : "; if it was a cut, "
      text += "undo brings the text back where the program has undo"
    }
    if record.kind == .drag, record.outcome == .refused {
      // Measured: GTK says that it has taken what it was refused, and Qt then deletes what was to be moved.
      text += "; if it was a move, undo brings it back where the program has undo"
    }
    if let message = record.message { text += "; \(Label.plain(message))" }
    if let advice = advice(record) { text += "; \(advice)" }
    return text
  }

  private static func what(_ record: AuditRecord) -> String {
    let subject = record.targets.isEmpty ? "" : targetNames(record.targets) + ", "
    let bytes = "\(record.bytes) byte\(record.bytes == 1 ? "" : "s")"
    return "\(subject)\(bytes) on \(Label.plain(record.selection, to: 64))"
  }

  private static func targetNames(_ names: [String]) -> String {
    let first = names.prefix(3).map { Label.plain($0, to: 64) }.joined(separator: ", ")
    return names.count > 3 ? "\(first) and \(names.count - 3) more" : first
  }

  /// The class with the executable, or whatever is known.
  static func name(of subject: Subject) -> String {
    let label = subject.windowClass ?? subject.instance ?? subject.sandbox ?? subject.unit ?? subject.host
    let place =
      switch subject.origin {
      // An action is decided before its program is started.
      case .local(let process) where process.id == 0: "not started yet"
      case .local(let process): "pid \(process.id)"
      case .remote: "remote"
      case .unknown: "unknown"
      }
    // Of an interpreter, what it runs says more; but that is its own word.
    let files = [subject.executable, subject.script].compactMap { $0 }.map { Label.plain($0.value, to: 256) }
    let executable = files.isEmpty ? nil : files.joined(separator: " running ")
    guard let label else { return executable.map { "\($0) (\(place))" } ?? place }
    return "\(Label.plain(label.value, to: 64)) (\(executable.map { "\($0), " } ?? "")\(place))"
  }

  private static func outcome(_ record: AuditRecord) -> String {
    switch record.outcome {
    case .kept: "kept"
    case .keptInPart: "kept in part"
    case .served: record.verdict == .ask ? "served, since the person allowed it once" : "served"
    case .replaced: "answered with the replacement text"
    case .refused: record.verdict == .ask ? "refused until allowed" : "refused"
    case .refusedByKey: "held back at the key"
    case .emptied: "refused, the selection is empty"
    case .left: "left with its owner"
    case .incomplete: "not completed"
    case .dropped: record.kind == .allowOnce ? "ended without a paste" : "dropped"
    case .failed: "gave nothing"
    case .granted: "allowed by the person"
    }
  }

  /// Which rule or default decided, with its place: the words of `policy explain`.
  static func why(_ reason: Reason) -> String { Label.plain(reason.description, to: 1_024) }

  private static func advice(_ record: AuditRecord) -> String? {
    guard record.verdict != .allow else { return nil }
    guard !record.reason.isBehind(.lockdown) else { return "`xpastebridge lockdown off` lifts it" }
    guard !record.reason.isBehind(.locked) else { return "repair the files that `xpastebridge status` names" }
    return "why: xpastebridge policy explain" + explainArguments(record)
  }

  /// The arguments with which `policy explain` answers for this very record.
  private static func explainArguments(_ record: AuditRecord) -> String {
    var arguments = ""
    // A paste that was held back at the key has no source: not even an app's own clip may be pasted.
    if let source = record.source ?? record.destination { arguments += " --from \(quoted(source.summary))" }
    if let destination = record.destination {
      arguments += " --to \(quoted(destination.summary)) --action \(record.kind == .drag ? "drag" : "paste")"
    } else {
      arguments += " --action \(record.kind == .cut ? "cut" : "copy")"
    }
    if record.selection != "clipboard", record.kind != .drag { arguments += " --selection \(quoted(record.selection))" }
    if let target = record.targets.first { arguments += " --target \(quoted(target)) --size \(record.bytes)" }
    return arguments
  }

  /// One word of a shell.
  private static func quoted(_ word: String) -> String {
    let parts = Label.plain(word, to: 1_024).split(separator: "'", omittingEmptySubsequences: false)
    return "'" + parts.joined(separator: "'\\''") + "'"
  }
}

extension Reason {
  /// Whether `cause` is behind it, at the paste or already at the copy.
  fileprivate func isBehind(_ cause: Reason) -> Bool {
    switch self {
    case .outsideAudience(let inner), .couldBe(let inner): inner.isBehind(cause)
    case .rule, .fileDefault, .builtInDefault, .sameApp, .locked, .lockdown: self == cause
    }
  }
}
