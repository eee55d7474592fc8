// Drags are decided where a rule names them, and nowhere else: not by rules without `actions`, nor by defaults.
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

  private func foresight(_ side: Int, _ bits: [RuleBits]) -> DragForesight {
    let ruleset = rulesets[side]
    var mayPass = false
    var isRestricted = false
    for number in bits[Role.isDragged.rawValue] {
      let outcome = ruleset.outcomes[number]
      let isUnconditional = ruleset.rules[number].isUnconditional(for: .drag, on: nil)
      if outcome.isRestricting { isRestricted = true }
      if isUnconditional, outcome.verdict == .deny, outcome.obligations.replacement == nil, !mayPass { return .refused }
      if isUnconditional { break }
      if outcome.verdict == .allow { mayPass = true }
    }
    return isRestricted ? .open : .free
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
