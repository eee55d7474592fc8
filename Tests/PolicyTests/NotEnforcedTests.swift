import Testing

@testable import Policy

/// `enforce: false`: what would be refused is allowed, and said.
@Suite struct NotEnforcedTests {
  static let ledger = app("Ledger", exe: "/opt/ledger", pid: 1)
  static let browser = app("Firefox", exe: "/usr/bin/firefox", pid: 2)

  static let rules = [
    rule("no pictures", .deny, line: 1) {
      $0.from = isClass("Ledger")
      $0.targets = [.kind(.image)]
    },
    rule("never cut", .deny, line: 2) {
      $0.apps = isClass("Ledger")
      $0.actions = [.cut]
    },
    rule("short-lived", .allow, line: 3) {
      $0.from = isClass("Ledger")
      $0.actions = [.copy]
      $0.obligations.expiresAfterSeconds = 5
      $0.obligations.protect = true
      $0.obligations.message = "words"
    },
    rule("private", .private, line: 4) { $0.apps = isClass("Vault") },
  ]

  static func set(managed: [Rule], enforced: Bool, user: [Rule] = [], byDefault: Verdict? = nil) -> PolicySet {
    PolicySet(managed: ruleset(managed, byDefault: byDefault).enforced(enforced), user: ruleset(user))
  }

  static let recorded = set(managed: rules, enforced: false)

  @Test func refusalsAreAllowedAndNamed() throws {
    let picture = try #require(Self.recorded.evaluate(paste(Self.ledger, Self.browser, "image/png")).decision)
    #expect(picture.verdict == .allow && picture.grant != nil)
    #expect(picture.obligations.notEnforced == .deny)
    #expect("\(picture)" == "allow, by rule `no pictures` at 10.yaml:1:3; on these terms: not enforced: deny")
    let vault = try #require(Self.recorded.evaluate(copy(app("Vault"))).decision)
    #expect(vault.verdict == .allow && vault.obligations.notEnforced == .private)
    #expect(Self.recorded.audience(of: vault, copiedBy: app("Vault")) == .everyone)
  }

  @Test func aLockdownIsEnforced() throws {
    for policy in [Self.recorded.lockedDown, Self.recorded.lockedDown.whenEnforced] {
      let refusal = try #require(policy.evaluate(paste(Self.ledger, Self.browser)).decision)
      #expect(refusal.verdict == .deny && refusal.reason == .lockdown)
    }
  }

  @Test func termsThatNarrowAreLeftOut() throws {
    let decision = try #require(Self.recorded.evaluate(copy(Self.ledger, "UTF8_STRING")).decision)
    #expect(decision.obligations.expiresAfterSeconds == nil && !decision.obligations.protect)
    #expect(decision.obligations.message == "words" && decision.obligations.notEnforced == nil)
    #expect(!Self.recorded.isProtected(Self.ledger))
  }

  /// No key is held back, and nobody is restricted.
  @Test func nothingIsHeldBack() {
    #expect(!Self.recorded.alwaysDenies(.cut, by: Self.ledger))
    #expect(!Self.recorded.hasStaticDenials && !Self.recorded.isRestricted(Self.ledger))
    let byDefault = Self.set(managed: [], enforced: false, byDefault: .deny)
    #expect(!byDefault.hasStaticDenials && !byDefault.isRestricted(Self.ledger))
    #expect(byDefault.evaluate(copy(Self.ledger)).decision?.obligations.notEnforced == .deny)
    let enforced = Self.recorded.whenEnforced
    #expect(enforced.isEnforced && !Self.recorded.isEnforced)
    #expect(enforced.alwaysDenies(.cut, by: Self.ledger) && enforced.hasStaticDenials)
    #expect(enforced.evaluate(paste(Self.ledger, Self.browser, "image/png")).verdict == .deny)
  }

  /// One side that is only recorded takes nothing away from the other.
  @Test func theOtherSideCounts() throws {
    let strict = [rule("user", .deny, line: 9) { $0.to = isClass("Firefox") }]
    let both = Self.set(managed: Self.rules, enforced: false, user: strict)
    let decision = try #require(both.evaluate(paste(Self.ledger, Self.browser, "image/png")).decision)
    #expect(decision.verdict == .deny && decision.obligations.notEnforced == nil)
    let softer = [rule("user", .ask, line: 9) { $0.to = isClass("Firefox") }]
    let asked = Self.set(managed: Self.rules, enforced: false, user: softer)
    let answer = try #require(asked.evaluate(paste(Self.ledger, Self.browser, "image/png")).decision)
    #expect(answer.verdict == .ask && answer.obligations.notEnforced == .deny)
  }

  @Test func theOverviewSaysSo() {
    let text = Self.recorded.overview.description
    #expect(text.contains("  enforce: false: refusals are recorded, not enforced"))
    #expect(text.contains("from: class=Ledger; targets: image → deny (recorded, not enforced)"))
    #expect(!Self.recorded.whenEnforced.overview.description.contains("enforced"))
  }

  @Test func expectationsAreOfWhatTheRulesSay() {
    var managed = ruleset(Self.rules).enforced(false)
    managed.expectations = [
      Expectation(position: at(20), request: paste(Self.ledger, Self.browser, "image/png"), verdict: .deny)
    ]
    #expect(PolicySet(managed: managed, user: Ruleset()).failedExpectations().map(\.description) == [])
  }
}
