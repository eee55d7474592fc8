/// What the store is asked to do. Each order is one transaction: it is carried out whole or not at all.
public enum StoreOrder: Sendable {
  /// Makes the board, or changes what is known of the one of this name.
  case saveBoard(BoardRecord)
  /// Removes the board with all its items; nothing of it is left in the files when this is confirmed.
  case removeBoard(String)
  /// Keeps the item, in the place of the one with its number if there is one. The board is there already.
  case keep(NewItem, onBoard: String, changeCount: UInt64)
  /// Keeps these items in the place of all that are on the board.
  case replaceItems([NewItem], onBoard: String, changeCount: UInt64)
  /// Changes what is known of an item, not its content.
  case amend(ItemRecord, onBoard: String, changeCount: UInt64)
  /// Removes items; numbers that aren't there are no failure. Nothing of them is left when this is confirmed.
  case removeItems([UInt64], fromBoard: String, changeCount: UInt64)
  /// Removes all items that end at `now` (milliseconds after 1970) or before. Answered by ``StoreEvent/expired(_:_:)``.
  case removeExpired(now: Int64)
  /// Reads one representation, counted from 0. Answered by ``StoreEvent/content(_:_:)``.
  case read(ItemPlace, representation: Int)
  /// Seals everything anew, with a new key from the first source that has or makes one. Answered by
  /// ``StoreEvent/rekeyed(_:_:remarks:)``. While it is carried out the log grows by as much as the store holds.
  case rekey
}

/// Numbers orders in the order of their submission, so that an answer can be told to its order.
public struct OrderNumber: Hashable, Sendable {
  let value: UInt64
}

/// What the store says. The first is ``opened(_:)`` or ``unavailable(_:)``; after that each order has one answer, in the
/// order of their submission.
public enum StoreEvent: Sendable {
  /// The store can be used, and this is in it.
  case opened(StoreContents)
  /// The store can't be used; every order will be rejected, and its files stay as they are.
  case unavailable(StoreFailure)
  /// The order is carried out: it survives the end of the process and, if the disk keeps its word, a power cut.
  case done(OrderNumber)
  /// The content that was asked for.
  case content(OrderNumber, StoredContent)
  /// The items that have ended and are removed.
  case expired(OrderNumber, [ItemPlace])
  /// Everything is sealed with a new key, from this source.
  case rekeyed(OrderNumber, KeySource, remarks: [String])
  /// What has been removed still stands, sealed, in the log, which couldn't be emptied; it is tried again with the next
  /// order. No answer to an order.
  case remains(StoreFailure)
  /// The order is not carried out, nor any part of it.
  case rejected(OrderNumber, StoreFailure)
}

/// Why a store can't be opened, or why it rejects an order.
public enum StoreFailure: Error, Hashable, Sendable {
  /// The system refused a call on a file or folder (`errno`).
  case system(call: String, path: String, code: Int32)
  /// Another process has the store.
  case inUse(path: String)
  /// The file isn't a store of ours.
  case foreign(path: String)
  /// The file's format is of another version.
  case otherVersion(path: String, found: Int32, expected: Int32)
  /// The file, or content in it, isn't as it was written; what is wrong with it, in words.
  case damaged(path: String, String)
  /// The key's source isn't there; why, in words.
  case keyUnavailable(KeySource, String)
  /// No key that was found is the one the file was sealed with, which came from this source.
  case wrongKey(path: String, KeySource)
  /// There is no new key to seal with; why, in words.
  case noNewKey(String)
  /// The disk is full.
  case full(path: String)
  /// There is no board of this name.
  case noBoard(String)
  /// There is no such item, or no such representation of it.
  case noItem
  /// SQLite refused: its extended code and its words.
  case database(code: Int32, String)
}

extension StoreFailure: CustomStringConvertible {
  /// One line, lower case.
  public var description: String {
    switch self {
    case .system(let call, let path, let code): "\(path): \(call): \(StoreFiles.reason(code))"
    case .inUse(let path): "\(path): another daemon of this user has the boards; they aren't kept here"
    case .foreign(let path): "\(path): expected a store of boards, found another file; it is left as it is"
    case .otherVersion(let path, let found, let expected):
      "\(path): expected a store of version \(expected), found version \(found); it is left as it is"
    case .damaged(let path, let what): "\(path): \(what); it is left as it is"
    case .keyUnavailable(let source, let why): "the key of the boards can't be had from \(source.words): \(why)"
    case .wrongKey(let path, let source):
      "\(path): sealed with another key than the one found (it came from \(source.words)); it is left as it is"
    case .noNewKey(let why): "no new key: \(why)"
    case .full(let path): "\(path): the disk is full; nothing was changed"
    case .noBoard(let name): "there is no board `\(name)`"
    case .noItem: "there is no such item"
    case .database(let code, let words): "sqlite: \(words) (\(code))"
    }
  }
}
