import BridgeCore
import Policy
import Selection
import Testing

/// `ask`: the life of a word of the person, which is one paste of one clip by one app within 30 s.
@Suite struct AllowOnceTests {
  private let text: [UInt8] = Array("words".utf8)
  private static let policy = Policies.set([
    Policies.rule("ask first", .ask, line: 4) {
      $0.from = Policies.apps("Ledger")
      $0.to = .not(Policies.apps("Ledger"))
      $0.obligations.message = "Think first."
    }
  ])

  private func owner(_ subject: Subject = Apps.ledger, _ reply: Stage.Reply? = nil) -> Stage.Owner {
    Stage.Owner(0x40_0001, subject, [("UTF8_STRING", reply ?? .bytes(text)), ("text/html", .bytes([60]))])
  }

  /// A stage on which the browser has just been refused.
  private func asked() -> Stage {
    var stage = Stage(Self.policy)
    stage.copy(owner())
    #expect(stage.list(by: Apps.browser) == [])
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    return stage
  }

  private func words(_ stage: Stage) -> [AuditRecord.Outcome] {
    stage.audit.filter { $0.kind == .allowOnce }.map(\.outcome)
  }

  @Test func refusalOffersIt() throws {
    let stage = asked()
    let notice = try #require(stage.person.told.first)
    #expect(stage.person.told.count == 1 && notice.offersAllowOnce && notice.record.message == "Think first.")
    let ask = try #require(stage.bridge.openAsks.first)
    #expect(ask.number == notice.number && ask.source == Apps.ledger && ask.destination == Apps.browser)
    #expect(stage.audit.last?.verdict == .ask && stage.audit.last?.outcome == .refused)
  }

