@preconcurrency import CX11
import Glibc
import GuardedMemory

/// The number of a request on its connection; it wraps after 2³².
nonisolated struct Serial: Hashable, Sendable {
  var number: UInt32

  /// Whether this request was made before `other`, on the circle of 2³².
  func isEarlier(than other: Serial) -> Bool { Int32(bitPattern: number &- other.number) < 0 }
}

/// One reply of the server, freed with its last use.
nonisolated struct Reply: ~Copyable {
  private let raw: UnsafeMutableRawPointer
  /// Whether it holds content, which no freed memory may (architecture.md 9).
  private let isContent: Bool

  init(_ raw: UnsafeMutableRawPointer, isContent: Bool) {
    self.raw = raw
    self.isContent = isContent
  }

  deinit {
    // All replies are 32 bytes and `length` words; xcb allocated them with malloc.
    if isContent { explicit_bzero(raw + 32, Int(word(at: 4)) * 4) }
    free(raw)
  }

  /// The byte at `offset` of the fixed part.
  func byte(at offset: Int) -> UInt8 { raw.load(fromByteOffset: offset, as: UInt8.self) }
  /// The 16 bits at `offset` of the fixed part.
  func half(at offset: Int) -> UInt16 { raw.load(fromByteOffset: offset, as: UInt16.self) }
  /// The 32 bits at `offset` of the fixed part.
  func word(at offset: Int) -> UInt32 { raw.load(fromByteOffset: offset, as: UInt32.self) }

  /// Calls `body` with what follows the 32 fixed bytes, at most `count` bytes of it.
  func withTail<R>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    // In bounds: xcb has read exactly `length` words behind the fixed part, and no more is shown.
    body(UnsafeRawBufferPointer(start: raw + 32, count: max(0, min(count, Int(word(at: 4)) * 4))))
  }

  /// The first `count` words of the tail.
  func tailWords(_ count: Int) -> [UInt32] {
    withTail(count * 4) { bytes in
      (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) }
    }
  }
}

/// Everything that is called in libxcb and libxcb-res, one wrapper each, named after the protocol's request.
///
/// All of it may be called on a lost connection: xcb then makes no request and gives no reply.
struct XcbConnection {
  let raw: OpaquePointer

  // MARK: Connection

  init(raw: OpaquePointer) { self.raw = raw }

  /// xcb_connect, without Xlib around it: for a connection that needs nothing of that library.
  init?(opening name: String) {
    guard let made = name.withCString({ xcb_connect($0, nil) }) else { return nil }
    guard xcb_connection_has_error(made) == 0 else {
      xcb_disconnect(made)
      return nil
    }
    raw = made
  }

  /// xcb_connection_has_error
  var hasError: Bool { xcb_connection_has_error(raw) != 0 }
  /// xcb_get_file_descriptor
  var fileDescriptor: Int32 { xcb_get_file_descriptor(raw) }
  /// xcb_get_setup: which bits of an XID its client chooses, and our own XIDs' other bits.
  var resourceIDs: (base: UInt32, mask: UInt32) {
    // The setup lives as long as the connection.
    let setup = xcb_get_setup(raw)!.pointee
    return (setup.resource_id_base, setup.resource_id_mask)
  }
  /// xcb_generate_id
  func generateID() -> UInt32 { xcb_generate_id(raw) }
  /// xcb_disconnect: the connection must not be used afterwards, nor the Xlib display around it.
  func disconnect() { xcb_disconnect(raw) }
  /// Keeps libxcb's own buffers, which small content passes through, out of core dumps and swap. They lie inside the
  /// connection itself, which libxcb has allocated in one piece.
  func guardBuffers() {
    // A connection that failed to open may be a static one, which malloc knows nothing of.
    guard !hasError else { return }
    let start = UnsafeMutableRawPointer(raw)
    GuardedPages.guardForeign(start, byteCount: malloc_usable_size(start))
  }
  /// xcb_flush
  func flush() { _ = xcb_flush(raw) }
  /// xcb_prefetch_maximum_request_length: turns BIG-REQUESTS on before the first large request needs it.
  func prefetchMaximumRequestLength() { xcb_prefetch_maximum_request_length(raw) }

  /// xcb_poll_for_event, or xcb_poll_for_queued_event, which doesn't read the socket; `body` sees the event before it is
  /// freed. Returns `nil` when there is none.
  func pollEvent<R>(
    queuedOnly: Bool, _ body: (UnsafeRawPointer, _ serial: Serial) -> R
  ) -> R? {
    guard let event = queuedOnly ? xcb_poll_for_queued_event(raw) : xcb_poll_for_event(raw) else { return nil }
    defer { free(event) }
    return body(UnsafeRawPointer(event), Serial(number: event.pointee.full_sequence))
  }

  /// How often a reply is looked for before we sleep for it. Our choice: some 60 µs. The server answers a question of ours
  /// within 20 µs, and being woken up takes longer than that (measured: a third of a paste's time).
  private static let looksBeforeSleep = 64

