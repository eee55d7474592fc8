import Policy
import PolicyFile

/// What reading the policy files of both sides gave.
nonisolated struct PolicyReading: Sendable {
  /// The set, complete and valid; `nil` when any file has an error.
  var policy: PolicySet?
  /// The files read, in order.
  var files: [String] = []
  /// Every error of every file, each `file:line:column: …` on one line.
  var errors: [String] = []
  /// What is suspicious and yet in force, in the same form.
  var warnings: [String] = []
}

/// A policy file that was read.
nonisolated struct ReadPolicyFile: Hashable, Sendable {
  /// Where it is.
  var path: String
  /// The SHA-256 of its bytes, in hexadecimal digits.
  var digest: String
}

/// What reading the policy files of one side gave.
nonisolated struct SideReading: Sendable {
  /// What they say; `nil` when any of them has an error.
  var ruleset: Ruleset?
  /// The files read, in order.
  var files: [ReadPolicyFile] = []
  /// Every error of every file, each `file:line:column: …` on one line.
  var errors: [String] = []
  /// What is suspicious and yet in force, in the same form.
  var warnings: [String] = []
  /// Managed folders and files that somebody but root may change.
  var changeable: [String] = []
}

/// Where policies come from: the only thing the daemon knows of policy files. Read on any thread.
nonisolated protocol PolicySource: Sendable {
  /// Whether the files are named on the command line (`--policy`) in place of the installed ones.
  var isNamed: Bool { get }
  /// The folders and files of a side, whether they exist or not; their changes are watched.
  func paths(of side: PolicySide) -> [String]
  /// Reads a side. The user's files may use groups and boards of `managed`.
  func load(_ side: PolicySide, over managed: Ruleset) -> SideReading
}
