/// What a rule, a group or a board demands of an app.
public indirect enum Matcher: Hashable, Sendable {
  /// Every app, known or not.
  case any
  /// An app of which it can't be told for certain which it is.
  case unknown
  /// An app without a process on this machine.
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
  /// Every app that the matcher surely doesn't match.
  case not(Matcher)
  /// At least one of these.
  case anyOf([Matcher])
  /// All of these.
  case allOf([Matcher])
}

/// What a matcher says of a subject. A fact that isn't known could be what is asked for.
public enum Answer: Hashable, Sendable {
  /// It surely doesn't match.
  case no
  /// It could match.
  case couldBe
  /// It surely matches.
  case yes

  /// The opposite; what isn't known stays so.
  var negated: Answer {
    switch self {
    case .no: .yes
    case .couldBe: .couldBe
    case .yes: .no
    }
  }

  /// `yes` for true.
  init(_ isTrue: Bool) { self = isTrue ? .yes : .no }
}

/// Answers what matchers say of one subject; each group is asked once.
struct MatchContext {
  let subject: Subject
  let groups: [String: Matcher]
  /// Whether `unknown` means it, or the subject that it is a candidate for.
  private let isUnsure: Bool
  private var answers: [String: Answer] = [:]
  /// The candidates, each with its own answers.
  private var candidates: [MatchContext]

  init(_ subject: Subject, groups: [String: Matcher]) {
    self.init(subject, groups: groups, isUnsure: subject.isUnsure)
  }

  private init(_ subject: Subject, groups: [String: Matcher], isUnsure: Bool) {
    self.subject = subject
    self.groups = groups
    self.isUnsure = isUnsure
    candidates = subject.candidates.map { MatchContext($0, groups: groups, isUnsure: isUnsure) }
  }

  /// What `matcher` says. Of several candidates each is asked, and they have to agree.
  mutating func answer(_ matcher: Matcher) -> Answer {
    guard !candidates.isEmpty else { return ownAnswer(matcher) }
    let first = candidates[0].answer(matcher)
    for number in candidates.indices.dropFirst() where candidates[number].answer(matcher) != first { return .couldBe }
    return first
  }

  private mutating func ownAnswer(_ matcher: Matcher) -> Answer {
    switch matcher {
    case .any: return .yes
    case .unknown: return Answer(isUnsure)
    case .remote: return subject.origin == .unknown ? .couldBe : Answer(subject.isRemote)
    case .group(let name): return membership(of: name)
    case .not(let inner): return ownAnswer(inner).negated
    case .anyOf(let alternatives):
      var best = Answer.no
      for alternative in alternatives {
        let answer = ownAnswer(alternative)
        if answer == .yes { return .yes }
        if answer == .couldBe { best = .couldBe }
      }
      return best
    case .allOf(let conditions):
      var worst = Answer.yes
      for condition in conditions {
        let answer = ownAnswer(condition)
        if answer == .no { return .no }
        if answer == .couldBe { worst = .couldBe }
      }
      return worst
    case .windowClass(let glob): return answer(glob, .windowClass)
    case .instance(let glob): return answer(glob, .instance)
    case .executable(let glob): return answer(glob, .executable)
    case .script(let glob): return answer(glob, .script)
    case .unit(let glob): return answer(glob, .unit)
    case .sandbox(let glob): return answer(glob, .sandbox)
    case .host(let glob): return answer(glob, .host)
    }
  }

  private func answer(_ glob: Glob, _ name: FactName) -> Answer {
    switch subject.knowledge(of: name) {
    case .known(let value): Answer(glob.matches(value))
    case .absent: .no
    case .unknown: .couldBe
    }
  }

  /// The loader rejects groups that contain themselves; one made by hand has no members, instead of no end.
  private mutating func membership(of name: String) -> Answer {
    if let answer = answers[name] { return answer }
    answers[name] = .no
    let answer = groups[name].map { ownAnswer($0) } ?? .no
    answers[name] = answer
    return answer
  }
}

extension Matcher {
  /// The fact that it looks at, and its pattern.
  var nameAndGlob: (name: FactName, glob: Glob)? {
    switch self {
    case .windowClass(let glob): (.windowClass, glob)
    case .instance(let glob): (.instance, glob)
    case .executable(let glob): (.executable, glob)
    case .script(let glob): (.script, glob)
    case .unit(let glob): (.unit, glob)
    case .sandbox(let glob): (.sandbox, glob)
    case .host(let glob): (.host, glob)
    case .any, .unknown, .remote, .group, .not, .anyOf, .allOf: nil
    }
  }

