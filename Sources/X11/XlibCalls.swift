@preconcurrency import CX11

/// Everything that is called in libX11, libXfixes and libXext: opening, closing, and the extension requests that are
/// made once at the start. All else goes through xcb on the same connection, see ``XcbConnection``.
struct XlibDisplay {
  let raw: OpaquePointer

  /// XOpenDisplay, with the event queue handed to xcb.
  ///
  /// xcb owns the queue because then errors arrive in it as values, in order with the events, and a lost server is a
  /// flag to look at: with Xlib's own queue an error is a call into a process-wide handler and XNextEvent on a lost
  /// connection dereferences null.
  init?(opening name: String) {
    guard let opened = name.withCString({ XOpenDisplay($0) }) else { return nil }
    raw = opened
    XSetEventQueueOwner(raw, XCBOwnsEventQueue)
    // Xlib's default is to print and exit. Closing a lost display is the one Xlib call left that can meet it.
    _ = XSetIOErrorHandler { _ in 0 }
    XSetIOErrorExitHandler(raw, { _, _ in }, nil)
  }

  /// XGetXCBConnection: valid until XCloseDisplay.
  var xcb: OpaquePointer { XGetXCBConnection(raw) }

  /// XDefaultScreen
  var defaultScreen: Int32 { XDefaultScreen(raw) }

  /// XScreenCount
  var screenCount: Int32 { XScreenCount(raw) }

  /// XRootWindow
  func rootWindow(screen: Int32) -> UInt32 { UInt32(truncatingIfNeeded: XRootWindow(raw, screen)) }

  /// XCloseDisplay; the value must not be used afterwards.
  func close() { XCloseDisplay(raw) }

  /// XFixesQueryVersion: also tells the server which version we speak, without which it refuses all other requests.
  func queryFixesVersion() -> (major: Int32, minor: Int32)? {
    var major: Int32 = 2
    var minor: Int32 = 0
    return XFixesQueryVersion(raw, &major, &minor) == 0 ? nil : (major, minor)
  }

  /// XFixesSelectSelectionInput with all three masks, or none.
  func selectSelectionInput(window: UInt32, selection: UInt32, isWanted: Bool = true) {
    let all =
      XFixesSetSelectionOwnerNotifyMask | XFixesSelectionWindowDestroyNotifyMask | XFixesSelectionClientCloseNotifyMask
    let masks = isWanted ? all : 0
    XFixesSelectSelectionInput(raw, UInt(window), UInt(selection), UInt(masks))
  }

  /// XSyncInitialize: whether the server speaks SYNC.
  func initializeSync() -> Bool {
    var major: Int32 = 0
    var minor: Int32 = 0
    return XSyncInitialize(raw, &major, &minor) != 0
  }

  /// XSyncSetPriority for this connection (XID None means the calling client).
  func setPriority(_ priority: Int32) { XSyncSetPriority(raw, 0, priority) }

  /// XFlush: hands what Xlib has buffered to xcb.
  func flush() { XFlush(raw) }
}
