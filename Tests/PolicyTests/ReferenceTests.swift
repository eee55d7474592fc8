import Testing

@testable import Policy

/// Makes rulesets and requests out of a small world, so that rules and apps meet often.
struct World {
  var random: Seeded

  init(seed: UInt64) { random = Seeded(state: seed) }

  mutating func one<Item>(_ items: [Item]) -> Item { items.randomElement(using: &random)! }
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  mutating func subject() -> Subject {
    if chance(10) { return .unknown }
    var subject = app(
      chance(80) ? one(["A", "B", "Ab", "C"]) : nil, exe: chance(60) ? one(["/a", "/opt/a", "/opt/x/b"]) : nil,
      unit: chance(30) ? one(["u.service", "v.scope"]) : nil, pid: Int32.random(in: 1...3, using: &random))
    if chance(10) {
      subject.origin = .remote
      subject.executable = nil
      subject.unit = nil
    }
    if chance(10) { subject.windowClass?.evidence = .inferred }
    if chance(10) { subject.executable?.evidence = .declared }
    if chance(10) { subject.unsure.insert(one([.executable, .windowClass, .unit])) }
    return subject
  }

  /// One of several.
  mutating func oneOfSeveral() -> Subject {
    var subject = Subject(origin: .unknown)
    while subject.candidates.count < 2 || chance(30) {
      let candidate = self.subject()
      if candidate.isLocal { subject.candidates.append(candidate) }
    }
    return subject
  }

  mutating func matcher(depth: Int = 0) -> Matcher {
    switch Int.random(in: 0..<(depth < 2 ? 10 : 6), using: &random) {
    case 0: return one([.any, .unknown, .remote])
    case 1, 2: return isClass(one(["A", "B", "A*", "?", "[AC]", "*"]))
    case 3: return isExe(one(["/a", "/opt/*", "/opt/**", "**"]))
    case 4: return .unit(try! Glob(one(["u.service", "*.scope"])))
    case 5: return .group(one(["g", "h"]))
    case 6: return .not(matcher(depth: depth + 1))
    case 7, 8: return .anyOf([matcher(depth: depth + 1), matcher(depth: depth + 1)])
    default: return .allOf([matcher(depth: depth + 1), matcher(depth: depth + 1)])
    }
  }

  mutating func rule(_ number: Int, side: String) -> Rule {
    var rule = Rule(RuleReference(name: "\(side)\(number)", position: at(number)), verdict: one(Verdict.allCases))
    if chance(50) { rule.from = matcher() }
    // The loader takes `apps` alone.
    if chance(40) { rule.to = matcher() } else if chance(30) { (rule.apps, rule.from) = (matcher(), nil) }
    if chance(20) { rule.actions = Set([one(Action.allCases), one(Action.allCases)]) }
    if chance(15) { rule.selections = [one(["clipboard", "primary", "board"])] }
    if chance(20) {
      rule.targets = [one([.kind(.text), .kind(.image), .glob("image/*"), .glob("text/html"), .glob("*")])]
    }
    if chance(20) { rule.size = SizeRange(over: chance(50) ? 10 : nil, upTo: chance(70) ? one([10, 64, 100]) : nil) }
    if chance(10) { rule.isSensitive = chance(50) }
    rule.includesSameApp = chance(15)
    if chance(15) { rule.obligations.oneShot = true }
    if chance(15) { rule.obligations.maxSize = one([50, 500]) }
    return rule
  }

  mutating func ruleset(side: String) -> Ruleset {
    var ruleset = Ruleset()
    ruleset.rules = (0..<Int.random(in: 0...12, using: &random)).map { rule($0, side: side) }
    ruleset.groups = [
      Group(name: "g", position: at(1), matcher: matcher(depth: 2)),
      Group(name: "h", position: at(2), matcher: .anyOf([.group("g"), isClass("C")])),
    ]
    // A group named in itself would be rejected on load.
    if ruleset.groups[0].matcher.groupNames != [] { ruleset.groups[0].matcher = isClass("B") }
    if side == "m", chance(40) { ruleset.defaultDecision = DefaultDecision(one(Verdict.allCases), position: at(99)) }
    return ruleset
  }

  mutating func party() -> Subject { chance(15) ? oneOfSeveral() : subject() }

  mutating func request(known: Bool = true) -> Request {
    let action = one(Action.allCases)
    let content = ContentFacts(
      target: one(["STRING", "text/html", "image/png", "x"]), size: one([5, 10, 11, 64, 65, 1_000]),
      isSensitive: chance(30))
    return Request(
      action: action, source: party(), destination: action.hasDestination ? party() : nil,
      selection: one(["clipboard", "clipboard", "primary", "board"]), content: known ? content : nil)
  }
}

