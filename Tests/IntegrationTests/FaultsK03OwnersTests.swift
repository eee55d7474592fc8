import Foundation
import Testing

extension IntegrationTests {
  /// The daemon never waits without a limit; an owner that doesn't answer is told apart from nothing there.
  @Suite(.serialized) struct K03Owners {
    @Test(
      "an owner that hangs in the middle keeps no later copy waiting: B021 B027",
      arguments: [
        ("target TARGETS do=stop", "TARGETS"), ("target TARGETS do=silent", "TARGETS"),
        ("target UTF8_STRING text:x do=silent", "UTF8_STRING"), ("target UTF8_STRING text:x do=stop", "UTF8_STRING"),
        ("target UTF8_STRING size:500000 chunk=100000 stop-after=2", "UTF8_STRING"),
      ])
    func hung(command: String, target: String) throws {
      try Scene.run { scene in
        let hung = try scene.claimed("target UTF8_STRING text:hung", command, awaiting: target)
        let used = scene.bridge.processorMilliseconds()
        try scene.expectNextCopy()
        #expect(scene.bridge.processorMilliseconds() - used < 200, "it doesn't spin while it waits")
        hung.child.signal(SIGCONT)
        #expect(try scene.paster.text() == "next")
      }
    }

    @Test("silence on TARGETS is written down as that, and the owner stays: B021")
    func silentList() throws {
      try Scene.run(policy: Bridge.limiting("targets-timeout: 200ms")) { scene in
        let silent = try scene.claimed("target UTF8_STRING text:x", "target TARGETS do=silent")
        try scene.bridge.sync()
        let line = try #require(try scene.bridge.audit().last { $0.limit == "targets-timeout" })
        #expect(line.action == "copy")
        #expect(line.outcome == "left")
        #expect(try silent.status().flag("owned"))
        try scene.expectNextCopy()
      }
    }

    @Test("an owner that answers late is guarded after all: B021")
    func lateList() throws {
      try Scene.run(policy: Bridge.limiting("targets-timeout: 100ms")) { scene in
        let late = try scene.claimed("target UTF8_STRING text:late", "target TARGETS delay=500")
        #expect(try waitUntil(within: 3) { try late.status().flag("owned") == false })
        late.quit()
        #expect(try scene.paster.text() == "late")
        #expect(try scene.bridge.hasAudited(limit: "targets-timeout"))
      }
    }

    @Test(
      "what hangs is left out, what came is whole, and that is written down: B021",
      arguments: [
        ("do=silent", "capture-timeout"), ("chunk=1000 stop-after=2", "idle-timeout"), ("do=stop", "capture-timeout"),
      ])
    func partOfCapture(option: String, limit: String) throws {
      try Scene.run(policy: Bridge.limiting("capture-timeout: 1500ms, idle-timeout: 300ms")) { scene in
        let owner = try scene.claimed(
          "target UTF8_STRING text:whole", "target x/hangs size:10000 \(option)", awaiting: "x/hangs")
        try scene.bridge.sync()
        try scene.expectOthersServed(Data("whole".utf8))
        #expect(try scene.paster.convert("x/hangs").text("state") == "refused")
        #expect(try scene.paster.targets()?.contains("x/hangs") == false)
        let line = try #require(try scene.bridge.audit().last { $0.action == "copy" })
        #expect(line.outcome == "kept-in-part")
        #expect(line.limit == limit)
        owner.child.signal(SIGCONT)
      }
    }

    @Test("a restricted source that never answers is not left to be read later: B021")
    func restricted() throws {
      let policy = """
        version: 1
        limits: {capture-timeout: 300ms}
        rules:
          - name: no images out of R
            from: {class: R}
            targets: [image]
            decision: deny
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        let silent = try scene.claimed("class r R", "target image/png text:x do=silent", awaiting: "image/png")
        try scene.bridge.sync()
        #expect(try scene.paster.convert("image/png").text("state") == "refused")
        #expect(try silent.status().flag("owned") == false)
        #expect(try scene.bridge.audit().contains { $0.limit == "capture-timeout" && $0.outcome == "emptied" })
        try scene.expectNextCopy()
      }
    }

    @Test(
      "an owner that ends before it is read: answered with None within a second: B023", arguments: ["exit 0", "quit"])
    func endsUnread(end: String) throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let owner = try scene.claimed("target TARGETS do=silent")
        owner.order(end)
        _ = try owner.child.exitStatus(within: 5)
        let answer = try scene.paster.convert("UTF8_STRING")
        #expect(answer.text("state") == "refused")
        #expect(answer.number("us") ?? .max < 1_000_000)
        try scene.expectNextCopy()
      }
    }

    @Test("each target is asked for once, however often it is pasted: B025")
    func askedOnce() throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING text:x", "target image/png size:4M")
        let pastes = try scene.paster.summary("loop 100 image/png interval=5")
        #expect(pastes.number("answered") == 100)
        for target in ["TARGETS", "UTF8_STRING", "image/png"] {
          #expect(try owner.requests(for: target) == 1, "\(target)")
        }
      }
    }

    @Test("a source stopped after its copy is pasted from all the same: B026 B027")
    func stoppedLater() throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING size:1024")
        owner.child.signal(SIGSTOP)
        try scene.expectOthersServed(countingBytes(1024))
        for target in ["TARGETS", "UTF8_STRING"] {
          let loop = try scene.paster.summary("loop 20 \(target)")
          #expect(loop.number("answered") == 20)
        }
        owner.child.signal(SIGCONT)
      }
    }

    @Test("a copy as slow as its limits lets later copies through at once: B122")
    func slowThroughout() throws {
      try Scene.run { scene in
        let slow = try scene.claimed(
          "target TARGETS delay=1900", "target UTF8_STRING text:slow delay=4900", "target text/html text:s delay=4900")
        try scene.expectNextCopy("quick")
        _ = slow
      }
    }
  }
}
