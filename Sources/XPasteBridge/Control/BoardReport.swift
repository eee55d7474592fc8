import Boards
import BridgeCore
import Selection

/// The JSON shape of boards (`schemas/boards.schema.json`): what is there, never the content.
enum BoardReport {
  /// The version of the shape.
  static let schemaVersion = 1

  /// Several boards with their items.
  static func boards(_ boards: [BoardDescription]) -> JSON {
    .object(["schema": .integer(schemaVersion), "boards": .array(boards.map(board))])
  }

  private static func board(_ board: BoardDescription) -> JSON {
    .object([
      "name": .string(Label.shortened(board.name)),
      "origin": .string(origin(board.origin)),
      "persistent": .bool(board.isPersistent),
      "changeCount": .integer(Int(clamping: board.changeCount)),
      "bytes": .integer(board.items.reduce(0) { $0 + $1.types.reduce(0) { $0 + $1.bytes } }),
      "items": .array(board.items.map(item)),
    ])
  }

  private static func origin(_ origin: BoardOrigin?) -> String {
    switch origin {
    case nil: "clipboard"
    case .policy: "policy"
    case .created: "created"
    case .unique: "unique"
    }
  }

  private static func item(_ item: ItemDescription) -> JSON {
    let now = Posix.monotonicNow()
    return .object([
      "item": .integer(Int(clamping: item.number)),
      "types": .array(
        item.types.map { .object(["type": .string(Label.shortened($0.name)), "bytes": .integer($0.bytes)]) }),
      "labels": .strings(item.labels.map(\.rawValue)),
      "source": RecordJSON.subject(item.source),
      "ageSeconds": .integer(seconds(from: item.copiedAt, to: now)),
      "expiresInSeconds": item.expiry.map { .integer(seconds(from: now, to: $0)) },
      "pinned": .bool(item.isPinned),
      "localOnly": .bool(item.isLocalOnly),
      "sensitive": .bool(item.isSensitive),
    ])
  }

  private static func seconds(from start: MonotonicTime, to end: MonotonicTime) -> Int {
    end <= start ? 0 : Int((end.nanoseconds - start.nanoseconds) / 1_000_000_000)
  }

  /// How the boards stand, for `status`: counts, no types.
  static func summary(_ table: BoardTable, _ keeper: (any BoardKeeper)?) -> JSON {
    .object([
      "count": .integer(table.boards.count),
      "items": .integer(table.boards.values.reduce(0) { $0 + $1.items.count }),
      "bytes": .integer(table.byteCount),
      "unstored": .integer(keeper?.unstoredCount ?? 0),
      "storeProblem": keeper?.standing.failure.map { .string(Label.plain($0)) },
    ])
  }
}
