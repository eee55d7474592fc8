import Actions
import Selection

/// What is heard on the connection for keys and windows.
public nonisolated enum ActionEvent: Hashable, Sendable {
  /// A key that is held back on `window` was pressed.
  case keyHeldBack(KeyGrab, on: Window, time: ServerTime)
  /// Any key was pressed anywhere, repetitions included; only while ``ActionDisplay/followKeys(_:)`` asks for it.
  case keyPressed(UInt8, time: ServerTime)
  /// A grab of some client has taken the keyboard from the window that ``ActionDisplay/followFocus()`` has found.
  case keyboardTaken(from: Window, time: ServerTime)
  /// The grab has ended, and the window has the keyboard again.
  case keyboardReturned(to: Window)
  /// The window manager's list of windows has changed.
  case windowListChanged
  /// The window manager has made another window the active one.
  case activeWindowChanged
  /// A window has another WM_CLASS.
  case classChanged(Window)
  /// A child of the root was mapped.
  case mapped(Window, isOverrideRedirect: Bool)
  /// A window that we watch, or a child of the root, is gone.
  case gone(Window)
  /// Another keyboard, or another layout on it.
  case keyboardChanged
  /// Another of the layout's groups is in force, or other modifiers are held or locked.
  case keyboardState(group: Int, modifiers: UInt8)
}

/// A second connection to a display, for keys and the windows of others.
///
/// It is apart from ``Display`` so that nothing here delays a selection's answer, whose connection the server also puts
/// first, and because a client has one event mask on each window. It makes no window, so nobody can destroy one or
/// disconnect it by that. Every request that somebody else can make fail is checked in the round trip that ends its batch.
@MainActor public final class ActionDisplay {
  /// The root windows of all screens: windows of every screen are seen to.
  public let roots: [Window]
  /// The atoms seen so far.
  public let atoms: AtomTable
  /// Errors that no request of ours can have caused, since the start: each is a bug of ours.
  public private(set) var unexpectedErrorCount = 0
  /// Called with each of them.
  public var onUnexpectedError: (XError) -> Void = { _ in }

  let xcb: XcbConnection
  let xlib: XlibDisplay
  let xkbFirstEvent: UInt8?
  let inputOpcode: UInt8?
  private let allowedActions: NamedAtom
  private let clientList: NamedAtom
  private let activeWindow: NamedAtom
  private let managerMark: NamedAtom
  let resourceMask: UInt32
  private var isClosed = false
  private var followedFocus = Window.none

  /// Connects to the display once more; `nil` when that isn't possible.
  public init?(beside display: Display) {
    guard let xlib = XlibDisplay(opening: "\(display.name).\(display.screen)") else { return nil }
    self.xlib = xlib
    xcb = XcbConnection(raw: xlib.xcb)
    roots = display.roots
    atoms = AtomTable(xcb: xcb)
    resourceMask = xcb.resourceIDs.mask
    xkbFirstEvent = xlib.initializeKeyboard()
    inputOpcode = xcb.initializeInput2()
    let atoms = self.atoms.intern([
      "_XPASTEBRIDGE_ALLOWED_ACTIONS", "_NET_CLIENT_LIST", "_NET_ACTIVE_WINDOW", "_NET_SUPPORTING_WM_CHECK",
    ])
    (allowedActions, clientList, activeWindow, managerMark) = (atoms[0], atoms[1], atoms[2], atoms[3])
    xcb.flush()
  }

  isolated deinit { close() }

  /// Ends the connection: the server lets go of every key.
  public func close() {
    guard !isClosed else { return }
    synchronize()
    if isLost { xcb.disconnect() } else { xlib.close() }
    isClosed = true
  }

  // MARK: State

  /// The connection's descriptor.
  public var fileDescriptor: Int32 { xcb.fileDescriptor }
  /// Whether the connection is gone.
  public var isLost: Bool { isClosed || xcb.hasError }
  /// Whether keys can be told apart by layout and group (XKB).
  public var hasKeyboard: Bool { xkbFirstEvent != nil }
  /// Whether keys can be followed (the X Input Extension).
  public var canFollowKeys: Bool { inputOpcode != nil }

  /// Sends what is buffered.
  public func flush() { xcb.flush() }
  /// Waits until the server has taken in everything sent so far.
  public func synchronize() { _ = xcb.reply(to: xcb.getInputFocus()) }

  // MARK: Windows

  /// Asks to hear of the window manager's list, and with `children` of every window that appears at the root.
  public func followRoot(children: Bool) {
    let mask = EventMask.propertyChange | (children ? EventMask.substructureNotify : 0)
    _ = xcb.outcomes(of: roots.map { xcb.selectInputChecked($0.id, eventMask: mask) })
  }

  /// Asks to hear of the class and the end of windows, or no longer.
  public func follow(_ windows: some Collection<Window>, isWanted: Bool = true) {
    let mask = isWanted ? EventMask.propertyChange | EventMask.structureNotify : 0
    // Windows that are gone need no mask.
    _ = xcb.outcomes(of: windows.map { xcb.selectInputChecked($0.id, eventMask: mask) })
  }

