import Policy

/// Reads one entry of `rules:`.
struct RuleReader {
  let fields: Fields
  var matchers: MatcherReader
  private(set) var boardUses: [NameUse] = []
  /// The names of all rules read so far, those with errors in them too.
  private(set) var names: [NameUse] = []

  init(fields: Fields) {
    self.fields = fields
    matchers = MatcherReader(fields: fields)
  }

  static let conditionKeys = ["name"] + Condition.Key.allCases.map(\.rawValue) + ["decision"]
  static let termKeys = [
    "only-targets", "plain-text", "max-size", "expires", "one-shot", "board", "replace-with", "notify", "audit",
    "message", "protect",
  ]
  private static let keys = conditionKeys + termKeys
  private static let narrowing = ["only-targets", "plain-text", "max-size", "expires", "one-shot", "board"]

  mutating func rule(_ node: Node, number: Int) -> Rule? {
    let errors = fields.report.errors.count
    guard let entries = fields.mapping(node, in: "a rule", keys: RuleReader.keys) else { return nil }
    let name = entries["name"].flatMap { fields.line($0, "a text for `name`", upTo: 200) } ?? "rule \(number)"
    names.append(NameUse(name: name, position: node.position))
    let decision = verdict(entries["decision"], node)
    var rule = Rule(RuleReference(name: name, position: node.position), verdict: decision ?? .deny)
    // Read without a decision too: what it names is used, and its other errors are errors.
    readConditions(entries, into: &rule)
    readTerms(entries, into: &rule)
    guard decision != nil else { return nil }
    judgeParties(rule, entries)
    judgeActions(rule, entries)
    judgeTerms(rule, entries)
    // A rule that was read in part is wider than it was meant: judging it beside others would only confuse.
    return fields.report.errors.count == errors ? rule : nil
  }

  private func verdict(_ node: Node?, _ rule: Node) -> Verdict? {
    guard let node else {
      fields.report.error(.missingKey, at: rule.position, "expected `decision` in a rule, found none")
      return nil
    }
    return fields.word(node, "a decision", of: Verdict.self)
  }

  private mutating func readConditions(_ entries: Entries, into rule: inout Rule) {
    for key in Condition.Key.allCases {
      if let node = entries[key.rawValue] { rule[key] = condition(key, node) }
    }
  }

  private mutating func condition(_ key: Condition.Key, _ node: Node) -> Condition? {
    switch key {
    case .from: matchers.matcher(node, key.rawValue).map { .from($0) }
    case .to: matchers.matcher(node, key.rawValue).map { .to($0) }
    case .apps: matchers.matcher(node, key.rawValue).map { .apps($0) }
    case .actions:
      .actions(Set(fields.list(node, of: "`actions`").compactMap { fields.word($0, "an action", of: Action.self) }))
    case .selection: .selection(selections(node))
    case .targets: fields.targets(node, key.rawValue).map { .targets($0) }
    case .size: sizes(node).map { .size($0) }
    case .sensitive: fields.boolean(node, key.rawValue).map { .sensitive($0) }
    case .sameApp: fields.boolean(node, key.rawValue) == true ? .sameApp : nil
    }
  }

  private mutating func selections(_ node: Node) -> [String] {
    fields.list(node, of: "`selection`").compactMap { item in
      guard let name = fields.line(item, "`clipboard`, `primary`, `secondary` or a board for `selection`") else {
        return nil
      }
      if !BoardReader.selections.contains(name) {
        boardUses.append(NameUse(name: name, position: item.position))
      }
      return name
    }
  }

  private func sizes(_ node: Node) -> SizeRange? {
    guard let entries = fields.mapping(node, in: "`size`", keys: ["over", "up-to"]) else { return nil }
    guard !entries.isEmpty else {
      fields.report.error(.emptyList, at: node.position, "expected `over` or `up-to`, found an empty mapping")
      return nil
    }
    let range = SizeRange(
      over: entries["over"].flatMap { fields.size($0, "over", in: 0...1 << 50) },
      upTo: entries["up-to"].flatMap { fields.size($0, "up-to", in: 0...1 << 50) })
    if let over = range.over, let upTo = range.upTo, over >= upTo {
      fields.report.error(
        .neverMatches, at: node.position, "expected `over` below `up-to`, found \(over) and \(upTo)")
      return nil
    }
    return range
  }

