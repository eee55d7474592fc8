/// The parts that an app can play for a rule; each has a set of rules of its own.
enum Role: Int, CaseIterable {
  case copies
  case cuts
  case isPasted
  case pastes
  case isDragged
  case receives
}

extension Action {
  /// The part of the app that content comes from.
  var sourceRole: Role {
    switch self {
    case .copy: .copies
    case .cut: .cuts
    case .paste: .isPasted
    case .drag: .isDragged
    }
  }

  /// The part of the app that content goes to, if there is one.
  var destinationRole: Role? {
    switch self {
    case .copy, .cut: nil
    case .paste: .pastes
    case .drag: .receives
    }
  }
}

/// What of a subject can be looked up instead of tried: a literal class, path or name.
enum Trigger: Hashable {
  case windowClass(String)
  case instance(String)
  case executable(String)
  case script(String)
  case unit(String)
  case sandbox(String)
  case host(String)
}

/// A ruleset made fast: which rules a subject meets is a set of bits, found by the subject's own facts where a rule
/// names them literally; a request is decided by the first bit that all the sets have in common.
final class CompiledRuleset: Sendable {
  let ruleset: Ruleset
  /// The parts of its rules, in order.
  let rules: [Rule]
  let groups: [String: Matcher]
  let outcomes: [Outcome]
  /// For each rule a number that it shares with those of equal verdict and obligations.
  let kinds: [Int]
  let defaultDecision: DefaultDecision?
  private let matchers: [Matcher]
  private let uses: [[MatcherUse]]
  private let unconditional: [RuleBits]
  private let tried: [Int]
  private let triggered: [Trigger: [Int]]
  let namesSelections: Bool
  let namesTargets: Bool
  let speaksOfDrags: Bool
  /// Every number of bytes at which some rule's `size` begins or ceases to match, in order.
  let sizeBounds: [Int]
  private let targetLists: [[TargetPattern]: [CompiledTarget]]

  /// Compiles `ruleset`; its rules may also use `outerGroups`, its own groups hiding those of the same name.
  init(_ ruleset: Ruleset, outerGroups: [String: Matcher] = [:], isManaged: Bool) {
    self.ruleset = ruleset
    // Copies of ten thousand rules are avoided: hardly any rule has parts.
    let rules = ruleset.rules.contains { $0.apps != nil } ? ruleset.rules.flatMap(\.parts) : ruleset.rules
    self.rules = rules
    defaultDecision = isManaged ? ruleset.defaultDecision : nil
    var groups = outerGroups
    for group in ruleset.groups { groups[group.name] = group.matcher }
    self.groups = groups
    outcomes = rules.map(\.outcome)
    kinds = CompiledRuleset.kinds(of: outcomes)
    namesSelections = rules.contains { $0.selections != nil }
    namesTargets = rules.contains { $0.targets != nil }
    speaksOfDrags =
      rules.contains { $0.decides(.drag) && $0.outcome.isTelling }
      || defaultDecision.map { $0.outcome(for: .drag).isTelling } ?? false
    var bounds: Set<Int> = []
    for size in rules.lazy.compactMap(\.size) {
      if let over = size.over { bounds.insert(over) }
      if let upTo = size.upTo { bounds.insert(upTo) }
    }
    sizeBounds = bounds.sorted()
    targetLists = Dictionary(rules.compactMap(\.targets).map { ($0, $0.map(CompiledTarget.init)) }) { one, _ in
      one
    }
    var index = MatcherIndex(rules)
    index.sort(groups: groups)
    matchers = index.matchers
    uses = index.uses
    unconditional = index.unconditional
    tried = index.tried
    triggered = index.triggered
  }

  private static func kinds(of outcomes: [Outcome]) -> [Int] {
    var numbers: [Outcome: Int] = [:]
    // Most rules have no terms, and then the verdict says it all.
    var withoutTerms: [Verdict: Int] = [:]
    let none = Obligations()
    return outcomes.map { outcome in
      let isPlain = outcome.obligations == none
      if isPlain, let number = withoutTerms[outcome.verdict] { return number }
      let anonymous = Outcome(verdict: outcome.verdict, reason: .builtInDefault, obligations: outcome.obligations)
      let number = numbers[anonymous] ?? numbers.count
      numbers[anonymous] = number
      if isPlain { withoutTerms[outcome.verdict] = number }
      return number
    }
  }

