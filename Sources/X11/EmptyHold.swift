import Glibc
import Selection

/// Selections that are owned and empty, by a connection of its own: what there is to guard while no daemon guards.
public enum EmptyHold {
  /// How long another owner is left between two claims (our choice: 20 claims a second are no load).
  private static let paceMilliseconds = 50

  /// Owns `selections` of the display `name` until `deadline`: who asks is refused, who claims loses it again. A connection
  /// that is ended, too, is made again while the server is there. It ends early when the display can't be opened.
  public static func hold(_ selections: [String], on name: String, until deadline: MonotonicTime) {
    while MonotonicTime.now < deadline {
      guard let display = try? Display.open(name) else { return }
      hold(selections, on: display, until: deadline)
      // A client that ends this one at once mustn't make us faster.
      sleep(until: min(deadline, MonotonicTime.now.advanced(byMilliseconds: paceMilliseconds)))
    }
  }

  private static func hold(_ selections: [String], on display: Display, until deadline: MonotonicTime) {
    let atoms = display.atoms.intern(selections).map(\.atom)
    display.selectOwnerChanges(of: atoms)
    defer { display.close() }
    while !display.isLost, MonotonicTime.now < deadline {
      let owners = display.selectionOwners(of: atoms)
      let lost = zip(atoms, owners).filter { !display.isOurs($0.1) }.map(\.0)
      if !lost.isEmpty { _ = display.seize(lost, time: display.serverTime()) }
      let pause = min(deadline, MonotonicTime.now.advanced(byMilliseconds: paceMilliseconds))
      while MonotonicTime.now < pause, !display.isLost {
        // Requests are refused on the way.
        while display.nextSelectionEvent(isServed: { _ in false }) != nil {}
        display.flush()
        wait(for: display, until: pause)
      }
    }
  }

  private static func wait(for display: Display, until deadline: MonotonicTime) {
    var entry = pollfd(fd: display.fileDescriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&entry, 1, milliseconds(until: deadline))
  }

  private static func sleep(until deadline: MonotonicTime) { _ = poll(nil, 0, milliseconds(until: deadline)) }

  /// What is left, rounded up; 0 when `deadline` has passed.
  private static func milliseconds(until deadline: MonotonicTime) -> Int32 {
    let now = MonotonicTime.now
    guard now < deadline else { return 0 }
    return Int32(clamping: (deadline.nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
  }
}
