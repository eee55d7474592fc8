import Boards
import BridgeCore
import ContentActions
import Policy
import Selection
import Testing

/// Actions whose result goes to a board.
@Suite struct ActionBoardTests {
  private static let tool = "/usr/bin/tool"
  private static let name = BoardTests.name
  private static let upper = ContentAction(
    name: "upper", title: "Upper case", position: SourcePosition(file: "upper.yaml", line: 1, column: 1),
    accepts: [.kind(.text)], work: .command(path: tool, arguments: []), makes: ["UTF8_STRING"],
    destination: .board(name))
  private static let secretMark: (String, Stage.Reply) = (
    "x-kde-passwordManagerHint", .bytes(Array("secret".utf8))
  )

  private func copied(
    _ rules: [Rule] = [], by app: Subject = Apps.browser, _ more: [(String, Stage.Reply)] = [],
    _ change: (inout BoardPolicy) -> Void = { _ in }
  ) -> Stage {
    var stage = BoardTests.stage(rules: rules, change)
    stage.copy(.init(0x40_0001, app, [("UTF8_STRING", .bytes(Array("text".utf8)))] + more))
    return stage
  }

  private func run(_ stage: inout Stage, active: Subject? = Apps.report) -> ActionOutcome? {
    stage.request(Self.upper, program: Self.tool, active: active) ?? stage.end(1, .success(Array("TEXT".utf8)))
  }

  private let made = ActionOutcome.made(targets: ["UTF8_STRING"], bytes: 4, board: BoardTests.name)

  @Test("by the active app's right, or the program's, and by nobody else's")
  func rights() throws {
    var stage = copied()
    #expect(run(&stage) == made)
    let board = stage.atom(Self.name)
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.ledger, from: board)) == "TEXT")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: board) == nil)
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.browser)) == "text", "CLIPBOARD stays")
    let record = try #require(stage.audit.last { $0.kind == .action })
    #expect(record.selection == Self.name && record.outcome == .kept && record.bytes == 4)
    #expect(record.source == Apps.browser && record.destination?.executable == Fact(Self.tool, .attested))
    // Who put it there is a member, so a reload leaves it.
    stage.replacePolicy(Policies.set([], boards: [BoardTests.board()]))
    #expect(stage.bridge.boards[Self.name]?.items.count == 1)
    stage.replacePolicy(Policies.set([], boards: [BoardTests.board { $0.members = Policies.apps("Ledger") }]))
    #expect(stage.bridge.boards[Self.name]?.items.isEmpty == true, "its membership has ended")

    for active in [Apps.browser, .unknown, nil] {
      stage = copied()
      #expect(run(&stage, active: active) == .noBoard(Self.name))
      #expect(stage.actionRuns.isEmpty && stage.bridge.boards[Self.name]?.items.isEmpty == true)
      let refused = try #require(stage.audit.last)
      #expect(refused.kind == .action && refused.outcome == .refused && refused.selection == Self.name)
      #expect(
        stage.bridge.fit(of: Self.upper, program: Self.tool, reader: nil, active: active, at: stage.now) == .unfit)
    }
    stage = copied { $0.members = .executable(Glob(literally: Self.tool, style: .path)) }
    #expect(run(&stage, active: Apps.browser) == made)
    #expect(run(&stage, active: nil) == made)
  }

  @Test("membership that ends while it runs: nothing is put there")
  func endsMeanwhile() {
    var stage = copied()
    #expect(stage.request(Self.upper, program: Self.tool, active: Apps.report) == nil)
    stage.replacePolicy(Policies.set([], boards: [BoardTests.board { $0.members = Policies.apps("Ledger") }]))
    #expect(stage.end(1, .success([1])) == .noBoard(Self.name))
    #expect(stage.bridge.boards[Self.name]?.items.isEmpty == true)
  }

  @Test("what is secret is never put on a board, nor begun")
  func secret() {
    var stage = copied(by: Apps.browser, [Self.secretMark])
    #expect(run(&stage) == .notForBoard(Self.name))
    #expect(stage.actionRuns.isEmpty && stage.audit.last?.outcome == .refused)
  }

  @Test("what is for others, or once, stays off the board", arguments: [true, false])
  func narrower(isPrivate: Bool) {
    let rule = Policies.rule("narrow", isPrivate ? .private : .allow) {
      $0.from = Policies.apps("Browser")
      $0.actions = [.copy]
      $0.obligations.isAppAlone = isPrivate
      $0.obligations.oneShot = !isPrivate
    }
    var stage = copied([rule])
    let outcome = run(&stage)
    // Of a clip for its app alone the program gets nothing in the first place.
    if !isPrivate { #expect(outcome == .notForBoard(Self.name)) }
    #expect(outcome != made && stage.bridge.boards[Self.name]?.items.isEmpty == true)
  }

  @Test("whoever reads it is decided by source and program, also after a restart of the policy")
  func derivation() {
    let rule = Policies.rule("nothing of tools for Report", .deny) {
      $0.from = .executable(Glob(literally: Self.tool, style: .path))
      $0.to = Policies.apps("Report")
    }
    var stage = copied([rule])
    #expect(run(&stage, active: Apps.ledger) == made)
    let board = stage.atom(Self.name)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: board) == nil)
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.ledger, from: board)) == "TEXT")
    let item = stage.bridge.boards[Self.name]?.items.first
    #expect(item?.derivation?.steps.count == 1 && item?.source == Apps.browser && item?.placedBy == Apps.ledger)
    // Copied to the clipboard it stays what it is.
    stage.call(.copy(from: Self.name, item: nil, to: "general"), by: Apps.ledger)
    #expect(stage.paste("UTF8_STRING", by: Apps.report) == nil)
  }

  @Test("a full board refuses with the reason")
  func full() throws {
    var stage = copied { $0.maxItems = 1 }
    #expect(run(&stage) == made)
    let item = try #require(stage.bridge.boards[Self.name]?.items.first)
    stage.call(.pin(Self.name, item: item.number, true), by: Apps.ledger)
    #expect(
      stage.request(Self.upper, program: Self.tool, active: Apps.report) == nil
        && stage.end(1, .success(Array("MORE".utf8))) == .noRoom(Self.name, .pinnedFillItems))
    #expect(stage.audit.last?.limit == .boardQuota)
  }
}