  /// `_NET_CLIENT_LIST` of all screens; `nil` without a window manager that keeps it.
  public func managedWindows() -> [Window]? {
    // Four thousand windows are more than a person has.
    let lists = rootProperties(clientList.atom, limit: 4_096).compactMap(\.self)
    return lists.isEmpty ? nil : lists.flatMap { $0.map { Window($0) } }
  }

  /// The window managers' own windows have these bits in common, of each screen's.
  public func windowManagerBases() -> [UInt32] {
    rootProperties(managerMark.atom, limit: 1).compactMap { $0?.first.map { $0 & ~resourceMask } }
  }

  /// The words of a property of each root; `nil` where there is none.
  private func rootProperties(_ property: Atom, limit: UInt32) -> [[UInt32]?] {
    let serials = roots.map { xcb.getProperty(window: $0.id, property: property.id, length: limit) }
    return serials.map { serial in
      guard let reply = xcb.reply(to: serial) else { return nil }
      let header = Header(reply)
      return header.format == 32 ? reply.tailWords(header.byteCount / 4) : nil
    }
  }

  /// Whether the window belongs to the client with these bits.
  public func belongs(_ window: Window, to base: UInt32) -> Bool { window.id & ~resourceMask == base }

  /// `_NET_ACTIVE_WINDOW` of every screen that has one.
  public func activeWindows() -> [Window] {
    rootProperties(activeWindow.atom, limit: 1).compactMap { $0?.first.map { Window($0) } }
  }

  /// The window that has the keyboard; `.none` when that is nobody's.
  public func focus() -> Window {
    // GetInputFocus's reply: the window at 8; 0 is none and 1 the pointer's root.
    let word = xcb.reply(to: xcb.getInputFocus())?.word(at: 8) ?? 0
    return word > 1 ? Window(word) : .none
  }

  /// Asks to hear when a grab takes the keyboard from the window that has it; returns that window.
  ///
  /// The server tells of grabs on any other window. One on this very window shows nothing.
  @discardableResult public func followFocus() -> Window {
    let focus = focus()
    guard let inputOpcode else { return focus }
    // Asked for each time: a new window may have the number of one that is gone. One that is gone needs no mask.
    let changes = [(followedFocus, false), (focus, true)].filter { $0.0 != .none && ($0.1 || $0.0 != focus) }
    _ = xcb.outcomes(
      of: changes.map { xcb.selectFocusChecked($0.id, opcode: inputOpcode, isWanted: $1) })
    followedFocus = focus
    return focus
  }

  /// What is written on each of `windows` as allowed actions; those without the property are left out.
  public func published(on windows: some Collection<Window>) -> [Window: [Atom]] {
    let asked = windows.map { window in
      (window, xcb.getProperty(window: window.id, property: allowedActions.atom.id, length: 4))
    }
    var found: [Window: [Atom]] = [:]
    for (window, serial) in asked {
      guard let reply = xcb.reply(to: serial) else { continue }
      let header = Header(reply)
      guard header.type == AtomNumber.atom, header.format == 32 else { continue }
      found[window] = reply.tailWords(header.byteCount / 4).map { Atom($0) }
    }
    return found
  }

  /// Writes on each window what its app may do.
  public func publish(_ actions: [(window: Window, allowed: [Atom])]) {
    let serials = actions.map { window, allowed in
      allowed.map(\.id).withUnsafeBytes { bytes in
        xcb.changePropertyChecked(
          window: window.id, property: allowedActions.atom.id, type: AtomNumber.atom, format: 32, bytes: bytes)
      }
    }
    // Windows that are gone need none.
    _ = xcb.outcomes(of: serials)
  }

  // MARK: Keys

  /// Holds keys back on a window: pressed while the window or one inside it has the keyboard, they come to us and to
  /// nobody else. Nothing stands still for it. Returns those that another client has.
  public func grab(_ grabs: [KeyGrab], on window: Window) -> [KeyGrab] {
    xcb.grabKeys(grabs, on: window, stops: false)
  }

  /// Lets keys go again.
  public func ungrab(_ grabs: [KeyGrab], on window: Window) { xcb.ungrabKeys(grabs, on: window) }

  /// Ends the grab that a held-back key began, so that the keys behind it, pressed before it is let go, go where they
  /// are meant to.
  public func releaseKeyboard(_ time: ServerTime) {
    xcb.ungrabKeyboard(time: time.milliseconds)
    xcb.flush()
  }

  // MARK: Events

  /// Takes the next event that means something; `nil` when none has come.
  public func nextEvent() -> ActionEvent? {
    while let event = xcb.pollEvent(queuedOnly: false, { raw, _ in decode(raw) }) {
      if let event { return event }
    }
    return nil
  }

  private func decode(_ raw: UnsafeRawPointer) -> ActionEvent? {
    let decoded = ActionEventDecoder(
      roots: roots, clientList: clientList.atom, activeWindow: activeWindow.atom, xkbFirstEvent: xkbFirstEvent,
      inputOpcode: inputOpcode
    ).decode(raw)
    switch decoded {
    case .event(let event): return event
    case .nothing: return nil
    case .failed(let error):
      unexpectedErrorCount += 1
      onUnexpectedError(error)
      return nil
    }
  }
}