  /// The second paste is served whole, as one paste of many conversions; the third is not.
  @Test func nextPasteIsServed() throws {
    var stage = asked()
    let number = try #require(stage.person.told.first).number
    #expect(stage.allowOnce(number)?.destination == Apps.browser)
    #expect(stage.person.closed == [number], "the notice goes")
    stage.wait(milliseconds: 29_000)
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING", "text/html"])
    for _ in 0..<3 { #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text) }
    #expect(stage.paste("text/html", by: Apps.browser)?.bytes == [60])
    let served = stage.audit.first { $0.outcome == .served }
    #expect(served?.verdict == .ask && served?.isAlwaysWritten == true && served?.destination == Apps.browser)
    stage.wait(milliseconds: 1_000)
    #expect(stage.list(by: Apps.browser) == [])
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(words(stage) == [.granted])
    #expect(stage.person.told.count == 2 && stage.person.told.last?.offersAllowOnce == true, "asked anew")
  }

  /// Programs that keep our list have to ask anew, when it begins and when it ends.
  @Test func listsAreMadeToBeRead() throws {
    var stage = asked()
    let reasserted = { (stage: Stage) in stage.effects.count { if case .reassert = $0 { true } else { false } } }
    stage.allowOnce()
    #expect(reasserted(stage) == 1)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) != nil)
    stage.wait(milliseconds: 1_000)
    #expect(reasserted(stage) == 2)
  }

  @Test func nobodyElseIsServed() {
    var stage = asked()
    #expect(stage.paste("UTF8_STRING", by: Apps.tool) == nil)
    stage.allowOnce(stage.bridge.openAsks[0].number)
    let another = Apps.local(201, "Browser", "/usr/bin/other")
    let shared = Subject(
      origin: Apps.browser.origin, windowClass: Fact("Mail", .declared), executable: Apps.browser.executable)
    for app in [Apps.tool, Apps.report, another, shared] {
      #expect(stage.paste("UTF8_STRING", by: app) == nil, "\(app)")
      #expect(stage.list(by: app) == [])
    }
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) != nil)
  }

  @Test func ends() {
    var stage = asked()
    stage.allowOnce()
    stage.wait(milliseconds: 30_000)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil, "after 30 s")
    #expect(words(stage) == [.granted, .dropped])

    stage = asked()
    stage.allowOnce()
    stage.copy(owner())
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil, "with a new clip, of the same source and words")
    #expect(words(stage) == [.granted, .dropped])

    for policy in [Self.policy, Self.policy.lockedDown, .locked] {
      stage = asked()
      stage.allowOnce()
      stage.replacePolicy(policy)
      #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil, "with another policy or a lockdown")
      #expect(words(stage) == [.granted, .dropped])
    }

    stage = asked()
    stage.allowOnce()
    stage.clear()
    stage.wait(milliseconds: 200)
    #expect(stage.bridge.openAsks.isEmpty)
    stage = asked()
    stage.allowOnce()
    stage.restart()
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil, "with the process")
  }

  /// What wasn't answered in time, or whose clip is gone, can't be allowed any more; its notice goes.
  @Test func questionsEnd() throws {
    var stage = asked()
    let first = try #require(stage.bridge.openAsks.first).number
    stage.wait(milliseconds: 60_000)
    #expect(stage.bridge.openAsks.isEmpty && stage.person.closed == [first])
    #expect(stage.allowOnce(first) == nil && stage.allowOnce() == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    let second = try #require(stage.bridge.openAsks.first).number
    #expect(stage.person.told.map(\.number) == [first, second], "the person pastes again and is asked anew")
    stage.copy(owner(Apps.tool))
    #expect(stage.person.closed == [first, second] && stage.bridge.nextDeadline == nil)
    #expect(words(stage).isEmpty)
  }

  /// The latest is meant where no number is given, and each can be given once.
  @Test func latestIsMeant() {
    var stage = asked()
    #expect(stage.paste("UTF8_STRING", by: Apps.tool) == nil)
    #expect(stage.allowOnce()?.destination == Apps.tool)
    #expect(stage.allowOnce()?.destination == Apps.browser)
    #expect(stage.allowOnce() == nil)
  }

  /// A large clip is sent in chunks, which takes as long as it takes.
  @Test func incrementalTransferEnds() {
    var stage = Stage(Self.policy)
    let large = [UInt8](repeating: 7, count: 600_000)
    stage.copy(owner(Apps.ledger, .bytes(large)))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    stage.allowOnce()
    let key = stage.request("UTF8_STRING", by: Apps.browser)
    for _ in 0..<4 {
      stage.wait(milliseconds: 900)
      stage.feed(.propertyDeleted(window: key.window, property: key.property), nil)
    }
    #expect(stage.content[key]?.count == 600_000)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil, "and is one paste")
  }

  /// Where nobody can be told again from others, nothing is offered; nor where a rule denies.
  @Test func notOffered() {
    var stage = Stage(Self.policy)
    stage.copy(owner())
    for app in [Subject(origin: .remote, windowClass: Fact("Far", .declared)), .unknown] {
      #expect(stage.paste("UTF8_STRING", by: app) == nil)
    }
    #expect(stage.bridge.openAsks.isEmpty && stage.person.told.allSatisfy { !$0.offersAllowOnce })
    #expect(!stage.person.told.isEmpty)
    var denied = Stage(Policies.financeStays)
    denied.copy(owner())
    #expect(denied.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(denied.allowOnce() == nil)
  }

  /// A loop that isn't in front: one notice, one question, and no more of either however long it goes on.
  @Test func loopAsksOnce() {
    var stage = Stage(Self.policy)
    stage.person.signs[Apps.browser] = .behind
    stage.copy(owner())
    for _ in 0..<1_000 {
      _ = stage.paste("UTF8_STRING", by: Apps.browser)
      stage.wait(milliseconds: 200)
    }
    #expect(stage.person.told.map(\.isPersons) == [false])
    #expect(stage.bridge.openAsks.count == 1, "the command can still allow it")
  }

  @Test func questionsHaveALimit() {
    var stage = Stage(Self.policy)
    stage.copy(owner())
    for number in 0..<40 {
      _ = stage.paste("UTF8_STRING", by: Apps.local(Int32(1_000 + number), "App\(number)", "/usr/bin/app"))
    }
    #expect(stage.bridge.openAsks.count == 16)
    #expect(stage.bridge.openAsks.map(\.destination.windowClass?.value).last == "App39")
    #expect(stage.person.told.count == 10, "the question is open whether or not it is shown")
  }

  /// Limits of the rules stay: what an allowed paste would not be given isn't given here.
  @Test func termsStay() {
    var user = Ruleset()
    user.rules = [
      Policies.rule("short", .allow) {
        $0.from = Policies.apps("Ledger")
        $0.obligations.maxSize = 2
        $0.obligations.plainText = true
      }
    ]
    var stage = Stage(PolicySet(managed: Self.policy.managed, user: user))
    stage.copy(owner(Apps.ledger, .bytes([1, 2])))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    stage.allowOnce()
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"])
    #expect(stage.paste("text/html", by: Apps.browser) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == [1, 2])
  }

  /// Without a notice (`notify: false`) it can still be allowed by the command.
  @Test func silentRule() {
    var rules = Self.policy.managed.rules
    rules[0].obligations.notify = false
    var stage = Stage(Policies.set(rules))
    stage.copy(owner())
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.person.told.isEmpty)
    stage.allowOnce()
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) != nil)
  }
}
