import Selection

/// What we want to hear of windows of other clients for the pointer's sake.
nonisolated struct PointerInterest {
  /// Windows of which we hear when the pointer comes into them.
  var entered: Set<Window> = []
  /// Reasons to hear of the root's properties.
  var rootReasons: Set<RootReason> = []
  var root = Window.none

  enum RootReason { case cutBuffers, clientList }

  func eventMask(of window: Window) -> UInt32 {
    (entered.contains(window) ? EventMask.enterWindow : 0)
      | (window == root && !rootReasons.isEmpty ? EventMask.propertyChange : 0)
  }
}

extension Display {
  private static let middleButton: UInt8 = 2
  /// AnyModifier of the protocol.
  private static let anyModifier: UInt16 = 1 << 15
  /// The middle button alone and with Shift, by which terminals paste past the program inside; each with Caps Lock and
  /// Num Lock in every state.
  private static let pasteModifiers: [UInt16] = [0, 1].flatMap { shift in lockModifiers.map { shift | $0 } }
  private static let lockModifiers: [UInt16] = [0, 2, 16, 18]
  /// XK_Insert
  private static let insertKey: UInt32 = 0xff63
  /// How deep windows are nested at most; deeper ones count as their ancestor. Our choice.
  private static let windowDepth = 32

  /// Makes every press of the middle button ours to decide: the pointer stands still at each until
  /// ``releasePointer(replays:)``, or until we are gone. `false` when another client has one of the presses that paste.
  public func grabMiddleButton() -> Bool {
    if xcb.grabButton(Self.middleButton, modifiers: Self.anyModifier, on: root.id) { return true }
    // Somebody has a combination that pastes nothing, perhaps; it stays theirs.
    for modifiers in Self.pasteModifiers
    where !xcb.grabButton(Self.middleButton, modifiers: modifiers, on: root.id) {
      ungrabMiddleButton()
      return false
    }
    return true
  }

  /// Takes ``grabMiddleButton()`` back.
  public func ungrabMiddleButton() {
    // Ours alone: other clients' grabs stay.
    xcb.ungrabButton(Self.middleButton, modifiers: Self.anyModifier, on: root.id)
  }

  /// Lets the pointer go on, with the press handed on as if it had not been ours, or without.
  public func releasePointer(replays: Bool) {
    xcb.allowPointer(replays: replays)
    xcb.flush()
  }

  /// Whether a pointer button or Shift is down.
  public var isPointerBusy: Bool {
    // QueryPointer's reply: modifiers and buttons at 24; Shift is the first bit, the five buttons begin at the ninth.
    guard let reply = xcb.reply(to: xcb.queryPointer(root.id)) else { return false }
    return reply.half(at: 24) & (1 | 0x1f << 8) != 0
  }

  /// The innermost window under the pointer, from `window` downwards.
  public func innermostWindow(from window: Window) -> Window {
    var innermost = window
    for _ in 0..<Self.windowDepth {
      // QueryPointer's reply: the child at 12.
      guard let reply = xcb.reply(to: xcb.queryPointer(innermost.id)), reply.word(at: 12) != 0 else { break }
      innermost = Window(reply.word(at: 12))
    }
    return innermost
  }

  /// The window manager's resource base, as it names itself (EWMH); `nil` without one.
  public var windowManagerBase: UInt32? {
    let property = atoms.intern("_NET_SUPPORTING_WM_CHECK").atom
    return PropertyReader(xcb: xcb, atoms: atoms).words(window: root, property: property, limit: 1).first
      .map { resourceBase(of: Window($0)) }
  }

  /// `_NET_ACTIVE_WINDOW`.
  public var activeWindow: Window {
    let property = atoms.intern("_NET_ACTIVE_WINDOW").atom
    return Window(PropertyReader(xcb: xcb, atoms: atoms).words(window: root, property: property, limit: 1).first ?? 0)
  }

  // MARK: the key

