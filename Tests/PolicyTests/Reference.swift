@testable import Policy

/// The policy language once more, as slowly and plainly as its description reads, to compare the engine with.
struct Reference {
  var managed: Ruleset
  var user: Ruleset

  struct Answer: Equatable {
    var verdict: Verdict
    var rule: String?
  }

  /// Whether it is so: `nil` where that isn't known.
  func belongs(_ subject: Subject, _ matcher: Matcher, _ groups: [String: Matcher], unsure: Bool? = nil) -> Bool? {
    let unsure = unsure ?? subject.isUnsure
    if !subject.candidates.isEmpty {
      let answers = Set(subject.candidates.map { belongs($0, matcher, groups, unsure: unsure) })
      return answers.count == 1 ? answers.first! : nil
    }
    let isNowhere = subject.origin == .unknown
    func holds(_ glob: Glob, _ name: FactName, attested: Bool) -> Bool? {
      if attested, subject.origin == .remote { return false }
      guard let fact = subject[name] else { return isNowhere || subject.unsure.contains(name) ? nil : false }
      return attested && fact.evidence != .attested ? nil : glob.matches(fact.value)
    }
    switch matcher {
    case .any: return true
    case .unknown: return unsure
    case .remote: return isNowhere ? nil : subject.origin == .remote
    case .windowClass(let glob): return holds(glob, .windowClass, attested: false)
    case .instance(let glob): return holds(glob, .instance, attested: false)
    case .host(let glob): return holds(glob, .host, attested: false)
    case .executable(let glob): return holds(glob, .executable, attested: true)
    case .script(let glob): return holds(glob, .script, attested: false)
    case .unit(let glob): return holds(glob, .unit, attested: true)
    case .sandbox(let glob): return holds(glob, .sandbox, attested: true)
    case .group(let name): return groups[name].map { belongs(subject, $0, groups, unsure: unsure) } ?? false
    case .not(let inner): return belongs(subject, inner, groups, unsure: unsure).map { !$0 }
    case .anyOf(let parts):
      let answers = parts.map { belongs(subject, $0, groups, unsure: unsure) }
      return answers.contains(true) ? true : answers.contains(nil) ? nil : false
    case .allOf(let parts):
      let answers = parts.map { belongs(subject, $0, groups, unsure: unsure) }
      return answers.contains(false) ? false : answers.contains(nil) ? nil : true
    }
  }

  /// Whether the rule is about the request; `nil` where it could be.
  func matches(_ rule: Rule, _ request: Request, _ groups: [String: Matcher]) -> Bool? {
    let named = rule.actions
    let action = request.action
    let source = request.source
    let destination = request.destination ?? .unknown
    var demands: [(Subject, Matcher?)] = [(source, rule.from)]
    switch action {
    case .paste:
      if rule.verdict == .private || named.map({ !$0.contains(.paste) }) ?? false { return false }
      if destination.isSameApp(as: source), !rule.includesSameApp { return false }
      demands += [(destination, rule.to), (destination, rule.apps)]
    case .drag:
      if destination.isSameApp(as: source) { return false }
      let isAboutPastes = rule.verdict != .private && named.map { $0.contains(.paste) } ?? true
      let isAboutCopies =
        rule.verdict == .private && rule.to == nil && named.map { $0.contains(.copy) || $0.contains(.cut) } ?? true
      let isNamed = named?.contains(.drag) ?? false
      guard isAboutPastes || isAboutCopies || isNamed && rule.verdict != .ask && rule.verdict != .private
      else { return false }
      if rule.selections != nil, !isNamed { return false }
      demands.append((destination, rule.to))
    case .copy, .cut:
      if rule.to != nil || rule.verdict == .ask || named.map({ !$0.contains(action) }) ?? false { return false }
      demands.append((source, rule.apps))
    }
    if let selections = rule.selections, !selections.contains(request.selection) { return false }
    let content = request.content!
    if let secret = rule.isSensitive, secret != content.isSensitive { return false }
    if let over = rule.size?.over, content.size <= over { return false }
    if let upTo = rule.size?.upTo, content.size > upTo { return false }
    if let targets = rule.targets, !targets.contains(where: { $0.matches(content.target) }) { return false }
    var answers = demands.map { subject, matcher in matcher.map { belongs(subject, $0, groups) } ?? true }
    if action == .drag, let apps = rule.apps { answers.append(acts(in: rule, named, apps, request, groups)) }
    return answers.contains(false) ? false : answers.contains(nil) ? nil : true
  }

  /// Whether `apps` is one of the two of a drag: the one that begins it, where drags are named, kept private or everything is
  /// denied; the one over which it is, where pastes are meant.
  private func acts(
    in rule: Rule, _ named: Set<Action>?, _ apps: Matcher, _ request: Request, _ groups: [String: Matcher]
  ) -> Bool? {
    var actors: [Subject] = []
    let begins = rule.verdict == .private || (named?.contains(.drag) ?? (rule.verdict == .deny))
    if begins, rule.verdict != .ask || named?.contains(.paste) ?? true { actors.append(request.source) }
    if rule.verdict != .private, named?.contains(.paste) ?? true, rule.selections == nil {
      actors.append(request.destination ?? .unknown)
    }
    let answers = actors.map { belongs($0, apps, groups) }
    return answers.contains(true) ? true : answers.contains(nil) ? nil : false
  }

  /// For a request whose content is known.
  func answer(_ request: Request) -> Answer {
    var groups = Dictionary(uniqueKeysWithValues: managed.groups.map { ($0.name, $0.matcher) })
    var found: [Answer] = []
    let isOwn = request.action.hasDestination && request.destination?.isSameApp(as: request.source) == true
    for (ruleset, isManaged) in [(managed, true), (user, false)] {
      if !isManaged { for group in ruleset.groups { groups[group.name] = group.matcher } }
      var own: [Answer] = []
      var isDecided = false
      for rule in ruleset.rules {
        let answer = matches(rule, request, groups)
        guard answer != false else { continue }
        own.append(Answer(verdict: rule.isEnforced ? rule.verdict : .allow, rule: rule.reference.name))
        isDecided = answer == true
        if isDecided { break }
      }
      if !isDecided {
        if isManaged, let byDefault = ruleset.defaultDecision, !isOwn {
          let applies =
            switch request.action {
            case .paste: byDefault.verdict != .private
            case .copy, .cut: byDefault.verdict != .ask
            case .drag: true
            }
          own.append(
            Answer(verdict: applies && byDefault.isEnforced ? byDefault.verdict : .allow, rule: "default"))
        } else if !own.isEmpty {
          own.append(Answer(verdict: .allow, rule: nil))
        }
      }
      // The strictest; of equal ones what is sure, then the first.
      guard let last = own.last else { continue }
      let strictest = own.map(\.verdict).max()!
      found.append(last.verdict == strictest ? last : own.first { $0.verdict == strictest }!)
    }
    guard let first = found.first else { return Answer(verdict: .allow, rule: nil) }
    guard let second = found.dropFirst().first, second.verdict > first.verdict else { return first }
    return second
  }

  /// The same as the engine puts it for a drag: nobody can be asked in the middle of one, and a private one is for its
  /// audience; `isInside` says whether the destination is part of that.
  func verdictOfDrag(_ answer: Answer, isInside: Bool) -> Verdict {
    switch answer.verdict {
    case .allow, .deny: answer.verdict
    case .ask: .deny
    case .private: isInside ? .allow : .deny
    }
  }
}
