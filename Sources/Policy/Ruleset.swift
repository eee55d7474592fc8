/// A named set of apps.
public struct Group: Hashable, Sendable {
  /// Its name.
  public var name: String
  /// Where it is written.
  public var position: SourcePosition
  /// Who belongs to it.
  public var matcher: Matcher

  /// Names those that `matcher` matches.
  public init(name: String, position: SourcePosition, matcher: Matcher) {
    self.name = name
    self.position = position
    self.matcher = matcher
  }
}

/// A named pasteboard as policies set it up.
public struct BoardPolicy: Hashable, Sendable {
  /// Its name, also that of its selection.
  public var name: String
  /// Where it is written.
  public var position: SourcePosition
  /// Who may read and write it.
  public var members: Matcher
  /// Whether allowed copies of members are also kept here.
  public var mirrors = false
  /// Whether it outlives the session.
  public var isPersistent = false
  /// Whether its content never leaves this machine.
  public var isLocalOnly = false
  /// Seconds after which an item is dropped.
  public var expiresAfterSeconds: Int?
  /// The largest item in bytes.
  public var maxBytes: Int?
  /// How many items are kept.
  public var maxItems: Int?
  /// Bytes of all its items.
  public var maxTotalBytes: Int?

  /// A board for `members` that keeps nothing by itself.
  public init(name: String, position: SourcePosition, members: Matcher) {
    self.name = name
    self.position = position
    self.members = members
  }
}

/// How a selection other than CLIPBOARD is treated, from the loosest to the strictest (product.md 6).
public enum SelectionGuard: String, Hashable, Sendable, CaseIterable, Comparable {
  /// Left alone.
  case off
  /// Left with its source while nothing is at stake.
  case `guard`
  /// Always claimed.
  case own

  /// Looser than: `off < guard < own`.
  public static func < (lhs: SelectionGuard, rhs: SelectionGuard) -> Bool { lhs.strictness < rhs.strictness }

  private var strictness: Int {
    switch self {
    case .off: 0
    case .guard: 1
    case .own: 2
    }
  }
}

/// A `default:` and where it is written.
public struct DefaultDecision: Hashable, Sendable {
  /// What is decided where no rule matches.
  public var verdict: Verdict
  /// Where it is written.
  public var position: SourcePosition
  /// Whether it is put into effect; else it is only recorded.
  public var isEnforced = true

  /// Decides `verdict` where no rule matches.
  public init(_ verdict: Verdict, position: SourcePosition) {
    self.verdict = verdict
    self.position = position
  }

  /// What the default says of `action`: `private` says nothing of pastes and `ask` nothing of copies, which are then
  /// allowed. A drag takes both at once.
  public func verdict(for action: Action) -> Verdict {
    switch (verdict, action) {
    case (.private, .paste), (.ask, .copy), (.ask, .cut): .allow
    default: verdict
    }
  }

  /// What comes of it for `action`.
  func outcome(for action: Action) -> Outcome {
    let verdict = verdict(for: action)
    let reason = Reason.fileDefault(position)
    guard !isEnforced else { return Outcome(verdict: verdict, reason: reason) }
    return Outcome(verdict: .allow, reason: reason, obligations: Obligations().recording(verdict))
  }
}

/// One numeric limit that a policy file sets.
public enum LimitName: String, Hashable, Sendable, CaseIterable {
  /// T_targets
  case targetsTimeout = "targets-timeout"
  /// T_cap
  case captureTimeout = "capture-timeout"
  /// T_idle
  case idleTimeout = "idle-timeout"
  /// T_wait
  case waitTimeout = "wait-timeout"
  /// Bytes of one clip.
  case maxClip = "max-clip"
  /// Bytes of all clips.
  case maxTotal = "max-total"
  /// Targets of one clip.
  case maxTargets = "max-targets"
  /// Pairs of one MULTIPLE request.
  case maxPairs = "max-pairs"
  /// Outgoing transfers to one X client.
  case transfersPerClient = "transfers-per-client"
  /// Outgoing transfers in all.
  case transfers
  /// Refusals of one X client in ten seconds.
  case flood

  /// Where the value is kept.
  public var keyPath: WritableKeyPath<Limits, Int> {
    switch self {
    case .targetsTimeout: \.targetsMilliseconds
    case .captureTimeout: \.captureMilliseconds
    case .idleTimeout: \.idleMilliseconds
    case .waitTimeout: \.waitMilliseconds
    case .maxClip: \.clipBytes
    case .maxTotal: \.totalBytes
    case .maxTargets: \.targets
    case .maxPairs: \.multiplePairs
    case .transfersPerClient: \.transfersPerClient
    case .transfers: \.transfers
    case .flood: \.floodRefusals
    }
  }
}

/// The files of one side, managed or user, merged in order.
public struct Ruleset: Hashable, Sendable {
  /// The files that it was read from, in order; a file without rules counts too.
  public var files: [String] = []
  /// The rules; the first that matches decides.
  public var rules: [Rule] = []
  /// The groups.
  public var groups: [Group] = []
  /// The boards.
  public var boards: [BoardPolicy] = []
  /// Which keys copy, cut and paste in the members of groups; the first that fits counts.
  public var keys: [KeyAssignment] = []
  /// What is decided where no rule matches; the user's ruleset has none.
  public var defaultDecision: DefaultDecision?
  /// The limits that it sets.
  public var limits: [LimitName: Int] = [:]
  /// How CLIPBOARD is treated: `own` or `guard`.
  public var clipboard: SelectionGuard?
  /// How PRIMARY is treated.
  public var primary: SelectionGuard?
  /// How SECONDARY is treated.
  public var secondary: SelectionGuard?
  /// How copies in properties of the root window are treated.
  public var cutBuffers: SelectionGuard?
  /// Whether what it decides is put into effect, or only recorded.
  public private(set) var isEnforced = true
  /// Whether the person may lift a lockdown.
  public var liftsLockdown: Bool?
  /// What the administrator expects of it.
  public var expectations: [Expectation] = []

  /// Says nothing.
  public init() {}

  /// The same with all its decisions put into effect, or none.
  public func enforced(_ isEnforced: Bool) -> Ruleset {
    guard isEnforced != self.isEnforced else { return self }
    var ruleset = self
    ruleset.isEnforced = isEnforced
    for number in rules.indices { ruleset.rules[number].isEnforced = isEnforced }
    ruleset.defaultDecision?.isEnforced = isEnforced
    return ruleset
  }

  /// Whether it says nothing at all.
  public var isEmpty: Bool { self == Ruleset() }
}
