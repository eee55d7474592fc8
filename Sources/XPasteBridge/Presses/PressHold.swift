import Actions
@preconcurrency import Glibc
import Selection
import X11

/// The connection on which presses are held back, and the process that watches over it: they are there together, or
/// neither is.
final class PressHold {
  /// How long the process may take to begin (our choice: a hundred times what it takes).
  private static let startMilliseconds = 2_000

  private enum Standing {
    /// The process has been started.
    case starting(since: MonotonicTime)
    /// It watches.
    case watching
    /// One of the two is gone.
    case ended
  }

  /// The connection.
  let connection: PressDisplay
  /// The process's number.
  let watchdog: pid_t
  private let page: PressPage
  private let control: OwnedDescriptor
  private let arrivals: OwnedDescriptor
  private var standing: Standing
  private var isPointerHeld = false
  private var isKeyboardHeld = false
  private var waiting: [HeldPress] = []

  /// Opens both; the process, `program` in its role, says later that it watches. What comes from either can be waited for
  /// by `arrivals`. `nil` without a further connection to the display.
  init?(beside display: Display, program: String, arrivals: OwnedDescriptor) throws(SystemFailure) {
    guard let connection = PressDisplay(beside: display) else { return nil }
    self.connection = connection
    self.arrivals = arrivals
    page = try PressPage()
    let (ours, its) = try Posix.socketPair()
    control = ours
    try Posix.epollAdd(arrivals, control.number)
    try Posix.epollAdd(arrivals, connection.fileDescriptor)
    // Its end of the pair is closed here when it has it: then its end is seen.
    defer { withExtendedLifetime(its) {} }
    watchdog = try Posix.spawn(
      program, [InputWatchdog.name, "\(display.name)"],
      descriptors: [its.number, page.descriptor.number, connection.fileDescriptor])
    standing = .starting(since: Posix.monotonicNow())
    connection.onUnexpectedError = display.onUnexpectedError
    display.holdsServer = { [page] in page.holdsServer = $0 }
  }

  /// Whether presses may be held back.
  var isWatching: Bool { if case .watching = standing { true } else { false } }
  /// Whether it isn't known yet if they may.
  var isStarting: Bool { if case .starting = standing { true } else { false } }
  /// Whether nothing is held back here any more.
  var hasEnded: Bool { if case .ended = standing { true } else { false } }
  /// Whether the process has let the person's input go.
  var wasFreed: Bool { page.wasFreed }

  /// Ends both.
  func close(_ display: Display) {
    display.holdsServer = { _ in }
    Posix.epollRemove(arrivals, control.number)
    Posix.epollRemove(arrivals, connection.fileDescriptor)
    connection.close()
    Posix.end(watchdog)
    standing = .ended
  }

  /// Takes in what has come, until nothing is left.
  func takePresses() -> [HeldPress] {
    let readable = Posix.epollWait(arrivals, until: MonotonicTime(nanoseconds: 0))
    if readable.contains(control.number) { hear() }
    if case .starting(let since) = standing,
      Posix.monotonicNow() >= since.advanced(byMilliseconds: Self.startMilliseconds)
    {
      standing = .ended
    }
    if readable.contains(connection.fileDescriptor) {
      attend()
      collect()
    }
    defer { waiting = [] }
    return waiting
  }

  /// Whether presses wait that ``takePresses()`` hasn't given yet: the server's answers bring them along.
  var hasWaitingPresses: Bool { !waiting.isEmpty }

  private func collect() {
    while let press = connection.nextPress() {
      switch press {
      case .button: isPointerHeld = true
      case .key, .stoppedKey: isKeyboardHeld = true
      }
      waiting.append(press)
    }
    if connection.isLost { standing = .ended }
    restIfDone()
  }

  /// One byte when the process watches, and the end when it has ended.
  private func hear() {
    guard let said = try? Posix.read(control.number, limit: 16), !said.isEmpty else { return standing = .ended }
    standing = .watching
  }

  /// Whatever is read from here on, the watchdog knows of: before it could be read it was written down, and said. Without
  /// being told it would sleep on, since the kernel wakes up nobody for what has been read meanwhile.
  private func attend() {
    page.attend(at: Posix.monotonicNow())
    // One that doesn't take in what it is told watches no more than one that is gone.
    do throws(SystemFailure) { try Posix.write(".", to: control.number) } catch { standing = .ended }
  }

  private func restIfDone() {
    if !isPointerHeld, !isKeyboardHeld { page.rest() }
  }

  // MARK: requests

  /// Asks the server for presses that paste.
  func grab() -> (hasButton: Bool, keys: [UInt8]) {
    ask((false, [])) { ($0.grabMiddleButton(), $0.grabPasteKeys()) }
  }

  /// Stops keys on a window; returns those that another client has.
  func stop(_ grabs: [KeyGrab], on window: Window) -> [KeyGrab] { ask([]) { $0.stop(grabs, on: window) } }

  /// Stops keys no longer.
  func unstop(_ grabs: [KeyGrab], on window: Window) { ask(()) { $0.unstop(grabs, on: window) } }

  /// A round trip; `none` when the connection has ended. Presses come along with its answer.
  private func ask<T>(_ none: T, _ requests: (PressDisplay) -> T) -> T {
    guard !hasEnded else { return none }
    attend()
    defer { collect() }
    return requests(connection)
  }

  /// Lets the pointer go on.
  func releasePointer(replays: Bool) {
    guard !hasEnded else { return }
    connection.releasePointer(replays: replays)
    isPointerHeld = false
    restIfDone()
  }

  /// Lets the keyboard go on.
  func releaseKeyboard() {
    guard !hasEnded else { return }
    connection.releaseKeyboard()
    isKeyboardHeld = false
    restIfDone()
  }

  /// Lets the keyboard go on, without the key that was stopped at `time`.
  func swallowKey(_ time: ServerTime) {
    guard !hasEnded else { return }
    connection.swallowKey(time)
    isKeyboardHeld = false
    restIfDone()
  }
}
