import Foundation
import Testing

extension IntegrationTests {
  /// Notices by a real notification server, on a session bus of their own.
  @Suite(.serialized, .enabled(if: access("/usr/bin/dunst", X_OK) == 0)) struct NoticeTests {
    private static let policy = """
      version: 1
      rules:
        - name: ledger asks first
          from: {class: Ledger}
          to: {not: {class: Ledger}}
          decision: ask
          message: "Is <this> meant & wanted?"
      default: allow
      """

    /// A session bus with dunst on it.
    private func startServer(on desktop: Desktop) throws -> String {
      let bus = "unix:path=\(desktop.folder)/bus"
      let environment = ["DBUS_SESSION_BUS_ADDRESS": bus]
      try desktop.start(
        "/usr/bin/dbus-daemon", ["--session", "--nofork", "--address=" + bus], keepsOutput: false)
      guard waitUntil(within: 20, { access("\(desktop.folder)/bus", F_OK) == 0 }) else {
        throw HarnessError("dbus-daemon", expected: "a socket", found: "none", alive: desktop.alive())
      }
      let settings = desktop.path("dunstrc")
      // In the middle of the top, where a click meets it.
      try """
      [global]
      origin = top-center
      width = 500
      height = 300
      mouse_left_click = do_action, close_current
      markup = full

      """.write(toFile: settings, atomically: true, encoding: .utf8)
      try desktop.start("/usr/bin/dunst", ["-config", settings], keepsOutput: false, adding: environment)
      let words = [
        "call", "--session", "--dest", "org.freedesktop.Notifications", "--object-path",
        "/org/freedesktop/Notifications",
        "--method", "org.freedesktop.Notifications.GetServerInformation",
      ]
      let isReady = try waitUntil(within: 20) {
        try desktop.run("/usr/bin/gdbus", words, only: desktop.environment.merging(environment) { $1 }).status == 0
      }
      guard isReady else {
        throw HarnessError("dunst", expected: "an answer", found: desktop.log("dunst"), alive: desktop.alive())
      }
      return bus
    }

    /// What dunst has shown.
    private func shown(_ desktop: Desktop, _ bus: String) throws -> String {
      let environment = desktop.environment.merging(["DBUS_SESSION_BUS_ADDRESS": bus]) { $1 }
      let answer = try desktop.run("/usr/bin/dunstctl", ["history"], only: environment)
      return String(decoding: answer.output, as: UTF8.self)
    }

    private func asks(_ bridge: Bridge) throws -> [Event] {
      let answer = try bridge.command("allow-once", "--list", "--json")
      let report = Event((try? JSONSerialization.jsonObject(with: answer.output) as? [String: Any]) ?? [:])
      return (report.fields["asks"] as? [[String: Any]] ?? []).map { Event($0) }
    }

    private func words(_ bridge: Bridge) throws -> [String] {
      try bridge.audit().filter { $0.action == "allow-once" }.map(\.outcome)
    }

    /// Both ask otherwise: GTK's text view for the content at once, Qt's for the list first, and stops where it is empty.
    @Test(
      "a paste is refused and told, the button lets the next one through, and no other",
      arguments: [EditorKind.gtk, .qt])
    func allowOnce(kind: EditorKind) throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let bus = try startServer(on: desktop)
      let bridge = try Bridge(on: desktop, policy: Self.policy, bus: bus)
      let owner = try desktop.owner("class ledger Ledger", "target UTF8_STRING text:wonderful-secret")
      let editor = try Editor(kind, on: desktop)
      let paster = try desktop.requestor()
      // It takes keys.
      #expect(try editor.copiedText(wanted: EditorKind.text, by: paster, within: 60) == EditorKind.text)
      try owner.claim()
      try bridge.sync()
      #expect(try asks(bridge).isEmpty)

      let text = {
        let path = desktop.path("dumped.txt")
        try editor.tell("dump \(path)")
        return try String(contentsOfFile: path, encoding: .utf8)
      }
      try editor.press(["ctrl+v"])
      #expect(try waitUntil(within: 20) { try asks(bridge).count == 1 }, "\(desktop.log("xpastebridge"))")
      #expect(try asks(bridge).first?.object("destination")?.object("class")?.text("value") == kind.windowClass)
      #expect(try text() == EditorKind.text)

      // The notice is there; its button is chosen with the mouse.
      let dunst = ["search", "--onlyvisible", "--class", "^Dunst$"]
      #expect(try waitUntil(within: 20) { try desktop.run("/usr/bin/xdotool", dunst).status == 0 })
      // For people who want to see it.
      if let folder = ProcessInfo.processInfo.environment["XPB_PICTURES"] {
        usleep(300_000)
        _ = try desktop.run("/usr/bin/import", ["-window", "root", "\(folder)/notice-\(kind.rawValue).png"])
      }
      _ = try desktop.run("/usr/bin/xdotool", ["mousemove", "640", "60", "click", "1"])
      #expect(try waitUntil(within: 20) { try words(bridge) == ["granted"] })
      let history = try shown(desktop, bus)
      #expect(history.contains("Allow this paste?") && history.contains("what Ledger copied"))
      #expect(history.contains(kind.windowClass) && !history.contains("wonderful-secret"))

      #expect(try paster.text() == nil, "others are refused as before")
      try editor.press(["ctrl+End", "ctrl+v"])
      let isPasted = try waitUntil(within: 20) { try text() == EditorKind.text + "wonderful-secret" }
      #expect(isPasted)
      let served = try bridge.audit().last { $0.outcome == "served" && $0.action == "paste" }
      #expect(served?.decision == "ask" && served?.rule == "ledger asks first")

      // That was it: the next is refused and asked about anew; the command allows it as well.
      // What comes within a second is still the same paste.
      usleep(1_200_000)
      try editor.press(["ctrl+v"])
      #expect(
        try waitUntil(within: 20) {
          try asks(bridge).last?.object("destination")?.object("class")?.text("value") == kind.windowClass
        })
      #expect(try text() == EditorKind.text + "wonderful-secret")
      let answer = try bridge.command("allow-once")
      #expect(answer.status == 0)
      #expect(String(decoding: answer.output, as: UTF8.self).contains("may paste what Ledger"))
      try editor.press(["ctrl+v"])
      #expect(try waitUntil(within: 20) { try text() == EditorKind.text + "wonderful-secretwonderful-secret" })
      try bridge.stop()
    }
  }
}
