/// Why a display can't be used; each describes itself in one line.
public nonisolated enum DisplayError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No name was given and `DISPLAY` isn't set.
  case nameMissing
  /// The name isn't that of a display.
  case nameInvalid(String)
  /// Nothing answers there.
  case unreachable(String)
  /// A server is there and doesn't let us in.
  case refused(String, AuthorityProblem)
  /// The server lacks an extension without which nothing can be guarded, or has it in a version that is too old.
  case extensionMissing(String, extension: String, version: String)

  /// What is wrong, in one line.
  public var description: String {
    switch self {
    case .nameMissing: "no display: DISPLAY is not set and no --display was given"
    case .nameInvalid(let name): "expected a display such as `:0`, found `\(name)`"
    case .unreachable(let name): "cannot connect to display `\(name)`: no X server answers there"
    case .refused(let name, let problem): "display `\(name)` refused the connection: \(problem)"
    case .extensionMissing(let name, let wanted, let version):
      "display `\(name)` has no \(wanted) extension of version \(version) or later, so it can't be guarded: nobody hears of copies"
    }
  }
}

/// What is wrong with the X authority file, as far as can be told from outside.
public nonisolated enum AuthorityProblem: Hashable, Sendable, CustomStringConvertible {
  /// Neither `XAUTHORITY` nor `HOME` names a file.
  case notNamed
  /// The file named can't be read.
  case unreadable(path: String)
  /// The file has no entry for the display's number.
  case noEntry(path: String)
  /// The file has an entry, which the server doesn't take, or it has no room for another client.
  case notAccepted(path: String)

  /// What is wrong, and where.
  public var description: String {
    switch self {
    case .notNamed: "XAUTHORITY is not set and there is no home directory"
    case .unreadable(let path): "XAUTHORITY names `\(path)`, which cannot be read"
    case .noEntry(let path): "XAUTHORITY names `\(path)`, which has no entry for this display"
    case .notAccepted(let path): "the entry in `\(path)` (XAUTHORITY) was not accepted, or the server is full"
    }
  }
}
