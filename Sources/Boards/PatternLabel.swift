import Selection

/// What a text looks like (UIPasteboard, `detectPatterns`): said without handing the text out.
public enum PatternLabel: String, Hashable, Sendable, CaseIterable {
  /// An address of the web.
  case webURL = "web-url"
  /// An address of any other scheme.
  case link
  /// A mail address.
  case emailAddress = "email-address"
  /// A number, with or without a fraction.
  case number
  /// A telephone number.
  case phoneNumber = "phone-number"
  /// An amount of money, by its currency sign.
  case moneyAmount = "money-amount"
  /// A colour, as the web writes it.
  case color
  /// An absolute path.
  case filePath = "file-path"
  /// Words that somebody may want to search for: one short line that is none of the others.
  case searchTerm = "search-term"

  /// Longer texts are no single thing of any kind (our choice).
  static let byteLimit = 2_048
  /// A longer line is nothing to search for (our choice).
  static let termLimit = 128

  /// The labels of an item: of its plain text, if it has some and that is UTF-8 or ASCII.
  public static func labels(of item: BoardItem) -> [PatternLabel] {
    let text = item.representations.first { form in
      form.format == 8 && ["UTF8_STRING", "text/plain;charset=utf-8"].contains(form.target.name)
    }
    let plain = text ?? item.representations.first { $0.format == 8 && TargetList.isPlainText($0.target.name) }
    guard let payload = plain?.payload, payload.count <= byteLimit else { return [] }
    return labels(of: payload.copiedBytes(ofFirst: byteLimit))
  }

  /// The labels of a text.
  public static func labels(of bytes: [UInt8]) -> [PatternLabel] {
    let text = trimmed(bytes[...])
    guard !text.isEmpty, text.count <= byteLimit, !text.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return [] }
    let found = allCases.filter { $0 != .searchTerm && $0.fits(text) }
    guard found.isEmpty else { return found }
    return text.count <= termLimit ? [.searchTerm] : []
  }

  private func fits(_ text: ArraySlice<UInt8>) -> Bool {
    switch self {
    case .webURL: Self.scheme(of: text).map { ["http", "https"].contains($0) } ?? Self.isBareHost(text)
    case .link: Self.scheme(of: text).map { !["http", "https"].contains($0) } ?? false
    case .emailAddress: Self.isEmailAddress(text)
    case .number: Self.isNumber(text)
    case .phoneNumber: Self.isPhoneNumber(text)
    case .moneyAmount: Self.isMoney(text)
    case .color: Self.isColor(text)
    case .filePath: text.first == UInt8(ascii: "/") && text.count > 1 && text.dropFirst().first != UInt8(ascii: "/")
    case .searchTerm: false
    }
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0d).contains(byte) }
    let head = bytes.drop(while: isBlank)
    return head.prefix((head.lastIndex { !isBlank($0) } ?? head.startIndex - 1) - head.startIndex + 1)
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isWord(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) || byte >= 0x80 }

  /// The scheme, in lower case, of `scheme://rest` without blanks, and of `mailto:` and its like (RFC 3986, 3.1).
  private static func scheme(of text: ArraySlice<UInt8>) -> String? {
    guard !text.contains(0x20), let colon = text.firstIndex(of: UInt8(ascii: ":")), text.first.map(isLetter) == true
    else { return nil }
    let scheme = text[..<colon]
    let marks = [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")]
    guard scheme.allSatisfy({ isLetter($0) || isDigit($0) || marks.contains($0) }) else { return nil }
    let name = String(decoding: scheme, as: UTF8.self).lowercased()
    let rest = text[(colon + 1)...]
    if rest.starts(with: "//".utf8) { return rest.count > 2 ? name : nil }
    return ["mailto", "tel", "data", "magnet"].contains(name) && !rest.isEmpty ? name : nil
  }

  /// `www.` and a host behind it.
  private static func isBareHost(_ text: ArraySlice<UInt8>) -> Bool {
    text.starts(with: "www.".utf8) && !text.contains(0x20) && isHost(text.prefix { $0 != UInt8(ascii: "/") })
  }

  private static func isHost(_ text: ArraySlice<UInt8>) -> Bool {
    let labels = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return labels.count >= 2
      && labels.allSatisfy { label in !label.isEmpty && label.allSatisfy { isWord($0) || $0 == UInt8(ascii: "-") } }
      && labels.last.map { $0.count >= 2 && !$0.contains(where: isDigit) } ?? false
  }

  private static func isEmailAddress(_ text: ArraySlice<UInt8>) -> Bool {
    let parts = text.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[0].first != UInt8(ascii: ".") else { return false }
    let marks = Set("!#$%&'*+-/=?^_`{|}~.".utf8)
    return parts[0].allSatisfy { isWord($0) || marks.contains($0) } && isHost(parts[1])
  }

  private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
    let digits = text.first.map { "+-".utf8.contains($0) } == true ? text.dropFirst() : text
    guard digits.first.map(isDigit) == true, digits.last.map(isDigit) == true else { return false }
    var previous: UInt8 = 0
    for byte in digits {
      let isMark = ".,'".utf8.contains(byte)
      guard isDigit(byte) || isMark && isDigit(previous) else { return false }
      previous = byte
    }
    return true
  }

  /// 7 to 15 digits (E.164), with a plus, or with marks between groups: a bare row of digits is a number.
  private static func isPhoneNumber(_ text: ArraySlice<UInt8>) -> Bool {
    let marks = Set(" -/().".utf8)
    let hasPlus = text.first == UInt8(ascii: "+")
    let rest = hasPlus ? text.dropFirst() : text
    guard rest.allSatisfy({ isDigit($0) || marks.contains($0) }), (7...15).contains(rest.count(where: isDigit))
    else { return false }
    let groups = rest.split { !isDigit($0) }
    return hasPlus || groups.count >= 2 && (rest.first == UInt8(ascii: "0") || rest.first == UInt8(ascii: "("))
  }

  private static func isMoney(_ text: ArraySlice<UInt8>) -> Bool {
    let signs = ["$", "€", "£", "¥", "USD", "EUR", "GBP", "CHF", "JPY"].map { Array($0.utf8) }
    return signs.contains { sign in
      if text.starts(with: sign) { return isNumber(trimmed(text.dropFirst(sign.count))) }
      guard text.count > sign.count, text.suffix(sign.count).elementsEqual(sign) else { return false }
      return isNumber(trimmed(text.dropLast(sign.count)))
    }
  }

  private static func isColor(_ text: ArraySlice<UInt8>) -> Bool {
    text.first == UInt8(ascii: "#") && [4, 5, 7, 9].contains(text.count)
      && text.dropFirst().allSatisfy { isDigit($0) || (0x61...0x66).contains($0 | 0x20) }
  }
}
