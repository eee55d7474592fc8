import PolicyFile

@testable import Policy

extension Surface {
  /// Any bytes as policy files: they load, or everything that is wrong has a place; a policy that loads answers as the
  /// language reads.
  static let policy = Surface(name: "policy", longestInput: 8_192, seeds: { PolicyTrial.seeds() }) {
    bytes throws(Finding) in try PolicyTrial(bytes).run()
  }
}

/// Loads an input and puts questions to what came of it.
struct PolicyTrial {
  private let managed: [SourceFile]
  private let user: [SourceFile]

  /// Bytes that no text has part the files; the second one begins a file of the user.
  private static let nextManaged: UInt8 = 0x1e
  private static let nextUser: UInt8 = 0x1f
  private static let mostFiles = 8

  init(_ bytes: [UInt8]) {
    var files: [(isUser: Bool, bytes: [UInt8])] = [(false, [])]
    for byte in bytes {
      if byte == Self.nextManaged || byte == Self.nextUser, files.count < Self.mostFiles {
        files.append((byte == Self.nextUser, []))
      } else {
        files[files.count - 1].bytes.append(byte)
      }
    }
    func side(_ isUser: Bool) -> [SourceFile] {
      files.enumerated().filter { $1.isUser == isUser }.map { SourceFile(path: "\($0).yaml", bytes: $1.bytes) }
    }
    (managed, user) = (side(false), side(true))
  }

  func run() throws(Finding) {
    switch PolicyLoader.load(managed: managed, user: user) {
    case .failure(let found):
      try Finding.unless(!found.errors.isEmpty, "refused without a word")
      try check(found.errors + found.warnings)
    case .success(let loaded):
      try check(loaded.warnings)
      try question(loaded.policy)
    }
  }

  // MARK: diagnostics

  private func check(_ diagnostics: [Diagnostic]) throws(Finding) {
    for diagnostic in diagnostics {
      try check(diagnostic.position, of: "\(diagnostic)")
      let isPrintable = diagnostic.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
      try Finding.unless(isPrintable, "a message that steers a terminal: \(Array(diagnostic.message.utf8))")
    }
  }

  /// A position is one where an editor can put its cursor.
  private func check(_ position: SourcePosition, of what: String) throws(Finding) {
    guard let file = (managed + user).first(where: { $0.path == position.file }) else {
      throw Finding("a position in no file: \(what)")
    }
    let lines = Self.lines(of: file.bytes)
    try Finding.unless(position.line >= 1 && position.column >= 1, "a position before the beginning: \(what)")
    // The line and column behind the last character are where something is missing.
    try Finding.unless(position.line <= lines.count + 1, "line beyond the file's \(lines.count): \(what)")
    let length = position.line <= lines.count ? lines[position.line - 1] : 0
    try Finding.unless(position.column <= length + 1, "column beyond the line's \(length): \(what)")
  }

