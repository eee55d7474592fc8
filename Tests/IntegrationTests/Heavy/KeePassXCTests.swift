import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// Secrets of a real password manager: passed on, cleared by it or by us, and nowhere else (K09).
  @Suite(.serialized) struct KeePassXCTests {
    private static let secret = "Tr0ub4dor-7f3a-\u{17c}"

    /// A desktop with an older copy on it, KeePassXC with the secret in it, and somebody of another class who pastes.
    private func run(
      clearing seconds: Int, policy: String = Bridge.allowAll,
      _ body: (Scene, HeavyProgram, WindowProgram) throws -> Void
    ) throws {
      try Scene.run(policy: policy) { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let vault = try HeavyKind.keepassxc(clearingAfter: seconds).start(on: scene.desktop)
        let path = try scene.desktop.file("secret", Data(Self.secret.utf8))
        try vault.load(.text, from: path)
        try FileManager.default.removeItem(atPath: path)
        let other = try WindowProgram(scene.desktop, .gtk, windowClass: "SecretReader")
        try body(scene, vault, other)
        vault.exit()
      }
    }

    /// Nothing of a secret is pasted any more, and nothing older: nothing at all, or the empty text that KeePassXC puts there.
    private func expectGone(_ scene: Scene, _ other: WindowProgram) throws {
      #expect(try scene.paster.text() ?? "" == "")
      for target in ["STRING", "TEXT", "text/plain", "text/plain;charset=utf-8"] {
        #expect(try scene.paster.text(target) ?? "" == "", "\(target)")
      }
      #expect(try other.paste(expecting: nil) == Data())
      #expect(try scene.bridge.status().number("bytes") ?? 0 <= "secret".utf8.count, "no more than the marker's value")
    }

    @Test(
      "a password and a user name are pasted, cleared by KeePassXC's timer, and gone from here too: B085 B087 B090",
      arguments: ["password", "username"])
    func timer(what: String) throws {
      try run(clearing: 5) { scene, vault, other in
        try vault.pressCopy("copy " + what)
        try scene.bridge.sync()
        let wanted = what == "password" ? Self.secret : "user-of-the-vault"
        #expect(try scene.paster.text() == wanted)
        #expect(try other.paste(expecting: wanted.utf8.count) == Data(wanted.utf8))
        #expect(try scene.bridge.status().flag("sensitive"))
        #expect(try scene.paster.text("x-kde-passwordManagerHint") == "secret")
        let cleared = try waitUntil(within: 15) { try scene.paster.text() ?? "" == "" }
        #expect(cleared, "cleared by its timer")
        try scene.bridge.sync()
        try expectGone(scene, other)
        #expect(try !scene.bridge.audit().contains { $0.action == "expire" }, "by KeePassXC, not by our own limit")
        vault.exit()
        try scene.bridge.sync()
        try expectGone(scene, other)
        try scene.expectNextCopy()
      }
    }

    @Test("KeePassXC ends before its timer does: our own limit ends the secret: B087")
    func endsFirst() throws {
      let policy = """
        version: 1
        rules:
          - {name: short-lived, sensitive: true, actions: [copy, cut], decision: allow, expires: 6s}
        default: allow
        """
      try run(clearing: 60, policy: policy) { scene, vault, other in
        try vault.pressCopy()
        try scene.bridge.sync()
        try vault.crash()
        try scene.bridge.sync()
        #expect(try scene.paster.text() == Self.secret, "an end isn't a clear")
        #expect(try waitUntil(within: 10) { try scene.paster.text() == nil })
        #expect(try scene.bridge.audit().contains { $0.action == "expire" && $0.rule == "short-lived" })
        try expectGone(scene, other)
        try scene.expectNextCopy()
      }
    }

    @Test("the secret is in no record, log, environment or command line: B094")
    func writtenNowhere() throws {
      try run(clearing: 60) { scene, vault, other in
        for (what, wanted) in [("password", Self.secret), ("username", "user-of-the-vault")] {
          try vault.pressCopy("copy " + what)
          try scene.bridge.sync()
          #expect(try scene.paster.text() == wanted)
          try FileManager.default.removeItem(atPath: scene.paster.contentPath)
          let told = "\(try scene.bridge.json("status")) \(try scene.bridge.json("clients"))"
          #expect(!told.contains(wanted))
          #expect(try scene.bridge.audit().contains { $0.action == "paste" && $0.outcome == "served" })
          let search = ["-rlaF", "--exclude=grep.log", wanted, scene.desktop.folder]
          #expect(String(decoding: try scene.desktop.run("/bin/grep", search).output, as: UTF8.self) == "")
          for file in ["environ", "cmdline"] {
            let content = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(scene.bridge.child.pid)/\(file)"))
            #expect(!content.isEmpty)
            #expect(content.range(of: Data(wanted.utf8)) == nil, "\(file)")
          }
        }
        let control = try scene.desktop.run("/bin/grep", ["-rlaF", "KeePassXC", scene.desktop.folder])
        #expect(String(decoding: control.output, as: UTF8.self).contains("audit.jsonl"), "the search sees the records")
      }
    }

    @Test("a private secret: others get nothing, KeePassXC reads it and clears it: K09")
    func privately() throws {
      let policy = """
        version: 1
        rules:
          - {name: the vault's own, from: {class: KeePassXC}, actions: [copy, cut], selection: clipboard, decision: private}
        default: allow
        """
      try run(clearing: 12, policy: policy) { scene, vault, other in
        try vault.pressCopy()
        try scene.bridge.sync()
        #expect(try scene.paster.text() == nil)
        #expect(try scene.paster.targets()?.filter(Exceptions.isContent) == [])
        #expect(try other.paste(expecting: nil) == Data())
        #expect(try vault.paste(.text, waiting: HeavyProgram.patience) == Data(Self.secret.utf8), "its own clip")
        let held = try scene.bridge.status().number("bytes") ?? 0
        #expect(held > Self.secret.utf8.count)
        let cleared = try waitUntil(within: 20) { try scene.bridge.status().number("bytes") ?? 0 < held }
        #expect(cleared, "its timer could read what to clear")
        try scene.bridge.sync()
        try expectGone(scene, other)
        #expect(try vault.paste(.text, waiting: 2) == Data())
      }
    }
  }
}
