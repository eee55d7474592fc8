import Glibc
import Synchronization

/// Pages that hold content and nothing else: out of core dumps, not inherited by child processes, and kept out of swap
/// where the system permits it.
///
/// Whoever stores content here wipes it, for only the one who stored it knows how far it reaches; or asks for pages that
/// are wiped as a whole when their last user lets go.
@safe public final class GuardedPages: @unchecked Sendable {
  /// Bytes in all pages of this kind, and those of them that the system didn't let us keep out of swap.
  public struct Usage: Hashable, Sendable {
    /// Bytes held, in whole pages.
    public var bytes: Int
    /// Those that may be swapped out: RLIMIT_MEMLOCK is reached, or locking is forbidden.
    public var unlockedBytes: Int
  }

  // Counted by whoever makes or ends pages, which tests do from several threads.
  private static let held = Atomic<Int>(0)
  private static let locked = Atomic<Int>(0)
  private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

  /// What all pages amount to now.
  public static var usage: Usage {
    let held = held.load(ordering: .relaxed)
    return Usage(bytes: held, unlockedBytes: max(0, held - locked.load(ordering: .relaxed)))
  }

  /// The first byte.
  public let base: UnsafeMutableRawPointer
  /// The number of bytes asked for.
  public let byteCount: Int
  /// Whether they can be written, and so wiped.
  public private(set) var isWritable: Bool
  private var lockedBytes = 0
  private let isWipedAtEnd: Bool

  /// Pages of this process's own, all zero; with `wipedAtEnd` they are wiped before they are given back. With `locksLater`
  /// they are kept out of swap only as far as ``lock(upTo:)`` says.
  public init(byteCount: Int, wipedAtEnd: Bool = false, locksLater: Bool = false) {
    let found = mmap(nil, max(1, byteCount), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let found, found != MAP_FAILED else { fatalError("the system has no memory for \(byteCount) bytes") }
    base = found
    self.byteCount = byteCount
    isWritable = true
    isWipedAtEnd = wipedAtEnd
    count()
    if !locksLater { lock() }
  }

  /// The memory behind `descriptor`, shared with whoever else has it; `nil` when it can't be mapped. Its size has to be
  /// sealed, or touching what somebody cut off would end the program. Not locked before ``lock()``.
  public init?(descriptor: Int32, byteCount: Int, isWritable: Bool) {
    let protection = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
    guard byteCount > 0, let found = mmap(nil, byteCount, protection, MAP_SHARED, descriptor, 0), found != MAP_FAILED
    else { return nil }
    base = found
    self.byteCount = byteCount
    self.isWritable = isWritable
    isWipedAtEnd = false
    count()
  }

  deinit {
    if isWipedAtEnd { wipe(0..<byteCount) }
    munmap(base, max(1, byteCount))
    Self.held.subtract(wholeBytes, ordering: .relaxed)
    Self.locked.subtract(lockedBytes, ordering: .relaxed)
  }

  private var wholeBytes: Int { (max(1, byteCount) + Self.pageBytes - 1) / Self.pageBytes * Self.pageBytes }

  private func count() {
    // Both only fail for kernels built without them; the content is then no worse off than in ordinary memory.
    madvise(base, max(1, byteCount), MADV_DONTDUMP)
    madvise(base, max(1, byteCount), MADV_DONTFORK)
    Self.held.add(wholeBytes, ordering: .relaxed)
  }

  /// Keeps the pages out of swap. Where the system refuses, ``usage`` tells.
  public func lock() { lock(upTo: byteCount) }

  /// Keeps those pages out of swap that hold the first `end` bytes. Locking has the system make them, which takes 30 ms
  /// for 64 MiB at once: who must not stand still for so long does it part by part, before there is anything in them.
  public func lock(upTo end: Int) {
    let wanted = min(wholeBytes, (max(1, end) + Self.pageBytes - 1) / Self.pageBytes * Self.pageBytes)
    guard wanted > lockedBytes, mlock(base + lockedBytes, wanted - lockedBytes) == 0 else { return }
    Self.locked.add(wanted - lockedBytes, ordering: .relaxed)
    lockedBytes = wanted
  }

  /// Leaves what is in them to whoever else has them: they are neither written nor wiped from here on.
  public func leave() { isWritable = false }

  /// Overwrites `range` with zeros, in a way that no compiler leaves out.
  public func wipe(_ range: Range<Int>) {
    guard isWritable else { return }
    precondition(range.lowerBound >= 0 && range.upperBound <= byteCount, "wiping outside of the pages")
    explicit_bzero(base + range.lowerBound, range.count)
  }

  /// Does to memory that somebody else has allocated what these pages have: `count` bytes at `start`, and what else lies
  /// on the same pages, are left out of core dumps and kept out of swap. For buffers inside libraries.
  public static func guardForeign(_ start: UnsafeMutableRawPointer, byteCount count: Int) {
    let first = UInt(bitPattern: start) & ~UInt(pageBytes - 1)
    let end = (UInt(bitPattern: start) + UInt(count) + UInt(pageBytes - 1)) & ~UInt(pageBytes - 1)
    guard let pages = UnsafeMutableRawPointer(bitPattern: first) else { return }
    madvise(pages, Int(end - first), MADV_DONTDUMP)
    mlock(pages, Int(end - first))
  }
}
