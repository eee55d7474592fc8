/// What one ruleset says of a request.
struct Outcome: Hashable, Sendable {
  var verdict: Verdict
  var reason: Reason
  var obligations = Obligations()
}

extension Outcome {
  /// The answer of both rulesets: the stricter verdict with its reason; of equal ones the managed ruleset's.
  ///
  /// What narrows the content that moves adds up whatever the verdicts: a user's stricter rule must not do away with
  /// the managed rule's terms.
  static func stricter(managed: Outcome?, user: Outcome?) -> Outcome? {
    guard let managed, let user else { return managed ?? user }
    var result = user.verdict > managed.verdict ? user : managed
    if user.verdict > managed.verdict {
      // A user's stricter rule must not leave fewer records than there would be without it.
      result.obligations.audit = managed.obligations.audit == true || user.obligations.audit == true ? true : nil
    }
    if managed.verdict == user.verdict {
      result.obligations = .combined(managed: managed.obligations, user: user.obligations)
    }
    let unenforced = [managed.obligations.notEnforced, user.obligations.notEnforced].compactMap(\.self).max()
    result.obligations.notEnforced = unenforced.flatMap { $0 > result.verdict ? $0 : nil }
    if result.verdict != .deny {
      result.obligations.narrow(by: managed.obligations)
      result.obligations.narrow(by: user.obligations)
    }
    return result
  }

  /// Whether there is something to do or to write down because of it.
  var isTelling: Bool { isRestricting || obligations.notEnforced != nil }

  /// Whether it differs from a plain allow.
  var isRestricting: Bool { verdict != .allow || obligations.isNarrowing }
}

extension Obligations {
  /// Whether any content, time or reader is kept back.
  var isNarrowing: Bool {
    targets != nil || plainText || maxSize != nil || expiresAfterSeconds != nil || oneShot || protect
  }

  mutating func narrow(by other: Obligations) {
    targets = Obligations.both(targets, other.targets)
    plainText = plainText || other.plainText
    maxSize = Obligations.smaller(maxSize, other.maxSize)
    expiresAfterSeconds = Obligations.smaller(expiresAfterSeconds, other.expiresAfterSeconds)
    oneShot = oneShot || other.oneShot
    protect = protect || other.protect
  }

  /// What two equal verdicts demand together.
  ///
  /// Two boards can't both be *the* audience; then the app alone is (see `isAppAlone`). For `audit`, the user can add
  /// records and not suppress them; for `notify`, the managed ruleset's word counts where it says one.
  static func combined(managed: Obligations, user: Obligations) -> Obligations {
    var result = managed
    result.narrow(by: user)
    result.isAppAlone = managed.isAppAlone || user.isAppAlone
    result.board = managed.board ?? user.board
    result.replacement = managed.replacement ?? user.replacement
    result.message = managed.message ?? user.message
    result.notify = managed.notify == true || user.notify == true ? true : managed.notify ?? user.notify
    result.audit = managed.audit == true || user.audit == true ? true : managed.audit
    return result
  }

  private static func smaller(_ lhs: Int?, _ rhs: Int?) -> Int? {
    guard let lhs, let rhs else { return lhs ?? rhs }
    return min(lhs, rhs)
  }

  /// A target must be on both lists.
  private static func both(_ lhs: [TargetPattern]?, _ rhs: [TargetPattern]?) -> [TargetPattern]? {
    guard let lhs, let rhs else { return lhs ?? rhs }
    if lhs.allSatisfy({ mine in rhs.contains { $0.covers(mine) } }) { return lhs }
    if rhs.allSatisfy({ theirs in lhs.contains { $0.covers(theirs) } }) { return rhs }
    return lhs.flatMap { mine in rhs.map { .all([mine, $0]) } }
  }
}
