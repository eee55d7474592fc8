import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// One instance per display, told apart exactly; with the server gone the process ends.
  @Suite(.serialized) struct K22Display {
    /// How libX11 takes the name of the display with this number, all on its local socket (measured with 1.8).
    enum Spelling: String, CaseIterable, Sendable {
      case plain = ":N"
      case screen = ":N.0"
      case zeros = ":00N"
      case screenZeros = ":N.00"
      case unix = "unix:N"
      case unixZeros = "unix:0N.0"
      case unixProtocol = "unix/:N"
      case unixProtocolHost = "unix/foo:N"

      func name(of display: String) -> String {
        rawValue.replacingOccurrences(of: "N", with: display.dropFirst())
      }
    }

    /// B13: the record says what has ended the connection, and before a restart that would be the third in a row the
    /// selections are held empty by a connection of its own.
    @Test("a client that ends our connection again and again meets an empty clipboard and slower starts: B13")
    func connectionEnded() throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let policy = desktop.path("policy.yaml")
      try "version: 1\nrules: [{name: none, to: {class: Nobody}, decision: deny}]\n"
        .write(toFile: policy, atomically: true, encoding: .utf8)
      let killer = try desktop.requestor("class k Killer")
      for round in 1...4 {
        let daemon = try desktop.start(
          try Bridge.binary(), ["run", "--display", desktop.display, "--policy", policy, "--no-bus"],
          keepsOutput: false,
          adding: ["NOTIFY_SOCKET": desktop.path("no-such-socket")])
        #expect(try waitUntil(within: 10) { try desktop.probe.ownerWindow(of: "_XPASTEBRIDGE_S0") != 0 })
        let mark = try desktop.probe.ownerWindow(of: "_XPASTEBRIDGE_S0")
        try killer.tell("forge end window=\(mark)")
        if round > 2 {
          #expect(
            try waitUntil(within: 5) { try desktop.probe.ownerWindow() != 0 || !daemon.isAlive }, "held, round \(round)"
          )
          #expect(try killer.convert("UTF8_STRING").text("state") == "refused" || !daemon.isAlive)
        }
        #expect(try daemon.exitStatus(within: 10) == 69, "round \(round)")
      }
      let log = desktop.log("xpastebridge")
      #expect(log.contains("our connection was ended and the X server is there"), "found \(log)")
    }

    private func start(_ desktop: Desktop, as name: String, _ options: String...) throws -> Child {
      let policy = desktop.path("second.yaml")
      try Bridge.allowAll.write(toFile: policy, atomically: true, encoding: .utf8)
      let words = ["run", "--display", name, "--policy", policy, "--fatal-x-errors", "--no-bus"]
      return try desktop.start(try Bridge.binary(), words + options, keepsOutput: false)
    }

    /// A start on a display that is guarded: refused with a status and a message, and the first sees nothing of it.
    private func expectRefused(_ scene: Scene, as name: String) throws {
      try scene.desktop.probe.tell("sync")
      let changes = scene.desktop.probe.count("owner-change")
      let second = try start(scene.desktop, as: name)
      #expect(try second.exitStatus(within: 5) == 1, "\(name)")
      let log = scene.desktop.log("xpastebridge")
      #expect(log.contains("guarded already") && log.contains("(pid \(scene.bridge.child.pid))"), "found \(log)")
      #expect(scene.bridge.child.isAlive)
      try scene.bridge.sync()
      try scene.desktop.probe.tell("sync")
      #expect(scene.desktop.probe.count("owner-change") == changes, "no selection changed hands")
      #expect(try scene.paster.text() == "first")
    }

    @Test(
      "a second start under any spelling is refused, and the first is undisturbed: B214 B215",
      arguments: Spelling.allCases)
    func second(spelling: Spelling) throws {
      try Scene.run(windowManager: false) { scene in
        let owner = try scene.copied("target UTF8_STRING text:first")
        owner.quit()
        try expectRefused(scene, as: spelling.name(of: scene.desktop.display))
      }
    }

    @Test("every spelling leads to the same daemon, which knows who copies: B214", arguments: Spelling.allCases)
    func reached(spelling: Spelling) throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop, spelling: spelling.name(of: desktop.display))
      for other in Spelling.allCases {
        let name = other.name(of: desktop.display)
        let answer = try desktop.run(try Bridge.binary(), ["status", "--json", "--display", name])
        let status = try Event(line: answer.output, from: "status of \(name)")
        #expect(status.number("pid") == Int(bridge.child.pid), "\(name)")
      }
      let folders = try FileManager.default.contentsOfDirectory(atPath: desktop.folder + "/run/xpastebridge")
      #expect(folders == [desktop.display], "one place for all spellings")
      let owner = try desktop.owner("target UTF8_STRING text:x")
      try owner.claim()
      let line = try #require(try bridge.audit().last { $0.action == "copy" })
      #expect(line.source?.pid == Int(owner.child.pid), "attested as by the plain name")
      try bridge.stop()
    }

    @Test("the screens of one display have one daemon, since they have one CLIPBOARD: B214")
    func screens() throws {
      let desktop = try Desktop(windowManager: false, screens: 2)
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop, spelling: desktop.display + ".1")
      for name in [".0", ".1", ""].map({ desktop.display + $0 }) {
        #expect(try start(desktop, as: name).exitStatus(within: 5) == 1, "\(name)")
        let answer = try desktop.run(try Bridge.binary(), ["status", "--json", "--display", name])
        #expect(try Event(line: answer.output, from: "status").number("pid") == Int(bridge.child.pid), "\(name)")
      }
      let successor = try start(desktop, as: desktop.display + ".0", "--replace")
      #expect(try bridge.child.exitStatus(within: 5) == 0, "it makes way for --replace on the other screen")
      let taken = try waitUntil(within: 5) {
        let answer = try desktop.run(try Bridge.binary(), ["status", "--json", "--display", desktop.display])
        guard answer.status == 0 else { return false }
        return try Event(line: answer.output, from: "status").number("pid") == Int(successor.pid)
      }
      #expect(taken, "the successor serves control and all screens")
      successor.signal(SIGTERM)
      #expect(try successor.exitStatus(within: 5) == 0)
    }

    @Test("of several starts at the same moment one stays: B215")
    func race() throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let all = try Spelling.allCases.map { try start(desktop, as: $0.name(of: desktop.display)) }
      #expect(waitUntil(within: 10) { all.count(where: \.isAlive) == 1 }, "alive: \(desktop.alive())")
      for child in all where !child.isAlive { #expect(try child.exitStatus(within: 1) == 1) }
      let survivor = try #require(all.first { $0.isAlive })
      let isServing = try waitUntil(within: 5) {
        try desktop.run(try Bridge.binary(), ["sync", "--display", desktop.display]).status == 0
      }
      #expect(isServing)
      survivor.signal(SIGTERM)
      #expect(try survivor.exitStatus(within: 5) == 0)
    }

    @Test("two displays of one user have a daemon each, and each its own clip: B213")
    func twoDisplays() throws {
      try Scene.run(windowManager: false) { one in
        let desktop = try Desktop(windowManager: false, ofUserOf: one.desktop)
        defer { desktop.close() }
        let other = try Bridge(on: desktop)
        let a = try one.copied("target UTF8_STRING text:a")
        let b = try desktop.owner("target UTF8_STRING text:b")
        try b.claim()
        try other.sync()
        for owner in [a, b] { owner.quit() }
        #expect(try one.paster.text() == "a")
        #expect(try desktop.requestor().text() == "b")
        for (bridge, display) in [(one.bridge, one.desktop.display), (other, desktop.display)] {
          let status = Event(try bridge.json("status") as? [String: Any] ?? [:])
          #expect(status.text("display") == display)
          #expect(status.number("pid") == Int(bridge.child.pid))
        }
        try other.stop()
        #expect(try one.paster.text() == "a")
        #expect(try one.bridge.command("status").status == 0)
        #expect(try other.command("status").status == 1, "nobody answers for the display that isn't guarded any more")
      }
    }

    @Test("the mark of a guarded screen, taken by another program, neither ends a daemon nor keeps one from starting")
    func stolenMark() throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let thief = try desktop.owner("selection _XPASTEBRIDGE_S0", "target UTF8_STRING text:mark")
      try thief.claim()
      let bridge = try Bridge(on: desktop)
      let copier = try desktop.owner("target UTF8_STRING text:copied")
      for round in 1...3 {
        try thief.claim()
        try bridge.sync()
        // Said once for a while; the log is asked for its last lines.
        if round == 1 {
          #expect(desktop.log("xpastebridge").contains("guarding as before"), "found \(desktop.log("xpastebridge"))")
        }
        try copier.claim()
        try bridge.sync()
        #expect(try desktop.requestor().text() == "copied")
      }
      #expect(bridge.child.isAlive)
      try bridge.stop()
    }

    @Test("after kill -9 it starts again beside what was left behind: B212")
    func afterKill() throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let socket = "\(desktop.folder)/run/xpastebridge/\(desktop.display)/control"
      let owner = try desktop.owner("target UTF8_STRING text:before")
      for _ in 1...3 {
        let bridge = try Bridge(on: desktop)
        try owner.claim()
        try bridge.sync()
        bridge.child.signal(SIGKILL)
        #expect(try bridge.child.exitStatus(within: 5) == 128 + SIGKILL)
        #expect(FileManager.default.fileExists(atPath: socket), "there is something left behind")
        #expect(try bridge.command("status").status == 1, "a socket that nobody serves is an error, not a wait")
      }
      let again = try Bridge(on: desktop)
      try owner.tell("target UTF8_STRING text:after")
      try owner.claim()
      try again.sync()
      owner.quit()
      #expect(try desktop.requestor().text() == "after")
      try again.stop()
      #expect(!FileManager.default.fileExists(atPath: socket), "an orderly end leaves nothing")
    }

    @Test("with the server gone it ends by itself with a status of its own: B211", arguments: [SIGTERM, SIGKILL])
    func serverEnds(signal: Int32) throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop)
      let owner = try desktop.owner("target UTF8_STRING size:2M")
      try owner.claim()
      try bridge.sync()
      let stalled = try desktop.requestor("convert UTF8_STRING stall-after=1 wait=no")
      let used = bridge.processorMilliseconds()
      desktop.server.signal(signal)
      #expect(try bridge.child.exitStatus(within: 2) == 69)
      #expect(bridge.processorMilliseconds() - used < 500)
      #expect(desktop.log("xpastebridge").contains("is gone"), "found \(desktop.log("xpastebridge"))")
      _ = stalled
    }
  }
}
