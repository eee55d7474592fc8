import Policy

/// A YAML value with its place. A class, since a value is handed from reader to reader: that costs one count, not four.
final class Node {
  enum Value {
    /// A text; `isPlain` when it stands without quotes.
    case scalar(String, isPlain: Bool)
    case sequence([Node])
    case mapping([Entry])
  }

  struct Entry {
    var key: Node
    var value: Node
  }

  let value: Value
  let position: SourcePosition
  /// How many nodes it is made of, itself among them, aliases written out.
  let weight: Int
  /// How many aliases were written out in it.
  let aliases: Int
  /// How deep its values are nested.
  let depth: Int

  init(_ value: Value, at position: SourcePosition) {
    self.value = value
    self.position = position
    var (weight, aliases, depth) = (1, 0, 0)
    func count(_ child: Node) {
      weight += child.weight
      aliases += child.aliases
      depth = max(depth, 1 + child.depth)
    }
    switch value {
    case .scalar: break
    case .sequence(let items):
      depth = 1
      for item in items { count(item) }
    case .mapping(let entries):
      depth = 1
      for entry in entries {
        count(entry.key)
        count(entry.value)
      }
    }
    (self.weight, self.aliases, self.depth) = (weight, aliases, depth)
  }

  /// The same where an alias stands for `node`.
  init(alias node: Node) {
    (value, position, weight, depth) = (node.value, node.position, node.weight, node.depth)
    aliases = node.aliases + 1
  }

  /// What stands here, in words for a message.
  var found: String {
    switch value {
    case .sequence: "a list"
    case .mapping: "a mapping"
    case .scalar("", isPlain: true): "nothing"
    case .scalar(let text, _): "`\(text)`"
    }
  }
}