  /// The rules that a subject meets, for every role.
  func bits(for context: inout MatchContext) -> RoleBits {
    var bits = RoleBits(sure: unconditional)
    func add(_ candidates: some Sequence<Int>) {
      for matcher in candidates {
        switch context.answer(matchers[matcher]) {
        case .no: continue
        case .yes: for use in uses[matcher] { bits.sure[use.role.rawValue].insert(Int(use.rule)) }
        case .couldBe:
          if bits.doubtful == nil { bits.doubtful = Role.allCases.map { _ in RuleBits(count: rules.count) } }
          for use in uses[matcher] { bits.doubtful?[use.role.rawValue].insert(Int(use.rule)) }
        }
      }
    }
    // What isn't known can't be looked up.
    guard context.subject.unsure.isEmpty, !context.subject.isUnsure else {
      add(matchers.indices)
      return bits
    }
    add(tried)
    for trigger in CompiledRuleset.triggers(of: context.subject) {
      if let candidates = triggered[trigger] { add(candidates) }
    }
    return bits
  }

  /// The rules that say nothing of selections, or name this one.
  func bits(forSelection name: String) -> RuleBits {
    var bits = RuleBits(count: rules.count)
    for number in rules.indices where rules[number].concerns(name) { bits.insert(number) }
    return bits
  }

  /// The rules that say nothing of targets, or name this one; each distinct list is asked once.
  func bits(forTarget name: String) -> RuleBits {
    var bits = RuleBits(count: rules.count)
    let kind = TargetClass(targetNamed: name)
    let answers = targetLists.mapValues { list in list.contains { $0.matches(name, of: kind) } }
    for number in rules.indices {
      if let targets = rules[number].targets, answers[targets] == false { continue }
      bits.insert(number)
    }
    return bits
  }

  /// The rules that say nothing of sizes, or mean this one.
  func bits(forSize size: Int) -> RuleBits {
    var bits = RuleBits(count: rules.count)
    for number in rules.indices where rules[number].conditions.allSatisfy({ $0.concerns(size: size) }) {
      bits.insert(number)
    }
    return bits
  }

