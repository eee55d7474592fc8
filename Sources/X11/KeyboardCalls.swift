import Actions
@preconcurrency import CX11
import Glibc
import Selection
// Named one by one, it wins over the C type of the same name.
import struct Selection.Window

// XKB through libX11, which has it built in, and the two requests of the X Input Extension that are needed, written out:
// no further library is loaded for them.
extension XlibDisplay {
  /// XkbQueryExtension: the code of its events; `nil` without it.
  func initializeKeyboard() -> UInt8? {
    var (opcode, event, error): (Int32, Int32, Int32) = (0, 0, 0)
    var (major, minor) = (Int32(XkbMajorVersion), Int32(XkbMinorVersion))
    guard XkbQueryExtension(raw, &opcode, &event, &error, &major, &minor) != 0 else { return nil }
    return UInt8(event)
  }

  /// XkbSelectEvents: new keyboards and layouts, the group in force, and with `modifiers` also what is held and locked.
  func selectKeyboardEvents(isWanted: Bool, modifiers: Bool) {
    let device = UInt32(XkbUseCoreKbd)
    let kinds = UInt32(XkbNewKeyboardNotifyMask | XkbMapNotifyMask)
    XkbSelectEvents(raw, device, kinds, isWanted ? kinds : 0)
    let all = UInt(XkbAllStateComponentsMask)
    let state = UInt(XkbGroupStateMask) | (modifiers ? UInt(XkbModifierStateMask) : 0)
    XkbSelectEventDetails(raw, device, UInt32(XkbStateNotify), all, isWanted ? state : 0)
    XFlush(raw)
  }

  /// XkbGetState
  func keyboardState() -> (group: Int, modifiers: UInt8)? {
    var state = XkbStateRec()
    guard XkbGetState(raw, UInt32(XkbUseCoreKbd), &state) == 0 else { return nil }
    return (Int(state.group), state.mods)
  }

  /// XkbGetMap: all keys of the keyboard.
  func readKeyboard() -> Keyboard? {
    let parts = XkbKeyTypesMask | XkbKeySymsMask | XkbModifierMapMask
    guard let read = XkbGetMap(raw, UInt32(parts), UInt32(XkbUseCoreKbd)) else { return nil }
    defer { XkbFreeKeyboard(read, 0, 1) }
    guard let map = read.pointee.map, map.pointee.modmap != nil, read.pointee.min_key_code >= 8 else { return nil }
    var keys: [UInt8: [Keyboard.Group]] = [:]
    var modifierKeys: [UInt8: UInt8] = [:]
    for key in read.pointee.min_key_code...read.pointee.max_key_code {
      if map.pointee.modmap[Int(key)] != 0 { modifierKeys[key] = map.pointee.modmap[Int(key)] }
      let count = cx_xkb_group_count(read, UInt32(key))
      guard count > 0 else { continue }
      keys[key] = (0..<count).compactMap { group(read, key: UInt32(key), group: $0) }
    }
    return Keyboard(keys: keys, modifierKeys: modifierKeys)
  }

  private func group(_ read: XkbDescPtr, key: UInt32, group: UInt32) -> Keyboard.Group? {
    guard let type = cx_xkb_type(read, key, group) else { return nil }
    var levels: [UInt8: Int] = [:]
    for index in 0..<Int(type.pointee.map_count) {
      // In bounds: the library has allocated `map_count` entries.
      let entry = type.pointee.map[index]
      if entry.active != 0 { levels[entry.mods.mask] = Int(entry.level) }
    }
    let symbols = (0..<UInt32(type.pointee.num_levels)).map { level in
      UInt32(truncatingIfNeeded: cx_xkb_symbol(read, key, group, level))
    }
    return Keyboard.Group(type: Keyboard.KeyType(mask: type.pointee.mods.mask, levels: levels), symbols: symbols)
  }
}

extension XcbConnection {
  /// XIQueryVersion; the extension's opcode, or `nil` where it is older than 2.1, whose raw keys stop while somebody
  /// has grabbed the keyboard.
  func initializeInput2() -> UInt8? {
    guard let opcode = opcode(of: "XInputExtension") else { return nil }
    // The request's minor opcode is its second byte; then the version we speak, 2.2.
    var words = RequestWords()
    words.append(byte: 0, 47)
    words.append(half: 2, 2)
    let serial = Serial(number: words.send(on: raw, opcode: opcode, hasReply: true))
    // The reply: major at 8, minor at 10.
    guard let version = reply(to: serial), (version.half(at: 8), version.half(at: 10)) >= (2, 1) else { return nil }
    return opcode
  }

  /// XISelectEvents on the root, of raw key presses of all master devices, or of nothing; checked.
  func selectRawKeys(root: UInt32, opcode: UInt8, isWanted: Bool) -> Serial {
    // Raw key press is kind 13.
    selectInput2(of: root, opcode: opcode, mask: isWanted ? 1 << 13 : 0)
  }

  /// XISelectEvents on a window, of its getting and losing the focus of any master keyboard, or of nothing; checked.
  func selectFocusChecked(_ window: UInt32, opcode: UInt8, isWanted: Bool) -> Serial {
    // Focus in and out are kinds 9 and 10.
    selectInput2(of: window, opcode: opcode, mask: isWanted ? 3 << 9 : 0)
  }

