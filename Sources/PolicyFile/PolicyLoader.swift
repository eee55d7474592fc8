public import Policy

/// The bytes of one policy file.
public struct SourceFile: Hashable, Sendable {
  /// The path, as diagnostics show it.
  public var path: String
  /// What the file holds.
  public var bytes: [UInt8]

  /// A file of `bytes`.
  public init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
  }
}

/// A policy without errors.
public struct LoadedPolicy: Sendable {
  /// The policy.
  public var policy: PolicySet
  /// What is doubtful about it, by file and place.
  public var warnings: [Diagnostic]
}

/// The ruleset of one side without errors.
public struct LoadedRuleset: Sendable {
  /// The ruleset.
  public var ruleset: Ruleset
  /// What is doubtful about it, by file and place.
  public var warnings: [Diagnostic]
}

/// Reads policy files: all of them or none.
public enum PolicyLoader {
  /// The policy of `managed` and `user` files, each in their order; or everything that is wrong with them.
  ///
  /// No files at all allow everything. `found` are errors from before, of files that couldn't even be read, and `doubted`
  /// warnings. With `look`, executables named literally are looked at on this machine, and links resolved.
  public static func load(
    managed: [SourceFile], user: [SourceFile], found: [Diagnostic] = [], doubted: [Diagnostic] = [],
    look: ((String) -> PathFinding)? = nil
  ) -> Result<LoadedPolicy, Diagnostics> {
    let report = Report(look: look)
    let managedFiles = managed.compactMap { FileReader.read($0, isManaged: true, report: report) }
    let userFiles = user.compactMap { FileReader.read($0, isManaged: false, report: report) }
    let managedRules = Assembly(report: report, outer: Ruleset(), outerBoards: []).ruleset(of: managedFiles)
    let userRules = Assembly(report: report, outer: managedRules, outerBoards: managedRules.boards)
      .ruleset(of: userFiles)
    // The user's side looks at the managed boards again, so an error there may have been reported twice.
    let errors = Set(found + report.errors).sorted()
    let warnings = (doubted + report.warnings).sorted()
    guard errors.isEmpty else { return .failure(Diagnostics(errors: errors, warnings: warnings)) }
    return .success(LoadedPolicy(policy: PolicySet(managed: managedRules, user: userRules), warnings: warnings))
  }

  /// The ruleset of one side's `files`, in their order; or everything that is wrong with them. The user's may use groups and
  /// boards of `managed`. `found` and `doubted` as for both sides together.
  public static func load(
    _ side: PolicySide, _ files: [SourceFile], over managed: Ruleset = Ruleset(), found: [Diagnostic] = [],
    doubted: [Diagnostic] = [], look: ((String) -> PathFinding)? = nil
  ) -> Result<LoadedRuleset, Diagnostics> {
    let report = Report(look: look)
    let contents = files.compactMap { FileReader.read($0, isManaged: side == .managed, report: report) }
    let outer = side == .managed ? Ruleset() : managed
    let ruleset = Assembly(report: report, outer: outer, outerBoards: outer.boards).ruleset(of: contents)
    let errors = Set(found + report.errors).sorted()
    let warnings = (doubted + report.warnings).sorted()
    guard errors.isEmpty else { return .failure(Diagnostics(errors: errors, warnings: warnings)) }
    return .success(LoadedRuleset(ruleset: ruleset, warnings: warnings))
  }
}
