import ContentActions
import Foundation
import Testing

@Suite struct LinkCleanerTests {
  static let rows: [(String, String)] = [
    ("https://a.example/?utm_source=x", "https://a.example/"),
    ("https://a.example/?utm_source=x&b=2", "https://a.example/?b=2"),
    ("https://a.example/?b=2&utm_source=x", "https://a.example/?b=2"),
    ("https://a.example/?a=1&fbclid=I&b=2;gclid=Q;c=3#p", "https://a.example/?a=1&b=2;c=3#p"),
    ("https://a.example/?fbclid=1&gclid=2#top", "https://a.example/#top"),
    ("https://a.example/?GCLID=1&UTM_Medium=m&B=%20+", "https://a.example/?B=%20+"),
    // Only whole names count, and only in the query.
    (
      "https://a.example/utm_source=1?my_utm_source=1&gclidx=2",
      "https://a.example/utm_source=1?my_utm_source=1&gclidx=2"
    ),
    ("https://a.example/#?utm_source=1", "https://a.example/#?utm_source=1"),
    ("https://a.example/?q=utm_source%3D1&q=fbclid", "https://a.example/?q=utm_source%3D1&q=fbclid"),
    // A question mark inside the query belongs to it.
    ("http://a.example/?u=http://b.example/?x=1&gclid=2", "http://a.example/?u=http://b.example/?x=1"),
    // Empty parts and blanks are somebody's own.
    ("https://a.example/?&&a&&fbclid&", "https://a.example/?&&a&&"),
    ("https://a.example/?", "https://a.example/?"),
    ("  https://a.example/?gclid=1\t\r\n", "  https://a.example/\t\r\n"),
    ("HTTPS://A.example/?gclid=1", "HTTPS://A.example/"),
    (
      "# list\r\nhttps://a.example/?gclid=1\r\nhttps://b.example/?x\r\n",
      "# list\r\nhttps://a.example/\r\nhttps://b.example/?x\r\n"
    ),
  ]

  @Test(arguments: rows) func cleans(_ row: (String, String)) {
    let cleaned = LinkCleaner.cleaned(Array(row.0.utf8))
    #expect(cleaned.map { String(decoding: $0, as: UTF8.self) } == row.1)
    // What is clean stays as it is.
    #expect(cleaned.flatMap { LinkCleaner.cleaned($0) } == cleaned)
  }

  @Test(arguments: [
    "", "no link", "see https://a.example/?gclid=1", "https://a.example/?gclid=1 and more", "ftp://a.example/?gclid=1",
    "//a.example/?gclid=1", "\n\n",
  ]) func leavesEverythingElse(_ text: String) {
    #expect(LinkCleaner.cleaned(Array(text.utf8)) == nil)
  }

  @Test func keepsBytesThatAreNoText() {
    let link =
      Array("https://a.example/".utf8) + [0xFF, 0xFE] + Array("?a=".utf8) + [0x80] + Array("&utm_id=".utf8) + [0xC0]
    #expect(LinkCleaner.cleaned(link) == Array("https://a.example/".utf8) + [0xFF, 0xFE] + Array("?a=".utf8) + [0x80])
  }

  /// Whatever stands in the query: what is left is what was there without the parameters of the table, in order.
  @Test func removesNothingElse() {
    var generator = SystemRandomNumberGenerator()
    let words = Array(LinkCleaner.names).sorted() + LinkCleaner.prefixes + ["a", "id", "", "UTM", "gcl"]
    for _ in 0..<2_000 {
      let parts = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
        words.randomElement(using: &generator)! + ["", "=", "=1", "=a=b?"].randomElement(using: &generator)!
      }
      let link = "https://a.example/p?" + parts.joined(separator: "&") + "#f"
      let kept = parts.filter { part in
        let name = part.prefix { $0 != "=" }.lowercased()
        return !LinkCleaner.names.contains(name) && !LinkCleaner.prefixes.contains { name.hasPrefix($0) }
      }
      let query = kept.count == parts.count ? "?" + parts.joined(separator: "&") : kept.joined(separator: "&")
      let expected =
        "https://a.example/p"
        + (kept.count == parts.count ? query : query.isEmpty ? "" : "?" + query) + "#f"
      #expect(LinkCleaner.cleaned(Array(link.utf8)).map { String(decoding: $0, as: UTF8.self) } == expected, "\(link)")
    }
  }

  @Test func documentHasTheTable() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("docs/actions.md"), encoding: .utf8)
    for name in LinkCleaner.names { #expect(text.contains("`\(name)`"), "\(name)") }
    for prefix in LinkCleaner.prefixes { #expect(text.contains("`\(prefix)*`"), "\(prefix)") }
  }
}
