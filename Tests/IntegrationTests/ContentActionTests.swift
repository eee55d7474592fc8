import Foundation
import Testing

extension IntegrationTests {
  /// The edit menu's actions: what they make, for whom, and what they can't do to anybody.
  @Suite(.serialized) struct ContentActionTests {
    private static let shipped = ["--actions", Place.source + "/actions"]

    private func run(
      policy: String = Bridge.allowAll, actions: [String: String] = [:], _ body: (Scene) throws -> Void
    ) throws {
      let folder = NSTemporaryDirectory() + "xpb-actions-" + UUID().uuidString
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      for (name, text) in actions {
        try "version: 1\ntitle: \(name)\n\(text)\n".write(
          toFile: "\(folder)/\(name).yaml", atomically: true, encoding: .utf8)
      }
      try Scene.run(policy: policy, options: Self.shipped + ["--actions", folder], body)
    }

    private func act(_ name: String, _ scene: Scene) throws -> Event {
      let answer = try scene.bridge.command("action", "run", name, "--json")
      let outcome = Event((try? JSONSerialization.jsonObject(with: answer.output) as? [String: Any]) ?? [:])
      #expect(answer.status == (outcome.text("outcome") == "made" ? 0 : 1))
      return outcome
    }

    /// Noise with a comment in it, as a file.
    private func png(_ width: Int, _ height: Int, short: Bool = false, on desktop: Desktop) throws -> String {
      let path = desktop.path("picture.png")
      let script = """
        import os, struct, sys, zlib
        w, h, short = \(width), \(height), \(short ? 1 : 0)
        def chunk(kind, data):
          return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        rows = bytes(1 << 16) if short else b''.join(b'\\0' + os.urandom(w * 3) for _ in range(h))
        open('\(path)', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n'
          + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0)) + chunk(b'tEXt', b'Comment\\0taken at home')
          + chunk(b'IDAT', zlib.compress(rows, 0)) + chunk(b'IEND', b''))
        """
      let made = try desktop.run("/usr/bin/python3", ["-c", script])
      #expect(made.status == 0)
      return path
    }

