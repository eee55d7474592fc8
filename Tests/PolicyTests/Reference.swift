@testable import Policy

/// The policy language once more, as slowly and plainly as its description reads, to compare the engine with.
struct Reference {
  var managed: Ruleset
  var user: Ruleset

  struct Answer: Equatable {
    var verdict: Verdict
    var rule: String?
  }

  func belongs(_ subject: Subject, _ matcher: Matcher, _ groups: [String: Matcher]) -> Bool {
    func holds(_ glob: Glob, _ fact: Fact?, attested: Bool) -> Bool {
      guard let fact, !attested || fact.evidence == .attested else { return false }
      return glob.matches(fact.value)
    }
    switch matcher {
    case .any: return true
    case .unknown: return subject.isUnknown
    case .remote: return subject.isRemote
    case .windowClass(let glob): return holds(glob, subject.windowClass, attested: false)
    case .instance(let glob): return holds(glob, subject.instance, attested: false)
    case .host(let glob): return holds(glob, subject.host, attested: false)
    case .executable(let glob): return holds(glob, subject.executable, attested: true)
    case .script(let glob): return holds(glob, subject.script, attested: false)
    case .unit(let glob): return holds(glob, subject.unit, attested: true)
    case .sandbox(let glob): return holds(glob, subject.sandbox, attested: true)
    case .group(let name): return groups[name].map { belongs(subject, $0, groups) } ?? false
    case .not(let inner): return !belongs(subject, inner, groups)
    case .anyOf(let parts): return parts.contains { belongs(subject, $0, groups) }
    case .allOf(let parts): return parts.allSatisfy { belongs(subject, $0, groups) }
    }
  }

  func matches(_ rule: Rule, _ request: Request, _ groups: [String: Matcher]) -> Bool {
    guard (rule.actions ?? [.copy, .cut, .paste]).contains(request.action) else { return false }
    let source = request.source
    if let from = rule.from, !belongs(source, from, groups) { return false }
    if request.action == .paste {
      let destination = request.destination ?? .unknown
      if rule.verdict == .private { return false }
      if destination.isSameApp(as: source), !rule.includesSameApp { return false }
      if let to = rule.to, !belongs(destination, to, groups) { return false }
      if let apps = rule.apps, !belongs(destination, apps, groups) { return false }
    } else if request.action == .drag {
      let destination = request.destination ?? .unknown
      if rule.verdict == .private || rule.verdict == .ask || destination.isSameApp(as: source) { return false }
      if let to = rule.to, !belongs(destination, to, groups) { return false }
      if let apps = rule.apps, !belongs(source, apps, groups) { return false }
    } else {
      if rule.to != nil || rule.verdict == .ask { return false }
      if let apps = rule.apps, !belongs(source, apps, groups) { return false }
    }
    if let selections = rule.selections, !selections.contains(request.selection) { return false }
    guard rule.needsContent else { return true }
    let content = request.content!
    if let secret = rule.isSensitive, secret != content.isSensitive { return false }
    if let over = rule.size?.over, content.size <= over { return false }
    if let upTo = rule.size?.upTo, content.size > upTo { return false }
    if let targets = rule.targets, !targets.contains(where: { $0.matches(content.target) }) { return false }
    return true
  }

  /// For a request whose content is known.
  func answer(_ request: Request) -> Answer {
    var groups = Dictionary(uniqueKeysWithValues: managed.groups.map { ($0.name, $0.matcher) })
    var found: [Answer] = []
    let isOwn = request.action == .paste && request.destination?.isSameApp(as: request.source) == true
    for (ruleset, isManaged) in [(managed, true), (user, false)] {
      if !isManaged { for group in ruleset.groups { groups[group.name] = group.matcher } }
      if let rule = ruleset.rules.first(where: { matches($0, request, groups) }) {
        found.append(Answer(verdict: rule.isEnforced ? rule.verdict : .allow, rule: rule.reference.name))
      } else if isManaged, let byDefault = ruleset.defaultDecision, !isOwn, request.action != .drag {
        let applies = request.action == .paste ? byDefault.verdict != .private : byDefault.verdict != .ask
        found.append(
          Answer(verdict: applies && byDefault.isEnforced ? byDefault.verdict : .allow, rule: "default"))
      }
    }
    guard let first = found.first else { return Answer(verdict: .allow, rule: nil) }
    guard let second = found.dropFirst().first, second.verdict > first.verdict else { return first }
    return second
  }
}
