import Testing

@testable import Policy

@Suite struct PatternTests {
  static let plain: [(String, String, Bool)] = [
    ("st", "st", true), ("st", "steam", false), ("st", "Postman", false), ("st", "St", false),
    ("SAP*", "SAP", true), ("SAP*", "SAPGUI", true), ("SAP*", "xSAP", false), ("*", "", true), ("*", "a/b", true),
    ("a*b*c", "a/x/bxc", true), ("a*b*c", "abcb", false), ("a?c", "abc", true), ("a?c", "ac", false),
    ("?", "ä", true), ("[ab]x", "bx", true), ("[ab]x", "cx", false), ("[!ab]x", "cx", true), ("[^ab]x", "ax", false),
    ("[a-c]", "b", true), ("[a-c]", "d", false), ("[]]", "]", true), ("[a\\]]", "]", true), ("[a-]", "-", true),
    ("\\*", "*", true), ("\\*", "x", false), ("a\\\\", "a\\", true), ("**", "anything/at/all", true),
    ("a\u{FEFF}b", "a\u{FEFF}b", true), ("a\u{FEFF}b", "ab", false), ("ab", "a\u{FEFF}b", false),
    ("\u{E9}", "e\u{301}", false), ("\u{E9}", "\u{E9}", true), ("image/*", "image/png", true), ("x", "", false),
  ]

  @Test(arguments: plain) func plainGlob(_ pattern: String, _ text: String, _ matches: Bool) throws {
    #expect(try Glob(pattern).matches(text) == matches)
  }

  static let paths: [(String, String, Bool)] = [
    ("/opt/*/bin", "/opt/sap/bin", true), ("/opt/*/bin", "/opt/sap/x/bin", false),
    ("/opt/sap/**", "/opt/sap/a/b/c", true), ("/opt/sap/**", "/opt/sap/", true), ("/opt/sap/**", "/opt/sap", false),
    ("/opt/sap/**", "/opt/sapx/a", false), ("**/firefox", "/usr/bin/firefox", true), ("**/firefox", "/firefox", true),
    ("/usr/**/x?", "/usr/a/b/x1", true), ("/usr/?in", "/usr//in", false), ("/usr/[!a]in", "/usr//in", false),
    ("/a/***/b", "/a/x/y/b", true), ("/a*", "/a/b", false), ("/usr/bin/*", "/usr/bin/", true),
  ]

  @Test(arguments: paths) func pathGlob(_ pattern: String, _ text: String, _ matches: Bool) throws {
    #expect(try Glob(pattern, style: .path).matches(text) == matches)
  }

  @Test func flaws() {
    #expect(throws: Glob.Flaw.empty) { try Glob("") }
    #expect(throws: Glob.Flaw.unclosedSet) { try Glob("[a") }
    #expect(throws: Glob.Flaw.unclosedSet) { try Glob("[]") }
    #expect(throws: Glob.Flaw.emptyRange) { try Glob("[b-a]") }
    #expect(throws: Glob.Flaw.danglingEscape) { try Glob("a\\") }
    #expect(throws: Glob.Flaw.tooLong) { try Glob(String(repeating: "a", count: 1_025)) }
  }

  /// Backtracking matchers need 2^30 steps here.
  @Test func noPatternExplodes() throws {
    let text = String(repeating: "a", count: 4_000)
    let short = try Glob(String(repeating: "a*", count: 25) + "b")
    let long = try Glob(String(repeating: "a*", count: 100) + "b")
    let clock = ContinuousClock()
    let time = clock.measure {
      #expect(!short.matches(text))
      #expect(!long.matches(text))
      #expect(long.matches(text + "b"))
    }
    // It takes 3 s without optimisation on a machine that is busy, and what it is to find would take hours.
    #expect(time < .seconds(60))
  }

  /// Short and long patterns take different ways; padding makes a long one of a short one.
  @Test func bothWaysAgree() throws {
    var random = Seeded(state: 7)
    let pad = String(repeating: "p", count: 70)
    for _ in 0..<3_000 {
      let pattern = String(
        (0..<Int.random(in: 1...6, using: &random)).map { _ in "ab/*?*".randomElement(using: &random)! })
      let text = String((0..<Int.random(in: 0...7, using: &random)).map { _ in "ab/".randomElement(using: &random)! })
      for style in [Glob.Style.plain, .path] {
        let short = try Glob(pattern, style: style).matches(text)
        let long = try Glob(pad + pattern, style: style).matches(pad + text)
        let slow = slowMatch(Array(pattern), Array(text), crosses: style == .plain)
        demand(short == slow && long == slow, "\(pattern) \(text) \(style)")
      }
    }
  }

  private func slowMatch(_ pattern: [Character], _ text: [Character], crosses: Bool) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = Array(pattern.dropFirst())
    if first == "*" {
      let run = pattern.prefix { $0 == "*" }.count
      let after = Array(pattern.dropFirst(run))
      for length in 0...text.count {
        if !crosses, run == 1, text.prefix(length).contains("/") { break }
        if slowMatch(after, Array(text.dropFirst(length)), crosses: crosses) { return true }
      }
      return false
    }
    guard let head = text.first, head == first || first == "?" && (crosses || head != "/") else { return false }
    return slowMatch(rest, Array(text.dropFirst()), crosses: crosses)
  }

  static let kinds: [(String, TargetClass)] = [
    ("UTF8_STRING", .text), ("STRING", .text), ("TEXT", .text), ("COMPOUND_TEXT", .text), ("C_STRING", .text),
    ("text/plain", .text), ("text/plain;charset=utf-8", .text), ("text/plain;charset=UTF-8", .text),
    ("TEXT/PLAIN; charset=ISO-8859-1", .text), ("utf8_string", .other), ("text/html", .html),
    ("text/html;charset=utf-8", .html), ("text/_moz_htmlcontext", .html), ("text/_moz_htmlinfo", .html),
    ("application/xhtml+xml", .html), ("text/rtf", .rtf), ("text/richtext", .rtf), ("application/rtf", .rtf),
    ("application/ico", .image), ("text/ico", .image), ("application/x-navi-animation", .image),
    ("application/bmp", .image), ("application/x-bmp", .image), ("application/tiff", .image),
    ("APPLICATION/X-TIFF", .image), ("application/emf", .image), ("text/xml-svg", .image),
    ("application/x-openoffice-bitmap;windows_formatname=\"Bitmap\"", .image), ("text/icon", .other),
    ("application/icon", .other), ("image/png", .image), ("image/x-anything", .image), ("PIXMAP", .image),
    ("BITMAP", .image),
    ("text/uri-list", .files), ("x-special/gnome-copied-files", .files), ("x-special/mate-copied-files", .files),
    ("application/x-kde-cutselection", .files), ("text/x-moz-url", .files), ("text/plainer", .other),
    ("application/octet-stream", .other), ("", .other), ("text/css", .other),
  ]

  @Test(arguments: kinds) func targetClass(_ name: String, _ kind: TargetClass) {
    #expect(TargetClass(targetNamed: name) == kind)
  }

  @Test func targetPatterns() {
    #expect(TargetPattern.kind(.text).matches("STRING"))
    #expect(!TargetPattern.kind(.text).matches("image/png"))
    #expect(TargetPattern.glob("image/*").matches("image/png"))
    #expect(!TargetPattern.glob("image/*").matches("IMAGE/PNG"))
    #expect(!TargetPattern.glob("[").matches("["))
    #expect(TargetPattern.all([.kind(.image), .glob("*/png")]).matches("image/png"))
    #expect(!TargetPattern.all([.kind(.image), .glob("*/png")]).matches("image/jpeg"))
  }
}
