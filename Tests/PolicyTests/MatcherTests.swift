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

  /// One of two programs that both connect and fork.
  static let oneOfTwo: Subject = {
    var subject = Subject(origin: .unknown)
    subject.candidates = [app("A", exe: "/opt/a"), app("A", exe: "/x")]
    return subject
  }()
  /// Its class is longer than what is read of one.
  static let longNamed: Subject = {
    var subject = app(exe: "/x")
    subject.unsure = [.windowClass]
    return subject
  }()

  static let rows: [(Matcher, Subject, Answer)] = [
    (.any, .unknown, .yes), (.any, app("A"), .yes),
    (.unknown, .unknown, .yes), (.unknown, app(), .no), (.unknown, remote, .no),
    (.unknown, Subject(origin: .remote), .no), (.unknown, boasting, .yes), (.unknown, oneOfTwo, .yes),
    (.remote, remote, .yes), (.remote, .unknown, .couldBe), (.remote, app("A"), .no),
    (.remote, Subject(origin: .remote), .yes), (.not(.remote), Subject(origin: .remote), .no),
    (isExe("**"), Subject(origin: .remote), .no), (.not(isExe("/x")), remote, .yes),
    (isClass("A"), app("A"), .yes), (isClass("A"), app("a"), .no), (isClass("A"), app("AB"), .no),
    (isClass("A"), app(), .no), (isClass("*"), app(), .no), (isClass("A"), inferred, .yes),
    (isClass("A"), remote, .yes), (isClass("*"), .unknown, .couldBe), (isClass("A"), longNamed, .couldBe),
    (.instance(try! Glob("x")), app("A", instance: "x"), .yes), (.instance(try! Glob("x")), app("x"), .no),
    (isExe("/x"), app(exe: "/x"), .yes), (isExe("/x"), boasting, .couldBe), (isExe("/y"), boasting, .couldBe),
    (.unit(try! Glob("u")), app(unit: "u"), .yes), (.unit(try! Glob("u")), boasting, .couldBe),
    (.sandbox(try! Glob("s")), app(sandbox: "s"), .yes), (.sandbox(try! Glob("s")), boasting, .couldBe),
    (.sandbox(try! Glob("s")), app("A"), .no),
    (.host(try! Glob("h*")), app("A", host: "host"), .yes),
    (.group("g"), app("A"), .yes), (.group("g"), app("B", exe: "/opt/a/b"), .yes), (.group("g"), app("B"), .no),
    (.group("nobody"), app("A"), .no), (.group("loop"), app("A"), .no),
    (.not(isClass("A")), app("B"), .yes), (.not(isClass("A")), app("A"), .no), (.not(isClass("A")), .unknown, .couldBe),
    (.not(.group("g")), .unknown, .couldBe), (.not(.unknown), .unknown, .no), (.not(.any), app("A"), .no),
    (.anyOf([isClass("A"), isClass("B")]), app("B"), .yes), (.anyOf([]), app("B"), .no),
    (.anyOf([isClass("A"), isExe("/y")]), boasting, .couldBe), (.anyOf([.any, isExe("/y")]), boasting, .yes),
    (.allOf([isClass("A"), isExe("/x")]), app("A", exe: "/x"), .yes),
    (.allOf([isClass("A"), isExe("/x")]), app("A", exe: "/y"), .no),
    (.allOf([isClass("A"), isExe("/x")]), boasting, .no), (.allOf([.any, isExe("/x")]), boasting, .couldBe),
    (.allOf([isClass("A"), .not(.group("inner"))]), app("A", exe: "/opt/a"), .no),
    (isExe("/x"), oneOfTwo, .couldBe), (isExe("/z"), oneOfTwo, .no), (isClass("A"), oneOfTwo, .yes),
    (isExe("/**"), oneOfTwo, .yes), (.anyOf([isExe("/x"), isExe("/opt/*")]), oneOfTwo, .yes),
    (.not(isExe("/x")), oneOfTwo, .couldBe), (.remote, oneOfTwo, .no),
  ]

  /// By itself, through the compiled index, and as the explanation says it.
  @Test(arguments: rows) func matches(_ matcher: Matcher, _ subject: Subject, _ expected: Answer) {
    #expect(matcher.answer(for: subject, groups: MatcherTests.groups) == expected)
    #expect(matcher.matches(subject, groups: MatcherTests.groups) == (expected == .yes))
    let trial = matcher.trial(for: subject, groups: MatcherTests.groups)
    #expect(trial.answer == expected && trial.words.isEmpty == (expected == .yes))
    let set = policy([rule("r", .deny) { $0.from = matcher }], groups: MatcherTests.groups)
    for _ in ["first", "from the memo"] {
      let decision = set.evaluate(copy(subject)).decision
      #expect((decision?.verdict == .deny) == (expected != .no))
      if case .couldBe? = decision?.reason { #expect(expected == .couldBe) } else { #expect(expected != .couldBe) }
    }
    // A grant that only could match grants nothing.
    let granting = policy(
      [rule("g", .allow) { $0.from = matcher }, rule("d", .deny)], groups: MatcherTests.groups)
    #expect((granting.evaluate(copy(subject)).verdict == .allow) == (expected == .yes))
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
