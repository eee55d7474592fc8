public import ContentActions
import Policy

/// The actions of all folders, and what is wrong with the others.
public struct ActionCatalog: Hashable, Sendable {
  /// By the order of their files' names.
  public var actions: [ContentAction] = []
  /// What is wrong; a file with an error gives no action, and leaves the others alone.
  public var errors: [Diagnostic] = []
  /// What has no effect yet.
  public var warnings: [Diagnostic] = []

  /// No actions.
  public init() {}

  /// Reads the actions of `folders`. A file takes the place of those of its name in folders before its own; an empty one
  /// takes them away. Folders that don't exist hold none.
  public init(folders: [String]) {
    let report = Report()
    var files: [String: SourceFile] = [:]
    for folder in folders {
      let found = PolicyDirectories(vendor: folder, managed: nil, user: nil).read()
      errors += found.errors
      for file in found.managed { files[String(file.path.dropFirst(folder.count + 1))] = file }
    }
    for name in files.keys.sorted(by: PolicyDirectories.comesBefore) {
      guard let file = files[name], !file.bytes.isEmpty else { continue }
      guard let action = ActionReader.read(file, name: String(name.dropLast(5)), report: report) else { continue }
      if let twin = actions.first(where: { $0.name == action.name || $0.title == action.title }) {
        report.error(
          .duplicateName, at: action.position, "expected a name and a title of its own, found those of another action",
          hint: "the other is \(twin.position.file)")
      } else {
        actions.append(action)
      }
    }
    errors = (errors + report.errors).sorted()
    warnings = report.warnings.sorted()
  }
}

/// Reads one action's file (docs/actions.md).
struct ActionReader {
  let fields: Fields

  private static let keys = [
    "version", "title", "accepts", "built-in", "command", "makes", "to", "time-limit", "memory-limit",
  ]
  /// What an argument list may amount to. Our choice: no command has as many words.
  private static let mostArguments = 256
  /// Targets that a result may have. Our choice: each is a form of its own to decide, and rich clips have some twenty.
  private static let mostTargets = 64

  /// The action of `file`; `nil` when an error was reported.
  static func read(_ file: SourceFile, name: String, report: Report) -> ContentAction? {
    guard let document = DocumentReader.read(file.bytes, path: file.path, report: report) else { return nil }
    let errors = report.errors.count
    let action = ActionReader(fields: Fields(report: report)).action(document.root, name)
    return report.errors.count == errors ? action : nil
  }

  private func action(_ root: Node, _ name: String) -> ContentAction? {
    guard let entries = fields.mapping(root, in: "an action", keys: Self.keys) else { return nil }
    fields.version(entries["version"], at: root.position)
    for key in ["title", "accepts", "makes"] where entries[key] == nil {
      fields.report.error(.missingKey, at: root.position, "expected `\(key)` in an action, found none")
    }
    let title = entries["title"].flatMap { fields.line($0, "a text for `title`", upTo: 128) }
    let accepts = entries["accepts"].flatMap { fields.targets($0, "accepts") }
    let makes = entries["makes"].map(targetNames) ?? []
    let work = work(entries, root)
    let destination = entries["to"].flatMap(destination) ?? .clipboard
    var limits = ActionLimits()
    if let node = entries["time-limit"] {
      limits.milliseconds = fields.duration(node, "time-limit", in: ActionLimits.timeBounds) ?? limits.milliseconds
    }
    if let node = entries["memory-limit"] {
      limits.memoryBytes = fields.size(node, "memory-limit", in: ActionLimits.memoryBounds) ?? limits.memoryBytes
    }
    guard let title, let accepts, let work, !makes.isEmpty else { return nil }
    return ContentAction(
      name: name, title: title, position: root.position, accepts: accepts, work: work, makes: makes,
      destination: destination, limits: limits)
  }

  private func work(_ entries: Entries, _ root: Node) -> ContentAction.Work? {
    switch (entries["built-in"], entries["command"]) {
    case (nil, nil):
      fields.report.error(.missingKey, at: root.position, "expected `built-in` or `command` in an action, found none")
      return nil
    case (let node?, nil): return fields.word(node, "a built-in action", of: BuiltIn.self).map { .builtIn($0) }
    case (nil, let node?): return command(node)
    case (_?, let node?):
      fields.report.error(
        .conflictingKeys, at: node.position, "expected `built-in` or `command`, found both",
        hint: "write two actions")
      return nil
    }
  }

  private func command(_ node: Node) -> ContentAction.Work? {
    let words = fields.list(node, of: "`command`").compactMap { argument($0) }
    guard let path = words.first else { return nil }
    guard path.hasPrefix("/") else {
      fields.report.error(
        .badValue, at: node.position, "expected the absolute path of a program for `command`, found `\(path)`",
        hint: "there is no shell and no search path")
      return nil
    }
    guard words.count <= Self.mostArguments else {
      fields.report.error(
        .outOfRange, at: node.position,
        "expected at most \(Self.mostArguments) words for `command`, found \(words.count)")
      return nil
    }
    return .command(path: path, arguments: Array(words.dropFirst()))
  }

  /// A word as the program gets it. Numbers and the like are words here, and an empty one may be meant.
  private func argument(_ node: Node) -> String? {
    guard case .scalar(let text, let isPlain) = node.value, !(isPlain && text.isEmpty) else {
      fields.wrongType(node, expected: "a word for `command`")
      return nil
    }
    guard !text.unicodeScalars.contains("\0") else {
      fields.report.error(.badValue, at: node.position, "expected a word without NUL for `command`, found one")
      return nil
    }
    return text
  }

  private func targetNames(_ node: Node) -> [String] {
    let items = fields.list(node, of: "`makes`")
    guard items.count <= Self.mostTargets else {
      fields.report.error(
        .outOfRange, at: node.position,
        "expected at most \(Self.mostTargets) targets for `makes`, found \(items.count)")
      return []
    }
    return items.compactMap { item in
      guard let name = fields.line(item, "a target for `makes`", upTo: 255) else { return nil }
      guard !name.unicodeScalars.contains(where: { "*?[".unicodeScalars.contains($0) }) else {
        fields.report.error(
          .badValue, at: item.position, "expected the name of a target for `makes`, found `\(name)`",
          hint: "`\(ContentAction.same)` stands for the target that was taken")
        return nil
      }
      return name
    }
  }

  private func destination(_ node: Node) -> ContentAction.Destination? {
    guard let name = fields.line(node, "`clipboard` or a board for `to`", upTo: 128) else { return nil }
    guard name != "clipboard" else { return .clipboard }
    guard name != "general" else {
      fields.report.error(
        .badValue, at: node.position, "expected `clipboard` or a board for `to`, found `general`",
        hint: "that is what CLIPBOARD has: write `clipboard`, or leave `to` out")
      return nil
    }
    return .board(name)
  }
}
