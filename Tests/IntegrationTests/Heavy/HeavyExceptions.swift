/// What may differ between the worlds, with the reason; docs/icccm.md has the same list.
enum HeavyExceptions {
  /// A paste that isn't as it is elsewhere.
  struct Difference {
    let source: String
    let kind: ContentKind
    let requestor: String
    let reason: String

    init(_ source: String, _ kind: ContentKind, _ requestor: String, _ reason: String) {
      (self.source, self.kind, self.requestor, self.reason) = (source, kind, requestor, reason)
    }
  }

  /// Pastes that give something else with the daemon.
  static let differences: [Difference] = [Difference("Inkscape", .image, "Firefox", refusedHTML)]

  /// Pastes that give nothing without the daemon.
  static let nothing: [Difference] = [
    Difference("Inkscape", .image, "Firefox", refusedHTML),
    Difference("PCManFM", .files, "xclip", "PCManFM offers files as URIs alone, not as text"),
    Difference("Writer", .rich, "Swing", charset),
    Difference("Writer gen", .rich, "Swing", charset),
  ]

  private static let refusedHTML =
    "Inkscape lists HTML and refuses it, and Firefox pastes nothing then; the daemon doesn't list it"
  private static let charset = "Swing gives up HTML in which a meta element names the character set, as Writer's does"

  static func reason(_ row: PairRow, _ requestor: String, in list: [Difference]) -> String? {
    list.first { $0.source == row.source && $0.kind == row.kind && $0.requestor == requestor }?.reason
  }

  /// Sources that clear the clipboard when they end, as they do without the daemon.
  static let clearing: Set<String> = ["KeePassXC"]

  /// Whether the daemon leaves a target out of what the owner lists, and so doesn't offer it (docs/icccm.md).
  static func isLeftOut(_ target: String, beside targets: Set<String>) -> Bool {
    resources.contains(target)
      || (targets.contains("image/png") && encodedAgain.contains(String(target.prefix { $0 != ";" })))
      || (targets.contains("image/x-inkscape-svg") && inkscapeExports.contains(target))
  }

  /// The owner's other encodings of the pixels that it also offers as PNG.
  private static let encodedAgain: Set<String> = [
    "image/x-bmp", "image/x-MS-bmp", "image/x-icon", "image/x-ico", "image/x-win-bitmap",
    "image/vnd.microsoft.icon", "application/ico", "image/ico", "image/icon", "text/ico", "image/tiff", "image/jpeg",
    "image/gif", "image/webp", "application/x-openoffice-bitmap",
  ]

  /// What Inkscape makes by programs that it starts when it is asked, and that rename the drawing.
  private static let inkscapeExports: Set<String> = [
    "application/tar", "application/x-xcf", "application/x-zip", "image/dxf", "image/hpgl", "image/sif", "text/html",
    "image/svg+xml-compressed", "image/x-inkscape-svg-compressed",
  ]

  /// Resources of the owner, which end with it.
  private static let resources: Set<String> = ["PIXMAP", "BITMAP", "DRAWABLE", "COLORMAP"]

  /// Targets whose content has the time of its making in it, so that no two are equal: a document in a ZIP archive.
  static let madeAnew: Set<String> = ["application/vnd.oasis.opendocument.text"]

  /// Targets that hold a picture, so that no bytes are no content.
  static func isPicture(_ target: String) -> Bool {
    let name = target.prefix { $0 != ";" }
    return name.hasPrefix("image/") || ["application/ico", "text/ico"].contains(name)
      || ["bitmap", "gdimetafile", "emf", "wmf", "svxb"].map { "application/x-openoffice-" + $0 }.contains(name)
  }
}
