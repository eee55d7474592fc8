import CSystemd
import Glibc
import Synchronization

/// Letters from one thread to another, in order. All that the two threads share: a list behind a lock that is never held
/// for longer than it takes to move it, and a descriptor that can be read while there are letters.
final class Mailbox<Letter: Sendable>: Sendable {
  private let letters = Mutex<[Letter]>([])
  /// Readable (`EPOLLIN`) while letters wait.
  let descriptor: Int32

  /// An empty box.
  init() throws(StoreFailure) {
    descriptor = xpb_eventfd()
    guard descriptor >= 0 else { throw StoreFailure.system(call: "eventfd", path: "the store", code: errno) }
  }

  deinit { close(descriptor) }

  /// Adds a letter.
  func put(_ letter: Letter) {
    letters.withLock { $0.append(letter) }
    var one: UInt64 = 1
    // Fails only at 2^64 letters.
    _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
  }

  /// Takes all letters, perhaps none.
  func takeAll() -> [Letter] {
    var count: UInt64 = 0
    // Before the list is taken, so that a letter put in between is seen the next time.
    _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
    return letters.withLock { letters in
      defer { letters = [] }
      return letters
    }
  }

  /// Sleeps until there are letters, and takes them.
  func waitForLetters() -> [Letter] {
    while true {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      poll(&entry, 1, -1)
      let found = takeAll()
      if !found.isEmpty { return found }
    }
  }
}
