import Selection

/// The atoms that the core knows by heart, numbered by the server the daemon is connected to.
public struct KnownAtoms: Hashable, Sendable {
  /// CLIPBOARD
  public var clipboard: NamedAtom
  /// PRIMARY
  public var primary: NamedAtom
  /// SECONDARY
  public var secondary: NamedAtom
  /// XdndSelection: what is being dragged
  public var drag: NamedAtom
  /// CLIPBOARD_MANAGER
  public var clipboardManager: NamedAtom
  /// TARGETS
  public var targets: NamedAtom
  /// TIMESTAMP
  public var timestamp: NamedAtom
  /// MULTIPLE
  public var multiple: NamedAtom
  /// SAVE_TARGETS
  public var saveTargets: NamedAtom
  /// UTF8_STRING
  public var utf8String: NamedAtom
  /// STRING
  public var string: NamedAtom
  /// What most drags carry: text, addresses of files, rich text, pictures.
  public var commonInDrags: [NamedAtom]

  /// The names of what most drags carry beside these.
  public static let othersInDrags = [
    "TEXT", "text/plain", "text/plain;charset=utf-8", "text/uri-list", "text/html",
    "image/png",
  ]

  /// Numbers every name by asking `intern`.
  public init(intern: (String) -> NamedAtom) {
    clipboard = intern("CLIPBOARD")
    primary = intern("PRIMARY")
    secondary = intern("SECONDARY")
    drag = intern("XdndSelection")
    clipboardManager = intern("CLIPBOARD_MANAGER")
    targets = intern("TARGETS")
    timestamp = intern("TIMESTAMP")
    multiple = intern("MULTIPLE")
    saveTargets = intern("SAVE_TARGETS")
    utf8String = intern("UTF8_STRING")
    string = intern("STRING")
    commonInDrags = [utf8String, string] + Self.othersInDrags.map(intern)
  }
}
