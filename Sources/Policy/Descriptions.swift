extension RuleReference: CustomStringConvertible {
  /// `rule `name` at file:line:column`
  public var description: String { "rule `\(name)` at \(position)" }
}

extension Reason: CustomStringConvertible {
  /// One line, the same in the log, the audit trail and explanations.
  public var description: String {
    switch self {
    case .rule(let reference): "\(reference)"
    case .fileDefault(let position): "the default at \(position)"
    case .builtInDefault: "nothing that says otherwise"
    case .sameApp: "an app's right to its own clip"
    case .outsideAudience(let copy): "the clip's audience, set by \(copy)"
    case .couldBe(let reason): "\(reason), which could be about an app that isn't known for certain"
    case .locked: "the lock, since the policy files have errors"
    case .lockdown: "the lockdown that somebody has set"
    }
  }
}

extension Obligations: CustomStringConvertible {
  /// What is demanded, in the words of the policy files; empty for nothing. Replacement text isn't shown.
  public var description: String {
    var words: [String] = []
    if let targets { words.append("only-targets: \(targets.map(\.description).joined(separator: ", "))") }
    if plainText { words.append("plain-text") }
    if let maxSize { words.append("max-size: \(maxSize)") }
    if let expiresAfterSeconds { words.append("expires: \(expiresAfterSeconds)s") }
    if oneShot { words.append("one-shot") }
    if let board { words.append("board: \(board)") }
    if isAppAlone { words.append("for the app alone") }
    if replacement != nil { words.append("replace-with") }
    if let notify { words.append("notify: \(notify)") }
    if let audit { words.append("audit: \(audit)") }
    if protect { words.append("protect") }
    if let notEnforced { words.append("not enforced: \(notEnforced)") }
    if let message { words.append("message: \(message)") }
    return words.joined(separator: "; ")
  }
}

extension Decision: CustomStringConvertible {
  /// Verdict, reason and terms in one line.
  public var description: String {
    let terms = obligations.description
    return "\(verdict), by \(reason)" + (terms.isEmpty ? "" : "; on these terms: \(terms)")
  }
}

extension Evaluation: CustomStringConvertible {
  /// The decision in one line, or that it depends on the content.
  public var description: String {
    switch self {
    case .decided(let decision): "\(decision)"
    case .needsContent: "depends on the content: give target and size"
    }
  }
}

extension Subject {
  /// The facts as `policy explain` takes them. A comma of a value has a backslash before it, and so has a backslash: a
  /// class may hold `,exe=`. What isn't known for certain is a question mark.
  public var summary: String {
    let place =
      switch origin {
      case .unknown: ["unknown"]
      case .remote: ["remote"]
      case .local: [String]()
      }
    let facts = FactName.allCases.compactMap { name -> String? in
      switch knowledge(of: name) {
      case .absent: return nil
      case .unknown: return origin == .unknown ? nil : "\(name.rawValue)=?"
      case .known(let value):
        let escaped = value.unicodeScalars.map { $0 == "," || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
        return "\(name.rawValue)=\(escaped)"
      }
    }
    let words = place + facts
    return words.isEmpty ? "local app without facts" : words.joined(separator: ",")
  }
}

extension Request {
  /// What is asked, in one line.
  public var summary: String {
    var line = action == .drag ? "drag" : "\(action.rawValue) on \(selection)"
    line += " from \(source.summary)"
    if action.hasDestination { line += " to \((destination ?? .unknown).summary)" }
    if let content { line += ": \(content.target), \(content.size) bytes" + (content.isSensitive ? ", secret" : "") }
    return line
  }
}

extension Rule: CustomStringConvertible {
  /// Conditions and decision in one line.
  public var description: String {
    let terms = obligations.description
    let words = conditions.isEmpty ? "everything" : conditions.map(\.description).joined(separator: "; ")
    return words + " → \(verdict)"
      + (terms.isEmpty ? "" : "; \(terms)") + (isEnforced ? "" : " (recorded, not enforced)")
  }
}
