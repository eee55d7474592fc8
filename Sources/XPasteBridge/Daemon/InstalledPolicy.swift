import Policy

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
