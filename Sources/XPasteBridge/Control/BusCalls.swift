@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

/// What an error reply said.
struct BusFailure: Error, Hashable {
  /// The D-Bus error name.
  var name: String
  /// Its text.
  var message: String
}

/// One D-Bus connection, to a peer or to a bus, closed with the last reference.
final class BusConnection {
  // Only the main thread uses and releases connections.
  nonisolated(unsafe) let pointer: OpaquePointer
  private var slots: [BusSlot] = []
  /// Calls that wait for their answer.
  private var calls: [ObjectIdentifier: BusSlot] = [:]

  private init(owned pointer: OpaquePointer) { self.pointer = pointer }

  deinit { sd_bus_close_unref(pointer) }

  /// A connection not yet started.
  convenience init() throws(SystemFailure) {
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(sd_bus_new(&made), "sd_bus_new")
    self.init(owned: made!)
  }

  /// Begins connecting to the session bus without waiting for it.
  static func openUser() throws(SystemFailure) -> BusConnection {
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(sd_bus_open_user(&made), "sd_bus_open_user")
    return BusConnection(owned: made!)
  }

  /// Uses a connected socket, which the connection closes at its end.
  func setSocket(_ socket: OwnedDescriptor) throws(SystemFailure) {
    // libsystemd closes the descriptor it is given; ours is closed by its owner, so it gets a copy.
    let copy = try SystemFailure.unlessMinusOne(Posix.duplicate(socket.number), "fcntl")
    let result = sd_bus_set_fd(pointer, copy, copy)
    if result < 0 { Glibc.close(copy) }
    try SystemFailure.unlessNegative(result, "sd_bus_set_fd")
  }

  /// Makes this the side that authenticates the other.
  func setServer() throws(SystemFailure) {
    var id = sd_id128_t()
    try SystemFailure.unlessNegative(sd_id128_randomize(&id), "sd_id128_randomize")
    try SystemFailure.unlessNegative(sd_bus_set_server(pointer, 1, id), "sd_bus_set_server")
  }

