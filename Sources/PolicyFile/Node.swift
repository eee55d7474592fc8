import Policy

/// A YAML value with its place.
struct Node {
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

  var value: Value
  var position: SourcePosition
  /// How many nodes it is made of, itself among them, aliases written out.
  var weight = 1
  /// How many aliases were written out in it.
  var aliases = 0
  /// How deep its values are nested.
  var depth = 0

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
