@preconcurrency import CSystemd
@preconcurrency import Glibc

/// The Desktop Notifications Specification, as far as we speak it.
enum NotificationCalls {
  /// The name that every notification server owns.
  static let name = "org.freedesktop.Notifications"
  static let interface = "org.freedesktop.Notifications"
  static let path = "/org/freedesktop/Notifications"
  /// The key of the one button.
  static let allowKey = "allow-once"

  /// Asks a server what it can; starts one where the bus knows how.
  static func capabilities(on connection: BusConnection) throws(SystemFailure) -> BusMessage {
    try connection.makeCall(to: name, path: path, interface: interface, member: "GetCapabilities")
  }

  /// Shows a notice in the place of the one with the server's number `replacing`, 0 for none.
  static func notify(
    _ text: NoticeText, replacing: UInt32, with capabilities: Set<String>, to server: String,
    milliseconds: Int32, on connection: BusConnection
  ) throws(SystemFailure) -> BusMessage {
    let call = try connection.makeCall(to: server, path: path, interface: interface, member: "Notify")
    let body = capabilities.contains("body-markup") ? text.escapedBody : text.body
    let hasBody = capabilities.contains("body")
    try call.append("XPasteBridge")
    try call.append(replacing)
    try call.append("edit-paste")
    try call.append(hasBody ? text.summary : "\(text.summary): \(text.body)")
    try call.append(hasBody ? body : "")
    try call.append(text.offersAllowOnce ? [allowKey, "Allow once"] : [])
    try call.open("a", "{sv}")
    // Normal: what a person just tried is worth a look, and nothing to hold a full-screen film up for.
    try call.appendHint("urgency") { (call) throws(SystemFailure) in
      try call.open("v", "y")
      try call.append(UInt8(1))
    }
    try call.appendHint("category") { (call) throws(SystemFailure) in
      try call.open("v", "s")
      try call.append("transfer.error")
    }
    try call.appendHint("desktop-entry") { (call) throws(SystemFailure) in
      try call.open("v", "s")
      try call.append("xpastebridge")
    }
    try call.close()
    try call.append(milliseconds)
    return call
  }

  /// Takes a notice away; nobody waits for an answer.
  static func close(_ number: UInt32, to server: String, on connection: BusConnection) throws(SystemFailure) {
    let call = try connection.makeCall(to: server, path: path, interface: interface, member: "CloseNotification")
    try call.append(number)
    try call.send()
  }
}

extension BusMessage {
  /// Adds one entry of a dictionary of variants; `body` opens the variant and adds its value.
  fileprivate func appendHint(
    _ name: String, _ body: (BusMessage) throws(SystemFailure) -> Void
  ) throws(SystemFailure) {
    try open("e", "sv")
    try append(name)
    try body(self)
    try close()
    try close()
  }
}
