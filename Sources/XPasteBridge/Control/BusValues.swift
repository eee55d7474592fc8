@preconcurrency import CSystemd

// Types that the daemon's own interfaces don't have, and those of desktops do.
extension BusMessage {
  func append(_ number: Int32) throws(SystemFailure) { try append(basic: "i", number) }

  func append(_ numbers: [Int32]) throws(SystemFailure) {
    try append(array: "i", numbers) { (message, number) throws(SystemFailure) in try message.append(number) }
  }

  func append(objectPath path: String) throws(SystemFailure) {
    let result = path.withCString { sd_bus_message_append_basic(pointer, CChar(UInt8(ascii: "o")), $0) }
    try SystemFailure.unlessNegative(result, "sd_bus_message_append_basic")
  }

  func append(bytes: [UInt8]) throws(SystemFailure) {
    let result = bytes.withUnsafeBytes {
      sd_bus_message_append_array(pointer, CChar(UInt8(ascii: "y")), $0.baseAddress, $0.count)
    }
    try SystemFailure.unlessNegative(result, "sd_bus_message_append_array")
  }

  /// Adds a value with its type.
  func append(variant contents: String, _ body: (BusMessage) throws(SystemFailure) -> Void) throws(SystemFailure) {
    try open("v", contents)
    try body(self)
    try close()
  }

  /// A string with its type.
  func readVariantString() throws(SystemFailure) -> String {
    guard try enter("v", "s") else { return "" }
    let text = try readString()
    try leave()
    return text
  }

  func readInt32() throws(SystemFailure) -> Int32 { try readBasic("i", 0) }

  /// An array of numbers.
  func readInt32s() throws(SystemFailure) -> [Int32] {
    var numbers: [Int32] = []
    guard try enter("a", "i") else { return [] }
    var number: Int32 = 0
    while try SystemFailure.unlessNegative(
      sd_bus_message_read_basic(pointer, CChar(UInt8(ascii: "i")), &number), "sd_bus_message_read_basic") > 0
    {
      numbers.append(number)
    }
    try leave()
    return numbers
  }

  /// Passes over values of these types.
  func skip(_ contents: String) throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_bus_message_skip(pointer, contents), "sd_bus_message_skip")
  }
}
