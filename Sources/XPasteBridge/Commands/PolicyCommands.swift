import Policy
import PolicyFile

/// The verbs that read policy files themselves: `policy check`, `policy explain` and `policy show --policy`.
enum PolicyCommands {
  /// Reads the files, reports every error and tries their `expect:` rows: exit status 1 when anything is wrong.
  static func verdict(_ invocation: Invocation) -> Int32 {
    let users = invocation.all("user")
    let paths = invocation.operands + users
    guard paths.count(where: { $0 == "-" }) < 2 else {
      return Console.failed("standard input, `-`, can be read once only")
    }
    for path in paths where path != "-" && Posix.stat(path) == nil {
      // A directory may be absent where it is installed; one that was named must be there.
      return Console.failed("can't read `\(Label.plain(path))`: it doesn't exist")
    }
    let found = InstalledPolicy(checking: invocation.operands, user: users).read()
    let failed = found.policy?.failedExpectations() ?? []
    let rulesets = found.policy.map { [$0.managed, $0.user] } ?? []
    let rules = rulesets.map(\.rules.count).reduce(0, +)
    let isValid = found.policy != nil && failed.isEmpty
    if invocation.has("json") {
      let report = JSON.object([
        "schema": .integer(StatusReport.schemaVersion), "valid": .bool(isValid), "files": .strings(found.files),
        "rules": .integer(rules), "errors": .array(found.errors.map(json)),
        "warnings": .array(found.warnings.map(json)), "failedExpectations": .array(failed.map(json)),
      ])
      let status = Console.print(report.description)
      return isValid ? status : ExitStatus.failed
    }
    // As compilers do: the position comes first, so that editors can jump there.
    let lines =
      found.errors.map(\.description) + failed.map(\.description) + found.warnings.map { "\($0) (warning)" }
    for line in lines { try? Posix.write(Label.plain(line, to: 4_096) + "\n", to: 2) }
    guard isValid else { return ExitStatus.failed }
    let expectations = rulesets.map(\.expectations.count).reduce(0, +)
    let met = expectations == 0 ? "" : ", \(counted(expectations, "expectation")) met"
    return Console.print("\(counted(found.files.count, "file")), \(counted(rules, "rule")), no errors\(met)")
  }

  private static func counted(_ count: Int, _ what: String) -> String { "\(count) \(what)\(count == 1 ? "" : "s")" }

  private static func json(_ found: Diagnostic) -> JSON {
    json(found.kind.rawValue, found.position, found.message, hint: found.hint)
  }

  private static func json(_ failed: FailedExpectation) -> JSON {
    json("failed-expectation", failed.expectation.position, failed.message, hint: nil)
  }

  private static func json(_ kind: String, _ position: SourcePosition, _ message: String, hint: String?) -> JSON {
    .object([
      "kind": .string(kind), "file": .string(position.file), "line": .integer(position.line),
      "column": .integer(position.column), "message": .string(message), "hint": hint.map { .string($0) } ?? .null,
    ])
  }

  /// Decides a request that is written on the command line.
  static func explain(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let request = try RequestReader.request(invocation)
    guard let policy = policy(of: invocation) else { return ExitStatus.failed }
    try RequestReader.judgeSelection(request.selection, boards: policy.boards.map(\.name))
    let explanation = policy.explain(request)
    if invocation.has("json") { return Console.print(json(explanation).description) }
    return Console.write(lines(explanation.description))
  }

  /// The policy of `--policy` or of the installed files; `nil` after its errors have been shown.
  static func policy(of invocation: Invocation) -> PolicySet? {
    let loaded = InstalledPolicy(given: invocation.all("policy")).load()
    for line in loaded.errors { try? Posix.write(Label.plain(line, to: 4_096) + "\n", to: 2) }
    if let policy = loaded.policy, loaded.errors.isEmpty { return policy }
    Console.complain("the policy has errors, so a daemon would keep its last good one or be locked")
    return nil
  }

