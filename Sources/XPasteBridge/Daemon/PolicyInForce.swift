import BoardStore
import Policy
import PolicyFile

/// Which policy is in force, and how it came to be. The managed side and the user's are loaded apart: a fault of one never
/// holds the other back.
final class PolicyInForce {
  /// How the policy, or one side of it, stands.
  enum Standing: String, Hashable, CaseIterable {
    /// What the files say is in force.
    case inForce = "in-force"
    /// The files have errors; what they said before is still in force.
    case lastGood = "last-good"
    /// The user's files have had errors since the start; none of their rules is in force.
    case leftOut = "left-out"
    /// The managed files have had errors since the start; only same-app copy and paste is allowed.
    case locked
  }

  /// One side: what is in force of it, and what its files said at the last look.
  struct Side {
    /// How it stands.
    fileprivate(set) var standing: Standing
    /// What is in force of it; empty while it is locked or left out.
    fileprivate(set) var ruleset = Ruleset()
    /// The files that say so.
    fileprivate(set) var files: [ReadPolicyFile] = []
    /// What the last load said; its errors are the reason for every standing but `.inForce`.
    fileprivate(set) var lastLoad = SideReading()

    /// The SHA-256 of one line `DIGEST  PATH` for each file in force, as `sha256sum FILES | sha256sum` computes it.
    var digest: String { Digest.sha256(Array(files.map { "\($0.digest)  \($0.path)\n" }.joined().utf8)) }
  }

  private let source: any PolicySource
  /// Where a lockdown is kept.
  let lockdown: Lockdown
  /// The vendor's and the administrator's side.
  private(set) var managed = Side(standing: .locked)
  /// The user's side.
  private(set) var user = Side(standing: .leftOut)
  /// Groups and boards that the user's ruleset in force was resolved against.
  private var outer = Ruleset()
  /// The set in force.
  private(set) var policy: PolicySet = .locked
  /// Counts the rulesets taken so far.
  private var version = 0
  /// Loads so far, those of either side.
  private(set) var loads = 0

  /// Loads the managed side for the first time, and the user's too unless that is to be done later.
  init(source: any PolicySource, lockdown: Lockdown = Lockdown(mark: nil), readsUser: Bool = true) {
    self.source = source
    self.lockdown = lockdown
    if readsUser {
      load()
    } else {
      user.standing = .inForce
      take(source.load(.managed, over: Ruleset()), of: .managed)
    }
  }

  /// Reads the files of both sides here and now. True when what all of them say is in force.
  @discardableResult
  func load() -> Bool {
    let isManagedNew = take(source.load(.managed, over: Ruleset()), of: .managed)
    let isUserNew = take(source.load(.user, over: managed.ruleset), of: .user)
    return isManagedNew && isUserNew
  }

  /// The side of this name.
  subscript(side: PolicySide) -> Side { side == .managed ? managed : user }

  /// Takes what was read of a side; a reading with any error changes nothing but the side's standing. `compiled` is the
  /// set that comes of it, where it has been made already. True when a new set is in force.
  @discardableResult
  func take(_ reading: SideReading, of side: PolicySide, compiled: CompiledPolicy? = nil) -> Bool {
    loads += 1
    let isGood = reading.ruleset != nil && reading.errors.isEmpty
    switch side {
    case .managed: Self.note(reading, isGood, in: &managed)
    case .user:
      Self.note(reading, isGood, in: &user)
      // Files that were never good say nothing, also when nothing was waited for at the start.
      if !isGood, user.files.isEmpty { user.standing = .leftOut }
      if isGood { outer = managed.ruleset }
    }
    guard isGood else { return false }
    // What was compiled beside an older state of the other side isn't the set of now.
    let made = compiled.flatMap { $0.version == version ? $0.policy : nil }
    version += 1
    policy = managed.standing == .locked ? .locked : made ?? combination.policy
    return true
  }

  private static func note(_ reading: SideReading, _ isGood: Bool, in side: inout Side) {
    side.lastLoad = reading
    if let ruleset = reading.ruleset, isGood {
      (side.standing, side.ruleset, side.files) = (.inForce, ruleset, reading.files)
    } else if side.standing == .inForce {
      side.standing = .lastGood
    }
  }

