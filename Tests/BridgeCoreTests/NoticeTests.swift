import BridgeCore
import Policy
import Selection
import Testing

/// What the person is told, and when.
@Suite struct NoticeTests {
  private let text: [UInt8] = Array("words".utf8)

  /// Each window has words of its own: the same again would be a rival's.
  private func owner(_ subject: Subject, _ window: UInt32 = 0x40_0001) -> Stage.Owner {
    let words = window == 0x40_0001 ? text : Array("words \(window)".utf8)
    return Stage.Owner(window, subject, [("UTF8_STRING", .bytes(words))])
  }

  /// Says who, from where, by which rule, with its words; and says it once.
  @Test func pasteIsToldOnce() throws {
    var stage = Stage(Policies.financeStays)
    stage.person.signs[Apps.browser] = .pasteKey
    stage.copy(owner(Apps.ledger))
    #expect(stage.list(by: Apps.browser) == [])
    for _ in 0..<5 { _ = stage.paste("UTF8_STRING", by: Apps.browser) }
    let notice = try #require(stage.person.told.first)
    #expect(stage.person.told.count == 1)
    #expect(notice.record.kind == .paste && notice.record.outcome == .refused && notice.isPersons)
    #expect(notice.record.source == Apps.ledger && notice.record.destination == Apps.browser)
    #expect(notice.record.message == "Finance stays." && !notice.offersAllowOnce)
    stage.copy(owner(Apps.ledger))
    #expect(stage.list(by: Apps.browser) == [])
    #expect(stage.person.told.count == 2, "of the next clip anew")
  }

  /// Many programs ask for the list alone, and stop there; others ask for it whenever the clipboard changes. A key tells.
  @Test func listIsToldWithKeyAlone() {
    var stage = Stage(Policies.financeStays)
    stage.copy(owner(Apps.ledger))
    for sign in [PersonSign.behind, .inFront] {
      stage.person.signs[Apps.browser] = sign
      #expect(stage.list(by: Apps.browser) == [])
    }
    #expect(stage.person.told.isEmpty)
    stage.person.signs[Apps.browser] = .pasteKey
    #expect(stage.list(by: Apps.browser) == [])
    #expect(stage.list(by: Apps.browser) == [])
    #expect(stage.person.told.count == 1)
    #expect(stage.list(by: Apps.report) == ["UTF8_STRING"], "who may have it is told nothing")
    #expect(stage.person.told.count == 1)
  }

  /// Programs that aren't in front: one notice a clip for all of them together, however many there are.
  @Test func backgroundIsToldOnceAClip() {
    var stage = Stage(Policies.financeStays)
    stage.copy(owner(Apps.ledger))
    for number in 0..<200 {
      let loop = Apps.local(Int32(1_000 + number), "Loop\(number % 3)", "/usr/bin/loop")
      stage.person.signs[loop] = .behind
      for _ in 0..<3 { _ = stage.paste("UTF8_STRING", by: loop) }
    }
    #expect(stage.person.told.filter { $0.record.limit == nil }.map(\.isPersons) == [false])
    #expect(stage.person.told.count == 2, "and one of the flood")
    #expect(stage.person.questions == 4, "nor is the server asked time and again who is in front")
    // The same app, when the person does paste in it, is told of.
    let loop = Apps.local(1_000, "Loop0", "/usr/bin/loop")
    stage.person.signs[loop] = .pasteKey
    _ = stage.paste("UTF8_STRING", by: loop)
    #expect(stage.person.told.map(\.isPersons) == [false, false, true])
  }

  /// A program that takes another name each time: the apps that are told apart have a limit.
  @Test func everNewNamesHaveALimit() {
    var stage = Stage(Policies.financeStays)
    stage.copy(owner(Apps.ledger))
    for number in 0..<500 {
      let loop = Apps.local(Int32(1_000 + number), "Loop\(number)", "/usr/bin/loop")
      stage.person.signs[loop] = .behind
      _ = stage.paste("UTF8_STRING", by: loop)
    }
    #expect(stage.person.told.count { $0.record.limit == nil } == 1 && stage.person.questions == 65)
  }

