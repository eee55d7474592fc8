import Foundation
import Testing

extension IntegrationTests {
  /// After takeover TARGETS and bytes are the owner's, minus only what policy or cap removes.
  @Suite(.serialized) struct K11Formats {
    /// Each set of targets with different bytes for each: the same set and the same bytes afterwards.
    private func keeps(_ targets: [String: Data], type: String? = nil) throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner()
        for (target, bytes) in targets {
          try owner.tell(
            "target \(target) hex:\(bytes.map { String(format: "%02x", $0) }.joined()) \(type.map { "type=\($0)" } ?? "")"
          )
        }
        try owner.claim()
        try scene.bridge.sync()
        owner.quit()
        let listed = Set(try scene.paster.targets() ?? []).filter(Exceptions.isContent)
        #expect(Set(targets.keys).isSubset(of: listed))
        #expect(listed.subtracting(targets.keys).isSubset(of: Exceptions.addedSpellings))
        for (target, bytes) in targets {
          let answer = try scene.paster.convert(target, "hex=yes")
          #expect(answer.bytes("hex") == bytes, "\(target)")
          #expect(answer.text("type") == type ?? target)
          #expect(answer.number("format") == 8)
        }
      }
    }

    @Test("a spreadsheet's fourteen formats: B107")
    func spreadsheet() throws {
      let names = [
        "application/x-openoffice-embed-source-xml;windows_formatname=\"Star_Embed_Source\"", "text/html", "text/rtf",
        "text/richtext",
        "UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "application/x-openoffice-link",
        "application/x-openoffice-sylk",
        "image/png", "image/x-emf", "application/x-libreoffice-tsvc", "x/y", "Rich_Text_Format",
      ]
      try keeps(
        Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, Data(repeating: UInt8($0), count: 100 + $0)) }))
    }

    @Test("HTML beside text, and an image with its link: B109 B111")
    func htmlAndImage() throws {
      try keeps(["text/html": Data("<a href=x>x</a>".utf8), "UTF8_STRING": Data("x".utf8)])
      try keeps(["text/html": Data("<img src=x>".utf8), "image/png": Data([0x89, 0x50, 0, 1])])
    }

    @Test("two spellings of text keep their own bytes: B113")
    func ownBytes() throws { try keeps(["UTF8_STRING": Data("a\nb".utf8), "text/plain": Data("a\r\nb".utf8)]) }

    @Test("names that nobody knows: B114")
    func unknownNames() throws { try keeps(["image/webp": Data([0, 1, 2]), "application/x-foo;v=1": Data([9])]) }

    @Test("types other than the target's name stay: B007", arguments: ["STRING", "UTF8_STRING", "X_OWN_TYPE"])
    func otherTypes(type: String) throws { try keeps(["text/x-odd": Data("abc".utf8)], type: type) }

    @Test("items of 16 and 32 bits keep their format: B084", arguments: [16, 32])
    func widths(format: Int) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target X_NUMBERS hex:0102030405060708 type=INTEGER format=\(format)")
        owner.quit()
        let answer = try scene.paster.convert("X_NUMBERS", "hex=yes")
        #expect(answer.number("format") == format)
        #expect(answer.bytes("hex") == Data(1...8))
      }
    }

    @Test("a rival that keeps only text is taken as a new copy, without a fight: B115")
    func poorerRival() throws {
      try Scene.run { scene in
        _ = try scene.copied("target text/html text:rich", "target UTF8_STRING text:plain")
        try scene.desktop.probe.tell("sync")
        let before = scene.desktop.probe.count("owner-change")
        let rival = try scene.copied("target UTF8_STRING text:plain")
        try scene.desktop.probe.tell("sync")
        #expect(scene.desktop.probe.count("owner-change") - before <= 2, "its claim and ours")
        #expect(try scene.paster.text() == "plain")
        #expect(try scene.paster.convert("text/html").text("state") == "refused")
        _ = rival
      }
    }
  }
}