  /// Makes every press of Shift+Insert ours to look at: the keyboard stands still at each until ``releaseKeyboard()``, or
  /// until we are gone. Returns the keys that mean Insert; combinations that another client has stay theirs.
  public func grabPasteKeys() -> [UInt8] {
    let keys = keys(of: Self.insertKey)
    for key in keys {
      for locks in Self.lockModifiers { _ = xcb.grabKey(key, modifiers: 1 | locks, on: root.id) }
    }
    return keys
  }

  /// Takes ``grabPasteKeys()`` back.
  public func ungrabPasteKeys(_ keys: [UInt8]) {
    for key in keys {
      for locks in Self.lockModifiers { xcb.ungrabKey(key, modifiers: 1 | locks, on: root.id) }
    }
  }

  /// Lets the keyboard go on, with the press handed on as if it had not been ours.
  public func releaseKeyboard() {
    xcb.replayKeyboard()
    xcb.flush()
  }

  /// The window with the keyboard's focus; the innermost one under the pointer where the focus follows that.
  public var focusedWindow: Window {
    // GetInputFocus's reply: the focus at 8; 0 is None and 1 PointerRoot.
    let focus = xcb.reply(to: xcb.getInputFocus())?.word(at: 8) ?? 0
    return focus > 1 ? Window(focus) : innermostWindow(from: root)
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

  // MARK: the pointer's way

  /// Asks to hear when the pointer comes into a managed window, of those that are there and of those to come.
  public func followEntries() {
    pointerInterest.rootReasons.insert(.clientList)
    selectOnRoot()
    renewEntries()
  }

  /// Takes the windows in that have come since.
  public func renewEntries() {
    guard pointerInterest.rootReasons.contains(.clientList) else { return }
    let topLevels = survey().topLevels
    let windows = topLevels.managed.isEmpty ? topLevels.rootChildren : topLevels.managed
    // Windows that are gone are no longer listed.
    let new = Set(windows).subtracting(pointerInterest.entered)
    pointerInterest.entered = Set(windows)
    for window in new {
      trap.expect(xcb.selectInput(window.id, eventMask: eventMask(of: window)), for: .release(window: window))
    }
    xcb.flush()
  }

  /// Takes ``followEntries()`` back.
  public func ignoreEntries() {
    pointerInterest.rootReasons.remove(.clientList)
    selectOnRoot()
    let windows = pointerInterest.entered
    pointerInterest.entered = []
    for window in windows {
      trap.expect(xcb.selectInput(window.id, eventMask: eventMask(of: window)), for: .release(window: window))
    }
    xcb.flush()
  }

  private func selectOnRoot() {
    pointerInterest.root = root
    trap.expect(xcb.selectInput(root.id, eventMask: eventMask(of: root)), for: .release(window: root))
  }

  // MARK: cut buffers

  /// Asks to hear when a cut buffer of the root window is set, or no longer.
  public func setFollowsCutBuffers(_ isWanted: Bool) {
    guard isWanted != pointerInterest.rootReasons.contains(.cutBuffers) else { return }
    if isWanted {
      pointerInterest.rootReasons.insert(.cutBuffers)
    } else {
      pointerInterest.rootReasons.remove(.cutBuffers)
    }
    selectOnRoot()
    xcb.flush()
  }

  /// The cut buffer that `property` of the root is, and its length; `nil` when it is none, or empty.
  public func cutBuffer(_ property: Atom) -> (buffer: NamedAtom, bytes: Int)? {
    guard pointerInterest.rootReasons.contains(.cutBuffers),
      AtomNumber.cutBuffers.contains(property.id)
    else { return nil }
    guard let reply = xcb.reply(to: xcb.getProperty(window: root.id, property: property.id, length: 0)) else {
      return nil
    }
    let bytes = Int(Header(reply).bytesAfter)
    return bytes > 0 ? (atoms.named(property), bytes) : nil
  }

  /// Deletes a cut buffer.
  public func clearCutBuffer(_ buffer: Atom) {
    trap.expect(xcb.deleteProperty(window: root.id, property: buffer.id), for: .release(window: root))
  }
}
