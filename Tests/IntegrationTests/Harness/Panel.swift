import Foundation

/// A session bus on a desktop, and what shows trays on it.
final class TrayDesktop {
  let desktop: Desktop
  let bus: Child
  /// Its address.
  let address: String
  /// The environment with the address.
  let environment: [String: String]

  init() throws {
    desktop = try Desktop()
    let socket = desktop.folder + "/bus"
    bus = try desktop.start("/usr/bin/dbus-daemon", ["--session", "--nofork", "--address=unix:path=\(socket)"])
    address = "unix:path=\(socket)"
    environment = desktop.environment.merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 }
    // A socket that is there may not be listened at yet.
    guard try waitUntil(within: 20, { try names().contains("org.freedesktop.DBus") }) else {
      throw HarnessError("dbus-daemon", expected: "an answer within 20 s", found: "none", alive: desktop.alive())
    }
  }

  /// The daemon under test, on this bus.
  func bridge(policy: String = Bridge.allowAll, options: [String] = []) throws -> Bridge {
    try Bridge(on: desktop, policy: policy, options: options, bus: address)
  }

  /// Xfce's panel along the upper edge, with nothing on it but the tray.
  func panel() throws -> Child {
    let folder = desktop.folder + "/home/.config/xfce4/xfconf/xfce-perchannel-xml"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Self.settings.write(toFile: folder + "/xfce4-panel.xml", atomically: true, encoding: .utf8)
    return try desktop.start("/usr/bin/xfce4-panel", ["--disable-wm-check"], keepsOutput: false, only: environment)
  }

  /// A panel's side of the bus alone (`tray_host.py`).
  func host() throws -> Talker {
    let script = Place.programs + "/tray_host.py"
    return Talker(try desktop.start("/usr/bin/python3", [script], only: environment), alive: desktop.alive)
  }

  /// Calls a method of the session bus and gives what was answered, in GLib's spelling.
  func call(_ destination: String, _ path: String, _ method: String, _ arguments: String...) throws -> String {
    let words = ["call", "--session", "--dest", destination, "--object-path", path, "--method", method] + arguments
    return String(decoding: try desktop.run("/usr/bin/gdbus", words, only: environment).output, as: UTF8.self)
  }

  /// The names on the bus.
  func names() throws -> String {
    try call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.ListNames")
  }

  private static let settings = """
    <?xml version="1.0" encoding="UTF-8"?>
    <channel name="xfce4-panel" version="1.0">
      <property name="configver" type="int" value="2"/>
      <property name="panels" type="array">
        <value type="int" value="1"/>
        <property name="panel-1" type="empty">
          <property name="position" type="string" value="p=6;x=0;y=0"/>
          <property name="position-locked" type="bool" value="true"/>
          <property name="length" type="uint" value="100"/>
          <property name="size" type="uint" value="48"/>
          <property name="plugin-ids" type="array"><value type="int" value="1"/></property>
        </property>
      </property>
      <property name="plugins" type="empty">
        <property name="plugin-1" type="string" value="systray"/>
      </property>
    </channel>

    """
}