  /// xcb_poll_for_reply, then xcb_wait_for_reply; `nil` for an error of the request or a lost connection.
  func reply(to serial: Serial, isContent: Bool = false) -> Reply? {
    var error: UnsafeMutablePointer<xcb_generic_error_t>?
    var found: UnsafeMutableRawPointer?
    flush()
    for _ in 0..<Self.looksBeforeSleep {
      guard xcb_poll_for_reply(raw, serial.number, &found, &error) == 1 else { continue }
      free(error)
      return found.map { Reply($0, isContent: isContent) }
    }
    let reply = xcb_wait_for_reply(raw, serial.number, &error)
    free(error)
    return reply.map { Reply($0, isContent: isContent) }
  }

  // MARK: Requests with a reply

  /// QueryExtension
  func queryExtension(_ name: StaticString) -> Serial {
    let cookie = name.withUTF8Buffer { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { xcb_query_extension(raw, UInt16($0.count), $0.baseAddress) }
    }
    return Serial(number: cookie.sequence)
  }

  /// InternAtom
  func internAtom(_ name: [UInt8], onlyIfExists: Bool = false) -> Serial {
    let cookie = name.withUnsafeBytes { bytes in
      xcb_intern_atom(
        raw, onlyIfExists ? 1 : 0, UInt16(bytes.count), bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
    }
    return Serial(number: cookie.sequence)
  }

  /// GetAtomName
  func getAtomName(_ atom: UInt32) -> Serial { Serial(number: xcb_get_atom_name(raw, atom).sequence) }

  /// GetSelectionOwner
  func getSelectionOwner(_ selection: UInt32) -> Serial {
    Serial(number: xcb_get_selection_owner(raw, selection).sequence)
  }

  /// GetProperty of any type; `offset` and `length` in words.
  func getProperty(
    window: UInt32, property: UInt32, offset: UInt32 = 0, length: UInt32, deletes: Bool = false
  ) -> Serial {
    Serial(
      number: xcb_get_property(raw, deletes ? 1 : 0, window, property, 0, offset, length).sequence)
  }

  /// QueryTree
  func queryTree(_ window: UInt32) -> Serial { Serial(number: xcb_query_tree(raw, window).sequence) }

  /// GetWindowAttributes
  func getWindowAttributes(_ window: UInt32) -> Serial {
    Serial(number: xcb_get_window_attributes(raw, window).sequence)
  }

  /// QueryPointer
  func queryPointer(_ window: UInt32) -> Serial { Serial(number: xcb_query_pointer(raw, window).sequence) }

  /// GetInputFocus: the cheapest request with a reply.
  func getInputFocus() -> Serial { Serial(number: xcb_get_input_focus(raw).sequence) }

  /// XRes QueryVersion
  func resQueryVersion() -> Serial { Serial(number: xcb_res_query_version(raw, 1, 2).sequence) }

  /// XRes QueryClients
  func resQueryClients() -> Serial { Serial(number: xcb_res_query_clients(raw).sequence) }

  /// XRes QueryClientIds for the local pid of one XID's client, or of all clients with XID 0.
  func resQueryLocalPID(of xid: UInt32) -> Serial {
    var spec = xcb_res_client_id_spec_t(client: xid, mask: UInt32(XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID.rawValue))
    return Serial(number: xcb_res_query_client_ids(raw, 1, &spec).sequence)
  }

  // MARK: Requests without a reply

  /// CreateWindow: an unmapped InputOnly child of `root` at its corner.
  func createInputOnlyWindow(_ id: UInt32, root: UInt32, eventMask: UInt32) {
    var values: [UInt32] = [1, eventMask]
    let mask = XCB_CW_OVERRIDE_REDIRECT.rawValue | XCB_CW_EVENT_MASK.rawValue
    // Depth and visual 0 mean CopyFromParent.
    xcb_create_window(
      raw, 0, id, root, -1, -1, 1, 1, 0, UInt16(XCB_WINDOW_CLASS_INPUT_ONLY.rawValue), 0, mask, &values)
  }

  /// DestroyWindow
  func destroyWindow(_ id: UInt32) { xcb_destroy_window(raw, id) }

  /// ChangeWindowAttributes of the event mask alone.
  func selectInput(_ window: UInt32, eventMask: UInt32) -> Serial {
    var mask = eventMask
    return Serial(
      number: xcb_change_window_attributes(raw, window, XCB_CW_EVENT_MASK.rawValue, &mask).sequence)
  }

  /// ChangeProperty; `bytes` must hold whole items of `format` bits.
  func changeProperty(
    window: UInt32, property: UInt32, type: UInt32, format: UInt8, bytes: UnsafeRawBufferPointer, appends: Bool = false
  ) -> Serial {
    let mode = appends ? XCB_PROP_MODE_APPEND : XCB_PROP_MODE_REPLACE
    let items = bytes.count / Int(format / 8)
    return Serial(
      number: xcb_change_property(
        raw, UInt8(mode.rawValue), window, property, type, format, UInt32(items), bytes.baseAddress
      ).sequence)
  }

  /// DeleteProperty
  func deleteProperty(window: UInt32, property: UInt32) -> Serial {
    Serial(number: xcb_delete_property(raw, window, property).sequence)
  }

  /// SetSelectionOwner
  func setSelectionOwner(_ owner: UInt32, selection: UInt32, time: UInt32) {
    xcb_set_selection_owner(raw, owner, selection, time)
  }

  /// ConvertSelection
  func convertSelection(requestor: UInt32, selection: UInt32, target: UInt32, property: UInt32, time: UInt32) {
    xcb_convert_selection(raw, requestor, selection, target, property, time)
  }

  /// SendEvent of a SelectionNotify to its requestor, with an empty mask: to the client that made the window.
  func sendSelectionNotify(
    requestor: UInt32, selection: UInt32, target: UInt32, property: UInt32, time: UInt32
  ) -> Serial {
    var event = xcb_selection_notify_event_t()
    event.response_type = UInt8(XCB_SELECTION_NOTIFY)
    event.time = time
    event.requestor = requestor
    event.selection = selection
    event.target = target
    event.property = property
    // The request takes 32 bytes and the event structure has 24.
    return withUnsafeBytes(of: &event) { sendEvent(to: requestor, mask: 0, bytes: Array($0)) }
  }

  /// SendEvent of a ClientMessage of format 32 to the clients that selected `mask` on `destination`.
  func sendClientMessage(to destination: UInt32, mask: UInt32, type: UInt32, words: [UInt32]) -> Serial {
    var event = xcb_client_message_event_t()
    event.response_type = UInt8(XCB_CLIENT_MESSAGE)
    event.format = 32
    event.window = destination
    event.type = type
    withUnsafeMutableBytes(of: &event.data) { data in
      for (index, word) in words.prefix(5).enumerated() {
        data.storeBytes(of: word, toByteOffset: index * 4, as: UInt32.self)
      }
    }
    return withUnsafeBytes(of: &event) { sendEvent(to: destination, mask: mask, bytes: Array($0)) }
  }

  /// SendEvent of an event of at most 32 bytes.
  func sendEvent(to destination: UInt32, mask: UInt32, bytes: [UInt8]) -> Serial {
    let padded = bytes + [UInt8](repeating: 0, count: 32 - bytes.count)
    return padded.withUnsafeBytes { event in
      Serial(
        number: xcb_send_event(
          raw, 0, destination, mask, event.baseAddress?.assumingMemoryBound(to: CChar.self)
        ).sequence)
    }
  }

  /// GrabButton of one button with one set of modifiers, the pointer standing still at each press. It waits for the
  /// server: `false` when another client has it.
  func grabButton(_ button: UInt8, modifiers: UInt16, on window: UInt32) -> Bool {
    let cookie = xcb_grab_button_checked(
      raw, 0, window, UInt16(XCB_EVENT_MASK_BUTTON_PRESS.rawValue), UInt8(XCB_GRAB_MODE_SYNC.rawValue),
      UInt8(XCB_GRAB_MODE_ASYNC.rawValue), 0, 0, button, modifiers)
    guard let error = xcb_request_check(raw, cookie) else { return true }
    free(error)
    return false
  }

  /// UngrabButton
  func ungrabButton(_ button: UInt8, modifiers: UInt16, on window: UInt32) {
    xcb_ungrab_button(raw, button, window, modifiers)
  }

  /// GrabKey of one key with one set of modifiers, the keyboard standing still at each press. It waits for the server:
  /// `false` when another client has it.
  func grabKey(_ key: UInt8, modifiers: UInt16, on window: UInt32) -> Bool {
    let cookie = xcb_grab_key_checked(
      raw, 0, window, modifiers, key, UInt8(XCB_GRAB_MODE_ASYNC.rawValue), UInt8(XCB_GRAB_MODE_SYNC.rawValue))
    guard let error = xcb_request_check(raw, cookie) else { return true }
    free(error)
    return false
  }

  /// UngrabKey
  func ungrabKey(_ key: UInt8, modifiers: UInt16, on window: UInt32) { xcb_ungrab_key(raw, key, window, modifiers) }

  /// GetKeyboardMapping of all keys.
  func getKeyboardMapping() -> (serial: Serial, firstKey: UInt8) {
    // The setup lives as long as the connection.
    let setup = xcb_get_setup(raw)!.pointee
    let count = setup.max_keycode - setup.min_keycode + 1
    return (
      Serial(number: xcb_get_keyboard_mapping(raw, setup.min_keycode, count).sequence), setup.min_keycode
    )
  }

  /// AllowEvents of ReplayKeyboard: the keyboard goes on.
  func replayKeyboard(time: UInt32 = 0) { xcb_allow_events(raw, UInt8(XCB_ALLOW_REPLAY_KEYBOARD.rawValue), time) }

  /// AllowEvents of ReplayPointer or AsyncPointer: the pointer goes on.
  func allowPointer(replays: Bool) {
    let mode = replays ? XCB_ALLOW_REPLAY_POINTER : XCB_ALLOW_ASYNC_POINTER
    xcb_allow_events(raw, UInt8(mode.rawValue), 0)
  }

  /// GrabServer
  func grabServer() { xcb_grab_server(raw) }
  /// UngrabServer
  func ungrabServer() { xcb_ungrab_server(raw) }
}
