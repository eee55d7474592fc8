import Policy

/// One rule in force, for `policy show`.
struct RuleListing: Hashable {
  /// Its name and where it is written.
  var rule: RuleReference
  /// `managed` or `user`.
  var ruleset: String
  /// What it decides.
  var verdict: Verdict
}

/// What reading the policy files gave.
struct PolicyReading {
  /// The set, complete and valid; `nil` when any file has an error.
  var policy: PolicySet?
  /// The files read, in order.
  var files: [String] = []
  /// The rules, in order.
  var rules: [RuleListing] = []
  /// Every error of every file, each `file:line:column: …` on one line.
  var errors: [String] = []
  /// What is suspicious and yet in force, in the same form.
  var warnings: [String] = []
}

/// One rule that was tried on a request.
struct TriedRule: Hashable {
  /// The rule.
  var rule: RuleReference
  /// `managed` or `user`.
  var ruleset: String
  /// For which action: the copy that a paste needs is tried too.
  var action: Action
  /// Whether it matched.
  var hasMatched: Bool
  /// Why it did or didn't match.
  var why: String
}

/// Why a request is decided as it is.
struct PolicyAnswer {
  /// The decision; `nil` when it depends on content that the request doesn't name.
  var decision: Decision?
  /// Every rule tried, in order.
  var tried: [TriedRule]
}

/// Where policies come from: the only thing the daemon and the command line know of policy files.
protocol PolicySource {
  /// The directories and files that are read, whether they exist or not; their changes are watched.
  var paths: [String] { get }
  /// Reads them all.
  func load() -> PolicyReading
  /// Decides `request` under `policy` and says how.
  func explain(_ request: Request, under policy: PolicySet) -> PolicyAnswer
}
