/// A request of the past, of whose content a record says only a part.
public struct RecordedRequest: Hashable, Sendable {
  /// What was asked; without content.
  public var request: Request
  /// The targets it was about; empty where the record names none.
  public var targets: [String]
  /// The size in bytes of the one target; `nil` where the record doesn't say it.
  public var size: Int?

  /// A request about `targets`, the one of them with `size` bytes if that is known.
  public init(_ request: Request, targets: [String] = [], size: Int? = nil) {
    self.request = request
    self.targets = targets
    self.size = size
  }
}

/// What a policy says of a request of which a part is unknown.
public enum ReplayedDecision: Hashable, Sendable {
  /// The same verdict whatever the unknown part is; the reason is that of one such answer.
  case certain(Decision)
  /// It depends on what isn't known.
  case open(Unknown)

  /// What would have to be known.
  public enum Unknown: String, Hashable, Sendable, CaseIterable {
    /// Which representations there were.
    case targets
    /// How large they were, or whether the source marked them secret.
    case content
  }
}

extension PolicySet {
  /// Sizes tried for one request. Our choice: policies name a handful of sizes; beyond, the answer counts as unknown.
  private static let triedSizes = 256

  /// What this policy, put into effect, decides of `recorded`; never a guess.
  public func replay(_ recorded: RecordedRequest) -> ReplayedDecision {
    let policy = whenEnforced
    var request = recorded.request
    request.content = nil
    if case .decided(let decision) = policy.outcome(of: request), policy.isIndifferentToTerms(request) {
      return .certain(decision)
    }
    guard !recorded.targets.isEmpty else { return .open(.targets) }
    let sizes = recorded.size.map { [$0] } ?? policy.tellingSizes
    guard sizes.count <= Self.triedSizes else { return .open(.content) }
    var first: Decision?
    for target in recorded.targets {
      for size in sizes {
        for isSensitive in [false, true] {
          request.content = ContentFacts(target: target, size: size, isSensitive: isSensitive)
          guard case .decided(let decision) = policy.outcome(of: request) else { return .open(.content) }
          if let first, first.verdict != decision.verdict { return .open(.content) }
          first = first ?? decision
        }
      }
    }
    return first.map { .certain($0) } ?? .open(.targets)
  }

  /// Whether a verdict that was given without the content stays the same with it: a term such as `max-size` can refuse a
  /// paste that the rules allow.
  private func isIndifferentToTerms(_ request: Request) -> Bool {
    guard request.action == .paste else { return true }
    var copy = request
    copy.action = .copy
    copy.destination = nil
    for one in [copy, request] {
      guard case .decided(let decision) = evaluate(one) else { return false }
      let terms = decision.obligations
      if decision.verdict == .deny { return true }
      if terms.targets != nil || terms.plainText || terms.maxSize != nil { return false }
    }
    return true
  }

  /// A size from each stretch between the bounds that rules name.
  private var tellingSizes: [Int] {
    var sizes: Set<Int> = [0]
    for rule in managed.rules + user.rules {
      for bound in [rule.size?.over, rule.size?.upTo, rule.obligations.maxSize] {
        guard let bound else { continue }
        sizes.formUnion([bound, bound + 1])
      }
    }
    return sizes.sorted()
  }
}
