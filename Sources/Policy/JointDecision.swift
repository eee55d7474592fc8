/// What is made of a clip is decided as the clip itself, and as content of the program that made it.
extension PolicySet {
  /// Decides requests about one piece of content that all have to be allowed: the strictest verdict with its reason, and the
  /// terms of all of them together. Content is known in every one.
  public func evaluate(all requests: [Request]) -> Decision {
    precondition(!requests.isEmpty, "nothing to decide")
    let decisions = requests.map { request in
      guard case .decided(let decision) = evaluate(request) else {
        preconditionFailure("a request with its content known can always be decided")
      }
      return decision
    }
    return decisions.dropFirst().reduce(decisions[0]) { $0.joined(with: $1) }
  }
}

extension Decision {
  /// Both together: neither is loosened by the other.
  func joined(with other: Decision) -> Decision {
    guard
      var joint = Outcome.stricter(
        managed: Outcome(verdict: verdict, reason: reason, obligations: obligations),
        user: Outcome(verdict: other.verdict, reason: other.reason, obligations: other.obligations))
    else { preconditionFailure("two outcomes have a stricter one") }
    if verdict == other.verdict, obligations.board != other.obligations.board { joint.obligations.isAppAlone = true }
    return Decision(
      verdict: joint.verdict, reason: joint.reason, obligations: joint.obligations,
      grants: grant != nil && other.grant != nil)
  }
}
