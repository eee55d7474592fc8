/// What a rule, a group or a board demands of an app.
public indirect enum Matcher: Hashable, Sendable {
  /// Every app, known or not.
  case any
  /// An app of which nothing is known.
  case unknown
  /// An app without a process on this machine, of which something else is known.
  case remote
  /// The class half of WM_CLASS.
  case windowClass(Glob)
  /// The instance half of WM_CLASS.
  case instance(Glob)
  /// The executable's path; only an attested one counts.
  case executable(Glob)
  /// What the executable was told to run: a script and its like.
  case script(Glob)
  /// The systemd unit; only an attested one counts.
  case unit(Glob)
  /// The sandbox's name; only an attested one counts.
  case sandbox(Glob)
  /// WM_CLIENT_MACHINE.
  case host(Glob)
  /// A member of the group of this name.
  case group(String)
  /// Every app that the matcher doesn't match, unknown ones among them: who can't be shown to belong, doesn't.
  case not(Matcher)
  /// At least one of these.
  case anyOf([Matcher])
  /// All of these.
  case allOf([Matcher])
}

/// Answers whether matchers hold for one subject; each group is asked once.
struct MatchContext {
  let subject: Subject
  let groups: [String: Matcher]
  private var answers: [String: Bool] = [:]

  init(_ subject: Subject, groups: [String: Matcher]) {
    self.subject = subject
    self.groups = groups
  }

  mutating func holds(_ matcher: Matcher) -> Bool {
    switch matcher {
    case .any: return true
    case .unknown: return subject.isUnknown
    case .remote: return subject.isRemote
    case .group(let name): return isMember(of: name)
    case .not(let inner): return !holds(inner)
    case .anyOf(let alternatives):
      for alternative in alternatives where holds(alternative) { return true }
      return false
    case .allOf(let conditions):
      for condition in conditions where !holds(condition) { return false }
      return true
    case .windowClass(let glob), .instance(let glob), .executable(let glob), .script(let glob), .unit(let glob),
      .sandbox(let glob), .host(let glob):
      return matcher.fact(of: subject).map(glob.matches) ?? false
    }
  }

  /// The loader rejects groups that contain themselves; one made by hand has no members, instead of no end.
  private mutating func isMember(of name: String) -> Bool {
    if let answer = answers[name] { return answer }
    answers[name] = false
    let answer = groups[name].map { holds($0) } ?? false
    answers[name] = answer
    return answer
  }
}

extension Matcher {
  /// The fact that the matcher looks at, if the subject has it on strong enough evidence.
  func fact(of subject: Subject) -> String? {
    switch self {
    case .windowClass: subject.windowClass?.value
    case .instance: subject.instance?.value
    case .script: subject.script?.value
    case .host: subject.host?.value
    case .executable: attested(subject.executable)
    case .unit: attested(subject.unit)
    case .sandbox: attested(subject.sandbox)
    case .any, .unknown, .remote, .group, .not, .anyOf, .allOf: nil
    }
  }

  private func attested(_ fact: Fact?) -> String? { fact?.evidence == .attested ? fact?.value : nil }

  /// The key under which the fact is written in policies, and its pattern.
  var keyAndGlob: (key: String, glob: Glob)? {
    switch self {
    case .windowClass(let glob): ("class", glob)
    case .instance(let glob): ("instance", glob)
    case .executable(let glob): ("exe", glob)
    case .script(let glob): ("script", glob)
    case .unit(let glob): ("unit", glob)
    case .sandbox(let glob): ("sandbox", glob)
    case .host(let glob): ("host", glob)
    case .any, .unknown, .remote, .group, .not, .anyOf, .allOf: nil
    }
  }

  /// Whether it is known that this matches every app that `other` matches. `false` where that would need a proof, or
  /// more than 10,000 steps: groups of groups can be written down that take forever.
  public func covers(_ other: Matcher, groups: [String: Matcher] = [:]) -> Bool {
    var steps = 10_000
    return covers(other, groups, &steps, depth: 0)
  }

  private func covers(_ other: Matcher, _ groups: [String: Matcher], _ steps: inout Int, depth: Int) -> Bool {
    if self == .any || self == other { return true }
    // Nesting is bounded by the loader; this bound only ends groups that contain themselves.
    steps -= 1
    guard steps > 0, depth < 64 else { return false }
    func recur(_ mine: Matcher, _ theirs: Matcher) -> Bool { mine.covers(theirs, groups, &steps, depth: depth + 1) }
    switch (self, other) {
    case (_, .anyOf(let theirs)): return !theirs.isEmpty && theirs.allSatisfy { recur(self, $0) }
    case (.group(let mine), .group(let theirs)):
      return groups[theirs].map { recur(self, $0) } ?? false || groups[mine].map { recur($0, other) } ?? false
    case (_, .group(let name)): return groups[name].map { recur(self, $0) } ?? false
    case (.group(let name), _): return groups[name].map { recur($0, other) } ?? false
    case (.anyOf(let mine), _): return mine.contains { recur($0, other) }
    case (.allOf(let mine), _): return mine.allSatisfy { recur($0, other) }
    case (_, .allOf(let theirs)): return theirs.contains { recur(self, $0) }
    case (.not(let mine), .not(let theirs)): return recur(theirs, mine)
    default:
      guard let mine = keyAndGlob, let theirs = other.keyAndGlob, mine.key == theirs.key else { return false }
      return mine.glob.covers(theirs.glob)
    }
  }
}

