import Foundation
import Testing

extension IntegrationTests {
  /// Two programs of a suite and one that isn't part of it: what the suite copies stays in it, by every way.
  @Suite(.serialized) struct BoardTests {
    private static let board = "org.example.suite"

    /// What every member may paste and nobody else: four types, one of the suite's own making.
    private static let forms: [String: Data] = [
      "UTF8_STRING": Data("figures of the suite".utf8),
      "text/html": Data("<b>figures</b>".utf8),
      "image/png": Data([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255]),
      "application/x-suite-cells": Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }),
    ]

    /// `policy/examples/suite.yaml` with the classes of the test's programs.
    private static func policy(_ more: String = "") throws -> String {
      let text = try String(contentsOfFile: Place.source + "/policy/examples/suite.yaml", encoding: .utf8)
      return text + more
    }

    private final class Suite {
      let desktop: Desktop
      let bridge: Bridge
      let writer: WindowProgram
      let sheet: WindowProgram
      let outsider: WindowProgram

      init(_ policy: String) throws {
        desktop = try Desktop()
        bridge = try Bridge(on: desktop, policy: policy)
        writer = try WindowProgram(desktop, .gtk, windowClass: "SuiteWriter")
        sheet = try WindowProgram(desktop, .gtk, windowClass: "SuiteSheet")
        outsider = try WindowProgram(desktop, .gtk, windowClass: "Browser")
      }

      /// The socket of the boards.
      var socket: String {
        let run = desktop.environment["XDG_RUNTIME_DIR"] ?? ""
        return "\(run)/xpastebridge/\(desktop.display)/boards"
      }

      /// Nothing of the suite's, by no way.
      func expectNothingOutside(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for type in BoardTests.forms.keys.sorted() {
          #expect(
            try outsider.fetch(type, from: BoardTests.board) == nil, "\(type) by X", sourceLocation: sourceLocation)
          let byBus = try outsider.readBoard(BoardTests.board, type, at: socket)
          #expect(byBus == nil, "\(type) by D-Bus", sourceLocation: sourceLocation)
        }
        let binary = try Bridge.binary()
        for words in ["read \(BoardTests.board)", "list \(BoardTests.board)", "copy \(BoardTests.board) general"] {
          let done = try outsider.talker.tell("spawn \(binary) board \(words)", within: 20)
          #expect(done.number("status") == 1 && done.text("output") == "", "\(words)", sourceLocation: sourceLocation)
        }
        let list = try outsider.talker.tell("spawn \(binary) board list", within: 20)
        #expect(list.text("output")?.contains(BoardTests.board) == false, sourceLocation: sourceLocation)
      }

      func end() throws {
        for program in [writer, sheet, outsider] { program.exit() }
        try bridge.stop()
        desktop.close()
      }
    }

    @Test("inside the suite every type pastes, by plain paste and from the board; outside nothing, by no way")
    func suite() throws {
      let suite = try Suite(try Self.policy())
      defer { suite.desktop.close() }
      try suite.writer.offer(Self.forms)
      try suite.bridge.sync()
      for (type, bytes) in Self.forms {
        expectSame(try suite.sheet.fetch(type), bytes, "\(type) by CLIPBOARD")
        expectSame(try suite.sheet.fetch(type, from: Self.board), bytes, "\(type) by the board's selection")
        expectSame(try suite.sheet.readBoard(Self.board, type, at: suite.socket), bytes, "\(type) by D-Bus")
        #expect(try suite.outsider.fetch(type) == nil, "\(type) by CLIPBOARD")
      }
      // Plain Ctrl+V, with real keys.
      #expect(try suite.sheet.paste(expecting: Self.forms["UTF8_STRING"]?.count) == Self.forms["UTF8_STRING"])
      #expect(try suite.outsider.paste(expecting: nil) == Data())
      try suite.expectNothingOutside()
      // Somebody else copies: CLIPBOARD is theirs, the board still the suite's.
      try suite.outsider.offer(["UTF8_STRING": Data("harmless".utf8)])
      try suite.bridge.sync()
      #expect(try suite.sheet.fetch("UTF8_STRING") == Data("harmless".utf8))
      for (type, bytes) in Self.forms {
        expectSame(try suite.sheet.fetch(type, from: Self.board), bytes, "\(type) afterwards")
      }
      try suite.expectNothingOutside()
      let refused = try suite.bridge.audit().filter { $0.outcome == "refused" && $0.selection == Self.board }
      #expect(refused.contains { $0.action == "paste" })
      try suite.end()
    }

    @Test("a member claims the board's selection and has copied onto it; an outsider's claim is taken back")
    func claim() throws {
      let suite = try Suite(try Self.policy())
      defer { suite.desktop.close() }
      try suite.writer.offer(Self.forms, on: Self.board)
      try suite.bridge.sync()
      expectSame(try suite.sheet.fetch("text/html", from: Self.board), Self.forms["text/html"] ?? Data(), "html")
      try suite.outsider.offer(["UTF8_STRING": Data("forged".utf8)], on: Self.board)
      try suite.bridge.sync()
      #expect(try suite.sheet.fetch("UTF8_STRING", from: Self.board) == Self.forms["UTF8_STRING"])
      let record = try suite.bridge.audit().last { $0.action == "copy" && $0.outcome == "refused" }
      #expect(try #require(record).selection == Self.board)
      // The writer's end takes nothing away.
      suite.writer.exit()
      try suite.bridge.sync()
      #expect(try suite.sheet.fetch("UTF8_STRING", from: Self.board) == Self.forms["UTF8_STRING"])
      // Membership ends with the policy, and with it what was kept.
      try suite.bridge.replacePolicy(Bridge.allowAll)
      #expect(try suite.sheet.fetch("UTF8_STRING", from: Self.board) == nil)
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
        #expect(try scene.bridge.command("board", "read", board).status == 1)
        #expect(try scene.bridge.command("board", "remove", board).status == 1)
        #expect(try scene.bridge.command("board", "create", "org.example.tool.more", "--members", board).status == 0)
        #expect(try scene.bridge.command("board", "list").output.range(of: Data("org.example.tool.more".utf8)) != nil)
        #expect(try scene.bridge.command("board", "remove", "org.example.tool.more").status == 0)
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

    @Test("a persistent board is whole after a restart of the daemon; what is secret isn't stored")
    func persistent() throws {
      let suite = try Suite(
        try Self.policy().replacingOccurrences(of: "    expires: 8h", with: "    persistent: true\n    expires: 8h"))
      defer { suite.desktop.close() }
      try suite.writer.offer(Self.forms)
      try suite.bridge.sync()
      let secret = ["UTF8_STRING": Data("hunter2".utf8), "x-kde-passwordManagerHint": Data("secret".utf8)]
      try suite.writer.offer(secret, on: Self.board)
      try suite.bridge.sync()
      #expect(try suite.sheet.fetch("UTF8_STRING", from: Self.board) == secret["UTF8_STRING"])
      try suite.bridge.stop()
      let policy = try String(contentsOfFile: suite.bridge.policyPath, encoding: .utf8)
      let next = try Bridge(on: suite.desktop, policy: policy)
      let isBack = try waitUntil(within: 20) { try suite.sheet.fetch("UTF8_STRING", from: Self.board) != nil }
      #expect(isBack)
      for (type, bytes) in Self.forms {
        expectSame(try suite.sheet.fetch(type, from: Self.board), bytes, "\(type) after the restart")
      }
      #expect(try suite.outsider.fetch("UTF8_STRING", from: Self.board) == nil)
      // In no policy any more: wiped.
      try next.replacePolicy(Bridge.allowAll)
      try next.replacePolicy(policy)
      #expect(try suite.sheet.fetch("UTF8_STRING", from: Self.board) == nil)
      try next.stop()
    }

    @Test("the programs in examples/ use a board by X alone", arguments: ["board-gtk3.py", "board-tk.tcl"])
    func examples(name: String) throws {
      try Scene.run(policy: try Self.policy()) { scene in
        let program = Place.source + "/examples/" + name
        let arguments = [program, "copy", Self.board, "by \(name)"]
        let interpreter = name.hasSuffix(".tcl") ? "/usr/bin/tclsh" : "/usr/bin/python3"
        let copier = try scene.desktop.start(interpreter, arguments)
        let reader = { () throws -> Data in
          try scene.desktop.run(interpreter, [program, "paste", Self.board], within: 20).output
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
