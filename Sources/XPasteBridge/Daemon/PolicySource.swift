import Policy
import PolicyFile

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

/// The installed policy files, or those of `--policy` (product.md 3).
struct InstalledPolicy: PolicySource {
  private let directories: PolicyDirectories

  /// The paths given, or the installed ones when there are none.
  init(given: [String]) {
    guard given.isEmpty else {
      directories = PolicyDirectories(explicit: given)
      return
    }
    var environment: [String: String] = [:]
    for name in ["XDG_CONFIG_HOME", "HOME"] { environment[name] = Posix.environment(name) }
    directories = PolicyDirectories(environment: environment)
  }

  var paths: [String] {
    [directories.vendor, directories.managed, directories.user].compactMap(\.self) + directories.explicit
  }

  func load() -> PolicyReading {
    let (files, result) = directories.load()
    var reading = PolicyReading(files: (files.managed + files.user).map(\.path))
    switch result {
    case .success(let loaded):
      reading.policy = loaded.policy
      reading.warnings = loaded.warnings.map(\.description)
    case .failure(let diagnostics):
      reading.errors = diagnostics.errors.map(\.description)
      reading.warnings = diagnostics.warnings.map(\.description)
    }
    return reading
  }
}
