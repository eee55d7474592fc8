import Selection
import Testing

private func targets(_ names: [String]) -> [Target] {
  names.map { name in Target(Atom(UInt32(truncatingIfNeeded: 1_000 + abs(name.hashValue % 100_000_000))), name) }
}

private func offered(_ names: [String]) -> [String] {
  TargetList(listed: targets(names), limit: 256).offered.map(\.name)
}

private func wanted(_ names: [String], limit: Int = 256) -> [String] {
  TargetList(listed: targets(names), limit: limit).wanted.map(\.name)
}

/// What is asked of an owner (K04 B040, K11, K12 B118, B120).
@Suite struct TargetListTests {
  @Test func textFirstMetadataNever() {
    #expect(
      wanted([
        "TIMESTAMP", "TARGETS", "text/html", "MULTIPLE", "UTF8_STRING", "SAVE_TARGETS", "text/plain;charset=utf-8",
      ])
        == ["UTF8_STRING", "text/plain;charset=utf-8", "text/html"])
  }

  @Test func nothingThatActsOrNamesResources() {
    #expect(
      wanted([
        "DELETE", "INSERT_SELECTION", "INSERT_PROPERTY", "PIXMAP", "COLORMAP", "GTK_TEXT_BUFFER_CONTENTS", "TEXT",
      ])
        == ["TEXT"])
  }

  @Test func eachOnceInTheOwnersOrder() {
    let list = TargetList(listed: targets(["image/svg+xml", "a/b", "STRING", "a/b", "STRING"]), limit: 256)
    #expect(list.offered.map(\.name) == ["image/svg+xml", "a/b", "STRING"])
    #expect(list.wanted.map(\.name) == ["STRING", "a/b", "image/svg+xml"])
  }

  /// With a PNG the owner's other encodings of the same pixels are left out; without one they are all kept.
  @Test func rasterDuplicates() {
    #expect(
      wanted([
        "image/png", "image/jpeg", "image/bmp", "image/x-MS-bmp", "image/x-icon", "image/tiff", "image/svg+xml",
        "text/ico", "application/ico",
      ])
        == ["image/png", "image/bmp", "image/svg+xml"])
    #expect(wanted(["image/webp", "application/x-foo;v=1"]) == ["application/x-foo;v=1", "image/webp"])
    #expect(wanted(["image/jpeg", "image/bmp"]) == ["image/jpeg", "image/bmp"])
  }

  /// PCManFM clears the selection as it gives the list of cut files: nothing can be asked after it (K17).
  @Test func copiedFilesLast() {
    let list = TargetList(
      listed: targets(["text/uri-list", "x-special/gnome-copied-files", "application/x-kde-cutselection", "STRING"]),
      limit: 256)
    #expect(
      list.wanted.map(\.name)
        == ["STRING", "text/uri-list", "application/x-kde-cutselection", "x-special/gnome-copied-files"])
    #expect(list.offered.map(\.name).prefix(2) == ["text/uri-list", "x-special/gnome-copied-files"])
  }

  /// Inkscape 1.2 lists 33 targets, some twice; what it starts a program for is left out (K12 B118).
  @Test func inkscape() {
    let exports = [
      "image/x-inkscape-svg-compressed", "image/svg+xml-compressed", "application/x-zip", "image/dxf", "image/dxf",
      "application/x-xcf", "image/hpgl", "text/html", "image/jpeg", "application/x-zip", "application/tar", "image/sif",
      "image/tiff", "image/webp",
    ]
    let kept = [
      "text/plain", "image/x-inkscape-svg", "image/png", "image/svg+xml", "image/x-e-postscript", "image/x-emf",
      "text/xml+fxg", "text/x-tex", "text/xml+xaml", "text/x-povray-script", "application/pdf", "image/x-postscript",
      "image/x-wmf",
    ]
    #expect(offered(kept + exports + ["image/svg+xml", "image/png"]) == kept)
    #expect(wanted(["text/html", "image/svg+xml", "image/dxf"]) == ["text/html", "image/svg+xml", "image/dxf"])
  }

  /// LibreOffice's bitmap is the same pixels again; its vector pictures and all of its text formats are not.
  @Test func officeBitmap() {
    let office = "application/x-openoffice-"
    let bitmap = office + "bitmap;windows_formatname=\"Bitmap\""
    let others = [
      office + "gdimetafile;windows_formatname=\"GDIMetaFile\"", office + "emf;windows_formatname=\"Image EMF\"",
      office + "embed-source-xml;windows_formatname=\"Star Embed Source (XML)\"", "text/rtf", "text/richtext",
    ]
    #expect(offered([bitmap, "image/png"] + others) == ["image/png"] + others)
    #expect(offered([bitmap] + others) == [bitmap] + others)
  }

  /// Text comes first and pictures last: owners that make each format when asked do nothing else meanwhile.
  @Test func order() {
    let office = "application/x-openoffice-"
    let listed = ["image/png", office + "emf;windows_formatname=\"Image EMF\"", office + "link", "text/html", "STRING"]
    #expect(
      TargetList(listed: targets(listed), limit: 256).wanted.map(\.name)
        == ["STRING", office + "link", "text/html", "image/png", listed[1]])
  }

  @Test func pictures() {
    for name in [
      "image/png", "image/svg+xml", "text/ico", "application/x-openoffice-emf;windows_formatname=\"Image EMF\"",
      "application/x-openoffice-bitmap;windows_formatname=\"Bitmap\"",
    ] { #expect(TargetList.isPicture(name), "\(name)") }
    for name in [
      "text/html", "UTF8_STRING", "application/x-openoffice-link;windows_formatname=\"Link\"",
      "application/x-openoffice-sylk;windows_formatname=\"Sylk\"", "imagine/png",
    ] { #expect(!TargetList.isPicture(name), "\(name)") }
  }

  @Test func beyondTheLimitIsCounted() {
    let list = TargetList(listed: targets((0..<10).map { "x/\($0)" } + ["SAVE_TARGETS"]), limit: 4)
    #expect(list.offered.count == 4)
    #expect(list.beyondLimit == 6)
    #expect(list.listsSaveTargets)
  }
}
