@preconcurrency import Glibc
import Policy

extension PolicyDirectories {
  /// The folders and files of the managed side, and the folders on the way to them, that somebody but root may change, by
  /// their real paths. Of named files (`--policy`) nothing is said: they are whose they are.
  public func changeableByOthers(_ files: [SourceFile]) -> [String] {
    var found: Set<String> = []
    for path in [vendor, managed].compactMap(\.self) + files.map(\.path) where explicit.isEmpty {
      // A link can be exchanged where it lies, and what it leads to where that lies.
      for place in [SystemCalls.realPath(path), SystemCalls.realPath(Self.folder(of: path))].compactMap(\.self) {
        found.formUnion(Self.changeable(onTheWayTo: place))
      }
    }
    return found.sorted()
  }

  /// The same as warnings, for whoever checks the installed files.
  public func warningsOfChange(_ files: [SourceFile]) -> [Diagnostic] {
    changeableByOthers(files).map { path in
      Diagnostic(
        .openToChange, at: SourcePosition(file: path, line: 1, column: 1),
        "expected managed files that root alone can change, found `\(path)`, which others can",
        hint: "give it to root and take the permission to write from group and others")
    }
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  private static func changeable(onTheWayTo path: String) -> [String] {
    var prefixes = ["/"]
    for name in path.split(separator: "/") {
      prefixes.append((prefixes.last == "/" ? "/" : prefixes.last! + "/") + name)
    }
    return prefixes.enumerated().filter { number, prefix in
      // In a folder like /tmp that is passed through nobody can exchange what isn't theirs.
      SystemCalls.mayChange(prefix, stickyProtects: number < prefixes.count - 1)
    }.map(\.element)
  }
}

extension SystemCalls {
  /// The path without links; `nil` where it leads nowhere.
  static func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  /// Whether somebody but root may write to `path`. The group's permission counts too: it may stand for an access list.
  static func mayChange(_ path: String, stickyProtects: Bool) -> Bool {
    var raw = stat()
    guard Glibc.lstat(path, &raw) == 0 else { return false }
    if raw.st_uid != 0 { return true }
    return raw.st_mode & 0o022 != 0 && !(stickyProtects && raw.st_mode & S_ISVTX != 0)
  }
}
