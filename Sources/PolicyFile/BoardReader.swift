import Policy

/// Reads `groups:`, `boards:` and `limits:`.
struct BoardReader {
  let fields: Fields

  /// Names that `selection:` knows without a board.
  static let selections = ["clipboard", "primary", "secondary"]
  private static let reservedBoards =
    selections + ["general", "CLIPBOARD", "PRIMARY", "SECONDARY", "CLIPBOARD_MANAGER", "MULTIPLE", "TARGETS"]
  private static let reservedGroups = MatcherReader.words + MatcherReader.keys

  func groups(_ node: Node, _ matchers: inout MatcherReader) -> [Group] {
    guard let entries = fields.named(node, in: "`groups`") else { return [] }
    return entries.compactMap { name, key, value in
      guard isValid(name, key, "group", reserved: BoardReader.reservedGroups) else { return nil }
      guard case .sequence(let items) = value.value else {
        fields.wrongType(value, expected: "a list for group `\(name)`", hint: "begin each entry with `- `")
        return nil
      }
      guard !items.isEmpty else {
        fields.report.error(
          .emptyList, at: value.position, "expected at least one entry for group `\(name)`, found an empty list")
        return nil
      }
      guard let matcher = matchers.matcher(value, name) else { return nil }
      return Group(name: name, position: key.position, matcher: matcher)
    }
  }

  func boards(_ node: Node, _ matchers: inout MatcherReader) -> [BoardPolicy] {
    guard let entries = fields.named(node, in: "`boards`") else { return [] }
    return entries.compactMap { name, key, value in
      guard isValid(name, key, "board", reserved: BoardReader.reservedBoards) else { return nil }
      return board(name, key, value, &matchers)
    }
  }

  private func board(_ name: String, _ key: Node, _ value: Node, _ matchers: inout MatcherReader) -> BoardPolicy? {
    let keys = ["members", "mirror", "persistent", "local-only", "expires", "max-size", "max-items", "max-total"]
    guard let entries = fields.mapping(value, in: "a board", keys: keys) else { return nil }
    guard let node = entries["members"] else {
      fields.report.error(.missingKey, at: key.position, "expected `members` in board `\(name)`, found none")
      return nil
    }
    guard let members = matchers.matcher(node, "members") else { return nil }
    var board = BoardPolicy(name: name, position: key.position, members: members)
    board.mirrors = entries["mirror"].flatMap { fields.boolean($0, "mirror") } ?? false
    board.isPersistent = entries["persistent"].flatMap { fields.boolean($0, "persistent") } ?? false
    board.isLocalOnly = entries["local-only"].flatMap { fields.boolean($0, "local-only") } ?? false
    board.expiresAfterSeconds = entries["expires"].flatMap { fields.seconds($0, "expires") }
    board.maxBytes = entries["max-size"].flatMap { fields.size($0, "max-size", in: 1...1 << 40) }
    board.maxItems = entries["max-items"].flatMap { fields.count($0, "max-items", in: 1...10_000) }
    board.maxTotalBytes = entries["max-total"].flatMap { fields.size($0, "max-total", in: 1...1 << 40) }
    return board
  }

  private func isValid(_ name: String, _ key: Node, _ what: String, reserved: [String]) -> Bool {
    if reserved.contains(name) || name.hasPrefix("CUT_BUFFER") {
      fields.report.error(
        .reservedName, at: key.position, "expected a \(what) name without a meaning of its own, found `\(name)`")
      return false
    }
    let allowed = name.unicodeScalars.allSatisfy {
      $0.properties.isAlphabetic || "0123456789._-".unicodeScalars.contains($0)
    }
    guard allowed, !name.isEmpty, name.utf8.count <= 128 else {
      fields.report.error(
        .badValue, at: key.position, "expected letters, digits, `.`, `_` and `-` in a \(what) name, found `\(name)`")
      return false
    }
    return true
  }

  /// How a limit is written and between which bounds; see docs/policy.md.
  private func value(of name: LimitName, _ node: Node) -> Int? {
    let key = name.rawValue
    return switch name {
    case .targetsTimeout: fields.duration(node, key, in: 10...60_000)
    case .captureTimeout: fields.duration(node, key, in: 10...300_000)
    case .idleTimeout: fields.duration(node, key, in: 100...300_000)
    case .waitTimeout: fields.duration(node, key, in: 1...10_000)
    case .maxClip: fields.size(node, key, in: 1 << 10...1 << 34)
    case .maxTotal: fields.size(node, key, in: 1 << 10...1 << 36)
    case .maxTargets: fields.count(node, key, in: 1...4_096)
    case .maxPairs: fields.count(node, key, in: 1...4_096)
    case .transfersPerClient: fields.count(node, key, in: 1...4_096)
    case .transfers: fields.count(node, key, in: 1...65_536)
    case .flood: fields.count(node, key, in: 1...1_000_000)
    }
  }

  func limits(_ node: Node) -> [LimitSetting] {
    guard let entries = fields.mapping(node, in: "`limits`", keys: LimitName.allCases.map(\.rawValue)) else {
      return []
    }
    return LimitName.allCases.compactMap { name in
      guard let node = entries[name.rawValue], let value = value(of: name, node) else { return nil }
      return LimitSetting(name: name, value: value, position: node.position)
    }
  }
}

/// A limit and where it is set.
struct LimitSetting {
  var name: LimitName
  var value: Int
  var position: SourcePosition
}