  /// The lengths of the lines in characters, by the line ends that YAML 1.1 knows.
  private static func lines(of bytes: [UInt8]) -> [Int] {
    var lengths = [0]
    var last: Unicode.Scalar?
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      switch scalar.value {
      case 0x0a where last == "\r": break
      case 0x0a, 0x0d, 0x85, 0x2028, 0x2029: lengths.append(0)
      default: lengths[lengths.count - 1] += 1
      }
      last = scalar
    }
    return lengths
  }

  // MARK: questions

  private func question(_ policy: PolicySet) throws(Finding) {
    for entry in [policy.managed, policy.user].flatMap(\.rules) {
      try check(entry.reference.position, of: "rule \(entry.reference.name)")
    }
    let reference = Reference(managed: policy.managed, user: policy.user)
    let isComparable = Self.isSmall(policy)
    for var request in Questions.all {
      guard case .decided(let decision) = policy.evaluate(request) else {
        throw Finding("undecided with the content known: \(policy.explain(request))")
      }
      try Finding.unless(
        (decision.grant != nil) == (decision.verdict == .allow || decision.verdict == .private),
        "a grant that doesn't fit: \(decision.verdict)")
      if isComparable {
        let wanted = reference.answer(request)
        try Finding.unless(
          wanted.verdict == decision.verdict && wanted.rule == Self.name(of: decision.reason),
          "the description says \(wanted.verdict) by \(wanted.rule ?? "-"): \(policy.explain(request))")
      }
      request.content = nil
      if case .decided(let early) = policy.evaluate(request) {
        try Finding.unless(
          early.verdict == decision.verdict, "decided early as \(early.verdict): \(policy.explain(request))")
      }
    }
    try askTheRest(policy)
  }

  /// What people and the daemon ask besides; none of it may trap, nor take for ever.
  private func askTheRest(_ policy: PolicySet) throws(Finding) {
    for request in Questions.few {
      let explanation = policy.explain(request)
      try Finding.unless(!explanation.description.isEmpty, "an explanation without words")
      try Finding.unless(explanation.outcome == policy.outcome(of: request), "two outcomes of one request")
    }
    for subject in Questions.subjects {
      let isRestricted = policy.isRestricted(subject)
      _ = (policy.isProtected(subject), policy.mirrors(of: subject), policy.alwaysDenies(.paste, by: subject))
      for request in Questions.all where !isRestricted && request.source == subject {
        try Finding.unless(
          policy.evaluate(request).decision?.verdict == .allow, "not restricted, and yet: \(policy.explain(request))")
      }
    }
    _ = (policy.primary, policy.secondary, policy.cutBuffers, policy.failedExpectations().map(\.description))
    try Finding.unless(!policy.overview.description.isEmpty, "an overview without words")
  }

  /// The reference evaluator works out groups again wherever they are named, so it takes small policies alone.
  private static func isSmall(_ policy: PolicySet) -> Bool {
    var weights: [String: Int] = [:]
    func weight(_ matcher: Matcher) -> Int {
      switch matcher {
      case .group(let name): weights[name] ?? 1
      case .not(let inner): 1 + weight(inner)
      case .anyOf(let parts), .allOf(let parts): parts.reduce(1) { min(1 << 20, $0 + weight($1)) }
      default: 1
      }
    }
    let groups = policy.managed.groups + policy.user.groups
    for _ in 0..<min(groups.count, 64) {
      for group in groups { weights[group.name] = weight(group.matcher) }
    }
    let rules = policy.managed.rules + policy.user.rules
    let total = rules.reduce(0) { sum, rule in
      sum + [rule.from, rule.to, rule.apps].compactMap { $0 }.reduce(1) { $0 + weight($1) }
    }
    return groups.count <= 64 && total <= 2_000
  }

  private static func name(of reason: Reason) -> String? {
    switch reason.certain {
    case .rule(let reference): reference.name
    case .fileDefault: "default"
    default: nil
    }
  }

  // MARK: seeds

  /// The folders of the tests have many more.
  static func seeds() -> [(name: String, bytes: [UInt8])] {
    let bomb =
      "version: 1\ngroups:\n  g0: [{class: a}]\n"
      + (1...12).map { "  g\($0): [g\($0 - 1), g\($0 - 1), g\($0 - 1)]\n" }.joined()
      + "rules: [{from: g12, decision: deny}]\n"
    let aliases = "version: 1\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nrules: *c\n"
    let two = "version: 1\ngroups: {g: [{exe: /usr/bin/*}]}\nrules: [{from: g, to: {not: g}, decision: ask}]\n"
    let globs = "version: 1\nrules: [{from: {class: '*a*a*a*a*a*b', exe: '/**/a/**/b'}, decision: deny}]\n"
    let recorded =
      "ends-with-mark: true\nversion: 1\nenforce: false\nrules: [{from: {class: a*}, decision: deny}]\n...\n"
    return [
      ("groups", bomb), ("aliases", aliases), ("globs", globs), ("recorded", recorded),
      ("sides", two + "\u{1e}version: 1\ndefault: deny\n\u{1f}version: 1\nrules: [{from: g, decision: private}]\n"),
    ].map { ($0, Array($1.utf8)) }
  }
}

/// What is asked of every policy that loads.
enum Questions {
  private static func app(_ windowClass: String, _ exe: String, unit: String? = nil, pid: Int32) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: pid, startTime: 1)), windowClass: Fact(windowClass, .declared),
      instance: Fact(windowClass.lowercased(), .declared), executable: Fact(exe, .attested),
      unit: unit.map { Fact($0, .attested) })
  }

  /// Apps of the examples; one whose names take a careless pattern long to compare; and ones of which little is known.
  static let subjects: [Subject] = [
    app("Firefox", "/usr/bin/firefox", pid: 1), app("KeePassXC", "/usr/bin/keepassxc", pid: 2),
    app("SAPGUI", "/opt/sap/gui", unit: "app-ledger1.service", pid: 3),
    app(String(repeating: "a", count: 300), String(repeating: "/a", count: 150), pid: 4),
    Subject(origin: .remote, windowClass: Fact("Firefox", .inferred), host: Fact("far", .declared)), .unknown,
  ]

  private static let contents = [
    ContentFacts(target: "UTF8_STRING", size: 0), ContentFacts(target: "text/html", size: 64),
    ContentFacts(target: "image/png", size: 65), ContentFacts(target: "x", size: 1 << 30, isSensitive: true),
  ]

  /// Every app copies, cuts, and pastes from every other.
  static let all: [Request] = subjects.flatMap { source in
    contents.flatMap { content in
      [
        Request(action: .copy, source: source, content: content),
        Request(action: .cut, source: source, content: content),
      ]
        + subjects.map { Request(action: .paste, source: source, destination: $0, content: content) }
    }
  }

  /// Enough of them to explain.
  static let few: [Request] = [all[0], all[1], all[2], all[4], all[30], all[70]]
}

extension Evaluation {
  fileprivate var decision: Decision? { if case .decided(let decision) = self { decision } else { nil } }
}
