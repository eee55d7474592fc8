import Foundation
import Testing

extension IntegrationTests {
  /// TARGETS names exactly what converts; every request gets exactly one well-formed SelectionNotify.
  @Suite(.serialized) struct K04Answers {
    private static let text = "target UTF8_STRING text:hello"

    @Test(
      "what isn't held is refused at once and not listed: B028 B032 B039 B121",
      arguments: ["image/png", "FOO_BAR", "STRING2"])
    func refusesUnknown(target: String) throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.text)
        let answer = try scene.paster.convert(target)
        #expect(answer.text("state") == "refused")
        #expect(answer.number("us") ?? .max < 100_000, "a refusal in 100 ms")
        let targets = try #require(try scene.paster.targets())
        #expect(!targets.contains { $0.hasPrefix("image/") })
        #expect(!targets.contains(target))
      }
    }

    @Test("TIMESTAMP is the time of our claim, INTEGER, 32, one item: B029 B045 B084")
    func timestamp() throws {
      try Scene.run { scene in
        let owner = try scene.copied(Self.text)
        let answer = try scene.paster.convert("TIMESTAMP")
        #expect(answer.text("type") == "INTEGER")
        #expect(answer.number("format") == 32)
        #expect(answer.number("items") == 1)
        let time = answer.numbers("values").first ?? 0
        #expect(time != 0)
        let claims = scene.desktop.probe.events.filter { $0.name == "owner-change" && $0.number("window") != 0 }
        try scene.desktop.probe.tell("sync")
        #expect(
          owner.events.contains { $0.name == "claimed" && $0.number("time") == time },
          "the owner's own time, claims \(claims)")
      }
    }

    @Test("MULTIPLE answers each pair, None for what isn't there, and notifies once: B030 B084")
    func multiple() throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.text)
        try scene.paster.tell("multiple UTF8_STRING=P1 image/png=P2 TIMESTAMP=P3 hex=yes")
        let answer = try scene.paster.wait("answer") { $0.text("target") == "MULTIPLE" }
        #expect(answer.text("state") == "answered")
        #expect(answer.text("type") == "ATOM_PAIR")
        #expect(answer.list("atoms") == ["UTF8_STRING", "P1", "image/png", "", "TIMESTAMP", "P3"])
        let text = try scene.paster.wait("part") { $0.text("property") == "P1" }
        #expect(text.bytes("hex") == Data("hello".utf8))
        try scene.paster.wait("part") { $0.text("property") == "P3" }
        try scene.paster.tell("sync")
        #expect(scene.paster.count("stray") == 0)
      }
    }

    @Test("TARGETS is a list of ATOM, 32, with the three that every owner has: B031 B084")
    func targetList() throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.text, "target text/html size:300")
        let answer = try scene.paster.convert("TARGETS")
        #expect(answer.text("type") == "ATOM")
        #expect(answer.number("format") == 32)
        let atoms = answer.list("atoms")
        #expect(answer.number("items") == atoms.count)
        #expect(Set(["TARGETS", "TIMESTAMP", "MULTIPLE", "UTF8_STRING", "text/html"]).isSubset(of: atoms))
        #expect(Set(atoms).count == atoms.count, "each target once")
        for target in atoms where target != "MULTIPLE" && target != "SAVE_TARGETS" {
          #expect(try scene.paster.convert(target).text("state") == "answered", "\(target) is listed")
        }
      }
    }

    @Test(
      "all five fields of the notify echo the request, answered or refused, on any window and time: B035 B036",
      arguments: ["time=current", "time=fresh", "from=fresh", "property=MINE time=fresh", "property=none"])
    func notifyFields(options: String) throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.text, "target text/html size:9")
        for target in ["UTF8_STRING", "text/html", "image/png", "TARGETS"] {
          let answer = try scene.paster.convert(target, options)
          #expect(answer.flag("echo"), "\(target) \(options): \(answer)")
          #expect(answer.text("notify_target") == target)
        }
        #expect(scene.paster.count("stray") == 0)
      }
    }

    @Test("one notify for each of a thousand requests: B036 B076")
    func oneNotifyEach() throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.text)
        let summary = try scene.paster.summary("many 1000 UTF8_STRING from=fresh")
        #expect(summary.number("answered") == 1000)
        #expect(summary.number("different") == 0)
        #expect(summary.number("stray") == 0)
        #expect(summary.number("bad_echo") == 0)
      }
    }

    @Test("what the source doesn't list is neither asked for nor served: B037")
    func unlistedTargets() throws {
      try Scene.run { scene in
        let owner = try scene.copied(Self.text, "target image/png text:text listed=no")
        #expect(try owner.requests(for: "image/png") == 0)
        #expect(try scene.paster.convert("image/png").text("state") == "refused")
      }
    }

    @Test("targets with a side effect are never asked for nor listed: B040")
    func sideEffects() throws {
      try Scene.run { scene in
        let risky = ["DELETE", "INSERT_SELECTION", "INSERT_PROPERTY"]
        let owner = try scene.copied(
          Self.text, "target DELETE do=empty-all", "target INSERT_SELECTION do=empty-all",
          "target INSERT_PROPERTY do=empty-all")
        for target in risky { #expect(try owner.requests(for: target) == 0, "\(target) was asked for") }
        #expect(Set(try scene.paster.targets() ?? []).isDisjoint(with: risky))
        #expect(try scene.paster.text() == "hello")
      }
    }

    @Test(
      "what the source lists but fails to convert is left out, all else is whole: B043",
      arguments: ["do=refuse", "do=unstored"])
    func brokenTargets(conduct: String) throws {
      try Scene.run { scene in
        _ = try scene.copied(
          Self.text, "target a/one size:10", "target a/two size:400000", "target b/one \(conduct)",
          "target b/two \(conduct)")
        let targets = try #require(try scene.paster.targets())
        #expect(targets.contains("a/one") && targets.contains("a/two"))
        #expect(!targets.contains("b/one") && !targets.contains("b/two"))
        expectSame(try scene.paster.paste("a/one"), countingBytes(10), "a/one")
        expectSame(try scene.paster.paste("a/two"), countingBytes(400_000), "a/two")
        #expect(try scene.paster.convert("b/one").text("state") == "refused")
      }
    }

    @Test(
      "doubles, thousands of targets, a second notify and bogus types harm nobody",
      arguments: [
        "target x/two text:x listed=3", "fill 10000 many/ text:x", "target x/two text:x do=twice",
        "target x/bogus text:x type=#4000000000",
        "target TARGETS format=8", "target TARGETS type=INTEGER",
      ])
    func oddOwners(command: String) throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.text, command)
        _ = try scene.paster.targets()
        let next = try scene.copied("target UTF8_STRING text:next")
        #expect(try scene.paster.text() == "next")
        next.quit()
        #expect(try scene.paster.text() == "next")
      }
    }

    @Test("a forged event moves nothing and breaks nothing", arguments: ["request", "notify", "property", "clear"])
    func forgedEvents(kind: String) throws {
      try Scene.run { scene in
        _ = try scene.copied(Self.text)
        try scene.paster.tell("forge \(kind) time=1")
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "hello")
      }
    }
  }
}
