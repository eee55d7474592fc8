extension PolicySet {
  /// Whether any rule could answer anything but a plain allow for a clip of `subject`, on `selection` or, without it, on
  /// any: such a source is *restricted*.
  public func isRestricted(_ subject: Subject, on selection: String? = nil) -> Bool {
    if isLocked { return true }
    let profile = profile(of: subject)
    return mayRestrict(0, profile.managed, selection) || mayRestrict(1, profile.user, selection)
  }

  private func mayRestrict(_ side: Int, _ bits: RoleBits, _ selection: String?) -> Bool {
    let ruleset = rulesets[side]
    for (role, action) in [(Role.copies, Action.copy), (.cuts, .cut), (.isPasted, .paste)] {
      var endsInAllow = false
      for number in bits.met(role) where ruleset.rules[number].concerns(selection) {
        if ruleset.outcomes[number].isRestricting { return true }
        if bits.isSure(number, role), ruleset.rules[number].isUnconditional(for: action, on: selection) {
          endsInAllow = true
          break
        }
      }
      if !endsInAllow, let byDefault = ruleset.defaultDecision, byDefault.outcome(for: action).verdict != .allow {
        return true
      }
    }
    return false
  }

  /// Whether a rule with `protect: true` matches what `subject` copies, on `selection` or, without it, on any: nobody may
  /// read it even for a moment.
  public func isProtected(_ subject: Subject, on selection: String? = nil) -> Bool {
    // In a lockdown it counts as before: what is copied then is for nobody else, either.
    let profile = profile(of: subject)
    for (ruleset, bits) in zip(rulesets, [profile.managed, profile.user]) {
      for role in [Role.copies, .cuts] {
        for number in bits.met(role) where ruleset.rules[number].concerns(selection) {
          if ruleset.outcomes[number].obligations.protect { return true }
        }
      }
    }
    return false
  }

  /// Whether `subject` may never do `action` on CLIPBOARD, whatever the content and the other app: then its keys can be
  /// grabbed (product.md 7).
  public func alwaysDenies(_ action: Action, by subject: Subject) -> Bool {
    staticDenial(of: action, by: subject) != nil
  }

  /// What is certain of a paste before anything is known of the content: for the moment at which somebody is about to
  /// paste from a selection that its source still owns (product.md 6).
  public func foresight(ofPasteBy destination: Subject, from source: Subject, on selection: String) -> Foresight {
    let paste = Request(action: .paste, source: source, destination: destination, selection: selection)
    if destination.isSameApp(as: source) {
      guard case .decided(let decision) = evaluate(paste) else { return .open }
      return decision.grant == nil ? .refused(decision) : .free(decision)
    }
    guard case .decided(let decision) = outcome(of: paste) else { return .open }
    // A replacement text is handed over by whoever owns the selection.
    if decision.verdict != .allow { return decision.obligations.replacement == nil ? .refused(decision) : .open }
    let copy = Request(action: .copy, source: source, selection: selection)
    guard case .decided(let kept) = evaluate(copy), !kept.obligations.isNarrowing, !decision.obligations.isNarrowing
    else { return .open }
    return .free(decision)
  }

  /// Decides a request as the daemon would meet it: a paste needs a copy before it, whose verdict, audience and terms
  /// count too. `policy explain`, `policy simulate` and the expectations ask this.
  public func outcome(of request: Request) -> Evaluation {
    guard request.action != .drag else { return outcomeOfDrag(request) }
    guard request.action == .paste else { return evaluate(request) }
    var copy = request
    copy.action = .copy
    copy.destination = nil
    guard case .decided(let kept) = evaluate(copy) else { return .needsContent }
    guard kept.verdict != .deny else { return .decided(kept) }
    let destination = request.destination ?? .unknown
    let audience = audience(of: kept, copiedBy: request.source)
    if let denial = denial(byAudience: audience, copiedUnder: kept.reason, from: request.source, to: destination) {
      return .decided(denial)
    }
    guard case .decided(let served) = evaluate(request) else { return .needsContent }
    return .decided(narrowed(served, [kept, served], request.content))
  }

  /// `decision`, or a denial where the terms of one of `decisions` leave this content out.
  func narrowed(_ decision: Decision, _ decisions: [Decision], _ content: ContentFacts?) -> Decision {
    guard let content, decision.verdict == .allow else { return decision }
    for term in decisions where !term.obligations.permits(content) {
      return Decision(verdict: .deny, reason: term.reason, obligations: term.obligations, grants: false)
    }
    return decision
  }

  /// The expectations of all files that the policy doesn't meet; of rules that aren't enforced, as if they were.
  public func failedExpectations() -> [FailedExpectation] {
    let policy = whenEnforced
    return (managed.expectations + user.expectations).compactMap { expectation in
      let evaluation = policy.outcome(of: expectation.request)
      if case .decided(let decision) = evaluation, decision.verdict == expectation.verdict { return nil }
      return FailedExpectation(expectation: expectation, evaluation: evaluation)
    }
  }
}

/// What can be said of a paste before its content is known.
public enum Foresight: Hashable, Sendable {
  /// Allowed as the source offers it: nothing is left out, replaced or wiped.
  case free(Decision)
  /// Refused, whatever the content.
  case refused(Decision)
  /// Only the content tells, or what is handed over differs from what the source has.
  case open
}

extension Obligations {
  /// Whether a representation passes `only-targets`, `plain-text` and `max-size`.
  public func permits(_ content: ContentFacts) -> Bool {
    if plainText, TargetClass(targetNamed: content.target) != .text { return false }
    if let maxSize, content.size > maxSize { return false }
    return targets?.contains { $0.matches(content.target) } ?? true
  }
}
