/// Which of the targets an owner lists we ask for, and in what order: text first, no metadata, nothing that does
/// something when asked, no expensive duplicates.
///
/// This is the one place that leaves targets out; docs/icccm.md prints it. What is left out is not offered either.
public struct TargetList: Hashable, Sendable {
  /// The content targets to ask for, each once, in the order in which they are asked: text first, pictures after everything
  /// else, what may end the owner's content last, else in the owner's order. Owners make most formats only when asked
  /// (measured: LibreOffice needs seconds for the pictures of many cells, and does nothing else meanwhile).
  public let wanted: [Target]
  /// The content targets in the owner's own order: the order in which we list them.
  public let offered: [Target]
  /// Content targets beyond the limit, which are not offered.
  public let beyondLimit: Int
  /// Whether the owner lists SAVE_TARGETS, so that we list it too.
  public let listsSaveTargets: Bool

  /// Judges the list of an owner; at most `limit` content targets are kept.
  public init(listed: [Target], limit: Int) {
    var seen = Set<Target>()
    let content = listed.filter {
      !Self.metadata.contains($0.name) && !Self.isExcluded($0.name) && seen.insert($0).inserted
    }
    let hasPNG = content.contains { $0.name == "image/png" }
    let hasDrawing = content.contains { $0.name == Self.inkscapeDrawing }
    let kept = content.filter {
      !(hasPNG && $0.name != Self.bitmap && Self.isRasterDuplicate($0.name))
        && !(hasDrawing && Self.inkscapeExports.contains($0.name))
    }
    offered = Array(kept.prefix(limit))
    beyondLimit = kept.count - offered.count
    let text = offered.filter { Self.isPlainText($0.name) }
    let last = offered.filter { Self.isCopiedFiles($0.name) }
    let others = offered.filter { !Self.isPlainText($0.name) && !Self.isCopiedFiles($0.name) }
    wanted = text + others.filter { !Self.isPicture($0.name) } + others.filter { Self.isPicture($0.name) } + last
    listsSaveTargets = listed.contains { $0.name == "SAVE_TARGETS" }
  }

  /// Targets that every owner answers itself (ICCCM 2.6.2 and the clipboard manager specification).
  public static let metadata: Set<String> = ["TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS"]

  /// Targets whose conversion does something (ICCCM 2.6.3): a capture must never ask them.
  public static let sideEffects: Set<String> = ["DELETE", "INSERT_SELECTION", "INSERT_PROPERTY"]

  /// What is asked for in a drag that the source doesn't only answer: it saves a file where the one who asked has said
  /// (XdndDirectSave), and without such a place it fails the whole drag.
  public static let dragSideEffects: Set<String> = ["XdndDirectSave0"]

  /// Targets whose value is the number of a server resource or of the owner itself: meaningless once the owner is gone
  /// (ICCCM 2.6.2 table of targets).
  public static let ownersResources: Set<String> = [
    "BACKGROUND", "BITMAP", "CLIENT_WINDOW", "COLORMAP", "DRAWABLE", "FOREGROUND", "PIXMAP", "PROCESS", "TASK",
    "WINDOW",
  ]

  /// GTK 2 and 3 text views offer their buffer by these names to themselves; outside the process the value is a pointer.
  public static let processPrivate: Set<String> = ["GTK_TEXT_BUFFER_CONTENTS"]

  /// xsel lists INCR, which is a property's type and nothing to convert to (ICCCM 2.7.2).
  public static let typesListedAsTargets: Set<String> = ["INCR"]

  /// The one raster encoding that is kept beside PNG: agents of remote desktops know no other (measured: xrdp).
  public static let bitmap = "image/bmp"

  /// The file managers' list of copied or cut files. Of cut ones PCManFM gives it once and clears the selection as it does;
  /// what is asked after it is refused.
  ///
  /// Each desktop has a name of its own: `x-special/gnome-copied-files`, `x-special/mate-copied-files` (Caja) and others.
  public static func isCopiedFiles(_ name: String) -> Bool {
    name.hasPrefix("x-special/") && name.hasSuffix("-copied-files")
  }

  /// Inkscape's own format, by which a list of its targets is known.
  public static let inkscapeDrawing = "image/x-inkscape-svg"

  /// What Inkscape offers by its extensions, each a program that it starts when asked (0.1 to 0.3 s; 11 of them beside
  /// those that go with the raster images) and that renames the person's drawing on the way, and the twins of its SVG
  /// formats, which are not even compressed. The drawing itself comes as SVG, PNG, PDF, PostScript, EMF and WMF.
  public static let inkscapeExports: Set<String> = [
    "application/tar", "application/x-xcf", "application/x-zip", "image/dxf", "image/hpgl", "image/sif", "text/html",
    "image/svg+xml-compressed", "image/x-inkscape-svg-compressed",
  ]

