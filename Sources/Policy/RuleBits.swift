/// A set of rules by their number, 64 to a word; iterates in order.
struct RuleBits: Hashable, Sendable, Sequence {
  private(set) var words: [UInt64]

  init(count: Int) { words = [UInt64](repeating: 0, count: (count + 63) / 64) }

  mutating func insert(_ rule: Int) { words[rule / 64] |= 1 << UInt64(rule % 64) }

  /// The rules of both sets, which are of one ruleset.
  func union(_ other: RuleBits) -> RuleBits {
    var union = self
    for index in words.indices { union.words[index] |= other.words[index] }
    return union
  }

  func contains(_ rule: Int) -> Bool { words[rule / 64] & 1 << UInt64(rule % 64) != 0 }

  func makeIterator() -> Iterator { Iterator(words: words) }

  struct Iterator: IteratorProtocol {
    fileprivate let words: [UInt64]
    private var index = 0
    private var word: UInt64

    fileprivate init(words: [UInt64]) {
      self.words = words
      word = words.first ?? 0
    }

    mutating func next() -> Int? {
      while word == 0 {
        index += 1
        guard index < words.count else { return nil }
        word = words[index]
      }
      let bit = word.trailingZeroBitCount
      word &= word - 1
      return index * 64 + bit
    }
  }
}
