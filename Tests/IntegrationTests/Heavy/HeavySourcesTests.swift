import Foundation
import Testing

extension IntegrationTests {
  /// GIMP, Inkscape and Swing: what they copy is the same with the daemon; what they may not have they do without quietly.
  @Suite(.serialized) struct HeavySourcesTests {
    /// One document and the program that copies it.
    struct Document: CustomTestStringConvertible, Sendable {
      let program: String
      let kind: String
      let isDrawing: Bool
      /// What the daemon leaves out of the program's list (docs/icccm.md).
      let isLeftOut: @Sendable (String) -> Bool

      var testDescription: String { "\(program), \(isDrawing ? "a drawing" : kind)" }

      func path(on desktop: Desktop) throws -> String {
        if isDrawing { return try desktop.file("drawing.svg", HeavySample.drawing) }
        return switch kind {
        case "text": try desktop.file("text.txt", HeavySample.text)
        case "rich": try desktop.file("text.html", HeavySample.rich)
        default: try HeavySample.picture(on: desktop)
        }
      }
    }

    private static let raster: Set<String> = [
      "image/bmp", "image/x-bmp", "image/x-MS-bmp", "image/x-icon", "image/x-ico", "image/x-win-bitmap",
      "image/vnd.microsoft.icon", "application/ico", "image/ico", "image/icon", "text/ico", "image/tiff", "image/jpeg",
      "image/gif", "image/webp",
    ]
    private static let exports: Set<String> = [
      "application/tar", "application/x-xcf", "application/x-zip", "image/dxf", "image/hpgl", "image/sif", "text/html",
      "image/svg+xml-compressed", "image/x-inkscape-svg-compressed",
    ]

    static let documents: [Document] = [
      Document(program: "gimp", kind: "image", isDrawing: false) { raster.contains($0) },
      Document(program: "inkscape", kind: "image", isDrawing: true) { raster.contains($0) || exports.contains($0) },
      Document(program: "inkscape", kind: "image", isDrawing: false) { raster.contains($0) || exports.contains($0) },
      Document(program: "swing", kind: "text", isDrawing: false) { _ in false },
      Document(program: "swing", kind: "rich", isDrawing: false) { _ in false },
      Document(program: "swing", kind: "image", isDrawing: false) { raster.contains($0) },
    ]

    /// PDF and PostScript say when they were made.
    private func withoutDates(_ content: Data?) -> Data? {
      guard let content, content.starts(with: Data("%".utf8)) else { return content }
      let lines = content.split(separator: 10, omittingEmptySubsequences: false)
      return Data(lines.filter { $0.range(of: Data("CreationDate".utf8)) == nil }.joined(separator: [10]))
    }

    @Test("the same formats and bytes with the daemon as without, also after the program's end", arguments: documents)
    func copies(document: Document) throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let program = try DrivenProgram(document.program, on: desktop)
      try program.load(document.kind, from: document.path(on: desktop))
      try program.copy()
      let listed = Set(try desktop.probe.targets() ?? []).filter(Exceptions.isContent)
      // What it lists and doesn't give isn't offered by the daemon either.
      let offered = try listed.filter { !document.isLeftOut($0) }.reduce(into: [String: Data]()) {
        $0[$1] = try desktop.probe.paste($1)
      }
      #expect(!offered.isEmpty)
      let before = try program.paste(document.kind)
      #expect(!before.isEmpty)
      try program.load(document.kind, from: document.path(on: desktop))

      let bridge = try Bridge(on: desktop)
      let windows = try desktop.windowTitles()
      let begun = Deadline.now
      try program.copy()
      try bridge.sync()
      let needed = (Deadline.now - begun) / 1_000_000
      #expect(needed < 5_000, "found \(needed) ms")
      #expect(try desktop.windowTitles() == windows, "no dialog, no other name for the document")
      #expect(Set(try desktop.probe.targets() ?? []).filter(Exceptions.isContent) == Set(offered.keys))
      for (target, bytes) in offered {
        expectSame(withoutDates(try desktop.probe.paste(target)), withoutDates(bytes)!, "\(document) \(target)")
      }
      expectSame(try program.paste(document.kind), before, "\(document) into itself")
      try program.crash()
      try bridge.sync()
      for (target, bytes) in offered {
        expectSame(withoutDates(try desktop.probe.paste(target)), withoutDates(bytes)!, "\(target) after its end")
      }
      try bridge.stop()
      program.exit()
    }

    @Test("why Inkscape's extension formats are left out: asking for one renames the drawing")
    func renamed() throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let program = try DrivenProgram("inkscape", on: desktop)
      try program.load("image", from: desktop.file("drawing.svg", HeavySample.drawing))
      try program.copy()
      let windows = try desktop.windowTitles()
      #expect(try desktop.probe.paste("image/svg+xml") != nil)
      #expect(try desktop.windowTitles() == windows)
      _ = try desktop.probe.convert("application/tar", "deadline=20000", within: 30)
      #expect(try waitUntil(within: 5) { try desktop.windowTitles() != windows })
      program.exit()
    }

    @Test(
      "a refused paste: nothing comes, no hang, no dialog, few requests; an allowed one works afterwards",
      arguments: [
        ("gimp", "image"), ("inkscape", "image"), ("swing", "text"), ("keepassxc", "text"), ("thunar", "files"),
        ("pcmanfm", "files"),
      ])
    func refused(program name: String, kind: String) throws {
      let deny = """
        version: 1
        rules:
          - {name: nothing in, from: {class: Source}, actions: [paste], decision: deny}
        default: allow
        """
      try Scene.run(policy: deny) { scene in
        let program = try DrivenProgram(name, on: scene.desktop)
        let picture = try HeavySample.picture(on: scene.desktop)
        let folder = try HeavySample.files(on: scene.desktop)
        let owner = try scene.desktop.owner(
          "class source Source", "target UTF8_STRING text:denied", "target text/plain;charset=utf-8 text:denied",
          "target image/png file:\(picture)", "target text/uri-list text:file://\(folder)/b.bin\\r\\n",
          "target x-special/gnome-copied-files text:copy\\nfile://\(folder)/b.bin")
        try owner.claim()
        try scene.bridge.sync()
        let windows = try scene.desktop.windowTitles()
        let earlier = try scene.bridge.audit().count
        #expect(try program.paste(kind, waiting: 3) == Data())
        #expect(try scene.desktop.windowTitles().count == windows.count)
        let lines = try scene.bridge.audit().dropFirst(earlier).filter { $0.destination?.pid == Int(program.pid) }
        let requests = lines.reduce(0) { $0 + $1.count }
        #expect(requests > 0, "it asked")
        #expect(requests <= 10, "found \(requests)")
        #expect(lines.allSatisfy { $0.outcome == "refused" }, "found \(lines)")
        try scene.bridge.replacePolicy(Bridge.allowAll)
        try owner.claim()
        try scene.bridge.sync()
        #expect(try !program.paste(kind).isEmpty)
        program.exit()
      }
    }
  }
}
