/// Properties of a board that are kept with it. What each bit says is the caller's; the store keeps them all.
public struct BoardFlags: OptionSet, Hashable, Sendable {
  /// The bits.
  public var rawValue: UInt32

  /// Flags with these bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The board is kept until it is removed, whoever made it.
  public static let persistent = BoardFlags(rawValue: 1 << 0)
  /// What is on the board doesn't leave this display.
  public static let localOnly = BoardFlags(rawValue: 1 << 1)
}

/// A board without its items.
public struct BoardRecord: Hashable, Sendable {
  /// The name, which no other board has.
  public var name: String
  /// Grows with every change and never falls.
  public var changeCount: UInt64
  /// See ``BoardFlags``.
  public var flags: BoardFlags

  /// A board of this name.
  public init(name: String, changeCount: UInt64 = 0, flags: BoardFlags = .persistent) {
    (self.name, self.changeCount, self.flags) = (name, changeCount, flags)
  }
}

/// What is known of an item without its content. Times are milliseconds after 1970-01-01 UTC.
public struct ItemRecord: Hashable, Sendable {
  /// The item's number, which no other item of its board has.
  public var serial: UInt64
  /// The place in the board's order, ascending; the caller's choice.
  public var position: Int64
  /// When it was copied.
  public var created: Int64
  /// When it ends; `nil` is never.
  public var expires: Int64?
  /// Whether the person wants to keep it.
  public var isPinned: Bool
  /// The program it came from, in the caller's words.
  public var source: String

  /// An item with these facts.
  public init(
    serial: UInt64, position: Int64, created: Int64, expires: Int64? = nil, isPinned: Bool = false, source: String = ""
  ) {
    (self.serial, self.position, self.created) = (serial, position, created)
    (self.expires, self.isPinned, self.source) = (expires, isPinned, source)
  }
}

/// One form of an item's content, without the content.
public struct RepresentationRecord: Hashable, Sendable {
  /// The type's name.
  public var type: String
  /// The size of its content.
  public var byteCount: Int
}

/// An item that is to be kept.
public struct NewItem: Sendable {
  /// One form of its content.
  public struct Representation: Sendable {
    /// The type's name.
    public var type: String
    /// The bytes.
    public var content: StoredContent

    /// `content` as `type`.
    public init(type: String, content: StoredContent) { (self.type, self.content) = (type, content) }
  }

  /// Everything but the content.
  public var record: ItemRecord
  /// The content, in the order of the types.
  public var representations: [Representation]

  /// An item with its content.
  public init(_ record: ItemRecord, _ representations: [Representation]) {
    (self.record, self.representations) = (record, representations)
  }
}

/// Where an item lies.
public struct ItemPlace: Hashable, Sendable {
  /// The board's name.
  public var board: String
  /// The item's number.
  public var serial: UInt64

  /// Item `serial` of `board`.
  public init(board: String, serial: UInt64) { (self.board, self.serial) = (board, serial) }
}

/// An item of the store as it stands there at the start.
public struct KeptItem: Hashable, Sendable {
  /// Everything but the content.
  public var record: ItemRecord
  /// Names and sizes, in order; the content is read by ``StoreOrder/read(_:representation:)``.
  public var representations: [RepresentationRecord]
}

/// A board of the store as it stands there at the start.
public struct KeptBoard: Hashable, Sendable {
  /// The board.
  public var record: BoardRecord
  /// Its items, by position, then by number.
  public var items: [KeptItem]
}

/// What a store holds when it has been opened.
public struct StoreContents: Hashable, Sendable {
  /// The boards, by name.
  public var boards: [KeptBoard]
  /// Where the key came from.
  public var keySource: KeySource
  /// What the person should know, a sentence each: content that can't be read, a key source that wasn't there.
  public var remarks: [String]
}

/// Where a key lies.
public enum KeySource: String, CaseIterable, Hashable, Sendable {
  /// A credential of the service manager.
  case credential
  /// The session's Secret Service.
  case secretService = "secret-service"
  /// A file beside the store.
  case keyFile = "key-file"

  /// The source in words.
  public var words: String {
    switch self {
    case .credential: "the service manager's credential"
    case .secretService: "the Secret Service"
    case .keyFile: "the key file"
    }
  }
}
