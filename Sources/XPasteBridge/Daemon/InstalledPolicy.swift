import BoardStore
import Policy
import PolicyFile

/// The installed policy files, or those of `--policy` (product.md 3).
nonisolated struct InstalledPolicy: PolicySource {
  private var directories: PolicyDirectories

  /// The paths given, or the installed ones when there are none.
  @MainActor init(given: [String]) {
    guard given.isEmpty else {
      directories = PolicyDirectories(explicit: given)
      return
    }
    var environment: [String: String] = [:]
    for name in ["XDG_CONFIG_HOME", "HOME"] { environment[name] = Posix.environment(name) }
    directories = PolicyDirectories(environment: environment)
  }

  /// Folders other than the installed ones.
  init(_ directories: PolicyDirectories) { self.directories = directories }

  /// The paths to be looked at before they are installed; `-` is standard input. Those of the user stand in for the
  /// user's folder, beside `given` or the installed managed files, whose groups they may use.
  @MainActor init(checking given: [String], user: [String]) {
    self.init(given: given)
    directories.readsStandardInput = true
    guard !user.isEmpty else { return }
    directories.user = nil
    directories.explicitUser = user
  }

  var isNamed: Bool { !directories.explicit.isEmpty }

  func paths(of side: PolicySide) -> [String] { directories.paths(of: side) }

  func load(_ side: PolicySide, over managed: Ruleset) -> SideReading {
    let (files, result) = directories.load(side, over: managed)
    let read = side == .managed ? files.managed : files.user
    var reading = SideReading(files: read.map { ReadPolicyFile(path: $0.path, digest: Digest.sha256($0.bytes)) })
    switch result {
    case .success(let loaded):
      reading.ruleset = loaded.ruleset
      reading.warnings = loaded.warnings.map(\.description)
    case .failure(let found):
      reading.errors = found.errors.map(\.description)
      reading.warnings = found.warnings.map(\.description)
    }
    if side == .managed { reading.changeable = directories.changeableByOthers(read) }
    return reading
  }

  /// Reads both sides, as a start without a running daemon would.
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
    let changeable = directories.warningsOfChange(files.managed)
    switch result {
    case .success(let loaded):
      return PolicyFindings(policy: loaded.policy, files: paths, warnings: loaded.warnings + changeable)
    case .failure(let found):
      return PolicyFindings(policy: nil, files: paths, errors: found.errors, warnings: found.warnings + changeable)
    }
  }
}

/// What reading the policy files gave, for those who want more than lines of text.
nonisolated struct PolicyFindings {
  /// The set; `nil` when any file has an error.
  var policy: PolicySet?
  /// The files read, in order.
  var files: [String]
  /// Every error of every file.
  var errors: [Diagnostic] = []
  /// What is suspicious and yet in force.
  var warnings: [Diagnostic] = []
}
