import Selection
import X11

/// Hears on one display when somebody is about to paste from PRIMARY: by the middle button, or where another client has
/// that, by the pointer's way; and by Shift+Insert.
final class PointerWatch {
  /// Where a press has happened.
  struct Place {
    /// The innermost window there.
    var window: Window
    /// Whether it is the window manager's own: a frame, a title, a panel of its.
    var isOnWindowManager: Bool
  }

  private let display: Display
  private var hasButton = false
  private var followsEntries = false
  private var keys: [UInt8] = []

  init(display: Display) { self.display = display }

  /// Begins; `true` when presses of the button are heard of, `false` when only the pointer's way is.
  func start() -> Bool {
    hasButton = display.grabMiddleButton()
    followsEntries = !hasButton
    if followsEntries { display.followEntries() }
    keys = display.grabPasteKeys()
    return hasButton
  }

  /// Ends.
  func stop() {
    if hasButton { display.ungrabMiddleButton() }
    if followsEntries { display.ignoreEntries() }
    display.ungrabPasteKeys(keys)
    (hasButton, followsEntries, keys) = (false, false, [])
  }

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
}
