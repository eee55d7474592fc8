import Selection
import X11

/// Hears on one display when somebody is about to paste from PRIMARY: by the middle button and by Shift+Insert; where
/// these aren't to be had, or nobody watches over them, by the pointer's way.
final class PointerWatch {
  /// Where a press has happened.
  struct Place {
    /// The innermost window there.
    var window: Window
    /// Whether it is the window manager's own: a frame, a title, a panel of its.
    var isOnWindowManager: Bool
  }

  /// How often the watching process is started within ``startSeconds`` (our choice: a program that ends it again and
  /// again costs us no more than that).
  private static let startCount = 10
  private static let startSeconds = 60

  private let display: Display
  private let program: String?
  private let say: (String, Priority) -> Void
  private let arrivals: OwnedDescriptor?
  private var hold: PressHold?
  private var starts: [MonotonicTime] = []
  private var isWanted = false
  private var isGrabbing = false
  private var followsEntries = false
  private var keys: [UInt8] = []
  private var freed = 0
  /// Whether presses of the button are heard of; else only the pointer's way is.
  private(set) var hasButton = false

  /// `program` takes the role of ``InputWatchdog`` when it is started; without it no press is ever held back.
  init(display: Display, program: String?, say: @escaping (String, Priority) -> Void) {
    self.display = display
    self.program = program
    self.say = say
    arrivals = program == nil ? nil : try? Posix.epollCreate()
  }

  /// To be waited for: readable when ``takePresses()`` has something to do.
  var descriptor: Int32? { arrivals?.number }
  /// Whether it isn't known yet if presses are to be had.
  var isStarting: Bool { hold?.isStarting ?? false }

  /// Begins; whether presses of the button are heard of from now on. They may be later, see ``takePresses()``.
  func start() -> Bool {
    isWanted = true
    settle()
    return hasButton
  }

  /// Ends.
  func stop() {
    isWanted = false
    if isGrabbing, let hold {
      if hasButton { hold.connection.ungrabMiddleButton() }
      hold.connection.ungrabPasteKeys(keys)
    }
    (isGrabbing, hasButton, keys) = (false, false, [])
    settle()
  }

  /// Ends for good.
  func close() {
    hold?.close(display)
    hold = nil
  }

  /// What has been pressed, and whether the button is to be had where that is another than before.
  func takePresses() -> (presses: [HeldPress], hasButton: Bool?) {
    guard hold != nil || isWanted else { return ([], nil) }
    let before = hasButton
    var presses = hold?.takePresses() ?? []
    settle()
    // With the answers to grabs.
    if isGrabbing { presses += hold?.takePresses() ?? [] }
    return (presses, hasButton == before ? nil : hasButton)
  }

  private func settle() {
    if let hold, hold.hasEnded { end(hold) }
    if isWanted {
      if hold == nil { begin() }
      if !isGrabbing, let hold, hold.isWatching {
        (hasButton, keys) = hold.grab()
        isGrabbing = true
      }
    }
    let needsEntries = isWanted && !hasButton
    guard needsEntries != followsEntries else { return }
    followsEntries = needsEntries
    needsEntries ? display.followEntries() : display.ignoreEntries()
  }

  private func begin() {
    let now = Posix.monotonicNow()
    starts.removeAll { $0.advanced(byMilliseconds: Self.startSeconds * 1_000) < now }
    guard let program, let arrivals, starts.count < Self.startCount, !display.isLost else { return }
    starts.append(now)
    do throws(SystemFailure) {
      hold = try PressHold(beside: display, program: program, arrivals: arrivals)
      if hold == nil { say("the X server takes no further connection; no press is held back", .warning) }
    } catch {
      say("no press is held back, since no process watches over it: \(error)", .warning)
    }
  }

  private func end(_ hold: PressHold) {
    if hold.wasFreed {
      freed += 1
      // Not the watchdog's fault.
      _ = starts.popLast()
      say("a press waited too long for us; the watchdog let keyboard and pointer go, and the press is lost", .error)
    } else if !display.isLost {
      say("the watchdog of held presses, or their connection, has ended; both are begun anew", .warning)
    }
    hold.close(display)
    self.hold = nil
    (isGrabbing, hasButton, keys) = (false, false, [])
  }

  /// Lets the pointer go on, with the press handed on as if it had not been ours, or without.
  func releasePointer(replays: Bool) { hold?.releasePointer(replays: replays) }

  /// Lets the keyboard go on, with the press handed on as if it had not been ours.
  func releaseKeyboard() { hold?.releaseKeyboard() }

  // MARK: places

  /// Where the pointer stands; `nil` on the bare root, where nobody can paste.
  func place(below child: Window) -> Place? {
    guard child != .none else { return nil }
    let window = display.innermostWindow(from: child)
    let base = display.resourceBase(of: window)
    return Place(window: window, isOnWindowManager: display.windowManagerBase == base)
  }

  /// A property of the root was set: with the list of clients new windows have come.
  func rootPropertySet(_ property: Atom) {
    guard followsEntries, property == display.atoms.intern("_NET_CLIENT_LIST").atom else { return }
    display.renewEntries()
  }

  // MARK: what others ask

  /// What `status` shows.
  var status: PressStatus {
    PressStatus(
      isHeldBack: isGrabbing, watchdog: hold?.isWatching ?? false ? hold?.watchdog : nil, freed: freed)
  }
}

/// How held presses stand.
struct PressStatus: Hashable {
  /// Whether presses are held back for a decision.
  var isHeldBack = false
  /// The process that watches over it; `nil` while there is none.
  var watchdog: Int32?
  /// How often it let the person's input go.
  var freed = 0
}
