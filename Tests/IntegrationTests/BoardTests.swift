import Foundation
import Testing

extension IntegrationTests {
  /// Boards of the policy and of programs, by X and by the command line.
  @Suite(.serialized) struct BoardTests {
    @Test("a member claims the board's selection and has copied onto it; an outsider's claim is taken back")
    func claim() throws {
      let suite = try SuiteDesktop(SuiteDesktop.policy)
      defer { suite.desktop.close() }
      try suite.writer.offer(SuiteDesktop.forms, on: SuiteDesktop.board)
      try suite.bridge.sync()
      expectSame(
        try suite.sheet.fetch("text/html", from: SuiteDesktop.board), SuiteDesktop.forms["text/html"] ?? Data(), "html")
      try suite.outsider.offer(["UTF8_STRING": Data("forged".utf8)], on: SuiteDesktop.board)
      try suite.bridge.sync()
      #expect(try suite.sheet.fetch("UTF8_STRING", from: SuiteDesktop.board) == SuiteDesktop.forms["UTF8_STRING"])
      let record = try suite.bridge.audit().last { $0.action == "copy" && $0.outcome == "refused" }
      #expect(try #require(record).selection == SuiteDesktop.board)
      // The writer's end takes nothing away.
      suite.writer.exit()
      try suite.bridge.sync()
      #expect(try suite.sheet.fetch("UTF8_STRING", from: SuiteDesktop.board) == SuiteDesktop.forms["UTF8_STRING"])
      // Membership ends with the policy, and with it what was kept.
      try suite.bridge.replacePolicy(Bridge.allowAll)
      #expect(try suite.sheet.fetch("UTF8_STRING", from: SuiteDesktop.board) == nil)
      try suite.end()
    }

