import Foundation
import Testing

extension IntegrationTests {
  /// What was captured stays pasteable, in all formats, after the source is gone; a leaving client is answered at once.
  @Suite(.serialized) struct K06AfterExit {
    @Test("content outlives its source, however it ends: B058", arguments: ["quit", "exit 9"])
    func outlives(end: String) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING size:1024")
        owner.order(end)
        _ = try owner.child.exitStatus(within: 5)
        try scene.bridge.sync()
        expectSame(try scene.paster.paste(), countingBytes(1024), "UTF8_STRING")
      }
    }

    @Test("a hand-over at exit is accepted and kept: B059 B061")
    func handOver() throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner("target UTF8_STRING text:Hello\\_GLFW\\_World!")
        try owner.claim()
        owner.order("save exit")
        let saved = try owner.wait("saved", within: 5)
        #expect(saved.flag("accepted"))
        #expect(saved.number("us") ?? .max < 1_000_000, "the owner leaves within a second")
        _ = try owner.child.exitStatus(within: 5)
        #expect(try scene.paster.text() == "Hello GLFW World!")
      }
    }

    @Test("a hand-over of named targets keeps those: B059 B064")
    func handOverOfSome() throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner(
          "target UTF8_STRING text:t", "target image/x-raw size:8M", "target TARGETS delay=800")
        try owner.claim()
        owner.order("save exit UTF8_STRING image/x-raw")
        let saved = try owner.wait("saved", within: 10)
        #expect(saved.flag("accepted"))
        let asked = owner.count("request") { $0.text("target") == "TARGETS" && $0.text("outcome") != "delayed" }
        #expect(asked == 1, "TARGETS asked once")
        _ = try owner.child.exitStatus(within: 5)
        #expect(try scene.paster.text() == "t")
        #expect(try scene.paster.convert("image/x-raw").number("bytes") == 8 << 20)
      }
    }

    @Test("all formats outlive the source, unchanged: B063")
    func allFormats() throws {
      try Scene.run { scene in
        let owner = try scene.copied(
          "target text/html text:<i>a</i>", "target text/rtf text:{\\\\rtf1}", "target text/plain text:a")
        owner.quit()
        try scene.bridge.sync()
        #expect(try scene.paster.text("text/html") == "<i>a</i>")
        #expect(try scene.paster.text("text/rtf") == "{\\rtf1}")
        #expect(try scene.paster.text("text/plain") == "a")
      }
    }

    @Test("content copied before the daemon came is adopted: B208")
    func adopted() throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let owner = try desktop.owner("target UTF8_STRING text:pre")
      try owner.claim()
      let bridge = try Bridge(on: desktop)
      try bridge.sync()
      owner.quit()
      #expect(try desktop.probe.text() == "pre")
      try bridge.stop()
    }
  }
}
