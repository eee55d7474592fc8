import Foundation
import Testing

extension IntegrationTests {
  /// Files copied and cut between real file managers (K17).
  @Suite(.serialized) struct HeavyFilesTests {
    private func listing(_ program: HeavyProgram, on desktop: Desktop) throws -> String {
      let path = desktop.path("listing")
      try program.talker.tell("source \(path)")
      return try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test(
      "what a file manager offers is the same with the daemon, byte for byte, and files are copied after its end",
      arguments: [HeavyKind.pcmanfm, .thunar])
    func copied(source: HeavyKind) throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let from = try source.start(on: desktop)
      let into = try (source == .thunar ? HeavyKind.pcmanfm : .thunar).start(on: desktop)
      try from.load(.files, from: ContentKind.files.write(on: desktop))
      try from.pressCopy()
      let listed = try desktop.contentTargets()
      // PCManFM always lists the mark of cut files, and refuses it when they were copied.
      let offered = try listed.reduce(into: [String: Data]()) { $0[$1] = try desktop.probe.paste($1) }
      let before = try into.paste(.files, waiting: HeavyProgram.patience)
      #expect(offered["x-special/gnome-copied-files"]?.starts(with: Data("copy\n".utf8)) == true)
      #expect(String(decoding: before, as: UTF8.self).split(separator: "\n").count == 3)

      let bridge = try Bridge(on: desktop)
      try from.pressCopy()
      try bridge.sync()
      try from.crash()
      try bridge.sync()
      #expect(try desktop.contentTargets() == Set(offered.keys))
      for (target, bytes) in offered { expectSame(try desktop.probe.paste(target), bytes, target) }
      expectSame(
        try into.paste(.files, waiting: HeavyProgram.patience), before,
        "\(source.name) → \(into.name) after the end of \(source.name)")
      #expect(try Data(listing(from, on: desktop).utf8) == before, "the originals are still there")
      try bridge.stop()
      into.exit()
      from.exit()
    }

    @Test(
      "cut files are moved, also when the source lets go of them as it gives them",
      arguments: [(HeavyKind.pcmanfm, HeavyKind.thunar), (.thunar, .pcmanfm), (.pcmanfm, .pcmanfm)])
    func cut(pair: (HeavyKind, HeavyKind)) throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let from = try pair.0.start(on: scene.desktop)
        let into = pair.0 == pair.1 ? from : try pair.1.start(on: scene.desktop)
        try from.load(.files, from: ContentKind.files.write(on: scene.desktop))
        let files = try listing(from, on: scene.desktop)
        try from.pressCopy("cut")
        try scene.bridge.sync()
        var cut: String?
        // The key has been pressed; a busy program works it off a little later.
        _ = try waitUntil(within: 20) {
          cut = try scene.paster.text("x-special/gnome-copied-files")
          return cut != nil
        }
        let list = try #require(cut)
        #expect(list.hasPrefix("cut\nfile:///"))
        #expect(list.split(separator: "\n").count == 4)
        #expect(try scene.paster.text("text/uri-list")?.components(separatedBy: "file:///").count == 4)
        if pair.0 == .pcmanfm { #expect(try scene.paster.text("application/x-kde-cutselection")?.first == "1") }
        expectSame(
          try into.paste(.files, waiting: HeavyProgram.patience), Data(files.utf8), "\(pair.0.name) → \(pair.1.name)")
        #expect(try waitUntil(within: 5) { try listing(from, on: scene.desktop) == "" }, "moved, not copied")
        try scene.expectNextCopy()
        into.exit()
        from.exit()
      }
    }
  }
}
