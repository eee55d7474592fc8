import Testing

@testable import Policy

@Suite struct MatcherTests {
  static let remote = Subject(origin: .remote, windowClass: Fact("A", .declared))
  static let inferred = Subject(
    origin: .local(ProcessIdentity(id: 1, startTime: 1)), windowClass: Fact("A", .inferred))
  static let boasting = Subject(
    origin: .local(ProcessIdentity(id: 1, startTime: 1)), executable: Fact("/x", .declared),
    unit: Fact("u", .inferred), sandbox: Fact("s", .declared))
  static let groups: [String: Matcher] = [
    "g": .anyOf([isClass("A"), .group("inner")]), "inner": isExe("/opt/**"), "loop": .anyOf([.group("loop")]),
  ]

  static let rows: [(Matcher, Subject, Bool)] = [
    (.any, .unknown, true), (.any, app("A"), true),
    (.unknown, .unknown, true), (.unknown, app(), false), (.unknown, remote, false),
    (.unknown, Subject(origin: .remote), true),
    (.remote, remote, true), (.remote, .unknown, false), (.remote, app("A"), false),
    (isClass("A"), app("A"), true), (isClass("A"), app("a"), false), (isClass("A"), app("AB"), false),
    (isClass("A"), app(), false), (isClass("*"), app(), false), (isClass("A"), inferred, true),
    (isClass("A"), remote, true), (isClass("*"), .unknown, false),
    (.instance(try! Glob("x")), app("A", instance: "x"), true), (.instance(try! Glob("x")), app("x"), false),
    (isExe("/x"), app(exe: "/x"), true), (isExe("/x"), boasting, false),
    (.unit(try! Glob("u")), app(unit: "u"), true), (.unit(try! Glob("u")), boasting, false),
    (.sandbox(try! Glob("s")), app(sandbox: "s"), true), (.sandbox(try! Glob("s")), boasting, false),
    (.host(try! Glob("h*")), app("A", host: "host"), true),
    (.group("g"), app("A"), true), (.group("g"), app("B", exe: "/opt/a/b"), true), (.group("g"), app("B"), false),
    (.group("nobody"), app("A"), false), (.group("loop"), app("A"), false),
    (.not(isClass("A")), app("B"), true), (.not(isClass("A")), app("A"), false), (.not(isClass("A")), .unknown, true),
    (.not(.group("g")), .unknown, true), (.not(.unknown), .unknown, false), (.not(.any), app("A"), false),
    (.anyOf([isClass("A"), isClass("B")]), app("B"), true), (.anyOf([]), app("B"), false),
    (.allOf([isClass("A"), isExe("/x")]), app("A", exe: "/x"), true),
    (.allOf([isClass("A"), isExe("/x")]), app("A", exe: "/y"), false),
    (.allOf([isClass("A"), .not(.group("inner"))]), app("A", exe: "/opt/a"), false),
  ]

  /// By itself, through the compiled index, and as the explanation says it.
  @Test(arguments: rows) func matches(_ matcher: Matcher, _ subject: Subject, _ expected: Bool) {
    #expect(matcher.matches(subject, groups: MatcherTests.groups) == expected)
    #expect((matcher.failure(for: subject, groups: MatcherTests.groups) == nil) == expected)
    let set = policy([rule("r", .deny) { $0.from = matcher }], groups: MatcherTests.groups)
    #expect((set.evaluate(copy(subject)).verdict == .deny) == expected)
    #expect((set.evaluate(copy(subject)).verdict == .deny) == expected, "from the memo")
  }

  static let covering: [(Matcher, Matcher, Bool)] = [
    (.any, isClass("A"), true), (isClass("A"), .any, false), (isClass("A*"), isClass("Ab"), true),
    (isClass("A*"), isClass("Ab*"), true), (isClass("Ab*"), isClass("A*"), false),
    (isExe("/opt/**"), isExe("/opt/*/x"), true), (isExe("/opt/*"), isExe("/opt/**"), false),
    (isClass("A"), isExe("/x"), false), (isClass("A"), .allOf([isClass("A"), isExe("/x")]), true),
    (.allOf([isClass("A"), isExe("/x")]), isClass("A"), false), (.group("g"), isClass("A"), true),
    (isClass("A"), .group("g"), false), (.group("g"), .group("inner"), true), (.group("inner"), .group("g"), false),
    (.anyOf([isClass("A"), isClass("B")]), .anyOf([isClass("B"), isClass("A")]), true),
    (.not(isClass("A")), .not(isClass("A*")), true), (.not(isClass("A*")), .not(isClass("A")), false),
    (.group("loop"), .group("g"), false), (.anyOf([]), isClass("A"), false),
  ]

  @Test(arguments: covering) func covers(_ wide: Matcher, _ narrow: Matcher, _ expected: Bool) {
    #expect(wide.covers(narrow, groups: MatcherTests.groups) == expected)
  }

  @Test func groupsOfGroupsEnd() {
    var groups: [String: Matcher] = ["g40": isClass("A")]
    for level in 0..<40 {
      groups["g\(level)"] = .anyOf([.group("g\(level + 1)"), .group("g\(level + 1)"), isClass("x\(level)")])
    }
    #expect(Matcher.group("g0").matches(app("A"), groups: groups))
    #expect(Matcher.group("g0").restsOnDeclaredFacts(groups: groups))
    #expect(!Matcher.group("g0").covers(isExe("/x"), groups: groups))
  }

  @Test func declaredFacts() {
    #expect(isClass("A").restsOnDeclaredFacts())
    #expect(!Matcher.allOf([isClass("A"), isExe("/x")]).restsOnDeclaredFacts())
    #expect(Matcher.anyOf([isExe("/x"), isClass("A")]).restsOnDeclaredFacts())
    #expect(Matcher.allOf([isClass("A"), .not(isExe("/x"))]).restsOnDeclaredFacts())
    #expect(!Matcher.any.restsOnDeclaredFacts())
  }
}