@Suite struct ReferenceTests {
  static func name(_ reason: Reason) -> String? {
    switch reason {
    case .rule(let reference): reference.name
    case .fileDefault: "default"
    case .couldBe(let inner): name(inner)
    case .outsideAudience(let copied): name(copied)
    case .builtInDefault, .sameApp, .locked, .lockdown: nil
    }
  }

  private static func isDoubtful(_ reason: Reason) -> Bool {
    if case .outsideAudience(let copied) = reason { return isDoubtful(copied) }
    return reason.certain != reason
  }

  @Test func theEngineAgreesWithTheReference() {
    for seed in 0..<1_000 as Range<UInt64> {
      var world = World(seed: seed)
      let reference = Reference(managed: world.ruleset(side: "m"), user: world.ruleset(side: "u"))
      let set = PolicySet(managed: reference.managed, user: reference.user)
      for _ in 0..<30 {
        let request = world.request()
        let wanted = reference.answer(request)
        let found = set.evaluate(request).decision
        // No board in this world, so what is private is for the app itself, whose drags are never decided.
        let verdict =
          request.action == .drag ? reference.verdictOfDrag(wanted, isInside: false) : wanted.verdict
        demand(found?.verdict == verdict, "seed \(seed): \(wanted) \(set.explain(request))")
        demand(
          found.flatMap { ReferenceTests.name($0.reason) } == wanted.rule,
          "seed \(seed): \(wanted) \(set.explain(request))")
      }
    }
  }

  /// Of an app that isn't known for certain the answer is never looser than for any app that it could be.
  @Test func doubtNeverLoosens() {
    var stricter = 0
    for seed in 2_000..<3_000 as Range<UInt64> {
      var world = World(seed: seed)
      let set = PolicySet(managed: world.ruleset(side: "m"), user: world.ruleset(side: "u"))
      for _ in 0..<20 {
        var request = world.request()
        let unsure = world.oneOfSeveral()
        let isSource = !request.action.hasDestination || world.chance(50)
        if isSource { request.source = unsure } else { request.destination = unsure }
        guard let doubtful = set.evaluate(request).decision else {
          Issue.record("undecided")
          continue
        }
        var nothing = request
        if isSource { nothing.source = .unknown } else { nothing.destination = .unknown }
        let unknown = set.evaluate(nothing).decision
        for candidate in unsure.candidates where !candidate.isUnsure {
          var known = request
          if isSource { known.source = candidate } else { known.destination = candidate }
          // Nobody can show that it is the app that the clip came from.
          if known.isSameApp { continue }
          // `unknown` means the doubtful alone, so rules about it say something else of an app that is known.
          if (set.managed.rules + set.user.rules).contains(where: \.namesUnknown) { continue }
          if (set.managed.groups + set.user.groups).contains(where: { $0.matcher.namesUnknown() }) { continue }
          guard let sure = set.evaluate(known).decision else { continue }
          demand(doubtful.verdict >= sure.verdict, "seed \(seed): \(set.explain(request)) \(set.explain(known))")
          demand(unknown!.verdict >= sure.verdict, "seed \(seed)")
          if doubtful.verdict > sure.verdict { stricter += 1 }
          guard doubtful.verdict != .deny else { continue }
          demand(doubtful.obligations.oneShot || !sure.obligations.oneShot, "seed \(seed)")
          demand(doubtful.obligations.maxSize ?? .max <= sure.obligations.maxSize ?? .max, "seed \(seed)")
        }
      }
    }
    #expect(stricter > 500)
  }

  /// What is answered without the content is what every content would be answered.
  @Test func answersBeforeTheContentHold() {
    let contents = ["STRING", "text/html", "image/png", "x"].flatMap { target in
      [5, 10, 11, 64, 65, 1_000].flatMap { size in
        [true, false].map { ContentFacts(target: target, size: size, isSensitive: $0) }
      }
    }
    var early = 0
    for seed in 0..<300 as Range<UInt64> {
      var world = World(seed: seed)
      let set = PolicySet(managed: world.ruleset(side: "m"), user: world.ruleset(side: "u"))
      for _ in 0..<10 {
        var request = world.request(known: false)
        guard let answer = set.evaluate(request).decision else { continue }
        early += 1
        for content in contents {
          request.content = content
          let known = set.evaluate(request).decision
          demand(known?.verdict == answer.verdict, "seed \(seed)")
          if answer.verdict != .deny { demand(known?.obligations == answer.obligations, "seed \(seed)") }
        }
      }
    }
    #expect(early > 300)
  }

