import Policy

/// Which policy is in force, and how it came to be.
final class PolicyInForce {
  /// How the policy stands.
  enum Standing: String, Hashable, CaseIterable {
    /// What the files say is in force.
    case inForce = "in-force"
    /// The files have errors; what they said before is still in force.
    case lastGood = "last-good"
    /// The files have had errors since the start; only same-app copy and paste is allowed.
    case locked
  }

  private let source: any PolicySource
  /// Where a lockdown is kept.
  let lockdown: Lockdown
  /// How it stands.
  private(set) var standing: Standing = .locked
  /// The set in force.
  private(set) var policy: PolicySet = .locked
  /// The files and rules in force.
  private(set) var inForce = PolicyReading(policy: .locked)
  /// What the last load said; its errors are the reason for `.lastGood` and `.locked`.
  private(set) var lastLoad = PolicyReading()
  /// Loads so far.
  private(set) var loads = 0

  /// Loads for the first time.
  init(source: any PolicySource, lockdown: Lockdown = Lockdown(mark: nil)) {
    self.source = source
    self.lockdown = lockdown
    load()
  }

  /// Reads the files; a set with any error changes nothing but the standing. True when a new set is in force.
  @discardableResult
  func load() -> Bool {
    loads += 1
    lastLoad = source.load()
    guard let policy = lastLoad.policy, lastLoad.errors.isEmpty else {
      if standing == .inForce { standing = .lastGood }
      return false
    }
    standing = .inForce
    self.policy = policy
    inForce = lastLoad
    return true
  }

  /// Whether everything but same-app copy and paste is refused until it is lifted.
  var isLockedDown: Bool { lockdown.isOn }

  /// The set in force, or what a lockdown leaves of it.
  var effective: PolicySet { isLockedDown ? policy.lockedDown : policy }

  /// The standing in one line, for people.
  var summary: String {
    isLockedDown ? "lockdown, only same-app copy and paste is allowed" : filesSummary
  }

  private var filesSummary: String {
    let files = "\(inForce.files.count) policy file\(inForce.files.count == 1 ? "" : "s")"
    let errors = "\(lastLoad.errors.count) error\(lastLoad.errors.count == 1 ? "" : "s")"
    switch standing {
    case .inForce: return inForce.files.isEmpty ? "no policy files, everything is allowed" : "\(files) in force"
    case .lastGood: return "\(errors) in the policy files, the last good policy stays in force"
    case .locked: return "locked: \(errors) in the policy files, only same-app copy and paste is allowed"
    }
  }
}
