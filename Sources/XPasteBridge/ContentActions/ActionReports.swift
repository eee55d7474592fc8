import BridgeCore
import ContentActions
import PolicyFile

/// The JSON shapes of `action list`, `action run` and `menu` (docs/actions.md).
enum ActionReports {
  /// The version of these shapes.
  static let schemaVersion = 1

  /// All actions, whether each can be run now, and what is wrong with others.
  static func list(_ catalog: ActionCatalog, _ actions: InstalledActions, fit: (ContentAction) -> ActionFit) -> JSON {
    .object([
      "schema": .integer(schemaVersion),
      "actions": .array(catalog.actions.map { entry($0, actions.program(of: $0), fit($0)) }),
      "errors": .strings(catalog.errors.map { Label.shortened($0.description) }),
      "warnings": .strings(catalog.warnings.map { Label.shortened($0.description) }),
    ])
  }

  private static func entry(_ action: ContentAction, _ program: String, _ fit: ActionFit) -> JSON {
    let state: (word: String, target: String?, reason: JSON?) =
      switch fit {
      case .fits(let target): ("fits", target, nil)
      case .unfit: ("unfit", nil, nil)
      case .refused(let reason): ("refused", nil, RecordJSON.reason(reason))
      }
    return .object([
      "name": .string(Label.shortened(action.name)),
      "title": .string(action.title),
      "file": .string(Label.shortened(action.position.file)),
      "accepts": .strings(action.accepts.map { Label.shortened($0.description, to: 128) }),
      "makes": .strings(action.makes),
      "to": .string(place(action.destination)),
      "program": .string(Label.shortened(program)),
      "state": .string(state.word),
      "target": state.target.map { .string(Label.shortened($0, to: 128)) },
      "reason": state.reason,
    ])
  }

  private static func place(_ destination: ContentAction.Destination) -> String {
    switch destination {
    case .clipboard: "clipboard"
    case .board(let name): name
    }
  }

  /// How a run ended.
  static func outcome(_ name: String, _ outcome: ActionOutcome) -> JSON {
    var word = ""
    var text = ""
    var more: [JSON.Member] = []
    switch outcome {
    case .made(let targets, let bytes, let board):
      let place = board.map { ", on \(Label.plain($0))" } ?? ""
      (word, text) = ("made", "\(targets.joined(separator: ", ")), \(bytes) bytes\(place)")
      more = [JSON.Member("targets", RecordJSON.targets(targets)), JSON.Member("bytes", .integer(bytes))]
      if let board { more.append(JSON.Member("board", .string(Label.shortened(board)))) }
    case .refused(let reason, let message):
      word = "refused"
      text = "refused: \(AuditSentence.why(reason))" + (message.map { "; \(Label.plain($0))" } ?? "")
      more = [JSON.Member("reason", RecordJSON.reason(reason))]
    case .unfit: (word, text) = ("unfit", "there is nothing on the clipboard that it fits")
    case .busy: (word, text) = ("busy", "too many actions at once, or one after the other on one clip")
    case .overtaken: (word, text) = ("overtaken", "the clipboard changed meanwhile; what it made was dropped")
    case .noBoard(let board):
      word = "no-board"
      text = "there is no board `\(Label.plain(board))`, or neither the active app nor the action's program is a member"
    case .notForBoard(let board):
      word = "not-for-board"
      text = "what is secret, may be pasted once, or is for fewer than its members isn't put on `\(Label.plain(board))`"
    case .noRoom(let board, let refusal):
      (word, text) = ("no-room", "`\(Label.plain(board))`: \(refusal.words)")
    case .failed(let failure):
      (word, text) = ("failed", failure.words)
      more = [JSON.Member("failure", .string(failure.rawValue))]
    }
    return .object(
      [
        JSON.Member("schema", .integer(schemaVersion)), JSON.Member("name", .string(Label.shortened(name))),
        JSON.Member("outcome", .string(word)), JSON.Member("text", .string(text)),
      ] + more)
  }

  /// No action has this name.
  static func unknown(_ name: String, _ catalog: ActionCatalog) -> JSON {
    let error = catalog.errors.first.map { "; \($0)" } ?? ""
    return .object([
      "schema": .integer(schemaVersion), "name": .string(Label.shortened(name)), "outcome": .string("unknown"),
      "text": .string(
        "there is no such action\(Suggestion.phrase(for: name, among: catalog.actions.map(\.name)))\(error)"),
    ])
  }
}
