import BridgeCore
import ContentActions
import Policy

/// The JSON shape of `menu` (docs/actions.md). Of items of boards it has what they are and look like, never what they say.
enum MenuReport {
  /// Items of one board that a menu shows, the newest ones. Our choice: as many as can be told apart at a glance.
  static let itemsOfBoard = 9

  /// What a menu offers, what can be pasted first: each item has a kind, by which the chooser knows what to do with it.
  static func items(_ boards: [BoardDescription], _ actions: [ContentAction]) -> JSON {
    let pastes = boards.flatMap { board in
      zip(1..., board.items.prefix(itemsOfBoard)).map { paste($1, at: $0, of: board.name) }
    }
    let runs = actions.map { action -> JSON in
      .object([
        "kind": .string("action"), "name": .string(Label.shortened(action.name)), "title": .string(action.title),
      ])
    }
    return .object(["schema": .integer(ActionReports.schemaVersion), "items": .array(pastes + runs)])
  }

  /// The number in the title makes every title another one.
  private static func paste(_ item: ItemDescription, at place: Int, of board: String) -> JSON {
    let kinds = kinds(of: item)
    // What a secret looks like is a part of the secret.
    let labels = item.isSensitive ? [] : item.labels.map(\.rawValue)
    let bytes = item.types.reduce(0) { max($0, $1.bytes) }
    // What tells items apart comes first, since menus cut long lines.
    let words = (item.isSensitive ? ["secret"] : labels) + kinds + ["\(bytes) byte\(bytes == 1 ? "" : "s")"]
    return .object([
      "kind": .string("paste"),
      "board": .string(board),
      "item": .integer(Int(clamping: item.number)),
      "title": .string("Paste \(words.joined(separator: ", ")) (\(place) of \(Label.plain(board)))"),
      "types": .strings(kinds),
      "labels": .strings(labels),
    ])
  }

  /// The kinds of content that it has, each once; of what is of no known kind, its type.
  private static func kinds(of item: ItemDescription) -> [String] {
    var kinds: [String] = []
    for (name, _) in item.types {
      let kind = TargetClass(targetNamed: name)
      let word = kind == .other ? Label.plain(name, to: 64) : kind.rawValue
      if !kinds.contains(word) { kinds.append(word) }
    }
    return kinds
  }

  /// What became of an item that was chosen; `nil` as answer when the X server is gone.
  static func outcome(_ board: String, _ answer: BoardAnswer?) -> JSON {
    let (word, text): (String, String) =
      switch answer {
      case .done?: ("offered", "on the clipboard for those who may read the board; paste it as always")
      case .refused(let refusal)?: ("refused", refusal.words)
      default: ("refused", "the X server is gone")
      }
    return .object([
      "schema": .integer(ActionReports.schemaVersion), "board": .string(Label.shortened(board)),
      "outcome": .string(word), "text": .string(text),
    ])
  }
}
