import Policy
import Selection

/// What changed on a board.
public struct BoardChange: Hashable, Sendable {
  /// The board's name.
  public var board: String
  /// Its change count from now on.
  public var changeCount: UInt64
  /// Types of the items that came, each once.
  public var addedTypes: [String] = []
  /// Types of the items that went, each once.
  public var removedTypes: [String] = []
  /// The item that came or was pinned or let go.
  public var kept: BoardItem?
  /// Numbers of the items that went.
  public var dropped: [UInt64] = []
}

/// Why a board doesn't do what it is asked. Nothing has changed then.
public enum BoardRefusal: String, Error, Hashable, Sendable, CaseIterable {
  /// There is no such board, or none for the one who asks.
  case noBoard = "no-board"
  /// There is a board of this name already.
  case nameTaken = "name-taken"
  /// The name can't be a board's.
  case nameInvalid = "name-invalid"
  /// Too many boards were made by programs.
  case tooManyBoards = "too-many-boards"
  /// The board has no such item.
  case noItem = "no-item"
  /// The item doesn't have this type, or not for the one who asks.
  case noType = "no-type"
  /// A rule refuses it.
  case denied
  /// There is nothing in it.
  case empty
  /// Nobody owns the clipboard.
  case unowned
  /// The clipboard's owner has handed out nothing: it doesn't answer, or has nothing but metadata.
  case unanswered
  /// The item is larger than the board takes.
  case itemTooLarge = "item-too-large"
  /// All the board's items are pinned, and there is no room for one more.
  case pinnedFillItems = "pinned-fill-items"
  /// The pinned items leave too few bytes.
  case pinnedFillBytes = "pinned-fill-bytes"
  /// All clips and boards together are too large.
  case totalTooLarge = "total-too-large"
  /// Boards of policy end with the policy, `general` never.
  case notRemovable = "not-removable"
}

/// All boards of one display. Every way of changing one gives back what changed.
public struct BoardTable: Sendable {
  /// Boards made by programs at a time (our choice: more than a session's programs have use for).
  public static let createdBoards = 256

  /// The boards by name.
  public private(set) var boards: [String: Board] = [:]
  /// One for all boards, so that the count of a board that is made anew goes on growing.
  private var changeCount: UInt64 = 0
  private var itemCount: UInt64 = 0
  /// Bytes of all items of all boards.
  public private(set) var byteCount = 0
  /// When the next item is due to be dropped; may be early, never late.
  public private(set) var nextExpiry: MonotonicTime?

  /// No boards; their change counts and the numbers of their items begin behind `start`, so that they go on growing when
  /// the daemon is started anew.
  public init(startingAt start: UInt64 = 0) { (changeCount, itemCount) = (start, start) }

  /// The board of this name.
  public subscript(name: String) -> Board? { boards[name] }

  // MARK: boards

  /// Adds an empty board. Throws `.nameTaken` and, for boards that programs make, `.tooManyBoards`.
  public mutating func open(_ board: Board) throws(BoardRefusal) {
    guard boards[board.name] == nil else { throw .nameTaken }
    if board.origin != .policy {
      guard boards.values.count(where: { $0.origin != .policy }) < Self.createdBoards else { throw .tooManyBoards }
    }
    var board = board
    changeCount += 1
    board.changeCount = changeCount
    boards[board.name] = board
  }

  /// Puts other settings in force; what no longer fits goes, the oldest first.
  public mutating func replaceSettings(of name: String, by settings: BoardSettings) -> BoardChange? {
    guard var board = boards[name], board.settings != settings else { return nil }
    board.settings = settings
    boards[name] = board
    let surplus = surplus(on: board, room: 0, bytes: 0)
    return surplus.isEmpty ? nil : drop(from: name) { surplus.contains($0.number) }
  }

  /// Removes a board with all that is on it, pinned or not; `false` when there is none.
  @discardableResult
  public mutating func close(_ name: String) -> Bool {
    guard let board = boards.removeValue(forKey: name) else { return false }
    changeCount += 1
    byteCount -= board.byteCount
    return true
  }

  /// The unique boards that belong to a connection.
  public func boards(ofConnection connection: UInt64) -> [String] {
    boards.values.filter { $0.origin == .unique(connection: connection) }.map(\.name).sorted()
  }

  // MARK: items

  /// Why an item of so many bytes can't come onto a board, whatever is dropped for it; `nil` when it can.
  public func obstacle(to bytes: Int, on name: String, replacing: Bool = false) -> BoardRefusal? {
    guard let board = boards[name] else { return .noBoard }
    if bytes > min(board.settings.itemBytes, board.settings.totalBytes) { return .itemTooLarge }
    let pinned = board.items.filter(\.isPinned)
    if pinned.count >= board.settings.itemCount { return .pinnedFillItems }
    if pinned.reduce(bytes, { $0 + $1.byteCount }) > board.settings.totalBytes { return .pinnedFillBytes }
    return nil
  }

