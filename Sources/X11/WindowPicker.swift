@preconcurrency import CX11
import Glibc
import Selection
// Named one by one, it wins over the C type of the same name.
import struct Selection.Window

extension XcbConnection {
  /// GrabPointer with every press for us alone and nothing standing still; `false` when another client has the pointer.
  func grabPointer(on window: UInt32, cursor: UInt32) -> Bool {
    let cookie = xcb_grab_pointer(
      raw, 0, window, UInt16(XCB_EVENT_MASK_BUTTON_PRESS.rawValue), UInt8(XCB_GRAB_MODE_ASYNC.rawValue),
      UInt8(XCB_GRAB_MODE_ASYNC.rawValue), 0, cursor, 0)
    // GrabPointer's reply: the status at 1, 0 for Success.
    guard let reply = reply(to: Serial(number: cookie.sequence)) else { return false }
    return reply.byte(at: 1) == 0
  }

  /// UngrabPointer
  func ungrabPointer() { xcb_ungrab_pointer(raw, 0) }

  /// A cross to point with: a glyph of the font that every server has for cursors (XC_crosshair, 34, and its mask).
  func makeCross() -> UInt32 {
    let (font, cursor) = (generateID(), generateID())
    let name = "cursor"
    xcb_open_font(raw, font, UInt16(name.utf8.count), name)
    xcb_create_glyph_cursor(raw, cursor, font, font, 34, 35, 0, 0, 0, 0xffff, 0xffff, 0xffff)
    xcb_close_font(raw, font)
    return cursor
  }
}

/// Why no window was picked.
public enum PickFailure: Error, Hashable {
  /// Another program has the pointer, for example an open menu.
  case pointerTaken
  /// Nobody has clicked in time.
  case timedOut
  /// What was clicked is the root window, which is nobody's.
  case rootWindow
}

extension Display {
  /// How long a button may be held after the click (our choice: the press is ours, and the program below isn't to get a
  /// release without it).
  private static let releaseMilliseconds = 2_000

  /// Has the person click a window, and gives that of the program in it, not the window manager's frame around it.
  /// `onReady` is called as soon as a click is ours.
  public func pickWindow(
    until deadline: MonotonicTime, onReady: () -> Void
  ) throws(PickFailure) -> Window {
    // XIDs of the cursor and its font end with the connection.
    guard xcb.grabPointer(on: root.id, cursor: xcb.makeCross()) else { throw .pointerTaken }
    defer {
      xcb.ungrabPointer()
      xcb.flush()
    }
    onReady()
    let press = takeEvent(until: deadline) { if case .buttonPressed = $0 { true } else { false } }
    guard case .buttonPressed(let child)? = press else { throw .timedOut }
    guard child != .none, child != root else { throw .rootWindow }
    let window = programWindow(at: child)
    let end = MonotonicTime.now.advanced(byMilliseconds: Self.releaseMilliseconds)
    while isPointerBusy, MonotonicTime.now < end { usleep(10_000) }
    return window
  }

  /// The innermost window under the pointer; on the frame's own parts, the window that has been framed.
  private func programWindow(at child: Window) -> Window {
    let innermost = innermostWindow(from: child)
    guard let manager = windowManagerBase, resourceBase(of: innermost) == manager else { return innermost }
    var level = [child]
    // Frame, inner frame, top-level.
    for _ in 0..<3 {
      level = level.flatMap { window -> [Window] in
        // QueryTree's reply: the number of children at 16.
        guard let reply = xcb.reply(to: xcb.queryTree(window.id)) else { return [] }
        return reply.tailWords(Int(reply.half(at: 16))).map { Window($0) }
      }
      if let framed = level.first(where: { resourceBase(of: $0) != manager }) { return framed }
    }
    return innermost
  }
}
