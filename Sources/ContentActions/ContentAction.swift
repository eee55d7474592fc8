import Policy

/// One item of the edit menu: what it takes of a clip, what it makes of it, and within which limits.
public struct ContentAction: Hashable, Sendable {
  /// What does the work.
  public enum Work: Hashable, Sendable {
    /// A part of the helper that is installed with the daemon.
    case builtIn(BuiltIn)
    /// A program by its absolute path, and its arguments; no shell.
    case command(path: String, arguments: [String])
  }

  /// Where the result goes.
  public enum Destination: Hashable, Sendable {
    /// CLIPBOARD: it takes the place of the clip that it was made of.
    case clipboard
    /// A board of this name.
    case board(String)
  }

  /// The word in `makes:` for the target that was taken.
  public static let same = "same"

  /// The file's name without its ending: by it the action is run.
  public var name: String
  /// What menus show.
  public var title: String
  /// Where it is written.
  public var position: SourcePosition
  /// The targets it takes, the preferred ones first.
  public var accepts: [TargetPattern]
  /// What does the work.
  public var work: Work
  /// The targets under which the result is offered, all with the same bytes; ``same`` stands for the one taken.
  public var makes: [String]
  /// Where the result goes.
  public var destination: Destination
  /// What a run may use.
  public var limits: ActionLimits

  /// Describes an action.
  public init(
    name: String, title: String, position: SourcePosition, accepts: [TargetPattern], work: Work, makes: [String],
    destination: Destination = .clipboard, limits: ActionLimits = ActionLimits()
  ) {
    self.name = name
    self.title = title
    self.position = position
    self.accepts = accepts
    self.work = work
    self.makes = makes
    self.destination = destination
    self.limits = limits
  }

  /// Which of the targets on offer it takes: the first that its first pattern matches, else its second, and so on.
  public func input(among offered: [String]) -> String? {
    for pattern in accepts {
      if let name = offered.first(where: { pattern.matches($0) }) { return name }
    }
    return nil
  }

  /// The targets that a run makes which took `input`, each once.
  public func outputs(from input: String) -> [String] {
    var names: [String] = []
    for name in makes.map({ $0 == Self.same ? input : $0 }) where !names.contains(name) { names.append(name) }
    return names
  }
}

/// What the helper can do by itself.
public enum BuiltIn: String, Hashable, Sendable, CaseIterable {
  /// The text as it is, without its other forms.
  case plainText = "plain-text"
  /// Links without what follows people around.
  case stripTracking = "strip-tracking"
  /// An image at a third of its width and height, as PNG.
  case thumbnail
  /// An image encoded anew, without what is written beside its pixels.
  case removeMetadata = "remove-metadata"
}

/// What one run may use.
public struct ActionLimits: Hashable, Sendable {
  /// Wall clock and processor time, milliseconds. Our choice: somebody waits for it at a menu.
  public var milliseconds = 10_000
  /// Address space, bytes. Our choice: some 100 million pixels, libraries included.
  public var memoryBytes = 512 << 20

  /// The defaults.
  public init() {}

  /// The bounds of `time-limit`, milliseconds.
  public static let timeBounds = 100...120_000
  /// The bounds of `memory-limit`, bytes. Below them not even the helper loads.
  public static let memoryBounds = 64 << 20...8 << 30
}

/// Why a run gave nothing.
public enum ActionFailure: String, Error, Hashable, Sendable, CaseIterable {
  /// It took longer than `time-limit`.
  case timeLimit = "time-limit"
  /// It needed more than `memory-limit`, as far as the helper can tell.
  case memoryLimit = "memory-limit"
  /// It wrote more than a clip may have.
  case outputLimit = "output-limit"
  /// The content isn't what the action is for: no link in a text.
  case notApplicable = "not-applicable"
  /// The bytes are no image of the type they are offered as.
  case undecodable
  /// It wrote nothing.
  case empty
  /// It couldn't be shut in.
  case noSandbox = "no-sandbox"
  /// The program can't be started.
  case noProgram = "no-program"
  /// Other processes of the user could have reached what it is given, so it was given nothing.
  case notClosed = "not-closed"
  /// It wasn't shut in and closed within `time-limit`, so it was given nothing.
  case notReady = "not-ready"
  /// Its program tried to become another one, which other processes of the user could reach.
  case otherProgram = "other-program"
  /// It ended with an error of its own, or was ended by a signal.
  case failed

  /// In words, for people.
  public var words: String {
    switch self {
    case .timeLimit: "it took longer than its time limit and was ended"
    case .memoryLimit: "the content needs more memory than its limit"
    case .outputLimit: "it made more than a clip may have and was ended"
    case .notApplicable: "there is nothing in the content that it is for"
    case .undecodable: "the content isn't what its type says"
    case .empty: "it made nothing"
    case .noSandbox: "it can't be shut in on this system, so it was not run"
    case .noProgram: "its program can't be started"
    case .notClosed:
      "other processes of yours could have read the content, so it was given none: set vm.memfd_noexec to 0 or 1, and "
        + "fs.suid_dumpable to 0 or 2"
    case .notReady: "it wasn't shut in and closed to other processes within its time limit, so it was given no content"
    case .otherProgram:
      "its program tried to become another one, which other processes of yours could read: name that one in `command`"
    case .failed: "its program failed"
    }
  }
}
