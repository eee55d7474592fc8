import Foundation
import Testing

extension IntegrationTests {
  /// Boards in the edit menu, and actions whose result goes to a board.
  @Suite(.serialized) struct BoardMenuTests {
    private static let board = "org.example.notes"
    private static let policy = """
      version: 1
      boards:
        \(board): {members: [{class: Notes}], persistent: true}
      default: allow
      """

    /// The lines of the menu that `scene`'s active app has.
    private static func titles(_ scene: Scene) throws -> [String] {
      let answer = try scene.bridge.command("menu", "--json")
      let report = Event((try JSONSerialization.jsonObject(with: answer.output) as? [String: Any]) ?? [:])
      return (report.fields["items"] as? [[String: Any]] ?? []).compactMap { $0["title"] as? String }
    }

    /// A member that has put two items on the board, the older one a link.
    private static func fill(_ scene: Scene) throws -> Requestor {
      let owner = try scene.desktop.owner("class notes Notes", "selection \(Self.board)")
      for (text, html) in [("https://a.example/wonderful-secret", "<b>old</b>"), ("newer", "<b>newer</b>")] {
        try owner.tell("target UTF8_STRING text:\(text)")
        try owner.tell("target text/html text:\(html)")
        try owner.claim()
        try scene.bridge.sync()
      }
      owner.quit()
      return try scene.desktop.requestor("class notes Notes")
    }

    @Test("a board's item is chosen in dmenu by a member and pasted by it, and by nobody else")
    func dmenu() throws {
      let scene = try Scene(policy: Self.policy)
      defer { scene.desktop.close() }
      let member = try Self.fill(scene)
      _ = try scene.copied("target x/other text:other")
      let browser = try Keys.window("Browser", on: scene.desktop)
      #expect(try waitUntil(within: 10) { try Self.titles(scene) == [] }, "nothing of the board in another app's menu")
      browser.quit()
      let notes = try Keys.window("Notes", on: scene.desktop)
      let lines = [
        "Paste search-term, text, html, 12 bytes (1 of \(Self.board))",
        "Paste web-url, text, html, 34 bytes (2 of \(Self.board))",
      ]
      #expect(try waitUntil(within: 10) { try Self.titles(scene) == lines })
      let words = ["menu", "--with", "dmenu", "--display", scene.desktop.display]
      let menu = try scene.desktop.start(try Bridge.binary(), words)
      // dmenu has the keyboard before it shows itself.
      let isShown = try waitUntil(within: 10) {
        try scene.desktop.run("/usr/bin/xdotool", ["search", "--onlyvisible", "--class", "dmenu"]).status == 0
      }
      #expect(isShown)
      for words in [["type", "web-url"], ["key", "Return"]] {
        #expect(try scene.desktop.run("/usr/bin/xdotool", words).status == 0)
      }
      #expect(try menu.exitStatus(within: 10) == 0)
      #expect(try member.text() == "https://a.example/wonderful-secret")
      #expect(try member.text("text/html") == "<b>old</b>")
      // The policy has nothing against what Notes copies: it is the board that keeps it in.
      #expect(try scene.paster.text() == nil)
      #expect(try Set(scene.paster.targets() ?? []).isDisjoint(with: ["UTF8_STRING", "text/html"]))
      try scene.bridge.replacePolicy(Self.policy)
      #expect(try scene.paster.text() == nil && member.text() != nil)
      let audit = try scene.bridge.audit()
      let texts = [scene.desktop.log("xpastebridge")] + audit.map(\.description)
      #expect(!texts.contains { $0.contains("wonderful-secret") })
      let record = try #require(audit.last { $0.outcome == "kept" && $0.selection == "clipboard" })
      #expect(record.source?.windowClass == "Notes" && record.destination?.windowClass == "Notes")
      notes.quit()
      try scene.expectNextCopy()
      try scene.end()
    }

    @Test("an action's result goes to a board by right of the active app, and outlives the daemon with its rules")
    func action() throws {
      let folder = NSTemporaryDirectory() + "xpb-actions-" + UUID().uuidString
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let file = """
        version: 1
        title: To the notes
        accepts: text
        command: [/usr/bin/tr, a-z, A-Z]
        makes: [UTF8_STRING]
        to: \(Self.board)
        """
      try file.write(toFile: folder + "/note.yaml", atomically: true, encoding: .utf8)
      let policy =
        Self.policy + """

          rules:
            - {name: nothing of the ledger for the archive, from: {class: Ledger}, to: {class: Notes, instance: archive}, decision: deny}
          """
      let options = ["--actions", folder]
      let scene = try Scene(policy: policy, options: options)
      defer { scene.desktop.close() }
      let run = { (scene: Scene) -> String? in
        let answer = try scene.bridge.command("action", "run", "note", "--json")
        let outcome = Event((try? JSONSerialization.jsonObject(with: answer.output) as? [String: Any]) ?? [:])
        return outcome.text("outcome")
      }
      _ = try scene.copied("class ledger Ledger", "target UTF8_STRING text:figures")
      let browser = try Keys.window("Browser", on: scene.desktop)
      #expect(try waitUntil(within: 10) { try run(scene) == "no-board" })
      let refused = try #require(try scene.bridge.audit().last { $0.action == "action" })
      #expect(refused.outcome == "refused" && refused.selection == Self.board)
      browser.quit()
      let notes = try Keys.window("Notes", on: scene.desktop)
      #expect(try waitUntil(within: 10) { try Self.titles(scene) == ["To the notes"] })
      #expect(try run(scene) == "made")
      #expect(try scene.paster.text() == "figures", "the clipboard stays")
      let member = try scene.desktop.requestor("class notes Notes", "selection \(Self.board)")
      let archive = try scene.desktop.requestor("class archive Notes", "selection \(Self.board)")
      #expect(try member.text() == "FIGURES" && archive.text() == nil)
      #expect(try scene.paster.text("UTF8_STRING", "selection=\(Self.board)") == nil)
      _ = try scene.copied("target UTF8_STRING text:hunter2", "target x-kde-passwordManagerHint text:secret")
      #expect(try run(scene) == "not-for-board")
      notes.quit()
      try scene.bridge.stop()
      let next = try Bridge(on: scene.desktop, policy: policy, options: options)
      #expect(try waitUntil(within: 20) { try member.text() == "FIGURES" })
      #expect(try archive.text() == nil)
      try next.stop()
    }
  }
}
