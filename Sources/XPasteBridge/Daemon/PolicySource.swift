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

/// The installed policy files, or those of `--policy` (product.md 3).
struct InstalledPolicy: PolicySource {
  let paths: [String]

  /// The paths given, or the installed ones when there are none.
  init(given: [String]) {
    paths = given.isEmpty ? Self.installedPaths : given
  }

  private static var installedPaths: [String] {
    let user = Posix.environment("XDG_CONFIG_HOME") ?? Posix.environment("HOME").map { $0 + "/.config" }
    let managed = ["/usr/share/xpastebridge/policy.d", "/etc/xpastebridge/policy.d"]
    // A relative XDG_CONFIG_HOME is invalid and ignored (XDG Base Directory Specification).
    return managed + (user.flatMap { $0.hasPrefix("/") ? [$0 + "/xpastebridge/policy.d"] : nil } ?? [])
  }

  func load() -> PolicyReading {
    let files = PolicyPathScan(paths).policyFiles
    guard !files.isEmpty else { return PolicyReading(policy: .allowEverything) }
    // Fails closed: the reader of policy files isn't part of this build yet.
    return PolicyReading(
      policy: nil, files: files, errors: files.map { "\($0):1:1: policy files can't be read by this build" })
  }

  func explain(_ request: Request, under policy: PolicySet) -> PolicyAnswer {
    switch policy.evaluate(request) {
    case .decided(let decision): PolicyAnswer(decision: decision, tried: [])
    case .needsContent: PolicyAnswer(decision: nil, tried: [])
    }
  }
}