  /// The key under which the fact is written in policies, and its pattern.
  var keyAndGlob: (key: String, glob: Glob)? { nameAndGlob.map { ($0.name.rawValue, $0.glob) } }

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

  /// What the matcher says of `subject`, with what it looked at, in words; no words where it surely matches.
  func trial(for subject: Subject, groups: [String: Matcher]) -> (answer: Answer, words: String) {
    var context = MatchContext(subject, groups: groups)
    let answer = context.answer(self)
    switch answer {
    case .yes: return (.yes, "")
    case .no: return (.no, words(why: .no, in: &context))
    case .couldBe: return (.couldBe, words(why: .couldBe, in: &context))
    }
  }

  /// The part of it that answers `answer`, in words.
  private func words(why answer: Answer, in context: inout MatchContext) -> String {
    let isOneOfSeveral = !context.subject.candidates.isEmpty
    switch self {
    case .any: return ""
    case .unknown: return "the app is known, rule wants an unknown one"
    case .remote: return answer == .couldBe ? "it isn't known where the app runs" : "the app is local"
    case .group(let name): return answer == .couldBe ? "could be in group `\(name)`" : "not in group `\(name)`"
    case .not(let inner):
      return answer == .couldBe ? "could be excluded by not (\(inner))" : "excluded by not (\(inner))"
    case .anyOf(let alternatives):
      if alternatives.count == 1 { return alternatives[0].words(why: answer, in: &context) }
      return answer == .couldBe ? "could be one of: \(self)" : "none of: \(self)"
    case .allOf(let conditions):
      for condition in conditions where context.answer(condition) == answer {
        return condition.words(why: answer, in: &context)
      }
      return "\(self)"
    case .windowClass, .instance, .executable, .script, .unit, .sandbox, .host:
      guard let (name, glob) = nameAndGlob else { return "" }
      if isOneOfSeveral { return "\(name.rawValue) is one of several, rule wants `\(glob)`" }
      switch context.subject.knowledge(of: name) {
      case .known(let value): return "\(name.rawValue) is `\(value)`, rule wants `\(glob)`"
      case .absent: return "\(name.rawValue) is not known, rule wants `\(glob)`"
      case .unknown: return "\(name.rawValue) isn't certain, rule wants `\(glob)`"
      }
    }
  }
}

extension Matcher {
  /// Whether it surely holds for `subject`; groups that `groups` doesn't have are empty.
  public func matches(_ subject: Subject, groups: [String: Matcher] = [:]) -> Bool {
    answer(for: subject, groups: groups) == .yes
  }

  /// What it says of `subject`; groups that `groups` doesn't have are empty.
  public func answer(for subject: Subject, groups: [String: Matcher] = [:]) -> Answer {
    var context = MatchContext(subject, groups: groups)
    return context.answer(self)
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

  /// Whether an executable is wanted by its file name alone, in any folder.
  public func namesAnyFolder(groups: [String: Matcher] = [:]) -> Bool {
    contains(groups: groups) { if case .executable(let glob) = $0 { glob.pattern.hasPrefix("**/") } else { false } }
  }

  /// Whether `unknown` is part of what it wants.
  public func namesUnknown(groups: [String: Matcher] = [:]) -> Bool { contains(groups: groups) { $0 == .unknown } }

  /// Whether any part of it, of its groups too, is as `isWanted` says.
  private func contains(groups: [String: Matcher], _ isWanted: (Matcher) -> Bool) -> Bool {
    var seen: Set<String> = []
    var open = [self]
    while let next = open.popLast() {
      if isWanted(next) { return true }
      switch next {
      case .not(let inner): open.append(inner)
      case .anyOf(let parts), .allOf(let parts): open += parts
      case .group(let name): if seen.insert(name).inserted, let inner = groups[name] { open.append(inner) }
      case .any, .unknown, .remote, .windowClass, .instance, .executable, .script, .unit, .sandbox, .host: break
      }
    }
    return false
  }

  /// Whether a script is part of what it wants.
  public func namesScript(groups: [String: Matcher] = [:]) -> Bool {
    contains(groups: groups) { if case .script = $0 { true } else { false } }
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
