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
  /// How deep windows are nested at most; deeper ones count as their ancestor. Our choice.
  private static let windowDepth = 32

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

  /// The window with the keyboard's focus; the innermost one under the pointer where the focus follows that.
  public var focusedWindow: Window {
    // GetInputFocus's reply: the focus at 8; 0 is None and 1 PointerRoot.
    let focus = xcb.reply(to: xcb.getInputFocus())?.word(at: 8) ?? 0
    return focus > 1 ? Window(focus) : innermostWindow(from: root)
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

  /// Asks to hear when a copy is put into a property of the root window, or no longer.
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

  /// The copy that `property` of the root is (`RootCopy`), and its length; `nil` when it is none, or empty.
  public func cutBuffer(_ property: Atom) -> (buffer: NamedAtom, bytes: Int)? {
    guard pointerInterest.rootReasons.contains(.cutBuffers) else { return nil }
    let buffer = atoms.named(property)
    guard RootCopy(named: buffer.name) != nil else { return nil }
    guard let reply = xcb.reply(to: xcb.getProperty(window: root.id, property: property.id, length: 0)) else {
      return nil
    }
    let bytes = Int(Header(reply).bytesAfter)
    return bytes > 0 ? (buffer, bytes) : nil
  }

  /// Deletes such a copy.
  public func clearCutBuffer(_ buffer: Atom) {
    trap.expect(xcb.deleteProperty(window: root.id, property: buffer.id), for: .release(window: root))
  }
}
