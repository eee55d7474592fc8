extension PolicySet {
  /// Whether any rule could answer anything but a plain allow for a clip of `subject`: such a source is *restricted*.
  public func isRestricted(_ subject: Subject) -> Bool {
    if isLocked { return true }
    let profile = profile(of: subject)
    return mayRestrict(0, profile.managed) || mayRestrict(1, profile.user)
  }

  private func mayRestrict(_ side: Int, _ bits: [RuleBits]) -> Bool {
    let ruleset = rulesets[side]
    for (role, action) in [(Role.copies, Action.copy), (.cuts, .cut), (.isPasted, .paste)] {
      var endsInAllow = false
      for number in bits[role.rawValue] {
        if ruleset.outcomes[number].isRestricting { return true }
        if ruleset.rules[number].isUnconditional(for: action) {
          endsInAllow = true
          break
        }
      }
      if !endsInAllow, let byDefault = ruleset.defaultDecision, byDefault.verdict(for: action) != .allow { return true }
    }
    return false
  }

  /// Whether a rule with `protect: true` matches what `subject` copies: nobody may read it even for a moment.
  public func isProtected(_ subject: Subject) -> Bool {
    guard !isLocked else { return false }
    let profile = profile(of: subject)
    for (ruleset, bits) in zip(rulesets, [profile.managed, profile.user]) {
      for role in [Role.copies, .cuts] {
        for number in bits[role.rawValue] where ruleset.rules[number].obligations.protect { return true }
      }
    }
    return false
  }

  /// Whether `subject` may never do `action` on CLIPBOARD, whatever the content and the other app: then its keys can be
  /// grabbed (product.md 7). An app may paste its own clips unless a rule says `same-app: true`; hence only such a rule
  /// answers yes for a paste.
  public func alwaysDenies(_ action: Action, by subject: Subject) -> Bool {
    guard action == .paste else {
      guard case .decided(let decision) = evaluate(Request(action: action, source: subject)) else { return false }
      return decision.verdict == .deny
    }
    guard !isLocked else { return false }
    let profile = profile(of: subject)
    return zip(rulesets, [profile.managed, profile.user]).contains { ruleset, bits in
      for number in bits[Role.pastes.rawValue] {
        let rule = ruleset.rules[number]
        if rule.verdict != .deny { return false }
        let isCertain = !rule.needsContent && rule.selections == nil && (rule.from ?? .any) == .any
        if isCertain, rule.includesSameApp { return true }
      }
      return false
    }
  }

  /// Decides a request as the daemon would meet it: a paste needs a copy before it, whose verdict, audience and terms
  /// count too. `policy explain`, `policy simulate` and the expectations ask this.
  public func outcome(of request: Request) -> Evaluation {
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
    guard let content = request.content, served.verdict == .allow else { return .decided(served) }
    for decision in [kept, served] where !decision.obligations.permits(content) {
      return .decided(
        Decision(verdict: .deny, reason: decision.reason, obligations: decision.obligations, grants: false))
    }
    return .decided(served)
  }

  /// The expectations of all files that the policy doesn't meet.
  public func failedExpectations() -> [FailedExpectation] {
    (managed.expectations + user.expectations).compactMap { expectation in
      let evaluation = outcome(of: expectation.request)
      if case .decided(let decision) = evaluation, decision.verdict == expectation.verdict { return nil }
      return FailedExpectation(expectation: expectation, evaluation: evaluation)
    }
  }
}

extension Rule {
  /// Whether it decides every `action` of an app that it matches.
  fileprivate func isUnconditional(for action: Action) -> Bool {
    !needsContent && selections == nil && (action != .paste || (destinationMatcher ?? .any) == .any)
  }
}

extension Obligations {
  /// Whether a representation passes `only-targets`, `plain-text` and `max-size`.
  public func permits(_ content: ContentFacts) -> Bool {
    if plainText, TargetClass(targetNamed: content.target) != .text { return false }
    if let maxSize, content.size > maxSize { return false }
    return targets?.contains { $0.matches(content.target) } ?? true
  }
}
