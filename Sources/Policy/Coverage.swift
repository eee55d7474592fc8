extension Ruleset {
  /// Rules that can't decide anything, since an earlier one always decides before them: pairs of rule and earlier rule.
  ///
  /// What is found is certain; not everything is found: two rules that only together leave nothing for a third aren't,
  /// and patterns are compared by their shape. Rules that name apps or targets literally are looked up; of the others so
  /// many pairs are compared that every ruleset of a thousand rules is searched whole, and loading stays fast beyond.
  public func coveredRules(outerGroups: [String: Matcher] = [:]) -> [(rule: Int, by: Int)] {
    var groups = outerGroups
    for group in self.groups { groups[group.name] = group.matcher }
    var search = CoverageSearch(groups: groups, count: rules.count)
    return rules.indices.compactMap { number in
      search.earlierRule(covering: rules[number], number).map { (number, $0) }
    }
  }
}

/// A set of actions as bits, for comparisons that are made by the hundred thousand.
struct ActionBits: OptionSet {
  let rawValue: UInt8

  static let copy = ActionBits(rawValue: 1)
  static let cut = ActionBits(rawValue: 2)
  static let paste = ActionBits(rawValue: 4)
  static let drag = ActionBits(rawValue: 8)
  static let all: ActionBits = [.copy, .cut, .paste, .drag]

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init(_ action: Action) {
    switch action {
    case .copy: self = .copy
    case .cut: self = .cut
    case .paste: self = .paste
    case .drag: self = .drag
    }
  }
}

private struct CoverageSearch {
  private struct Place: Hashable {
    var isDestination: Bool
    var literal: Trigger
  }

  /// A class, so that comparing two copies neither.
  private final class Candidate {
    let number: Int
    let rule: Rule
    let actions: ActionBits
    let size: SizeRange?

    init(_ rule: Rule, number: Int) {
      self.number = number
      self.rule = rule
      actions = rule.ownActionBits
      size = rule.size
    }
  }

  let groups: [String: Matcher]
  /// Rules that only apps with one of some literal facts meet, under each of these.
  private var byLiteral: [Place: [Candidate]] = [:]
  /// Rules that mean literally named targets alone, under each of these.
  private var byTarget: [String: [Candidate]] = [:]
  private var others: [Candidate] = []
  private var known: [String: Set<Trigger>?] = [:]
  private var budget = 500_000

  init(groups: [String: Matcher], count: Int) {
    self.groups = groups
    byLiteral.reserveCapacity(count)
  }

  /// The first of the rules seen before that leaves nothing for this one, which is then remembered itself.
  mutating func earlierRule(covering rule: Rule, _ number: Int) -> Int? {
    guard rule.apps != nil else {
      let whole = Candidate(rule, number: number)
      defer { remember(whole) }
      return earlierRule(covering: whole)
    }
    let parts = rule.parts.map { Candidate($0, number: number) }
    defer { for part in parts { remember(part) } }
    var first: Int?
    for part in parts {
      guard let earlier = earlierRule(covering: part) else { return nil }
      first = first ?? earlier
    }
    return first
  }

  private mutating func earlierRule(covering mine: Candidate) -> Int? {
    guard let action = Action.allCases.first(where: { mine.actions.contains(ActionBits($0)) }) else { return nil }
    var found: Int?
    search(others, for: mine, &found)
    // A rule about literally named targets covers only rules about some of the same.
    if let target = mine.rule.targets?.first?.literal, let earlier = byTarget[target] {
      search(earlier, for: mine, &found)
    }
    searchByLiteral(of: mine.rule.sourceMatcher(for: action), isDestination: false, for: mine, &found)
    if action.hasDestination {
      searchByLiteral(of: mine.rule.destinationMatcher(for: action), isDestination: true, for: mine, &found)
    }
    return found
  }

  private mutating func searchByLiteral(
    of matcher: Matcher?, isDestination: Bool, for mine: Candidate, _ found: inout Int?
  ) {
    guard let matcher else { return }
    for literal in matcher.literals(groups: groups) {
      guard let earlier = byLiteral[Place(isDestination: isDestination, literal: literal)] else { continue }
      search(earlier, for: mine, &found)
    }
  }

  private mutating func search(_ candidates: [Candidate], for mine: Candidate, _ found: inout Int?) {
    for earlier in candidates {
      guard budget > 0, earlier.number < found ?? .max else { return }
      budget -= 1
      // Of rules that differ by size alone there may be thousands.
      if let size = earlier.size, !(mine.size.map { size.covers($0) } ?? false) { continue }
      guard earlier.actions.isSuperset(of: mine.actions),
        earlier.rule.covers(mine.rule, groups, theirs: mine.actions)
      else { continue }
      found = earlier.number
      return
    }
  }

  private mutating func remember(_ mine: Candidate) {
    var places: [Place] = []
    for action in Action.allCases where mine.actions.contains(ActionBits(action)) {
      // Whoever is covered in all its actions is covered in each: one action without such a place puts it with the others.
      guard let some = self.places(of: mine, action) else { return rememberByTarget(mine) }
      for place in some where !places.contains(place) { places.append(place) }
    }
    for place in places { byLiteral[place, default: []].append(mine) }
  }

  /// Where the rule is looked up for `action`: under the literal facts of its source or, without any, of its destination.
  private mutating func places(of mine: Candidate, _ action: Action) -> [Place]? {
    let source = places(of: mine.rule.sourceMatcher(for: action), isDestination: false)
    guard source == nil, action.hasDestination else { return source }
    return places(of: mine.rule.destinationMatcher(for: action), isDestination: true)
  }

  private mutating func places(of matcher: Matcher?, isDestination: Bool) -> [Place]? {
    if let trigger = matcher?.trigger { return [Place(isDestination: isDestination, literal: trigger)] }
    return matcher?.triggers(groups: groups, known: &known)?.map { Place(isDestination: isDestination, literal: $0) }
  }

  private mutating func rememberByTarget(_ mine: Candidate) {
    guard let targets = mine.rule.targets, targets.allSatisfy({ $0.literal != nil }) else {
      return others.append(mine)
    }
    for name in Set(targets.compactMap(\.literal)) { byTarget[name, default: []].append(mine) }
  }
}

extension TargetPattern {
  /// The one target that it means, where it is written without a special character.
  fileprivate var literal: String? {
    if case .glob(let text) = self, !Glob.hasSpecial(text) { text } else { nil }
  }
}

extension Matcher {
  /// Every literal fact that it mentions, those of its groups too.
  fileprivate func literals(groups: [String: Matcher]) -> [Trigger] {
    if let trigger { return [trigger] }
    var literals: Set<Trigger> = []
    var seen: Set<String> = []
    collect(&literals, &seen, groups)
    return Array(literals)
  }

  private func collect(_ literals: inout Set<Trigger>, _ seen: inout Set<String>, _ groups: [String: Matcher]) {
    switch self {
    case .any, .unknown, .remote, .not: break
    case .anyOf(let parts), .allOf(let parts): for part in parts { part.collect(&literals, &seen, groups) }
    case .group(let name): if seen.insert(name).inserted { groups[name]?.collect(&literals, &seen, groups) }
    case .windowClass, .instance, .executable, .script, .unit, .sandbox, .host:
      if let trigger { literals.insert(trigger) }
    }
  }
}
