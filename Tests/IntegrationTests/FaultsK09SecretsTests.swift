import Foundation
import Testing

extension IntegrationTests {
  /// A clear by the source is final; secrets are passed on to those who may read them and are nowhere else.
  @Suite(.serialized) struct K09Secrets {
    private static let token = "TOKEN-7f3a"
    private static let expiring = """
      version: 1
      rules:
        - name: secrets are short-lived
          sensitive: true
          actions: [copy, cut]
          decision: allow
          expires: 1s
      default: allow
      """

    @Test(
      "a marked clip is known as a secret, passed on, and gone after its time: B087",
      arguments: ["x-kde-passwordManagerHint text:secret", "org.nspasteboard.ConcealedType text:1"])
    func expires(marker: String) throws {
      try Scene.run(policy: Self.expiring) { scene in
        let owner = try scene.copied("target UTF8_STRING text:\(Self.token)", "target \(marker)")
        let name = String(marker.prefix { $0 != " " })
        #expect(try scene.bridge.status().flag("sensitive"))
        #expect(try scene.paster.text() == Self.token)
        #expect(try scene.paster.targets()?.contains(name) == true)
        #expect(try waitUntil(within: 3) { try scene.paster.text() == nil }, "gone after a second")
        #expect(try scene.paster.targets()?.filter(Exceptions.isContent) == [])
        #expect(try scene.bridge.audit().contains { $0.action == "expire" && $0.rule == "secrets are short-lived" })
        owner.quit()
        #expect(try scene.paster.text() == nil)
        try scene.expectNextCopy()
      }
    }

    @Test("a hint with another value makes no secret: B087")
    func otherHint() throws {
      try Scene.run(policy: Self.expiring) { scene in
        _ = try scene.copied("target UTF8_STRING text:x", "target x-kde-passwordManagerHint text:public")
        #expect(try scene.bridge.status().flag("sensitive") == false)
      }
    }

    @Test("a secret that was copied over doesn't end the copy after it: B087")
    func expiryOfTheOld() throws {
      try Scene.run(policy: Self.expiring) { scene in
        _ = try scene.copied("target UTF8_STRING text:\(Self.token)", "target x-kde-passwordManagerHint text:secret")
        try scene.expectNextCopy()
        _ = try scene.paster.summary("loop 12 UTF8_STRING interval=100")
        #expect(try scene.paster.text() == "next")
      }
    }

    @Test("no content is in any file or line: B094")
    func writtenNowhere() throws {
      let policy = "version: 1\nrules:\n  - {name: no, to: {class: B}, decision: deny}\ndefault: allow\n"
      try Scene.run(policy: policy) { scene in
        _ = try scene.copied("target UTF8_STRING text:\(Self.token)", "target x/big size:2M:\(Self.token)")
        #expect(try scene.paster.text("UTF8_STRING", "hex=yes") == Self.token)
        try FileManager.default.removeItem(atPath: scene.paster.contentPath)
        #expect(try scene.desktop.requestor("class b B").text() == nil)
        _ = try scene.paster.convert("x/big", "destroy-after=1 from=fresh deadline=300")
        let told = "\(try scene.bridge.json("status")) \(try scene.bridge.json("clients"))"
        #expect(!told.contains(Self.token))
        _ = try scene.bridge.audit()
        // The logs of the test's own programs say what these were told to do.
        let found = try scene.desktop.run(
          "/bin/grep", ["-rl", "--exclude=xpb-*", "--exclude=grep.log", Self.token, scene.desktop.folder])
        #expect(String(decoding: found.output, as: UTF8.self) == "")
        let control = try scene.desktop.run("/bin/grep", ["-rlc", "paste", scene.desktop.folder])
        #expect(String(decoding: control.output, as: UTF8.self).contains("audit.jsonl"), "the search sees the records")
      }
    }

    @Test("what a denied source copies doesn't come up with the next source's copy: B091")
    func deniedBefore() throws {
      let policy =
        "version: 1\nrules:\n  - {name: no, from: {class: A}, actions: [copy], decision: deny}\ndefault: allow\n"
      try Scene.run(policy: policy) { scene in
        let denied = try scene.copied(
          "class a A", "target UTF8_STRING text:\(Self.token)", "target x/s text:\(Self.token)")
        #expect(try denied.status().number("requests") == 0, "it isn't even asked")
        _ = try scene.copied("class b B", "target UTF8_STRING text:T")
        #expect(try scene.paster.text() == "T")
        #expect(try scene.paster.convert("x/s").text("state") == "refused")
        #expect(try scene.bridge.status().number("bytes") == 1)
      }
    }