    @Test(
      "the command line: a member by the policy's word writes, lists, reads, copies, pins, watches, removes and wipes")
    func commandLine() throws {
      let binary = try Bridge.binary()
      // As the kernel names it.
      let executable = URL(fileURLWithPath: binary).resolvingSymlinksInPath().path
      let policy = """
        version: 1
        boards:
          org.example.tool: {members: [{exe: \(executable)}], max-items: 2}
        """
      try Scene.run(policy: policy, windowManager: false) { scene in
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        let board = "org.example.tool"
        let watch = try scene.desktop.start(
          binary, ["board", "watch", board, "--json", "--display", scene.desktop.display])
        // Told of what changes once it watches; the same content twice would be no change.
        var count = 0
        let isTold = waitUntil(within: 20) {
          count += 1
          let tick = Data("tick \(count)".utf8)
          let write = try? scene.bridge.command("board", "write", board, "--replace", input: tick)
          return write?.status == 0 && (try? watch.line(by: Deadline(seconds: 0.2))) != nil
        }
        #expect(isTold)
        #expect(try scene.bridge.command("board", "write", board, "--replace", input: bytes).status == 0)
        expectSame(try scene.bridge.command("board", "read", board).output, bytes, "standard input to standard output")
        #expect(try scene.paster.text("UTF8_STRING", "selection=\(board)") == nil)
        let html = scene.desktop.path("page.html")
        try Data("<p>page</p>".utf8).write(to: URL(fileURLWithPath: html))
        let text = scene.desktop.path("page.txt")
        try Data("https://example.org".utf8).write(to: URL(fileURLWithPath: text))
        #expect(
          try scene.bridge.command("board", "write", board, "text/html=\(html)", "UTF8_STRING=\(text)").status == 0)
        #expect(
          try scene.bridge.command("board", "read", board, "--type", "text/html").output == Data("<p>page</p>".utf8))
        let items = try Self.items(of: board, scene)
        #expect(items.count == 2 && items.first?["labels"] as? [String] == ["web-url"])
        #expect(
          (items.first?["types"] as? [[String: Any]])?.compactMap { $0["type"] as? String }
            == ["text/html", "UTF8_STRING"])
        let oldest = try #require(items.last?["item"] as? Int)
        #expect(try scene.bridge.command("board", "pin", board, "--item", "\(oldest)").status == 0)
        #expect(try scene.bridge.command("board", "write", board, input: Data("third".utf8)).status == 0)
        #expect(try Self.items(of: board, scene).map { $0["item"] as? Int }.last == oldest)
        #expect(try scene.bridge.command("board", "copy", board, "general").status == 0)
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "third")
        #expect(try scene.bridge.command("board", "read", "general").output == Data("third".utf8))
        #expect(try scene.bridge.command("board", "remove", board, "--item", "\(oldest)").status == 0)
        #expect(try scene.bridge.command("board", "wipe", board).status == 0)
        #expect(try scene.bridge.command("board", "read", board).status == 5, "empty")
        #expect(try scene.bridge.command("board", "remove", board).status == 1)
        #expect(try scene.bridge.command("board", "create", "org.example.tool.more", "--members", board).status == 0)
        #expect(try scene.bridge.command("board", "list").output.range(of: Data("org.example.tool.more".utf8)) != nil)
        #expect(try scene.bridge.command("board", "remove", "org.example.tool.more").status == 0)
      }
    }

    @Test("`general` waits for the copy that is being read, and says which of three it is where there is nothing")
    func general() throws {
      try Scene.run { scene in
        func read() throws -> (status: Int32, output: Data) { try scene.bridge.command("board", "read", "general") }
        try scene.bridge.sync()
        #expect(try read().status == 3, "nobody owns it")
        // Each without a word to the daemon in between: the call alone waits.
        for number in 0..<5 {
          let owner = try scene.desktop.owner("target UTF8_STRING text:late\(number) delay=300")
          owner.order("claim")
          try owner.wait("claimed")
          #expect(try read().output == Data("late\(number)".utf8))
        }
        let silent = try scene.desktop.owner("target UTF8_STRING text:never do=silent")
        silent.order("claim")
        try silent.wait("claimed")
        #expect(try read().status == 4, "its owner doesn't answer")
        let cleared = try scene.copied("target UTF8_STRING text:gone")
        #expect(try read().output == Data("gone".utf8))
        try cleared.tell("clear")
        #expect(try read().status == 5, "cleared, and held empty")
      }
    }

    private static func items(of board: String, _ scene: Scene) throws -> [[String: Any]] {
      let answer = try scene.bridge.command("board", "list", board, "--json")
      let json = try JSONSerialization.jsonObject(with: answer.output) as? [String: Any]
      return (json?["boards"] as? [[String: Any]])?.first?["items"] as? [[String: Any]] ?? []
    }

    @Test("a unique board is gone with the command that made it")
    func unique() throws {
      try Scene.run(windowManager: false) { scene in
        let maker = try scene.desktop.start(
          try Bridge.binary(), ["board", "create", "--unique", "--display", scene.desktop.display])
        let line = try #require(try maker.line(by: Deadline(seconds: 10)))
        let name = String(decoding: line, as: UTF8.self)
        #expect(name.hasPrefix("org.xpastebridge.unique."))
        // Another process isn't the board's app: it has no such board.
        #expect(try scene.bridge.command("board", "read", name).status == 1)
        #expect(try scene.count() == 1)
        maker.end()
        #expect(try waitUntil(within: 10) { try scene.count() == 0 })
      }
    }

    @Test("lockdown: everything but same-app is refused until it is lifted, also by the next daemon")
    func lockdown() throws {
      let scene = try Scene(windowManager: false)
      defer { scene.desktop.close() }
      _ = try scene.copied("target UTF8_STRING text:before")
      #expect(try scene.paster.text() == "before")
      #expect(try scene.bridge.command("lockdown", "on").status == 0)
      #expect(try scene.paster.text() == nil)
      let source = try scene.copied("target UTF8_STRING text:during")
      #expect(try scene.paster.text() == nil)
      #expect((try scene.bridge.json("status") as? [String: Any])?["lockdown"] as? Bool == true)
      try scene.bridge.stop()
      source.quit()
      let next = try Bridge(on: scene.desktop)
      _ = try scene.desktop.owner("target UTF8_STRING text:after").claim()
      try next.sync()
      #expect(try scene.paster.text() == nil)
      #expect(try next.command("lockdown", "off").status == 0)
      try next.sync()
      #expect(try scene.paster.text() == "after")
      // A policy may keep it on.
      try next.replacePolicy("version: 1\nlift-lockdown: false\n")
      #expect(try next.command("lockdown", "on").status == 0)
      #expect(try next.command("lockdown", "off").status == 1)
      try next.replacePolicy(Bridge.allowAll)
      #expect(try next.command("lockdown", "off").status == 0)
      try next.stop()
    }

    @Test("the programs in examples/ use a board by X alone", arguments: ["board-gtk3.py", "board-tk.tcl"])
    func examples(name: String) throws {
      try Scene.run(policy: SuiteDesktop.policy) { scene in
        let program = Place.source + "/examples/" + name
        let arguments = [program, "copy", SuiteDesktop.board, "by \(name)"]
        let interpreter = name.hasSuffix(".tcl") ? "/usr/bin/tclsh" : "/usr/bin/python3"
        let copier = try scene.desktop.start(interpreter, arguments)
        let reader = { () throws -> Data in
          try scene.desktop.run(interpreter, [program, "paste", SuiteDesktop.board], within: 20).output
        }
        let isThere = try waitUntil(within: 20) { String(decoding: try reader(), as: UTF8.self) == "by \(name)\n" }
        #expect(isThere)
        copier.end()
        // Kept by the board after the program's end.
        try scene.bridge.sync()
        #expect(String(decoding: try reader(), as: UTF8.self) == "by \(name)\n")
      }
    }
  }
}

extension Scene {
  /// Boards there are, as the status counts them.
  fileprivate func count() throws -> Int? {
    let status = try bridge.json("status") as? [String: Any]
    return (status?["boards"] as? [String: Any])?["count"] as? Int
  }
}
