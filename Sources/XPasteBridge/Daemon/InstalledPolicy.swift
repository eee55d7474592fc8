import PolicyFile

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