  /// How many bounds lie below `size`: sizes with equal numbers meet the same rules.
  func sizeStep(of size: Int) -> Int {
    var low = 0
    var high = sizeBounds.count
    while low < high {
      let middle = (low + high) / 2
      if sizeBounds[middle] < size { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func triggers(of subject: Subject) -> [Trigger] {
    var triggers: [Trigger] = []
    if let fact = subject.windowClass { triggers.append(.windowClass(fact.value)) }
    if let fact = subject.executable { triggers.append(.executable(fact.value)) }
    if let fact = subject.script { triggers.append(.script(fact.value)) }
    if let fact = subject.unit { triggers.append(.unit(fact.value)) }
    if let fact = subject.sandbox { triggers.append(.sandbox(fact.value)) }
    if let fact = subject.instance { triggers.append(.instance(fact.value)) }
    if let fact = subject.host { triggers.append(.host(fact.value)) }
    return triggers
  }
}

/// A target pattern whose glob has been read.
private enum CompiledTarget {
  case kind(TargetClass)
  case glob(Glob)
  case other(TargetPattern)

  init(_ pattern: TargetPattern) {
    switch pattern {
    case .kind(let kind): self = .kind(kind)
    case .glob(let text): self = (try? Glob(text)).map { .glob($0) } ?? .other(pattern)
    case .all: self = .other(pattern)
    }
  }

  /// Whether it means the target `name`, which is of class `kind`.
  func matches(_ name: String, of kind: TargetClass) -> Bool {
    switch self {
    case .kind(let wanted): wanted == kind
    case .glob(let glob): glob.matches(name)
    case .other(let pattern): pattern.matches(name)
    }
  }
}

/// That a rule has a matcher in some role.
private struct MatcherUse {
  var role: Role
  var rule: Int32
}

/// Numbers the distinct matchers of a ruleset and notes which rules depend on which.
private struct MatcherIndex {
  private(set) var matchers: [Matcher] = []
  private(set) var uses: [[MatcherUse]] = []
  private(set) var unconditional: [RuleBits]
  private(set) var tried: [Int] = []
  private(set) var triggered: [Trigger: [Int]] = [:]
  private var numbers: [Matcher: Int] = [:]

  init(_ rules: [Rule]) {
    unconditional = Role.allCases.map { _ in RuleBits(count: rules.count) }
    numbers.reserveCapacity(rules.count)
    uses.reserveCapacity(rules.count)
    matchers.reserveCapacity(rules.count)
    for number in rules.indices {
      let actions = rules[number].ownActionBits
      for action in Action.allCases where actions.contains(ActionBits(action)) {
        note(number, action.sourceRole, rules[number].sourceMatcher(for: action))
        if let role = action.destinationRole { note(number, role, rules[number].destinationMatcher(for: action)) }
      }
    }
  }

  private mutating func note(_ rule: Int, _ role: Role, _ matcher: Matcher?) {
    guard let matcher, matcher != .any else { return unconditional[role.rawValue].insert(rule) }
    let number = numbers[matcher] ?? add(matcher)
    uses[number].append(MatcherUse(role: role, rule: Int32(rule)))
  }

  private mutating func add(_ matcher: Matcher) -> Int {
    let number = matchers.count
    numbers[matcher] = number
    matchers.append(matcher)
    uses.append([])
    return number
  }

  /// Decides for each matcher whether a subject's facts lead to it or it has to be tried.
  mutating func sort(groups: [String: Matcher]) {
    var known: [String: Set<Trigger>?] = [:]
    for (number, matcher) in matchers.enumerated() {
      if let trigger = matcher.trigger {
        triggered[trigger, default: []].append(number)
        continue
      }
      guard let triggers = matcher.triggers(groups: groups, known: &known) else {
        tried.append(number)
        continue
      }
      for trigger in triggers { triggered[trigger, default: []].append(number) }
    }
  }
}

extension Matcher {
  /// The fact itself, where it is named literally.
  var trigger: Trigger? {
    switch self {
    case .windowClass(let glob): glob.literal.map { .windowClass($0) }
    case .instance(let glob): glob.literal.map { .instance($0) }
    case .executable(let glob): glob.literal.map { .executable($0) }
    case .script(let glob): glob.literal.map { .script($0) }
    case .unit(let glob): glob.literal.map { .unit($0) }
    case .sandbox(let glob): glob.literal.map { .sandbox($0) }
    case .host(let glob): glob.literal.map { .host($0) }
    case .any, .unknown, .remote, .group, .not, .anyOf, .allOf: nil
    }
  }

  /// Facts of which a subject must have at least one for the matcher to hold; `nil` when there is no such list.
  func triggers(
    groups: [String: Matcher], known: inout [String: Set<Trigger>?]
  ) -> Set<Trigger>? {
    switch self {
    case .windowClass, .instance, .executable, .script, .unit, .sandbox, .host: return trigger.map { [$0] }
    case .any, .unknown, .remote, .not: return nil
    case .group(let name):
      if let answer = known[name] { return answer }
      known[name] = .some(nil)
      let answer = groups[name]?.triggers(groups: groups, known: &known)
      known[name] = .some(answer)
      return answer
    case .anyOf(let alternatives):
      var union: Set<Trigger> = []
      for alternative in alternatives {
        guard let triggers = alternative.triggers(groups: groups, known: &known) else { return nil }
        union.formUnion(triggers)
      }
      return union
    case .allOf(let conditions):
      return conditions.compactMap { $0.triggers(groups: groups, known: &known) }.min { $0.count < $1.count }
    }
  }
}
