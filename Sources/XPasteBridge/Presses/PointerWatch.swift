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

  private let display: Display
  private let presses: PressKeeper
  private var isWanted = false
  /// Where presses are held back; another one than the keeper's has ended.
  private var grabbedOn: PressHold?
  private var followsEntries = false
  private var keys: [UInt8] = []
  /// Whether presses of the button are heard of; else only the pointer's way is.
  private(set) var hasButton = false

  /// Presses are had from `presses`.
  init(display: Display, presses: PressKeeper) {
    self.display = display
    self.presses = presses
  }

  /// Begins; whether presses of the button are heard of from now on. They may be later, see ``settle()``.
  func start() -> Bool {
    isWanted = true
    presses.set(.pastes, isWanted: true)
    _ = settle()
    return hasButton
  }

  /// Ends.
  func stop() {
    isWanted = false
    if let grabbedOn {
      if hasButton { grabbedOn.connection.ungrabMiddleButton() }
      grabbedOn.connection.ungrabPasteKeys(keys)
    }
    (grabbedOn, hasButton, keys) = (nil, false, [])
    presses.set(.pastes, isWanted: false)
    _ = settle()
  }

  /// Asks for presses where they are to be had; whether the button is, where that is another than before.
  func settle() -> Bool? {
    let before = hasButton
    if grabbedOn !== presses.hold { (grabbedOn, hasButton, keys) = (nil, false, []) }
    if isWanted, grabbedOn == nil, let hold = presses.watchedHold {
      (hasButton, keys) = hold.grab()
      grabbedOn = hold
    }
    let needsEntries = isWanted && !hasButton
    if needsEntries != followsEntries {
      followsEntries = needsEntries
      needsEntries ? display.followEntries() : display.ignoreEntries()
    }
    return hasButton == before ? nil : hasButton
  }

  /// Lets the pointer go on, with the press handed on as if it had not been ours, or without.
  func releasePointer(replays: Bool) { presses.hold?.releasePointer(replays: replays) }

  /// Lets the keyboard go on, with the press handed on as if it had not been ours.
  func releaseKeyboard() { presses.hold?.releaseKeyboard() }

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
      isHeldBack: grabbedOn != nil, watchdog: presses.watchedHold?.watchdog, freed: presses.freed)
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
