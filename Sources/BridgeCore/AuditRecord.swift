import ContentActions
import Policy

/// What happened to a decision. No part of this type can hold content (architecture.md, "content never prints").
public struct AuditRecord: Hashable, Sendable {
  /// What was done or asked.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A selection was taken.
    case copy
    /// A selection was taken, known to be a cut.
    case cut
    /// Content was asked for.
    case paste
    /// What is being dragged was asked for.
    case drag
    /// The list of targets or other metadata was asked for.
    case list
    /// The source cleared the selection.
    case clear
    /// A clip's time ran out, or its one paste was done.
    case expire
    /// An action of the edit menu was run on a clip.
    case action
    /// The person allowed a paste once, or what was allowed ended unused.
    case allowOnce = "allow-once"

    /// That of what somebody does or asks for.
    public init(_ action: Action) {
      switch action {
      case .copy: self = .copy
      case .cut: self = .cut
      case .paste: self = .paste
      case .drag: self = .drag
      }
    }
  }

  /// How it ended.
  public enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// A clip is held whole.
    case kept
    /// A clip is held without some of its targets: they failed, came too late or were left out by rule.
    case keptInPart = "kept-in-part"
    /// Content or metadata was handed over.
    case served
    /// The rule's replacement text was handed over.
    case replaced
    /// Answered with None, or with metadata only.
    case refused
    /// The key that would have begun it didn't reach the program.
    case refusedByKey = "refused-by-key"
    /// The copy was denied: the selection is held empty.
    case emptied
    /// The selection stays with its owner.
    case left
    /// A transfer began and didn't end: the peer went away or stood still.
    case incomplete
    /// The clip is gone.
    case dropped
    /// An action gave no result.
    case failed
    /// The person allowed the next paste.
    case granted
  }

  /// Which named limit of product.md 9 ended it.
  public enum Limit: String, Hashable, Sendable, CaseIterable {
    /// The owner didn't answer TARGETS.
    case targetsTimeout = "targets-timeout"
    /// The whole capture took too long.
    case captureTimeout = "capture-timeout"
    /// One transfer stood still.
    case idleTimeout = "idle-timeout"
    /// The clip is too large.
    case clipSize = "clip-size"
    /// All clips and transfers together are too large.
    case totalSize = "total-size"
    /// The owner lists too many targets.
    case targetCount = "target-count"
    /// The MULTIPLE request has too many pairs.
    case pairCount = "pair-count"
    /// Too many transfers to one X client.
    case transfersPerClient = "transfers-per-client"
    /// Too many transfers in all.
    case transferCount = "transfer-count"
    /// A rival takes the selection back again and again.
    case rival
    /// One X client is refused again and again.
    case flood
    /// A board has no room: its quota is full, or filled by pinned items.
    case boardQuota = "board-quota"
    /// The source didn't show its content in time for a press of the middle button to be decided.
    case pressTimeout = "press-timeout"
    /// Too many actions at once, or one after the other.
    case actionCount = "action-count"
    /// A protected source copied so late after its key that others had to be let go.
    case lockTimeout = "lock-timeout"
    /// A protected source didn't give this after its copy had been taken from it.
    case afterLoss = "after-loss"
  }

  /// What was done.
  public var kind: Kind
  /// The selection or board.
  public var selection: String
  /// Who copied, or who the clip came from; `nil` where there is no clip.
  public var source: Subject?
  /// Who pastes or lists.
  public var destination: Subject?
  /// The targets concerned, by name.
  public var targets: [String]
  /// Targets of a copy that the source offers and that are not kept: it didn't give them, or a rule leaves them out.
  public var leftOut: [String] = []
  /// Bytes moved or kept.
  public var bytes: Int
  /// The verdict.
  public var verdict: Verdict
  /// The rule or default behind it.
  public var reason: Reason
  /// How it ended.
  public var outcome: Outcome
  /// The limit that was reached, if one was.
  public var limit: Limit?
  /// How many equal events this record stands for, at least 1.
  public var count: Int
  /// Which action was run, by its file's name.
  public var actionName: String?
  /// Why an action gave no result.
  public var failure: ActionFailure?
  /// The rule's `message:`, for the person.
  public var message: String?
  /// What a ruleset that isn't enforced would have decided, where that is stricter.
  public var notEnforced: Verdict?
  /// Whether the person is to be told.
  public var notifies: Bool
  /// Whether it is written even when only refusals are (`audit: true`, a refusal, an ask or a limit).
  public var isAlwaysWritten: Bool

  /// Describes what happened.
  public init(
    kind: Kind, selection: String, source: Subject?, destination: Subject? = nil, targets: [String] = [],
    bytes: Int = 0, verdict: Verdict, reason: Reason, outcome: Outcome, limit: Limit? = nil, count: Int = 1,
    actionName: String? = nil, message: String? = nil, notifies: Bool = false, isAlwaysWritten: Bool = false
  ) {
    self.kind = kind
    self.selection = selection
    self.source = source
    self.destination = destination
    self.targets = targets
    self.bytes = bytes
    self.verdict = verdict
    self.reason = reason
    self.outcome = outcome
    self.limit = limit
    self.count = count
    self.actionName = actionName
    self.message = message
    self.notifies = notifies
    self.isAlwaysWritten = isAlwaysWritten
  }
}
