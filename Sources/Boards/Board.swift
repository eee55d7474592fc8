import Policy
import Selection

/// What a board keeps, and how much of it.
public struct BoardSettings: Hashable, Sendable {
  /// Whether its content outlives the daemon.
  public var isPersistent = false
  /// Whether its content is for programs of this machine alone.
  public var isLocalOnly = false
  /// Seconds after which an item is dropped; `nil` for never.
  public var expiresAfterSeconds: Int?
  /// Bytes of one item.
  public var itemBytes: Int
  /// Items of the board.
  public var itemCount: Int
  /// Bytes of all its items.
  public var totalBytes: Int

  /// Items of a board whose policy doesn't say (our choice: more than anybody looks through).
  public static let defaultItemCount = 100
  /// Bytes of a board whose policy doesn't say (our choice: a quarter of what all clips may take by default).
  public static let defaultTotalBytes = 256 << 20

  /// Keeps as much as a board whose policy says nothing.
  public init(itemBytes: Int = defaultTotalBytes) {
    self.itemBytes = itemBytes
    itemCount = Self.defaultItemCount
    totalBytes = Self.defaultTotalBytes
  }

  /// What a policy says of a board, under its limits.
  public init(_ policy: BoardPolicy, limits: Limits) {
    self.init(itemBytes: min(policy.maxBytes ?? .max, limits.clipBytes))
    isPersistent = policy.isPersistent
    isLocalOnly = policy.isLocalOnly
    expiresAfterSeconds = policy.expiresAfterSeconds
    itemCount = policy.maxItems ?? Self.defaultItemCount
    totalBytes = policy.maxTotalBytes ?? Self.defaultTotalBytes
  }
}

/// How a board came to be, and with that when it ends (UIPasteboard: named and unique pasteboards).
public enum BoardOrigin: Hashable, Sendable {
  /// A policy names it: it ends when no policy does any more.
  case policy
  /// A program made it by name: it ends when it is removed.
  case created
  /// A program asked for one of its own, which ends with that program's connection.
  case unique(connection: UInt64)
}

/// Who may read and write a board.
public enum BoardMembers: Hashable, Sendable {
  /// The members that policy gives the board of this name.
  case ofBoard(String)
  /// The app that made it.
  case app(Subject)
}

/// One named pasteboard.
public struct Board: Sendable {
  /// Its name, also that of its selection.
  public let name: String
  /// How it came to be.
  public let origin: BoardOrigin
  /// Who may use it.
  public let members: BoardMembers
  /// What it keeps.
  public var settings: BoardSettings
  /// Grows with every change, and is never the same again for a board of this name.
  public internal(set) var changeCount: UInt64 = 0
  /// The newest first.
  public internal(set) var items: [BoardItem] = []

  /// An empty board.
  public init(name: String, origin: BoardOrigin, members: BoardMembers, settings: BoardSettings) {
    self.name = name
    self.origin = origin
    self.members = members
    self.settings = settings
  }

  /// Bytes of all its items.
  public var byteCount: Int { items.reduce(0) { $0 + $1.byteCount } }

  /// The item of this number.
  public func item(_ number: UInt64) -> BoardItem? { items.first { $0.number == number } }

  /// The types of all items, each once, the newest item's first (UIPasteboard, `types`).
  public var types: [String] {
    var seen = Set<String>()
    return items.flatMap(\.types).filter { seen.insert($0).inserted }
  }

  /// Whether an item has one of `types` (UIPasteboard, `contains(pasteboardTypes:)`): no content is looked at.
  public func contains(_ types: Set<String>) -> Bool { !items(with: types).isEmpty }

  /// The numbers of the items that have one of `types` (UIPasteboard, `itemSet(withPasteboardTypes:)`).
  public func items(with types: Set<String>) -> [UInt64] {
    items.filter { !types.isDisjoint(with: $0.types) }.map(\.number)
  }
}