    private func size(ofPNG bytes: Data?) -> [Int] {
      guard let bytes, bytes.count > 24 else { return [] }
      return [16, 20].map { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
    }

    @Test("a picture of 20 MB becomes one of a third of its width and height, and loses what is written beside it")
    func pictures() throws {
      try run { scene in
        let picture = try png(3_000, 2_250, on: scene.desktop)
        let owner = try scene.copied("target image/png file:\(picture)")
        #expect(try FileManager.default.attributesOfItem(atPath: picture)[.size] as? Int ?? 0 > 20_000_000)
        #expect(try act("Copy thumbnail", scene).text("outcome") == "made")
        #expect(size(ofPNG: try scene.paster.paste("image/png")) == [1_000, 750])
        #expect(try scene.paster.targets()?.contains("image/png") == true)
        let record = try #require(try scene.bridge.audit().last { $0.action == "action" })
        #expect(record.outcome == "kept" && record.targets == ["image/png"])
        #expect(record.source?.pid == Int(owner.child.pid))
        #expect(record.destination?.executable?.hasSuffix("/xpastebridge-action") == true)
        let small = try png(30, 20, on: scene.desktop)
        _ = try scene.copied("target image/png file:\(small)")
        #expect(try act("remove-metadata", scene).text("outcome") == "made")
        let clean = try scene.paster.paste("image/png")
        #expect(size(ofPNG: clean) == [30, 20] && clean?.range(of: Data("Comment".utf8)) == nil)
      }
    }

    @Test("a decoder bomb ends by its limit, and the clip stays")
    func bomb() throws {
      try run { scene in
        let picture = try png(60_000, 60_000, short: true, on: scene.desktop)
        _ = try scene.copied("target image/png file:\(picture)")
        let outcome = try act("copy-thumbnail", scene)
        #expect(outcome.text("outcome") == "failed" && outcome.text("failure") == "memory-limit")
        #expect(outcome.text("text") == "the content needs more memory than its limit")
        expectSame(
          try scene.paster.paste("image/png"), try Data(contentsOf: URL(fileURLWithPath: picture)), "image/png")
        try scene.expectNextCopy()
      }
    }

    @Test("links lose what follows people, texts their other forms, and nothing else changes")
    func texts() throws {
      try run { scene in
        _ = try scene.copied(
          "target UTF8_STRING text:https://a.example/?utm_source=x&b=%C3%A9", "target text/html text:<b>")
        #expect(try act("plain-text", scene).text("outcome") == "made")
        #expect(try scene.paster.paste("text/html") == nil)
        #expect(try scene.paster.text() == "https://a.example/?utm_source=x&b=%C3%A9")
        #expect(try act("strip-tracking", scene).number("bytes") == 27)
        #expect(try scene.paster.text("text/plain;charset=utf-8") == "https://a.example/?b=%C3%A9")
        _ = try scene.copied("target UTF8_STRING text:nolink")
        #expect(try act("strip-tracking", scene).text("failure") == "not-applicable")
        #expect(try scene.paster.text() == "nolink")
      }
    }

    /// Actions that sleep, among the daemon's children.
    private func sleepers(of daemon: pid_t) -> Int {
      let children = (try? String(contentsOfFile: "/proc/\(daemon)/task/\(daemon)/children", encoding: .utf8)) ?? ""
      return children.split(separator: " ").count {
        (try? String(contentsOfFile: "/proc/\($0)/cmdline", encoding: .utf8))?.hasPrefix("/bin/sleep") ?? false
      }
    }

    @Test("while one hangs others are pasted, copied and acted for, and it is ended")
    func hanging() throws {
      let hang = "accepts: text\ncommand: [/bin/sleep, 1000]\nmakes: same\ntime-limit: 12s"
      let stuck = "accepts: text\ncommand: [/bin/sleep, 1001]\nmakes: same\ntime-limit: 2s"
      let upper = "accepts: text\ncommand: [/usr/bin/tr, a-z, A-Z]\nmakes: [UTF8_STRING]"
      let none = "accepts: text\ncommand: [/bin/false]\nmakes: same"
      try run(actions: ["hang": hang, "stuck": stuck, "upper": upper, "none": none]) { scene in
        _ = try scene.copied("target UTF8_STRING text:content")
        let words = ["action", "run", "hang", "--json", "--display", scene.desktop.display]
        let waiting = try (0..<4).map { _ in try scene.desktop.start(try Bridge.binary(), words) }
        // A fifth at once is one too many. Before the four have begun it would take the place of one of them.
        #expect(waitUntil(within: 20) { sleepers(of: scene.bridge.child.pid) == 4 })
        #expect(try act("none", scene).text("outcome") == "busy")
        try scene.expectOthersServed(Data("content".utf8))
        try scene.expectNextCopy()
        for child in waiting {
          let answer = try child.everything(by: Deadline(seconds: 30))
          let text = String(decoding: answer, as: UTF8.self)
          #expect(text.contains("overtaken"), "\(text)")
        }
        #expect(try act("upper", scene).text("outcome") == "made")
        #expect(try scene.paster.text() == "NEXT")
        _ = try scene.copied("target UTF8_STRING text:content")
        #expect(try act("stuck", scene).text("failure") == "time-limit")
        #expect(try scene.paster.text() == "content")
      }
    }

    @Test("the program is decided as one that pastes, and the result as its source's")
    func policies() throws {
      let policy = """
        version: 1
        rules:
          - name: finance may be shortened
            from: {class: Ledger}
            to: {exe: "**/xpastebridge-action"}
            targets: [text]
            decision: allow
          - name: finance stays in finance
            from: {class: Ledger}
            to: {not: {class: Ledger}}
            decision: deny
        default: allow
        """
      let upper = "accepts: text\ncommand: [/usr/bin/tr, a-z, A-Z]\nmakes: [UTF8_STRING]"
      try run(policy: policy, actions: ["upper": upper]) { scene in
        _ = try scene.copied("class ledger Ledger", "target UTF8_STRING text:http://a.example/?gclid=1")
        let refused = try act("upper", scene)
        #expect(refused.text("outcome") == "refused")
        #expect(refused.object("reason")?.text("rule") == "finance stays in finance")
        #expect(try scene.bridge.audit().last { $0.action == "action" }?.outcome == "refused")
        #expect(try act("strip-tracking", scene).text("outcome") == "made")
        #expect(try scene.paster.text() == nil, "what was made of finance stays in finance")
        let ledger = try scene.desktop.requestor("class ledger Ledger")
        #expect(try ledger.text() == "http://a.example/")
      }
    }

    @Test("the menu shows what the active app may have, by dmenu, and does what is chosen")
    func menu() throws {
      let policy = """
        version: 1
        rules: [{name: nothing for Locked, to: {class: Locked}, decision: deny}]
        default: allow
        """
      try run(policy: policy) { scene in
        _ = try scene.copied("target UTF8_STRING text:https://a.example/?gclid=1&b")
        let items = {
          let answer = try scene.bridge.command("menu", "--json")
          let report = Event((try JSONSerialization.jsonObject(with: answer.output) as? [String: Any]) ?? [:])
          return (report.fields["items"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
        }
        let locked = try Keys.window("Locked", on: scene.desktop)
        #expect(try waitUntil(within: 10) { try items() == [] }, "Locked may have nothing")
        #expect(try scene.bridge.command("menu").status == 1)
        locked.quit()
        let free = try Keys.window("Free", on: scene.desktop)
        #expect(try waitUntil(within: 10) { try items() == ["plain-text", "strip-tracking"] })
        let words = ["menu", "--with", "dmenu", "--display", scene.desktop.display]
        let menu = try scene.desktop.start(try Bridge.binary(), words)
        // dmenu has the keyboard before it shows itself.
        let isShown = try waitUntil(within: 10) {
          try scene.desktop.run("/usr/bin/xdotool", ["search", "--onlyvisible", "--class", "dmenu"]).status == 0
        }
        #expect(isShown)
        for words in [["type", "strip"], ["key", "Return"]] {
          #expect(try scene.desktop.run("/usr/bin/xdotool", words).status == 0)
        }
        #expect(try menu.exitStatus(within: 10) == 0)
        #expect(try scene.paster.text() == "https://a.example/?b")
        let other = try scene.desktop.start(try Bridge.binary(), words)
        #expect(
          try waitUntil(within: 10) {
            try scene.desktop.run("/usr/bin/xdotool", ["search", "--onlyvisible", "--class", "dmenu"]).status == 0
          })
        #expect(try scene.desktop.run("/usr/bin/xdotool", ["key", "Escape"]).status == 0)
        #expect(try other.exitStatus(within: 10) == 1, "nothing was chosen")
        free.quit()
      }
    }

    /// By a process of the same user: each run is stopped or raced from its first moment to its last. The helper's file can
    /// be read here, as it never is where it is installed.
    @Test("no other process of the user reaches what an action works on, by descriptors, memory or tracing")
    func attacked() throws {
      let folder = NSTemporaryDirectory() + "xpb-attack-" + UUID().uuidString
      let files = FileManager.default
      try files.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
      defer { try? files.removeItem(atPath: folder) }
      let program = try Bridge.binary()
      for path in [program, program + "-action", Place.source + "/Tests/attack-actions.py"] {
        let copy = folder + "/" + (path as NSString).lastPathComponent
        try files.copyItem(atPath: path, toPath: copy)
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy)
      }
      var words = ["/usr/bin/python3", folder + "/attack-actions.py", "daemon", folder]
      // To root nothing is closed.
      if getuid() == 0 { words = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + words }
      let process = Process()
      process.executableURL = URL(fileURLWithPath: words[0])
      process.arguments = Array(words.dropFirst())
      let output = Pipe()
      (process.standardOutput, process.standardError) = (output, output)
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0 && text.hasSuffix("\nnothing\n"), "\(text)")
    }

    @Test("content is in no line, file or report of the daemon")
    func printsNothing() throws {
      let say = "accepts: text\ncommand: [/bin/cat, '-', /dev/stdin, /no/such/file]\nmakes: same"
      try run(actions: ["say": say]) { scene in
        _ = try scene.copied("target UTF8_STRING text:http://wonderful-secret.example/?gclid=1")
        _ = try act("say", scene)
        _ = try act("strip-tracking", scene)
        let report = try scene.bridge.command("action", "list", "--json").output
        for text in [String(decoding: report, as: UTF8.self), scene.desktop.log("xpastebridge")]
          + (try scene.bridge.audit().map(\.description))
        {
          #expect(!text.contains("wonderful-secret"))
        }
      }
    }
  }
}
