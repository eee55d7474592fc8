import Policy

/// Reads one row of `expect:`.
struct ExpectationReader {
  let fields: Fields

  func row(_ node: Node) -> Expectation? {
    let keys = ["from", "to", "action", "selection", "target", "size", "sensitive", "decision"]
    guard let entries = fields.mapping(node, in: "an expectation", keys: keys) else { return nil }
    for key in ["from", "decision"] where entries[key] == nil {
      fields.report.error(.missingKey, at: node.position, "expected `\(key)` in an expectation, found none")
    }
    guard let decision = entries["decision"], let verdict = fields.word(decision, "a decision", of: Verdict.self),
      let from = entries["from"], let source = subject(from, "from", process: 1)
    else { return nil }
    let errors = fields.report.errors.count
    let destination = entries["to"].flatMap { subject($0, "to", process: 2) }
    let action =
      entries["action"].map { fields.word($0, "an action", of: Action.self) } ?? (destination == nil ? .copy : .paste)
    guard let action, fields.report.errors.count == errors, partiesFit(action, entries, node) else { return nil }
    let selection = entries["selection"].flatMap { fields.line($0, "a selection for `selection`") } ?? "clipboard"
    let content = content(entries)
    guard fields.report.errors.count == errors else { return nil }
    let request = Request(
      action: action, source: source, destination: destination, selection: selection, content: content)
    return Expectation(position: node.position, request: request, verdict: verdict)
  }

  private func partiesFit(_ action: Action, _ entries: Entries, _ node: Node) -> Bool {
    if action.hasDestination, entries["to"] == nil {
      fields.report.error(
        .missingKey, at: node.position, "expected `to` in an expectation of a \(action.rawValue), found none")
      return false
    }
    if !action.hasDestination, let to = entries["to"] {
      fields.report.error(
        .conflictingKeys, at: to.position, "expected no `to` beside `\(action.rawValue)`, found one")
      return false
    }
    return true
  }

  /// What the row says of the content; a target alone stands for an empty representation.
  private func content(_ entries: Entries) -> ContentFacts? {
    let target = entries["target"].flatMap { fields.line($0, "a target for `target`") }
    let size = entries["size"].flatMap { fields.size($0, "size", in: 0...1 << 50) }
    let isSensitive = entries["sensitive"].flatMap { fields.boolean($0, "sensitive") }
    guard target != nil || size != nil || isSensitive != nil else { return nil }
    return ContentFacts(target: target ?? "UTF8_STRING", size: size ?? 0, isSensitive: isSensitive ?? false)
  }

  /// An app as the row describes it: its words are taken literally, what the kernel attests as attested.
  private func subject(_ node: Node, _ key: String, process: Int32) -> Subject? {
    if case .scalar("unknown", _) = node.value { return .unknown }
    guard case .mapping = node.value else {
      fields.wrongType(node, expected: "`unknown` or a mapping of facts for `\(key)`")
      return nil
    }
    let keys = MatcherReader.factKeys + ["remote"]
    guard let entries = fields.mapping(node, in: "an app in `\(key)`", keys: keys) else { return nil }
    var subject = Subject(origin: .local(ProcessIdentity(id: process, startTime: 0)))
    if let remote = entries["remote"], fields.boolean(remote, "remote") == true { subject.origin = .remote }
    for name in FactName.allCases {
      guard let value = entries[name.rawValue].flatMap({ fields.line($0, "a text for `\(name.rawValue)`") }) else {
        continue
      }
      // A question mark is for what the app has, and nobody knows.
      if value == "?", name.bestEvidence == .attested {
        subject.unsure.insert(name)
      } else {
        subject[name] = Fact(value, name.bestEvidence)
      }
    }
    return subject
  }
}
