import Testing

@testable import Policy

/// What a policy says of a request of which a record doesn't say everything.
@Suite struct ReplayTests {
  static let set = policy([
    rule("short may leave", .allow, line: 1) {
      $0.from = isClass("Ledger")
      $0.targets = [.kind(.text)]
      $0.size = SizeRange(upTo: 64)
    },
    rule("secrets stay", .deny, line: 2) {
      $0.from = isClass("Notes")
      $0.isSensitive = true
    },
    rule("ledger stays", .deny, line: 3) {
      $0.from = isClass("Ledger"); $0.to = .any
    },
    rule("small", .allow, line: 4) {
      $0.to = isClass("Chat")
      $0.obligations.maxSize = 100
    },
  ])

  static func replay(
    _ source: String, _ destination: String = "Firefox", _ targets: [String] = [], size: Int? = nil,
    _ policy: PolicySet = set
  ) -> String {
    let request = paste(app(source, pid: 1), app(destination, pid: 2))
    switch policy.replay(RecordedRequest(request, targets: targets, size: size)) {
    case .certain(let decision): return decision.verdict.rawValue
    case .open(let unknown): return "open: \(unknown.rawValue)"
    }
  }

  @Test func nothingIsGuessed() {
    #expect(Self.replay("Ledger", "Firefox", ["image/png"]) == "deny", "no size makes a picture short text")
    #expect(Self.replay("Ledger", "Firefox", ["UTF8_STRING"], size: 64) == "allow")
    #expect(Self.replay("Ledger", "Firefox", ["UTF8_STRING"], size: 65) == "deny")
    #expect(Self.replay("Ledger", "Firefox", ["UTF8_STRING"]) == "open: content")
    #expect(Self.replay("Ledger") == "open: targets")
    #expect(Self.replay("Ledger", "Firefox", ["UTF8_STRING", "image/png"]) == "open: content")
    #expect(Self.replay("Notes", "Firefox", ["UTF8_STRING"], size: 3) == "open: content", "nobody wrote down secrecy")
    #expect(Self.replay("Other") == "allow", "no rule is about it")
  }

  /// A term of an allowing rule can refuse, too.
  @Test func termsCount() {
    #expect(Self.replay("Other", "Chat", ["UTF8_STRING"]) == "open: content")
    #expect(Self.replay("Other", "Chat", ["UTF8_STRING"], size: 100) == "allow")
    #expect(Self.replay("Other", "Chat", ["UTF8_STRING"], size: 101) == "deny")
  }

  /// Of a policy that isn't enforced, what it would decide is said.
  @Test func asIfEnforced() {
    let recorded = PolicySet(managed: Self.set.managed.enforced(false), user: Ruleset())
    #expect(Self.replay("Ledger", "Firefox", ["image/png"], recorded) == "deny")
  }

  /// Whatever is certain without the content is so with every content.
  @Test func certainIsCertain() {
    var random = Seeded(state: 7)
    let names = ["Ledger", "Notes", "Chat", "Firefox", "Other"]
    let targets = ["UTF8_STRING", "image/png", "text/html"]
    for _ in 0..<2_000 {
      let request = paste(
        app(names.randomElement(using: &random), pid: 1), app(names.randomElement(using: &random), pid: 2))
      let target = targets.randomElement(using: &random)!
      guard case .certain(let decision) = Self.set.replay(RecordedRequest(request, targets: [target])) else { continue }
      var whole = request
      whole.content = ContentFacts(
        target: target, size: Int.random(in: 0...200, using: &random), isSensitive: Bool.random(using: &random))
      demand(Self.set.outcome(of: whole).verdict == decision.verdict, "\(whole.summary): \(decision)")
    }
  }
}
