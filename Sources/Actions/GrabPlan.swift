import Policy

/// One key with exactly these modifiers: what a passive grab names.
public struct KeyGrab: Hashable, Sendable, Comparable {
  /// The key's number on the keyboard.
  public var key: UInt8
  /// The server's modifiers.
  public var modifiers: UInt8

  /// Joins both.
  public init(key: UInt8, modifiers: UInt8) {
    self.key = key
    self.modifiers = modifiers
  }

  /// By key, then by modifiers.
  public static func < (lhs: KeyGrab, rhs: KeyGrab) -> Bool {
    (lhs.key, lhs.modifiers) < (rhs.key, rhs.modifiers)
  }
}

/// Which keys of a keyboard mean which combination, while one of its groups is in force.
///
/// A toolkit looks for the symbol in the active group; if that group can't type it at all (Cyrillic has no C), in the
/// other groups; and if none can, where a US keyboard has it. The same is done here, so a key is meant exactly when the
/// program would take it so: Ctrl with the key that is J in one layout and C in the other is a copy in the second alone.
public struct GrabPlan: Hashable, Sendable {
  /// What each key starts.
  public private(set) var actions: [KeyGrab: Action] = [:]
  /// The combination that each key stands for.
  public private(set) var chords: [KeyGrab: KeyChord] = [:]

  /// The keys that start one of `actions` by `keys` while `group` is in force.
  public init(_ actions: Set<Action>, keys: KeySet, on keyboard: Keyboard, group: Int) {
    for action in Action.byCommand where actions.contains(action) {
      for chord in keys.chords[action] ?? [] {
        for grab in keyboard.grabs(for: chord, group: group) where self.actions[grab] == nil {
          self.actions[grab] = action
          chords[grab] = chord
        }
      }
    }
  }
}

extension Keyboard {
  /// Every key, with every state of the lock keys, that means `chord` while `group` is in force.
  public func grabs(for chord: KeyChord, group: Int) -> [KeyGrab] {
    guard let mask = mask(of: chord.modifiers) else { return [] }
    if canType(chord.symbol, group: group) {
      return keys.keys.sorted().flatMap { key in grabs(key, chord.symbol, mask, group: group) }
    }
    for other in 0..<groupCount where other != group && canType(chord.symbol, group: other) {
      return keys.keys.sorted().filter { !isLatin($0, group: group) }
        .flatMap { key in grabs(key, chord.symbol, mask, group: other) }
    }
    guard let key = UnitedStates.key(of: chord.symbol), keys[key] != nil, !isLatin(key, group: group) else { return [] }
    return locks.map { KeyGrab(key: key, modifiers: mask | $0) }
  }

  private var groupCount: Int { keys.values.reduce(1) { max($0, $1.count) } }

  private func canType(_ wanted: UInt32, group: Int) -> Bool {
    keys.keys.contains { key in
      [0, Modifier.shift].contains { small(symbol(key, group: group, modifiers: $0)) == wanted }
    }
  }

  /// The states of the lock keys in which `key` means the symbol. Shift and Num Lock choose another symbol of a key on
  /// the number pad; toolkits then also try the one without Shift.
  private func grabs(_ key: UInt8, _ wanted: UInt32, _ mask: UInt8, group: Int) -> [KeyGrab] {
    locks.filter { lock in
      [mask | lock, lock].contains { small(symbol(key, group: group, modifiers: $0)) == wanted }
    }.map { KeyGrab(key: key, modifiers: mask | $0) }
  }

  private func isLatin(_ key: UInt8, group: Int) -> Bool {
    (0x21...0x7e).contains(symbol(key, group: group, modifiers: 0))
  }

  private func small(_ symbol: UInt32) -> UInt32 { (0x41...0x5a).contains(symbol) ? symbol + 0x20 : symbol }
}

/// Where letters are on a US keyboard, by the key numbers that X servers on Linux use (evdev's plus 8, as in xkb's
/// `keycodes/evdev`; the older `xfree86` has the same for these).
private enum UnitedStates {
  private static let rows: [(first: UInt8, letters: String)] = [
    (24, "qwertyuiop"), (38, "asdfghjkl"), (52, "zxcvbnm"),
  ]

  static func key(of symbol: UInt32) -> UInt8? {
    for (first, letters) in rows {
      if let place = letters.unicodeScalars.enumerated().first(where: { $0.element.value == symbol })?.offset {
        return first + UInt8(place)
      }
    }
    return nil
  }
}
