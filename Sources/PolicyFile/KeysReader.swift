import Policy

/// Reads `keys:`, which keys copy, cut and paste in the members of a group: the word for a built-in set, or a mapping
/// with the keys of single actions.
struct KeysReader {
  let fields: Fields

  private static let setKey = "set"

  func assignments(_ node: Node, _ matchers: inout MatcherReader) -> [KeyAssignment] {
    guard let entries = fields.named(node, in: "`keys`") else { return [] }
    return entries.compactMap { name, key, value in
      guard let apps = matchers.matcher(key, "keys") else { return nil }
      var assignment = KeyAssignment(apps: apps, position: key.position, base: nil)
      guard case .mapping = value.value else {
        assignment.base = set(value)
        return assignment.base == nil ? nil : assignment
      }
      let keys = [KeysReader.setKey] + Action.byCommand.map(\.rawValue)
      guard let entries = fields.mapping(value, in: "the keys of `\(name)`", keys: keys) else { return nil }
      guard !entries.isEmpty else {
        fields.report.error(
          .emptyList, at: value.position, "expected `set`, `copy`, `cut` or `paste` for `\(name)`, found nothing")
        return nil
      }
      assignment.base = entries[KeysReader.setKey].flatMap(set)
      for action in Action.byCommand {
        if let node = entries[action.rawValue] { assignment.chords[action] = chords(node, action) }
      }
      rejectDoubles(assignment, entries)
      return assignment
    }
  }

  private func set(_ node: Node) -> KeySetName? {
    let words = KeySetName.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
    return fields.word(node, "keys like `{copy: [Ctrl+C]}` or one of \(words)", of: KeySetName.self)
  }

  /// A list of combinations; an empty one, or `none`, is no key.
  private func chords(_ node: Node, _ action: Action) -> [KeyChord] {
    if case .sequence(let items) = node.value, items.isEmpty { return [] }
    if case .scalar("none", _) = node.value { return [] }
    return fields.list(node, of: "`\(action.rawValue)`").compactMap { item in
      guard let text = fields.line(item, "a key for `\(action.rawValue)`") else { return nil }
      guard let chord = KeyChord(text) else {
        fields.report.error(
          .badValue, at: item.position, "expected a key like `Ctrl+Shift+C`, found `\(text)`",
          hint: "modifiers are Ctrl, Shift, Alt and Super, then a letter, Insert, Delete, F1, XF86Cut and the like")
        return nil
      }
      // Without a modifier a letter is text, and holding it back would stop typing.
      guard chord.modifiers.subtracting(.shift) != [] || chord.symbol > 0xff else {
        fields.report.error(
          .badValue, at: item.position, "expected a modifier with a character, found `\(text)`",
          hint: "the app's members couldn't type it any more; write `Ctrl+\(text)` if that is meant")
        return nil
      }
      return chord
    }
  }

  /// One key can't start two actions.
  private func rejectDoubles(_ assignment: KeyAssignment, _ entries: Entries) {
    var first: [KeyChord: Action] = [:]
    for action in Action.byCommand {
      for chord in assignment.chords[action] ?? [] {
        if let earlier = first[chord], let node = entries[action.rawValue] {
          fields.report.error(
            .duplicateName, at: node.position, "expected every key once, found `\(chord)` again",
            hint: "it is already under `\(earlier.rawValue)`")
        }
        first[chord] = action
      }
    }
  }
}
