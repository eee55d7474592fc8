import Selection

/// The atoms that the core knows by heart, numbered by the server the daemon is connected to.
public struct KnownAtoms: Hashable, Sendable {
  /// CLIPBOARD
  public var clipboard: NamedAtom
  /// PRIMARY
  public var primary: NamedAtom
  /// SECONDARY
  public var secondary: NamedAtom
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

  /// Numbers every name by asking `intern`.
  public init(intern: (String) -> NamedAtom) {
    clipboard = intern("CLIPBOARD")
    primary = intern("PRIMARY")
    secondary = intern("SECONDARY")
    clipboardManager = intern("CLIPBOARD_MANAGER")
    targets = intern("TARGETS")
    timestamp = intern("TIMESTAMP")
    multiple = intern("MULTIPLE")
    saveTargets = intern("SAVE_TARGETS")
    utf8String = intern("UTF8_STRING")
    string = intern("STRING")
  }
}
