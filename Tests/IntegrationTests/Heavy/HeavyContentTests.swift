import Foundation
import Testing

extension IntegrationTests {
  /// Large and rich content of the programs that people work with.
  @Suite(.serialized) struct HeavyContentTests {
    private static let rows = 50_000
    private static let cells = Data((1...rows).map { "row \($0)\t\($0)\t\($0 * 2)\tx\n" }.joined().utf8)

    /// Each target with the hash of what the owner gives for it, and its size.
    private func contents(_ desktop: Desktop) throws -> [String: (hash: String, bytes: Int)] {
      var found: [String: (hash: String, bytes: Int)] = [:]
      for target in try desktop.probe.targets() ?? [] where Exceptions.isContent(target) {
        let answer = try desktop.probe.convert(target, "deadline=20000", within: 30)
        guard answer.text("state") == "answered" else { continue }
        found[target] = (answer.text("sha256") ?? "", answer.number("bytes") ?? 0)
      }
      return found
    }

    @Test("200,000 cells of Calc: whole, in time, without pictures of no bytes, and after the exit")
    func largeSheet() throws {
      try HeavyDesktop.run([.calc, .calc]) { heavy in
        let (source, requestor) = (heavy[0], heavy[1])
        let text = try LightProgram(.gtk, on: heavy.desktop)
        let path = heavy.desktop.path("cells")
        try Self.cells.write(to: URL(fileURLWithPath: path))
        try source.load(.cells, from: path)
        try source.pressCopy(within: 60)
        let before = try contents(heavy.desktop)
        // What is there when the daemon starts is taken over like a copy; this test times a copy of its own.
        let previous = try heavy.desktop.owner("target UTF8_STRING text:previous")
        try heavy.desktop.takingClipboard { try previous.claim() }
        let daemon = try heavy.startBridge()
        try source.pressCopy(within: 60)
        let began = Deadline.now
        // Such a capture takes longer than one `sync` waits.
        let isSettled = try waitUntil(within: 20) { try daemon.command("sync").status == 0 }
        let milliseconds = (Deadline.now - began) / 1_000_000
        #expect(isSettled, "expected the capture to end within 20 s")
        let copy = try #require(try daemon.audit().last { $0.action == "copy" })
        print(
          "heavy: Calc \(Self.rows * 4) cells: \(copy.bytes) bytes in \(copy.targets.count) targets, \(milliseconds) ms"
        )
        // On a busy machine Calc may not be through by T_cap; then the text and its own formats are there all the same.
        #expect(["", "capture-timeout"].contains(copy.limit), "found the limit `\(copy.limit)`")
        #expect(milliseconds < 12_000, "expected an end at T_cap, found \(milliseconds) ms")
        #expect(copy.bytes < 256 << 20)
        let after = try contents(heavy.desktop)
        for (target, content) in before.sorted(by: { $0.key < $1.key }) {
          print(
            "heavy: \(target.prefix { $0 != ";" }): \(content.bytes), with the daemon \(after[target]?.bytes ?? -1)")
        }
        for (target, content) in after {
          #expect(
            content.bytes > 0 || !HeavyExceptions.isPicture(target), "\(target): a picture of no bytes is offered")
        }
        for target in ["UTF8_STRING", "text/html", "text/rtf", "text/plain;charset=utf-16"] {
          guard
            copy.limit == "" || ["UTF8_STRING", "text/plain;charset=utf-16"].contains(target) || after[target] != nil
          else { continue }
          #expect(after[target]?.hash == before[target]?.hash, "\(target): expected the same bytes")
        }
        #expect(after["UTF8_STRING"]?.bytes == Self.cells.count)
        expectSame(try text.paste(.text, expecting: Self.cells.count), Self.cells, "Calc → GTK")
        source.exit()
        try daemon.sync()
        expectSame(try requestor.paste(.cells, within: 60), Self.cells, "Calc → another Calc, after the exit")
      }
    }

    @Test("a browser's rich text and picture reach the other whole, with every request answered")
    func browsers() throws {
      try HeavyDesktop.run([.firefox, .chromium]) { heavy in
        let daemon = try heavy.startBridge()
        for (source, requestor) in [(heavy[0], heavy[1]), (heavy[1], heavy[0])] {
          for kind in [ContentKind.rich, .image] {
            let path = try kind.write(on: heavy.desktop)
            try source.copy(kind, from: path)
            try daemon.sync()
            let seen = try daemon.audit().count
            let began = Deadline.now
            let pasted = String(decoding: try requestor.paste(kind, within: 30), as: UTF8.self)
            let milliseconds = (Deadline.now - began) / 1_000_000
            let wanted = kind == .rich ? "<b>bold</b>" : "40x30 "
            #expect(
              pasted.contains(wanted), "\(source.name) → \(requestor.name), \(kind): found `\(pasted.prefix(200))`")
            let lines = try daemon.audit().dropFirst(seen).filter { $0.destination?.pid == Int(requestor.pid) }
            print("heavy: \(source.name) → \(requestor.name) \(kind): \(milliseconds) ms, \(lines.map(\.targets))")
            #expect(
              !lines.isEmpty && lines.allSatisfy { $0.outcome == "served" }, "expected all served, found \(lines)")
          }
        }
      }
    }

    @Test(
      "a refused paste: nothing arrives, no dialog, few requests, and the next allowed one arrives",
      arguments: [HeavyKind.firefox, .chromium, .writer, .writerGen, .calc])
    func refusedPaste(kind: HeavyKind) throws {
      try HeavyDesktop.run([kind]) { heavy in
        let program = heavy[0]
        let daemon = try heavy.startBridge(
          policy: """
            version: 1
            limits: {flood: 10}
            rules:
              - name: nothing into this program
                to: {exe: \(try HeavyDesktop.executable(of: program))}
                decision: deny
            default: allow
            """)
        let html = heavy.desktop.path("html")
        try Data(ContentKind.richText.utf8).write(to: URL(fileURLWithPath: html))
        let owner = try heavy.desktop.owner(
          "target UTF8_STRING text:denied", "target text/html file:\(html)",
          "target image/png file:\(try ContentKind.image.write(on: heavy.desktop))")
        try heavy.desktop.takingClipboard { try owner.claim() }
        try daemon.sync()
        let windows = try heavy.windows()
        for kind in program.pastes {
          let pasted = try program.paste(kind, within: 20)
          expectSame(pasted, Data(), "\(program.name), \(kind), refused")
          #expect(try heavy.windows() == windows, "\(program.name), \(kind): expected no dialog, found a new window")
        }
        // It counts as a flood from the eleventh refused request for content on; lists have been answered.
        let audit = try daemon.audit()
        #expect(!audit.contains { $0.limit == "flood" }, "\(program.name): expected at most 10 refusals in 10 s")
        let refused = audit.filter { $0.destination?.pid == Int(program.pid) }
        #expect(refused.contains { $0.outcome == "refused" }, "\(program.name): expected a refusal, found \(refused)")
        try daemon.replacePolicy(Bridge.allowAll)
        let next = try heavy.desktop.owner("target UTF8_STRING text:allowed")
        try heavy.desktop.takingClipboard { try next.claim() }
        try daemon.sync()
        let arrived = String(decoding: try program.paste(.text, within: 20), as: UTF8.self)
        #expect(
          arrived.contains("allowed"), "\(program.name): expected the allowed text, found `\(arrived.prefix(80))`")
      }
    }
  }
}
