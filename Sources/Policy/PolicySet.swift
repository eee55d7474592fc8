/// The managed and the user ruleset together, compiled: everything that can be asked of a policy.
public struct PolicySet: Sendable {
  /// The limits in force.
  public var limits: Limits { Limits() }
  /// Whether no policy file said anything: everything is allowed.
  public var isEmpty: Bool { true }

  /// Allows everything: no policy files at all.
  public static let allowEverything = PolicySet()
  /// Allows same-app copy and paste only: the policy files can't be read (product.md 3).
  public static let locked = PolicySet()

  /// Decides a request: the first rule that matches within each ruleset, the stricter of the two.
  ///
  /// A paste of an app's own clip is allowed unless a rule that says `same-app: true` decides otherwise.
  public func evaluate(_ request: Request) -> Evaluation { .needsContent }

  /// The audience of a clip that `subject` copied under `decision`: for `private` the board the rule names, else the
  /// first board that `subject` is a member of, else the app alone.
  public func audience(of decision: Decision, copiedBy subject: Subject) -> Audience { .everyone }

  /// Decides whether `destination` may read a clip of `source` kept for `audience`; `nil` when it may, as far as the
  /// audience goes, else the denial with its reason.
  public func denial(
    byAudience audience: Audience, copiedUnder reason: Reason, from source: Subject, to destination: Subject
  ) -> Decision? { nil }

  /// Whether any rule could answer anything but allow for a clip of `subject`: such a source is *restricted*.
  public func isRestricted(_ subject: Subject) -> Bool { false }
}