  @Test func aRemovedAllowNeverAllowsMore() {
    var tried = 0
    for seed in 0..<500 as Range<UInt64> {
      var world = World(seed: seed)
      // Under a refusing default: behind a removed allow may stand another, weaker one, and nothing looser than allow.
      let managed = world.ruleset(side: "m")
      guard let index = managed.rules.firstIndex(where: { $0.verdict == .allow }) else { continue }
      tried += 1
      var fewer = managed
      fewer.rules.remove(at: index)
      fewer.defaultDecision = DefaultDecision(.deny, position: at(1))
      var before = managed
      before.defaultDecision = fewer.defaultDecision
      let user = world.ruleset(side: "u")
      let one = PolicySet(managed: before, user: user)
      let other = PolicySet(managed: fewer, user: user)
      for _ in 0..<20 {
        let request = world.request()
        let (with, without) = (one.evaluate(request).verdict, other.evaluate(request).verdict)
        demand(without! >= with!, "seed \(seed)")
      }
    }
    #expect(tried > 300)
  }

  @Test func aUserRulesetNeverLoosens() {
    for seed in 0..<500 as Range<UInt64> {
      var world = World(seed: seed)
      let managed = world.ruleset(side: "m")
      let alone = PolicySet(managed: managed, user: Ruleset())
      let both = PolicySet(managed: managed, user: world.ruleset(side: "u"))
      for _ in 0..<20 {
        let request = world.request()
        guard let one = alone.evaluate(request).decision, let other = both.evaluate(request).decision else {
          Issue.record("undecided")
          continue
        }
        demand(other.verdict >= one.verdict, "seed \(seed)")
        guard other.verdict != .deny else { continue }
        let (strict, loose) = (other.obligations, one.obligations)
        demand(strict.oneShot || !loose.oneShot, "seed \(seed)")
        demand(strict.maxSize ?? .max <= loose.maxSize ?? .max, "seed \(seed)")
      }
    }
  }

  /// A rule that is called covered never decides anything.
  @Test func coveredRulesNeverDecide() {
    var found = 0
    for seed in 0..<1_000 as Range<UInt64> {
      var world = World(seed: seed)
      let managed = world.ruleset(side: "m")
      let covered = Set(managed.coveredRules().map { "m\($0.rule)" })
      found += covered.count
      let set = PolicySet(managed: managed, user: Ruleset())
      for _ in 0..<30 {
        let request = world.request()
        // In doubt it may still be the stricter one.
        if let reason = set.evaluate(request).decision?.reason, !ReferenceTests.isDoubtful(reason),
          let name = ReferenceTests.name(reason)
        {
          demand(!covered.contains(name), "seed \(seed): \(name) \(set.explain(request))")
        }
      }
    }
    #expect(found > 100)
  }

  @Test func explanationsAgreeWithTheEngine() {
    var counted = 0
    for seed in 0..<300 as Range<UInt64> {
      var world = World(seed: seed)
      let set = PolicySet(managed: world.ruleset(side: "m"), user: world.ruleset(side: "u"))
      for _ in 0..<10 {
        let explanation = set.explain(world.request())
        guard let decision = explanation.evaluation.decision else { continue }
        counted += 1
        let steps = explanation.managed + explanation.user
        let deciding = steps.filter { $0.result == .decides }.map(\.reference)
        let could = steps.filter { if case .couldDecide = $0.result { true } else { false } }.map(\.reference)
        if case .rule(let reference) = decision.reason { demand(deciding.contains(reference), "seed \(seed)") }
        if case .couldBe(.rule(let reference)) = decision.reason { demand(could.contains(reference), "seed \(seed)") }
        if decision.reason == .builtInDefault || decision.reason == .sameApp {
          // What only could concern the apps leaves the reason as it is.
          demand(deciding.isEmpty || !could.isEmpty, "seed \(seed)")
        }
      }
    }
    #expect(counted > 1_000)
  }

  /// Whoever asks at the same moment gets the same answers.
  @Test func manyMayAsk() async {
    var world = World(seed: 42)
    let set = PolicySet(managed: world.ruleset(side: "m"), user: world.ruleset(side: "u"))
    let requests = (0..<200).map { _ in world.request() }
    let answers = requests.map(set.evaluate)
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 { group.addTask { requests.map(set.evaluate) == answers } }
      for await same in group { #expect(same) }
    }
  }
}
