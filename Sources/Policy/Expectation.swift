/// An `expect:` row: a request and what the administrator wants to be decided.
public struct Expectation: Hashable, Sendable {
  /// Where it is written.
  public var position: SourcePosition
  /// What is asked.
  public var request: Request
  /// What is wanted; for a paste, after the copy that it takes (see `PolicySet.outcome`).
  public var verdict: Verdict

  /// Expects `verdict` for `request`.
  public init(position: SourcePosition, request: Request, verdict: Verdict) {
    self.position = position
    self.request = request
    self.verdict = verdict
  }
}

/// An expectation that the policy doesn't meet.
public struct FailedExpectation: Hashable, Sendable, CustomStringConvertible {
  /// What was wanted.
  public var expectation: Expectation
  /// What the policy says instead.
  public var evaluation: Evaluation

  /// `expected …, the policy decides …`
  public var message: String {
    let found =
      switch evaluation {
      case .needsContent: "the answer depends on the content: add `target:` and `size:`"
      case .decided(let decision): "the policy decides `\(decision.verdict)`, by \(decision.reason)"
      }
    return "expected `\(expectation.verdict)`, \(found)"
  }

  /// `file:line:column: expected …, the policy decides …`
  public var description: String { "\(expectation.position): \(message)" }
}