  /// What makes a set of what was read of a side, to be handed to another thread.
  var combination: PolicyCombination {
    PolicyCombination(managed: managed.ruleset, user: user.ruleset, outer: outer, version: version)
  }

  /// How it stands as a whole: as its worse side.
  var standing: Standing {
    if managed.standing != .inForce { return managed.standing }
    return user.standing
  }

  /// Every file in force.
  var files: [String] { (managed.files + user.files).map(\.path) }
  /// The number of rules in force.
  var ruleCount: Int { policy.managed.rules.count + policy.user.rules.count }
  /// What the last loads found, the managed side's first.
  var errors: [String] { managed.lastLoad.errors + user.lastLoad.errors }
  /// What is suspicious and yet in force, the managed side's first.
  var warnings: [String] { managed.lastLoad.warnings + user.lastLoad.warnings }
  /// Whether the files are named on the command line.
  var isNamed: Bool { source.isNamed }

  /// Whether everything but same-app copy and paste is refused until it is lifted.
  var isLockedDown: Bool { lockdown.isOn }

  /// The set in force, or what a lockdown leaves of it.
  var effective: PolicySet { isLockedDown ? policy.lockedDown : policy }

  /// The standing in one line, for people.
  var summary: String {
    isLockedDown ? "lockdown, only same-app copy and paste is allowed" : filesSummary
  }

  private var filesSummary: String {
    switch managed.standing {
    case .locked:
      return "locked: \(errors(of: managed)) in the policy files, only same-app copy and paste is allowed"
    case .lastGood, .leftOut:
      return "\(errors(of: managed)) in the policy files, the last good policy stays in force"
    case .inForce: break
    }
    let count = files.count
    let inForce = count == 0 ? "no policy files" : "\(count) policy file\(count == 1 ? "" : "s") in force"
    switch user.standing {
    case .inForce: return count == 0 ? "no policy files, everything is allowed" : inForce
    case .lastGood: return "\(inForce); \(errors(of: user)) in the user's files, the last good ones stay in force"
    case .leftOut, .locked: return "\(inForce); \(errors(of: user)) in the user's files, none of them is in force"
    }
  }

  private func errors(of side: Side) -> String {
    let count = side.lastLoad.errors.count
    return "\(count) error\(count == 1 ? "" : "s")"
  }

  /// How one side stands, in one line for the journal.
  func summary(of side: PolicySide) -> String {
    let name = side == .managed ? "managed policy" : "user's policy"
    let standing = self[side].standing
    let count = self[side].files.count
    let note = self[side].ruleset.isEnforced ? "" : ", not enforced"
    switch standing {
    case .inForce: return "\(name): \(count) file\(count == 1 ? "" : "s") in force\(note)"
    case .lastGood: return "\(name): \(errors(of: self[side])), the last good files stay in force\(note)"
    case .leftOut: return "\(name): \(errors(of: self[side])), none of the files is in force"
    case .locked: return "\(name): \(errors(of: self[side])), locked: only same-app copy and paste is allowed"
    }
  }
}

/// A set and what it was made of.
nonisolated struct CompiledPolicy: Sendable {
  /// The set.
  var policy: PolicySet
  /// ``PolicyCombination/version`` of what the other side had then.
  var version: Int
}

/// The two rulesets that a set is made of.
nonisolated struct PolicyCombination: Sendable {
  /// The managed side's.
  var managed = Ruleset()
  /// The user's.
  var user = Ruleset()
  /// The managed side's when the user's was read: the user's rules may use its groups.
  var outer = Ruleset()
  /// Which state of both sides it is.
  var version = 0

  /// Compiles the set. A group of the managed side that the user's rules may use and that is gone since, or is another,
  /// stays for them as it was: a rule that names nobody any more would refuse nothing.
  var policy: PolicySet {
    var user = user
    let own = Set(user.groups.map(\.name))
    user.groups += outer.groups.filter { group in
      !own.contains(group.name) && !managed.groups.contains { $0.name == group.name }
    }
    return PolicySet(managed: managed, user: user)
  }
}
