@preconcurrency import Glibc
import Policy

/// The vendor's and the administrator's files together, or the user's.
public typealias PolicySide = PolicyOverview.Side

/// How much there may be of one side's files. What is beyond is an error of that side, and none of it is read.
public struct FolderLimits: Hashable, Sendable {
  /// Policy files of the side.
  public var files: Int
  /// Bytes of all of them together. A file that has several names counts for each.
  public var bytes: Int

  /// Our choice: 80,000 rules, eight times what the benchmarks measure, and read in a second.
  public static let managed = FolderLimits(files: 512, bytes: 8 << 20)
  /// Our choice: no person writes more. 256 KiB are some 7,000 of the shortest rules. Reading them holds nothing up, and the
  /// daemon takes 13,200 rules up in 26 ms (measured), so these in less than 20.
  public static let user = FolderLimits(files: 64, bytes: 256 << 10)
  /// Names of any kind in one folder that are looked through (our choice: 30 ms of work on a slow disk).
  static let names = 4_096

  static func of(_ side: PolicySide) -> FolderLimits { side == .managed ? managed : user }
}

/// Where policy files are.
public struct PolicyDirectories: Hashable, Sendable {
  /// The vendor's folder, which belongs to the managed side.
  public var vendor: String?
  /// The administrator's folder, which belongs to the managed side.
  public var managed: String?
  /// The user's folder.
  public var user: String?
  /// Files and folders that count as managed, in this order.
  public var explicit: [String] = []
  /// Files and folders that count as the user's, in this order.
  public var explicitUser: [String] = []
  /// Whether `-` among those that are named means standard input.
  public var readsStandardInput = false

  /// The folders of an installed system, the user's as `environment` says (`XDG_CONFIG_HOME`, else `HOME`).
  public init(environment: [String: String]) {
    vendor = "/usr/share/xpastebridge/policy.d"
    managed = "/etc/xpastebridge/policy.d"
    // The base directory specification has relative paths ignored.
    let configuration =
      environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      ?? environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.config" : nil }
    user = configuration.map { $0 + "/xpastebridge/policy.d" }
  }

  /// Only what is named: each a file, whatever its name, or a folder with policy files in it. Replaces all other folders.
  public init(explicit: [String]) { self.explicit = explicit }

  /// The folders given, `nil` for none.
  public init(vendor: String?, managed: String?, user: String?) {
    self.vendor = vendor
    self.managed = managed
    self.user = user
  }

  /// The folders and files of one side, whether they exist or not.
  public func paths(of side: PolicySide) -> [String] {
    switch side {
    case .managed: [vendor, managed].compactMap(\.self) + explicit
    case .user: [user].compactMap(\.self) + explicitUser
    }
  }

  /// Reads the files of both sides. Folders that don't exist hold none.
  public func read() -> PolicyFiles {
    var files = PolicyFiles()
    for side in PolicySide.allCases { read(side, into: &files) }
    return files
  }

  /// Reads the files of one side alone.
  public func read(_ side: PolicySide) -> PolicyFiles {
    var files = PolicyFiles()
    read(side, into: &files)
    return files
  }

  private func read(_ side: PolicySide, into files: inout PolicyFiles) {
    files.begin(side)
    switch side {
    case .managed: readManaged(into: &files)
    case .user: readUser(into: &files)
    }
  }

  private func readManaged(into files: inout PolicyFiles) {
    var byName: [String: String] = [:]
    for folder in [vendor, managed].compactMap(\.self) {
      for name in files.names(in: folder) { byName[name] = folder }
    }
    let vendorNames = Set(vendor.map { PolicyDirectories.listing($0) } ?? [])
    for name in byName.keys.sorted(by: PolicyDirectories.comesBefore) {
      guard let folder = byName[name], let file = files.file("\(folder)/\(name)") else { continue }
      let isMask = file.bytes.isEmpty && folder == managed && vendorNames.contains(name)
      if !isMask { files.managed.append(file) }
    }
    for path in explicit { files.managed += contents(of: path, &files) }
  }

  private func readUser(into files: inout PolicyFiles) {
    if let user {
      for name in files.names(in: user) {
        if let file = files.file("\(user)/\(name)") { files.user.append(file) }
      }
    }
    for path in explicitUser { files.user += contents(of: path, &files) }
  }

  private func contents(of path: String, _ files: inout PolicyFiles) -> [SourceFile] {
    if path == "-", readsStandardInput { return files.standardInput().map { [$0] } ?? [] }
    return files.explicit(path)
  }

  /// Reads the files of one side and makes a ruleset of them: all of it or nothing. The user's may use groups and boards of
  /// `managed`.
  public func load(
    _ side: PolicySide, over managed: Ruleset = Ruleset()
  ) -> (files: PolicyFiles, result: Result<LoadedRuleset, Diagnostics>) {
    let files = read(side)
    let result = PolicyLoader.load(
      side, side == .managed ? files.managed : files.user, over: managed, found: files.errors, doubted: files.warnings,
      look: PathFinding.look)
    return (files, result)
  }

  /// Reads all files and makes a policy of them: all of it or nothing.
  public func load() -> (files: PolicyFiles, result: Result<LoadedPolicy, Diagnostics>) {
    let files = read()
    let result = PolicyLoader.load(
      managed: files.managed, user: files.user, found: files.errors, doubted: files.warnings, look: PathFinding.look)
    return (files, result)
  }

  /// The C locale's order: byte by byte.
  static func comesBefore(_ lhs: String, _ rhs: String) -> Bool { lhs.utf8.lexicographicallyPrecedes(rhs.utf8) }

