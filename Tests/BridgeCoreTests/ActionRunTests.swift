import BridgeCore
import ContentActions
import Policy
import Selection
import Testing

/// What an action may have, and what becomes of its result.
@Suite struct ActionRunTests {
  private static let tool = "/usr/bin/tool"
  private static let upper = ContentAction(
    name: "upper", title: "Upper case", position: SourcePosition(file: "upper.yaml", line: 1, column: 1),
    accepts: [.kind(.text)], work: .command(path: tool, arguments: []), makes: ["UTF8_STRING", "text/plain"])

  private static func exe(_ path: String) -> Matcher { .executable(Glob(literally: path, style: .path)) }

  private func copied(
    _ policy: PolicySet = Policies.owning, by app: Subject = Apps.ledger, _ more: [(String, Stage.Reply)] = []
  ) -> Stage {
    var stage = Stage(policy)
    stage.copy(
      .init(0x40_0001, app, [("UTF8_STRING", .bytes(Array("text".utf8))), ("text/html", .bytes([60, 62]))] + more))
    return stage
  }

  private func run(_ stage: inout Stage, _ result: String = "TEXT") -> ActionOutcome? {
    stage.request(Self.upper, program: Self.tool) ?? stage.end(1, .success(Array(result.utf8)))
  }

  @Test func resultTakesThePlaceOfTheClip() {
    var stage = copied()
    let before = stage.ownerTime
    #expect(stage.request(Self.upper, program: Self.tool) == nil, "it runs")
    #expect(stage.actionRuns.map(\.input.target.name) == ["UTF8_STRING"] && stage.actionRuns[0].program == Self.tool)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == Array("text".utf8), "pastes don't wait")
    #expect(
      stage.end(1, .success(Array("TEXT".utf8))) == .made(targets: ["UTF8_STRING", "text/plain"], bytes: 4))
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING", "text/plain"])
    #expect(stage.paste("text/plain", by: Apps.browser)?.bytes == Array("TEXT".utf8))
    #expect(stage.ownerTime.isLater(than: before), "whoever listens learns of it")
    let record = stage.audit.first { $0.kind == .action }
    #expect(record?.actionName == "upper" && record?.outcome == .kept && record?.bytes == 4)
    #expect(record?.source == Apps.ledger && record?.destination?.executable == Fact(Self.tool, .attested))
    #expect(record?.isAlwaysWritten == true)
    #expect(stage.retained == nil, "what an action made doesn't outlive the process")
  }

  @Test func programIsDecidedAsOnePasting() {
    let policy = Policies.set([
      Policies.rule("not for tools", .deny) {
        $0.from = Policies.apps("Ledger")
        $0.to = Self.exe(Self.tool)
        $0.obligations.message = "Finance isn't for tools."
      }
    ])
    var stage = copied(policy)
    guard case .refused(.rule(let rule), let message)? = stage.request(Self.upper, program: Self.tool) else {
      Issue.record("\(stage.actionOutcomes)")
      return
    }
    #expect(rule.name == "not for tools" && message == "Finance isn't for tools.")
    #expect(stage.actionRuns.isEmpty)
    #expect(stage.audit.last?.kind == .action && stage.audit.last?.outcome == .refused)
    #expect(stage.bridge.fit(of: Self.upper, program: Self.tool, reader: nil, at: stage.now) == .refused(.rule(rule)))
    #expect(
      stage.bridge.fit(of: Self.upper, program: "/usr/bin/other", reader: nil, at: stage.now)
        == .fits(target: "UTF8_STRING"))
  }

  @Test func resultStaysTheSources() {
    var stage = copied(Policies.financeStays)
    // The rule is about who pastes, and a tool is neither Ledger nor Report.
    guard case .refused? = stage.request(Self.upper, program: Self.tool) else {
      Issue.record("it was run")
      return
    }
    let policy = Policies.set([
      Policies.rule("the tool may", .allow) {
        $0.from = Policies.apps("Ledger")
        $0.to = Self.exe(Self.tool)
      },
      Policies.rule("finance stays", .deny, line: 7) {
        $0.from = Policies.apps("Ledger", "Report")
        $0.to = .not(Policies.apps("Ledger", "Report"))
      },
    ])
    stage = copied(policy)
    #expect(run(&stage) == .made(targets: ["UTF8_STRING", "text/plain"], bytes: 4))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil, "what was made of finance stays in finance")
    #expect(stage.paste("UTF8_STRING", by: Apps.report)?.bytes == Array("TEXT".utf8))
  }

  @Test func privateStaysPrivate() {
    let board = BoardPolicy(
      name: "com.acme.finance", position: SourcePosition(file: "test.yaml", line: 2, column: 3),
      members: .anyOf([Policies.apps("Ledger", "Report"), Self.exe(Self.tool)]))
    let rule = Policies.rule("finance text is private", .private) {
      $0.from = Policies.apps("Ledger")
      // What the action makes has another target, of which the rule says nothing.
      $0.targets = [.glob("UTF8_STRING")]
      $0.obligations.expiresAfterSeconds = 20
    }
    var stage = copied(Policies.set([rule], boards: [board]))
    var action = Self.upper
    action.makes = ["application/x-made"]
    stage.wait(milliseconds: 15_000)
    #expect(stage.request(action, program: Self.tool) == nil)
    #expect(stage.end(1, .success([1])) == .made(targets: ["application/x-made"], bytes: 1))
    #expect(stage.paste("application/x-made", by: Apps.browser) == nil)
    #expect(stage.paste("application/x-made", by: Apps.report)?.bytes == [1])
    // Decided anew by the same policy it is no looser.
    stage.replacePolicy(Policies.set([rule], boards: [board]))
    #expect(stage.paste("application/x-made", by: Apps.browser) == nil)
    #expect(stage.paste("application/x-made", by: Apps.report)?.bytes == [1])
    stage.wait(milliseconds: 6_000)
    #expect(stage.list(by: Apps.report) == [], "it ends when what it was made of would have")
  }

  /// Rules about cuts hold for what is made of one, whether a key told or a file manager's marker.
  @Test(arguments: [true, false]) func cutStaysACut(isByKey: Bool) {
    let board = BoardPolicy(
      name: "com.acme.finance", position: SourcePosition(file: "test.yaml", line: 2, column: 3),
      members: .anyOf([Policies.apps("Ledger", "Report"), Self.exe(Self.tool)]))
    let rules = [
      Policies.rule("cuts are private", .private) {
        $0.from = Policies.apps("Ledger")
        $0.actions = [.cut]
        $0.obligations.expiresAfterSeconds = 20
      }
    ]
    var stage = Stage(Policies.set(rules, boards: [board]))
    let marker: [(String, Stage.Reply)] = [("x-special/gnome-copied-files", .bytes(Array("cut\nfile:///a".utf8)))]
    stage.copy(
      .init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(Array("text".utf8)))] + (isByKey ? [] : marker)),
      isKnownCut: isByKey)
    #expect(run(&stage) == .made(targets: ["UTF8_STRING", "text/plain"], bytes: 4))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.report)?.bytes == Array("TEXT".utf8))
    stage.wait(milliseconds: 21_000)
    #expect(stage.list(by: Apps.report) == [], "it expires as the cut would have")
  }

  @Test func programsCopyAlsoWhatIsMadeOfACut() {
    var stage = Stage(
      Policies.set([
        Policies.rule("no copies by tools", .deny) {
          $0.from = Self.exe(Self.tool)
          $0.actions = [.copy]
        }
      ]))
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes([1]))]), isKnownCut: true)
    guard case .refused? = run(&stage) else {
      Issue.record("\(stage.actionOutcomes)")
      return
    }
  }

  @Test func onePasteIsNotGivenTwice() {
    var stage = copied(
      Policies.set([
        Policies.rule("once", .allow) {
          $0.from = Policies.apps("Ledger")
          $0.actions = [.copy]
          $0.obligations.oneShot = true
        }
      ]))
    #expect(stage.request(Self.upper, program: Self.tool) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == Array("text".utf8))
    #expect(stage.end(1, .success([1])) == .overtaken)
    #expect(stage.paste("UTF8_STRING", by: Apps.report) == nil)
    // Without a paste meanwhile the result has the one.
    stage = copied(
      Policies.set([
        Policies.rule("once", .allow) {
          $0.from = Policies.apps("Ledger")
          $0.obligations.oneShot = true
        }
      ]))
    #expect(run(&stage) == .made(targets: ["UTF8_STRING", "text/plain"], bytes: 4))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == Array("TEXT".utf8))
    #expect(stage.paste("UTF8_STRING", by: Apps.report) == nil)
  }

  @Test func secretStaysSecret() {
    var stage = copied(by: Apps.vault, [("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))])
    #expect(run(&stage) == .made(targets: ["UTF8_STRING", "text/plain", "x-kde-passwordManagerHint"], bytes: 4))
    #expect(stage.bridge.status[0].isSensitive)
    #expect(stage.paste("x-kde-passwordManagerHint", by: Apps.browser)?.bytes == Array("secret".utf8))
    stage.wait(milliseconds: 61_000)
    #expect(stage.list(by: Apps.browser) == [])
  }

  @Test func sizeOfTheOriginalCounts() {
    let policy = Policies.set([
      Policies.rule("the tool may", .allow) { $0.to = Self.exe(Self.tool) },
      Policies.rule("nothing long", .deny) {
        $0.from = Policies.apps("Ledger")
        $0.to = Policies.apps("Browser")
        $0.size = SizeRange(over: 3)
      },
    ])
    var stage = copied(policy)
    #expect(run(&stage, "T") == .made(targets: ["UTF8_STRING", "text/plain"], bytes: 1))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
  }

  @Test func copiesOfTheProgramAreDecidedToo() {
    let policy = Policies.set([
      Policies.rule("no copies by tools", .deny) {
        $0.from = Self.exe(Self.tool)
        $0.actions = [.copy]
      }
    ])
    var stage = copied(policy)
    guard case .refused? = run(&stage) else {
      Issue.record("\(stage.actionOutcomes)")
      return
    }
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == Array("text".utf8), "the clip stays as it was")
    #expect(stage.audit.filter { $0.kind == .action }.map(\.outcome) == [.refused])
  }

  @Test func newerCopyWins() {
    var stage = copied()
    #expect(stage.request(Self.upper, program: Self.tool) == nil)
    stage.copy(.init(0x40_0002, Apps.report, [("UTF8_STRING", .bytes([1]))]))
    #expect(stage.end(1, .success([2])) == .overtaken)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == [1])
    // A claim that comes a moment too late is none.
    #expect(stage.request(Self.upper, program: Self.tool) == nil)
    stage.supersedesNextClaim = true
    #expect(stage.end(1, .success([2])) == .overtaken)
  }

  @Test(arguments: ActionFailure.allCases) func failureChangesNothing(_ failure: ActionFailure) {
    var stage = copied()
    #expect(stage.request(Self.upper, program: Self.tool) == nil)
    #expect(stage.end(1, .failure(failure)) == .failed(failure))
    #expect(stage.paste("text/html", by: Apps.browser)?.bytes == [60, 62])
    let record = stage.audit.last { $0.kind == .action }
    #expect(record?.outcome == .failed && record?.failure == failure && record?.notifies == true)
    #expect(stage.end(1, .success([1])) == .failed(failure), "a run ends once")
  }

  @Test func emptyResultIsNone() {
    var stage = copied()
    #expect(run(&stage, "") == .failed(.empty))
  }

  @Test func whatDoesNotFit() {
    var stage = Stage()
    #expect(stage.request(Self.upper, program: Self.tool) == .unfit)
    stage.copy(.init(0x40_0001, Apps.ledger, [("image/png", .bytes([1]))]))
    #expect(stage.request(Self.upper, program: Self.tool) == .unfit)
    var action = Self.upper
    action.destination = .board("b")
    #expect(stage.request(action, program: Self.tool) == .unfit)
    stage = copied()
    #expect(stage.request(action, program: Self.tool) == .noBoard("b"))
  }

  @Test func atMostSoManyAtOnce() {
    var stage = copied()
    let most = UInt64(Bridge.mostRuns)
    for number in 1...most { #expect(stage.request(Self.upper, program: Self.tool, number: number) == nil) }
    #expect(stage.request(Self.upper, program: Self.tool, number: most + 1) == .busy)
    #expect(stage.audit.last?.limit == .actionCount)
    #expect(stage.end(1, .failure(.failed)) == .failed(.failed))
    #expect(stage.request(Self.upper, program: Self.tool, number: most + 2) == nil)
  }

  @Test func resultsOfResultsAreBounded() {
    var stage = copied()
    for _ in 0..<8 { #expect(run(&stage) == .made(targets: ["UTF8_STRING", "text/plain"], bytes: 4)) }
    #expect(run(&stage) == .busy)
    stage.copy(.init(0x40_0002, Apps.report, [("UTF8_STRING", .bytes([1]))]))
    #expect(run(&stage) == .made(targets: ["UTF8_STRING", "text/plain"], bytes: 4))
  }

  @Test func menuShowsWhatTheReaderMayHave() {
    let policy = Policies.set([
      Policies.rule("finance stays", .deny) {
        $0.from = Policies.apps("Ledger")
        $0.to = Policies.apps("Browser")
      }
    ])
    let stage = copied(policy)
    let fit = { (reader: Subject) in
      stage.bridge.fit(of: Self.upper, program: Self.tool, reader: reader, at: stage.now)
    }
    #expect(fit(Apps.report) == .fits(target: "UTF8_STRING"))
    guard case .refused = fit(Apps.browser) else {
      Issue.record("shown in the browser")
      return
    }
  }
}
