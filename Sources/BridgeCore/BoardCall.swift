import Boards
import Policy
import Selection

/// What a program asks of the boards, past X.
public enum BoardCall: Hashable, Sendable {
  /// The boards that the caller may use.
  case list
  /// One board with its items.
  case describe(String)
  /// A new board.
  case create(BoardCreation)
  /// One representation: of the newest item, or of the one of that number.
  case read(String, item: UInt64?, type: String)
  /// A new item.
  case write(BoardWriting)
  /// An item from one board to another.
  case copy(from: String, item: UInt64?, to: String)
  /// An item is offered on CLIPBOARD to those who may read its board, for the caller to paste.
  case offer(String, item: UInt64)
  /// An item is to stay whatever the quota says, or no longer.
  case pin(String, item: UInt64, Bool)
  /// One item goes.
  case removeItem(String, UInt64)
  /// The board goes with all that is on it.
  case remove(String)
  /// All items go.
  case wipe(String)
  /// A connection has ended, and with it the boards that belong to it.
  case connectionEnded(UInt64)

  /// Whether the answer has something of the clipboard in it.
  public var readsGeneral: Bool {
    switch self {
    case .list: true
    case .describe(let name), .read(let name, _, _), .copy(let name, _, _): name == BoardName.general
    case .create, .write, .offer, .pin, .removeItem, .remove, .wipe, .connectionEnded: false
    }
  }

  /// The boards that are asked for by name, with what is done to each: content is read, or something changes.
  var boards: [(name: String, kind: AuditRecord.Kind)] {
    switch self {
    case .list, .create, .connectionEnded: []
    case .describe(let name), .read(let name, _, _), .offer(let name, _): [(name, .paste)]
    case .write(let writing): [(writing.board, .copy)]
    case .copy(let from, _, let to): [(from, .paste), (to, .copy)]
    case .pin(let name, _, _), .removeItem(let name, _), .remove(let name), .wipe(let name): [(name, .copy)]
    }
  }
}

/// A board that a program asks for.
public struct BoardCreation: Hashable, Sendable {
  /// Its name and selection.
  public var selection: NamedAtom
  /// How it comes to be.
  public var origin: BoardOrigin
  /// The board of a policy whose members may use this one, too; `nil` for the caller's app alone.
  public var members: String?

  /// Describes the board.
  public init(_ selection: NamedAtom, origin: BoardOrigin, members: String? = nil) {
    self.selection = selection
    self.origin = origin
    self.members = members
  }
}

/// An item that a program writes.
public struct BoardWriting: Hashable, Sendable {
  /// The board's name.
  public var board: String
  /// The item's representations.
  public var representations: [Representation]
  /// Whether it takes the place of all items that aren't pinned.
  public var replaces = false
  /// Seconds after which it is dropped; `nil` for what board and rules say.
  public var expiresAfterSeconds: Int?
  /// Whether it is for programs of this machine alone.
  public var isLocalOnly = false

  /// Describes the item.
  public init(board: String, representations: [Representation]) {
    self.board = board
    self.representations = representations
  }
}

/// Content for a caller. It can't be made without a grant.
public struct BoardContent: Hashable, Sendable {
  /// What it was asked for as.
  public var type: String
  /// The content.
  public var payload: Payload
  /// Why it may move.
  public var grant: Grant

  init(type: String, payload: Payload, grant: Grant) {
    self.type = type
    self.payload = payload
    self.grant = grant
  }
}

/// What is said of an item to one who may have it: nothing of its content but what it looks like.
public struct ItemDescription: Hashable, Sendable {
  /// Its number.
  public var number: UInt64
  /// The types that the caller may read, with their sizes in bytes.
  public var types: [(name: String, bytes: Int)]
  /// What its text looks like.
  public var labels: [PatternLabel]
  /// Who made it.
  public var source: Subject
  /// When it was copied.
  public var copiedAt: MonotonicTime
  /// When it is dropped.
  public var expiry: MonotonicTime?
  /// Whether it is pinned.
  public var isPinned: Bool
  /// Whether it is for programs of this machine alone.
  public var isLocalOnly: Bool
  /// Whether its source marked it secret.
  public var isSensitive: Bool

  /// Equal in everything.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.number == rhs.number && lhs.types.elementsEqual(rhs.types, by: ==) && lhs.labels == rhs.labels
      && lhs.source == rhs.source && lhs.copiedAt == rhs.copiedAt && lhs.expiry == rhs.expiry
      && lhs.isPinned == rhs.isPinned && lhs.isLocalOnly == rhs.isLocalOnly && lhs.isSensitive == rhs.isSensitive
  }

  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// What is said of a board to one who may use it.
public struct BoardDescription: Hashable, Sendable {
  /// Its name.
  public var name: String
  /// How it came to be; `nil` for `general`.
  public var origin: BoardOrigin?
  /// Whether its content outlives the daemon.
  public var isPersistent = false
  /// Its change count.
  public var changeCount: UInt64
  /// The items that the caller may have, the newest first.
  public var items: [ItemDescription]
}

/// How a call to a board ended.
public enum BoardAnswer: Hashable, Sendable {
  /// What there is.
  case boards([BoardDescription])
  /// Content.
  case content(BoardContent)
  /// The new board's name.
  case created(String)
  /// Done; the board's change count now.
  case done(changeCount: UInt64)
  /// Not done.
  case refused(BoardRefusal)
}

/// What those who watch a board are told.
public enum BoardNotice: Hashable, Sendable {
  /// Items came or went.
  case changed(BoardChange)
  /// The board is gone.
  case removed(String)

  /// The board's name.
  public var board: String {
    switch self {
    case .changed(let change): change.board
    case .removed(let name): name
    }
  }
}

/// A board as it was stored.
public struct StoredBoard: Hashable, Sendable {
  /// Its name.
  public var name: String
  /// At least its last change count.
  public var changeCount: UInt64
  /// Its items, the newest first.
  public var items: [BoardItem]

  /// Describes what was stored.
  public init(name: String, changeCount: UInt64, items: [BoardItem]) {
    self.name = name
    self.changeCount = changeCount
    self.items = items
  }
}