  /// A program that copies in a loop, of which nothing may be kept.
  @Test func copiesHaveARest() {
    var stage = Stage(Policies.denyLedgerCopies)
    for number in 0..<60 {
      stage.copy(owner(Apps.ledger, 0x40_0001 + UInt32(number)))
      stage.wait(milliseconds: 1_000)
    }
    #expect(stage.person.told.count == 6, "one in 10 s")
    #expect(stage.person.told.allSatisfy { $0.record.kind == .copy && $0.record.outcome == .emptied })
  }

  /// In all, 10 a minute of what the person does; the last says that there are more.
  @Test func minuteHasALimit() {
    var stage = Stage(Policies.financeStays)
    for number in 0..<20 {
      stage.copy(owner(Apps.ledger, 0x40_0001 + UInt32(number)))
      _ = stage.paste("UTF8_STRING", by: Apps.browser)
      stage.wait(milliseconds: 200)
    }
    #expect(stage.person.told.map(\.isLast) == Array(repeating: false, count: 9) + [true])
    #expect(stage.bridge.noticesLeftOut == 10)
    // What others do has a room of its own, which can't use up the person's.
    stage.wait(milliseconds: 60_000)
    for number in 0..<20 {
      stage.copy(owner(Apps.ledger, 0x40_0101 + UInt32(number)))
      stage.person.signs[Apps.tool] = .behind
      _ = stage.paste("UTF8_STRING", by: Apps.tool)
      stage.wait(milliseconds: 200)
    }
    #expect(stage.person.told.count == 13)
    _ = stage.paste("UTF8_STRING", by: Apps.browser)
    #expect(stage.person.told.count == 14 && stage.person.told.last?.isPersons == true)
  }

  /// C15: what no server could show takes no room in its minute.
  @Test func whatNobodyShowsDoesntCount() throws {
    var stage = Stage(Policies.financeStays)
    for number in 0..<20 {
      stage.copy(owner(Apps.ledger, 0x40_0001 + UInt32(number)))
      _ = stage.paste("UTF8_STRING", by: Apps.browser)
      if number < 15 { stage.bridge.noticeNotShown(try #require(stage.person.told.last)) }
      stage.wait(milliseconds: 200)
    }
    #expect(stage.person.told.count == 20 && stage.bridge.noticesLeftOut == 0)
  }

  /// `notify: false` tells nobody, `notify: true` also of what is allowed; a key that was held back is told.
  @Test func rulesSay() {
    func policy(_ verdict: Verdict, _ notify: Bool) -> PolicySet {
      Policies.set([
        Policies.rule("r", verdict) {
          $0.from = Policies.apps("Ledger")
          $0.to = Policies.apps("Browser")
          $0.obligations.notify = notify
        }
      ])
    }
    var silent = Stage(policy(.deny, false))
    silent.copy(owner(Apps.ledger))
    #expect(silent.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(silent.person.told.isEmpty)
    var open = Stage(policy(.allow, true))
    open.copy(owner(Apps.ledger))
    #expect(open.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    #expect(open.person.told.map(\.record.outcome) == [.served])
    let key = AuditRecord(
      kind: .cut, selection: "clipboard", source: Apps.ledger, verdict: .deny, reason: .builtInDefault,
      outcome: .refusedByKey, notifies: true)
    let effects = open.bridge.keyHeldBack(key, at: open.now)
    #expect(effects.first == .audit(key) && effects.count == 2)
    #expect(open.bridge.keyHeldBack(key, at: open.now) == [.audit(key)], "not for each press")
  }

  /// What the person is told comes after the answer that others wait for.
  @Test func answersComeFirst() {
    var stage = Stage(Policies.financeStays)
    stage.copy(owner(Apps.ledger))
    _ = stage.paste("UTF8_STRING", by: Apps.browser)
    let answered = stage.effects.firstIndex { if case .notify = $0 { true } else { false } }
    let asked = stage.effects.firstIndex { if case .readPerson = $0 { true } else { false } }
    #expect(answered! < asked!)
  }
}
