/// A pattern for whole strings: `*`, `?`, `[…]`, and `\` before a character that is meant literally. Case matters.
///
/// In a path `*`, `?` and `[…]` stop at slashes and `**` crosses them; elsewhere `*` matches anything. Scalars are
/// compared one by one, without Unicode normalisation: two spellings of a file name are two files.
///
/// A match is decided by following all alternatives at once, so its cost is bounded by pattern × text and no pattern
/// can make it explode.
public struct Glob: Hashable, Sendable, CustomStringConvertible {
  /// Whether slashes separate parts.
  public enum Style: Hashable, Sendable {
    /// `*` matches anything.
    case plain
    /// `*` stops at slashes.
    case path
  }

  /// Why a text is no pattern.
  public enum Flaw: Error, Hashable, Sendable {
    /// It has no characters.
    case empty
    /// A `[` without its `]`.
    case unclosedSet
    /// A set such as `[z-a]`.
    case emptyRange
    /// A `\` with nothing after it.
    case danglingEscape
    /// More characters than a pattern may have (1,024: our choice; paths of that length don't occur in policies).
    case tooLong
  }

  enum Token: Hashable, Sendable {
    case scalar(Unicode.Scalar)
    case anyOne
    case set([ClosedRange<Unicode.Scalar>], negated: Bool)
    case star(crossesSlashes: Bool)
  }

  /// The pattern as it was written.
  public let pattern: String
  /// How slashes count.
  public let style: Style
  /// The one string that it matches, where it has no wildcards.
  public let literal: String?
  /// What it is made of; not written out for a pattern without a special character.
  let tokens: [Token]
  private let stars: UInt64

  /// Reads `pattern`.
  public init(_ pattern: String, style: Style = .plain) throws(Flaw) {
    guard !pattern.isEmpty else { throw .empty }
    guard pattern.utf8.count <= Glob.maximum || pattern.unicodeScalars.count <= Glob.maximum else { throw .tooLong }
    self.pattern = pattern
    self.style = style
    guard Glob.hasSpecial(pattern) else {
      (literal, tokens, stars) = (pattern, [], 0)
      return
    }
    let tokens = try GlobReader.tokens(of: pattern, style: style)
    self.tokens = tokens
    var text = String.UnicodeScalarView()
    var isLiteral = true
    var stars: UInt64 = 0
    for (index, token) in tokens.enumerated() {
      switch token {
      case .scalar(let scalar): text.append(scalar)
      case .star:
        isLiteral = false
        if index < 63 { stars |= 1 << UInt64(index) }
      case .anyOne, .set: isLiteral = false
      }
    }
    literal = isLiteral ? String(text) : nil
    self.stars = stars
  }

  /// Matches exactly `text`.
  public init(literally text: String, style: Style = .plain) {
    pattern = text
    self.style = style
    literal = text
    tokens = []
    stars = 0
  }

  private static let maximum = 1_024

