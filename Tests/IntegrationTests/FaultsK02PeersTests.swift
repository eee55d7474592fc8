import Foundation
import Testing

extension IntegrationTests {
  /// A bad peer costs only itself: everybody else is served in normal time, and what it holds is freed after T_idle.
  @Suite(.serialized) struct K02Peers {
    private static let impatient = Bridge.limiting("idle-timeout: 1s")
    private static let large = "target UTF8_STRING size:2M"
    private static let stalls = "from=fresh stall-after=0 wait=no deadline=30000"

    private func transfers(_ scene: Scene) throws -> Int { try scene.bridge.status().number("transfers") ?? -1 }

    @Test(
      "one that stops reading keeps nobody waiting and is dropped: B011 B020",
      arguments: ["stall-after=0", "stall-after=1", "stall-after=3"])
    func stalled(option: String) throws {
      try Scene.run(policy: Self.impatient) { scene in
        let owner = try scene.copied(Self.large)
        owner.quit()
        let stalled = try scene.desktop.requestor()
        try stalled.tell("convert UTF8_STRING \(option) wait=no deadline=30000")
        #expect(try waitUntil(within: 5) { try transfers(scene) == 1 })
        try scene.expectOthersServed(countingBytes(2 << 20))
        #expect(try waitUntil(within: 3) { try transfers(scene) == 0 }, "dropped after T_idle")
        #expect(try scene.bridge.audit().contains { $0.limit == "idle-timeout" && $0.outcome == "incomplete" })
        try scene.expectOthersServed(countingBytes(2 << 20))
      }
    }

    @Test("a new copy replaces the old one at once while somebody stalls: B020")
    func copyBesideStalled() throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.large)
        let stalled = try scene.desktop.requestor("convert UTF8_STRING stall-after=1 wait=no deadline=30000")
        try scene.expectNextCopy()
        _ = stalled
      }
    }

    @Test(
      "one that goes away in the middle: B012",
      arguments: ["destroy-after=0", "destroy-after=1", "exit-after=0", "exit-after=1"])
    func leaves(option: String) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING size:10M")
        owner.quit()
        for _ in 1...3 {
          let leaver = try scene.desktop.requestor()
          leaver.order("convert UTF8_STRING \(option) from=fresh deadline=30000")
          try scene.expectOthersServed(countingBytes(10 << 20))
          leaver.quit()
        }
        #expect(try waitUntil(within: 3) { try transfers(scene) == 0 }, "all ended with their requestors")
      }
    }

    @Test("two hundred that stall: others are served, and all is freed: B015")
    func twoHundred() throws {
      try Scene.run(policy: Bridge.limiting("idle-timeout: 3s")) { scene in
        let owner = try scene.copied(Self.large)
        owner.quit()
        try scene.expectOthersServed(countingBytes(2 << 20))
        let descriptors = scene.bridge.openDescriptors()
        let memory = scene.bridge.residentBytes()
        var crowd: [Requestor] = []
        for _ in 1...4 { crowd.append(try scene.desktop.requestor("many 50 UTF8_STRING \(Self.stalls)")) }
        #expect(try waitUntil(within: 3) { try transfers(scene) == 200 })
        try scene.expectOthersServed(countingBytes(2 << 20))
        #expect(scene.bridge.residentBytes() < memory + 8 << 20, "one copy of the content for all of them")
        #expect(try waitUntil(within: 5) { try transfers(scene) == 0 })
        #expect(scene.bridge.openDescriptors() == descriptors)
        try scene.expectNextCopy()
        _ = crowd
      }
    }

    @Test("more transfers than one client may have are refused and written down")
    func tooManyOfOne() throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.large)
        let greedy = try scene.desktop.requestor("many 100 UTF8_STRING \(Self.stalls)")
        #expect(try waitUntil(within: 5) { try transfers(scene) == 64 })
        #expect(try scene.bridge.hasAudited(limit: "transfers-per-client"))
        try scene.expectOthersServed(countingBytes(2 << 20))
        _ = greedy
      }
    }

    @Test("more transfers than there may be in all are refused and written down")
    func tooManyInAll() throws {
      try Scene.run(policy: Bridge.limiting("transfers: 20, idle-timeout: 2s")) { scene in
        _ = try scene.copied(Self.large, "target text/html text:small")
        let one = try scene.desktop.requestor("many 15 UTF8_STRING \(Self.stalls)")
        let two = try scene.desktop.requestor("many 15 UTF8_STRING \(Self.stalls)")
        #expect(try waitUntil(within: 2) { try transfers(scene) == 20 })
        #expect(try scene.bridge.hasAudited(limit: "transfer-count"))
        try scene.expectOthersServed(Data("small".utf8), "text/html")
        #expect(try waitUntil(within: 5) { try transfers(scene) == 0 })
        try scene.expectOthersServed(countingBytes(2 << 20))
        _ = (one, two)
      }
    }

    @Test("a slow reader gets everything, beside quick ones: B018")
    func slow() throws {
      try Scene.run(policy: Self.impatient) { scene in
        _ = try scene.copied(Self.large)
        let slow = try scene.desktop.requestor()
        slow.order("convert UTF8_STRING slow=200 wait=no out=\(slow.contentPath)")
        for _ in 1...5 { try scene.expectOthersServed(countingBytes(2 << 20)) }
        let answer = try slow.wait("answer", within: 20)
        expectSame(try slow.content(of: answer), countingBytes(2 << 20), "slow")
      }
    }

    @Test("the first of a queue that stalls and dies wakes the others rightly: B018")
    func queue() throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.large)
        let first = try scene.desktop.requestor("convert UTF8_STRING stall-after=1 wait=no deadline=30000")
        let others = try (2...5).map { _ in try scene.desktop.requestor() }
        for other in others { other.order("convert UTF8_STRING slow=20 wait=no out=\(other.contentPath)") }
        first.child.signal(SIGKILL)
        for other in others {
          let answer = try other.wait("answer", within: 10)
          expectSame(try other.content(of: answer), countingBytes(2 << 20), "queued")
        }
      }
    }

    @Test("a transfer that a newer copy overtakes ends with the old bytes or not at all: B020")
    func overtaken() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING size:4M:A")
        let slow = try scene.desktop.requestor()
        slow.order("convert UTF8_STRING slow=30 wait=no out=\(slow.contentPath)")
        try scene.expectNextCopy("B")
        let answer = try slow.wait("answer", within: 20)
        if answer.text("state") == "answered" {
          expectSame(
            try slow.content(of: answer), Data(repeating: UInt8(ascii: "A"), count: 4 << 20), "the old content")
        }
      }
    }
  }
}
