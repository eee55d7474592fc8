import Foundation
import Testing

extension IntegrationTests {
  /// The sign in the panel, with a real panel and without one.
  @Suite(.serialized) struct TrayTests {
    private static let policy = """
      version: 1
      groups:
        finance: [{class: Ledger}]
      boards:
        org.example.board: {members: [finance]}
      rules:
        - name: finance stays in finance
          from: finance
          to: {not: finance}
          decision: deny
      default: allow

      """
    /// The shields' colours, as in `data/icons`.
    private static let green = "46 125 79"
    private static let red = "179 38 30"
    private static let menu = "/StatusNotifierItem/Menu"

    private func item(_ bridge: Bridge) -> String { "org.kde.StatusNotifierItem-\(bridge.child.pid)-1" }

    private func layout(_ tray: TrayDesktop, _ bridge: Bridge) throws -> String {
      try tray.call(item(bridge), Self.menu, "com.canonical.dbusmenu.GetLayout", "0", "int32 -1", "[]")
    }

    private func isLockedDown(_ bridge: Bridge) throws -> Bool {
      (try bridge.json("status") as? [String: Any])?["lockdown"] as? Bool ?? false
    }

    /// Something of Ledger's that nobody else may have.
    private func ledger(_ desktop: Desktop, _ bridge: Bridge) throws -> Owner {
      let owner = try desktop.owner("class ledger Ledger", "target UTF8_STRING text:figure")
      try desktop.takingClipboard { try owner.claim() }
      try bridge.sync()
      return owner
    }

    @Test("Xfce's panel shows sign and menu, a click there locks down, and a new panel shows it again")
    func panel() throws {
      let tray = try TrayDesktop()
      defer { tray.desktop.close() }
      let bridge = try tray.bridge(policy: Self.policy)
      let mouse = try Mouse(on: tray.desktop)
      var panel = try tray.panel()
      let sign = try sight(of: Self.green, mouse, tray)
      _ = try ledger(tray.desktop, bridge)
      #expect(try tray.desktop.requestor().text() == nil)
      try bridge.sync()
      // What the panel shows is what anybody reads.
      let shown = try layout(tray, bridge)
      #expect(shown.contains("paste  Ledger → "), "\(shown)")
      #expect(shown.contains(": finance stays in finance"))
      #expect(shown.contains("Written in: \(bridge.policyPath):7"))
      #expect(shown.contains("org.example.board: 0 items"))
      #expect(!shown.contains("figure"))
      // The menu is there when it has a window; its last item is the lockdown.
      let before = try windows(tray)
      try mouse.tell("click 1 \(sign.root) \(sign.x) \(sign.y)")
      #expect(try waitUntil(within: 20) { try windows(tray).subtracting(before).isEmpty == false }, "a menu")
      _ = try tray.desktop.run("/usr/bin/xdotool", ["key", "Up", "Return"])
      #expect(try waitUntil(within: 20) { try isLockedDown(bridge) }, "a chosen item")
      _ = try sight(of: Self.red, mouse, tray)
      panel.end()
      #expect(
        try waitUntil(within: 20) { try mouse.tell("find \(Self.red)").number("count") == 0 }, "no panel, no sign")
      panel = try tray.panel()
      _ = try sight(of: Self.red, mouse, tray)
      #expect(try bridge.command("lockdown", "off").status == 0)
      _ = try sight(of: Self.green, mouse, tray)
      try bridge.stop()
    }

    /// Where pixels of a colour are, as soon as there are some.
    private func sight(of colour: String, _ mouse: Mouse, _ tray: TrayDesktop) throws -> (root: Int, x: Int, y: Int) {
      var found: Event?
      let isThere = try waitUntil(within: 30) {
        found = try mouse.tell("find \(colour)")
        return found?.number("count") ?? 0 > 20
      }
      guard isThere, let found, let root = found.number("root"), let x = found.number("x"), let y = found.number("y")
      else {
        throw HarnessError("the panel", expected: "a sign in \(colour)", found: "none", alive: tray.desktop.alive())
      }
      return (root, x, y)
    }

    /// Windows that can be seen.
    private func windows(_ tray: TrayDesktop) throws -> Set<String> {
      let found = try tray.desktop.run("/usr/bin/xdotool", ["search", "--onlyvisible", "--name", ""])
      return Set(String(decoding: found.output, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    @Test("pastes are answered while the panel's side stands still, and the bus itself with it")
    func stoppedBus() throws {
      let tray = try TrayDesktop()
      defer { tray.desktop.close() }
      let host = try tray.host()
      let bridge = try tray.bridge(policy: Self.policy)
      try host.wait("registered", within: 20)
      _ = try ledger(tray.desktop, bridge)
      let paster = try tray.desktop.requestor()
      host.child.signal(SIGSTOP)
      tray.bus.signal(SIGSTOP)
      var slowest = 0.0
      for _ in 0..<50 {
        let start = Date()
        #expect(try paster.text() == nil)
        slowest = max(slowest, Date().timeIntervalSince(start))
      }
      // Half of what our pace is, and a hundredth of what a call to somebody who stands still would take.
      #expect(slowest < 0.25, "\(slowest) s")
      try bridge.sync()
      tray.bus.signal(SIGCONT)
      host.child.signal(SIGCONT)
      try host.wait("signal", within: 20) { $0.text("member") == "LayoutUpdated" }
      #expect(try layout(tray, bridge).contains("finance stays in finance"))
      try bridge.stop()
    }

    @Test("`--no-tray` shows nothing, and the rest of the bus works")
    func noTray() throws {
      let tray = try TrayDesktop()
      defer { tray.desktop.close() }
      let host = try tray.host()
      try host.wait("ready", within: 20)
      let bridge = try tray.bridge(options: ["--no-tray"])
      #expect(try waitUntil(within: 20) { try tray.names().contains("org.xpastebridge") })
      // A tray's name is asked for before this answer is.
      let status = try tray.call("org.xpastebridge", "/org/xpastebridge/Bridge", "org.xpastebridge.Bridge1.Status")
      #expect(status.contains("sessionBus"))
      #expect(try !tray.names().contains("StatusNotifierItem"))
      try bridge.stop()
    }
  }
}
