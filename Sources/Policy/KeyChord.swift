/// The modifiers that a key combination can demand. Lock keys are none: they never make a difference.
public struct ChordModifiers: OptionSet, Hashable, Sendable {
  /// One bit each.
  public let rawValue: UInt8

  /// Takes the bits as they are.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Control.
  public static let control = ChordModifiers(rawValue: 1)
  /// Shift.
  public static let shift = ChordModifiers(rawValue: 2)
  /// Alt, which is also Emacs's Meta.
  public static let alt = ChordModifiers(rawValue: 4)
  /// The key with a logo on it.
  public static let `super` = ChordModifiers(rawValue: 8)

  static let names: [(ChordModifiers, [String])] = [
    (.control, ["Ctrl", "Control"]), (.shift, ["Shift"]), (.alt, ["Alt", "Meta"]), (.super, ["Super"]),
  ]
}

/// A key combination as people write it: `Ctrl+Shift+C`. Which key that is depends on the keyboard.
public struct KeyChord: Hashable, Sendable {
  /// The key's symbol; of a letter the small one.
  public var symbol: UInt32
  /// What is held with it.
  public var modifiers: ChordModifiers

  /// Joins both.
  public init(_ symbol: UInt32, _ modifiers: ChordModifiers = []) {
    self.symbol = symbol
    self.modifiers = modifiers
  }

  /// Reads `Ctrl+Shift+C`: modifiers in any order and case, then a key by its X name (a letter in either case).
  public init?(_ text: String) {
    var words = text.split(separator: "+", omittingEmptySubsequences: false)
    guard let last = words.popLast(), let symbol = KeyName.symbol(of: String(last)) else { return nil }
    var modifiers: ChordModifiers = []
    for word in words {
      let found = ChordModifiers.names.first { $0.1.contains { $0.lowercased() == word.lowercased() } }
      guard let found, !modifiers.contains(found.0) else { return nil }
      modifiers.insert(found.0)
    }
    self.init(symbol, modifiers)
  }
}

extension KeyChord: CustomStringConvertible {
  /// As it is read.
  public var description: String {
    let words = ChordModifiers.names.filter { modifiers.contains($0.0) }.map { $0.1[0] }
    return (words + [KeyName.name(of: symbol)]).joined(separator: "+")
  }
}

/// Names and numbers of the keys that combinations are made of (X protocol, appendix A, and XF86keysym.h).
enum KeyName {
  private static let named: [(String, UInt32)] = [
    ("BackSpace", 0xff08), ("Tab", 0xff09), ("Return", 0xff0d), ("Escape", 0xff1b), ("Home", 0xff50), ("Left", 0xff51),
    ("Up", 0xff52), ("Right", 0xff53), ("Down", 0xff54), ("Prior", 0xff55), ("Next", 0xff56), ("End", 0xff57),
    ("Insert", 0xff63), ("KP_Insert", 0xff9e), ("KP_Delete", 0xff9f), ("Delete", 0xffff), ("space", 0x20),
    ("XF86Copy", 0x1008_ff57), ("XF86Cut", 0x1008_ff58), ("XF86Paste", 0x1008_ff6d),
  ]

  static func symbol(of name: String) -> UInt32? {
    if let (_, symbol) = named.first(where: { $0.0.lowercased() == name.lowercased() }) { return symbol }
    if name.first == "F", let number = UInt32(name.dropFirst()), (1...35).contains(number) { return 0xffbd + number }
    // Characters of ASCII are their own symbols. `+` stands between the words, so it can't be meant.
    guard name.unicodeScalars.count == 1, let scalar = name.lowercased().unicodeScalars.first,
      (0x21...0x7e).contains(scalar.value), scalar != "+"
    else { return nil }
    return scalar.value
  }

  static func name(of symbol: UInt32) -> String {
    if let (name, _) = named.first(where: { $0.1 == symbol }) { return name }
    if (0xffbe...0xffe0).contains(symbol) { return "F\(symbol - 0xffbd)" }
    return Unicode.Scalar(symbol).map { String($0).uppercased() } ?? "key \(symbol)"
  }
}

/// Which keys copy, cut and paste in an app.
public struct KeySet: Hashable, Sendable {
  /// Those of each action; one that is missing has none.
  public var chords: [Action: [KeyChord]]

  /// Takes what is given.
  public init(_ chords: [Action: [KeyChord]]) { self.chords = chords }

  /// The action that a combination starts.
  public func action(of chord: KeyChord) -> Action? {
    Action.byCommand.first { chords[$0]?.contains(chord) ?? false }
  }
}

/// A set that is built in, by the name that policies call it.
public enum KeySetName: String, Hashable, Sendable, CaseIterable {
  /// Programs with the common keys.
  case ordinary
  /// Terminals: Ctrl+C ends a program there.
  case terminal
  /// Emacs, whose kill commands all put what they delete on the clipboard.
  case emacs
  /// Vim and its like, where Ctrl with a letter means something else.
  case vim
  /// No keys at all: nothing is held back.
  case none
}

extension KeySet {
  /// The set of this name.
  public init(named name: KeySetName) {
    switch name {
    case .ordinary: self = .ordinary
    case .terminal: self = .terminal
    case .emacs: self = .emacs
    case .vim: self = .insertKeys
    case .none: self = KeySet([:])
    }
  }

  private static func read(_ copy: String, _ cut: String, _ paste: String) -> KeySet {
    func chords(_ text: String) -> [KeyChord] { text.split(separator: " ").compactMap { KeyChord(String($0)) } }
    return KeySet([.copy: chords(copy), .cut: chords(cut), .paste: chords(paste)])
  }

  private static let insertKeys = read(
    "Ctrl+Insert Ctrl+KP_Insert XF86Copy", "Shift+Delete Shift+KP_Delete XF86Cut",
    "Shift+Insert Shift+KP_Insert XF86Paste")

  // Ctrl+Shift+V pastes without format in browsers and editors.
  private static let ordinary = read("Ctrl+C", "Ctrl+X", "Ctrl+V Ctrl+Shift+V").joined(insertKeys)

  private static let terminal: KeySet = {
    var set = read("Ctrl+Shift+C", "", "Ctrl+Shift+V").joined(insertKeys)
    // Terminals can't cut, and Shift+Delete belongs to the program inside.
    set.chords[.cut] = []
    return set
  }()

  private static let emacs = read(
    "Alt+W", "Ctrl+W Ctrl+K Alt+K Alt+D Alt+Z Alt+BackSpace Ctrl+BackSpace Ctrl+Alt+K Ctrl+Alt+W", "Ctrl+Y Alt+Y"
  ).joined(insertKeys)

  private func joined(_ other: KeySet) -> KeySet { KeySet(chords.merging(other.chords) { $0 + $1 }) }
}

/// What a policy's `keys:` says of some apps.
public struct KeyAssignment: Hashable, Sendable {
  /// Whose keys they are: a group, or one of the words for apps.
  public var apps: Matcher
  /// Where it is written.
  public var position: SourcePosition
  /// A set that is built in; `nil` for the one that the app has anyhow.
  public var base: KeySetName?
  /// The keys of single actions, in place of the set's.
  public var chords: [Action: [KeyChord]]

  /// Assigns keys to `apps`.
  public init(apps: Matcher, position: SourcePosition, base: KeySetName?, chords: [Action: [KeyChord]] = [:]) {
    self.apps = apps
    self.position = position
    self.base = base
    self.chords = chords
  }
}
