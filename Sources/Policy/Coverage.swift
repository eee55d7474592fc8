extension Ruleset {
  /// Rules that can't decide anything, since an earlier one always decides before them: pairs of rule and earlier rule.
  ///
  /// What is found is certain; not everything is found: two rules that only together leave nothing for a third aren't,
  /// and patterns are compared by their shape. Rules that name apps literally are looked up; of the others so many pairs
  /// are compared that every ruleset of a thousand rules is searched whole, and loading stays fast beyond.
  public func coveredRules(outerGroups: [String: Matcher] = [:]) -> [(rule: Int, by: Int)] {
    var groups = outerGroups
    for group in self.groups { groups[group.name] = group.matcher }
    var search = CoverageSearch(groups: groups)
    return rules.enumerated().compactMap { number, rule in
      search.earlierRule(covering: rule, number).map { (number, $0) }
    }
  }
}

private struct CoverageSearch {
  private struct Place: Hashable {
    var action: Action
    var isDestination: Bool
    var literal: Trigger
  }

  private struct Earlier {
    var number: Int
    var rule: Rule
    var actions: Set<Action>
  }

  let groups: [String: Matcher]
  private var byLiteral: [Place: [Earlier]] = [:]
  private var others: [Action: [Earlier]] = [:]
  private var known: [String: Set<Trigger>?] = [:]
  private var budget = 500_000

  init(groups: [String: Matcher]) { self.groups = groups }

  /// The first rule seen before that leaves nothing for `rule`, which is then remembered itself.
  mutating func earlierRule(covering rule: Rule, _ number: Int) -> Int? {
    let actions = rule.decidedActions
    guard let action = Action.allCases.first(where: actions.contains) else { return nil }
    var candidates = budget > 0 ? others[action] ?? [] : []
    for (isDestination, matcher) in parties(of: rule, action) {
      for literal in matcher?.literals(groups: groups) ?? [] {
        candidates += byLiteral[Place(action: action, isDestination: isDestination, literal: literal)] ?? []
      }
    }
    var found: Int?
    for earlier in candidates {
      guard budget > 0 else { break }
      budget -= 1
      if earlier.rule.covers(rule, groups, mine: earlier.actions, theirs: actions) {
        found = earlier.number
        break
      }
    }
    remember(Earlier(number: number, rule: rule, actions: actions))
    return found
  }

  private func parties(of rule: Rule, _ action: Action) -> [(isDestination: Bool, Matcher?)] {
    let source = (false, rule.sourceMatcher(for: action))
    return action.hasDestination ? [source, (true, rule.destinationMatcher(for: action))] : [source]
  }

  private mutating func remember(_ earlier: Earlier) {
    for action in earlier.actions {
      var isFiled = false
      for (isDestination, matcher) in parties(of: earlier.rule, action) where !isFiled {
        guard let literals = matcher?.triggers(groups: groups, known: &known) else { continue }
        for literal in literals {
          let place = Place(action: action, isDestination: isDestination, literal: literal)
          byLiteral[place, default: []].append(earlier)
        }
        isFiled = true
      }
      if !isFiled { others[action, default: []].append(earlier) }
    }
  }
}

extension Matcher {
  /// Every literal fact that it mentions, those of its groups too.
  fileprivate func literals(groups: [String: Matcher]) -> Set<Trigger> {
    var literals: Set<Trigger> = []
    var seen: Set<String> = []
    collect(&literals, &seen, groups)
    return literals
  }

  private func collect(_ literals: inout Set<Trigger>, _ seen: inout Set<String>, _ groups: [String: Matcher]) {
    switch self {
    case .any, .unknown, .remote, .not: break
    case .anyOf(let parts), .allOf(let parts): for part in parts { part.collect(&literals, &seen, groups) }
    case .group(let name): if seen.insert(name).inserted { groups[name]?.collect(&literals, &seen, groups) }
    case .windowClass, .instance, .executable, .unit, .sandbox, .host:
      var none: [String: Set<Trigger>?] = [:]
      literals.formUnion(triggers(groups: [:], known: &none) ?? [])
    }
  }
}