  /// Puts an item in front (UIPasteboard, `addItems`), or in the place of all that aren't pinned (`setItems`). The oldest
  /// items that aren't pinned make room. `nil` when the front item is the same: one copy that comes twice is one item,
  /// whose time begins anew.
  ///
  /// Throws `.noBoard`, `.empty`, `.itemTooLarge`, `.pinnedFillItems` and `.pinnedFillBytes`.
  public mutating func add(
    _ item: BoardItem, to name: String, replacing: Bool = false
  ) throws(BoardRefusal) -> BoardChange? {
    guard !item.representations.isEmpty else { throw .empty }
    let bytes = item.byteCount
    if let obstacle = obstacle(to: bytes, on: name) { throw obstacle }
    guard var board = boards[name] else { throw .noBoard }
    var item = item
    item.isLocalOnly = item.isLocalOnly || board.settings.isLocalOnly
    if let seconds = board.settings.expiresAfterSeconds {
      let latest = item.copiedAt.advanced(byMilliseconds: seconds * 1_000)
      item.expiry = item.expiry.map { min($0, latest) } ?? latest
    }
    if let front = board.items.first, front.isRepeated(by: item), !replacing || board.items.count == 1 {
      (board.items[0].copiedAt, board.items[0].expiry) = (item.copiedAt, item.expiry)
      boards[name] = board
      note(item.expiry)
      return nil
    }
    let gone =
      replacing
      ? Set(board.items.filter { !$0.isPinned }.map(\.number)) : surplus(on: board, room: 1, bytes: bytes)
    itemCount += 1
    item.number = itemCount
    let dropped = board.items.filter { gone.contains($0.number) }
    board.items.removeAll { gone.contains($0.number) }
    board.items.insert(item, at: 0)
    return settle(board, kept: item, added: [item], dropped: dropped)
  }

  /// Takes up items that were stored, the newest first, under new numbers where they have none. They come behind what is
  /// there; what doesn't fit is left out and named among the dropped.
  public mutating func restore(_ items: [BoardItem], to name: String, changeCount count: UInt64) -> BoardChange? {
    guard var board = boards[name], !items.isEmpty else { return nil }
    changeCount = max(changeCount, count)
    itemCount = items.reduce(itemCount) { max($0, $1.number) }
    board.items += items
    let surplus = surplus(on: board, room: 0, bytes: 0)
    let dropped = board.items.filter { surplus.contains($0.number) }
    board.items.removeAll { surplus.contains($0.number) }
    return settle(board, kept: nil, added: board.items, dropped: dropped)
  }

  /// Pins an item or lets it go again. Throws `.noBoard` and `.noItem`; `nil` when it is so already.
  public mutating func pin(
    _ number: UInt64, on name: String, _ isPinned: Bool = true
  ) throws(BoardRefusal) -> BoardChange? {
    guard var board = boards[name] else { throw .noBoard }
    guard let index = board.items.firstIndex(where: { $0.number == number }) else { throw .noItem }
    guard board.items[index].isPinned != isPinned else { return nil }
    board.items[index].isPinned = isPinned
    return settle(board, kept: board.items[index], added: [], dropped: [])
  }

  /// Removes one item. Throws `.noBoard` and `.noItem`.
  public mutating func remove(_ number: UInt64, from name: String) throws(BoardRefusal) -> BoardChange {
    guard boards[name] != nil else { throw .noBoard }
    guard let change = drop(from: name, where: { $0.number == number }) else { throw .noItem }
    return change
  }

  /// Drops the items that `isGone` names, pinned or not; `nil` when there are none.
  public mutating func drop(from name: String, where isGone: (BoardItem) -> Bool) -> BoardChange? {
    guard var board = boards[name] else { return nil }
    let dropped = board.items.filter(isGone)
    guard !dropped.isEmpty else { return nil }
    board.items.removeAll(where: isGone)
    return settle(board, kept: nil, added: [], dropped: dropped)
  }

  /// Drops what has had its time, pinned or not: a time was set for its own reason.
  public mutating func expire(at now: MonotonicTime) -> [BoardChange] {
    guard let due = nextExpiry, due <= now else { return [] }
    let changes = boards.keys.sorted().compactMap { name in
      drop(from: name) { item in item.expiry.map { $0 <= now } ?? false }
    }
    nextExpiry = boards.values.lazy.flatMap(\.items).compactMap(\.expiry).min()
    return changes
  }

  // MARK: one way to change

  /// The numbers of the oldest items that have to go so that `room` more of `bytes` fit.
  private func surplus(on board: Board, room: Int, bytes: Int) -> Set<UInt64> {
    var count = board.items.count + room
    var total = board.byteCount + bytes
    var gone: Set<UInt64> = []
    for item in board.items.reversed() where !item.isPinned {
      let isTooLarge = item.byteCount > board.settings.itemBytes
      guard count > board.settings.itemCount || total > board.settings.totalBytes || isTooLarge else { continue }
      gone.insert(item.number)
      count -= 1
      total -= item.byteCount
    }
    return gone
  }

  private mutating func settle(
    _ board: Board, kept: BoardItem?, added: [BoardItem], dropped: [BoardItem]
  ) -> BoardChange {
    var board = board
    changeCount += 1
    board.changeCount = changeCount
    byteCount += board.byteCount - (boards[board.name]?.byteCount ?? 0)
    boards[board.name] = board
    for item in added { note(item.expiry) }
    return BoardChange(
      board: board.name, changeCount: changeCount, addedTypes: Self.types(of: added),
      removedTypes: Self.types(of: dropped), kept: kept, dropped: dropped.map(\.number))
  }

  private mutating func note(_ expiry: MonotonicTime?) {
    guard let expiry else { return }
    nextExpiry = nextExpiry.map { min($0, expiry) } ?? expiry
  }

  private static func types(of items: [BoardItem]) -> [String] {
    var seen = Set<String>()
    return items.flatMap(\.types).filter { seen.insert($0).inserted }
  }
}
