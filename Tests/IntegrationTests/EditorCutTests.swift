import Foundation
import Testing

extension IntegrationTests {
  /// A cut that is denied must not delete the person's text: the program never hears of the key.
  @Suite(.serialized) struct EditorCutTests {
    @Test("a denied cut by key leaves text and clipboard as they were", arguments: EditorKind.allCases)
    func deniedCut(kind: EditorKind) throws {
      let policy = """
        version: 1
        rules: [{name: nothing is cut here, apps: {class: \(kind.windowClass)}, actions: cut, decision: deny}]
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        let editor = try Editor(kind, on: scene.desktop)
        // Copying is allowed, and shows what there is.
        #expect(try editor.copiedText(wanted: EditorKind.text, by: scene.paster, within: 60) == EditorKind.text)
        let other = try scene.copied("target UTF8_STRING text:older")
        for key in kind.cuts {
          try editor.press(kind.selectsAll + [key])
          try scene.bridge.sync()
          #expect(try scene.paster.text() == "older", "\(key)")
        }
        #expect(try other.status().number("losses") ?? 0 == 1, "the daemon's claim, and nobody's after it")
        #expect(try editor.copiedText(wanted: EditorKind.text, by: scene.paster) == EditorKind.text)
        let held = try scene.bridge.audit().filter { $0.outcome == "refused-by-key" }
        #expect(Set(held.map(\.action)) == ["cut"] && Set(held.map(\.rule)) == ["nothing is cut here"])
        // The same keys do cut where that is allowed: this test can fail.
        try scene.bridge.replacePolicy(Bridge.allowAll)
        _ = try scene.copied("target UTF8_STRING text:older")
        try editor.press(kind.selectsAll + [kind.cuts[0]])
        let isCut = try waitUntil(within: 10) {
          try scene.bridge.sync()
          return try scene.paster.text()?.trimmingCharacters(in: .whitespacesAndNewlines) == EditorKind.text
        }
        #expect(isCut)
      }
    }
  }
}