  private static func isExcluded(_ name: String) -> Bool {
    typesListedAsTargets.contains(name) || sideEffects.contains(name) || ownersResources.contains(name)
      || processPrivate.contains(name)
  }

  /// A raster image that the owner encodes from the same pixels as the `image/png` it also offers. Firefox, GIMP and GTK
  /// list up to 20 of these (bmp three times, icons eight times; 5.8 MB each for a 1600 × 1200 picture), LibreOffice two
  /// (8.7 MB each for 2,000 cells).
  private static func isRasterDuplicate(_ name: String) -> Bool {
    // LibreOffice itself reads `image/png` before its own bitmap, and nobody else reads that.
    if bareName(name) == officeFormats + "bitmap" { return true }
    // GTK also lists icons as `application/ico` and `text/ico`.
    let parts = name.lowercased().split(separator: "/", maxSplits: 1)
    guard parts.count == 2, ["image", "application", "text"].contains(parts[0]) else { return false }
    return rasterKinds.contains(String(parts[1]))
  }

  private static let rasterKinds: Set<String> = [
    "avif", "avif-sequence", "bmp", "gif", "heic", "heif", "ico", "icon", "jp2", "jpeg", "jpg", "jpx", "jxl", "pjpeg",
    "tga", "tiff", "vnd.microsoft.icon", "webp", "x-bmp", "x-ico", "x-icon", "x-icns", "x-ms-bmp", "x-pcx",
    "x-portable-anymap", "x-portable-bitmap", "x-portable-graymap", "x-portable-pixmap", "x-quicktime", "x-tga",
    "x-win-bitmap", "x-xbitmap", "x-xpixmap", "qtif", "pbm", "pgm", "ppm", "xbm", "xpm", "cur", "wbmp", "vnd.wap.wbmp",
    "x-navi-animation", "x-sun-raster", "x-cmu-raster", "x-dds", "x-exr",
  ]

  /// Whether the target holds a picture, so that no bytes are no content: LibreOffice answers for large ranges of cells
  /// with pictures of no bytes, which would hide the text from whoever prefers a picture.
  public static func isPicture(_ name: String) -> Bool {
    let bare = bareName(name)
    if bare.hasPrefix(officeFormats) {
      return officePictureKinds.contains(String(bare.dropFirst(officeFormats.count)))
    }
    return bare.hasPrefix("image/") || isRasterDuplicate(bare)
  }

  private static let officeFormats = "application/x-openoffice-"
  private static let officePictureKinds: Set<String> = ["bitmap", "emf", "gdimetafile", "svxb", "wmf"]

  /// The name without its parameters, in lower case.
  private static func bareName(_ name: String) -> String { String(name.lowercased().prefix { $0 != ";" }) }

  /// Plain text in any of the spellings that programs use; asked first, since it's what most pastes want.
  public static func isPlainText(_ name: String) -> Bool {
    switch name {
    case "UTF8_STRING", "STRING", "TEXT", "COMPOUND_TEXT", "C_STRING", "text/plain": true
    default: name.lowercased().hasPrefix("text/plain;")
    }
  }

  /// What a name of plain text says of its encoding, in lower case; `nil` when it says nothing.
  private static func charset(of name: String) -> String? {
    let parameters = name.lowercased().split(separator: ";").dropFirst()
    let named = parameters.first { $0.drop { $0 == " " }.hasPrefix("charset=") }
    return named.map { String($0.drop { $0 != "=" }.dropFirst().filter { $0 != "\"" && $0 != " " }) }
  }

  /// Whether plain text of this name is in UTF-8, which every text can be written in.
  public static func isUTF8Text(_ name: String) -> Bool {
    name == "UTF8_STRING" || isPlainText(name) && ["utf-8", "utf8"].contains(charset(of: name))
  }

  /// Whether ASCII text is the same bytes under this name: it is in UTF-8 and in what has ASCII as its lower half, but not in
  /// UTF-16, nor in an encoding that nobody here knows.
  public static func holdsASCII(_ name: String) -> Bool {
    guard isPlainText(name) else { return false }
    guard let charset = charset(of: name) else { return true }
    return isUTF8Text(name) || ["us-ascii", "iso-8859-", "windows-125", "koi8-"].contains { charset.hasPrefix($0) }
  }

  /// Targets by which a source marks its content as secret; the first counts only with the value `secret`, the others
  /// by being listed (product.md 5.8).
  public static let secretMarkers: (valued: String, listed: Set<String>) = (
    "x-kde-passwordManagerHint",
    [
      "Clipboard Viewer Ignore", "ExcludeClipboardContentFromMonitorProcessing", "org.nspasteboard.ConcealedType",
      "application/x-nspasteboard-concealed-type",
    ]
  )
}
