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
  /// What has to hold, by key and in the keys' order.
  public private(set) var conditions: [Condition] = []
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

  /// The condition of this key; `nil` where it demands nothing. What is set has to be of the key.
  public subscript(_ key: Condition.Key) -> Condition? {
    get { conditions.firstIndex { $0.key == key }.map { conditions[$0] } }
    set {
      precondition(newValue.map { $0.key == key } ?? true, "a condition of another key")
      if let place = conditions.firstIndex(where: { $0.key == key }) { conditions.remove(at: place) }
      guard let newValue else { return }
      let next = conditions.firstIndex { $0.key.place > key.place }
      conditions.insert(newValue, at: next ?? conditions.endIndex)
    }
  }

  /// What comes of it where it decides.
  var outcome: Outcome {
    guard !isEnforced else { return Outcome(verdict: verdict, reason: .rule(reference), obligations: obligations) }
    return Outcome(verdict: .allow, reason: .rule(reference), obligations: obligations.recording(verdict))
  }

  // MARK: actions

  /// The actions that it can decide. Drags are pastes where nothing else is said: a rule about pastes is about them, and one that
  /// keeps copies private keeps private what is dragged. A rule about single selections says nothing of them, since a drag is
  /// on none. `to` leaves pastes and drags, and `ask` has no meaning for copies.
  public var decidedActions: Set<Action> {
    let bits = decidedActionBits
    return Set(Action.allCases.filter { bits.contains(ActionBits($0)) })
  }

  /// Whether it can decide `action`.
  public func decides(_ action: Action) -> Bool { decidedActionBits.contains(ActionBits(action)) }

  /// The same as bits.
  var decidedActionBits: ActionBits {
    var decided = ownActionBits
    if appsReceivesDrags(decided) { decided.insert(.drag) }
    return decided
  }

  /// The parts of which it consists: each demands one thing of each of the two apps, and it matches where one of them does.
  ///
  /// `apps` is who acts. A drag has two who do: the app that receives it, where the rule is about drags as pastes, and the
  /// app in which it begins, where the rule names drags or denies that app everything.
  var parts: [Rule] {
    guard let apps, appsReceivesDrags(ownActionBits) else { return [self] }
    var received = self
    received.apps = nil
    received.to = apps
    received.actions = actions?.contains(.drag) ?? false ? [.paste, .drag] : [.paste]
    return [self, received]
  }

  /// Whether a drag over the app that `apps` means is decided by it, as a paste is.
  private func appsReceivesDrags(_ decided: ActionBits) -> Bool {
    apps != nil && decided.contains(.paste) && selections == nil
  }

  /// What it decides where `apps` is the app in which a drag begins.
  var ownActionBits: ActionBits {
    var named: ActionBits?
    var (hasTo, hasApps, hasSelection) = (false, false, false)
    // One pass: this is asked of ten thousand rules several times.
    for condition in conditions {
      switch condition {
      case .actions(let actions): named = actions.reduce(into: ActionBits()) { $0.insert(ActionBits($1)) }
      case .to: hasTo = true
      case .apps: hasApps = true
      case .selection: hasSelection = true
      case .from, .targets, .size, .sensitive, .sameApp: break
      }
    }
    var decided = ActionBits.all
    if let named { decided = named.contains(.paste) ? named.union(.drag) : named }
    if hasTo { decided.formIntersection([.paste, .drag]) }
    switch verdict {
    case .private:
      decided.subtract([.paste, .drag])
      if !decided.isEmpty { decided.insert(.drag) }
    case .ask: decided = decided.contains(.paste) ? [.paste, .drag] : []
    case .allow, .deny: break
    }
    let isDragNamed = named?.contains(.drag) ?? false
    let isOfPastesAlone = hasApps && verdict != .private && (named != nil || verdict != .deny)
    if !isDragNamed, hasSelection || isOfPastesAlone { decided.remove(.drag) }
    return decided
  }

  // MARK: conditions by their names

  /// Who copies or cuts, or whose clip is pasted or dragged.
  public var from: Matcher? {
    get { if case .from(let matcher)? = self[.from] { matcher } else { nil } }
    set { self[.from] = newValue.map { .from($0) } }
  }
  /// Who pastes, or has something dragged over it; the rule then matches pastes and drags only.
  public var to: Matcher? {
    get { if case .to(let matcher)? = self[.to] { matcher } else { nil } }
    set { self[.to] = newValue.map { .to($0) } }
  }
  /// Who acts: `from` for copy, cut and drag, `to` for paste.
  public var apps: Matcher? {
    get { if case .apps(let matcher)? = self[.apps] { matcher } else { nil } }
    set { self[.apps] = newValue.map { .apps($0) } }
  }
  /// Which actions; `nil` for all that the decision can answer.
  public var actions: Set<Action>? {
    get { if case .actions(let actions)? = self[.actions] { actions } else { nil } }
    set { self[.actions] = newValue.map { .actions($0) } }
  }
  /// `clipboard`, `primary`, `secondary` or boards; `nil` for all.
  public var selections: [String]? {
    get { if case .selection(let names)? = self[.selection] { names } else { nil } }
    set { self[.selection] = newValue.map { .selection($0) } }
  }
  /// Which targets; `nil` for all.
  public var targets: [TargetPattern]? {
    get { if case .targets(let patterns)? = self[.targets] { patterns } else { nil } }
    set { self[.targets] = newValue.map { .targets($0) } }
  }
  /// Which sizes; `nil` for all.
  public var size: SizeRange? {
    get { if case .size(let range)? = self[.size] { range } else { nil } }
    set { self[.size] = newValue.map { .size($0) } }
  }
  /// Whether the source marked the clip secret; `nil` for both.
  public var isSensitive: Bool? {
    get { if case .sensitive(let wanted)? = self[.sensitive] { wanted } else { nil } }
    set { self[.sensitive] = newValue.map { .sensitive($0) } }
  }
  /// Whether it also decides pastes of an app's own clips.
  public var includesSameApp: Bool {
    get { self[.sameApp] != nil }
    set { self[.sameApp] = newValue ? .sameApp : nil }
  }

  // MARK: what they mean together

  /// Whether it is about apps that aren't known for certain.
  public var namesUnknown: Bool { conditions.contains(where: \.namesUnknown) }

  /// Whether it can only be judged once the content is known.
  public var needsContent: Bool { conditions.contains(where: \.needsContent) }

  /// Whether it may decide on `selection`, or on any when that is `nil`.
  func concerns(_ selection: String?) -> Bool {
    selection.map { name in conditions.allSatisfy { $0.concerns(selection: name) } } ?? true
  }

  /// Whether it decides every `action` on `selection`, or on any when that is `nil`, of an app of which it is known that it is
  /// the one demanded on `side`; of an app's own clips it may say nothing.
  func isUnconditional(for action: Action, by side: Condition.Side = .source, on selection: String?) -> Bool {
    conditions.allSatisfy { $0.holdsAlways(for: action, by: side, on: selection) }
  }

  /// What it demands of the source of an action.
  func sourceMatcher(for action: Action) -> Matcher? { matcher(on: .source, of: action) }

  /// What it demands of who receives.
  func destinationMatcher(for action: Action) -> Matcher? { matcher(on: .destination, of: action) }

  private func matcher(on side: Condition.Side, of action: Action) -> Matcher? {
    let demands = conditions.compactMap { $0.demand(on: side, of: action) }
    return demands.count > 1 ? .allOf(demands) : demands.first
  }

  /// Whether it is known that this decides everything that `other`, a later rule of the same ruleset, could decide.
  public func covers(_ other: Rule, groups: [String: Matcher] = [:]) -> Bool {
    other.parts.allSatisfy { theirs in
      parts.contains { mine in
        mine.ownActionBits.isSuperset(of: theirs.ownActionBits)
          && mine.covers(theirs, groups, theirs: theirs.ownActionBits)
      }
    }
  }

  /// The same, where this rule has all actions of the other: `theirs`.
  func covers(_ other: Rule, _ groups: [String: Matcher], theirs: ActionBits) -> Bool {
    guard conditions.allSatisfy({ $0.covers(other[$0.key]) }), !other.includesSameApp || includesSameApp
    else { return false }
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
