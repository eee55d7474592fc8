import Policy

/// A name used where something of that name must exist.
struct NameUse: Hashable {
  var name: String
  var position: SourcePosition
}

/// Reads who is meant: words, mappings of facts, lists of alternatives.
struct MatcherReader {
  let fields: Fields
  private(set) var groupUses: [NameUse] = []

  init(fields: Fields) { self.fields = fields }

  static let factKeys = FactName.allCases.map(\.rawValue)
  static let keys = factKeys + ["remote", "unknown", "not"]
  static let words = ["any", "remote", "unknown"]

  mutating func matcher(_ node: Node, _ key: String) -> Matcher? {
    switch node.value {
    case .scalar:
      guard let word = fields.line(node, "a group, `any`, `remote` or `unknown` for `\(key)`") else { return nil }
      return matcher(named: word, at: node.position)
    case .sequence:
      let read = fields.list(node, of: "`\(key)`").map { matcher($0, key) }
      let alternatives = read.compactMap(\.self)
      guard alternatives.count == read.count, !alternatives.isEmpty else { return nil }
      return alternatives.count == 1 ? alternatives[0] : .anyOf(alternatives)
    case .mapping: return conditions(node, key)
    }
  }

  private mutating func matcher(named word: String, at position: SourcePosition) -> Matcher {
    switch word {
    case "any": return .any
    case "remote": return .remote
    case "unknown": return .unknown
    default:
      groupUses.append(NameUse(name: word, position: position))
      return .group(word)
    }
  }

  /// The keys of one mapping must all hold.
  private mutating func conditions(_ node: Node, _ key: String) -> Matcher? {
    guard let entries = fields.mapping(node, in: "an app in `\(key)`", keys: MatcherReader.keys) else { return nil }
    guard !entries.isEmpty else {
      fields.report.error(
        .emptyList, at: node.position, "expected at least one fact for `\(key)`, found an empty mapping",
        hint: "write `any` for every app")
      return nil
    }
    var conditions: [Matcher] = []
    var isComplete = true
    for fact in MatcherReader.keys {
      guard let value = entries[fact] else { continue }
      guard let condition = condition(fact, value) else {
        isComplete = false
        continue
      }
      conditions.append(condition)
    }
    guard isComplete, isPossible(entries, at: node.position) else { return nil }
    return conditions.count == 1 ? conditions[0] : .allOf(conditions)
  }

  private mutating func condition(_ fact: String, _ value: Node) -> Matcher? {
    switch fact {
    case "not":
      guard let inner = matcher(value, "not") else { return nil }
      guard inner != .any else {
        fields.report.error(
          .neverMatches, at: value.position, "expected `not` to leave some apps over, found `any` in it",
          hint: "every app is one of `any`; name the apps that are not meant")
        return nil
      }
      return .not(inner)
    case "remote", "unknown":
      guard let isSo = fields.boolean(value, fact) else { return nil }
      let word: Matcher = fact == "remote" ? .remote : .unknown
      return isSo ? word : .not(word)
    default:
      if case .scalar = value.value { return pattern(fact, value) }
      let read = fields.list(value, of: "`\(fact)`").map { pattern(fact, $0) }
      let alternatives = read.compactMap(\.self)
      guard alternatives.count == read.count, !alternatives.isEmpty else { return nil }
      return alternatives.count == 1 ? alternatives[0] : .anyOf(alternatives)
    }
  }

  private func pattern(_ fact: String, _ node: Node) -> Matcher? {
    let style: Glob.Style = fact == "exe" || fact == "script" ? .path : .plain
    guard let text = fields.line(node, "a pattern for `\(fact)`"), let glob = fields.glob(text, style, node) else {
      return nil
    }
    switch fact {
    case "class": return .windowClass(glob)
    case "instance": return .instance(glob)
    case "script": return .script(glob)
    case "unit": return .unit(glob)
    case "sandbox": return .sandbox(glob)
    case "host": return .host(glob)
    default:
      guard let first = text.unicodeScalars.first, "/*?[\\".unicodeScalars.contains(first) else {
        fields.report.error(
          .neverMatches, at: node.position, "expected a whole path for `exe`, found `\(text)`",
          hint: MatcherReader.hint(forPath: text))
        return nil
      }
      return executable(glob, at: node.position)
    }
  }

  /// An executable; of a literal path it is looked what it is here. A running program shows the file that a link leads to.
  private func executable(_ glob: Glob, at position: SourcePosition) -> Matcher {
    guard let path = glob.literal, let finding = fields.report.finding(of: path) else { return .executable(glob) }
    let report = fields.report
    switch finding {
    case .program: break
    case .missing:
      report.warn(.pathIsMissing, at: position, "`\(path)` is nothing on this machine")
    case .link(let real):
      report.warn(
        .pathIsLink, at: position, "`\(path)` is a link to `\(real)` on this machine; both match",
        hint: "running programs show `\(real)`")
      return .anyOf([.executable(glob), .executable(Glob(literally: real, style: .path))])
    case .script(let file, let interpreter, let program):
      let what = file == path ? "a script" : "a link to the script `\(file)`"
      report.warn(
        .pathIsScript, at: position,
        "`\(path)` is \(what), which `\(interpreter)` runs: no app has this executable",
        hint: program.map { "it starts `\($0)`; name that, or what `xpastebridge identify` shows" }
          ?? "name what `xpastebridge identify` shows of the running app")
    }
    return .executable(glob)
  }