  private func selectInput2(of window: UInt32, opcode: UInt8, mask: UInt32) -> Serial {
    var words = RequestWords()
    words.append(byte: 0, 46)
    words.append(word: window)
    // One mask; of device 1, all masters; one word long.
    words.append(half: 1, 0)
    words.append(half: 1, 1)
    words.append(word: mask)
    return Serial(number: words.send(on: raw, opcode: opcode, hasReply: false))
  }

  // MARK: Checked requests

  /// ChangeWindowAttributes of the event mask, checked.
  func selectInputChecked(_ window: UInt32, eventMask: UInt32) -> Serial {
    var mask = eventMask
    return Serial(
      number: xcb_change_window_attributes_checked(raw, window, XCB_CW_EVENT_MASK.rawValue, &mask).sequence)
  }

  /// ChangeProperty, checked.
  func changePropertyChecked(
    window: UInt32, property: UInt32, type: UInt32, format: UInt8, bytes: UnsafeRawBufferPointer
  ) -> Serial {
    Serial(
      number: xcb_change_property_checked(
        raw, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window, property, type, format,
        UInt32(bytes.count / Int(format / 8)), bytes.baseAddress
      ).sequence)
  }

  /// GrabKey of one key with one set of modifiers, checked; the pointer goes on, and the keyboard unless it `stops`.
  func grabKeyChecked(_ key: UInt8, modifiers: UInt16, on window: UInt32, stops: Bool) -> Serial {
    let runs = UInt8(XCB_GRAB_MODE_ASYNC.rawValue)
    let keyboard = stops ? UInt8(XCB_GRAB_MODE_SYNC.rawValue) : runs
    return Serial(number: xcb_grab_key_checked(raw, 0, window, modifiers, key, runs, keyboard).sequence)
  }

  /// DeleteProperty, checked.
  func deletePropertyChecked(window: UInt32, property: UInt32) -> Serial {
    Serial(number: xcb_delete_property_checked(raw, window, property).sequence)
  }

  /// UngrabKey, checked.
  func ungrabKeyChecked(_ key: UInt8, modifiers: UInt16, on window: UInt32) -> Serial {
    Serial(number: xcb_ungrab_key_checked(raw, key, window, modifiers).sequence)
  }

  /// Grabs keys on a window, in one round trip; returns those that another client has.
  func grabKeys(_ grabs: [KeyGrab], on window: Window, stops: Bool) -> [KeyGrab] {
    let outcomes = outcomes(
      of: grabs.map { grabKeyChecked($0.key, modifiers: UInt16($0.modifiers), on: window.id, stops: stops) })
    return zip(grabs, outcomes).compactMap { grab, error in error?.code == XError.badAccess ? grab : nil }
  }

  /// Ungrabs keys on a window, in one round trip. Windows that are gone need nothing.
  func ungrabKeys(_ grabs: [KeyGrab], on window: Window) {
    _ = outcomes(of: grabs.map { ungrabKeyChecked($0.key, modifiers: UInt16($0.modifiers), on: window.id) })
  }

  /// AllowEvents of AsyncKeyboard: the keyboard goes on, and the key that was stopped is nobody else's.
  func letKeyboardGo(time: UInt32) { xcb_allow_events(raw, UInt8(XCB_ALLOW_ASYNC_KEYBOARD.rawValue), time) }

  /// UngrabKeyboard
  func ungrabKeyboard(time: UInt32) { xcb_ungrab_keyboard(raw, time) }

  /// xcb_request_check for each; the first makes a round trip at most, all others find their answer.
  func outcomes(of serials: [Serial]) -> [XError?] {
    serials.map { serial in
      guard let error = xcb_request_check(raw, xcb_void_cookie_t(sequence: serial.number)) else { return nil }
      defer { free(error) }
      return XError(
        code: error.pointee.error_code, majorOpcode: error.pointee.major_code, minorOpcode: error.pointee.minor_code,
        value: error.pointee.resource_id)
    }
  }
}

extension ActionDisplay {
  /// Asks to hear of the keyboard, its group, and with `modifiers` of all that is held; or no longer.
  public func followKeyboard(_ isWanted: Bool, modifiers: Bool) {
    guard hasKeyboard, !isLost else { return }
    xlib.selectKeyboardEvents(isWanted: isWanted, modifiers: modifiers)
  }

  /// The keyboard, the group in force and the modifiers held and locked; `nil` without XKB.
  public func keyboard() -> (keyboard: Keyboard, group: Int, modifiers: UInt8)? {
    guard hasKeyboard, !isLost, let keyboard = xlib.readKeyboard(), let state = xlib.keyboardState() else { return nil }
    return (keyboard, state.group, state.modifiers)
  }

  /// Asks to hear of every key, wherever it is pressed; or no longer. `false` when that isn't possible.
  @discardableResult
  public func followKeys(_ isWanted: Bool) -> Bool {
    guard let inputOpcode else { return false }
    // Raw keys come once, whichever root they are asked of.
    return xcb.outcomes(of: [xcb.selectRawKeys(root: roots[0].id, opcode: inputOpcode, isWanted: isWanted)])[0] == nil
  }
}
