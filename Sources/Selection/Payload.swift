import GuardedMemory

/// Content: bytes that never print and are wiped when freed.
///
/// The bytes lie in segments of ``segmentBytes``, which is also the size of a chunk we send (product.md 5.6), so that a
/// large clip is stored and sent without being copied together, and memory grows by what arrives.
/// Its description, debug description and mirror show the size alone (architecture.md, "content never prints").
public struct Payload: Sendable {
  /// 256 KiB: the chunk with which an INCR transfer was fastest and no tested requestor failed (Tk fails above 400 000
  /// bytes in one property).
  public static let segmentBytes = 256 << 10

  private var segments: [Segment] = []
  /// The number of bytes.
  public private(set) var count = 0

  /// No bytes.
  public init() {}

  /// A copy of `bytes`.
  public init(_ bytes: some Collection<UInt8>) {
    unsafe Array(bytes).withUnsafeBytes { unsafe append($0) }
  }

  /// The bytes at `range` of `pages`, where they stay.
  public init(_ range: Range<Int>, of pages: GuardedPages) {
    count = range.count
    for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.segmentBytes) {
      segments.append(Segment(start..<min(start + Self.segmentBytes, range.upperBound), of: pages))
    }
  }

  /// Whether there are no bytes.
  public var isEmpty: Bool { count == 0 }

  /// The number of chunks of at most ``segmentBytes`` that hold the bytes.
  public var chunkCount: Int { segments.count }

  /// The number of bytes in chunk `index`.
  public func byteCount(ofChunk index: Int) -> Int { segments[index].count }

  /// Adds a copy of `bytes` at the end.
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    var rest = unsafe bytes
    while unsafe !rest.isEmpty {
      if segments.last.map({ $0.count == Self.segmentBytes }) ?? true {
        segments.append(Segment(capacity: min(rest.count, Self.segmentBytes)))
      } else if segments[segments.count - 1].isFull || !isKnownUniquelyReferenced(&segments[segments.count - 1]) {
        // A shared or exactly sized segment is replaced by a larger copy; the old one is wiped with its last user.
        let last = segments[segments.count - 1]
        let grown = Segment(capacity: Self.segmentBytes)
        unsafe last.withBytes { _ = unsafe grown.append($0) }
        segments[segments.count - 1] = grown
      }
      let taken = unsafe segments[segments.count - 1].append(rest)
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken))
      count += taken
    }
  }

  /// Adds a copy of another payload at the end.
  public mutating func append(_ other: Payload) {
    if isEmpty {
      self = other
      return
    }
    for segment in other.segments { unsafe segment.withBytes { unsafe append($0) } }
  }

  /// Calls `body` with the bytes of chunk `index`, valid only inside the call.
  public func withChunk<R>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    unsafe try segments[index].withBytes { unsafe try body($0) }
  }

  /// Takes chunk `index` over to `offset` of `pages`, for this payload and all copies of it. Nothing that can be seen
  /// changes but where the bytes lie: all chunks before the last are of ``segmentBytes``, so chunk after chunk at such
  /// distances puts them side by side.
  public func moveChunk(_ index: Int, to pages: GuardedPages, at offset: Int) {
    segments[index].move(to: pages, at: offset)
  }

  /// Whether the bytes begin with these, which are few.
  public func starts(with prefix: [UInt8]) -> Bool {
    guard let first = segments.first else { return prefix.isEmpty }
    return unsafe first.withBytes { unsafe $0.starts(with: prefix) }
  }

  /// A digest of the content under this process's random key: of a long one the first and the last `limit` bytes count.
  public func digest(ofEnds limit: Int) -> Int {
    var hasher = Hasher()
    unsafe forEachEnd(limit) { unsafe hasher.combine(bytes: $0) }
    return hasher.finalize()
  }

  /// The same of a text whose line ends count alike, however they are written, and whose blanks at the end don't count.
  /// Equal texts in this sense have equal digests.
  public func textDigest(ofEnds limit: Int) -> Int {
    var hasher = Hasher()
    // Blanks count only when something follows them.
    var blanks: [UInt8] = []
    var isAfterReturn = false
    unsafe forEachEnd(limit) { bytes in
      for index in bytes.indices {
        let byte = unsafe bytes[index]
        // Written as CR, LF or both, a line end is one.
        defer { isAfterReturn = byte == 0x0d }
        switch byte {
        case 0x0a where isAfterReturn: continue
        case 0x0a, 0x0d: blanks.append(0x0a)
        case 0x09, 0x20: blanks.append(byte)
        default:
          for blank in blanks { hasher.combine(blank) }
          blanks.removeAll(keepingCapacity: true)
          hasher.combine(byte)
        }
      }
    }
    return hasher.finalize()
  }

  /// Calls `body` with the first and the last `limit` bytes, piece by piece, each byte once.
  private func forEachEnd(_ limit: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    var start = 0
    for segment in segments {
      unsafe segment.withBytes { bytes in
        let head = max(0, min(limit - start, bytes.count))
        let tail = min(bytes.count, max(head, max(limit, count - limit) - start))
        if head > 0 { unsafe body(UnsafeRawBufferPointer(rebasing: bytes[..<head])) }
        if tail < bytes.count { unsafe body(UnsafeRawBufferPointer(rebasing: bytes[tail...])) }
      }
      start += segment.count
    }
  }

  /// Whether all bytes are ASCII, which is the same in most encodings of text; only of at most `limit` bytes. Not with an
  /// escape, by which COMPOUND_TEXT writes other letters in seven bits (ISO 2022).
  public func isASCII(upTo limit: Int) -> Bool {
    guard count <= limit else { return false }
    let escape: UInt8 = 0x1b
    return segments.allSatisfy { segment in
      unsafe segment.withBytes { unsafe $0.allSatisfy { $0 < 0x80 && $0 != escape } }
    }
  }

  /// All bytes in one array, for small content and tests; the array is not wiped.
  public func copiedBytes() -> [UInt8] {
    var all: [UInt8] = []
    all.reserveCapacity(count)
    for segment in segments { unsafe segment.withBytes { unsafe all.append(contentsOf: $0) } }
    return all
  }

  /// A copy of the first bytes, at most `limit`, for what tells kinds of content apart.
  public func copiedBytes(ofFirst limit: Int) -> [UInt8] {
    guard !isEmpty else { return [] }
    return unsafe withChunk(0) { unsafe Array($0.prefix(limit)) }
  }
}