  private static func hint(forPath text: String) -> String {
    if text.hasPrefix("~") || text.contains("$") {
      return "write the full path, as in `/home/alice/bin/x`; `~` and variables aren't expanded"
    }
    let isFileName = !text.contains("/") && text.unicodeScalars.contains { $0.properties.isAlphabetic }
    if isFileName { return "write the full path, as in `/usr/bin/\(text)`" }
    return "write the full path, as in `/usr/bin/firefox`"
  }

  /// An unknown app has no facts, and a remote one none that this machine attests.
  private func isPossible(_ entries: Entries, at position: SourcePosition) -> Bool {
    func isTrue(_ key: String) -> Bool {
      if case .scalar("true", isPlain: true)? = entries[key]?.value { true } else { false }
    }
    let excluded =
      isTrue("unknown")
      ? ["remote", "class", "instance", "exe", "script", "unit", "sandbox"]
      : isTrue("remote") ? ["exe", "script", "unit", "sandbox"] : []
    guard let clash = excluded.first(where: { entries[$0] != nil }) else { return true }
    let word = isTrue("unknown") ? "unknown" : "remote"
    fields.report.error(
      .neverMatches, at: position, "expected what one app can be, found `\(word)` together with `\(clash)`")
    return false
  }
}

extension Fields {
  func glob(_ text: String, _ style: Glob.Style, _ node: Node) -> Glob? {
    let flaw: String
    do throws(Glob.Flaw) {
      return try Glob(text, style: style)
    } catch {
      flaw =
        switch error {
        case .empty: "nothing"
        case .unclosedSet: "`[` without `]`"
        case .emptyRange: "a range that ends before it begins"
        case .danglingEscape: "`\\` at the end"
        case .tooLong: "more than 1024 characters"
        }
    }
    report.error(
      .badValue, at: node.position, "expected a pattern, found \(flaw) in `\(text)`",
      hint: "`\\` makes the next character literal")
    return nil
  }

  /// Entries of `targets:`: class names or globs.
  func targets(_ node: Node, _ key: String) -> [TargetPattern]? {
    var patterns: [TargetPattern] = []
    for item in list(node, of: "`\(key)`") {
      guard let text = line(item, "a target or one of `text html rtf image files other` for `\(key)`") else { continue }
      if let kind = TargetClass(rawValue: text) {
        patterns.append(.kind(kind))
      } else if let hint = TargetWords.hint(for: text) {
        report.error(
          .unknownWord, at: item.position, "expected a target or a class of targets, found `\(text)`", hint: hint)
      } else if glob(text, .plain, item) != nil {
        patterns.append(.glob(text))
      }
    }
    return patterns.isEmpty ? nil : patterns
  }
}

/// Words that look like a class of targets and are none.
///
/// Targets are free names, but those in use have capitals, a slash or other signs in them. So a word of small letters is
/// a mistake, and would silently match nothing.
enum TargetWords {
  private static let classes = TargetClass.allCases.map(\.rawValue)

  /// What people call the classes.
  private static let meanings = [
    "picture": "image", "pictures": "image", "photo": "image", "photos": "image", "img": "image", "png": "image/png",
    "jpeg": "image/jpeg", "jpg": "image/jpeg", "gif": "image/gif", "svg": "image/svg+xml", "bitmap": "image",
    "plain": "text", "plaintext": "text", "string": "text", "utf": "text", "xhtml": "html", "richtext": "rtf",
    "uri": "files", "uris": "files", "url": "files", "urls": "files", "folder": "files", "folders": "files",
    "rest": "other", "others": "other",
  ]

  private static func isOfWords(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// Why `text` can't be meant as a target; `nil` where it can.
  static func hint(for text: String) -> String? {
    // Most targets have a slash, and then it is none of the words below.
    guard text.utf8.allSatisfy(isOfWords) else { return nil }
    let small = text.lowercased()
    let near = classes.first { small == $0 || text == $0 + "s" || text + "s" == $0 }
    if let meant = near ?? meanings[text] { return "did you mean `\(meant)`?" }
    if text == small, let target = TargetClass.namedTargets.first(where: { $0.lowercased() == text }) {
      return "did you mean `\(target)`?"
    }
    guard text.utf8.allSatisfy({ (97...122).contains($0) }) else { return nil }
    return Suggestion.hint(for: text, among: classes)
  }
}
