/// The policy in force, merged from all files, with the origin of each part: what `policy show` prints.
public struct PolicyOverview: Hashable, Sendable {
  /// Which side a part comes from.
  public enum Side: String, Hashable, Sendable, CaseIterable {
    /// Vendor's and administrator's files.
    case managed
    /// The user's files.
    case user
  }

  /// One part of the policy.
  public struct Entry: Hashable, Sendable {
    /// Which side it comes from.
    public var side: Side
    /// Its name.
    public var name: String
    /// Where it is written; `nil` for built-in values.
    public var position: SourcePosition?
    /// What it says, in one line.
    public var text: String
  }

  /// The files read, in order.
  public var files: [String]
  /// The rules in the order in which they are tried, each side by itself.
  public var rules: [Entry]
  /// The groups.
  public var groups: [Entry]
  /// The boards.
  public var boards: [Entry]
  /// The default decision and the modes of the selections.
  public var settings: [Entry]
  /// All limits in force.
  public var limits: [LimitName: Int]
}

extension PolicySet {
  /// The policy in force, for people and programs to read.
  public var overview: PolicyOverview {
    let sides: [(PolicyOverview.Side, Ruleset)] = [(.managed, managed), (.user, user)]
    func entries<Part>(_ parts: (Ruleset) -> [Part], _ entry: (PolicyOverview.Side, Part) -> PolicyOverview.Entry)
      -> [PolicyOverview.Entry]
    { sides.flatMap { side, ruleset in parts(ruleset).map { entry(side, $0) } } }
    var settings: [PolicyOverview.Entry] = []
    let byDefault = managed.defaultDecision
    let decision = byDefault?.verdict ?? .allow
    settings.append(
      .init(
        side: .managed, name: "default", position: byDefault?.position,
        text: "\(decision)"))
    for (name, mode) in [("primary", primary), ("secondary", secondary), ("cut-buffers", cutBuffers)] {
      settings.append(.init(side: .managed, name: name, position: nil, text: mode.rawValue))
    }
    for (side, ruleset) in sides where !ruleset.isEnforced {
      settings.append(
        .init(side: side, name: "enforce", position: nil, text: "false: refusals are recorded, not enforced"))
    }
    if !liftsLockdown {
      settings.append(.init(side: .managed, name: "lift-lockdown", position: nil, text: "false"))
    }
    settings += entries(\.keys) { side, keys in
      .init(side: side, name: "keys of \(keys.apps)", position: keys.position, text: "\(keys)")
    }
    return PolicyOverview(
      files: managed.files + user.files,
      rules: entries(\.rules) { side, rule in
        .init(side: side, name: rule.reference.name, position: rule.reference.position, text: "\(rule)")
      },
      groups: entries(\.groups) { side, group in
        .init(side: side, name: group.name, position: group.position, text: "\(group.matcher)")
      },
      boards: entries(\.boards) { side, board in
        .init(side: side, name: board.name, position: board.position, text: "\(board)")
      },
      settings: settings,
      limits: Dictionary(uniqueKeysWithValues: LimitName.allCases.map { ($0, limits[keyPath: $0.keyPath]) }))
  }
}

extension KeyAssignment: CustomStringConvertible {
  /// The set and what differs from it, in one line.
  public var description: String {
    let single = Action.byCommand.compactMap { action in
      chords[action].map {
        "\(action.rawValue): " + ($0.isEmpty ? "none" : $0.map(\.description).joined(separator: " "))
      }
    }
    return ([base?.rawValue].compactMap(\.self) + single).joined(separator: "; ")
  }
}

extension BoardPolicy: CustomStringConvertible {
  /// Members and terms in one line.
  public var description: String {
    var words = ["members: \(members)"]
    if mirrors { words.append("mirror") }
    if isPersistent { words.append("persistent") }
    if isLocalOnly { words.append("local-only") }
    if let expiresAfterSeconds { words.append("expires: \(expiresAfterSeconds)s") }
    if let maxBytes { words.append("max-size: \(maxBytes)") }
    if let maxItems { words.append("max-items: \(maxItems)") }
    if let maxTotalBytes { words.append("max-total: \(maxTotalBytes)") }
    return words.joined(separator: "; ")
  }
}

extension PolicyOverview: CustomStringConvertible {
  /// All parts, one a line, each with its origin.
  public var description: String {
    var lines: [String] = []
    func section(_ title: String, _ entries: [Entry]) {
      guard !entries.isEmpty else { return }
      lines.append("\(title):")
      lines += entries.map { entry in
        let origin = entry.position.map { "\(entry.side.rawValue), \($0)" } ?? "in force"
        return "  \(entry.name): \(entry.text)  (\(origin))"
      }
    }
    lines.append("files:" + (files.isEmpty ? " none" : ""))
    lines += files.map { "  \($0)" }
    section("groups", groups)
    section("boards", boards)
    section("rules", rules)
    section("settings", settings)
    lines.append("limits:")
    lines += LimitName.allCases.compactMap { name in limits[name].map { "  \(name.rawValue): \($0)" } }
    return lines.joined(separator: "\n")
  }
}
