import BridgeCore
@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

/// What the daemon lets its watchdog know of held presses, in a page of memory that both have: a few stores for each
/// press, and no call.
final class PressPage {
  private static let byteCount = 4_096

  private enum Word: Int {
    case attendsSince, reads, holdsServer, wasFreed
  }

  /// The page as a file in memory.
  let descriptor: OwnedDescriptor
  private let words: UnsafeMutablePointer<UInt>

  /// A new page.
  convenience init() throws(SystemFailure) {
    let made = try Posix.memfd("presses", byteCount: Self.byteCount)
    try Posix.addSeals(made, Posix.Seals.size)
    try self.init(made)
  }

  /// The page behind a descriptor, which has to be one.
  init(_ descriptor: OwnedDescriptor) throws(SystemFailure) {
    guard Posix.sealedByteCount(descriptor, Posix.Seals.size) == Self.byteCount else {
      throw SystemFailure(call: "fcntl", code: EINVAL)
    }
    let found = mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.number, 0)
    guard let found, found != MAP_FAILED else { throw SystemFailure(call: "mmap", code: errno) }
    self.descriptor = descriptor
    words = found.assumingMemoryBound(to: UInt.self)
  }

  isolated deinit { munmap(words, Self.byteCount) }

  private subscript(word: Word) -> UInt {
    // In bounds: the words are the first of the page, whose size is sealed.
    get { xpb_load_word(words + word.rawValue) }
    set { xpb_store_word(words + word.rawValue, newValue) }
  }

  // MARK: the daemon's side

  /// Reading begins: from here to ``rest()`` the daemon answers for what stands still.
  func attend(at now: MonotonicTime) {
    if self[.attendsSince] == 0 { self[.attendsSince] = UInt(now.nanoseconds) }
    self[.reads] &+= 1
  }

  /// Everything read is dealt with. That counts as a reading, too: what the watchdog has seen unread until now is read by
  /// now, and must not make what comes next look as old.
  func rest() {
    self[.reads] &+= 1
    self[.attendsSince] = 0
  }

  /// Whether no client but the daemon is served now.
  var holdsServer: Bool {
    get { self[.holdsServer] != 0 }
    set { self[.holdsServer] = newValue ? 1 : 0 }
  }

  // MARK: the watchdog's side

  /// Whether the watchdog has let the person's input go.
  var wasFreed: Bool {
    get { self[.wasFreed] != 0 }
    set { self[.wasFreed] = newValue ? 1 : 0 }
  }

  /// What the watchdog sees; `isUnread` was looked up before.
  func sight(isUnread: Bool) -> StallWatch.Sight {
    let since = self[.attendsSince]
    return StallWatch.Sight(
      isUnread: isUnread, reads: UInt64(self[.reads]),
      attendsSince: since == 0 ? nil : MonotonicTime(nanoseconds: UInt64(since)))
  }
}
