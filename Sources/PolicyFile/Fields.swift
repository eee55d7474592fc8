import Policy

/// The entries of a mapping by key. There are few, so that looking through them takes less time than hashing would.
struct Entries {
  private var found: [(key: String, entry: Node.Entry)] = []

  init(capacity: Int) { found.reserveCapacity(capacity) }

  var isEmpty: Bool { found.isEmpty }

  subscript(key: String) -> Node? {
    for pair in found where pair.key == key { return pair.entry.value }
    return nil
  }

  func hasAny(of keys: [String]) -> Bool { found.contains { keys.contains($0.key) } }

  fileprivate func position(of key: String) -> SourcePosition? {
    for pair in found where pair.key == key { return pair.entry.key.position }
    return nil
  }

  fileprivate mutating func add(_ key: String, _ entry: Node.Entry) { found.append((key, entry)) }
}

/// Reads values of the kinds that the policy language has; what doesn't fit is reported and read as `nil`.
struct Fields {
  let report: Report

  /// What every YAML reader takes for null or a boolean.
  private static let reserved: Set<String> = [
    "", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE",
  ]
  private static let longestReserved = 5

  /// The entries of a mapping by key, after unknown and doubled keys have been reported.
  func mapping(_ node: Node, in place: @autoclosure () -> String, keys: [String]) -> Entries? {
    guard case .mapping(let entries) = node.value else {
      wrongType(node, expected: "a mapping for \(place())")
      return nil
    }
    var fields = Entries(capacity: min(entries.count, keys.count))
    var unknown: [String: SourcePosition] = [:]
    for entry in entries {
      guard let key = key(entry.key) else { continue }
      if let earlier = fields.position(of: key) ?? (unknown.isEmpty ? nil : unknown[key]) {
        report.error(
          .duplicateKey, at: entry.key.position, "expected every key once, found `\(key)` again",
          hint: "it is first given on line \(earlier.line)")
      } else if keys.contains(key) {
        fields.add(key, entry)
      } else {
        unknown[key] = entry.key.position
        report.error(
          .unknownKey, at: entry.key.position, "expected a key of \(place()), found `\(key)`",
          hint: Suggestion.hint(for: key, among: keys))
      }
    }
    return fields
  }

  /// A mapping whose keys are names of the author's choice, in order; doubled ones are reported.
  func named(_ node: Node, in place: String) -> [(name: String, key: Node, value: Node)]? {
    guard case .mapping(let entries) = node.value else {
      wrongType(node, expected: "a mapping for \(place)")
      return nil
    }
    var first: [String: SourcePosition] = [:]
    return entries.compactMap { entry in
      guard let name = key(entry.key) else { return nil }
      if let earlier = first[name] {
        report.error(
          .duplicateKey, at: entry.key.position, "expected every key once, found `\(name)` again",
          hint: "it is first given on line \(earlier.line)")
        return nil
      }
      first[name] = entry.key.position
      return (name, entry.key, entry.value)
    }
  }

  private func key(_ node: Node) -> String? {
    guard case .scalar(let text, let isPlain) = node.value else {
      wrongType(node, expected: "a text as key")
      return nil
    }
    if isPlain, text == "<<" {
      report.error(.mergeKey, at: node.position, "expected a key, found a merge key", hint: "write the keys out")
      return nil
    }
    return text
  }

  /// The items of a list; a single value counts as a list of one.
  func list(_ node: Node, of what: @autoclosure () -> String) -> [Node] {
    guard case .sequence(let items) = node.value else { return [node] }
    if items.isEmpty {
      report.error(.emptyList, at: node.position, "expected at least one of \(what()), found an empty list")
    }
    return items
  }

  /// A text, exactly as it is written. What every YAML reader takes for null or a boolean must be quoted: nobody can
  /// say what was meant. `no`, `on`, `1.5` and the like are texts.
  func text(_ node: Node, _ what: @autoclosure () -> String) -> String? {
    guard case .scalar(let text, let isPlain) = node.value else {
      wrongType(node, expected: what())
      return nil
    }
    if isPlain, text.utf8.count <= Fields.longestReserved, Fields.reserved.contains(text) {
      wrongType(node, expected: what(), hint: text.isEmpty ? nil : "quote it if it is meant as text: \"\(text)\"")
      return nil
    }
    guard !text.isEmpty else {
      report.error(.badValue, at: node.position, "expected \(what()), found an empty text")
      return nil
    }
    return text
  }

  /// A text that is printed in one line.
  func line(_ node: Node, _ what: @autoclosure () -> String, upTo limit: Int = 1_024) -> String? {
    guard let text = text(node, what()) else { return nil }
    guard !text.hasControls else {
      report.error(.badValue, at: node.position, "expected \(what()) without control characters, found `\(text)`")
      return nil
    }
    guard text.utf8.count <= limit else {
      report.error(
        .outOfRange, at: node.position, "expected \(what()) of at most \(limit) bytes, found \(text.utf8.count)")
      return nil
    }
    return text
  }

