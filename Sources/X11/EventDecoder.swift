import Actions
@preconcurrency import CX11
import Selection
// Named one by one, they win over the C types of the same names.
import struct Selection.Atom
import struct Selection.Window

/// Reads events off the wire: the only reader of their layout.
nonisolated enum EventDecoder {
  /// Decodes the 32 bytes at `raw`. `fixesFirstEvent` is the first event code of XFixes on this connection.
  ///
  /// A client may send any event to any window by SendEvent. Only SelectionNotify is meant to be sent so (ICCCM 2.2);
  /// whether it belongs to one of our conversions is judged where these are known. All others would let a client speak
  /// for the server: a forged SelectionRequest, for one, names a requestor that never asked.
  static func decode(_ raw: UnsafeRawPointer, fixesFirstEvent: UInt8) -> DisplayEvent {
    // All loads are of events of 32 bytes, which xcb allocated whole and aligned.
    let code = raw.load(as: UInt8.self)
    let isSent = code & 0x80 != 0
    switch Int32(code & 0x7f) {
    case 0 where !isSent:
      return .failed(error(raw.load(as: xcb_generic_error_t.self)))
    case XCB_SELECTION_NOTIFY:
      let event = raw.load(as: xcb_selection_notify_event_t.self)
      return .selectionNotify(
        requestor: Window(event.requestor), selection: Atom(event.selection), target: Atom(event.target),
        property: Atom(event.property))
    case XCB_CLIENT_MESSAGE: return .other
    case _ where isSent: return .forged
    case XCB_SELECTION_REQUEST:
      let event = raw.load(as: xcb_selection_request_event_t.self)
      return .selectionRequest(
        owner: Window(event.owner), requestor: Window(event.requestor), selection: Atom(event.selection),
        target: Atom(event.target), property: Atom(event.property), time: ServerTime(event.time))
    case XCB_SELECTION_CLEAR:
      let event = raw.load(as: xcb_selection_clear_event_t.self)
      return .selectionClear(owner: Window(event.owner), selection: Atom(event.selection))
    case XCB_PROPERTY_NOTIFY:
      let event = raw.load(as: xcb_property_notify_event_t.self)
      return .propertyChanged(
        window: Window(event.window), property: Atom(event.atom),
        isDeleted: UInt32(event.state) == XCB_PROPERTY_DELETE.rawValue, time: ServerTime(event.time))
    case XCB_BUTTON_PRESS:
      return .buttonPressed(child: Window(raw.load(as: xcb_button_press_event_t.self).child))
    case XCB_KEY_PRESS:
      let event = raw.load(as: xcb_key_press_event_t.self)
      // The upper half of the state is buttons and groups.
      let grab = KeyGrab(key: event.detail, modifiers: UInt8(truncatingIfNeeded: event.state))
      return .keyPressed(grab, on: Window(event.event), time: ServerTime(event.time))
    case XCB_ENTER_NOTIFY:
      return .pointerEntered(Window(raw.load(as: xcb_enter_notify_event_t.self).event))
    case XCB_DESTROY_NOTIFY:
      return .windowDestroyed(Window(raw.load(as: xcb_destroy_notify_event_t.self).window))
    case Int32(fixesFirstEvent):
      return ownerChange(raw.load(as: cx_xfixes_selection_notify_t.self))
    default: return .other
    }
  }

  private static func ownerChange(_ event: cx_xfixes_selection_notify_t) -> DisplayEvent {
    let cause: OwnerChangeCause
    switch event.subtype {
    case 0: cause = .set
    case 1: cause = .windowDestroyed
    default: cause = .clientClosed
    }
    // In the two others the field still names the owner that is gone.
    let owner = cause == .set ? Window(event.owner) : .none
    return .ownerChanged(
      selection: Atom(event.selection), owner: owner, cause: cause,
      selectionTime: ServerTime(event.selection_timestamp))
  }

  private static func error(_ event: xcb_generic_error_t) -> XError {
    XError(
      code: event.error_code, majorOpcode: event.major_code, minorOpcode: event.minor_code, value: event.resource_id)
  }
}
