/// The kinds of content that policies name without listing targets.
public enum TargetClass: String, Hashable, Sendable, CaseIterable {
  /// Plain text in any spelling.
  case text
  /// HTML.
  case html
  /// Rich text.
  case rtf
  /// `image/*` and the like.
  case image
  /// Lists of files.
  case files
  /// Everything else.
  case other

  /// The class of the target `name`; every target has exactly one.
  ///
  /// MIME types are compared without regard to case and parameters, as RFC 2045 has them; the X targets of ICCCM
  /// table 8 (`UTF8_STRING`, `PIXMAP`) exactly as they are written.
  public init(targetNamed name: String) {
    if let known = TargetClass.targets[name] {
      self = known
      return
    }
    let type = TargetClass.mediaType(name)
    if let known = TargetClass.mediaTypes[type] {
      self = known
    } else if type.hasPrefix("image/") {
      self = .image
    } else if type.hasPrefix("text/_moz_html") {
      self = .html
    } else if type.hasPrefix("x-special/"), type.hasSuffix("-copied-files") {
      self = .files
    } else {
      self = .other
    }
  }

  /// The X targets that have a class by their name.
  public static var namedTargets: [String] { targets.keys.sorted() }

  private static let targets: [String: TargetClass] = [
    "UTF8_STRING": .text, "STRING": .text, "TEXT": .text, "COMPOUND_TEXT": .text, "C_STRING": .text,
    "PIXMAP": .image, "BITMAP": .image, "DRAWABLE": .image, "COLORMAP": .image, "ODIF": .other,
    "FILE_NAME": .files, "FILE": .files,
  ]

  private static let mediaTypes: [String: TargetClass] = [
    "text/plain": .text, "text/unicode": .text, "application/x-utf8-string": .text,
    "text/html": .html, "application/xhtml+xml": .html,
    "text/rtf": .rtf, "text/richtext": .rtf, "application/rtf": .rtf, "application/x-rtf": .rtf,
    // What image libraries offer outside `image/`: GTK 3 the types of every gdk-pixbuf loader, librsvg one more,
    // LibreOffice its own names for metafiles and bitmaps.
    "application/x-qt-image": .image, "text/ico": .image, "application/ico": .image, "application/x-ico": .image,
    "application/x-icon": .image, "application/x-win-bitmap": .image, "application/x-navi-animation": .image,
    "application/bmp": .image, "application/x-bmp": .image, "application/x-dib": .image,
    "application/tiff": .image, "application/x-tiff": .image, "application/tif": .image, "application/x-tif": .image,
    "application/png": .image, "application/x-png": .image, "application/jpg": .image, "application/x-jpg": .image,
    "application/jpeg": .image, "application/x-jpeg": .image, "application/gif": .image, "application/x-gif": .image,
    "application/pcx": .image, "application/x-pcx": .image, "application/x-xpm": .image, "application/x-xbm": .image,
    "application/emf": .image, "application/x-emf": .image, "application/wmf": .image, "application/x-wmf": .image,
    "application/x-msmetafile": .image, "application/svg+xml": .image, "text/xml-svg": .image,
    "application/x-openoffice-bitmap": .image, "application/x-openoffice-gdimetafile": .image,
    "application/x-openoffice-highcontrast-gdimetafile": .image, "application/x-openoffice-emf": .image,
    "application/x-openoffice-wmf": .image,
    "text/uri-list": .files, "application/x-kde-cutselection": .files, "text/x-moz-url": .files,
    "application/x-kde4-urilist": .files, "application/vnd.portal.files": .files,
    "application/vnd.portal.filetransfer": .files,
  ]

  /// What stands before the parameters, with ASCII letters made small.
  private static func mediaType(_ name: String) -> String {
    let type = name.utf8.prefix { $0 != UInt8(ascii: ";") }
    return String(decoding: type.map { (65...90).contains($0) ? $0 + 32 : $0 }.trimmingSpaces, as: UTF8.self)
  }
}

extension [UInt8] {
  fileprivate var trimmingSpaces: ArraySlice<UInt8> {
    var slice = self[...]
    while let first = slice.first, first == 32 || first == 9 { slice.removeFirst() }
    while let last = slice.last, last == 32 || last == 9 { slice.removeLast() }
    return slice
  }
}

/// One entry of a `targets:` list.
public enum TargetPattern: Hashable, Sendable, CustomStringConvertible {
  /// All targets of one class.
  case kind(TargetClass)
  /// A glob on the target's whole name; case matters.
  case glob(String)
  /// What every one of these patterns means: two rulesets narrow the same clip.
  case all([TargetPattern])

  /// Whether the target `name` is meant. A glob that can't be read means nothing.
  public func matches(_ name: String) -> Bool {
    switch self {
    case .kind(let kind): TargetClass(targetNamed: name) == kind
    case .glob(let pattern): (try? Glob(pattern))?.matches(name) ?? false
    case .all(let patterns): patterns.allSatisfy { $0.matches(name) }
    }
  }

  /// As it is written in a policy; several that must all match are joined by `+`.
  public var description: String {
    switch self {
    case .kind(let kind): kind.rawValue
    case .glob(let pattern): pattern
    case .all(let patterns): patterns.map(\.description).joined(separator: "+")
    }
  }

  /// Whether it is known that everything `other` means is meant by this too.
  func covers(_ other: TargetPattern) -> Bool {
    if self == other { return true }
    switch (self, other) {
    case (_, .all(let patterns)): return patterns.contains { covers($0) }
    case (.all(let patterns), _): return patterns.allSatisfy { $0.covers(other) }
    case (.glob(let mine), .glob(let theirs)):
      // Most targets are named literally, and two different literals need no reading.
      guard Glob.hasSpecial(mine) else { return false }
      guard let mine = try? Glob(mine), let theirs = try? Glob(theirs) else { return false }
      return mine.covers(theirs)
    case (.glob(let mine), .kind): return (try? Glob(mine))?.tokens == [.star(crossesSlashes: true)]
    case (.kind, .glob(let theirs)):
      guard let literal = (try? Glob(theirs))?.literal else { return false }
      return matches(literal)
    case (.kind, .kind): return false
    }
  }
}
