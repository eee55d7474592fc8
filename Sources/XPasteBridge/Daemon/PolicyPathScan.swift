/// Where policy files are at this moment, and which names in which directories could change that.
///
/// Every link on the way is followed by hand, so that a swap of any of them is noticed: `policy.d -> ..data/policy.d`,
/// `..data -> v2`, dotfile trees of links, and directories that don't exist yet.
struct PolicyPathScan: Hashable {
  /// What to watch in one directory.
  struct Watch: Hashable {
    /// These names, whatever they are.
    var names: Set<String> = []
    /// Every name that a policy file may have.
    var coversPolicyFiles = false

    /// Whether a change of `name` matters.
    func covers(_ name: String) -> Bool {
      names.contains(name) || (coversPolicyFiles && PolicyPathScan.isPolicyFileName(name))
    }
  }

  /// One policy file and its state.
  struct File: Hashable {
    var path: String
    var state: FileState?
  }

  /// As Linux itself follows at most 40 links in one path.
  private static let deepestLinks = 40
  /// Names of any kind in one directory that are looked through: more than the loader takes.
  private static let mostNames = 8_192

  /// Directories that exist, with what to watch in each.
  private(set) var directories: [String: Watch] = [:]
  /// Where the policy files really are: links in other directories lead to the same content.
  private(set) var contents: Set<String> = []
  /// The policy files, in the order in which they are read.
  private(set) var files: [File] = []

  /// Their paths.
  var policyFiles: [String] { files.map(\.path) }

  private let limit: Int

  /// Looks at `paths`, each a file or a directory, and at the first `limit` policy files in all: where there are more, the
  /// loader reads none.
  init(_ paths: [String], atMost limit: Int = .max) {
    self.limit = limit
    for path in paths { scan(path) }
  }

  /// Whether a file of that name in a policy directory is read (product.md 3).
  static func isPolicyFileName(_ name: String) -> Bool {
    !name.hasPrefix(".") && (name.hasSuffix(".yaml") || name.hasSuffix(".json"))
  }

  private mutating func scan(_ path: String) {
    let absolute = path.hasPrefix("/") ? path : (Posix.workingDirectory() ?? "") + "/" + path
    guard let real = follow(absolute) else { return }
    guard let state = Posix.stat(real), state.isDirectory else { return add(path, real) }
    directories[real, default: Watch()].coversPolicyFiles = true
    let names = Posix.directoryEntries(real, atMost: Self.mostNames) ?? []
    for name in names where Self.isPolicyFileName(name) && files.count < limit {
      let entry = path.hasSuffix("/") ? path + name : path + "/" + name
      add(entry, follow(real + "/" + name))
    }
  }

  private mutating func add(_ path: String, _ real: String?) {
    let state = real.flatMap { Posix.stat($0) }
    if let real, state != nil { contents.insert(real) }
    files.append(File(path: path, state: state))
  }

  /// Walks `path` from the root, notes every name on the way, and returns where it ends without links; `nil` where it
  /// leads nowhere.
  private mutating func follow(_ path: String) -> String? {
    var rest = ArraySlice(path.split(separator: "/").map(String.init))
    var here = ""
    var links = 0
    while let name = rest.popFirst() {
      switch name {
      case ".": continue
      case "..":
        here = String(here[..<(here.lastIndex(of: "/") ?? here.startIndex)])
        continue
      default: break
      }
      directories[here.isEmpty ? "/" : here, default: Watch()].names.insert(name)
      guard let state = Posix.lstat(here + "/" + name) else { return nil }
      guard state.isSymbolicLink else {
        here += "/" + name
        continue
      }
      links += 1
      guard links <= Self.deepestLinks, let target = Posix.readlink(here + "/" + name) else { return nil }
      if target.hasPrefix("/") { here = "" }
      rest = ArraySlice(target.split(separator: "/").map(String.init)) + rest
    }
    return here.isEmpty ? "/" : here
  }
}
