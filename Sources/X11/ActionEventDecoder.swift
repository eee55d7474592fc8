import Actions
@preconcurrency import CX11
import Selection
// Named one by one, they win over the C types of the same names.
import struct Selection.Atom
import struct Selection.Window

/// Reads the events of ``ActionDisplay`` off the wire.
nonisolated struct ActionEventDecoder {
  enum Decoded: Hashable {
    case event(ActionEvent)
    case failed(XError)
    case nothing
  }

  let roots: [Window]
  let clientList: Atom
  let activeWindow: Atom
  let xkbFirstEvent: UInt8?
  let inputOpcode: UInt8?

  /// XI_RawKeyPress, XI_FocusIn and XI_FocusOut.
  private static let (rawKeyPress, focusIn, focusOut): (UInt16, UInt16, UInt16) = (13, 9, 10)
  /// XINotifyGrab and XINotifyPassiveGrab, then the same of Ungrab: modes of a focus that changes since somebody's grab begins or
  /// ends.
  private static let (grabModes, ungrabModes): (Set<UInt8>, Set<UInt8>) = ([1, 4], [2, 5])

  /// Decodes the 32 bytes at `raw`. What a client has sent by SendEvent counts for nothing: a forged key would be
  /// written down as a person's.
  func decode(_ raw: UnsafeRawPointer) -> Decoded {
    let code = raw.load(as: UInt8.self)
    guard code & 0x80 == 0 else { return .nothing }
    switch Int32(code) {
    case 0:
      let error = raw.load(as: xcb_generic_error_t.self)
      return .failed(
        XError(
          code: error.error_code, majorOpcode: error.major_code, minorOpcode: error.minor_code,
          value: error.resource_id))
    case XCB_KEY_PRESS:
      let event = raw.load(as: xcb_key_press_event_t.self)
      // The upper half of the state is buttons and groups.
      let grab = KeyGrab(key: event.detail, modifiers: UInt8(truncatingIfNeeded: event.state))
      return .event(.keyHeldBack(grab, on: Window(event.event), time: ServerTime(event.time)))
    case XCB_PROPERTY_NOTIFY: return property(raw.load(as: xcb_property_notify_event_t.self))
    case XCB_DESTROY_NOTIFY:
      return .event(.gone(Window(raw.load(as: xcb_destroy_notify_event_t.self).window)))
    case XCB_MAP_NOTIFY:
      let event = raw.load(as: xcb_map_notify_event_t.self)
      guard roots.contains(Window(event.event)) else { return .nothing }
      return .event(.mapped(Window(event.window), isOverrideRedirect: event.override_redirect != 0))
    case XCB_GE_GENERIC: return generic(raw)
    case Int32(xkbFirstEvent ?? 0): return keyboard(raw)
    default: return .nothing
    }
  }

  private func property(_ event: xcb_property_notify_event_t) -> Decoded {
    if roots.contains(Window(event.window)) {
      switch Atom(event.atom) {
      case clientList: return .event(.windowListChanged)
      case activeWindow: return .event(.activeWindowChanged)
      default: return .nothing
      }
    }
    return event.atom == AtomNumber.wmClass ? .event(.classChanged(Window(event.window))) : .nothing
  }

  /// XGenericEvent of the X Input Extension: its opcode at 1, the kind at 8, the time at 12; of a raw key the key at 16, of a
  /// focus the mode at 18 and the window at 24.
  private func generic(_ raw: UnsafeRawPointer) -> Decoded {
    guard let inputOpcode, raw.load(fromByteOffset: 1, as: UInt8.self) == inputOpcode else { return .nothing }
    let time = ServerTime(raw.load(fromByteOffset: 12, as: UInt32.self))
    switch raw.load(fromByteOffset: 8, as: UInt16.self) {
    case Self.rawKeyPress:
      let key = UInt8(truncatingIfNeeded: raw.load(fromByteOffset: 16, as: UInt32.self))
      return .event(.keyPressed(key, time: time))
    case let kind where kind == Self.focusIn || kind == Self.focusOut:
      let mode = raw.load(fromByteOffset: 18, as: UInt8.self)
      let window = Window(raw.load(fromByteOffset: 24, as: UInt32.self))
      if kind == Self.focusOut, Self.grabModes.contains(mode) {
        return .event(.keyboardTaken(from: window, time: time))
      }
      return kind == Self.focusIn && Self.ungrabModes.contains(mode) ? .event(.keyboardReturned(to: window)) : .nothing
    default: return .nothing
    }
  }

  /// All events of XKB have one code: the kind is at 1; of a state, the modifiers are at 9 and the group is at 13.
  private func keyboard(_ raw: UnsafeRawPointer) -> Decoded {
    switch Int32(raw.load(fromByteOffset: 1, as: UInt8.self)) {
    case XkbNewKeyboardNotify, XkbMapNotify: return .event(.keyboardChanged)
    case XkbStateNotify:
      return .event(
        .keyboardState(
          group: Int(raw.load(fromByteOffset: 13, as: UInt8.self)),
          modifiers: raw.load(fromByteOffset: 9, as: UInt8.self)))
    default: return .nothing
    }
  }
}
