import Policy

/// A keyboard as the server has it: which symbol each key gives in which group and with which modifiers (XKB, "Key
/// Symbol Map"). No event in it, no state: what the person types is never here.
public struct Keyboard: Hashable, Sendable {
  /// How modifiers choose a level.
  public struct KeyType: Hashable, Sendable {
    /// The modifiers that count.
    public var mask: UInt8
    /// Levels by the modifiers that count; all others are level 0.
    public var levels: [UInt8: Int]

    /// Describes a type.
    public init(mask: UInt8, levels: [UInt8: Int]) {
      self.mask = mask
      self.levels = levels
    }

    func level(of modifiers: UInt8) -> Int { levels[modifiers & mask] ?? 0 }
  }

  /// One group of one key.
  public struct Group: Hashable, Sendable {
    /// How modifiers choose among its symbols.
    public var type: KeyType
    /// The symbol of each level.
    public var symbols: [UInt32]

    /// Describes a group.
    public init(type: KeyType, symbols: [UInt32]) {
      self.type = type
      self.symbols = symbols
    }
  }

  /// The groups of each key.
  public private(set) var keys: [UInt8: [Group]]
  /// The modifiers that each key sets.
  public private(set) var modifierKeys: [UInt8: UInt8]
  /// Modifiers of lock keys, in every combination that a person may have on.
  let locks: [UInt8]
  private let alt: UInt8
  private let `super`: UInt8

  /// The protocol's own modifiers (X protocol, "KEYBUTMASK").
  public enum Modifier {
    /// Shift.
    public static let shift: UInt8 = 1
    /// Caps Lock.
    public static let lock: UInt8 = 2
    /// Control.
    public static let control: UInt8 = 4
    /// The first of the five that have no fixed meaning: mostly Alt.
    public static let first: UInt8 = 8
  }

  private enum Symbol {
    static let numLock: UInt32 = 0xff7f
    static let scrollLock: UInt32 = 0xff14
    static let alt: Set<UInt32> = [0xffe9, 0xffea, 0xffe7, 0xffe8]
    static let `super`: Set<UInt32> = [0xffeb, 0xffec]
  }

  /// Takes the server's tables.
  public init(keys: [UInt8: [Group]], modifierKeys: [UInt8: UInt8]) {
    self.keys = keys
    self.modifierKeys = modifierKeys
    func modifiers(of symbols: Set<UInt32>) -> UInt8 {
      modifierKeys.reduce(0) { mask, entry in
        let isOne = (keys[entry.key] ?? []).contains { $0.symbols.contains { symbols.contains($0) } }
        // The three with a fixed meaning are never what such a key is for.
        return isOne ? mask | entry.value & ~7 : mask
      }
    }
    alt = modifiers(of: Symbol.alt)
    self.super = modifiers(of: Symbol.super) & ~alt
    var locks: [UInt8] = [0]
    let single = [Modifier.lock, modifiers(of: [Symbol.numLock]), modifiers(of: [Symbol.scrollLock])]
    for mask in single where mask & (alt | self.super) == 0 {
      for known in locks where !locks.contains(known | mask) { locks.append(known | mask) }
    }
    self.locks = locks
  }

  /// The symbol of a key; 0 when it has none there.
  func symbol(_ key: UInt8, group: Int, modifiers: UInt8) -> UInt32 {
    guard let groups = keys[key], !groups.isEmpty else { return 0 }
    // Keys with fewer groups wrap around, as most keyboards say; a key with one group is the same in all.
    let group = groups[max(0, group) % groups.count]
    let level = group.type.level(of: modifiers)
    return level < group.symbols.count ? group.symbols[level] : group.symbols.first ?? 0
  }

  /// The server's modifiers for those of a combination; `nil` where the keyboard has no such key.
  func mask(of modifiers: ChordModifiers) -> UInt8? {
    var mask: UInt8 = 0
    if modifiers.contains(.control) { mask |= Modifier.control }
    if modifiers.contains(.shift) { mask |= Modifier.shift }
    if modifiers.contains(.alt) {
      guard alt != 0 else { return nil }
      // Several keys may share one meaning: the lowest is the one that toolkits look for.
      mask |= alt & (~alt &+ 1)
    }
    if modifiers.contains(.super) {
      guard self.super != 0 else { return nil }
      mask |= self.super & (~self.super &+ 1)
    }
    return mask
  }
}