/// Items of boards on CLIPBOARD, as the menu puts them there.
@Suite struct BoardOfferTests {
  private static let name = BoardTests.name

  private func offered(_ change: (inout BoardPolicy) -> Void = { _ in }) -> (Stage, UInt64) {
    var stage = BoardTests.stage(change)
    stage.copy(BoardTests.owner("older"), on: stage.atom(Self.name))
    stage.wait(milliseconds: 500)
    stage.copy(BoardTests.owner("newer"), on: stage.atom(Self.name))
    let oldest = stage.bridge.boards[Self.name]?.items.last?.number ?? 0
    return (stage, oldest)
  }

  @Test("a member has it put there and pastes it as always; nobody else does, whatever the rules about its source say")
  func members() {
    var (stage, item) = offered()
    guard case .done? = stage.call(.offer(Self.name, item: item), by: Apps.report) else {
      Issue.record("refused")
      return
    }
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.report)) == "older")
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.ledger)) == "older")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.list(by: Apps.browser) == [])
    #expect(BoardTests.content(stage.call(.read("general", item: nil, type: "UTF8_STRING"), by: Apps.browser)) == nil)
    #expect(stage.retained == nil, "it doesn't outlive the process there")
    #expect(stage.bridge.boards[Self.name]?.items.count == 2, "nothing is put on the board anew")
    // Decided anew it stays confined.
    stage.replacePolicy(Policies.set([], boards: [BoardTests.board()]))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.report)) == "older")
    stage.replacePolicy(Policies.set([], boards: [BoardTests.board { $0.members = Policies.apps("Ledger") }]))
    #expect(stage.paste("UTF8_STRING", by: Apps.report) == nil, "its membership has ended")
    // A member's action on it doesn't open it.
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.ledger)) == "older")
  }

  @Test("what a member copies onto the board from the clipboard stays at a reload, for as long as it is a member")
  func copiedOnto() {
    var stage = BoardTests.stage()
    stage.copy(BoardTests.owner(0x50_0001, Apps.browser, "news"))
    stage.call(.copy(from: "general", item: nil, to: Self.name), by: Apps.report)
    stage.replacePolicy(Policies.set([], boards: [BoardTests.board()]))
    #expect(stage.bridge.boards[Self.name]?.items.map(\.placedBy) == [Apps.report])
    stage.replacePolicy(Policies.set([], boards: [BoardTests.board { $0.members = Policies.apps("Ledger") }]))
    #expect(stage.bridge.boards[Self.name]?.items.isEmpty == true)
  }

  @Test("one who isn't a member, and an item that isn't there: refused, and CLIPBOARD stays")
  func refused() {
    var (stage, item) = offered()
    stage.copy(BoardTests.owner(0x50_0001, Apps.browser, "news"))
    #expect(stage.call(.offer(Self.name, item: item), by: Apps.browser) == .refused(.noBoard))
    #expect(stage.audit.last { $0.outcome == .refused }?.destination == Apps.browser)
    #expect(stage.call(.offer(Self.name, item: item + 100), by: Apps.report) == .refused(.noItem))
    #expect(stage.call(.offer("general", item: 1), by: Apps.report) == .refused(.noBoard))
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.browser)) == "news")
  }

  @Test("it ends when its time on the board is over")
  func expiry() {
    var (stage, item) = offered { $0.expiresAfterSeconds = 10 }
    stage.call(.offer(Self.name, item: item), by: Apps.report)
    stage.wait(milliseconds: 9_000)
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.report)) == "older")
    stage.wait(milliseconds: 1_000)
    #expect(stage.paste("UTF8_STRING", by: Apps.report) == nil)
  }

  @Test("what an action makes of it is for the board's members as well")
  func action() {
    let upper = ContentAction(
      name: "upper", title: "Upper case", position: SourcePosition(file: "upper.yaml", line: 1, column: 1),
      accepts: [.kind(.text)], work: .command(path: "/usr/bin/tool", arguments: []), makes: ["UTF8_STRING"])
    var (stage, item) = offered {
      $0.members = .anyOf([
        Policies.apps("Ledger", "Report"), .executable(Glob(literally: "/usr/bin/tool", style: .path)),
      ])
    }
    stage.call(.offer(Self.name, item: item), by: Apps.report)
    #expect(stage.request(upper, program: "/usr/bin/tool") == nil)
    #expect(stage.end(1, .success(Array("OLDER".utf8))) == .made(targets: ["UTF8_STRING"], bytes: 5))
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.report)) == "OLDER")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
  }
}