  /// Takes no file descriptors from the peer: no method of ours wants any, and libsystemd (252) forgets to close those
  /// that come with a message it drops as invalid, so a peer could use up all that we may have.
  func refuseDescriptors() throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_bus_negotiate_fds(pointer, 0), "sd_bus_negotiate_fds")
  }

  /// Serves every method to the peer, whose user has been verified before.
  func setTrusted() throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_bus_set_trusted(pointer, 1), "sd_bus_set_trusted")
  }

  func start() throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_bus_start(pointer), "sd_bus_start")
  }

  func attach(to loop: EventLoop) throws(SystemFailure) {
    try SystemFailure.unlessNegative(
      sd_bus_attach_event(pointer, loop.pointer, Int32(SD_EVENT_PRIORITY_NORMAL)), "sd_bus_attach_event")
  }

  /// Whether the handshake is over.
  var isReady: Bool { sd_bus_is_ready(pointer) > 0 }

  /// Answers waiting for a peer that doesn't read them.
  var queuedAnswers: UInt64 {
    var count: UInt64 = 0
    sd_bus_get_n_queued_write(pointer, &count)
    return count
  }

  /// Ends the connection at once; what is queued is dropped.
  func close() { sd_bus_close(pointer) }

  /// Calls `onMatch` for each message that the rule matches.
  func addMatch(_ rule: String, _ onMatch: @escaping (BusMessage) -> Void) throws(SystemFailure) {
    let slot = BusSlot(onMatch)
    // Without an install callback a refused rule would close the connection.
    try SystemFailure.unlessNegative(
      sd_bus_add_match_async(
        pointer, nil, rule, { message, slot, _ in BusSlot.fire(message, slot) }, { _, _, _ in 0 }, slot.pointer),
      "sd_bus_add_match_async")
    slots.append(slot)
  }

  /// Calls `onMessage` for every message that comes in, before anything else sees it.
  func addFilter(_ onMessage: @escaping (BusMessage) -> Void) throws(SystemFailure) {
    let slot = BusSlot(onMessage)
    try SystemFailure.unlessNegative(
      sd_bus_add_filter(pointer, nil, { message, slot, _ in BusSlot.fire(message, slot) }, slot.pointer),
      "sd_bus_add_filter")
    slots.append(slot)
  }

  /// Asks the bus for `name`, queueing behind an owner; `onReply` gets the bus's answer.
  func requestName(_ name: String, _ onReply: @escaping (BusMessage) -> Void) throws(SystemFailure) {
    let slot = BusSlot(onReply)
    try SystemFailure.unlessNegative(
      sd_bus_request_name_async(
        pointer, nil, name, UInt64(SD_BUS_NAME_QUEUE), { message, slot, _ in BusSlot.fire(message, slot) }, slot.pointer
      ),
      "sd_bus_request_name_async")
    slots.append(slot)
  }

  /// Serves `table` at `path`.
  func add(_ table: BusTable, path: String) throws(SystemFailure) {
    try SystemFailure.unlessNegative(
      sd_bus_add_object_vtable(pointer, nil, path, table.interface, table.entries, table.pointer),
      "sd_bus_add_object_vtable")
  }

  /// Tells subscribers that a property changed.
  func emitPropertiesChanged(path: String, interface: String, property: String) throws(SystemFailure) {
    let result = property.withCString { name in
      // A NULL-terminated list that is only read during the call.
      var names: [UnsafeMutablePointer<CChar>?] = [UnsafeMutablePointer(mutating: name), nil]
      return sd_bus_emit_properties_changed_strv(pointer, path, interface, &names)
    }
    try SystemFailure.unlessNegative(result, "sd_bus_emit_properties_changed_strv")
  }

  /// Sends a signal with one string.
  func emitSignal(path: String, interface: String, member: String, _ text: String) throws(SystemFailure) {
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_bus_message_new_signal(pointer, &made, path, interface, member), "sd_bus_message_new_signal")
    let message = BusMessage(owned: made!)
    try message.append(text)
    try message.send()
  }

  /// Sends a signal whose arguments `body` adds.
  func emitSignal(
    path: String, interface: String, member: String, _ body: (BusMessage) throws(SystemFailure) -> Void
  ) throws(SystemFailure) {
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_bus_message_new_signal(pointer, &made, path, interface, member), "sd_bus_message_new_signal")
    guard let made else { throw SystemFailure(call: "sd_bus_message_new_signal", code: ENOMEM) }
    let message = BusMessage(owned: made)
    try body(message)
    try message.send()
  }

  /// Calls a method of another connection, without waiting and without starting a service for it; `onReply` gets the
  /// answer whenever it comes.
  func call(
    _ member: String, of interface: String, at path: String, on destination: String, _ texts: [String],
    _ onReply: @escaping (BusMessage) -> Void
  ) throws(SystemFailure) {
    let message = try makeCall(to: destination, path: path, interface: interface, member: member)
    try SystemFailure.unlessNegative(
      sd_bus_message_set_auto_start(message.pointer, 0), "sd_bus_message_set_auto_start")
    for text in texts { try message.append(text) }
    // The bus itself answers for a connection that ends. A deadline would wake the loop up for nothing.
    try send(message, milliseconds: nil, onReply)
  }

  // MARK: the calling side

  /// Sends `call` without waiting; `onReply` gets its answer from the loop, or the error that stands for none within
  /// `milliseconds`; without that it waits as long as the connection lasts.
  func send(_ call: BusMessage, milliseconds: Int?, _ onReply: @escaping (BusMessage) -> Void) throws(SystemFailure) {
    var number: ObjectIdentifier?
    let slot = BusSlot { [weak self] reply in
      if let number { self?.calls[number] = nil }
      onReply(reply)
    }
    number = ObjectIdentifier(slot)
    try SystemFailure.unlessNegative(
      sd_bus_call_async(
        pointer, nil, call.pointer, { message, slot, _ in BusSlot.fire(message, slot) }, slot.pointer,
        milliseconds.map { UInt64(max(1, $0)) * 1_000 } ?? UInt64.max), "sd_bus_call_async")
    calls[ObjectIdentifier(slot)] = slot
  }

  /// A call of a method, of the peer's or, on a bus, of `destination`'s.
  func makeCall(
    to destination: String? = nil, path: String, interface: String, member: String
  ) throws(SystemFailure) -> BusMessage {
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_bus_message_new_method_call(pointer, &made, destination, path, interface, member),
      "sd_bus_message_new_method_call")
    return BusMessage(owned: made!)
  }

  /// Takes one step of the connection's own work; true when there was something to do.
  func step() throws(SystemFailure) -> Bool {
    try SystemFailure.unlessNegative(sd_bus_process(pointer, nil), "sd_bus_process") > 0
  }

  func wait(milliseconds: Int) throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_bus_wait(pointer, UInt64(max(0, milliseconds)) * 1_000), "sd_bus_wait")
  }

  /// Takes the handshake to its end: sd_bus_call itself would wait for it up to 90 s.
  func waitUntilReady(deadline: MonotonicTime) throws(SystemFailure) {
    while !isReady {
      if try step() { continue }
      let left = Posix.milliseconds(until: deadline)
      guard left > 0 else { throw SystemFailure(call: "sd_bus_wait", code: ETIMEDOUT) }
      try wait(milliseconds: left)
    }
  }

  /// Sends `call` and waits for its answer at most `milliseconds`.
  func call(_ call: BusMessage, milliseconds: Int) throws(SystemFailure) -> Result<BusMessage, BusFailure> {
    var error = sd_bus_error()
    var reply: OpaquePointer?
    defer { sd_bus_error_free(&error) }
    // 0 would mean the library's default of 25 s.
    let result = sd_bus_call(pointer, call.pointer, UInt64(max(1, milliseconds)) * 1_000, &error, &reply)
    if result < 0, let name = error.name {
      // Local failures come in an error of the library's own making: they are the system's, not the peer's.
      let text = error.message.map { String(cString: $0) } ?? ""
      let failure = BusFailure(name: String(cString: name), message: text)
      if -result == ETIMEDOUT || -result == ECONNRESET { throw SystemFailure(call: "sd_bus_call", code: -result) }
      return .failure(failure)
    }
    try SystemFailure.unlessNegative(result, "sd_bus_call")
    return .success(BusMessage(owned: reply!))
  }
}

/// What libsystemd calls back into for a match or an answer; its connection holds it.
final class BusSlot {
  private let onMessage: (BusMessage) -> Void

  init(_ onMessage: @escaping (BusMessage) -> Void) { self.onMessage = onMessage }

  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// `slot` came from a slot that its connection holds, and sd-bus calls on the main thread only.
  nonisolated static func fire(_ message: OpaquePointer?, _ slot: UnsafeMutableRawPointer?) -> Int32 {
    nonisolated(unsafe) let message = message!
    nonisolated(unsafe) let slot = slot!
    MainActor.assumeIsolated {
      Unmanaged<BusSlot>.fromOpaque(slot).takeUnretainedValue().onMessage(BusMessage(borrowed: message))
    }
    return 0
  }
}
