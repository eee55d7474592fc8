import Policy
import PolicyFile

/// The installed policy files, or those of `--policy` (product.md 3).
struct InstalledPolicy: PolicySource {
  private var directories: PolicyDirectories

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

  /// The paths to be looked at before they are installed; `-` is standard input. Those of the user stand in for the
  /// user's folder, beside `given` or the installed managed files, whose groups they may use.
  init(checking given: [String], user: [String]) {
    self.init(given: given)
    directories.readsStandardInput = true
    guard !user.isEmpty else { return }
    directories.user = nil
    directories.explicitUser = user
  }

  var paths: [String] {
    [directories.vendor, directories.managed, directories.user].compactMap(\.self) + directories.explicit
      + directories.explicitUser
  }

  func load() -> PolicyReading {
    let read = read()
    return PolicyReading(
      policy: read.policy, files: read.files, errors: read.errors.map(\.description),
      warnings: read.warnings.map(\.description))
  }

  /// The same with every part of what was found.
  func read() -> PolicyFindings {
    let (files, result) = directories.load()
    let paths = (files.managed + files.user).map(\.path)
    switch result {
    case .success(let loaded): return PolicyFindings(policy: loaded.policy, files: paths, warnings: loaded.warnings)
    case .failure(let found):
      return PolicyFindings(policy: nil, files: paths, errors: found.errors, warnings: found.warnings)
    }
  }
}

/// What reading the policy files gave, for those who want more than lines of text.
struct PolicyFindings {
  /// The set; `nil` when any file has an error.
  var policy: PolicySet?
  /// The files read, in order.
  var files: [String]
  /// Every error of every file.
  var errors: [Diagnostic] = []
  /// What is suspicious and yet in force.
  var warnings: [Diagnostic] = []
}
