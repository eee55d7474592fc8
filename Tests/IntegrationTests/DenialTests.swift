import Foundation
import Testing

extension IntegrationTests {
  /// What every program makes of a refusal: an empty paste, no hang, nothing older.
  @Suite(.serialized) struct DenialTests {
    @Test("a denied copy: every paste is empty, none hangs, none gets the older clip", arguments: ProgramKind.allCases)
    func deniedCopy(source: ProgramKind) throws {
      // GTK and Tk have nothing left to copy when a denied PRIMARY is taken from them with the highlight.
      let policy = """
        version: 1
        rules:
          - name: this program copies nothing
            from: {exe: \(source.executable)}
            actions: [copy, cut]
            selection: clipboard
            decision: deny
        # As from a menu: with its keys held back the program wouldn't copy at all.
        keys: {any: none}
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let program = try source.start(on: scene.desktop, windowClass: "DeniedSource")
        try program.copy(Sample.ascii.bytes)
        try scene.bridge.sync()
        for kind in ProgramKind.allCases {
          let requestor = try kind.start(on: scene.desktop)
          #expect(try requestor.paste(expecting: nil) == Data(), "\(source) → \(kind)")
          requestor.exit()
        }
      }
    }

    enum By: String, CaseIterable, Sendable { case windowClass, executable }

    @Test(
      "a denied paste by class and by executable: empty, no hang, and others are served",
      arguments: ProgramKind.allCases, By.allCases)
    func deniedPaste(kind: ProgramKind, by: By) throws {
      // xclip and xsel have no class to write a rule on.
      guard by == .executable || kind.windowClass != nil else { return }
      let name = kind == .tk ? kind.windowClass!.lowercased().capitalized : kind.windowClass ?? ""
      let policy = """
        version: 1
        rules:
          - name: nothing into this program
            to: {\(by == .windowClass ? "class: \(name)" : "exe: \(kind.executable)")}
            decision: deny
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        _ = try scene.copied("target UTF8_STRING text:denied", "target text/html text:<b>denied</b>")
        let requestor = try kind.start(on: scene.desktop)
        #expect(try requestor.paste(expecting: nil) == Data(), "\(kind) by \(by)")
        #expect(try scene.paster.text() == "denied")
        // Qt asks for the list and then, finding no content in it, for nothing.
        let refused = try scene.bridge.audit().last {
          ["paste", "list"].contains($0.action) && $0.outcome == "refused"
        }
        let line = try #require(refused)
        #expect(line.rule == "nothing into this program")
      }
    }
  }
}
