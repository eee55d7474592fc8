@preconcurrency import CSystemd
@preconcurrency import Glibc

/// One D-Bus message, held until the last reference goes.
final class BusMessage {
  // Only the main thread uses and releases messages.
  nonisolated(unsafe) let pointer: OpaquePointer

  /// Adds a reference to a message that libsystemd lends us.
  init(borrowed pointer: OpaquePointer) { self.pointer = sd_bus_message_ref(pointer) }

  /// Takes over a reference that libsystemd gave us.
  init(owned pointer: OpaquePointer) { self.pointer = pointer }

  deinit { sd_bus_message_unref(pointer) }

  /// Adds a value of a basic type whose size in memory is that of `Value`.
  func append<Value: BitwiseCopyable>(basic type: Unicode.Scalar, _ value: Value) throws(SystemFailure) {
    var value = value
    try SystemFailure.unlessNegative(
      sd_bus_message_append_basic(pointer, CChar(UInt8(ascii: type)), &value), "sd_bus_message_append_basic")
  }

  /// The value of a basic type that comes next, `nothing` where the container around it has no more.
  func readBasic<Value: BitwiseCopyable>(_ type: Unicode.Scalar, _ nothing: Value) throws(SystemFailure) -> Value {
    var value = nothing
    try SystemFailure.unlessNegative(
      sd_bus_message_read_basic(pointer, CChar(UInt8(ascii: type)), &value), "sd_bus_message_read_basic")
    return value
  }

  func append(_ text: String) throws(SystemFailure) {
    // A NUL would end the string early; none of our texts has one that isn't escaped.
    let result = text.withCString { sd_bus_message_append_basic(pointer, CChar(UInt8(ascii: "s")), $0) }
    try SystemFailure.unlessNegative(result, "sd_bus_message_append_basic")
  }

  func append(_ truth: Bool) throws(SystemFailure) { try append(basic: "b", Int32(truth ? 1 : 0)) }

  func append(_ number: UInt8) throws(SystemFailure) { try append(basic: "y", number) }

  func append(_ number: UInt32) throws(SystemFailure) { try append(basic: "u", number) }

  func append(_ number: UInt64) throws(SystemFailure) { try append(basic: "t", number) }

  /// Adds a copy of a descriptor, which stays its owner's.
  func append(_ descriptor: OwnedDescriptor) throws(SystemFailure) { try append(basic: "h", descriptor.number) }

  func append(_ texts: [String]) throws(SystemFailure) {
    try append(array: "s", texts) { (message, text) throws(SystemFailure) in try message.append(text) }
  }

  /// Adds an array, each element by `body`.
  func append<Element>(
    array contents: String, _ elements: [Element], _ body: (BusMessage, Element) throws(SystemFailure) -> Void
  ) throws(SystemFailure) {
    try open("a", contents)
    for element in elements { try body(self, element) }
    try close()
  }

  /// Begins an array or a structure; ``close()`` ends it.
  func open(_ kind: Unicode.Scalar, _ contents: String) throws(SystemFailure) {
    try SystemFailure.unlessNegative(
      sd_bus_message_open_container(pointer, CChar(UInt8(ascii: kind)), contents), "sd_bus_message_open_container")
  }

  func close() throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_bus_message_close_container(pointer), "sd_bus_message_close_container")
  }

  /// Goes into the next array or structure; `false` where the one around it has no more.
  func enter(_ kind: Unicode.Scalar, _ contents: String) throws(SystemFailure) -> Bool {
    try SystemFailure.unlessNegative(
      sd_bus_message_enter_container(pointer, CChar(UInt8(ascii: kind)), contents), "sd_bus_message_enter_container")
      > 0
  }

  func leave() throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_bus_message_exit_container(pointer), "sd_bus_message_exit_container")
  }

  /// A copy of the descriptor that comes next.
  func readDescriptor() throws(SystemFailure) -> OwnedDescriptor {
    // The message closes its own.
    OwnedDescriptor(try SystemFailure.unlessMinusOne(Posix.duplicate(try readBasic("h", Int32(-1))), "fcntl"))
  }

  func readUInt64() throws(SystemFailure) -> UInt64 { try readBasic("t", 0) }

  func readStrings() throws(SystemFailure) -> [String] {
    var texts: [String] = []
    guard try enter("a", "s") else { return [] }
    var start: UnsafePointer<CChar>?
    while try SystemFailure.unlessNegative(
      sd_bus_message_read_basic(pointer, CChar(UInt8(ascii: "s")), &start), "sd_bus_message_read_basic") > 0
    {
      if let start { texts.append(String(cString: start)) }
    }
    try leave()
    return texts
  }

  /// Answers this call with an error.
  func refuse(_ name: String, _ message: String) throws(SystemFailure) {
    var made: OpaquePointer?
    let result = name.withCString { name in
      message.withCString { message in
        // Only read during the call.
        var error = sd_bus_error(name: name, message: message, _need_free: 0)
        return sd_bus_message_new_method_error(pointer, &made, &error)
      }
    }
    try SystemFailure.unlessNegative(result, "sd_bus_message_new_method_error")
    guard let made else { throw SystemFailure(call: "sd_bus_message_new_method_error", code: ENOMEM) }
    try BusMessage(owned: made).send()
  }

  /// The connection that it came by; a name for it, nothing to call.
  var connection: OpaquePointer? { sd_bus_message_get_bus(pointer) }

  /// The name of the method or signal.
  var member: String { sd_bus_message_get_member(pointer).map { String(cString: $0) } ?? "" }

  func readString() throws(SystemFailure) -> String {
    var start: UnsafePointer<CChar>?
    try SystemFailure.unlessNegative(
      sd_bus_message_read_basic(pointer, CChar(UInt8(ascii: "s")), &start), "sd_bus_message_read_basic")
    return start.map { String(cString: $0) } ?? ""
  }

  func readBool() throws(SystemFailure) -> Bool { try readBasic("b", Int32(0)) != 0 }

  func readUInt32() throws(SystemFailure) -> UInt32 { try readBasic("u", 0) }

  /// Who sent it, by the name that the bus itself gives and vouches for; `nil` where there is no bus.
  var sender: String? { sd_bus_message_get_sender(pointer).map { String(cString: $0) } }

  /// The name of the error that this reply is.
  var errorName: String? {
    guard let name = sd_bus_message_get_error(pointer)?.pointee.name else { return nil }
    return String(cString: name)
  }

  /// Whether this is an error reply.
  var isError: Bool { sd_bus_message_is_method_error(pointer, nil) > 0 }

  /// An empty reply to this call.
  func makeReturn() throws(SystemFailure) -> BusMessage {
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_bus_message_new_method_return(pointer, &made), "sd_bus_message_new_method_return")
    return BusMessage(owned: made!)
  }

  /// Sends this call without waiting; without a place for its number libsystemd would mark it as wanting no answer.
  func sendCall() throws(SystemFailure) {
    var number: UInt64 = 0
    try SystemFailure.unlessNegative(sd_bus_send(nil, pointer, &number), "sd_bus_send")
  }

  /// Sends this answer or signal on the connection it was made for.
  func send() throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_bus_send(nil, pointer, nil), "sd_bus_send")
  }
}