  func boolean(_ node: Node, _ key: String) -> Bool? {
    guard case .scalar(let text, let isPlain) = node.value else {
      wrongType(node, expected: "`true` or `false` for `\(key)`")
      return nil
    }
    if isPlain, text == "true" { return true }
    if isPlain, text == "false" { return false }
    let meant: String? =
      switch text.lowercased() {
      case "yes", "on", "y", "true": "write `true`"
      case "no", "off", "n", "false": "write `false`"
      default: nil
      }
    wrongType(
      node, expected: "`true` or `false` for `\(key)`", hint: meant.map { isPlain ? $0 : $0 + " without quotes" })
    return nil
  }

  /// One of a fixed set of words.
  func word<Word: RawRepresentable & CaseIterable>(
    _ node: Node, _ what: @autoclosure () -> String, of type: Word.Type
  ) -> Word?
  where Word.RawValue == String {
    guard case .scalar(let text, _) = node.value, !text.isEmpty else {
      wrongType(node, expected: what())
      return nil
    }
    if let word = Word(rawValue: text) { return word }
    report.error(
      .unknownWord, at: node.position, "expected \(what()), found `\(text)`",
      hint: Suggestion.hint(for: text, among: type.allCases.map(\.rawValue)))
    return nil
  }

  /// A whole number within bounds.
  func count(_ node: Node, _ key: String, in bounds: ClosedRange<Int>) -> Int? {
    guard let text = unquoted(node, expected: "a whole number for `\(key)`") else { return nil }
    guard let number = Quantity.number(text) else {
      report.error(.badValue, at: node.position, "expected a whole number for `\(key)`, found `\(text)`")
      return nil
    }
    return bounded(number, node, key, bounds, show: { "\($0)" })
  }

  /// Bytes: `64`, `64K`, `64M`, `1G`, in steps of 1,024.
  func size(_ node: Node, _ key: String, in bounds: ClosedRange<Int>) -> Int? {
    guard let text = unquoted(node, expected: "a size for `\(key)`") else { return nil }
    guard let bytes = Quantity.bytes(text) else {
      report.error(
        .badValue, at: node.position, "expected a size for `\(key)`, found `\(text)`",
        hint: "write bytes, or `64K`, `64M`, `1G`")
      return nil
    }
    return bounded(bytes, node, key, bounds, show: Quantity.shown(bytes:))
  }

  /// Milliseconds: `500ms`, `20s`, `5m`, `8h`, `7d`.
  func duration(_ node: Node, _ key: String, in bounds: ClosedRange<Int>) -> Int? {
    guard let text = unquoted(node, expected: "a duration for `\(key)`") else { return nil }
    guard let milliseconds = Quantity.milliseconds(text) else {
      report.error(
        .badValue, at: node.position, "expected a duration for `\(key)`, found `\(text)`",
        hint: "write a unit: `500ms`, `20s`, `5m`, `8h`, `7d`")
      return nil
    }
    return bounded(milliseconds, node, key, bounds, show: Quantity.shown(milliseconds:))
  }

  /// Whole seconds from one second to ten years.
  func seconds(_ node: Node, _ key: String) -> Int? {
    guard let milliseconds = duration(node, key, in: 1_000...315_360_000_000) else { return nil }
    guard milliseconds % 1_000 == 0 else {
      report.error(.badValue, at: node.position, "expected whole seconds for `\(key)`, found \(node.found)")
      return nil
    }
    return milliseconds / 1_000
  }

  func wrongType(_ node: Node, expected: String, hint: String? = nil) {
    report.error(.wrongType, at: node.position, "expected \(expected), found \(node.found)", hint: hint)
  }

  private func unquoted(_ node: Node, expected: @autoclosure () -> String) -> String? {
    guard case .scalar(let text, _) = node.value, !text.isEmpty else {
      wrongType(node, expected: expected())
      return nil
    }
    return text
  }

  private func bounded(
    _ value: Int, _ node: Node, _ key: String, _ bounds: ClosedRange<Int>, show: (Int) -> String
  ) -> Int? {
    if bounds.contains(value) { return value }
    report.error(
      .outOfRange, at: node.position,
      "expected \(show(bounds.lowerBound)) to \(show(bounds.upperBound)) for `\(key)`, found \(node.found)")
    return nil
  }
}

/// Numbers with units.
enum Quantity {
  static func number(_ text: String) -> Int? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
  }

  static func bytes(_ text: String) -> Int? {
    let units: [(String, Int)] = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("", 1)]
    return scaled(text, units)
  }

  static func milliseconds(_ text: String) -> Int? {
    let units: [(String, Int)] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
    return scaled(text, units)
  }

  private static func scaled(_ text: String, _ units: [(String, Int)]) -> Int? {
    guard let (unit, factor) = units.first(where: { text.hasSuffix($0.0) }),
      let number = number(String(text.dropLast(unit.count)))
    else { return nil }
    let (product, overflows) = number.multipliedReportingOverflow(by: factor)
    return overflows ? nil : product
  }

  static func shown(bytes: Int) -> String {
    for (unit, shift) in [("G", 30), ("M", 20), ("K", 10)] where bytes > 0 && bytes % (1 << shift) == 0 {
      return "`\(bytes >> shift)\(unit)`"
    }
    return "`\(bytes)`"
  }

  static func shown(milliseconds: Int) -> String {
    for (unit, factor) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
    where milliseconds > 0 && milliseconds % factor == 0 {
      return "`\(milliseconds / factor)\(unit)`"
    }
    return "`\(milliseconds)ms`"
  }
}
