import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// Programs of a suite and others: what the suite copies stays in it, by every way, and outlives the daemon.
  @Suite(.serialized) struct SuiteTests {
    @Test("inside the suite every type pastes, by plain paste and from the board; outside nothing, by no way")
    func suite() throws {
      let suite = try SuiteDesktop(SuiteDesktop.policy)
      defer { suite.desktop.close() }
      let member = try suite.desktop.requestor("class suitesheet SuiteSheet", "selection \(SuiteDesktop.board)")
      try suite.writer.offer(SuiteDesktop.forms)
      try suite.bridge.sync()
      // Plain Ctrl+V, with real keys.
      #expect(try suite.sheet.pasteAll() == SuiteDesktop.forms)
      #expect(try suite.outsider.pasteAll() == [:])
      let text = SuiteDesktop.forms["UTF8_STRING"]
      #expect(try suite.sheet.paste(expecting: text?.count) == text)
      #expect(try suite.outsider.paste(expecting: nil) == Data())
      for (type, bytes) in SuiteDesktop.forms {
        expectSame(try suite.sheet.readBoard(SuiteDesktop.board, type, at: suite.socket), bytes, "\(type) by D-Bus")
        expectSame(try member.paste(type), bytes, "\(type) by raw X")
        #expect(try suite.outsider.fetch(type) == nil, "\(type) by CLIPBOARD")
      }
      #expect(try suite.multiple(by: member) == Set(SuiteDesktop.forms.keys).union(["TIMESTAMP"]))
      try suite.expectWhole()
      try suite.expectNothingOutside()
      // Somebody else copies: CLIPBOARD is theirs, the board still the suite's.
      try suite.outsider.offer(["UTF8_STRING": Data("harmless".utf8)])
      try suite.bridge.sync()
      #expect(try suite.sheet.fetch("UTF8_STRING") == Data("harmless".utf8))
      try suite.expectWhole()
      try suite.expectNothingOutside()
      let refused = try suite.bridge.audit().filter { $0.outcome == "refused" && $0.selection == SuiteDesktop.board }
      #expect(refused.contains { $0.action == "paste" })
      try suite.end()
    }

    @Test("a browser outside pastes what everybody may have, and nothing of the suite's")
    func browser() throws {
      try Scene.run(policy: SuiteDesktop.policy) { scene in
        let browser = try Editor(.firefox, on: scene.desktop)
        // It takes keys by now, and what it pastes can be read.
        #expect(try browser.copiedText(wanted: EditorKind.text, by: scene.paster, within: 60) == EditorKind.text)
        let writer = try WindowProgram(scene.desktop, .gtk, windowClass: "SuiteWriter")
        try writer.offer(SuiteDesktop.forms)
        try scene.bridge.sync()
        // The paste would take the place of what is marked; the copy behind it shows what there is then.
        try browser.press(["ctrl+a", "ctrl+v"])
        #expect(try browser.copiedText(wanted: EditorKind.text, by: scene.paster) == EditorKind.text)
        _ = try scene.copied("target UTF8_STRING text:for\\_everybody")
        try browser.press(["ctrl+a", "ctrl+v"])
        #expect(try browser.copiedText(wanted: "for everybody", by: scene.paster) == "for everybody")
        writer.exit()
      }
    }

    @Test(
      "a persistent board is whole after the daemon's end, killed or not; one that isn't persistent is empty",
      arguments: [SIGKILL, SIGTERM])
    func restart(signal: Int32) throws {
      let scratch = "org.example.scratch"
      let policy = SuiteDesktop.policy.replacingOccurrences(
        of: "    expires: 8h", with: "    persistent: true\n    expires: 8h"
      ).replacingOccurrences(of: "\nrules:\n", with: "\n  \(scratch):\n    members: [suite]\n\nrules:\n")
      let suite = try SuiteDesktop(policy)
      defer { suite.desktop.close() }
      try suite.writer.offer(SuiteDesktop.forms)
      try suite.bridge.sync()
      try suite.writer.offer(SuiteDesktop.forms, on: scratch)
      try suite.bridge.sync()
      try suite.expectWhole(scratch)
      let secret = ["UTF8_STRING": Data("hunter2".utf8), "x-kde-passwordManagerHint": Data("secret".utf8)]
      try suite.writer.offer(secret, on: SuiteDesktop.board)
      try suite.bridge.sync()
      #expect(try suite.sheet.fetch("UTF8_STRING", from: SuiteDesktop.board) == secret["UTF8_STRING"])
      // What is confirmed survives; a clean end waits for it.
      #expect(try signal == SIGTERM || waitUntil(within: 20) { try suite.boardStatus("unstored") == 0 })
      try suite.restart(signal)
      let isBack = try waitUntil(within: 20) {
        try suite.sheet.fetch("UTF8_STRING", from: SuiteDesktop.board) != nil
      }
      #expect(isBack)
      try suite.expectWhole()
      try suite.expectNothingOutside()
      for type in SuiteDesktop.forms.keys { #expect(try suite.sheet.fetch(type, from: scratch) == nil, "\(type)") }
      // One item, and the secret one isn't among what was stored.
      #expect(try suite.boardStatus("count") == 2 && suite.boardStatus("items") == 1)
      // In no policy any more: wiped, also on disk.
      try suite.bridge.replacePolicy(Bridge.allowAll)
      #expect(try waitUntil(within: 20) { try suite.boardStatus("unstored") == 0 })
      try suite.bridge.replacePolicy(policy)
      #expect(try suite.sheet.fetch("UTF8_STRING", from: SuiteDesktop.board) == nil)
      let anew = ["UTF8_STRING": Data("anew".utf8)]
      try suite.writer.offer(anew, on: SuiteDesktop.board)
      try suite.bridge.sync()
      try suite.restart(SIGTERM)
      #expect(
        try waitUntil(within: 20) {
          try suite.sheet.fetch("UTF8_STRING", from: SuiteDesktop.board) == anew["UTF8_STRING"]
        })
      #expect(try suite.boardStatus("items") == 1)
      try suite.end()
    }
  }
}
