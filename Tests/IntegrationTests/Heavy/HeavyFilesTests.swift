import Foundation
import Testing

extension IntegrationTests {
  /// Files copied and cut between real file managers (K17).
  @Suite(.serialized) struct HeavyFilesTests {
    private func listing(_ program: DrivenProgram, on desktop: Desktop) throws -> String {
      let path = desktop.path("listing")
      try program.talker.tell("source \(path)")
      return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test(
      "what a file manager offers is the same with the daemon, byte for byte, and files are copied after its end",
      arguments: ["pcmanfm", "thunar"])
    func copied(source: String) throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let from = try DrivenProgram(source, on: desktop)
      let into = try DrivenProgram(source == "thunar" ? "pcmanfm" : "thunar", on: desktop)
      try from.load("files", from: HeavySample.files(on: desktop))
      try from.copy()
      let listed = try desktop.contentTargets()
      // PCManFM always lists the mark of cut files, and refuses it when they were copied.
      let offered = try listed.reduce(into: [String: Data]()) { $0[$1] = try desktop.probe.paste($1) }
      let before = try into.paste("files")
      #expect(offered["x-special/gnome-copied-files"]?.starts(with: Data("copy\n".utf8)) == true)
      #expect(String(decoding: before, as: UTF8.self).split(separator: "\n").count == 3)

      let bridge = try Bridge(on: desktop)
      try from.copy()
      try bridge.sync()
      try from.crash()
      try bridge.sync()
      #expect(try desktop.contentTargets() == Set(offered.keys))
      for (target, bytes) in offered { expectSame(try desktop.probe.paste(target), bytes, target) }
      expectSame(try into.paste("files"), before, "\(source) → \(into.name) after the end of \(source)")
      #expect(try Data(listing(from, on: desktop).utf8) == before, "the originals are still there")
      try bridge.stop()
      into.exit()
      from.exit()
    }

    @Test(
      "cut files are moved, also when the source lets go of them as it gives them",
      arguments: [("pcmanfm", "thunar"), ("thunar", "pcmanfm"), ("pcmanfm", "pcmanfm")])
    func cut(pair: (String, String)) throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let from = try DrivenProgram(pair.0, on: scene.desktop)
        let into = pair.0 == pair.1 ? from : try DrivenProgram(pair.1, on: scene.desktop)
        try from.load("files", from: HeavySample.files(on: scene.desktop))
        let files = try listing(from, on: scene.desktop)
        try from.copy("cut")
        try scene.bridge.sync()
        let list = try #require(try scene.paster.text("x-special/gnome-copied-files"))
        #expect(list.hasPrefix("cut\nfile:///"))
        #expect(list.split(separator: "\n").count == 4)
        #expect(try scene.paster.text("text/uri-list")?.components(separatedBy: "file:///").count == 4)
        if pair.0 == "pcmanfm" { #expect(try scene.paster.text("application/x-kde-cutselection")?.first == "1") }
        expectSame(try into.paste("files"), Data(files.utf8), "\(pair)")
        #expect(try waitUntil(within: 5) { try listing(from, on: scene.desktop) == "" }, "moved, not copied")
        try scene.expectNextCopy()
        into.exit()
        from.exit()
      }
    }
  }
}
