/// The answer's kind, from the loosest to the strictest; across rulesets the stricter wins.
public enum Verdict: String, Hashable, Sendable, CaseIterable, Comparable, CustomStringConvertible {
  /// Kept for everyone; served.
  case allow
  /// Refused now; the person may allow it once.
  case ask
  /// Kept, for the members of a board or the app alone.
  case `private`
  /// Nothing is kept; refused.
  case deny

  /// The word in policies.
  public var description: String { rawValue }

  /// Stricter than: `allow < ask < private < deny`.
  public static func < (lhs: Verdict, rhs: Verdict) -> Bool { lhs.strictness < rhs.strictness }

  private var strictness: Int {
    switch self {
    case .allow: 0
    case .ask: 1
    case .private: 2
    case .deny: 3
    }
  }
}

/// A place in a policy file; lines and columns count from 1.
public struct SourcePosition: Hashable, Sendable, CustomStringConvertible {
  /// The file's path as it was given.
  public var file: String
  /// The line, from 1.
  public var line: Int
  /// The column in characters, from 1.
  public var column: Int

  /// Names a place in `file`.
  public init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  /// `file:line:column`
  public var description: String { "\(file):\(line):\(column)" }
}

/// Which rule decided, where it is written.
public struct RuleReference: Hashable, Sendable {
  /// The rule's `name:`, or `rule N` where it has none.
  public var name: String
  /// Where the rule begins.
  public var position: SourcePosition

  /// Refers to the rule `name` at `position`.
  public init(name: String, position: SourcePosition) {
    self.name = name
    self.position = position
  }
}

/// Why a decision is what it is; the log, the audit and `policy explain` print the same.
public enum Reason: Hashable, Sendable {
  /// A rule matched.
  case rule(RuleReference)
  /// No rule matched; a policy file's `default:` decided.
  case fileDefault(SourcePosition)
  /// No rule matched and no file says `default:`.
  case builtInDefault
  /// An app reads its own clip back.
  case sameApp
  /// The clip is private and the requestor outside its audience; the copy's own reason is attached.
  indirect case outsideAudience(Reason)
  /// What is attached could be about the app, of which it can't be told which one it is: the strictest of what it could meet
  /// counts.
  indirect case couldBe(Reason)
  /// The policy could not be read; only same-app actions are allowed.
  case locked
  /// The person has locked everything but same-app actions down.
  case lockdown
}

extension Reason {
  /// What it is where that is certain.
  public var certain: Reason { if case .couldBe(let reason) = self { reason.certain } else { self } }
}

/// What an allow or a private decision still demands (product.md 2).
public struct Obligations: Hashable, Sendable {
  /// Only these targets: globs, or the classes `text html rtf image files other`; `nil` when all.
  public var targets: [TargetPattern]?
  /// Only plain text targets are passed on.
  public var plainText = false
  /// The largest representation in bytes.
  public var maxSize: Int?
  /// Seconds after which the clip is dropped.
  public var expiresAfterSeconds: Int?
  /// The clip is wiped after the first paste.
  public var oneShot = false
  /// The board it is mirrored to, and whose members are a private clip's audience.
  public var board: String?
  /// A private clip's audience is no board but its own app: it has none, or two rulesets name different ones.
  public var isAppAlone = false
  /// Text delivered for text targets instead of a refusal.
  public var replacement: String?
  /// Whether the person is told; `nil` for the default (refusals and asks are).
  public var notify: Bool?
  /// Whether an audit record is written; `nil` for the default (refusals and asks are).
  public var audit: Bool?
  /// The administrator's words for the person.
  public var message: String?
  /// The source keeps nothing readable by others even for a moment (product.md 7).
  public var protect = false
  /// What would have been decided if the ruleset were enforced, where that is stricter than what is.
  public var notEnforced: Verdict?

  /// Demands nothing.
  public init() {}

  /// What is left of the terms of a rule that isn't enforced: nothing that keeps content back, and what it would decide.
  func recording(_ verdict: Verdict) -> Obligations {
    var left = Obligations()
    (left.audit, left.notify, left.message) = (audit, notify, message)
    left.notEnforced = verdict == .allow ? nil : verdict
    return left
  }
}

/// Permission to move content. Only what `PolicySet.evaluate` decided has one, so that content can't move undecided.
public struct Grant: Hashable, Sendable {
  /// Why it was given.
  public let reason: Reason

  init(reason: Reason) { self.reason = reason }
}

/// A verdict with its reason and what it demands.
public struct Decision: Hashable, Sendable {
  /// What was decided.
  public let verdict: Verdict
  /// By what.
  public let reason: Reason
  /// On which terms.
  public let obligations: Obligations
  /// Present exactly when content may move: for `allow`, for `private` of a copy or cut, and for an `ask` that the person
  /// has allowed once.
  public let grant: Grant?

  init(verdict: Verdict, reason: Reason, obligations: Obligations = Obligations(), grants: Bool) {
    self.verdict = verdict
    self.reason = reason
    self.obligations = obligations
    grant = grants ? Grant(reason: reason) : nil
  }

  /// Whether it waits for the person's word.
  public var isAwaitingPerson: Bool { verdict == .ask && grant == nil }

  /// The same once the person has allowed it: an `ask` then lets content move, on its own terms. Nothing else changes.
  public var allowedOnce: Decision {
    isAwaitingPerson ? Decision(verdict: .ask, reason: reason, obligations: obligations, grants: true) : self
  }
}

/// What `PolicySet.evaluate` answers.
public enum Evaluation: Hashable, Sendable {
  /// The request is decided.
  case decided(Decision)
  /// A rule about targets, sizes or sensitivity may decide, and the request doesn't say the content yet.
  case needsContent
}

/// Who may read a clip.
public enum Audience: Hashable, Sendable {
  /// Every app, as far as the paste rules say.
  case everyone
  /// The members of this board.
  case board(String)
  /// The app it came from, alone.
  case app
}