extension Payload: Hashable {
  /// Equal lengths and bytes.
  public static func == (lhs: Payload, rhs: Payload) -> Bool {
    guard lhs.count == rhs.count else { return false }
    guard lhs.segments.map(\.count) == rhs.segments.map(\.count) else {
      return lhs.copiedBytes() == rhs.copiedBytes()
    }
    return zip(lhs.segments, rhs.segments).allSatisfy { one, other in
      if one === other { return true }
      return unsafe one.withBytes { left in unsafe other.withBytes { unsafe left.elementsEqual($0) } }
    }
  }

  /// Hashes the length alone: content goes into no hash table.
  public func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

extension Payload: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The size, never the bytes.
  public var description: String { "\(count) bytes" }
  /// The size, never the bytes.
  public var debugDescription: String { description }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// One stretch of wiped memory. Not for two threads at a time once it may be moved, which only the daemon's one thread
/// does.
@safe private final class Segment: @unchecked Sendable {
  private var pages: GuardedPages
  private var offset = 0
  private var capacity: Int
  private(set) var count = 0

  init(capacity: Int) {
    self.capacity = capacity
    pages = GuardedPages(byteCount: capacity)
  }

  /// What lies at `range` of `pages` already.
  init(_ range: Range<Int>, of pages: GuardedPages) {
    precondition(range.lowerBound >= 0 && range.upperBound <= pages.byteCount, "content outside of its pages")
    self.pages = pages
    (offset, capacity, count) = (range.lowerBound, range.count, range.count)
  }

  // Wiped before it is given back: freed memory must hold no content (product.md 8, architecture 9).
  deinit { pages.wipe(offset..<offset + count) }

  var isFull: Bool { count == capacity }

  private var base: UnsafeMutableRawPointer { unsafe pages.base + offset }

  /// Copies as many bytes as fit and says how many.
  func append(_ bytes: UnsafeRawBufferPointer) -> Int {
    let taken = min(bytes.count, capacity - count)
    // In bounds: `taken` is at most what is left of the capacity.
    unsafe (base + count).copyMemory(from: bytes.baseAddress!, byteCount: taken)
    count += taken
    return taken
  }

  /// Takes the bytes over to `offset` of `other` and wipes them where they were.
  func move(to other: GuardedPages, at offset: Int) {
    precondition(offset >= 0 && offset + count <= other.byteCount && other.isWritable, "no room for the content")
    // In bounds by the line above; two mappings never overlap.
    unsafe (other.base + offset).copyMemory(from: base, byteCount: count)
    pages.wipe(self.offset..<self.offset + count)
    pages = other
    self.offset = offset
    // What lies behind belongs to somebody else.
    capacity = count
  }

  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    unsafe try body(UnsafeRawBufferPointer(start: base, count: count))
  }
}