  private mutating func readTerms(_ entries: Entries, into rule: inout Rule) {
    guard entries.hasAny(of: RuleReader.termKeys) else { return }
    var terms = Obligations()
    terms.targets = entries["only-targets"].flatMap { fields.targets($0, "only-targets") }
    terms.plainText = entries["plain-text"].flatMap { fields.boolean($0, "plain-text") } ?? false
    terms.maxSize = entries["max-size"].flatMap { fields.size($0, "max-size", in: 1...1 << 50) }
    terms.expiresAfterSeconds = entries["expires"].flatMap { fields.seconds($0, "expires") }
    terms.oneShot = entries["one-shot"].flatMap { fields.boolean($0, "one-shot") } ?? false
    if let node = entries["board"], let name = fields.line(node, "a board for `board`") {
      boardUses.append(NameUse(name: name, position: node.position))
      terms.board = name
    }
    terms.replacement = entries["replace-with"].flatMap { fields.text($0, "a text for `replace-with`") }
    terms.notify = entries["notify"].flatMap { fields.boolean($0, "notify") }
    terms.audit = entries["audit"].flatMap { fields.boolean($0, "audit") }
    terms.message = entries["message"].flatMap { fields.line($0, "a text for `message`") }
    terms.protect = entries["protect"].flatMap { fields.boolean($0, "protect") } ?? false
    rule.obligations = terms
  }

  // MARK: - What goes together

  private func judgeParties(_ rule: Rule, _ entries: Entries) {
    guard let apps = entries["apps"], let other = ["from", "to"].first(where: { entries[$0] != nil }) else { return }
    fields.report.error(
      .conflictingKeys, at: apps.position, "expected `apps` alone, found `\(other)` beside it",
      hint: "`apps` means `from` for copy, cut and drag and `to` for paste")
  }

  private func judgeActions(_ rule: Rule, _ entries: Entries) {
    let report = fields.report
    if let actions = rule.actions, let node = entries["actions"], entries["decision"] != nil {
      for action in Action.allCases where actions.contains(action) && !rule.decides(action) {
        let cause = rule.to != nil && !action.hasDestination ? "`to`" : "`\(rule.verdict)`"
        report.error(
          .neverMatches, at: node.position, "expected actions that \(cause) can have, found `\(action.rawValue)`",
          hint: hint(for: action, in: rule))
      }
    } else if rule.verdict == .private, let to = entries["to"] {
      report.error(
        .neverMatches, at: to.position, "expected no `to` in a rule that decides `private`, found one",
        hint: "a paste can't be private; use `from` or `apps`")
    }
    if rule.actions?.contains(.drag) ?? false, let node = entries["selection"] {
      report.error(
        .conflictingKeys, at: node.position, "expected no `selection` in a rule about drags, found one",
        hint: "a drag is on none that has a name; write a rule of its own for drags")
    }
    if rule.includesSameApp, let node = entries["same-app"], !rule.decides(.paste) {
      report.error(
        .neverMatches, at: node.position, "expected a rule about pastes for `same-app`, found one without")
    }
  }

  private func hint(for action: Action, in rule: Rule) -> String {
    switch (action, rule.verdict) {
    case (.drag, _): "a drag is allowed or denied"
    case (.paste, .private): "`private` is for copy and cut"
    default: "only a paste has that"
    }
  }

  private func judgeTerms(_ rule: Rule, _ entries: Entries) {
    guard entries.hasAny(of: RuleReader.termKeys) else { return }
    let copies = rule.decides(.copy) || rule.decides(.cut)
    for key in RuleReader.termKeys {
      guard let node = entries[key] else { continue }
      var cause: String?
      switch (key, rule.verdict) {
      case (_, .deny) where RuleReader.narrowing.contains(key), (_, .ask) where RuleReader.narrowing.contains(key):
        cause = "that lets content move"
      case ("replace-with", .allow): cause = "that refuses"
      case ("expires", _) where rule.decidedActions == [.drag], ("one-shot", _) where rule.decidedActions == [.drag]:
        cause = "about copy, cut or paste"
      case ("board", _) where !copies, ("protect", _) where !copies: cause = "about copy or cut"
      default: break
      }
      guard let cause else { continue }
      fields.report.error(
        .conflictingKeys, at: node.position, "expected `\(key)` in a rule \(cause), found it with `\(rule.verdict)`",
        hint: "remove `\(key)`")
    }
  }
}
