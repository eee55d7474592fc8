import Foundation
import Testing

extension IntegrationTests {
  /// The owner changes at most once per real copy by our doing; a storm is bounded and ends by itself.
  @Suite(.serialized) struct K07Fights {
    private func ownerChanges(_ scene: Scene, since before: Int = 0) throws -> Int {
      try scene.desktop.probe.tell("sync")
      return scene.desktop.probe.count("owner-change") - before
    }

    @Test("a rival that always takes it back is met a few times, then left and named: B065")
    func rival() throws {
      try Scene.run { scene in
        _ = try scene.copied("class source Source", "target UTF8_STRING text:same")
        let before = try ownerChanges(scene)
        let rival = try scene.desktop.owner("class rival Rival", "target UTF8_STRING text:same", "fight 100000")
        try rival.claim()
        #expect(try waitUntil(within: 5) { try scene.bridge.hasAudited(limit: "rival") })
        let changes = try ownerChanges(scene, since: before)
        #expect(changes < 20, "found \(changes) owner changes")
        #expect(try scene.paster.text() == "same")
        #expect(try scene.bridge.status().object("rival") != nil, "status names the rival")
        // And it stays at rest.
        _ = try scene.paster.summary("loop 50 UTF8_STRING interval=10")
        #expect(try ownerChanges(scene, since: before) == changes)
        rival.quit()
        try scene.expectNextCopy()
      }
    }

    @Test("a source that takes its own copy back for ever is met a bounded number of times: B065")
    func stubbornSource() throws {
      try Scene.run { scene in
        let stubborn = try scene.desktop.owner("class a A", "target UTF8_STRING text:mine", "report no", "fight 100000")
        try stubborn.claim()
        _ = try scene.paster.summary("loop 100 UTF8_STRING interval=20")
        let changes = try ownerChanges(scene)
        #expect(changes < 20, "found \(changes) owner changes in 2 s")
        #expect(try scene.paster.text() == "mine")
        stubborn.quit()
        try scene.expectNextCopy()
      }
    }

    @Test("a refused program that asks again at once costs nobody else: B068")
    func flood() throws {
      let policy = """
        version: 1
        rules:
          - name: nothing into B
            to: {class: B}
            decision: deny
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        let memory = scene.bridge.residentBytes()
        let flood = try scene.desktop.requestor("class b B")
        flood.order("loop 5000 UTF8_STRING wait=no")
        for _ in 1...20 {
          let answer = try scene.paster.convert("UTF8_STRING")
          #expect(answer.text("state") == "answered")
          #expect(answer.number("us") ?? .max < 100_000)
        }
        let summary = try flood.wait("summary", within: 60)
        #expect(summary.number("refused") == 5000)
        let lines = try scene.bridge.audit().filter { $0.destination?.windowClass == "B" }
        #expect(lines.count <= 5, "refusals are merged: \(lines)")
        #expect(lines.contains { $0.limit == "flood" && $0.count > 200 })
        #expect(scene.bridge.residentBytes() < memory + 4 << 20)
      }
    }

    @Test("one copy of many formats is one change of ours, and then nothing: B071")
    func oneCopyOneChange() throws {
      try Scene.run { scene in
        let owner = try scene.copied("fill 10 image/x- size:100000", "target image/png size:1M")
        let asked = try owner.status().number("requests")
        _ = try scene.paster.summary("loop 50 image/png interval=20")
        #expect(try ownerChanges(scene) == 2, "the copy and our claim")
        #expect(try owner.status().number("requests") == asked)
      }
    }

    @Test("an image-only copy never gives the older text: B072")
    func imageOnly() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:old")
        let owner = try scene.copied("target image/png size:5000")
        #expect(try scene.paster.text() == nil)
        owner.quit()
        #expect(try scene.paster.text() == nil)
        try scene.expectOthersServed(countingBytes(5000), "image/png")
      }
    }

    @Test("PRIMARY and CLIPBOARD are never mixed: B073 B074 B017")
    func twoSelections() throws {
      try Scene.run { scene in
        let primary = try scene.desktop.owner("selection PRIMARY")
        let clipboard = try scene.desktop.owner()
        for round in 1...100 {
          try primary.tell("target UTF8_STRING text:p\(round)")
          try clipboard.tell("target UTF8_STRING text:c\(round)")
          try clipboard.tell("target text/html text:h\(round)")
          primary.order("claim")
          clipboard.order("claim")
          try primary.wait("claimed")
          try clipboard.wait("claimed")
          #expect(try scene.paster.text("UTF8_STRING", "selection=PRIMARY") == "p\(round)")
          #expect(try scene.paster.targets("selection=PRIMARY")?.contains("text/html") == false)
          #expect(try scene.paster.text() == "c\(round)")
          #expect(try scene.paster.text("text/html") == "h\(round)")
        }
      }
    }

    @Test("a PRIMARY that was cleared is not taken again: B067")
    func clearedPrimary() throws {
      try Scene.run { scene in
        try scene.desktop.probe.tell("watch PRIMARY")
        let owner = try scene.desktop.owner("selection PRIMARY", "target UTF8_STRING text:p")
        try owner.claim()
        try owner.tell("clear")
        try scene.bridge.sync()
        _ = try scene.paster.summary("loop 10 UTF8_STRING selection=PRIMARY interval=50")
        try scene.desktop.probe.tell("sync")
        let claims = scene.desktop.probe.count("owner-change") {
          $0.text("selection") == "PRIMARY" && $0.number("window") != 0
        }
        #expect(claims == 1, "its own alone")
      }
    }

    @Test("two thousand requests at once are two thousand answers, and the memory comes back: B076")
    func burst() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING size:1000")
        _ = try scene.paster.summary("many 100 UTF8_STRING from=fresh")
        let memory = scene.bridge.residentBytes()
        let summary = try scene.paster.summary("many 2000 UTF8_STRING from=fresh")
        #expect(summary.number("answered") == 2000)
        #expect(summary.number("different") == 0)
        #expect(scene.bridge.residentBytes() < memory + 4 << 20)
      }
    }

    @Test("an owner that claims without end is followed, and others are served: B065")
    func endlessClaims() throws {
      try Scene.run { scene in
        let restless = try scene.copied("target UTF8_STRING text:r", "report no")
        try restless.tell("repeat 100000 1")
        let summary = try scene.paster.summary("loop 200 UTF8_STRING")
        #expect(summary.number("answered") == 200, "\(summary)")
        restless.quit()
        try scene.expectNextCopy()
      }
    }
  }
}