  /// Shows what files say together, as the daemon would have it in force.
  static func show(_ invocation: Invocation) -> Int32 {
    guard policy(of: invocation) != nil else { return ExitStatus.failed }
    let report = StatusReport.overview(PolicyInForce(source: InstalledPolicy(given: invocation.all("policy"))))
    if invocation.has("json") { return Console.print(report.description) }
    return Console.write(PolicyText.text(report))
  }

  /// Text of several lines, each made safe to show.
  static func lines(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { Label.plain(String($0), to: 4_096) + "\n" }
      .joined()
  }

  private static func json(_ explanation: Explanation) -> JSON {
    .object([
      "schema": .integer(StatusReport.schemaVersion),
      "request": .string(explanation.request.summary),
      "decision": decision(explanation.evaluation).map { .string($0.verdict.rawValue) } ?? .null,
      "reason": decision(explanation.evaluation).map { RecordJSON.reason($0.reason) },
      "terms": decision(explanation.evaluation)
        .map { .object(terms($0.obligations).map { JSON.Member($0.name, .string($0.value)) }) },
      "outcome": decision(explanation.outcome).map { .string($0.verdict.rawValue) } ?? .null,
      "outcomeReason": decision(explanation.outcome).map { RecordJSON.reason($0.reason) },
      "note": explanation.note.map { .string($0) } ?? .null,
      "tried": .array(tried(explanation.managed, "managed") + tried(explanation.user, "user")),
      "before": .array(explanation.before.map(json)),
    ])
  }

  private static func decision(_ evaluation: Evaluation) -> Decision? {
    if case .decided(let decision) = evaluation { return decision }
    return nil
  }

  private static func tried(_ steps: [Explanation.Step], _ ruleset: String) -> [JSON] {
    steps.map { step in
      let (result, why): (String, String?) =
        switch step.result {
        case .decides: ("decides", nil)
        case .couldDecide(let condition): ("could-decide", condition)
        case .mayDecide(let condition): ("may-decide", condition)
        case .failed(let condition): ("no-match", condition)
        }
      return .object(
        [
          JSON.Member("ruleset", .string(ruleset)), JSON.Member("decision", .string(step.verdict.rawValue)),
          JSON.Member("result", .string(result)), JSON.Member("why", why.map { .string($0) } ?? .null),
        ] + RecordJSON.reason(.rule(step.reference)).members.dropFirst())
    }
  }

  /// What a decision still demands, by the policy language's names.
  private static func terms(_ obligations: Obligations) -> [(name: String, value: String)] {
    let all: [(String, String?)] = [
      ("plain-text", obligations.plainText ? "true" : nil),
      ("max-size", obligations.maxSize.map { String($0) }),
      ("expires", obligations.expiresAfterSeconds.map { "\($0)s" }),
      ("one-shot", obligations.oneShot ? "true" : nil),
      ("board", obligations.board),
      // The text itself is the administrator's and in the policy file, so it may be shown.
      ("replace-with", obligations.replacement),
      ("notify", obligations.notify.map { String($0) }),
      ("audit", obligations.audit.map { String($0) }),
      ("message", obligations.message),
      ("protect", obligations.protect ? "true" : nil),
    ]
    return all.compactMap { name, value in value.map { (name, $0) } }
  }
}

/// Reads a request from the options of `policy explain`.
enum RequestReader {
  private static let facts = FactName.allCases.map(\.rawValue)

  /// The request that the options describe.
  static func request(_ invocation: Invocation) throws(UsageFailure) -> Request {
    let source = try subject(invocation.value("from") ?? "", pid: 1)
    var destination: Subject?
    if let to = invocation.value("to") { destination = try subject(to, pid: 2) }
    let action = invocation.value("action").flatMap(Action.init) ?? (destination == nil ? .copy : .paste)
    guard action.hasDestination == (destination != nil) else {
      throw UsageFailure(
        description: action.hasDestination
          ? "`--action \(action.rawValue)` needs --to=APP"
          : "`--to` goes with `--action paste` and `--action drag` only")
    }
    let size = try invocation.value("size").map { (text) throws(UsageFailure) in try bytes(text) }
    var content: ContentFacts?
    if let target = invocation.value("target") {
      content = ContentFacts(target: target, size: size ?? 0, isSensitive: invocation.has("sensitive"))
    } else if size != nil || invocation.has("sensitive") {
      throw UsageFailure(description: "`--size` and `--sensitive` need --target=TARGET")
    }
    return Request(
      action: action, source: source, destination: destination, selection: invocation.value("selection") ?? "clipboard",
      content: content)
  }

