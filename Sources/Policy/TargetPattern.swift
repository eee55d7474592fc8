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
  public init(targetNamed name: String) {
    self = .other
  }
}

/// One entry of a `targets:` list.
public enum TargetPattern: Hashable, Sendable {
  /// All targets of one class.
  case kind(TargetClass)
  /// A glob on the target's whole name; case matters.
  case glob(String)

  /// Whether the target `name` is meant.
  public func matches(_ name: String) -> Bool { false }
}
