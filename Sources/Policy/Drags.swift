// A drag is a paste: what may not be pasted may not be dragged there either, by rules about pastes, about private copies and
// by defaults. A rule that names `drag` alone is about drags alone.
extension PolicySet {
  /// Whether any drag can be decided otherwise than allowed: else nobody has to hear of drags.
  public var speaksOfDrags: Bool { isLocked || rulesets.contains { $0.speaksOfDrags } }

  /// What is certain of drags out of `source` when one begins, before anybody is seen who could receive it.
  public func foresight(ofDragsFrom source: Subject) -> DragForesight {
    if isLocked { return .refused }
    let profile = profile(of: source)
    let sides = [foresight(0, profile.managed), foresight(1, profile.user)]
    if sides.contains(.refused) { return .refused }
    return sides.contains(.open) ? .open : .free
  }

  private func foresight(_ side: Int, _ bits: RoleBits) -> DragForesight {
    let ruleset = rulesets[side]
    var mayPass = false
    var isTelling = false
    func refuses(_ outcome: Outcome) -> Bool {
      (outcome.verdict == .deny || outcome.verdict == .ask) && outcome.obligations.replacement == nil && !mayPass
    }
    for number in bits.met(.isDragged) {
      let outcome = ruleset.outcomes[number]
      let isUnconditional = ruleset.rules[number].isUnconditional(for: .drag, on: nil)
      if outcome.isTelling { isTelling = true }
      if isUnconditional, refuses(outcome) { return .refused }
      // What only could be about it lets nothing pass, and ends nothing.
      guard bits.isSure(number, .isDragged) else { continue }
      if isUnconditional { return isTelling ? .open : .free }
      if outcome.verdict == .allow || outcome.verdict == .private { mayPass = true }
    }
    guard let byDefault = ruleset.defaultDecision?.outcome(for: .drag), byDefault.isTelling else {
      return isTelling ? .open : .free
    }
    return refuses(byDefault) ? .refused : .open
  }

  /// The answer to a drag that rules decide so. A private one is for its audience alone, and nobody can be asked in the middle of
  /// a drag.
  func decision(ofDrag outcome: Outcome, _ request: Request) -> Decision {
    var terms = outcome.obligations
    switch outcome.verdict {
    case .allow, .deny: break
    case .ask: return Decision(verdict: .deny, reason: outcome.reason, obligations: terms, grants: false)
    case .private:
      let kept = Decision(verdict: .private, reason: outcome.reason, obligations: terms, grants: true)
      let audience = audience(of: kept, copiedBy: request.source)
      if let denial = denial(
        byAudience: audience, copiedUnder: outcome.reason, from: request.source, to: request.destination ?? .unknown)
      {
        return denial
      }
      (terms.board, terms.isAppAlone) = (nil, false)
      return Decision(verdict: .allow, reason: outcome.reason, obligations: terms, grants: true)
    }
    return Decision(
      verdict: outcome.verdict, reason: outcome.reason, obligations: terms, grants: outcome.verdict == .allow)
  }

  /// The answer to a drag with the terms of the rule taken into account: what they leave out is refused.
  func outcomeOfDrag(_ request: Request) -> Evaluation {
    guard case .decided(let decision) = evaluate(request) else { return .needsContent }
    return .decided(narrowed(decision, [decision], request.content))
  }
}

/// What can be said of an app's drags before anybody is seen who could receive one.
public enum DragForesight: Hashable, Sendable {
  /// Every app may have what is dragged, as it is.
  case free
  /// No other app may have any of it.
  case refused
  /// The app that asks, or the content, decides; or only a part may be had.
  case open
}
