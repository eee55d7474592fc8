import Synchronization

/// The rules of one ruleset that a subject meets, for every role.
struct RoleBits: Sendable {
  /// Those whose demand surely holds.
  var sure: [RuleBits]
  /// Those whose demand could hold; `nil` where there are none, as for every subject that is known.
  var doubtful: [RuleBits]?

  /// Those whose demand holds or could.
  func met(_ role: Role) -> RuleBits {
    doubtful.map { sure[role.rawValue].union($0[role.rawValue]) } ?? sure[role.rawValue]
  }

  /// Whether the demand of `rule` surely holds.
  func isSure(_ rule: Int, _ role: Role) -> Bool { doubtful == nil || sure[role.rawValue].contains(rule) }
}

/// What was found out about one subject: nothing that couldn't be found out again.
final class SubjectProfile: Sendable {
  let managed: RoleBits
  let user: RoleBits
  /// Numbers of the boards that it is surely a member of, in the policy's order.
  let boards: [Int]
  /// The first board that it could be a member of.
  let doubtfulBoard: Int?

  init(managed: RoleBits, user: RoleBits, boards: [Int], doubtfulBoard: Int?) {
    self.managed = managed
    self.user = user
    self.boards = boards
    self.doubtfulBoard = doubtfulBoard
  }
}

extension String {
  /// Whether both are the same bytes; `==` would take equivalent spellings for equal.
  func isSpelled(like other: String) -> Bool {
    // In ASCII every text has one spelling, and comparing whole strings is several times faster.
    if utf8Span.isKnownASCII, other.utf8Span.isKnownASCII { return self == other }
    return utf8.elementsEqual(other.utf8)
  }
}

/// A subject's facts without its process, compared scalar for scalar: Swift's `==` would take two spellings of a path
/// that Unicode calls equivalent for one.
struct FactsKey: Hashable {
  let subject: Subject

  init(_ subject: Subject) { self.subject = subject }

  private var origin: Int {
    switch subject.origin {
    case .local: 0
    case .remote: 1
    case .unknown: 2
    }
  }

  static func == (lhs: FactsKey, rhs: FactsKey) -> Bool {
    lhs.origin == rhs.origin && same(lhs.subject.windowClass, rhs.subject.windowClass)
      && same(lhs.subject.executable, rhs.subject.executable) && same(lhs.subject.instance, rhs.subject.instance)
      && same(lhs.subject.script, rhs.subject.script) && same(lhs.subject.unit, rhs.subject.unit)
      && same(lhs.subject.sandbox, rhs.subject.sandbox) && same(lhs.subject.host, rhs.subject.host)
      && lhs.subject.unsure == rhs.subject.unsure
      && lhs.subject.candidates.map(FactsKey.init) == rhs.subject.candidates.map(FactsKey.init)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(origin)
    hasher.combine(subject.windowClass?.value)
    hasher.combine(subject.executable?.value)
    hasher.combine(subject.script?.value)
    hasher.combine(subject.unit?.value)
  }

  private static func same(_ lhs: Fact?, _ rhs: Fact?) -> Bool {
    guard let lhs, let rhs else { return lhs == nil && rhs == nil }
    return lhs.evidence == rhs.evidence && lhs.value.isSpelled(like: rhs.value)
  }
}

/// Remembers answers to questions about subjects and names, and forgets all of them when there are too many: a peer can
/// invent names without end.
struct MemoTable: Sendable {
  /// Our choice: a desktop has some dozens of apps, and with 10,000 rules an entry takes 5 KB.
  static let capacity = 256

  private var profiles: [FactsKey: SubjectProfile] = [:]
  private var selections: [String: [RuleBits]] = [:]
  private var targets: [String: [RuleBits]] = [:]
  private var sizes: [SizeSteps: [RuleBits]] = [:]

  /// Where a size stands among the bounds of both rulesets.
  struct SizeSteps: Hashable {
    var managed: Int
    var user: Int
  }

  mutating func profile(of subject: Subject, make: (Subject) -> SubjectProfile) -> SubjectProfile {
    let key = FactsKey(subject)
    if let known = profiles[key] { return known }
    let made = make(subject)
    if profiles.count >= MemoTable.capacity { profiles.removeAll() }
    profiles[key] = made
    return made
  }

  mutating func bits(forSelection name: String, make: (String) -> [RuleBits]) -> [RuleBits] {
    MemoTable.look(up: name, in: &selections, make: make)
  }

  mutating func bits(forTarget name: String, make: (String) -> [RuleBits]) -> [RuleBits] {
    MemoTable.look(up: name, in: &targets, make: make)
  }

  mutating func bits(forSize steps: SizeSteps, make: () -> [RuleBits]) -> [RuleBits] {
    if let known = sizes[steps] { return known }
    let made = make()
    if sizes.count >= MemoTable.capacity { sizes.removeAll() }
    sizes[steps] = made
    return made
  }

  /// Names are compared as the rules compare them, scalar for scalar; hence only names known to be ASCII are remembered.
  private static func look(
    up name: String, in table: inout [String: [RuleBits]], make: (String) -> [RuleBits]
  ) -> [RuleBits] {
    guard name.utf8Span.isKnownASCII else { return make(name) }
    if let known = table[name] { return known }
    let made = make(name)
    if table.count >= capacity { table.removeAll() }
    table[name] = made
    return made
  }
}

/// The memo of one policy. The daemon has one thread; whoever else asks at the same moment computes afresh instead of
/// waiting, so nothing ever blocks here and `PolicySet` is a value like any other.
final class PolicyMemo: Sendable {
  private let table = Mutex(MemoTable())

  func use<Answer: Sendable>(_ body: (inout MemoTable) -> Answer) -> Answer {
    if let answer = table.withLockIfAvailable({ table in body(&table) }) { return answer }
    var fresh = MemoTable()
    return body(&fresh)
  }
}
