import Foundation
import Testing

extension IntegrationTests {
  /// X servers that lack what the daemon asks them for.
  @Suite(.serialized) struct LackingServerTests {
    private func doctor(_ desktop: Desktop) throws -> [String: Event] {
      let answer = try desktop.run(try Bridge.binary(), ["doctor", "--json", "--display", desktop.display])
      let report = try #require(try JSONSerialization.jsonObject(with: answer.output) as? [String: Any])
      let findings = (report["findings"] as? [[String: Any]] ?? []).map(Event.init)
      return Dictionary(uniqueKeysWithValues: findings.map { ($0.text("guarantee") ?? "", $0) })
    }

    private static let refusingVault = """
      version: 1
      rules: [{name: vault, from: {exe: /opt/vault}, actions: [copy, cut], decision: deny}]
      default: allow
      """
    /// Each with whether the copy is kept and who reads it back: nobody but by a rule about the unsure.
    private static let policies: [(policy: String, isKept: Bool, isRead: Bool)] = [
      (refusingVault, false, false),
      (
        "version: 1\nrules: [{name: all but these, to: {not: {exe: /usr/bin/xpb-nobody}}, actions: paste, "
          + "decision: deny}]\ndefault: allow\n", true, false
      ),
      ("version: 1\nrules: [{name: own, from: {unit: x.service}, decision: private}]\ndefault: allow\n", true, false),
      ("version: 1\nrules: [{name: trusted, from: {exe: /**}, decision: allow}]\ndefault: deny\n", false, false),
      ("version: 1\nrules: [{name: they may, from: unknown, decision: allow}]\ndefault: deny\n", true, true),
      (
        "version: 1\nrules: [{name: remote ones, to: {remote: true}, actions: paste, decision: deny}]\n"
          + "default: allow\n", true, false
      ),
    ]

    @Test("without X-Resource: the strictest answer for everybody, and it is said")
    func withoutNames() throws {
      let desktop = try Desktop(lacking: "X-Resource")
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop)
      #expect(desktop.log("xpastebridge").contains("X-Resource"))
      let owner = try desktop.owner("target UTF8_STRING text:mine")
      let reader = try desktop.requestor("watch CLIPBOARD")
      try owner.claim()
      try bridge.sync()
      #expect(try reader.text() == "mine", "without rules all is as without the daemon")
      for (policy, isKept, isRead) in Self.policies {
        try bridge.replacePolicy(policy)
        try owner.claim()
        try bridge.sync()
        let copy = try #require(try bridge.audit().last { $0.action == "copy" })
        #expect(copy.outcome == (isKept ? "kept" : "emptied"), "\(policy) \(copy)")
        #expect(try reader.text() == (isRead ? "mine" : nil), "\(policy)")
      }
      #expect(try bridge.json("clients") is [String: Any])
      let status = try #require(try bridge.json("status") as? [String: Any])
      #expect(status["namesPrograms"] as? Bool == false)
      let text = String(decoding: try bridge.command("status").output, as: UTF8.self)
      #expect(text.contains("X-Resource"), "\(text)")
      let said = try doctor(desktop)
      #expect(said["identity"]?.text("standing") == "broken" && said["identity"]?.text("remedy") != nil)
      #expect(said["first"]?.text("standing") == "limited")
      #expect(said["display"]?.text("found")?.contains("X-Resource") ?? false)
      try bridge.stop()
    }

    @Test("without X-Resource a copy after a key that cuts could be a cut, in whosever window it was pressed")
    func possibleCut() throws {
      let policy = """
        version: 1
        rules: [{name: no cuts, from: {exe: /opt/vault}, actions: cut, targets: text, decision: deny}]
        default: allow
        """
      let desktop = try Desktop(lacking: "X-Resource")
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop, policy: policy)
      let typist = try Keys.window("Typist", on: desktop)
      let owner = try desktop.owner("target UTF8_STRING text:mine")
      for (key, outcome) in [(Key.x, "emptied"), (.c, "kept")] {
        try bridge.sync()
        try typist.tell("listen")
        try typist.tell("key \(key.rawValue) ctrl")
        try owner.claim()
        try bridge.sync()
        #expect(try bridge.audit().last { $0.action == "copy" }?.outcome == outcome, "\(key)")
      }
      try bridge.stop()
    }

    @Test("without X-Resource nobody can be put in order, so protection says that it doesn't hold")
    func withoutOrder() throws {
      let policy = """
        version: 1
        rules: [{name: p, from: {class: Vault}, decision: allow, protect: true}]
        default: allow
        """
      let desktop = try Desktop(lacking: "X-Resource")
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop, policy: policy)
      let vault = try Keys.window("Vault", on: desktop)
      try bridge.sync()
      #expect(try vault.reaches(.c, "ctrl"))
      let protection = try doctor(desktop)["protection"]
      #expect(protection?.text("standing") == "broken" && protection?.text("found")?.contains("X-Resource") ?? false)
      try bridge.stop()
    }
  }
}