extension Matcher: CustomStringConvertible {
  /// One line: `class=SAP* and exe=/opt/sap/**`.
  public var description: String {
    switch self {
    case .any: "any"
    case .unknown: "unknown"
    case .remote: "remote"
    case .group(let name): name
    case .not(let inner): "not (\(inner))"
    case .anyOf(let alternatives): alternatives.map { "\($0)" }.joined(separator: " or ")
    case .allOf(let conditions):
      conditions.map { if case .anyOf = $0 { "(\($0))" } else { "\($0)" } }.joined(separator: " and ")
    case .windowClass, .instance, .executable, .script, .unit, .sandbox, .host:
      keyAndGlob.map { "\($0.key)=\($0.glob)" } ?? ""
    }
  }

  /// Why the matcher doesn't hold for `subject`, in words; `nil` when it does.
  func failure(for subject: Subject, groups: [String: Matcher]) -> String? {
    var context = MatchContext(subject, groups: groups)
    return failure(in: &context)
  }

  private func failure(in context: inout MatchContext) -> String? {
    guard !context.holds(self) else { return nil }
    switch self {
    case .any: return nil
    case .unknown: return "the app is known, rule wants an unknown one"
    case .remote: return context.subject.isUnknown ? "the app is unknown, rule wants `remote`" : "the app is local"
    case .group(let name): return "not in group `\(name)`"
    case .not(let inner): return "excluded by not (\(inner))"
    case .anyOf(let alternatives):
      if alternatives.count == 1 { return alternatives[0].failure(in: &context) }
      return "none of: \(self)"
    case .allOf(let conditions):
      for condition in conditions {
        if let failure = condition.failure(in: &context) { return failure }
      }
      return nil
    case .windowClass, .instance, .executable, .script, .unit, .sandbox, .host:
      guard let (key, glob) = keyAndGlob else { return nil }
      guard let value = fact(of: context.subject) else { return "\(key) is not known, rule wants `\(glob)`" }
      return "\(key) is `\(value)`, rule wants `\(glob)`"
    }
  }
}

extension Matcher {
  /// Whether it holds for `subject`; groups that `groups` doesn't have are empty.
  public func matches(_ subject: Subject, groups: [String: Matcher] = [:]) -> Bool {
    var context = MatchContext(subject, groups: groups)
    return context.holds(self)
  }

  /// The names of the groups that it mentions.
  public var groupNames: Set<String> {
    switch self {
    case .group(let name): [name]
    case .not(let inner): inner.groupNames
    case .anyOf(let parts), .allOf(let parts): parts.reduce(into: []) { $0.formUnion($1.groupNames) }
    default: []
    }
  }

  /// Whether a script is part of what it wants.
  public func namesScript(groups: [String: Matcher] = [:]) -> Bool {
    var steps = 1_000
    return namesScript(groups, &steps)
  }

  private func namesScript(_ groups: [String: Matcher], _ steps: inout Int) -> Bool {
    // Ends groups that contain themselves.
    steps -= 1
    guard steps > 0 else { return false }
    switch self {
    case .script: return true
    case .group(let name): return groups[name]?.namesScript(groups, &steps) ?? false
    case .anyOf(let parts), .allOf(let parts):
      for part in parts where part.namesScript(groups, &steps) { return true }
      return false
    default: return false
    }
  }

  /// Whether it may hold on the strength of what a program says of itself, with nothing attested beside it.
  public func restsOnDeclaredFacts(groups: [String: Matcher] = [:]) -> Bool {
    var known: [String: Bool] = [:]
    return restsOnDeclaredFacts(groups, &known)
  }

  private func restsOnDeclaredFacts(_ groups: [String: Matcher], _ known: inout [String: Bool]) -> Bool {
    switch self {
    case .windowClass, .instance, .script, .host: return true
    case .any, .unknown, .remote, .executable, .unit, .sandbox, .not: return false
    case .group(let name):
      if let answer = known[name] { return answer }
      known[name] = false
      let answer = groups[name]?.restsOnDeclaredFacts(groups, &known) ?? false
      known[name] = answer
      return answer
    case .anyOf(let alternatives):
      for alternative in alternatives where alternative.restsOnDeclaredFacts(groups, &known) { return true }
      return false
    case .allOf(let conditions):
      // Whoever can start the interpreter can say that it runs this script, so the interpreter's path proves nothing.
      let namesScript = conditions.contains { if case .script = $0 { true } else { false } }
      var rests = false
      for condition in conditions {
        switch condition {
        case .any, .not, .remote, .unknown: continue
        case .executable where namesScript: continue
        default:
          guard condition.restsOnDeclaredFacts(groups, &known) else { return false }
          rests = true
        }
      }
      return rests
    }
  }
}
