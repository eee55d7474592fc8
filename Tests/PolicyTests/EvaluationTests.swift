import Testing

@testable import Policy

@Suite struct EvaluationTests {
  let ledger = app("Ledger", exe: "/opt/ledger", pid: 1)
  let browser = app("Browser", exe: "/usr/bin/browser", pid: 2)
  let vault = app("Vault", exe: "/usr/bin/vault", pid: 3)

  @Test func nothingSaidAllowsEverything() {
    let set = PolicySet.allowEverything
    #expect(set.isEmpty)
    for request in [copy(ledger), cut(ledger), paste(ledger, browser), paste(ledger, .unknown)] {
      let decision = set.evaluate(request).decision
      #expect(decision?.verdict == .allow && decision?.reason == .builtInDefault && decision?.grant != nil)
    }
    #expect(!set.isRestricted(ledger))
    #expect(set.evaluate(paste(ledger, ledger)).decision?.reason == .sameApp)
  }

  @Test func lockedKeepsAppsToThemselves() throws {
    let set = PolicySet.locked
    #expect(!set.isEmpty && set.isRestricted(ledger))
    let kept = try #require(set.evaluate(copy(ledger)).decision)
    #expect(kept.verdict == .private && kept.reason == .locked && kept.grant != nil)
    #expect(set.audience(of: kept, copiedBy: ledger) == .app)
    let refused = try #require(set.evaluate(paste(ledger, browser)).decision)
    #expect(refused.verdict == .deny && refused.reason == .locked && refused.grant == nil)
    let own = try #require(set.evaluate(paste(ledger, ledger)).decision)
    #expect(own.verdict == .allow && own.reason == .sameApp && own.grant != nil)
    #expect(
      set.denial(byAudience: .app, copiedUnder: .locked, from: ledger, to: browser)?.reason
        == .outsideAudience(.locked))
  }

  /// Same class in an allow and a deny rule: the first decides (B183 for one ruleset).
  @Test func firstMatchDecides() {
    let allow = rule("yes", .allow, line: 2) { $0.from = isClass("Ledger") }
    let deny = rule("no", .deny, line: 3) { $0.from = isClass("L*") }
    #expect(policy([allow, deny]).evaluate(copy(ledger)).decision?.reason == .rule(allow.reference))
    #expect(policy([deny, allow]).evaluate(copy(ledger)).decision?.reason == .rule(deny.reference))
  }

  /// Across rulesets the stricter wins (B183).
  @Test func stricterRulesetWins() {
    for one in Verdict.allCases {
      for other in Verdict.allCases {
        let managed = ruleset([rule("m", one)])
        let user = ruleset([rule("u", other)])
        let set = PolicySet(managed: managed, user: user)
        let copied = set.evaluate(copy(ledger)).verdict
        let pasted = set.evaluate(paste(ledger, browser)).verdict
        // For a copy `ask` says nothing, for a paste `private` says nothing.
        #expect(copied == max(one == .ask ? .allow : one, other == .ask ? .allow : other))
        #expect(pasted == max(one == .private ? .allow : one, other == .private ? .allow : other))
      }
    }
  }

  @Test func equalVerdictsNameTheManagedRule() {
    let set = PolicySet(managed: ruleset([rule("m", .deny, line: 4)]), user: ruleset([rule("u", .deny, line: 5)]))
    #expect(set.evaluate(copy(ledger)).decision?.reason == .rule(RuleReference(name: "m", position: at(4))))
  }

  @Test func aManagedRulesetThatSaysNothingLeavesTheReasonToTheUsers() {
    let set = PolicySet(managed: Ruleset(), user: ruleset([rule("u", .allow, line: 5)]))
    #expect(set.evaluate(copy(ledger)).decision?.reason == .rule(RuleReference(name: "u", position: at(5))))
  }

  @Test func grantsExactlyWhereContentMoves() {
    for verdict in Verdict.allCases {
      let set = policy([rule("r", verdict)])
      let copied = set.evaluate(copy(ledger)).decision
      let pasted = set.evaluate(paste(ledger, browser)).decision
      #expect((copied?.grant != nil) == (copied?.verdict == .allow || copied?.verdict == .private))
      #expect((pasted?.grant != nil) == (pasted?.verdict == .allow))
    }
  }

  @Test func appsMeansWhoActs() {
    let set = policy([rule("r", .deny) { $0.apps = isClass("Vault") }])
    #expect(set.evaluate(copy(vault)).verdict == .deny)
    #expect(set.evaluate(cut(vault)).verdict == .deny)
    #expect(set.evaluate(paste(ledger, vault)).verdict == .deny)
    #expect(set.evaluate(paste(vault, ledger)).verdict == .allow)
  }

  @Test func toMeansPastesAndFromAllThree() {
    let to = policy([rule("r", .deny) { $0.to = .any }])
    #expect(to.evaluate(copy(ledger)).verdict == .allow)
    #expect(to.evaluate(paste(ledger, browser)).verdict == .deny)
    let from = policy([rule("r", .deny) { $0.from = isClass("Ledger") }])
    for request in [copy(ledger), cut(ledger), paste(ledger, browser)] {
      #expect(from.evaluate(request).verdict == .deny)
    }
    #expect(from.evaluate(paste(browser, ledger)).verdict == .allow)
    let both = policy(
      [
        rule("r", .deny) {
          $0.from = .group("finance")
          $0.to = .not(.group("finance"))
        }
      ], groups: ["finance": isClass("Ledger")])
    #expect(both.evaluate(paste(ledger, .unknown)).verdict == .deny, "who can't be shown to belong, doesn't")
    #expect(both.evaluate(paste(ledger, app("Ledger", exe: "/opt/other", pid: 9))).verdict == .allow)
    #expect(both.evaluate(copy(ledger)).verdict == .allow)
  }

  @Test func actionsAndSelections() {
    let set = policy([
      rule("r", .deny) {
        $0.actions = [.cut]
        $0.selections = ["primary", "com.acme"]
      }
    ])
    #expect(set.evaluate(cut(ledger)).verdict == .allow)
    #expect(set.evaluate(Request(action: .cut, source: ledger, selection: "primary")).verdict == .deny)
    #expect(set.evaluate(Request(action: .cut, source: ledger, selection: "com.acme")).verdict == .deny)
    #expect(set.evaluate(Request(action: .copy, source: ledger, selection: "primary")).verdict == .allow)
  }

  static let contents: [(String, Int, Bool, Bool)] = [
    ("STRING", 64, true, true), ("STRING", 65, true, false), ("STRING", 10, true, false), ("STRING", 11, true, true),
    ("text/html", 20, true, false), ("image/png", 20, true, true), ("STRING", 20, false, false),
  ]

  @Test(arguments: contents) func content(_ target: String, _ size: Int, _ secret: Bool, _ matches: Bool) {
    let set = policy([
      rule("r", .deny) {
        $0.targets = [.kind(.text), .glob("image/*")]
        $0.size = SizeRange(over: 10, upTo: 64)
        $0.isSensitive = true
      }
    ])
    #expect((set.evaluate(copy(ledger, target, size: size, secret: secret)).verdict == .deny) == matches)
  }

  @Test func anAppsOwnClip() {
    let plain = policy([rule("r", .deny)])
    #expect(plain.evaluate(paste(ledger, ledger)).decision?.reason == .sameApp)
    #expect(plain.evaluate(paste(ledger, ledger)).decision?.grant != nil)
    let strict = policy([rule("r", .deny) { $0.includesSameApp = true }])
    #expect(strict.evaluate(paste(ledger, ledger)).verdict == .deny)
    #expect(strict.evaluate(paste(ledger, browser)).verdict == .deny)
    #expect(policy([], byDefault: .deny).evaluate(paste(ledger, ledger)).verdict == .allow)
    let user = PolicySet(
      managed: ruleset([rule("m", .allow)]), user: ruleset([rule("u", .deny) { $0.includesSameApp = true }]))
    #expect(user.evaluate(paste(ledger, ledger)).verdict == .deny)
  }

  @Test func defaults() {
    for verdict in Verdict.allCases {
      let set = policy([rule("r", .allow) { $0.from = isClass("Vault") }], byDefault: verdict)
      let copied = set.evaluate(copy(ledger)).decision
      let pasted = set.evaluate(paste(ledger, browser)).decision
      #expect(copied?.verdict == (verdict == .ask ? .allow : verdict))
      #expect(pasted?.verdict == (verdict == .private ? .allow : verdict))
      #expect(copied?.reason == .fileDefault(at(99)))
      #expect(set.evaluate(copy(vault)).verdict == .allow)
    }
    var user = ruleset([])
    user.defaultDecision = DefaultDecision(.deny, position: at(1))
    #expect(PolicySet(managed: Ruleset(), user: user).evaluate(copy(ledger)).verdict == .allow)
  }

  // MARK: - Before the content is known

  @Test func asksForContentOnlyWhereItMatters() {
    let text = rule("t", .deny) { $0.targets = [.kind(.text)] }
    let allow = rule("a", .allow)
    #expect(policy([text]).evaluate(copy(ledger)) == .needsContent)
    #expect(policy([allow, text]).evaluate(copy(ledger)).verdict == .allow)
    #expect(policy([text, rule("d", .deny)]).evaluate(copy(ledger)).verdict == .deny, "either way")
    #expect(policy([text]).evaluate(copy(ledger, "STRING")).verdict == .deny)
    #expect(policy([text]).evaluate(copy(ledger, "image/png")).verdict == .allow)
    let harmless = rule("h", .allow) { $0.size = SizeRange(upTo: 5) }
    #expect(policy([harmless]).evaluate(copy(ledger)).verdict == .allow)
    let narrowing = rule("n", .allow) {
      $0.size = SizeRange(upTo: 5)
      $0.obligations.oneShot = true
    }
    #expect(policy([narrowing]).evaluate(copy(ledger)) == .needsContent)
    #expect(policy([rule("s", .deny) { $0.isSensitive = true }]).evaluate(copy(ledger)) == .needsContent)
    let elsewhere = rule("t", .deny) {
      $0.targets = [.kind(.text)]
      $0.from = isClass("Vault")
    }
    #expect(policy([elsewhere]).evaluate(copy(ledger)).verdict == .allow)
  }

  @Test func oneCertainRefusalIsEnough() {
    let text = ruleset([rule("t", .deny) { $0.targets = [.kind(.text)] }])
    let deny = ruleset([rule("d", .deny, line: 7)])
    for set in [PolicySet(managed: text, user: deny), PolicySet(managed: deny, user: text)] {
      #expect(set.evaluate(copy(ledger)).decision?.reason == .rule(RuleReference(name: "d", position: at(7))))
    }
    let weaker = ruleset([rule("w", .allow) { $0.targets = [.kind(.text)] }])
    let set = PolicySet(managed: ruleset([rule("p", .private)]), user: weaker)
    #expect(set.evaluate(copy(ledger)).verdict == .private)
  }

  // MARK: - Audience

  func withBoards(_ managed: Ruleset, _ user: Ruleset = Ruleset(), members: Matcher = isClass("Ledger")) -> PolicySet {
    var managed = managed
    managed.boards = [BoardPolicy(name: "com.acme", position: at(50), members: members)]
    return PolicySet(managed: managed, user: user)
  }

  @Test func privateGoesToTheNamedBoardTheOwnBoardOrTheApp() throws {
    let named = withBoards(ruleset([rule("p", .private) { $0.obligations.board = "com.acme" }]))
    let plain = withBoards(ruleset([rule("p", .private)]))
    for (set, subject, audience) in [
      (named, vault, Audience.board("com.acme")), (plain, ledger, .board("com.acme")), (plain, vault, .app),
    ] {
      let decision = try #require(set.evaluate(copy(subject)).decision)
      #expect(set.audience(of: decision, copiedBy: subject) == audience)
    }
    let allowed = try #require(withBoards(ruleset([])).evaluate(copy(ledger)).decision)
    #expect(plain.audience(of: allowed, copiedBy: ledger) == .everyone)
    #expect(plain.isMember(ledger, of: "com.acme") && !plain.isMember(vault, of: "com.acme"))
    #expect(!plain.isMember(ledger, of: "nowhere") && !plain.isMember(.unknown, of: "com.acme"))
  }

  @Test func outsidersAreDenied() throws {
    let set = withBoards(
      ruleset([
        rule("p", .private, line: 8) {
          $0.obligations.message = "stays inside"
          $0.obligations.replacement = "nothing"
        }
      ]))
    let reason = Reason.rule(RuleReference(name: "p", position: at(8)))
    let other = app("Ledger", exe: "/opt/other", pid: 7)
    #expect(set.denial(byAudience: .everyone, copiedUnder: reason, from: ledger, to: browser) == nil)
    #expect(set.denial(byAudience: .board("com.acme"), copiedUnder: reason, from: ledger, to: other) == nil)
    #expect(set.denial(byAudience: .app, copiedUnder: reason, from: ledger, to: ledger) == nil)
    #expect(set.denial(byAudience: .board("com.acme"), copiedUnder: reason, from: vault, to: vault) == nil)
    let denial = try #require(
      set.denial(byAudience: .board("com.acme"), copiedUnder: reason, from: ledger, to: browser))
    #expect(denial.verdict == .deny && denial.grant == nil && denial.reason == .outsideAudience(reason))
    #expect(denial.obligations.message == "stays inside" && denial.obligations.replacement == "nothing")
    #expect(set.denial(byAudience: .app, copiedUnder: reason, from: ledger, to: other) != nil)
  }

  /// A user may set up boards, but not become the audience of what the administrator keeps private.
  @Test func usersBoardsAreNoAudienceOfManagedRules() throws {
    var user = Ruleset()
    user.boards = [BoardPolicy(name: "mine", position: at(1), members: .any)]
    let set = PolicySet(managed: ruleset([rule("p", .private)]), user: user)
    let decision = try #require(set.evaluate(copy(ledger)).decision)
    #expect(set.audience(of: decision, copiedBy: ledger) == .app)
    user.rules = [rule("u", .private) { $0.obligations.board = "mine" }]
    let both = withBoards(ruleset([rule("p", .private)]), user)
    let narrowed = try #require(both.evaluate(copy(ledger)).decision)
    #expect(both.audience(of: narrowed, copiedBy: ledger) == .app, "two boards leave the app alone")
    let own = PolicySet(managed: Ruleset(), user: user)
    let shared = try #require(own.evaluate(copy(ledger)).decision)
    #expect(own.audience(of: shared, copiedBy: ledger) == .board("mine"))
  }

  @Test func mirrors() {
    var managed = ruleset([])
    var board = BoardPolicy(name: "b", position: at(1), members: isClass("Ledger"))
    board.mirrors = true
    managed.boards = [board, BoardPolicy(name: "c", position: at(2), members: .any)]
    let set = PolicySet(managed: managed, user: Ruleset())
    #expect(set.mirrors(of: ledger).map(\.name) == ["b"])
    #expect(set.mirrors(of: browser).isEmpty)
  }

  // MARK: - Terms

  @Test func termsAddUp() throws {
    let managed = ruleset([
      rule("m", .allow) {
        $0.obligations.targets = [.kind(.text), .kind(.image)]
        $0.obligations.maxSize = 100
        $0.obligations.expiresAfterSeconds = 60
        $0.obligations.message = "m"
        $0.obligations.audit = true
      }
    ])
    let user = ruleset([
      rule("u", .allow) {
        $0.obligations.targets = [.glob("image/png"), .glob("S*")]
        $0.obligations.maxSize = 200
        $0.obligations.expiresAfterSeconds = 30
        $0.obligations.plainText = true
        $0.obligations.oneShot = true
        $0.obligations.protect = true
        $0.obligations.message = "u"
        $0.obligations.audit = false
        $0.obligations.notify = false
      }
    ])
    let terms = try #require(PolicySet(managed: managed, user: user).evaluate(copy(ledger)).decision?.obligations)
    #expect(terms.maxSize == 100 && terms.expiresAfterSeconds == 30 && terms.plainText && terms.oneShot)
    #expect(terms.protect && terms.message == "m" && terms.audit == true && terms.notify == false)
    let targets = try #require(terms.targets)
    func permits(_ name: String) -> Bool { targets.contains { $0.matches(name) } }
    #expect(permits("STRING") && permits("image/png"))
    #expect(!permits("image/jpeg") && !permits("UTF8_STRING") && !permits("SOMETHING"))
  }

  @Test func aStricterUserRuleKeepsTheManagedTerms() throws {
    let managed = ruleset([rule("m", .allow) { $0.obligations.targets = [.kind(.text)] }])
    let user = ruleset([rule("u", .private)])
    let decision = try #require(PolicySet(managed: managed, user: user).evaluate(copy(ledger)).decision)
    #expect(decision.verdict == .private && decision.obligations.targets == [.kind(.text)])
  }

  @Test func aUserCannotSilenceTheAudit() {
    let managed = ruleset([rule("m", .allow) { $0.obligations.audit = true }])
    for verdict in Verdict.allCases {
      let user = ruleset([rule("u", verdict) { $0.obligations.audit = false }])
      let decision = PolicySet(managed: managed, user: user).evaluate(paste(ledger, browser)).decision
      #expect(decision?.obligations.audit == true)
    }
    let silent = ruleset([rule("u", .deny) { $0.obligations.audit = false }])
    let set = PolicySet(managed: ruleset([rule("m", .allow)]), user: silent)
    #expect(set.evaluate(copy(ledger)).decision?.obligations.audit == nil)
  }

  // MARK: - Other questions

  @Test func restricted() {
    #expect(policy([rule("d", .deny) { $0.from = isClass("Ledger") }]).isRestricted(ledger))
    #expect(!policy([rule("d", .deny) { $0.from = isClass("Ledger") }]).isRestricted(browser))
    #expect(policy([rule("d", .deny) { $0.to = isClass("Browser") }]).isRestricted(ledger))
    #expect(policy([rule("a", .allow) { $0.obligations.plainText = true }]).isRestricted(ledger))
    #expect(!policy([rule("a", .allow), rule("d", .deny)]).isRestricted(ledger))
    #expect(policy([rule("a", .allow) { $0.to = isClass("X") }, rule("d", .ask)]).isRestricted(ledger))
    #expect(policy([], byDefault: .deny).isRestricted(ledger))
    #expect(!policy([rule("a", .allow)], byDefault: .deny).isRestricted(ledger))
  }

  @Test func protectedAndAlwaysDenied() {
    let protecting = policy([
      rule("p", .allow) {
        $0.from = isClass("Vault")
        $0.obligations.protect = true
      }
    ])
    #expect(protecting.isProtected(vault) && !protecting.isProtected(ledger))
    let lockedDown = protecting.lockedDown
    #expect(lockedDown.isProtected(vault) && lockedDown.hasProtection, "nobody reads it even for a moment")
    #expect(!PolicySet.locked.isProtected(vault) && !PolicySet.locked.hasProtection)
    let denying = policy([rule("d", .deny) { $0.apps = isClass("Vault") }])
    #expect(denying.alwaysDenies(.copy, by: vault) && denying.alwaysDenies(.cut, by: vault))
    #expect(!denying.alwaysDenies(.paste, by: vault), "its own clips are allowed")
    let strict = policy([
      rule("d", .deny) {
        $0.apps = isClass("Vault")
        $0.includesSameApp = true
      }
    ])
    #expect(strict.alwaysDenies(.paste, by: vault) && !strict.alwaysDenies(.paste, by: ledger))
    let sometimes = policy([rule("d", .deny) { $0.targets = [.kind(.text)] }])
    #expect(!sometimes.alwaysDenies(.copy, by: vault))
  }

  @Test func settings() {
    var managed = ruleset([])
    var user = Ruleset()
    user.primary = .off
    #expect(PolicySet(managed: Ruleset(), user: user).primary == .off)
    #expect(PolicySet(managed: managed, user: user).primary == .guard, "a user can't loosen a managed desktop")
    managed.primary = .off
    #expect(PolicySet(managed: managed, user: user).primary == .off)
    user.primary = .own
    user.secondary = .guard
    #expect(PolicySet(managed: managed, user: user).primary == .own)
    #expect(PolicySet(managed: managed, user: user).secondary == .guard)
    managed.limits = [.maxClip: 5]
    user.limits = [.maxClip: 9, .flood: 3]
    let limits = PolicySet(managed: managed, user: user).limits
    #expect(limits.clipBytes == 5 && limits.floodRefusals == 3 && limits.idleMilliseconds == 5_000)
  }

  /// Apps whose facts are canonically equivalent are still two apps, in the memo too.
  @Test func spellingsAreNotMixedUp() {
    let set = policy([rule("d", .deny) { $0.from = isExe("/opt/\u{E9}") }])
    for _ in 0..<2 {
      #expect(set.evaluate(copy(app(exe: "/opt/e\u{301}"))).verdict == .allow)
      #expect(set.evaluate(copy(app(exe: "/opt/\u{E9}"))).verdict == .deny)
    }
  }

  @Test func theMemoForgets() {
    let set = policy([rule("d", .deny) { $0.from = isClass("A3*") }])
    for round in 0..<3 {
      for number in 0..<1_000 {
        let expected: Verdict = String(number).hasPrefix("3") ? .deny : .allow
        #expect(set.evaluate(copy(app("A\(number)"))).verdict == expected, "round \(round)")
      }
    }
  }
}