/// A fight over a board's selection is answered for as long as it lasts, and not faster than every 50 ms.
@Suite struct BoardFightTests {
  private static let name = BoardTests.name

  @Test(
    "a stranger that claims it again and again is met each time, with a rest between, and written down once a minute")
  func stranger() throws {
    var stage = BoardTests.stage()
    let board = stage.atom(Self.name)
    stage.copy(BoardTests.owner("ours"), on: board)
    stage.wait(milliseconds: 5_000)
    stage.copy(BoardTests.owner(0x50_0001, Apps.browser, "theirs"), on: board)
    let before = stage.claims.count
    for _ in 0..<400 {
      stage.copy(BoardTests.owner(0x50_0001, Apps.browser, "theirs"), on: board)
      stage.wait(milliseconds: 5)
    }
    // Two seconds, of which the first rounds are met at once.
    #expect((50...60).contains(stage.claims.count - before))
    stage.wait(milliseconds: 50)
    #expect(stage.owners[board] == Stage.daemon && stage.bridge.isSettled)
    #expect(stage.audit.count { $0.limit == .rival } == 1)
    #expect(BoardTests.content(stage.call(.read(Self.name, item: nil, type: "UTF8_STRING"), by: Apps.report)) == "ours")
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "ours")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: board) == nil)
    #expect(stage.bridge.nextDeadline == nil)
    // A member's copy in the middle of it counts.
    for _ in 0..<20 { stage.copy(BoardTests.owner(0x50_0001, Apps.browser, "theirs"), on: board) }
    stage.copy(BoardTests.owner("meanwhile"), on: board)
    stage.wait(milliseconds: 50)
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "meanwhile")
    for _ in 0..<20 { stage.copy(BoardTests.owner(0x50_0001, Apps.browser, "theirs"), on: board) }
    // It ends: the selection is ours at once.
    stage.clear(.clientClosed, on: board)
    #expect(stage.owners[board] == Stage.daemon)
  }

  @Test("a member that answers every claim with one of its own has its newest copy kept")
  func member() {
    var stage = BoardTests.stage()
    let board = stage.atom(Self.name)
    stage.copy(BoardTests.owner("0"), on: board)
    let before = stage.claims.count
    for count in 1...30 { stage.copy(BoardTests.owner("\(count)"), on: board) }
    #expect(stage.claims.count - before == 16)
    stage.wait(milliseconds: 50)
    #expect(stage.owners[board] == Stage.daemon)
    #expect(BoardTests.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "30")
    // A person's copies come with time between them.
    for count in 0..<30 {
      stage.wait(milliseconds: 200)
      stage.copy(BoardTests.owner("again \(count)"), on: board)
      #expect(stage.owners[board] == Stage.daemon)
    }
  }
}
