import Testing

@testable import Policy

/// A drag is a paste; a rule that names drags alone is about nothing else.
@Suite struct DragTests {
  private static let ledger = app(1, "Ledger")
  private static let report = app(2, "Report")
  private static let browser = app(3, "Browser")

  private static func app(_ pid: Int32, _ windowClass: String) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: pid, startTime: UInt64(pid))), windowClass: Fact(windowClass, .declared),
      executable: Fact("/usr/bin/\(windowClass.lowercased())", .attested))
  }

  private static func classes(_ names: String...) -> Matcher { .anyOf(names.map { .windowClass(Glob(literally: $0)) }) }

  private static func rule(_ verdict: Verdict, _ change: (inout Rule) -> Void) -> Rule {
    let position = SourcePosition(file: "test.yaml", line: 1, column: 1)
    var rule = Rule(RuleReference(name: "\(verdict)", position: position), verdict: verdict)
    change(&rule)
    return rule
  }

  private static func policy(
    _ rules: [Rule], user: [Rule] = [], default byDefault: Verdict? = nil
  ) -> PolicySet {
    var managed = Ruleset()
    managed.rules = rules
    managed.defaultDecision = byDefault.map {
      DefaultDecision($0, position: SourcePosition(file: "test.yaml", line: 9, column: 1))
    }
    var own = Ruleset()
    own.rules = user
    return PolicySet(managed: managed, user: own)
  }

  private static func verdict(_ policy: PolicySet, to destination: Subject, _ content: ContentFacts? = nil) -> Verdict?
  {
    let request = Request(action: .drag, source: ledger, destination: destination, selection: "drag", content: content)
    guard case .decided(let decision) = policy.outcome(of: request) else { return nil }
    return decision.verdict
  }

  @Test("rules about pastes and defaults decide drags; rules about copies or one selection don't")
  func pastes() {
    let (ledger, browser) = (Self.classes("Ledger"), Self.classes("Browser"))
    let closed: [(inout Rule) -> Void] = [
      { $0.from = ledger }, { $0.to = browser }, { $0.apps = ledger }, { $0.apps = browser },
      { ($0.from, $0.actions) = (ledger, [.paste]) }, { ($0.to, $0.actions) = (browser, [.paste]) },
      { ($0.apps, $0.actions) = (browser, [.paste]) }, { ($0.apps, $0.actions) = (browser, [.paste, .drag]) },
      { ($0.apps, $0.actions) = (ledger, [.copy, .drag]) },
    ]
    for (number, change) in closed.enumerated() {
      let policy = Self.policy([Self.rule(.deny, change)])
      #expect(policy.speaksOfDrags && policy.foresight(ofDragsFrom: Self.ledger) != .free, "\(number)")
      #expect(Self.verdict(policy, to: Self.browser) == .deny && Self.verdict(policy, to: Self.ledger) == .allow)
    }
    let silent: [(inout Rule) -> Void] = [
      { ($0.from, $0.actions) = (ledger, [.copy, .cut]) }, { ($0.from, $0.selections) = (ledger, ["clipboard"]) },
      { ($0.apps, $0.actions) = (ledger, [.paste]) },
    ]
    for (number, change) in silent.enumerated() {
      let policy = Self.policy([Self.rule(.deny, change)])
      #expect(Self.verdict(policy, to: Self.browser) == .allow, "\(number)")
    }
    for byDefault in [Verdict.deny, .ask, .private] {
      let policy = Self.policy([], default: byDefault)
      #expect(policy.speaksOfDrags && Self.verdict(policy, to: Self.browser) == .deny, "\(byDefault)")
    }
    #expect(!Self.policy([], default: .allow).speaksOfDrags)
  }

  @Test("that an app may paste doesn't say where it may drag things to")
  func granted() {
    for actions in [nil, [.paste]] as [Set<Action>?] {
      let policy = Self.policy(
        [Self.rule(.allow) { ($0.apps, $0.actions) = (Self.classes("Ledger"), actions) }], default: .deny)
      #expect(Self.verdict(policy, to: Self.browser) == .deny)
    }
    let policy = Self.policy([Self.rule(.allow) { $0.apps = Self.classes("Browser") }], default: .deny)
    #expect(Self.verdict(policy, to: Self.browser) == .allow && Self.verdict(policy, to: Self.report) == .deny)
  }

  @Test("what is private may be dragged to its audience alone, and nobody is asked in the middle of a drag")
  func privateAndAsk() {
    var managed = Ruleset()
    managed.boards = [
      BoardPolicy(
        name: "b", position: SourcePosition(file: "test.yaml", line: 2, column: 3),
        members: Self.classes("Ledger", "Report"))
    ]
    for actions in [nil, [.copy], [.cut]] as [Set<Action>?] {
      managed.rules = [Self.rule(.private) { ($0.from, $0.actions) = (Self.classes("Ledger"), actions) }]
      let policy = PolicySet(managed: managed, user: Ruleset())
      #expect(Self.verdict(policy, to: Self.report) == .allow && Self.verdict(policy, to: Self.browser) == .deny)
      #expect(Self.verdict(policy, to: .unknown) == .deny)
    }
    let asked = Self.policy([Self.rule(.ask) { $0.from = Self.classes("Ledger") }])
    #expect(Self.verdict(asked, to: Self.browser) == .deny)
  }

  @Test("drags say nothing of copies and pastes, of keys and of menus")
  func others() {
    let policy = Self.policy([Self.rule(.deny) { $0.actions = [.drag] }])
    #expect(policy.speaksOfDrags && !policy.isRestricted(Self.ledger) && !policy.hasStaticDenials)
    #expect(policy.possibleActions(of: Self.ledger) == [.copy, .cut, .paste])
    #expect(policy.staticDenial(of: .drag, by: Self.ledger) == nil)
    let paste = Request(action: .paste, source: Self.ledger, destination: Self.browser)
    guard case .decided(let decision) = policy.outcome(of: paste) else {
      Issue.record("not decided")
      return
    }
    #expect(decision.verdict == .allow)
  }

  @Test("what is dragged out of an app may go where `to` lets it, and always stays in its app")
  func destinations() {
    let policy = Self.policy([
      Self.rule(.deny) {
        $0.from = Self.classes("Ledger", "Report")
        $0.to = .not(Self.classes("Ledger", "Report"))
        $0.actions = [.paste, .drag]
      }
    ])
    #expect(policy.foresight(ofDragsFrom: Self.ledger) == .open)
    #expect(policy.foresight(ofDragsFrom: Self.browser) == .free)
    #expect(Self.verdict(policy, to: Self.browser) == .deny)
    #expect(Self.verdict(policy, to: Self.report) == .allow)
    #expect(Self.verdict(policy, to: Self.ledger) == .allow)
  }

  @Test("`apps` means where a drag begins")
  func apps() {
    let policy = Self.policy([
      Self.rule(.deny) {
        $0.apps = Self.classes("Ledger")
        $0.actions = [.copy, .drag]
      }
    ])
    #expect(policy.foresight(ofDragsFrom: Self.ledger) == .refused)
    #expect(policy.foresight(ofDragsFrom: Self.browser) == .free)
    #expect(Self.verdict(policy, to: Self.browser) == .deny && Self.verdict(policy, to: Self.ledger) == .allow)
  }

  @Test("what is certain when a drag begins")
  func foresight() {
    func foresight(_ rules: [Rule], user: [Rule] = []) -> DragForesight {
      Self.policy(rules, user: user).foresight(ofDragsFrom: Self.ledger)
    }
    let all = Self.rule(.deny) { $0.actions = [.drag] }
    let reports = Self.rule(.allow) { ($0.actions, $0.to) = ([.drag], Self.classes("Report")) }
    let files = Self.rule(.deny) { ($0.actions, $0.targets) = ([.drag], [.kind(.files)]) }
    let everything = Self.rule(.allow) { $0.actions = [.drag] }
    let plain = Self.rule(.allow) { ($0.actions, $0.obligations.plainText) = ([.drag], true) }
    let told = Self.rule(.deny) { ($0.actions, $0.obligations.replacement) = ([.drag], "not here") }
    #expect(foresight([]) == .free)
    #expect(foresight([all]) == .refused)
    #expect(foresight([reports, all]) == .open)
    #expect(foresight([files]) == .open)
    #expect(foresight([everything, all]) == .free)
    #expect(foresight([plain]) == .open)
    #expect(foresight([told]) == .open, "somebody is to be handed the rule's text")
    #expect(foresight([everything], user: [all]) == .refused, "a user can tighten")
    #expect(PolicySet.locked.foresight(ofDragsFrom: Self.ledger) == .refused)
    #expect(Self.verdict(.locked, to: Self.browser) == .deny && Self.verdict(.locked, to: Self.ledger) == .allow)
  }

  @Test("content and terms decide, too")
  func content() {
    let policy = Self.policy([
      Self.rule(.deny) { ($0.actions, $0.targets) = ([.drag], [.kind(.files)]) },
      Self.rule(.allow) { ($0.actions, $0.obligations.plainText) = ([.drag], true) },
    ])
    func verdict(_ target: String) -> Verdict? {
      Self.verdict(policy, to: Self.browser, ContentFacts(target: target, size: 3))
    }
    #expect(Self.verdict(policy, to: Self.browser) == nil)
    #expect(verdict("text/uri-list") == .deny)
    #expect(verdict("text/plain") == .allow)
    #expect(verdict("text/html") == .deny)
  }

  @Test("a rule that names drags alone neither asks nor keeps anything")
  func withoutMeaning() {
    for verdict in [Verdict.ask, .private] {
      #expect(Self.rule(verdict) { $0.actions = [.drag] }.decidedActions.isEmpty)
    }
  }

  @Test("an explanation says why a rule doesn't decide a drag")
  func explained() {
    let policy = Self.policy([
      Self.rule(.deny) { ($0.from, $0.actions) = (Self.classes("Ledger"), [.copy]) },
      Self.rule(.deny) { ($0.to, $0.actions) = (Self.classes("Browser"), [.drag]) },
    ])
    let text = policy.explain(Request(action: .drag, source: Self.ledger, destination: Self.browser)).description
    #expect(text.hasPrefix("drag: deny, by rule `deny`"))
    #expect(text.contains("doesn't match: actions: is drag, rule wants `copy`"))
    #expect(text.contains("matches") && text.contains("decision: deny"))
  }
}
