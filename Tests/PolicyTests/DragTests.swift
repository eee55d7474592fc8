import Testing

@testable import Policy

/// Drags are pastes, except where a rule names them alone.
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

  @Test("a rule about pastes is about drags, and so is a default")
  func unnamed() {
    for actions in [nil, [.paste], [.copy, .paste], [.paste, .drag]] as [Set<Action>?] {
      let policy = Self.policy([Self.rule(.deny) { ($0.from, $0.actions) = (Self.classes("Ledger"), actions) }])
      #expect(policy.speaksOfDrags && policy.foresight(ofDragsFrom: Self.ledger) == .refused)
      #expect(policy.foresight(ofDragsFrom: Self.browser) == .free)
      #expect(Self.verdict(policy, to: Self.browser) == .deny && Self.verdict(policy, to: Self.ledger) == .allow)
    }
    let byDefault = Self.policy([], default: .deny)
    #expect(byDefault.speaksOfDrags && byDefault.foresight(ofDragsFrom: Self.ledger) == .refused)
    #expect(Self.verdict(byDefault, to: Self.browser) == .deny)
  }

  @Test("a rule about copies alone, or about single selections, says nothing of drags")
  func unconcerned() {
    for rule in [
      Self.rule(.deny) { $0.actions = [.copy, .cut] }, Self.rule(.deny) { $0.selections = ["clipboard"] },
      Self.rule(.allow) { $0.apps = Self.classes("Ledger") },
    ] {
      #expect(!rule.decides(.drag), "\(rule)")
    }
    let named = Self.rule(.deny) { ($0.selections, $0.actions) = (["clipboard"], [.paste, .drag]) }
    #expect(named.decides(.drag))
  }

  @Test("`apps` of a rule about pastes alone is who pastes, by a drag too")
  func whoPastes() {
    var rule = Self.rule(.deny) {
      ($0.apps, $0.actions) = (Self.classes("Browser"), [.paste])
      $0[.sameApp] = .sameApp
    }
    rule.nameWhoPastes()
    let policy = Self.policy([rule])
    #expect(Self.verdict(policy, to: Self.browser) == .deny && Self.verdict(policy, to: Self.report) == .allow)
    #expect(policy.staticDenial(of: .paste, by: Self.browser) != nil)
    var both = Self.rule(.deny) { ($0.apps, $0.actions) = (Self.classes("Browser"), [.copy, .paste]) }
    both.nameWhoPastes()
    #expect(both.to == nil && both.apps != nil)
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

  @Test("a drag can't be asked for, nor kept for some: such a rule says nothing of it, and is one against it as of pastes")
  func withoutMeaning() {
    for verdict in [Verdict.ask, .private] {
      #expect(Self.rule(verdict) { $0.actions = [.drag] }.decidedActions.isEmpty)
      #expect(Self.verdict(Self.policy([Self.rule(verdict) { _ in }]), to: Self.browser) == .deny)
    }
  }

  @Test("an explanation names the rule that says nothing of drags")
  func explained() {
    let policy = Self.policy([
      Self.rule(.deny) { $0.actions = [.copy] },
      Self.rule(.deny) { ($0.to, $0.actions) = (Self.classes("Browser"), [.drag]) },
    ])
    let text = policy.explain(Request(action: .drag, source: Self.ledger, destination: Self.browser)).description
    #expect(text.hasPrefix("drag: deny, by rule `deny`"))
    #expect(text.contains("doesn't match: actions: is drag, rule wants `copy`"))
    #expect(text.contains("matches") && text.contains("decision: deny"))
  }
}
