import Actions
import Selection

/// A press of the person's that the server has handed to us alone, while the device that it was made on stands still.
public nonisolated enum HeldPress: Hashable, Sendable {
  /// The middle button, below this child of the root; the pointer stands still until
  /// ``PressDisplay/releasePointer(replays:)``.
  case button(below: Window)
  /// Shift+Insert; the keyboard stands still until ``PressDisplay/releaseKeyboard()``.
  case key
  /// A key that is stopped on a window; the keyboard stands still until ``PressDisplay/releaseKeyboard()`` or
  /// ``PressDisplay/swallowKey(_:)``.
  case stoppedKey(KeyGrab, on: Window, time: ServerTime)
}

/// A connection to a display that does nothing but hold presses back: the middle button, Shift+Insert, and keys that copy in
/// protected apps.
///
/// A press that is held back stops the pointer or the keyboard for everybody, and the server lets it go again when this
/// connection ends. It is one of its own so that it can be ended by somebody else, at any moment, without any other loss
/// than that press. It has no window, so no X client can end it by XKillClient.
@MainActor public final class PressDisplay {
  private static let middleButton: UInt8 = 2
  /// AnyModifier of the protocol.
  private static let anyModifier: UInt16 = 1 << 15
  /// The middle button alone and with Shift, by which terminals paste past the program inside; each with Caps Lock and
  /// Num Lock in every state.
  private static let pasteModifiers: [UInt16] = [0, 1].flatMap { shift in lockModifiers.map { shift | $0 } }
  private static let lockModifiers: [UInt16] = [0, 2, 16, 18]
  /// Every state of Shift, Lock, Control and Mod1 to Mod5.
  private static let everyModifier: ClosedRange<UInt16> = 0...255
  /// XK_Insert
  private static let insertKey: UInt32 = 0xff63

  /// The root windows on which presses are held back: all screens', since a person has one pointer for all.
  public let roots: [Window]
  /// Errors that no request of ours can have caused, since the start: each is a bug of ours.
  public private(set) var unexpectedErrorCount = 0
  /// Called with each of them.
  public var onUnexpectedError: (XError) -> Void = { _ in }

  let xcb: XcbConnection
  private var isClosed = false

  /// Connects to `display` once more; `nil` when that isn't possible.
  public init?(beside display: Display) {
    guard let xcb = XcbConnection(opening: "\(display.name).\(display.screen)") else { return nil }
    self.xcb = xcb
    roots = display.roots
    xcb.raisePriority()
    xcb.flush()
  }

  isolated deinit { close() }

  /// Ends the connection: the server lets go of every press, whoever else has the connection's descriptor.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    xcb.disconnect()
  }

  /// The connection's descriptor.
  public var fileDescriptor: Int32 { xcb.fileDescriptor }
  /// Whether the connection is gone.
  public var isLost: Bool { isClosed || xcb.hasError }

  // MARK: the button

  /// Makes every press of the middle button ours to decide: the pointer stands still at each until
  /// ``releasePointer(replays:)``, or until the connection ends. `false` when another client has one of the presses that
  /// paste.
  public func grabMiddleButton() -> Bool {
    for root in roots where !grabMiddleButton(on: root) {
      ungrabMiddleButton()
      return false
    }
    return true
  }

  private func grabMiddleButton(on root: Window) -> Bool {
    if xcb.grabButton(Self.middleButton, modifiers: Self.anyModifier, on: root.id) { return true }
    // Somebody has a combination, perhaps one that pastes nothing: it stays theirs, and their press. All others are ours,
    // since some toolkits paste with whatever modifiers are held (measured: GTK 3).
    return Self.everyModifier.allSatisfy { modifiers in
      xcb.grabButton(Self.middleButton, modifiers: modifiers, on: root.id)
        || !Self.pasteModifiers.contains(modifiers)
    }
  }

  /// Takes ``grabMiddleButton()`` back.
  public func ungrabMiddleButton() {
    // Ours alone: other clients' grabs stay.
    for root in roots { xcb.ungrabButton(Self.middleButton, modifiers: Self.anyModifier, on: root.id) }
    xcb.flush()
  }

  /// Lets the pointer go on, with the press handed on as if it had not been ours, or without.
  public func releasePointer(replays: Bool) {
    xcb.allowPointer(replays: replays)
    xcb.flush()
  }

  // MARK: the key

  /// Makes every press of Shift+Insert ours to look at: the keyboard stands still at each until ``releaseKeyboard()``, or
  /// until the connection ends. Returns the keys that mean Insert; combinations that another client has stay theirs.
  public func grabPasteKeys() -> [UInt8] {
    let keys = keys(of: Self.insertKey)
    for root in roots {
      for key in keys {
        for locks in Self.lockModifiers { _ = xcb.grabKey(key, modifiers: 1 | locks, on: root.id) }
      }
    }
    return keys
  }

  /// Takes ``grabPasteKeys()`` back.
  public func ungrabPasteKeys(_ keys: [UInt8]) {
    for root in roots {
      for key in keys {
        for locks in Self.lockModifiers { xcb.ungrabKey(key, modifiers: 1 | locks, on: root.id) }
      }
    }
    xcb.flush()
  }

  /// Lets the keyboard go on, with the press handed on as if it had not been ours.
  public func releaseKeyboard() {
    xcb.replayKeyboard()
    xcb.flush()
  }

  // MARK: keys of a window

  /// Stops keys on a window: pressed there, they come to us, and the keyboard stands still until ``releaseKeyboard()`` or
  /// ``swallowKey(_:)``, or until the connection ends. Returns those that another client has.
  public func stop(_ grabs: [KeyGrab], on window: Window) -> [KeyGrab] {
    xcb.grabKeys(grabs, on: window, stops: true)
  }

  /// Takes ``stop(_:on:)`` back.
  public func unstop(_ grabs: [KeyGrab], on window: Window) { xcb.ungrabKeys(grabs, on: window) }

  /// Lets the keyboard go on, without the key that was stopped at `time`.
  public func swallowKey(_ time: ServerTime) {
    xcb.letKeyboardGo(time: time.milliseconds)
    // The grab would otherwise last until the key is let go, and take what is typed meanwhile.
    xcb.ungrabKeyboard(time: time.milliseconds)
    xcb.flush()
  }

  private func keys(of symbol: UInt32) -> [UInt8] {
    // GetKeyboardMapping's reply: symbols of each key at 1, and the symbols themselves.
    let (serial, first) = xcb.getKeyboardMapping()
    guard let reply = xcb.reply(to: serial) else { return [] }
    let width = Int(reply.byte(at: 1))
    let symbols = reply.tailWords(Int(reply.word(at: 4)))
    guard width > 0 else { return [] }
    return (0..<symbols.count / width).filter { symbols[$0 * width] == symbol }.map { first + UInt8($0) }
  }

  // MARK: presses

  /// Takes the next press; `nil` when none has come.
  public func nextPress() -> HeldPress? {
    while let event = xcb.pollEvent(queuedOnly: false, { raw, _ in EventDecoder.decode(raw, fixesFirstEvent: .max) }) {
      switch event {
      case .buttonPressed(let child): return .button(below: child)
      case .keyPressed(let grab, let window, let time):
        return roots.contains(window) ? .key : .stoppedKey(grab, on: window, time: time)
      case .failed(let error):
        unexpectedErrorCount += 1
        onUnexpectedError(error)
      default: break
      }
    }
    return nil
  }
}
