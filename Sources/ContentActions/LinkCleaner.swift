/// Takes out of links what tells the site who sent the reader, and leaves every other byte as it is.
public enum LinkCleaner {
  /// Parameters of a query that only follow people around, by their whole name.
  ///
  /// docs/actions.md prints this table; a test compares the two.
  public static let names: Set<String> = [
    // Click numbers of advertisers and social networks.
    "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "ysclid", "twclid", "ttclid",
    "li_fat_id", "epik", "sccid", "igshid", "igsh", "rdt_cid", "irclickid", "srsltid", "wickedid",
    // Letters and campaigns.
    "mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking", "vero_id",
    "vero_conv", "oly_anon_id", "oly_enc_id", "ml_subscriber", "ml_subscriber_hash", "_openstat", "s_cid",
    "_branch_match_id",
    // What one's own visit is counted by across sites.
    "_ga", "_gl",
  ]

  /// The same by how the name begins.
  public static let prefixes = ["utm_", "mtm_", "pk_", "hsa_"]

  /// `text` with its links cleaned; `nil` when no line of it is a link. A link is a whole line, blanks around it aside: inside
  /// running text nobody can say where one ends.
  public static func cleaned(_ text: [UInt8]) -> [UInt8]? {
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var hasLink = false
    var start = 0
    while start < text.count {
      let end = text[start...].firstIndex(of: lineFeed) ?? text.count
      let line = text[start..<end]
      if let link = link(in: line) {
        hasLink = true
        result += line[line.startIndex..<link.lowerBound]
        result += cleanedLink(line[link])
        result += line[link.upperBound...]
      } else {
        result += line
      }
      if end < text.count { result.append(lineFeed) }
      start = end + 1
    }
    return hasLink ? result : nil
  }

  /// Where the link stands in a line that is nothing else.
  private static func link(in line: ArraySlice<UInt8>) -> Range<Int>? {
    guard let first = line.firstIndex(where: { !isBlank($0) }), let last = line.lastIndex(where: { !isBlank($0) })
    else { return nil }
    let link = line[first...last]
    guard !link.contains(where: { isBlank($0) || $0 < 0x20 || $0 == 0x7F }) else { return nil }
    let scheme = Array(link.prefix(8)).map(lowered)
    guard scheme.starts(with: Array("https://".utf8)) || scheme.starts(with: Array("http://".utf8)) else { return nil }
    return first..<last + 1
  }

  /// The query (RFC 3986, 3.4) stands between the first `?` and the first `#`; what is behind that is the page's own.
  private static func cleanedLink(_ link: ArraySlice<UInt8>) -> [UInt8] {
    let fragment = link.firstIndex(of: UInt8(ascii: "#")) ?? link.endIndex
    guard let mark = link[..<fragment].firstIndex(of: UInt8(ascii: "?")) else { return Array(link) }
    var kept: [UInt8] = []
    var isFirst = true
    var start = mark + 1
    while start <= fragment {
      let end = link[start..<fragment].firstIndex { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") } ?? fragment
      let parameter = link[start..<end]
      if !isTracking(parameter) {
        // The separator before it, as it was written.
        if !isFirst { kept.append(link[start - 1]) }
        kept += parameter
        isFirst = false
      }
      start = end + 1
    }
    guard kept.count < fragment - mark - 1 else { return Array(link) }
    let question = kept.isEmpty ? [] : [UInt8(ascii: "?")]
    return link[..<mark] + question + kept + link[fragment...]
  }

  private static func isTracking(_ parameter: ArraySlice<UInt8>) -> Bool {
    let letters = parameter.prefix { $0 != UInt8(ascii: "=") }.map(lowered)
    guard let name = String(validating: letters, as: UTF8.self) else { return false }
    return names.contains(name) || prefixes.contains { name.hasPrefix($0) }
  }

  private static let lineFeed = UInt8(ascii: "\n")
  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
  private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }
}