    @Test("after the end nothing is on the disk, and a new start knows nothing: B097")
    func afterTheEnd() throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let first = try Bridge(on: desktop)
      let owner = try desktop.owner("target UTF8_STRING text:\(Self.token)", "target x/big size:2M:\(Self.token)")
      try owner.claim()
      try first.sync()
      owner.quit()
      #expect(try desktop.requestor().text() == Self.token)
      try first.stop()
      let found = try desktop.run(
        "/bin/grep",
        ["-rl", "--exclude=xpb-*", "--exclude=*-content", "--exclude=grep.log", Self.token, desktop.folder])
      #expect(String(decoding: found.output, as: UTF8.self) == "")
      let second = try Bridge(on: desktop)
      #expect(try second.status().number("bytes") == 0)
      #expect(try desktop.requestor().text() == nil)
      try second.stop()
    }

    @Test("what the daemon makes is for its user alone: B095")
    func modes() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:x")
        let audit = try FileManager.default.attributesOfItem(atPath: scene.bridge.auditPath)[.posixPermissions] as? Int
        #expect(audit == 0o600)
        let found = try scene.desktop.run("/usr/bin/find", [scene.desktop.folder + "/run", "-perm", "/077"])
        #expect(String(decoding: found.output, as: UTF8.self) == "")
      }
    }

    @Test(
      "a clear with the time of the copy or after counts, whoever holds it by then: B085 B086",
      arguments: ["last", "last+1", "fresh", "current"])
    func cleared(time: String) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING text:secret")
        try owner.tell("clear \(time)")
        #expect(try scene.paster.text() == nil)
        try scene.bridge.sync()
        #expect(try scene.paster.text() == nil)
        #expect(try scene.bridge.status().number("bytes") == 0)
        #expect(try scene.bridge.audit().contains { $0.action == "clear" })
        try scene.expectNextCopy()
      }
    }

    @Test(
      "a source that takes the selection again with empty text, or with nothing, clears for good: B085",
      arguments: ["target UTF8_STRING empty", ""])
    func clearedByEmptyCopy(content: String) throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let owner = try scene.copied(
          "target UTF8_STRING text:\(Self.token)", "target x-kde-passwordManagerHint text:secret")
        #expect(try scene.paster.text() == Self.token)
        try owner.tell("reset")
        if !content.isEmpty { try owner.tell(content) }
        try owner.claim()
        try scene.bridge.sync()
        #expect(try scene.paster.text() ?? "" == "")
        #expect(try scene.bridge.status().number("bytes") == 0)
        owner.quit()
        try scene.bridge.sync()
        #expect(try scene.paster.text() ?? "" == "")
        try scene.expectNextCopy()
      }
    }

    @Test(
      "a source whose window is destroyed or that ends has not cleared: B085 K06",
      arguments: ["destroy helper", "exit"])
    func endedIsNotCleared(end: String) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING text:kept")
        owner.order(end)
        if end == "exit" { #expect(try owner.child.exitStatus(within: 5) == 0) } else { try owner.wait("done") }
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "kept")
        #expect(try !scene.bridge.audit().contains { $0.action == "clear" })
      }
    }

    @Test("a clear with a time before the copy is none, as the server has it: B086")
    func staleClear() throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING text:x")
        try owner.tell("clear last-1000")
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "x")
      }
    }

    @Test("a clear while the copy is still being read leaves nothing: B085")
    func clearedInCapture() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let owner = try scene.claimed("target UTF8_STRING text:secret delay=400", awaiting: "UTF8_STRING")
        try owner.tell("clear last")
        try scene.bridge.sync()
        _ = try scene.paster.summary("loop 10 TARGETS interval=60")
        #expect(try scene.paster.text() == nil)
      }
    }

    @Test(
      "an owner that gives its content once and leaves: the first paste has it: B093", arguments: ["", "exit-after 1"])
    func givesOnce(command: String) throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner("target UTF8_STRING text:once once=yes")
        if !command.isEmpty { try owner.tell(command) }
        try owner.claim()
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "once")
        #expect(try scene.paster.text() == "once")
      }
    }

    @Test("under one-shot the first paste has it and the second doesn't: B093")
    func oneShot() throws {
      let policy = """
        version: 1
        rules:
          - name: once
            actions: [copy, cut]
            decision: allow
            one-shot: true
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        // A class of its own: an app reads its own clip as often as it likes.
        _ = try scene.copied("class a A", "target UTF8_STRING text:once")
        let other = try scene.desktop.requestor("class b B")
        #expect(try scene.paster.text() == "once")
        #expect(try other.text() == nil)
        #expect(try waitUntil(within: 3) { try scene.paster.text() == nil })
        #expect(try scene.bridge.status().number("bytes") == 0)
      }
    }
  }
}
