/// What a subject does with a selection or a board.
public enum Action: String, Hashable, Sendable, CaseIterable {
  /// An X client takes a selection.
  case copy
  /// A copy known to be a cut.
  case cut
  /// A conversion to a content target.
  case paste
  /// Content that is dragged from one app over another, which may read it before anything is dropped.
  case drag

  /// What is done by a command or a key: what the keys of an app are about.
  public static let byCommand: [Action] = [.copy, .cut, .paste]

  /// Whether there is one who receives.
  public var hasDestination: Bool { self == .paste || self == .drag }
}

/// What is known of one representation of a clip.
public struct ContentFacts: Hashable, Sendable {
  /// The target's name, for example `text/html`.
  public var target: String
  /// The number of bytes.
  public var size: Int
  /// Whether the source marked the clip as secret.
  public var isSensitive: Bool

  /// States target, size in bytes and sensitivity.
  public init(target: String, size: Int, isSensitive: Bool = false) {
    self.target = target
    self.size = size
    self.isSensitive = isSensitive
  }
}

/// The question put to the policy: may this subject do this to that?
public struct Request: Hashable, Sendable {
  /// What is done.
  public var action: Action
  /// Who copies or cuts; for a paste, who the clip came from; for a drag, where it began.
  public var source: Subject
  /// Who pastes, or over whom something is dragged; `nil` for copy and cut.
  public var destination: Subject?
  /// `clipboard`, `primary`, `secondary`, or a board's name.
  public var selection: String
  /// The representation in question; `nil` while a new clip's content isn't known yet.
  public var content: ContentFacts?

  /// Asks whether `source` may copy or cut to `selection`, or `destination` may paste `source`'s clip from it, or have what
  /// is dragged out of `source`.
  public init(
    action: Action, source: Subject, destination: Subject? = nil, selection: String = "clipboard",
    content: ContentFacts? = nil
  ) {
    self.action = action
    self.source = source
    self.destination = destination
    self.selection = selection
    self.content = content
  }
}