  /// An app from `class=Firefox,exe=/usr/bin/firefox`; a comma belongs to the value unless a fact's name follows it, and
  /// always with a backslash before it.
  static func subject(_ text: String, pid: Int32) throws(UsageFailure) -> Subject {
    var pairs: [(name: FactName, value: String)] = []
    var origin = Origin.local(ProcessIdentity(id: pid, startTime: 0))
    for piece in pieces(of: text) {
      let parts = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if piece == "remote" {
        origin = .remote
      } else if piece == "unknown" {
        origin = .unknown
      } else if parts.count == 2, let name = FactName(rawValue: parts[0]) {
        pairs.append((name, parts[1]))
      } else if !pairs.isEmpty, parts.count == 1 {
        pairs[pairs.count - 1].value += "," + parts[0]
      } else {
        throw UsageFailure(description: phrase(forFact: piece, parts[0], hasValue: parts.count == 2))
      }
    }
    var subject = Subject(origin: origin)
    for (name, value) in pairs {
      // A question mark is for what the app has, and nobody knows.
      if value == "?", name.bestEvidence == .attested {
        subject.unsure.insert(name)
      } else {
        subject[name] = Fact(value, name.bestEvidence)
      }
    }
    return subject
  }

  /// What stands between the commas. A backslash takes its meaning from a comma or a backslash behind it, and is itself
  /// anywhere else, as in the names that systemd makes of dashes.
  private static func pieces(of text: String) -> [String] {
    var pieces = [""]
    var isEscaped = false
    for scalar in text.unicodeScalars {
      if isEscaped {
        if scalar != ",", scalar != "\\" { pieces[pieces.count - 1].unicodeScalars.append("\\") }
        pieces[pieces.count - 1].unicodeScalars.append(scalar)
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == "," {
        pieces.append("")
      } else {
        pieces[pieces.count - 1].unicodeScalars.append(scalar)
      }
    }
    if isEscaped { pieces[pieces.count - 1].append("\\") }
    return pieces
  }

  private static func phrase(forFact piece: String, _ name: String, hasValue: Bool) -> String {
    let shown = Label.plain(piece)
    let near = Suggestion.phrase(for: name, among: hasValue ? facts : ["remote", "unknown"])
    if !near.isEmpty { return "`\(shown)` is no fact of an app\(near)" }
    let meant = hasValue || piece.isEmpty ? "" : "; write `\(piece.hasPrefix("/") ? "exe" : "class")=\(shown)`"
    return "`\(shown)` is no fact of an app\(meant); facts are \(facts.joined(separator: ", ")), as NAME=VALUE"
  }

  /// A selection must be one that requests can be about.
  static func judgeSelection(_ name: String, boards: [String]) throws(UsageFailure) {
    let known = ["clipboard", "primary", "secondary"] + boards
    guard !known.contains(name) else { return }
    let phrase = Suggestion.phrase(for: name, among: known)
    throw UsageFailure(
      description: "`--selection` is clipboard, primary, secondary or a board of the policy, not "
        + "`\(Label.plain(name))`\(phrase)")
  }

  /// A number of bytes, with K, M or G for powers of 1024.
  static func bytes(_ text: String) throws(UsageFailure) -> Int {
    let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? Substring(text) : text.dropLast()
    guard let number = Int(digits), number >= 0,
      case let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1),
      !isTooLarge
    else { throw UsageFailure(description: "`--size` is a number of bytes, not `\(Label.plain(text))`") }
    return bytes
  }
}
