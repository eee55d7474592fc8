public import Policy

/// One thing that is wrong, or doubtful, in policy files.
public struct Diagnostic: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// What sort of thing; the reference in docs/policy.md has a row for each.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The path can't be read.
    case unreadable = "unreadable"
    /// The path is no regular file.
    case notRegular = "not-regular"
    /// The file changed while it was being read.
    case changedWhileRead = "changed-while-read"
    /// The file is larger than 4 MiB.
    case tooLarge = "too-large"
    /// A side has more files, or larger ones, than are read.
    case folderLimit = "folder-limit"
    /// The file has no bytes, or nothing but comments.
    case emptyFile = "empty-file"
    /// The bytes are no UTF-8.
    case encoding = "encoding"
    /// The text is no YAML.
    case syntax = "syntax"
    /// Values are nested too deeply.
    case tooDeep = "too-deep"
    /// Aliases repeat too much.
    case tooManyAliases = "too-many-aliases"
    /// An alias names no anchor, or the one that contains it.
    case badAlias = "bad-alias"
    /// A YAML tag.
    case tag = "tag"
    /// A YAML merge key.
    case mergeKey = "merge-key"
    /// A second document in one file.
    case severalDocuments = "several-documents"
    /// `version:` is missing or isn't 1.
    case version = "version"
    /// A key that doesn't exist here.
    case unknownKey = "unknown-key"
    /// A key given twice.
    case duplicateKey = "duplicate-key"
    /// A key that must be there and isn't.
    case missingKey = "missing-key"
    /// A list where a text is meant, a word where a number is meant, and so on.
    case wrongType = "wrong-type"
    /// A word that isn't one of those possible.
    case unknownWord = "unknown-word"
    /// A text that is no valid name, pattern, size or duration.
    case badValue = "bad-value"
    /// A number outside its bounds.
    case outOfRange = "out-of-range"
    /// A list or group without entries.
    case emptyList = "empty-list"
    /// A name that is already taken.
    case duplicateName = "duplicate-name"
    /// A name with a meaning of its own.
    case reservedName = "reserved-name"
    /// A group that no file defines.
    case unknownGroup = "unknown-group"
    /// A board that no file defines.
    case unknownBoard = "unknown-board"
    /// A group that contains itself.
    case groupCycle = "group-cycle"
    /// Keys that exclude each other.
    case conflictingKeys = "conflicting-keys"
    /// A rule or matcher that nothing can fulfil.
    case neverMatches = "never-matches"
    /// A rule that an earlier one leaves nothing for.
    case covered = "covered"
    /// A key that only managed files may have.
    case managedOnly = "managed-only"
    /// Warning: allowed on the word of the program itself.
    case declaredGrant = "declared-grant"
    /// Warning: allowed to whatever has this file name, in any folder.
    case anyFolder = "any-folder"
    /// Warning: apps that aren't known for certain, and the rules that could be about them.
    case unsureApps = "unsure-apps"
    /// Warning: a group that nothing uses.
    case unusedGroup = "unused-group"
    /// Warning: a rule that denies drags which an earlier one refuses as pastes.
    case dragsCovered = "drags-covered"
    /// Warning: what a rule keeps back on one selection stays open on others.
    case leftOpen = "left-open"
    /// Warning: a path is a link on this machine.
    case pathIsLink = "path-is-link"
    /// Warning: a path is a script on this machine, so that no app has it as its executable.
    case pathIsScript = "path-is-script"
    /// Warning: a path names nothing on this machine.
    case pathIsMissing = "path-is-missing"
    /// Warning: what no app, or no content, can ever be.
    case emptyIntersection = "empty-intersection"
    /// Warning: protection that reaches PRIMARY as well.
    case protectsPrimary = "protects-primary"
    /// Warning: a file that looks like a policy and isn't read for its name.
    case ignoredFile = "ignored-file"
    /// Warning: somebody but root can change a managed file or folder.
    case openToChange = "open-to-change"
    /// The file says that it ends with a mark, and doesn't.
    case cutOff = "cut-off"
  }

  /// What sort of thing.
  public var kind: Kind
  /// Where.
  public var position: SourcePosition
  /// What was expected and what was found.
  public var message: String
  /// What to do about it.
  public var hint: String?

  /// Reports `message` at `position`.
  public init(_ kind: Kind, at position: SourcePosition, _ message: String, hint: String? = nil) {
    self.kind = kind
    self.position = position
    self.message = Diagnostic.oneLine(message)
    self.hint = hint.map(Diagnostic.oneLine)
  }

  /// `file:line:column: message; hint`
  public var description: String { "\(position): \(message)" + (hint.map { "; \($0)" } ?? "") }

  /// Earlier in the order of files' names, then of places.
  public static func < (lhs: Diagnostic, rhs: Diagnostic) -> Bool {
    let mine = (lhs.position.line, lhs.position.column, lhs.message)
    let theirs = (rhs.position.line, rhs.position.column, rhs.message)
    return lhs.position.file == rhs.position.file ? mine < theirs : lhs.position.file < rhs.position.file
  }

  /// User text may hold anything; a terminal must get one line of printable characters.
  private static func oneLine(_ text: String) -> String {
    guard text.hasControls else { return text }
    var line = ""
    for scalar in text.unicodeScalars {
      if scalar.isControl { line += scalar.escaped(asASCII: true) } else { line.unicodeScalars.append(scalar) }
    }
    return line
  }
}

extension String {
  /// Whether any of its characters is a control.
  var hasControls: Bool {
    for byte in utf8 where byte < 0x20 || byte >= 0x7F {
      // In ASCII the bytes tell; of other texts the characters have to be looked at.
      return unicodeScalars.contains { $0.isControl }
    }
    return false
  }
}

extension Unicode.Scalar {
  /// Control characters of C0, DEL and C1, line separators, and marks that turn the reading direction.
  var isControl: Bool {
    switch value {
    case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

/// Why policy files were not taken, all of it.
public struct Diagnostics: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, by file and place; never empty.
  public var errors: [Diagnostic]
  /// What is doubtful, by file and place.
  public var warnings: [Diagnostic]

  /// One line each.
  public var description: String { errors.map(\.description).joined(separator: "\n") }
}

/// Collects what is found while one set of files is read.
final class Report {
  private(set) var errors: [Diagnostic] = []
  private(set) var warnings: [Diagnostic] = []
  /// Looks at paths on this machine; without it nothing is said of them.
  private let look: ((String) -> PathFinding)?
  private var found: [String: PathFinding] = [:]

  init(look: ((String) -> PathFinding)? = nil) { self.look = look }

  /// What `path` is on this machine; `nil` where that isn't looked at.
  func finding(of path: String) -> PathFinding? {
    guard let look else { return nil }
    if let known = found[path] { return known }
    guard found.count < PathFinding.most else { return nil }
    let new = look(path)
    found[path] = new
    return new
  }

  func error(_ kind: Diagnostic.Kind, at position: SourcePosition, _ message: String, hint: String? = nil) {
    errors.append(Diagnostic(kind, at: position, message, hint: hint))
  }

  func warn(_ kind: Diagnostic.Kind, at position: SourcePosition, _ message: String, hint: String? = nil) {
    warnings.append(Diagnostic(kind, at: position, message, hint: hint))
  }
}
