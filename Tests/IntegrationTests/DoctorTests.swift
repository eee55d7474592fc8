import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// What `doctor` says on displays where something is really wrong.
  @Suite(.serialized) struct DoctorTests {
    /// A finding: how far it holds, what was found, and what to do.
    private struct Said {
      let standing: String
      let found: String
      let hasRemedy: Bool
    }

    private func doctor(
      _ desktop: Desktop, _ options: [String] = [], environment: [String: String]? = nil
    ) throws -> (status: Int32, said: [String: Said]) {
      let words = ["doctor", "--json", "--display", desktop.display] + options
      let answer = try desktop.run(try Bridge.binary(), words, only: environment)
      let report = Event(try #require(try JSONSerialization.jsonObject(with: answer.output) as? [String: Any]))
      var said: [String: Said] = [:]
      for finding in (report.fields["findings"] as? [[String: Any]] ?? []).map({ Event($0) }) {
        said[finding.text("guarantee") ?? ""] = Said(
          standing: finding.text("standing") ?? "", found: finding.text("found") ?? "",
          hasRemedy: finding.text("remedy") != nil)
      }
      #expect(report.flag("holds") == (answer.status == 0))
      for (name, finding) in said { #expect(finding.hasRemedy == (finding.standing != "ok"), "\(name)") }
      return (answer.status, said)
    }

    @Test("with a daemon: what holds, and what a test's desktop lacks")
    func healthy() throws {
      try Scene.run { scene in
        let (status, said) = try doctor(scene.desktop)
        #expect(status == 1)
        for name in ["display", "daemon", "policy", "priority", "rivals", "keys", "protection", "presses", "memory"] {
          #expect(said[name]?.standing == "ok", "\(name): \(String(describing: said[name]))")
        }
        #expect(said["identity"]?.standing == "ok", "\(String(describing: said["identity"]))")
        // No service manager has started it, and there is no session bus.
        #expect(said["crash"]?.standing == "limited")
        #expect(said["notices"]?.standing == "limited")
        #expect(said["bus"]?.standing == "ok", "off, as asked for")
        #expect(said["first"]?.found.contains("openbox") ?? false, "the window manager was there first")
        let text = String(decoding: try scene.bridge.command("doctor").output, as: UTF8.self)
        #expect(text.contains("→"), "\(text)")
      }
    }

    @Test("who listened before the daemon is named, who came after it isn't", arguments: [true, false])
    func listener(isEarlier: Bool) throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let sniffer = isEarlier ? try Sniffer.start("listen", on: desktop) : nil
      let bridge = try Bridge(on: desktop)
      let later = isEarlier ? nil : try Sniffer.start("listen", on: desktop)
      let first = try #require(try doctor(desktop).said["first"])
      #expect(first.found.contains("xpb-sniffer") == isEarlier, "\(first.found)")
      // The harness's own client was there before in any case.
      #expect(first.standing == "limited")
      _ = try (sniffer ?? later)?.end()
      // Another client gets the numbers of one that has gone, and is another all the same.
      if isEarlier {
        let successor = try Sniffer.start("listen", on: desktop)
        #expect(try doctor(desktop).said["first"]?.found.contains("xpb-sniffer") == false)
        _ = try successor.end()
      }
      try bridge.stop()
    }

    @Test("another clipboard manager")
    func manager() throws {
      try Scene.run { scene in
        #expect(try doctor(scene.desktop).said["rivals"]?.standing == "ok")
        let rival = try RivalProgram(.parcellite, on: scene.desktop)
        // It connects some time after its start.
        let isNamed = try waitUntil(within: 20) {
          try doctor(scene.desktop).said["rivals"]?.found.contains("parcellite") ?? false
        }
        #expect(isNamed)
        rival.child.end()
      }
    }

    @Test("a key that somebody else has")
    func occupiedKey() throws {
      let policy = """
        version: 1
        rules:
          - {name: nothing leaves, apps: {class: Locked}, actions: [copy, cut], decision: deny}
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        #expect(try doctor(scene.desktop).said["keys"]?.standing == "ok")
        let keys = try Keys.window("Locked", on: scene.desktop)
        try keys.tell("grab \(Key.x.rawValue) 4")
        let later = try Keys.window("Locked", on: scene.desktop)
        try scene.bridge.replacePolicy(Bridge.allowAll)
        try scene.bridge.replacePolicy(policy)
        let said = try doctor(scene.desktop).said["keys"]
        #expect(said?.standing == "limited")
        #expect(said?.found.contains("Ctrl+X") ?? false, "\(said?.found ?? "")")
        _ = later
      }
    }

    @Test("files with errors, while a daemon runs and before one does")
    func brokenPolicy() throws {
      let broken = "version: 1\nrules: [{decisoin: deny}]\n"
      try Scene.run { scene in
        try broken.write(toFile: scene.bridge.policyPath, atomically: true, encoding: .utf8)
        scene.bridge.child.signal(SIGHUP)
        #expect(try waitUntil(within: 10) { try doctor(scene.desktop).said["policy"]?.standing == "limited" })
        #expect(try doctor(scene.desktop).said["policy"]?.found.contains("\(scene.bridge.policyPath):2:") ?? false)
      }
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let path = desktop.path("broken.yaml")
      try broken.write(toFile: path, atomically: true, encoding: .utf8)
      let (status, said) = try doctor(desktop, ["--policy", path])
      #expect(status == 1)
      #expect(said["policy"]?.standing == "broken")
      #expect(said["policy"]?.found.contains("\(path):2:") ?? false, "\(said["policy"]?.found ?? "")")
      #expect(said["daemon"]?.standing == "broken")
      #expect(said["display"]?.standing == "ok")
      #expect(said["runtime"]?.standing == "ok")
    }

    @Test("no run-time folder, and no display")
    func nothingThere() throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      var environment = desktop.environment
      environment["XDG_RUNTIME_DIR"] = desktop.folder + "/gone"
      let said = try doctor(desktop, environment: environment).said
      #expect(said["runtime"]?.standing == "broken")
      #expect(said["runtime"]?.found.contains("/gone") ?? false)
      environment["DISPLAY"] = nil
      let answer = try desktop.run(try Bridge.binary(), ["doctor"], only: environment)
      let text = String(decoding: answer.output, as: UTF8.self)
      #expect(answer.status == 1)
      #expect(text.contains("broken   display"), "\(text)")
    }

    @Test("a policy that can't be read doesn't take the place of a daemon with a good one")
    func replacementWithoutPolicy() throws {
      try Scene.run { scene in
        let missing = scene.desktop.path("missing.yaml")
        let words = ["run", "--display", scene.desktop.display, "--replace", "--no-bus", "--policy", missing]
        let answer = try scene.desktop.run(try Bridge.binary(), words)
        #expect(answer.status == 1)
        #expect(scene.desktop.log("xpastebridge").contains("isn't replaced"), "\(scene.desktop.log("xpastebridge"))")
        #expect(scene.bridge.child.isAlive)
        let state = (try scene.bridge.json("status") as? [String: Any])?["policy"] as? [String: Any]
        #expect(state?["state"] as? String == "in-force")
      }
    }
  }
}
