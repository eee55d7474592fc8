import Actions

/// Keyboards as xkb makes them, as far as the tests need them.
enum Keyboards {
  static let alphabetic = Keyboard.KeyType(mask: 3, levels: [1: 1, 2: 1])
  static let twoLevels = Keyboard.KeyType(mask: 1, levels: [1: 1])
  static let oneLevel = Keyboard.KeyType(mask: 0, levels: [:])
  /// Num Lock is Mod2 (16): either of it and Shift gives the digit, both give the movement again.
  static let keypad = Keyboard.KeyType(mask: 17, levels: [1: 1, 16: 1])

  static let numLock: UInt8 = 16
  static let letters = ["qwertyuiop": 24, "asdfghjkl": 38, "zxcvbnm": 52] as [String: UInt8]

  /// The place of a letter on a US keyboard.
  static func us(_ letter: Character) -> UInt8 {
    for (row, first) in letters {
      if let index = row.firstIndex(of: letter) { return first + UInt8(row.distance(from: row.startIndex, to: index)) }
    }
    return 0
  }

  /// The Cyrillic letters of a Russian keyboard, as many as the US one has letters; KOI-8 symbols are what xkb gives.
  private static func group(_ name: String) -> [UInt8: Keyboard.Group] {
    var keys: [UInt8: Keyboard.Group] = [:]
    for (row, first) in letters {
      for (offset, letter) in row.unicodeScalars.enumerated() {
        let key = first + UInt8(offset)
        let small: UInt32
        switch name {
        case "us": small = letter.value
        case "ru": small = 0x6c0 + UInt32(key) % 32
        case "dvorak":
          guard let found = dvorak[key] else { continue }
          small = found
        default: fatalError("no such layout")
        }
        let large = name == "ru" ? small + 0x20 : small - ((0x61...0x7a).contains(small) ? 0x20 : 0)
        keys[key] = Keyboard.Group(type: alphabetic, symbols: [small, large])
      }
    }
    return keys
  }

  /// Where xkb's Dvorak has the letters that matter here: J is where a US keyboard has C, C is on I, X on B, V on the dot.
  private static let dvorak: [UInt8: UInt32] = [54: 0x6a, 31: 0x63, 56: 0x78, 53: 0x71, 55: 0x6b, 38: 0x61, 26: 0x2e]

  static func make(_ layouts: String...) -> Keyboard {
    var keys: [UInt8: [Keyboard.Group]] = [:]
    for (number, layout) in layouts.enumerated() {
      for (key, group) in group(layout) {
        // A key that an earlier layout leaves out means nothing there.
        while keys[key, default: []].count < number {
          keys[key, default: []].append(Keyboard.Group(type: oneLevel, symbols: [0]))
        }
        keys[key, default: []].append(group)
      }
    }
    keys[118] = [Keyboard.Group(type: oneLevel, symbols: [0xff63])]
    keys[119] = [Keyboard.Group(type: oneLevel, symbols: [0xffff])]
    keys[90] = [Keyboard.Group(type: keypad, symbols: [0xff9e, 0xffb0])]
    keys[91] = [Keyboard.Group(type: keypad, symbols: [0xff9f, 0xffae])]
    keys[64] = [Keyboard.Group(type: twoLevels, symbols: [0xffe9, 0xffe7])]
    keys[66] = [Keyboard.Group(type: oneLevel, symbols: [0xffe5])]
    keys[77] = [Keyboard.Group(type: oneLevel, symbols: [0xff7f])]
    return Keyboard(keys: keys, modifierKeys: [64: 8, 66: 2, 77: numLock, 37: 4, 50: 1])
  }
}