  fileprivate static func listing(_ folder: String) -> [String] {
    ((try? SystemCalls.names(in: folder, atMost: FolderLimits.names)) ?? []).filter(isPolicyName)
  }

  fileprivate static func isPolicyName(_ name: String) -> Bool {
    !name.hasPrefix(".") && (name.hasSuffix(".yaml") || name.hasSuffix(".json"))
  }
}

/// The policy files that were found, and what has to be watched to learn of changes.
public struct PolicyFiles: Hashable, Sendable {
  /// Vendor's and administrator's files, in order, masked ones left out.
  public internal(set) var managed: [SourceFile] = []
  /// The user's files, in order.
  public internal(set) var user: [SourceFile] = []
  /// What couldn't be read.
  public internal(set) var errors: [Diagnostic] = []
  /// Files that were passed over and look as if they weren't meant to be.
  public internal(set) var warnings: [Diagnostic] = []
  /// The folders looked at, whether they exist or not.
  public internal(set) var watchedDirectories: [String] = []
  /// The files looked at, whether they could be read or not.
  public internal(set) var watchedFiles: [String] = []

  /// What may still be read of the side that is being read.
  private var room = FolderLimits.managed
  private var limits = FolderLimits.managed
  /// Whether the side has more than is read, which has been reported.
  private var isOverLimit = false

  /// Finds nothing yet.
  public init() {}

  fileprivate mutating func begin(_ side: PolicySide) {
    limits = FolderLimits.of(side)
    (room, isOverLimit) = (limits, false)
  }

  fileprivate mutating func names(in folder: String) -> [String] {
    watchedDirectories.append(folder)
    do throws(SystemCalls.Failure) {
      let names = try SystemCalls.names(in: folder, atMost: FolderLimits.names + 1)
      guard names.count <= FolderLimits.names else {
        report(.folderLimit, folder, "expected a folder of at most \(FolderLimits.names) names, found more")
        return []
      }
      for name in names where !name.hasPrefix(".") && name.hasSuffix(".yml") {
        let place = SourcePosition(file: "\(folder)/\(name)", line: 1, column: 1)
        warnings.append(
          Diagnostic(
            .ignoredFile, at: place,
            "expected a name that ends in `.yaml` or `.json`, found `\(name)`, which isn't read",
            hint: "rename it to `\(name.dropLast("yml".count))yaml`"))
      }
      let found = names.filter(PolicyDirectories.isPolicyName)
      guard found.count <= room.files else {
        report(.folderLimit, folder, "expected at most \(limits.files) policy files in all, found more")
        return []
      }
      room.files -= found.count
      return found.sorted(by: PolicyDirectories.comesBefore)
    } catch {
      // A link to nothing is not the same as nothing: somebody wanted a policy to be there.
      if error.number == ENOENT, !SystemCalls.exists(folder) { return [] }
      report(.unreadable, folder, "expected a folder that can be read, found: \(error.reason.lowercased())")
      return []
    }
  }

  fileprivate mutating func explicit(_ path: String) -> [SourceFile] {
    guard SystemCalls.isDirectory(path) else { return file(path).map { [$0] } ?? [] }
    let found = names(in: path)
    // Who names a folder wants a policy from it: without files everything would be allowed.
    if found.isEmpty, errors.last?.position.file != path {
      report(.unreadable, path, "expected a folder with policy files (*.yaml, *.json), found none")
    }
    return found.compactMap { file("\(path)/\($0)") }
  }

  fileprivate mutating func standardInput() -> SourceFile? {
    let path = "<stdin>"
    do throws(SystemCalls.Failure) {
      return SourceFile(path: path, bytes: try SystemCalls.read(0, upTo: DocumentLimits.bytes + 1))
    } catch {
      report(.unreadable, path, "expected standard input that can be read, found: \(error.reason.lowercased())")
      return nil
    }
  }

  /// The file's bytes. One that changes meanwhile is refused: what was read may be half of the old and half of the new.
  fileprivate mutating func file(_ path: String) -> SourceFile? {
    guard !isOverLimit else { return nil }
    watchedFiles.append(path)
    do throws(SystemCalls.Failure) {
      let descriptor = try SystemCalls.open(path)
      defer { SystemCalls.close(descriptor) }
      let before = try SystemCalls.fstat(descriptor)
      guard before.isRegular else {
        report(.notRegular, path, "expected a regular file, found something else")
        return nil
      }
      guard takeRoom(min(before.bytes, DocumentLimits.bytes), path) else { return nil }
      let bytes = try SystemCalls.read(descriptor, upTo: DocumentLimits.bytes + 1)
      let after = try SystemCalls.fstat(descriptor)
      guard before == after, bytes.count > DocumentLimits.bytes || bytes.count == after.bytes else {
        report(.changedWhileRead, path, "expected a file at rest, found it changed while being read")
        return nil
      }
      return SourceFile(path: path, bytes: bytes)
    } catch {
      report(.unreadable, path, "expected a file that can be read, found: \(error.reason.lowercased())")
      return nil
    }
  }

  /// Whether a file of this size still fits; one that doesn't is reported by its folder, and nothing more is read.
  private mutating func takeRoom(_ bytes: Int, _ path: String) -> Bool {
    room.bytes -= bytes
    guard room.bytes < 0 else { return true }
    isOverLimit = true
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    report(
      .folderLimit, folder,
      "expected policy files of at most \(Quantity.shown(bytes: limits.bytes)) in all, found more at `\(path)`"
    )
    return false
  }

  private mutating func report(_ kind: Diagnostic.Kind, _ path: String, _ message: String) {
    errors.append(Diagnostic(kind, at: SourcePosition(file: path, line: 1, column: 1), message))
  }
}