  /// Whether it has any character that isn't meant literally.
  static func hasSpecial(_ pattern: String) -> Bool {
    for byte in pattern.utf8 {
      switch byte {
      case UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "["), UInt8(ascii: "\\"): return true
      default: break
      }
    }
    return false
  }

  /// The pattern as it was written.
  public var description: String { pattern }

  /// Two patterns are equal when they are spelled alike, scalar for scalar.
  public static func == (lhs: Glob, rhs: Glob) -> Bool {
    lhs.style == rhs.style && lhs.pattern.isSpelled(like: rhs.pattern)
  }

  /// Hashes the pattern.
  public func hash(into hasher: inout Hasher) { hasher.combine(pattern) }

  /// Whether the whole of `text` matches.
  public func matches(_ text: String) -> Bool {
    if let literal { return literal.isSpelled(like: text) }
    if case .scalar(let first) = tokens[0], text.unicodeScalars.first != first { return false }
    return tokens.count < 64 ? matchesShort(text) : matchesLong(text)
  }

  /// Bit `n` of the state: the tokens before `n` have matched what was read so far. Stars are never adjacent, so one
  /// shift is enough to skip them.
  private func matchesShort(_ text: String) -> Bool {
    var state: UInt64 = 1
    state |= (state & stars) << 1
    for scalar in text.unicodeScalars {
      var next: UInt64 = 0
      var rest = state & ~(1 << UInt64(tokens.count))
      while rest != 0 {
        let index = rest.trailingZeroBitCount
        rest &= rest - 1
        switch tokens[index] {
        case .star(let crosses): if crosses || scalar != "/" { next |= 1 << UInt64(index) }
        case let token: if accepts(token, scalar) { next |= 1 << UInt64(index + 1) }
        }
      }
      if next == 0 { return false }
      state = next | (next & stars) << 1
    }
    return state & (1 << UInt64(tokens.count)) != 0
  }

  private func matchesLong(_ text: String) -> Bool {
    var state = [Bool](repeating: false, count: tokens.count + 1)
    func skipStars(_ state: inout [Bool]) {
      for (index, token) in tokens.enumerated() where state[index] {
        if case .star = token { state[index + 1] = true }
      }
    }
    state[0] = true
    skipStars(&state)
    for scalar in text.unicodeScalars {
      var next = [Bool](repeating: false, count: tokens.count + 1)
      for (index, token) in tokens.enumerated() where state[index] {
        switch token {
        case .star(let crosses): if crosses || scalar != "/" { next[index] = true }
        default: if accepts(token, scalar) { next[index + 1] = true }
        }
      }
      state = next
      skipStars(&state)
    }
    return state[tokens.count]
  }

  private func accepts(_ token: Token, _ scalar: Unicode.Scalar) -> Bool {
    switch token {
    case .scalar(let wanted): wanted == scalar
    case .anyOne: style == .plain || scalar != "/"
    case .set(let ranges, let negated):
      (style == .plain || scalar != "/") && ranges.contains { $0.contains(scalar) } != negated
    case .star: false
    }
  }

  /// Whether it is known that everything `other` matches matches this too. `false` where that would need a proof.
  func covers(_ other: Glob) -> Bool {
    if self == other { return true }
    if let literal = other.literal { return matches(literal) }
    guard literal == nil, case .star(crossesSlashes: true) = tokens[tokens.count - 1] else { return false }
    let fixed = tokens.dropLast()
    return other.tokens.count >= fixed.count
      && zip(fixed, other.tokens).allSatisfy { mine, theirs in
        if case .scalar = mine { mine == theirs } else { false }
      }
  }
}

/// Takes a pattern apart.
private struct GlobReader {
  var rest: Substring.UnicodeScalarView
  let style: Glob.Style

  static func tokens(of pattern: String, style: Glob.Style) throws(Glob.Flaw) -> [Glob.Token] {
    var reader = GlobReader(rest: Substring(pattern).unicodeScalars, style: style)
    var tokens: [Glob.Token] = []
    while let scalar = reader.rest.popFirst() {
      switch scalar {
      case "*": reader.appendStar(to: &tokens)
      case "?": tokens.append(.anyOne)
      case "[": tokens.append(try reader.set())
      case "\\":
        guard let next = reader.rest.popFirst() else { throw .danglingEscape }
        tokens.append(.scalar(next))
      default: tokens.append(.scalar(scalar))
      }
    }
    return tokens
  }

  private mutating func appendStar(to tokens: inout [Glob.Token]) {
    var crosses = style == .plain
    while rest.first == "*" {
      rest.removeFirst()
      crosses = true
    }
    tokens.append(.star(crossesSlashes: crosses))
  }

  /// The set after its `[`; a `]` in first place is meant literally.
  private mutating func set() throws(Glob.Flaw) -> Glob.Token {
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    var negated = false
    if rest.first == "!" || rest.first == "^" {
      rest.removeFirst()
      negated = true
    }
    while true {
      guard var low = rest.popFirst() else { throw .unclosedSet }
      if low == "]", !ranges.isEmpty { return .set(ranges, negated: negated) }
      if low == "\\" {
        guard let next = rest.popFirst() else { throw .unclosedSet }
        low = next
      }
      guard rest.first == "-", let high = rest.dropFirst().first, high != "]" else {
        ranges.append(low...low)
        continue
      }
      rest.removeFirst(2)
      guard low <= high else { throw .emptyRange }
      ranges.append(low...high)
    }
  }
}
