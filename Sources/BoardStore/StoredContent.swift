import GuardedMemory

/// Content on its way to or from the store: bytes that don't change, never print, and are wiped with their last user.
@safe public struct StoredContent: Sendable {
  /// The pages the bytes lie in, from the first on. Whoever takes them over needn't wipe them: they wipe themselves.
  public let pages: GuardedPages

  /// The number of bytes.
  public var byteCount: Int { pages.byteCount }

  /// A copy of `bytes`, for small content and tests.
  public init(_ bytes: some Collection<UInt8>) {
    var draft = ContentDraft(byteCount: bytes.count)
    Array(bytes).withUnsafeBytes { draft.append($0) }
    self = draft.finished()
  }

  fileprivate init(_ pages: GuardedPages) { self.pages = pages }

  /// Calls `body` with the bytes, valid only inside the call.
  public func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    // The pages live as long as this value and have at least so many bytes.
    try body(UnsafeRawBufferPointer(start: pages.base, count: byteCount))
  }
}

extension StoredContent: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The size, never the bytes.
  public var description: String { "\(byteCount) bytes" }
  /// The size, never the bytes.
  public var debugDescription: String { description }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Content that is being put together, in as many steps as the caller likes: a large clip needn't be copied in one go.
public struct ContentDraft: ~Copyable {
  private let pages: GuardedPages
  private var count = 0

  /// Room for exactly `byteCount` bytes.
  public init(byteCount: Int) { pages = GuardedPages(byteCount: byteCount, wipedAtEnd: true, locksLater: true) }

  /// How many bytes are still to come.
  public var missing: Int { pages.byteCount - count }

  /// Adds a copy of `bytes`, at most ``missing`` of them.
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= missing, "more content than was announced")
    guard let start = bytes.baseAddress else { return }
    pages.lock(upTo: count + bytes.count)
    // In bounds by the line above.
    (pages.base + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  /// Calls `body` with the room for the next `byteCount` bytes, which it fills.
  mutating func fill<E: Error>(_ byteCount: Int, _ body: (UnsafeMutableRawPointer) throws(E) -> Void) throws(E) {
    precondition(byteCount <= missing, "more content than was announced")
    pages.lock(upTo: count + byteCount)
    try body(pages.base + count)
    count += byteCount
  }

  /// The content, once nothing is missing; the draft ends here, so nobody writes into it any more.
  public consuming func finished() -> StoredContent {
    precondition(missing == 0, "content that isn't whole")
    return StoredContent(pages)
  }
}
