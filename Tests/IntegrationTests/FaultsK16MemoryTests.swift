import Foundation
import Testing

extension IntegrationTests {
  /// Memory is bounded by the caps and comes back; over a cap nothing is cut silently.
  @Suite(.serialized) struct K16Memory {
    private static let mebibyte = 1 << 20
    private static let small = Bridge.limiting("max-clip: 8M, max-total: 32M")
    private static let restricting = """
      version: 1
      limits: {max-clip: 8M, max-total: 32M}
      rules:
        - name: no large ones out of R
          from: {class: R}
          size: {over: 1M}
          decision: deny
      default: allow
      """

    @Test("the same large copy again and again costs its size once: B144")
    func again() throws {
      try Scene.run { scene in
        let base = scene.bridge.residentBytes()
        let owner = try scene.desktop.owner("target image/png size:32M", "report no")
        var most = 0
        for _ in 1...15 {
          try owner.claim()
          try scene.bridge.sync()
          most = max(most, scene.bridge.residentBytes())
        }
        #expect(most - base < 3 * 32 * Self.mebibyte, "found \((most - base) / Self.mebibyte) MiB over the start")
        owner.quit()
        try scene.expectNextCopy()
        #expect(waitUntil(within: 3) { scene.bridge.residentBytes() - base < 16 * Self.mebibyte })
      }
    }

    @Test(
      "over the cap it stays with its owner whole, and that is written down: B146",
      arguments: [
        "size:9M", "size:9M chunk=1M", "size:1M chunk=1M endless=yes", "size:1M chunk=1M endless=yes hint=10",
      ])
    func overCap(content: String) throws {
      try Scene.run(policy: Self.small) { scene in
        let base = scene.bridge.residentBytes()
        let owner = try scene.claimed("target x/over \(content)", "target UTF8_STRING text:kept", awaiting: "x/over")
        #expect(try waitUntil(within: 10) { try scene.bridge.hasAudited(limit: "clip-size") })
        #expect(scene.bridge.residentBytes() - base < 2 * 8 * Self.mebibyte)
        #expect(try owner.status().flag("owned"), "nothing is cut: the owner goes on serving it")
        try scene.expectOthersServed(Data("kept".utf8))
        owner.quit()
        try scene.expectNextCopy()
      }
    }

    @Test("parts that together are over the cap: B146")
    func overCapTogether() throws {
      try Scene.run(policy: Self.small) { scene in
        let owner = try scene.desktop.owner("fill 10 x/part- size:1M")
        try owner.claim()
        try scene.bridge.sync()
        #expect(try scene.bridge.hasAudited(limit: "clip-size"))
        #expect(try owner.status().flag("owned"))
        try scene.expectOthersServed(countingBytes(Self.mebibyte), "x/part-9")
      }
    }

    @Test("what is still being sent of an older clip counts in all, and that is written down: B146")
    func overTotal() throws {
      try Scene.run(policy: Bridge.limiting("max-clip: 8M, max-total: 8M, idle-timeout: 3s")) { scene in
        _ = try scene.copied("target UTF8_STRING size:6M")
        let slow = try scene.desktop.requestor("convert UTF8_STRING stall-after=1 wait=no deadline=30000")
        #expect(try waitUntil(within: 3) { try scene.bridge.status().number("transfers") == 1 })
        let owner = try scene.claimed("target UTF8_STRING size:4M", awaiting: "UTF8_STRING")
        #expect(try waitUntil(within: 5) { try scene.bridge.hasAudited(limit: "total-size") })
        #expect(try scene.bridge.hasAudited(limit: "clip-size") == false)
        #expect(try owner.status().flag("owned"), "nothing is cut: it stays with its owner")
        try scene.expectOthersServed(countingBytes(4 << 20))
        #expect(try waitUntil(within: 6) { try scene.bridge.status().number("transfers") == 0 })
        try owner.claim()
        try scene.bridge.sync()
        #expect(try owner.status().flag("owned") == false, "there is room again")
        _ = slow
      }
    }

    @Test("just under the cap is kept whole: B146")
    func underCap() throws {
      try Scene.run(policy: Self.small) { scene in
        let owner = try scene.copied("target x/fits size:\(8 * Self.mebibyte)")
        owner.quit()
        try scene.expectOthersServed(countingBytes(8 * Self.mebibyte), "x/fits")
      }
    }

    @Test(
      "a restricted source over the cap is refused, not left: B146",
      arguments: ["size:9M", "size:1M chunk=1M endless=yes"])
    func restrictedOverCap(content: String) throws {
      try Scene.run(policy: Self.restricting) { scene in
        let owner = try scene.claimed("class r R", "target x/over \(content)", awaiting: "x/over")
        #expect(
          try waitUntil(within: 10) {
            try scene.bridge.audit().contains { $0.limit == "clip-size" && $0.outcome == "emptied" }
          })
        #expect(try owner.status().flag("owned") == false)
        #expect(try scene.paster.convert("x/over").text("state") == "refused")
        owner.quit()
        try scene.expectNextCopy()
      }
    }

    @Test("after thousands of mixed transfers everything is back where it was: K16")
    func backToStart() throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner("target UTF8_STRING size:2000", "target x/big size:600000", "report no")
        func round() throws {
          try owner.claim()
          try scene.bridge.sync()
          #expect(try scene.paster.summary("many 100 UTF8_STRING from=fresh").number("answered") == 100)
          #expect(try scene.paster.summary("many 20 x/big from=fresh").number("answered") == 20)
          #expect(try scene.paster.summary("many 50 x/none").number("refused") == 50)
        }
        for _ in 1...3 { try round() }
        let (memory, descriptors) = (scene.bridge.residentBytes(), scene.bridge.openDescriptors())
        for _ in 1...15 { try round() }
        #expect(scene.bridge.residentBytes() < memory + 4 * Self.mebibyte)
        #expect(scene.bridge.openDescriptors() == descriptors)
        let status = try scene.bridge.status()
        #expect(status.number("transfers") == 0 && status.number("conversions") == 0)
      }
    }

    @Test("two hundred questions by command line leave no X client, descriptor or child behind: B148 B149")
    func questions() throws {
      try Scene.run { scene in
        // Until the user's policy files are taken up a thread of the daemon has some of its own.
        try scene.bridge.sync()
        _ = try scene.bridge.json("status")
        func clients() throws -> Int {
          (Event(try scene.bridge.json("clients") as? [String: Any] ?? [:]).fields["clients"] as? [Any] ?? []).count
        }
        let (before, descriptors) = (try clients(), scene.bridge.openDescriptors())
        for _ in 1...200 { #expect(try scene.bridge.command("status").status == 0) }
        #expect(try clients() == before)
        #expect(waitUntil(within: 2) { scene.bridge.openDescriptors() == descriptors })
        let task = "/proc/\(scene.bridge.child.pid)/task/\(scene.bridge.child.pid)/children"
        #expect(try String(contentsOfFile: task, encoding: .utf8) == "")
      }
    }
  }
}
