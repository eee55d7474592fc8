import Testing

@testable import Policy

@Suite struct EmptinessTests {
  static let groups: [String: Matcher] = ["office": .anyOf([isExe("/opt/office/**"), isClass("Writer")])]

  static let matchers: [(Matcher, Bool)] = [
    (.allOf([isClass("Firefox"), .not(isClass("Fire*"))]), true),
    (.allOf([isExe("/opt/office/bin/w"), .not(.group("office"))]), true),
    (.anyOf([isClass("A"), .allOf([.not(isClass("B")), isClass("B")])]), true),
    (.allOf([isClass("A"), isClass("B")]), true),
    (.allOf([isClass("A"), isClass("A*")]), false),
    (.allOf([isClass("Fire*"), .not(isClass("Firefox"))]), false),
    (.allOf([isExe("/usr/bin/w"), .not(.group("office"))]), false),
    (.allOf([isClass("A"), isExe("/b")]), false),
    (.not(isClass("A")), false), (.any, false), (.unknown, false),
  ]

  @Test(arguments: matchers.indices) func nobodyIsMeant(_ row: Int) {
    let (matcher, isEmpty) = Self.matchers[row]
    #expect((matcher.emptyPart(groups: Self.groups) != nil) == isEmpty, "\(matcher)")
  }

  /// What is found to be empty matches none of many apps.
  @Test func emptyIsEmpty() {
    for (matcher, isEmpty) in Self.matchers where isEmpty {
      if case .anyOf = matcher { continue }
      for name in ["A", "B", "Firefox", "Writer", "w", "Fire"] {
        for exe in ["/opt/office/bin/w", "/usr/bin/w", "/b"] {
          #expect(!matcher.matches(app(name, exe: exe), groups: Self.groups))
        }
      }
    }
  }

  @Test func termsThatLeaveNothing() {
    func found(_ fill: (inout Rule) -> Void) -> Bool { rule("r", .allow, fill).termsThatLeaveNothing != nil }
    #expect(
      found {
        $0.targets = [.kind(.image)]; $0.obligations.plainText = true
      })
    #expect(
      found {
        $0.targets = [.kind(.text)]; $0.obligations.targets = [.glob("text/html"), .kind(.image)]
      })
    #expect(
      found {
        $0.size = SizeRange(over: 64); $0.obligations.maxSize = 64
      })
    #expect(
      !found {
        $0.size = SizeRange(over: 64); $0.obligations.maxSize = 65
      })
    #expect(
      !found {
        $0.targets = [.kind(.text)]; $0.obligations.targets = [.glob("UTF8_STRING")]
      })
    #expect(
      !found {
        $0.targets = [.glob("image/*")]; $0.obligations.targets = [.kind(.text)]
      })
    #expect(!found { $0.obligations.targets = [.kind(.text)] })
  }

  /// Rules about literally named targets are looked up; what covers them is found as before.
  @Test func coverageByTarget() {
    func covered(_ rules: [Rule]) -> [[Int]] { ruleset(rules).coveredRules().map { [$0.rule, $0.by] } }
    let both = rule("both", .deny) { $0.targets = [.glob("a/b"), .glob("c/d")] }
    let one = rule("one", .allow) { $0.targets = [.glob("c/d")] }
    let more = rule("more", .allow) { $0.targets = [.glob("c/d"), .glob("e/f")] }
    let kind = rule("kind", .allow) { $0.targets = [.kind(.text)] }
    let text = rule("text", .allow) { $0.targets = [.glob("text/plain")] }
    #expect(covered([both, one]) == [[1, 0]])
    #expect(covered([both, more, kind]) == [])
    #expect(covered([kind, text]) == [[1, 0]])
    #expect(covered([text, kind]) == [])
    let copies = rule("copies", .deny) {
      $0.actions = [.copy]; $0.targets = [.glob("c/d")]
    }
    #expect(covered([copies, one]) == [], "a paste is left for the second")
    #expect(covered([one, copies]) == [[1, 0]])
  }
}
