import Policy
import Testing

/// Subjects and rules in few words.
func app(
  _ windowClass: String? = nil, exe: String? = nil, unit: String? = nil, sandbox: String? = nil, host: String? = nil,
  instance: String? = nil, pid: Int32 = 1
) -> Subject {
  Subject(
    origin: .local(ProcessIdentity(id: pid, startTime: 1)), windowClass: windowClass.map { Fact($0, .declared) },
    instance: instance.map { Fact($0, .declared) }, executable: exe.map { Fact($0, .attested) },
    unit: unit.map { Fact($0, .attested) }, sandbox: sandbox.map { Fact($0, .attested) },
    host: host.map { Fact($0, .declared) })
}

func at(_ line: Int, _ file: String = "10.yaml") -> SourcePosition { SourcePosition(file: file, line: line, column: 3) }

func isClass(_ pattern: String) -> Matcher { .windowClass(try! Glob(pattern)) }

func isExe(_ pattern: String) -> Matcher { .executable(try! Glob(pattern, style: .path)) }

func rule(_ name: String, _ verdict: Verdict, line: Int = 1, _ fill: (inout Rule) -> Void = { _ in }) -> Rule {
  var rule = Rule(RuleReference(name: name, position: at(line)), verdict: verdict)
  fill(&rule)
  return rule
}

func ruleset(_ rules: [Rule], groups: [String: Matcher] = [:], byDefault: Verdict? = nil) -> Ruleset {
  var ruleset = Ruleset()
  ruleset.files = ["10.yaml"]
  ruleset.rules = rules
  ruleset.groups = groups.sorted { $0.key < $1.key }.map { Group(name: $0.key, position: at(1), matcher: $0.value) }
  ruleset.defaultDecision = byDefault.map { DefaultDecision($0, position: at(99)) }
  return ruleset
}

func policy(_ rules: [Rule], groups: [String: Matcher] = [:], byDefault: Verdict? = nil) -> PolicySet {
  PolicySet(managed: ruleset(rules, groups: groups, byDefault: byDefault), user: Ruleset())
}

func paste(
  _ source: Subject, _ destination: Subject, _ target: String? = nil, size: Int = 10, secret: Bool = false,
  on selection: String = "clipboard"
) -> Request {
  Request(
    action: .paste, source: source, destination: destination, selection: selection,
    content: target.map { ContentFacts(target: $0, size: size, isSensitive: secret) })
}

func copy(
  _ source: Subject, _ target: String? = nil, size: Int = 10, secret: Bool = false, on selection: String = "clipboard"
) -> Request {
  Request(
    action: .copy, source: source, selection: selection,
    content: target.map { ContentFacts(target: $0, size: size, isSensitive: secret) })
}

func cut(_ source: Subject) -> Request { Request(action: .cut, source: source) }

extension Evaluation {
  var decision: Decision? { if case .decided(let decision) = self { decision } else { nil } }
  var verdict: Verdict? { decision?.verdict }
}

/// A small generator with a seed, so that a failure can be repeated.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

/// `#expect` for loops of ten thousands: it costs nothing while all is well.
func demand(
  _ isSo: Bool, _ comment: @autoclosure () -> String, sourceLocation: SourceLocation = #_sourceLocation
) {
  if !isSo { Issue.record("\(comment())", sourceLocation: sourceLocation) }
}
