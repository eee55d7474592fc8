import Policy

/// What one policy file says, before it is put together with others.
struct FileContent {
  var path: String
  /// Names of groups and boards, those with errors in them too.
  var groupNames: [String] = []
  var boardNames: [String] = []
  var groups: [Group] = []
  var boards: [BoardPolicy] = []
  var rules: [Rule] = []
  var keys: [KeyAssignment] = []
  var defaultDecision: DefaultDecision?
  var limits: [LimitSetting] = []
  var clipboard: SelectionGuard?
  var primary: SelectionGuard?
  var secondary: SelectionGuard?
  var cutBuffers: SelectionGuard?
  var liftsLockdown: Bool?
  var expectations: [Expectation] = []
  /// Where it says `enforce: false`.
  var notEnforced: SourcePosition?
  var groupUses: [NameUse] = []
  var boardUses: [NameUse] = []
  /// Names of rules, those with errors in them too.
  var ruleNames: [NameUse] = []
}

extension Node {
  /// The keys of a mapping, as they are written.
  fileprivate var keys: [String] {
    guard case .mapping(let entries) = value else { return [] }
    return entries.compactMap { if case .scalar(let text, _) = $0.key.value { text } else { nil } }
  }
}

/// Reads the top level of a policy file.
struct FileReader {
  let fields: Fields
  let isManaged: Bool

  static let keys = [
    "ends-with-mark", "version", "enforce", "groups", "boards", "rules", "keys", "default", "limits", "clipboard",
    "primary",
    "secondary", "cut-buffers", "lift-lockdown", "expect",
  ]

  /// The content of `file`; parts with errors are left out of it.
  static func read(_ file: SourceFile, isManaged: Bool, report: Report) -> FileContent? {
    guard let document = DocumentReader.read(file.bytes, path: file.path, report: report) else { return nil }
    let reader = FileReader(fields: Fields(report: report), isManaged: isManaged)
    reader.rejectCutOff(document)
    return reader.content(of: document.root, path: file.path)
  }

  private func content(of root: Node, path: String) -> FileContent? {
    guard let entries = fields.mapping(root, in: "a policy file", keys: FileReader.keys) else { return nil }
    fields.version(entries["version"], at: root.position)
    var content = FileContent(path: path)
    let boards = BoardReader(fields: fields)
    var rules = RuleReader(fields: fields)
    if let node = entries["groups"] { content.groups = boards.groups(node, &rules.matchers) }
    if let node = entries["boards"] { content.boards = boards.boards(node, &rules.matchers) }
    content.groupNames = entries["groups"]?.keys ?? []
    content.boardNames = entries["boards"]?.keys ?? []
    if let node = entries["limits"] { content.limits = boards.limits(node) }
    let nodes = items(entries["rules"], of: "`rules`")
    content.rules.reserveCapacity(nodes.count)
    for (number, node) in nodes.enumerated() {
      if let rule = rules.rule(node, number: number + 1) { content.rules.append(rule) }
    }
    if let node = entries["keys"] { content.keys = KeysReader(fields: fields).assignments(node, &rules.matchers) }
    content.expectations = items(entries["expect"], of: "`expect`").compactMap(ExpectationReader(fields: fields).row)
    content.defaultDecision = entries["default"].flatMap(defaultDecision)
    if let node = entries["enforce"], fields.boolean(node, "enforce") == false { content.notEnforced = node.position }
    content.clipboard = entries["clipboard"].flatMap { mode($0, "clipboard") }
    content.primary = entries["primary"].flatMap { mode($0, "primary") }
    content.secondary = entries["secondary"].flatMap { mode($0, "secondary") }
    content.cutBuffers = entries["cut-buffers"].flatMap { mode($0, "cut-buffers") }
    content.liftsLockdown = entries["lift-lockdown"].flatMap(liftsLockdown)
    content.groupUses = rules.matchers.groupUses
    content.boardUses = rules.boardUses
    content.ruleNames = rules.names
    return content
  }

  /// A file that says so ends with `...`: what a power cut leaves of it may be YAML, and say less.
  ///
  /// The key is the first one, since `version: 1` alone is a policy that allows everything.
  private func rejectCutOff(_ document: DocumentReader.Content) {
    guard case .mapping(let entries) = document.root.value else { return }
    for (number, entry) in entries.enumerated() {
      guard case .scalar("ends-with-mark", _) = entry.key.value else { continue }
      guard fields.boolean(entry.value, "ends-with-mark") == true else { return }
      if number > 0 {
        fields.report.error(
          .cutOff, at: entry.key.position, "expected `ends-with-mark` before all other keys, found it later",
          hint: "a file that is cut off before it would count as whole")
      }
      guard let end = document.missingEnd else { return }
      return fields.report.error(
        .cutOff, at: end, "expected `...` at the end of the file, found none",
        hint: "the file is cut off, or its last line is missing")
    }
  }

  private func items(_ node: Node?, of key: String) -> [Node] {
    guard let node else { return [] }
    guard case .sequence(let items) = node.value else {
      fields.wrongType(node, expected: "a list for \(key)", hint: "begin each entry with `- `")
      return []
    }
    return items
  }

  private func defaultDecision(_ node: Node) -> DefaultDecision? {
    guard isManaged else {
      fields.report.error(
        .managedOnly, at: node.position, "expected no `default` in a user's file, found one",
        hint: "write a last rule without conditions")
      return nil
    }
    guard let verdict = fields.word(node, "a decision", of: Verdict.self) else { return nil }
    return DefaultDecision(verdict, position: node.position)
  }

  private func liftsLockdown(_ node: Node) -> Bool? {
    guard isManaged else {
      fields.report.error(
        .managedOnly, at: node.position, "expected no `lift-lockdown` in a user's file, found one",
        hint: "only the administrator's files say who lifts a lockdown")
      return nil
    }
    return fields.boolean(node, "lift-lockdown")
  }

  private func mode(_ node: Node, _ key: String) -> SelectionGuard? {
    guard let mode = fields.word(node, "a mode for `\(key)`", of: SelectionGuard.self) else { return nil }
    if mode == .off, key == "clipboard" {
      fields.report.error(
        .unknownWord, at: node.position, "expected `guard` or `own` for `clipboard`, found `off`",
        hint: "CLIPBOARD is always guarded")
      return nil
    }
    if mode == .own, key != "primary", key != "clipboard" {
      fields.report.error(
        .unknownWord, at: node.position, "expected `off` or `guard` for `\(key)`, found `own`",
        hint: "only `clipboard` and `primary` can be owned")
      return nil
    }
    return mode
  }
}

extension Fields {
  /// `version:`, which every file has to have.
  func version(_ node: Node?, at start: SourcePosition) {
    guard let node else {
      report.error(.version, at: start, "expected `version: 1`, found no `version`")
      return
    }
    if case .scalar("1", isPlain: true) = node.value { return }
    report.error(.version, at: node.position, "expected version 1, found \(node.found)")
  }
}
