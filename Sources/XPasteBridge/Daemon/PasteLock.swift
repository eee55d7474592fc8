import Glibc
import Selection
import X11

/// The paste's half of the priority lock: from the moment in which protected content lies in a requestor's property until the
/// requestor has taken it out, the X server takes nobody's requests but the requestor's and ours.
///
/// Without it a program that follows the properties of other programs' windows reads what is pasted there (measured: 59 of
/// 60). The daemon waits for it, since nobody else could have anything of it meanwhile.
final class PasteLock {
  /// How long putting others behind may take. Our choice: 1 to 5 ms on a busy machine.
  static let lockingMilliseconds = 50
  /// How long a requestor is waited for. Our choice: GTK and Qt take 1 to 13 ms on a busy machine; a standstill of more than that
  /// is seen.
  static let heldMilliseconds = 50
  /// How long a client that didn't take its paste in time isn't put ahead again: it would hold up everybody else.
  private static let pauseMilliseconds = 2_000
  /// Between two looks at the property.
  private static let pauseMicroseconds: UInt32 = 100

  private let display: Display
  private var awaited: [(window: Window, property: Atom)] = []
  private var order: PriorityLockRunner?
  private var slowClient: (base: UInt32, until: MonotonicTime)?

  /// Pastes that nobody else could read.
  private(set) var taken = 0
  /// Protected pastes that others could have read: the order couldn't be had in time, or the requestor was slow.
  private(set) var open = 0

  /// Nothing is locked.
  init(display: Display) { self.display = display }

  /// Protected content is about to be stored for `window`.
  func begin(_ window: Window, _ property: Atom, order wanted: PriorityLockRunner?) {
    if order == nil {
      guard let wanted, !isSlow(window), wanted.begin(pasteInto: window) else {
        open += 1
        return
      }
      order = wanted
    }
    awaited.append((window, property))
  }

  /// Everything is stored and announced: waits until it has been taken out, then lets everybody go on.
  func end() {
    guard let order else { return }
    let deadline = MonotonicTime.now.advanced(byMilliseconds: Self.heldMilliseconds)
    display.flush()
    while let (window, property) = awaited.last {
      if !display.holds(property, of: window) {
        taken += 1
        awaited.removeLast()
      } else if MonotonicTime.now >= deadline {
        break
      } else {
        order.continuePaste()
        usleep(Self.pauseMicroseconds)
      }
    }
    if let slow = awaited.last {
      open += awaited.count
      let until = MonotonicTime.now.advanced(byMilliseconds: Self.pauseMilliseconds)
      slowClient = (slow.window.id & ~display.resourceMask, until)
      awaited = []
    }
    order.endPaste()
    self.order = nil
  }

  private func isSlow(_ window: Window) -> Bool {
    guard let slowClient, MonotonicTime.now < slowClient.until else { return false }
    return window.id & ~display.resourceMask == slowClient.base
  }
}
