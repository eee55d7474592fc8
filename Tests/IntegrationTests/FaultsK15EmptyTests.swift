import Foundation
import Testing

extension IntegrationTests {
  /// Zero-length content is content; a failed capture changes nothing later.
  @Suite(.serialized) struct K15Empty {
    @Test("zero bytes are an answer, not a refusal, and never an older value: B139", arguments: ["", "chunk=100"])
    func zeroLength(option: String) throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let owner = try scene.copied("target UTF8_STRING empty \(option)")
        let answer = try scene.paster.convert("UTF8_STRING")
        #expect(answer.text("state") == "answered")
        #expect(answer.text("type") == "UTF8_STRING")
        #expect(answer.number("items") == 0)
        owner.quit()
        #expect(try scene.paster.paste() == Data())
      }
    }

    @Test("a copy of one unknown format is no empty text: B142")
    func oneFormat() throws {
      try Scene.run { scene in
        _ = try scene.copied("target text/rtf text:{}")
        #expect(try scene.paster.text("text/rtf") == "{}")
        #expect(try scene.paster.convert("UTF8_STRING").text("state") == "refused")
      }
    }

    @Test("an emptied PRIMARY leaves CLIPBOARD alone: B143 B073")
    func primary() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:kept")
        let marker = try scene.desktop.owner("selection PRIMARY", "target UTF8_STRING text:abc")
        try marker.claim()
        try marker.tell("target UTF8_STRING empty")
        try marker.claim()
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "kept")
        #expect(try scene.paster.convert("UTF8_STRING", "selection=PRIMARY").number("bytes") == 0)
      }
    }

    @Test(
      "a capture that fails leaves nothing behind for the next copy: B008 B016",
      arguments: [
        "target UTF8_STRING size:500000 chunk=100000 die-after=2",
        "target UTF8_STRING size:500000 chunk=100000 closes=no",
        "target TARGETS do=die", "target TARGETS do=vanish", "target UTF8_STRING text:x do=die",
      ])
    func failedCapture(command: String) throws {
      let soon = Bridge.limiting("targets-timeout: 500ms, idle-timeout: 500ms, capture-timeout: 2s")
      try Scene.run(policy: soon) { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let bad = try scene.desktop.owner("target UTF8_STRING text:bad", command)
        bad.order("claim")
        try bad.wait("claimed")
        try bad.wait("request")
        let partial = try scene.paster.paste("UTF8_STRING", "deadline=3000")
        #expect(partial == nil, "expected a refusal, found \(partial?.count ?? 0) bytes")
        _ = try scene.copied("target UTF8_STRING text:next")
        #expect(try scene.paster.text() == "next")
      }
    }

    @Test("a clear by the source is final: B085 B086 B067", arguments: ["fresh", "last"])
    func cleared(time: String) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING text:secret")
        #expect(try scene.paster.text() == "secret")
        try owner.tell("clear \(time)")
        try scene.bridge.sync()
        let answer = try scene.paster.convert("UTF8_STRING")
        #expect(answer.text("state") == "refused")
        #expect(try scene.paster.targets()?.filter(Exceptions.isContent) ?? [] == [])
      }
    }
  }
}
