/// Where a transfer goes: one property of one window holds one value at a time.
public struct TransferKey: Hashable, Sendable {
  /// The requestor.
  public var window: Window
  /// The property it named.
  public var property: Atom

  /// Names the property of that window.
  public init(window: Window, property: Atom) {
    self.window = window
    self.property = property
  }
}

/// An incremental transfer to one requestor (ICCCM 2.7.2): an announcement, chunks, a zero-length end, each stored after
/// the requestor has deleted the one before. Content of at most one chunk goes in one property and never gets here.
public struct OutgoingTransfer: Hashable, Sendable {
  /// What to store next.
  public enum Step: Hashable, Sendable {
    /// That chunk of the payload.
    case store(chunk: Int)
    /// The zero-length end; the transfer is then over.
    case storeEnd
  }

  /// The largest content sent in one property, and the size of a chunk (product.md 5.6).
  public static let chunkBytes = Payload.segmentBytes

  /// What is sent.
  public let representation: Representation
  /// The chunk that is stored when the requestor has deleted what lies there now.
  public private(set) var nextChunk = 0

  /// A transfer whose announcement is about to be stored.
  public init(_ representation: Representation) { self.representation = representation }

  /// Whether so many bytes must be sent incrementally.
  public static func isNeeded(for payload: Payload) -> Bool { payload.count > chunkBytes }

  /// The requestor deleted the property: it has taken what lay there.
  public mutating func propertyDeleted() -> Step {
    guard nextChunk < representation.payload.chunkCount else { return .storeEnd }
    nextChunk += 1
    return .store(chunk: nextChunk - 1)
  }
}
