import CSystemd
import Glibc

/// A connection to the session bus on which questions are asked and waited for, never longer than until its deadline. Used
/// by one thread.
final class SecretBus {
  /// What a question came to when it got no answer.
  struct Failure: Error {
    var words: String
  }

  private let pointer: OpaquePointer
  private let deadline: UInt64

  /// Connects to `address`; everything on this connection together takes at most `milliseconds`.
  init(address: String, milliseconds: UInt64) throws(Failure) {
    var made: OpaquePointer?
    try Self.unlessNegative(sd_bus_new(&made), "sd_bus_new")
    guard let made else { throw Failure(words: "sd_bus_new gave nothing") }
    pointer = made
    deadline = Self.now() + milliseconds * 1_000
    try Self.unlessNegative(sd_bus_set_address(made, address), "the bus's address")
    try Self.unlessNegative(sd_bus_set_bus_client(made, 1), "sd_bus_set_bus_client")
    // Nobody is asked to type a password for us.
    try Self.unlessNegative(
      sd_bus_set_allow_interactive_authorization(made, 0), "sd_bus_set_allow_interactive_authorization")
    try Self.unlessNegative(sd_bus_start(made), "the session bus")
    // A call would wait for the greeting without a limit of its own.
    while sd_bus_is_ready(made) == 0 {
      guard remaining > 0 else { throw Failure(words: "the session bus doesn't answer") }
      if try Self.unlessNegative(sd_bus_process(made, nil), "the session bus") == 0 {
        try Self.unlessNegative(sd_bus_wait(made, remaining), "the session bus")
      }
    }
  }

  // Nothing that is still queued matters to anybody.
  deinit { sd_bus_close_unref(pointer) }

  /// Microseconds that are left.
  private var remaining: UInt64 {
    let now = Self.now()
    return deadline > now ? deadline - now : 0
  }

  private static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1_000
  }

  @discardableResult
  fileprivate static func unlessNegative(_ result: Int32, _ what: String) throws(Failure) -> Int32 {
    guard result >= 0 else { throw Failure(words: "\(what): \(StoreFiles.reason(-result))") }
    return result
  }

  /// Calls `member` of the object at `path`, with what `fill` puts into the call.
  func call(
    _ path: String, _ interface: String, _ member: String, _ fill: (SecretMessage) throws(Failure) -> Void
  ) throws(Failure) -> SecretMessage {
    var made: OpaquePointer?
    try Self.unlessNegative(
      sd_bus_message_new_method_call(pointer, &made, "org.freedesktop.secrets", path, interface, member), member)
    guard let made else { throw Failure(words: member) }
    let question = SecretMessage(made)
    try fill(question)
    guard remaining > 0 else { throw Failure(words: "the Secret Service doesn't answer") }
    var error = sd_bus_error()
    defer { sd_bus_error_free(&error) }
    var reply: OpaquePointer?
    let result = sd_bus_call(pointer, made, remaining, &error, &reply)
    guard result >= 0, let reply else {
      if -result == ETIMEDOUT { throw Failure(words: "the Secret Service doesn't answer") }
      if let name = error.name, String(cString: name) == "org.freedesktop.DBus.Error.ServiceUnknown" {
        throw Failure(words: "there is no Secret Service on the session bus")
      }
      let words = error.message.map { String(cString: $0) } ?? StoreFiles.reason(-result)
      throw Failure(words: "\(member): \(words)")
    }
    return SecretMessage(reply)
  }
}

/// One message, released with its last user. Types are named by their D-Bus letters.
final class SecretMessage {
  private let pointer: OpaquePointer

  fileprivate init(_ owned: OpaquePointer) {
    pointer = owned
    // The library wipes what carried a key before it gives the memory back.
    sd_bus_message_sensitive(owned)
  }

  deinit { sd_bus_message_unref(pointer) }

  private static func letter(_ type: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: type)) }

  /// A string, an object path or a signature, by its letter.
  func append(_ text: String, as type: Unicode.Scalar = "s") throws(SecretBus.Failure) {
    let result = text.withCString { sd_bus_message_append_basic(pointer, Self.letter(type), $0) }
    try SecretBus.unlessNegative(result, "sd_bus_message_append_basic")
  }

  func append(_ truth: Bool) throws(SecretBus.Failure) {
    var number: Int32 = truth ? 1 : 0
    try SecretBus.unlessNegative(
      sd_bus_message_append_basic(pointer, Self.letter("b"), &number), "sd_bus_message_append_basic")
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(SecretBus.Failure) {
    try SecretBus.unlessNegative(
      sd_bus_message_append_array(pointer, Self.letter("y"), bytes.baseAddress, bytes.count),
      "sd_bus_message_append_array")
  }

  /// Puts what `fill` appends into a container: an array (`a`), a variant (`v`), a structure (`r`) or an entry (`e`).
  func append(
    _ container: Unicode.Scalar, of contents: String, _ fill: () throws(SecretBus.Failure) -> Void
  ) throws(SecretBus.Failure) {
    try SecretBus.unlessNegative(
      sd_bus_message_open_container(pointer, Self.letter(container), contents), "sd_bus_message_open_container")
    try fill()
    try SecretBus.unlessNegative(sd_bus_message_close_container(pointer), "sd_bus_message_close_container")
  }

  /// The next string or object path; `nil` at the end of an array.
  func readText(_ type: Unicode.Scalar = "s") throws(SecretBus.Failure) -> String? {
    var start: UnsafePointer<CChar>?
    let found = try SecretBus.unlessNegative(
      sd_bus_message_read_basic(pointer, Self.letter(type), &start), "sd_bus_message_read_basic")
    return found > 0 ? start.map { String(cString: $0) } : nil
  }

  func readBool() throws(SecretBus.Failure) -> Bool {
    var number: Int32 = 0
    try SecretBus.unlessNegative(
      sd_bus_message_read_basic(pointer, Self.letter("b"), &number), "sd_bus_message_read_basic")
    return number != 0
  }

  /// Calls `body` with the next array of bytes, valid only inside the call.
  func readBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) throws(SecretBus.Failure) -> R {
    var start: UnsafeRawPointer?
    var count = 0
    try SecretBus.unlessNegative(
      sd_bus_message_read_array(pointer, Self.letter("y"), &start, &count), "sd_bus_message_read_array")
    return body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
  }

  /// Reads the inside of the next container.
  func read<R>(
    _ container: Unicode.Scalar, of contents: String, _ body: () throws(SecretBus.Failure) -> R
  ) throws(SecretBus.Failure) -> R {
    try SecretBus.unlessNegative(
      sd_bus_message_enter_container(pointer, Self.letter(container), contents), "sd_bus_message_enter_container")
    let result = try body()
    try SecretBus.unlessNegative(sd_bus_message_exit_container(pointer), "sd_bus_message_exit_container")
    return result
  }

  /// All object paths of the next array.
  func readPaths() throws(SecretBus.Failure) -> [String] {
    try read("a", of: "o") { () throws(SecretBus.Failure) in
      var paths: [String] = []
      while let path = try readText("o") { paths.append(path) }
      return paths
    }
  }
}
