import Policy

/// What reading the policy files gave.
struct PolicyReading {
  /// The set, complete and valid; `nil` when any file has an error.
  var policy: PolicySet?
  /// The files read, in order.
  var files: [String] = []
  /// Every error of every file, each `file:line:column: …` on one line.
  var errors: [String] = []
  /// What is suspicious and yet in force, in the same form.
  var warnings: [String] = []

  /// The number of rules of both rulesets.
  var ruleCount: Int { policy.map { $0.managed.rules.count + $0.user.rules.count } ?? 0 }
}

/// Where policies come from: the only thing the daemon knows of policy files.
protocol PolicySource {
  /// The directories and files that are read, whether they exist or not; their changes are watched.
  var paths: [String] { get }
  /// Reads them all.
  func load() -> PolicyReading
}
