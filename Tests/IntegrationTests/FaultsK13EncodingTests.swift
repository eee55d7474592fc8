import Foundation
import Testing

extension IntegrationTests {
  /// Bytes are kept as served; nothing goes through the locale.
  @Suite(.serialized) struct K13Encoding {
    /// Letters with marks, Han, one outside the BMP, and a right-to-left word with a combining mark.
    private static let text = "za\u{17c}\u{f3}\u{142}\u{107} \u{6f22}\u{5b57} \u{1f642} \u{5e9}\u{5b8}\u{5dc}"
    private static let surroundings: [[String: String]] = [
      ["LC_ALL": "C"], ["LC_ALL": "POSIX", "LANG": "de_DE.ISO-8859-1"], ["LC_ALL": "no_such.LOCALE"], [:],
    ]

    private static func hex(_ text: String) -> String { text.utf8.map { String(format: "%02x", $0) }.joined() }

    @Test("a source that has only STRING: the same bytes, and no spelling that it doesn't offer: B123")
    func latin1() throws {
      try Scene.run(windowManager: false) { scene in
        let owner = try scene.copied("target STRING hex:636166e9")
        owner.quit()
        #expect(try scene.paster.convert("STRING", "hex=yes").text("hex") == "636166e9")
        #expect(try scene.paster.targets()?.filter(Exceptions.isContent) == ["STRING"])
        #expect(try scene.paster.convert("UTF8_STRING").text("state") == "refused")
      }
    }

    @Test("what Latin-1 can't say is refused as STRING, never spelled out: B124")
    func beyondLatin1() throws {
      try Scene.run(windowManager: false) { scene in
        let owner = try scene.copied("target UTF8_STRING hex:e2809d")
        owner.quit()
        for target in ["STRING", "TEXT", "COMPOUND_TEXT", "text/plain"] {
          #expect(try scene.paster.convert(target).text("state") == "refused", "\(target)")
        }
        #expect(try scene.paster.convert("UTF8_STRING", "hex=yes").text("hex") == "e2809d")
      }
    }

    @Test("text in every encoding is only bytes: B126 B128", arguments: surroundings)
    func keptInAnyLocale(environment: [String: String]) throws {
      try Scene.run(windowManager: false, environment: environment) { scene in
        let contents = [
          "UTF8_STRING": Self.hex(Self.text), "text/html": "cea3", "STRING": "636166e9",
          "COMPOUND_TEXT": "1b2d42b3", "text/plain;charset=utf-16": "fffe7a017c01", "text/plain": "c328fe80",
          "text/plain;charset=utf-8": Self.hex("\u{feff}e\u{301} \u{e9}"),
        ]
        let owner = try scene.desktop.owner()
        for (target, hex) in contents { try owner.tell("target \(target) hex:\(hex)") }
        try owner.claim()
        try scene.bridge.sync()
        owner.quit()
        for (target, hex) in contents {
          #expect(try scene.paster.convert(target, "hex=yes").text("hex") == hex, "\(target)")
        }
      }
    }

    @Test("names of apps and targets pass as they are into records and reports: B128", arguments: surroundings)
    func namesInAnyLocale(environment: [String: String]) throws {
      let policy = """
        version: 1
        rules:
          - name: nichts für Żółć
            to: {class: Żółć}
            decision: deny
        default: allow
        """
      try Scene.run(policy: policy, windowManager: false, environment: environment) { scene in
        _ = try scene.copied("class q Quelle-\u{6f22}", "target UTF8_STRING text:x", "target x/\u{fc} text:y")
        let reader = try scene.desktop.requestor("class z Żółć")
        #expect(try reader.text() == nil, "the class in the rule is the class of the window")
        let line = try #require(try scene.bridge.audit().last { $0.action == "paste" && $0.outcome == "refused" })
        #expect(line.rule == "nichts für Żółć")
        #expect(line.destination?.windowClass == "Żółć")
        #expect(line.source?.windowClass == "Quelle-\u{6f22}")
        let copy = try #require(try scene.bridge.audit().last { $0.action == "copy" })
        // Names of atoms are Latin-1 by the protocol: two characters for the two bytes, in any locale.
        #expect(copy.targets.contains("x/\u{c3}\u{bc}"))
        // The command line, too, in the same surroundings.
        let runtime = ["XDG_RUNTIME_DIR": scene.desktop.environment["XDG_RUNTIME_DIR"]!]
        let answer = try scene.desktop.run(
          try Bridge.binary(), ["policy", "show", "--display", scene.desktop.display],
          only: environment.merging(runtime) { $1 })
        #expect(answer.status == 0)
        #expect(String(decoding: answer.output, as: UTF8.self).contains("nichts für Żółć"))
      }
    }

    @Test("standard input is bytes for the command line in an empty environment: B129")
    func standardInput() throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let policy = "version: 1\nrules:\n  - {name: te\u{17c}, to: {class: te\u{17c}}, decision: denied}\n"
      let answer = try desktop.run(
        try Bridge.binary(), ["policy", "check", "--json", "-"], input: Data(policy.utf8), only: [:])
      #expect(answer.status == 1)
      let found = try Event(line: answer.output.filter { $0 != 10 }.prefix(1 << 20), from: "policy check")
      let errors = found.fields["errors"] as? [[String: Any]] ?? []
      // Columns are characters: a letter of two bytes is one.
      #expect(errors.map { $0["column"] as? Int } == [45])
      let same = policy.replacingOccurrences(of: "denied", with: "deny")
      #expect(
        try desktop.run(try Bridge.binary(), ["policy", "check", "-"], input: Data(same.utf8), only: [:]).status == 0)
    }

    @Test(
      "a spelling of the charset that the source doesn't offer is refused, the offered one works, nothing is logged: B130",
      arguments: ["text/plain;charset=UTF-8", "text/plain;charset=utf-8", "text/plain;charset=UTF8"])
    func charsets(target: String) throws {
      let others = [
        "text/plain;charset=UTF-8", "text/plain;charset=utf-8", "text/plain;charset=us-ascii", "text/plain",
      ]
      try Scene.run(windowManager: false) { scene in
        let owner = try scene.copied("target \(target) hex:\(Self.hex(Self.text))")
        owner.quit()
        #expect(try scene.paster.convert(target, "hex=yes").text("hex") == Self.hex(Self.text))
        try scene.bridge.sync()
        let log = scene.desktop.log("xpastebridge")
        for other in others where other != target {
          #expect(try scene.paster.summary("loop 20 \(other)").number("refused") == 20, "\(other)")
        }
        try scene.bridge.sync()
        #expect(scene.desktop.log("xpastebridge") == log)
      }
    }
  }
}
