import Foundation
import Testing

extension IntegrationTests {
  /// The daemon asks little and each thing once, with a limit; denied sources are not asked at all.
  @Suite(.serialized) struct K12Slow {
    @Test("text is there at once beside an image that takes for ever, asked for once: B116")
    func slowImage() throws {
      try Scene.run(policy: Bridge.limiting("capture-timeout: 1500ms")) { scene in
        let owner = try scene.claimed(
          "target UTF8_STRING text:cells", "target image/png size:100 delay=30000", awaiting: "image/png")
        try scene.expectOthersServed(Data("cells".utf8))
        #expect(try waitUntil(within: 4) { try owner.status().flag("owned") == false }, "the capture ends by its limit")
        try scene.expectOthersServed(Data("cells".utf8))
        #expect(try owner.requests(for: "image/png") == 1)
        #expect(try scene.bridge.hasAudited(limit: "capture-timeout"))
      }
    }

    @Test("of the encodings of one image only PNG and BMP are asked for: B120")
    func encodings() throws {
      try Scene.run { scene in
        let others = ["jpeg", "tiff", "gif", "webp", "x-icon", "x-bmp", "x-tga", "x-portable-pixmap", "avif"]
        let owner = try scene.desktop.owner("target image/png size:3000")
        for name in ["bmp"] + others { try owner.tell("target image/\(name) size:3000") }
        try owner.claim()
        try scene.bridge.sync()
        for name in others { #expect(try owner.requests(for: "image/\(name)") == 0, "image/\(name)") }
        #expect(try scene.paster.targets()?.filter { $0.hasPrefix("image/") } == ["image/png", "image/bmp"])
        try scene.expectOthersServed(countingBytes(3000), "image/png")
      }
    }

    @Test("a denied source is asked for nothing: K12")
    func deniedSource() throws {
      let policy =
        "version: 1\nrules:\n  - {name: no, from: {class: S}, actions: [copy], decision: deny}\ndefault: allow\n"
      try Scene.run(policy: policy) { scene in
        let owner = try scene.copied("class s S", "target UTF8_STRING text:x", "target image/png size:100")
        #expect(try owner.status().number("requests") == 0)
      }
    }

    @Test("more targets than the limit: what is kept is whole, and that is written down: K12")
    func tooManyTargets() throws {
      try Scene.run(policy: Bridge.limiting("max-targets: 20")) { scene in
        let owner = try scene.copied("target UTF8_STRING text:x", "fill 200 x/many- text:y")
        #expect(try scene.paster.targets()?.filter(Exceptions.isContent).count == 20)
        try scene.expectOthersServed(Data("x".utf8))
        #expect(try scene.bridge.hasAudited(limit: "target-count"))
        #expect(try owner.status().number("requests") ?? 0 <= 21)
      }
    }

    @Test("more pairs in MULTIPLE than the limit: the rest is None, and that is written down: K12")
    func tooManyPairs() throws {
      try Scene.run(policy: Bridge.limiting("max-pairs: 3")) { scene in
        _ = try scene.copied("target UTF8_STRING text:x")
        let pairs = (1...6).map { "UTF8_STRING=P\($0)" }.joined(separator: " ")
        try scene.paster.tell("multiple \(pairs)")
        let answer = try scene.paster.wait("answer") { $0.text("target") == "MULTIPLE" }
        let none = "UTF8_STRING", kept = (1...3).flatMap { ["UTF8_STRING", "P\($0)"] }
        #expect(answer.list("atoms") == kept + [none, "", none, "", none, ""])
        #expect(try scene.bridge.hasAudited(limit: "pair-count"))
      }
    }
  }
}
