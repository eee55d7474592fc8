/// Sizes in bytes between two bounds.
public struct SizeRange: Hashable, Sendable {
  /// Matches more bytes than this.
  public var over: Int?
  /// Matches this many bytes at most.
  public var upTo: Int?

  /// Bounds a size from below, above or both.
  public init(over: Int? = nil, upTo: Int? = nil) {
    self.over = over
    self.upTo = upTo
  }

  /// Whether `size` lies between the bounds.
  public func contains(_ size: Int) -> Bool {
    if let over, size <= over { return false }
    if let upTo, size > upTo { return false }
    return true
  }

  func covers(_ other: SizeRange) -> Bool {
    if let over, (other.over ?? -1) < over { return false }
    if let upTo, (other.upTo ?? .max) > upTo { return false }
    return true
  }
}

/// One rule: what it matches, what it decides and on which terms.
public struct Rule: Hashable, Sendable {
  /// What the decision names.
  public var reference: RuleReference
  /// Who copies or cuts, or whose clip is pasted.
  public var from: Matcher?
  /// Who pastes, or has something dragged over it; the rule then matches pastes and drags only.
  public var to: Matcher?
  /// Who acts: `from` for copy, cut and drag, `to` for paste.
  public var apps: Matcher?
  /// Which actions; `nil` for copy, cut and paste, as far as the decision can answer them.
  public var actions: Set<Action>?
  /// `clipboard`, `primary`, `secondary` or boards; `nil` for all.
  public var selections: [String]?
  /// Which targets; `nil` for all.
  public var targets: [TargetPattern]?
  /// Which sizes; `nil` for all.
  public var size: SizeRange?
  /// Whether the source marked the clip secret; `nil` for both.
  public var isSensitive: Bool?
  /// Whether it also decides pastes of an app's own clips.
  public var includesSameApp = false
  /// What it decides.
  public var verdict: Verdict
  /// On which terms.
  public var obligations = Obligations()
  /// Whether the decision is put into effect; else it is only recorded, and what it would refuse is allowed.
  public var isEnforced = true

  /// A rule that matches everything and decides `verdict`.
  public init(_ reference: RuleReference, verdict: Verdict) {
    self.reference = reference
    self.verdict = verdict
  }

  /// The actions that it can decide: `to` leaves pastes and drags, `private` has no meaning for these, `ask` for nothing
  /// but a paste.
  public var decidedActions: Set<Action> {
    let bits = decidedActionBits
    return Set(Action.allCases.filter { bits.contains(ActionBits($0)) })
  }

  /// What comes of it where it decides.
  var outcome: Outcome {
    guard !isEnforced else { return Outcome(verdict: verdict, reason: .rule(reference), obligations: obligations) }
    return Outcome(verdict: .allow, reason: .rule(reference), obligations: obligations.recording(verdict))
  }

  /// Whether it can decide `action`.
  public func decides(_ action: Action) -> Bool { decidedActionBits.contains(ActionBits(action)) }

  /// The same as bits.
  var decidedActionBits: ActionBits {
    var decided = actions.map { $0.reduce(into: ActionBits()) { $0.insert(ActionBits($1)) } } ?? .byCommand
    if to != nil { decided.formIntersection([.paste, .drag]) }
    switch verdict {
    case .private: decided.subtract([.paste, .drag])
    case .ask: decided.formIntersection(.paste)
    case .allow, .deny: break
    }
    return decided
  }

  /// Whether it can only be judged once the content is known.
  public var needsContent: Bool { targets != nil || size != nil || isSensitive != nil }

  /// What it demands of the source of an action.
  func sourceMatcher(for action: Action) -> Matcher? {
    if action == .paste { return from }
    guard let from, let apps else { return from ?? apps }
    return .allOf([from, apps])
  }

  /// What it demands of who receives.
  func destinationMatcher(for action: Action) -> Matcher? {
    guard action == .paste else { return to }
    guard let to, let apps else { return to ?? apps }
    return .allOf([to, apps])
  }

  /// Whether what it demands of content is fulfilled.
  func matches(_ content: ContentFacts) -> Bool {
    if let isSensitive, isSensitive != content.isSensitive { return false }
    if let size, !size.contains(content.size) { return false }
    return targets?.contains { $0.matches(content.target) } ?? true
  }

  /// Whether it is known that this decides everything that `other`, a later rule of the same ruleset, could decide.
  public func covers(_ other: Rule, groups: [String: Matcher] = [:]) -> Bool {
    decidedActionBits.isSuperset(of: other.decidedActionBits)
      && covers(other, groups, theirs: other.decidedActionBits)
  }

  /// The same, where this rule has all actions of the other: `theirs`.
  func covers(_ other: Rule, _ groups: [String: Matcher], theirs: ActionBits) -> Bool {
    if let size { guard let their = other.size, size.covers(their) else { return false } }
    if let isSensitive, isSensitive != other.isSensitive { return false }
    if let targets {
      guard let their = other.targets else { return false }
      guard their.allSatisfy({ their in targets.contains { $0.covers(their) } }) else { return false }
    }
    guard !other.includesSameApp || includesSameApp else { return false }
    if let selections {
      guard let their = other.selections, Set(selections).isSuperset(of: their) else { return false }
    }
    func covers(_ mine: Matcher?, _ theirs: Matcher?) -> Bool {
      mine?.covers(theirs ?? .any, groups: groups) ?? true
    }
    return Action.allCases.allSatisfy { action in
      guard theirs.contains(ActionBits(action)) else { return true }
      return covers(sourceMatcher(for: action), other.sourceMatcher(for: action))
        && (!action.hasDestination
          || covers(destinationMatcher(for: action), other.destinationMatcher(for: action)))
    }
  }
}
