import Boards
import BridgeCore
import Policy
import Selection
import Testing

/// Boards by X and by calls, through the whole core.
@Suite struct BoardTests {
  static let name = "com.acme.finance"

  static func board(_ change: (inout BoardPolicy) -> Void = { _ in }) -> BoardPolicy {
    var board = BoardPolicy(
      name: name, position: SourcePosition(file: "test.yaml", line: 2, column: 3),
      members: Policies.apps("Ledger", "Report"))
    change(&board)
    return board
  }

  static let privateRule = Policies.rule("finance keeps", .private) {
    $0.from = Policies.apps("Ledger")
    $0.actions = [.copy, .cut]
    $0.obligations.board = name
  }

  static func stage(rules: [Rule] = [], _ change: (inout BoardPolicy) -> Void = { _ in }) -> Stage {
    Stage.withBoards(Policies.set(rules, boards: [board(change)]))
  }

  static func owner(_ window: UInt32, _ subject: Subject, _ text: String) -> Stage.Owner {
    Stage.Owner(window, subject, [("UTF8_STRING", .bytes(Array(text.utf8)))])
  }

  static func owner(_ text: String) -> Stage.Owner { owner(0x40_0001, Apps.ledger, text) }

  static func text(_ received: Stage.Received?) -> String? {
    received.map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  static func content(_ answer: BoardAnswer?) -> String? {
    guard case .content(let content)? = answer else { return nil }
    return String(decoding: content.payload.copiedBytes(), as: UTF8.self)
  }

  static func form(_ stage: inout Stage, _ text: String, _ type: String = "UTF8_STRING") -> Representation {
    let target = stage.atom(type)
    return Representation(target: target, type: target, format: 8, payload: Payload(Array(text.utf8)))
  }

  // MARK: by X

  @Test("a member copies onto the board by claiming its selection, members paste, others get nothing")
  func claim() throws {
    var stage = Self.stage()
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("on the board"), on: board)
    #expect(stage.owners[board] == Stage.daemon)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "on the board")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: board) == nil)
    #expect(stage.list(by: Apps.browser, on: board) == [])
    #expect(stage.list(by: Apps.report, on: board) == ["UTF8_STRING"])
    let refused = try #require(stage.audit.last { $0.kind == .paste && $0.outcome == .refused })
    #expect(refused.selection == Self.name && refused.destination == Apps.browser)
    #expect(stage.notices.count == 1)
  }

  @Test("one who isn't a member claims it: taken back, nothing asked of it, written down, the content still there")
  func foreignClaim() throws {
    var stage = Self.stage()
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("ours"), on: board)
    let asked = stage.asked.count
    stage.copy(Self.owner(0x50_0001, Apps.browser, "theirs"), on: board)
    #expect(stage.owners[board] == Stage.daemon && stage.asked.count == asked)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "ours")
    let record = try #require(stage.audit.last { $0.kind == .copy })
    #expect(record.outcome == .refused && record.source == Apps.browser && record.selection == Self.name)
  }

  @Test("an empty board's selection is nobody's; a stranger's claim of it is taken back empty")
  func emptyBoard() {
    var stage = Self.stage()
    let board = stage.atom(Self.name)
    #expect(stage.claims == [] && stage.bridge.nextDeadline == nil)
    stage.copy(Self.owner(0x50_0001, Apps.browser, "theirs"), on: board)
    #expect(stage.owners[board] == Stage.daemon)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: board) == nil)
  }

  @Test("an owner that hangs doesn't keep the board")
  func hangingOwner() {
    var stage = Self.stage()
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("before"), on: board)
    stage.copy(Stage.Owner(0x41_0001, Apps.report, [("UTF8_STRING", .silent)], listing: .silent), on: board)
    stage.wait(milliseconds: 3_000)
    #expect(stage.owners[board] == Stage.daemon && stage.bridge.isSettled)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.ledger, from: board)) == "before")
  }

  @Test(
    "somebody clears the selection: the board stays as it is",
    arguments: [
      OwnerChangeCause.set, .clientClosed, .windowDestroyed,
    ])
  func cleared(cause: OwnerChangeCause) {
    var stage = Self.stage()
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("kept"), on: board)
    stage.clear(cause, on: board)
    #expect(stage.owners[board] == Stage.daemon)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "kept")
  }

  @Test("a private clip is pasted by members by plain paste, and from the board when somebody else has copied since")
  func privateClip() {
    var stage = Self.stage(rules: [Self.privateRule])
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("secret figures"))
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report)) == "secret figures")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    stage.copy(Self.owner(0x50_0001, Apps.browser, "harmless"))
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report)) == "harmless")
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "secret figures")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: board) == nil)
  }

  @Test("allowed copies of members are mirrored where the policy says so, others' never")
  func mirror() {
    var stage = Self.stage { $0.mirrors = true }
    let board = stage.atom(Self.name)
    stage.copy(Self.owner(0x50_0001, Apps.browser, "news"))
    #expect(stage.bridge.boards[Self.name]?.items.isEmpty == true)
    stage.copy(Self.owner("figures"))
    stage.copy(Self.owner(0x50_0001, Apps.browser, "more news"))
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.ledger, from: board)) == "figures")
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.browser)) == "more news")
  }

  @Test("a rule's `board:` keeps an allowed clip of one who is no member")
  func boardOfARule() {
    let rule = Policies.rule("collect", .allow) {
      $0.from = Policies.apps("Vault")
      $0.actions = [.copy]
      $0.obligations.board = Self.name
    }
    var stage = Self.stage(rules: [rule])
    stage.copy(Self.owner(0x50_0001, Apps.vault, "collected"))
    let board = stage.atom(Self.name)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "collected")
    // Such an item stays at a reload although its source was never a member.
    stage.replacePolicy(Policies.set([rule], boards: [Self.board()]))
    #expect(stage.bridge.boards[Self.name]?.items.count == 1)
  }

  @Test("a secret clip is neither mirrored nor put on a private clip's board", arguments: [true, false])
  func secret(isPrivate: Bool) {
    var stage = Self.stage(rules: isPrivate ? [Self.privateRule] : []) { $0.mirrors = true }
    stage.copy(
      Stage.Owner(
        0x40_0001, Apps.ledger,
        [("UTF8_STRING", .bytes(Array("hunter2".utf8))), ("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))]))
    #expect(stage.bridge.boards[Self.name]?.items.isEmpty == true)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report)) == "hunter2")
  }

  @Test("one copy that is claimed twice is one item")
  func claimedTwice() {
    var stage = Self.stage { $0.mirrors = true }
    for _ in 0..<3 { stage.copy(Self.owner("same")) }
    #expect(stage.bridge.boards[Self.name]?.items.count == 1 && stage.notices.count == 1)
  }

  @Test("items end in time, and then the next one is there")
  func expiry() {
    var stage = Self.stage { $0.expiresAfterSeconds = 10 }
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("first"), on: board)
    stage.wait(milliseconds: 6_000)
    stage.copy(Self.owner("second"), on: board)
    stage.wait(milliseconds: 5_000)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "second")
    #expect(stage.bridge.boards[Self.name]?.items.count == 1)
    stage.wait(milliseconds: 6_000)
    #expect(stage.owners[board] == Window.none && stage.bridge.nextDeadline == nil)
    #expect(stage.audit.count { $0.kind == .expire } == 2)
  }

  // MARK: membership that ends

  @Test("an app is a member no longer: what it left is wiped, the others' stays")
  func membershipEnds() {
    var stage = Self.stage()
    let board = stage.atom(Self.name)
    stage.copy(Self.owner(0x41_0001, Apps.report, "report's"), on: board)
    stage.copy(Self.owner("ledger's"), on: board)
    stage.replacePolicy(Policies.set([], boards: [Self.board { $0.members = Policies.apps("Report") }]))
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "report's")
    #expect(stage.paste("UTF8_STRING", by: Apps.ledger, from: board) == nil)
    #expect(stage.bridge.boards[Self.name]?.items.count == 1)
  }

  @Test("the board is in no policy any more: wiped, its selection let go, everybody told")
  func boardEnds() {
    var stage = Self.stage { $0.isPersistent = true }
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("gone soon"), on: board)
    #expect(stage.kept[Self.name]?.count == 1)
    stage.replacePolicy(Policies.set([]))
    #expect(stage.bridge.boards[Self.name] == nil && stage.owners[board] == Window.none)
    #expect(stage.notices.last == .removed(Self.name) && stage.kept[Self.name] == nil)
    #expect(!stage.bridge.watchedSelections.contains(board))
  }

  @Test("files that can't be read and a lockdown wipe nothing")
  func locked() {
    var stage = Self.stage()
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("waits"), on: board)
    let policy = stage.bridge.policy
    stage.replacePolicy(.locked)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: board) == nil)
    stage.replacePolicy(policy.lockedDown)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: board) == nil)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.ledger, from: board)) == "waits")
    #expect(stage.audit.last { $0.outcome == .refused }?.verdict == .deny)
    stage.replacePolicy(policy)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "waits")
  }

  // MARK: what outlives the process

  @Test("a persistent board is stored item by item and comes back whole; nothing secret is stored")
  func persistence() throws {
    var stage = Self.stage { $0.isPersistent = true }
    let board = stage.atom(Self.name)
    #expect(stage.loads == [Self.name])
    stage.copy(Self.owner("one"), on: board)
    stage.copy(
      Stage.Owner(
        0x40_0001, Apps.ledger,
        [("UTF8_STRING", .bytes(Array("two".utf8))), ("text/html", .bytes(Array("<b>two</b>".utf8)))]), on: board)
    stage.call(.pin(Self.name, item: try #require(stage.kept[Self.name]?.last?.number), true), by: Apps.report)
    stage.copy(
      Stage.Owner(
        0x40_0001, Apps.ledger,
        [("UTF8_STRING", .bytes([1])), ("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))]), on: board)
    let stored = try #require(stage.kept[Self.name]).sorted { $0.number > $1.number }
    #expect(stored.count == 2 && stored.map(\.isPinned) == [false, true])

    var next = Self.stage { $0.isPersistent = true }
    let again = next.atom(Self.name)
    // As the store gives it back: by names, which the server of the next session numbers anew.
    let back = stored.map { item in
      var item = item
      item.representations = item.representations.map { form in
        let target = next.atom(form.target.name)
        return Representation(target: target, type: target, format: form.format, payload: form.payload)
      }
      return item
    }
    next.run(
      next.bridge.restoreBoards(
        [StoredBoard(name: Self.name, changeCount: 9, items: back)], owned: [], at: next.now))
    #expect(next.owners[again] == Stage.daemon)
    #expect(Self.text(next.paste("text/html", by: Apps.report, from: again)) == "<b>two</b>")
    #expect(next.bridge.boards[Self.name]?.items.map(\.isPinned) == [false, true])
    #expect(next.bridge.boards[Self.name]?.changeCount ?? 0 > 9)
  }

  @Test("what is stored of an app that is a member no longer is wiped when it is taken up")
  func storedOfAStranger() throws {
    var stage = Self.stage { $0.isPersistent = true }
    stage.copy(Self.owner("ledger's"), on: stage.atom(Self.name))
    let stored = try #require(stage.kept[Self.name])
    var next = Self.stage {
      $0.isPersistent = true
      $0.members = Policies.apps("Report")
    }
    let effects = next.bridge.restoreBoards(
      [StoredBoard(name: Self.name, changeCount: 1, items: stored)], owned: [], at: next.now)
    #expect(effects == [.forgetItems(stored.map(\.number), of: Self.name)])
  }

  // MARK: calls

  @Test("members read, write, list and describe by calls; to others there is no such board")
  func calls() throws {
    var stage = Self.stage()
    let form = Self.form(&stage, "https://example.org")
    let writing = BoardCall.write(BoardWriting(board: Self.name, representations: [form]))
    #expect(stage.call(writing, by: Apps.tool) == .refused(.noBoard))
    guard case .done? = stage.call(writing, by: Apps.ledger) else {
      Issue.record("not written")
      return
    }
    #expect(stage.owners[stage.atom(Self.name)] == Stage.daemon)
    let read = BoardCall.read(Self.name, item: nil, type: "UTF8_STRING")
    #expect(Self.content(stage.call(read, by: Apps.report)) == "https://example.org")
    for call in [
      read, .describe(Self.name), .wipe(Self.name), .remove(Self.name), .pin(Self.name, item: 1, true),
      .copy(from: Self.name, item: nil, to: "general"), .removeItem(Self.name, 1),
    ] {
      #expect(stage.call(call, by: Apps.tool) == .refused(.noBoard), "\(call)")
    }
    guard case .boards(let mine)? = stage.call(.list, by: Apps.report),
      case .boards(let others)? = stage.call(.list, by: Apps.tool)
    else {
      Issue.record("no lists")
      return
    }
    #expect(mine.map(\.name) == ["general", Self.name] && others.map(\.name) == ["general"])
    #expect(mine[1].items.map(\.labels) == [[.webURL]])
    #expect(mine[1].items[0].types.map(\.bytes) == [19])
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: stage.atom(Self.name))) != nil)
    #expect(stage.audit.contains { $0.outcome == .refused && $0.destination == Apps.tool && $0.selection == Self.name })
  }

  @Test("`general` is CLIPBOARD under the same rules")
  func general() {
    var stage = Stage.withBoards(Policies.financeStays)
    let form = Self.form(&stage, "from the ledger")
    stage.call(.write(BoardWriting(board: "general", representations: [form])), by: Apps.ledger)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report)) == "from the ledger")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    let read = BoardCall.read("general", item: nil, type: "UTF8_STRING")
    #expect(read.readsGeneral && BoardCall.list.readsGeneral && !BoardCall.wipe("general").readsGeneral)
    #expect(Self.content(stage.call(read, by: Apps.report)) == "from the ledger")
    #expect(stage.call(read, by: Apps.tool) == .refused(.denied))
    stage.call(.wipe("general"), by: Apps.ledger)
    #expect(stage.call(read, by: Apps.report) == .refused(.empty))
    #expect(stage.call(.remove("general"), by: Apps.ledger) == .refused(.notRemovable))
  }

  @Test("an item that goes to CLIPBOARD keeps its source and its source's rules")
  func copyOut() {
    let rules = [
      Policies.rule("finance stays", .deny, line: 7) {
        $0.from = Policies.apps("Ledger", "Report")
        $0.to = .not(Policies.apps("Ledger", "Report"))
      }
    ]
    var stage = Self.stage(rules: rules)
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("figures"), on: board)
    guard case .done? = stage.call(.copy(from: Self.name, item: nil, to: "general"), by: Apps.report) else {
      Issue.record("not copied")
      return
    }
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report)) == "figures")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
  }

  @Test("boards made by programs: for their app or a board's members, gone with their connection or when removed")
  func created() {
    var stage = Self.stage()
    let unique = stage.atom("org.xpastebridge.unique.1")
    let suite = stage.atom("com.acme.finance.drafts")
    let bad = stage.atom("XdndSelection")
    #expect(
      stage.call(.create(BoardCreation(unique, origin: .unique(connection: 7))), by: Apps.browser)
        == .created(unique.name))
    #expect(
      stage.call(.create(BoardCreation(suite, origin: .created, members: Self.name)), by: Apps.browser)
        == .refused(.noBoard))
    #expect(
      stage.call(.create(BoardCreation(suite, origin: .created, members: Self.name)), by: Apps.ledger)
        == .created(suite.name))
    #expect(stage.call(.create(BoardCreation(bad, origin: .created)), by: Apps.ledger) == .refused(.nameInvalid))
    stage.copy(Self.owner("draft"), on: suite)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: suite)) == "draft")
    stage.copy(Self.owner(0x50_0001, Apps.browser, "own"), on: unique)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.browser, from: unique)) == "own")
    #expect(stage.paste("UTF8_STRING", by: Apps.ledger, from: unique) == nil)
    stage.call(.connectionEnded(7), by: .unknown)
    #expect(stage.bridge.boards[unique.name] == nil && stage.notices.last == .removed(unique.name))
    stage.call(.remove(suite.name), by: Apps.report)
    #expect(stage.owners[suite] == Window.none && stage.bridge.boards[suite.name] == nil)
    #expect(stage.call(.remove(Self.name), by: Apps.report) == .refused(.notRemovable))
  }

  @Test("pinned items fill the board: the copy is refused, said, and the board stays as it is")
  func pinnedFill() throws {
    var stage = Self.stage { $0.maxItems = 1 }
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("pinned"), on: board)
    let number = try #require(stage.bridge.boards[Self.name]?.items.first?.number)
    stage.call(.pin(Self.name, item: number, true), by: Apps.report)
    stage.copy(Self.owner(0x41_0001, Apps.report, "too much"), on: board)
    #expect(stage.owners[board] == Stage.daemon && stage.audit.last?.limit == .boardQuota)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.report, from: board)) == "pinned")
    let form = Self.form(&stage, "neither")
    #expect(
      stage.call(.write(BoardWriting(board: Self.name, representations: [form])), by: Apps.ledger)
        == .refused(.pinnedFillItems))
    #expect(stage.audit.last?.limit == .boardQuota && stage.audit.last?.source == Apps.ledger)
  }

  @Test("what is for this machine alone isn't offered to programs of another")
  func localOnly() {
    var stage = Stage.withBoards(
      Policies.set(
        [],
        boards: [
          Self.board {
            $0.members = .any
            $0.isLocalOnly = true
          }
        ]))
    let board = stage.atom(Self.name)
    stage.copy(Self.owner("here"), on: board)
    let remote = Subject(origin: .remote, windowClass: Fact("Report", .declared))
    #expect(stage.paste("UTF8_STRING", by: remote, from: board) == nil)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.browser, from: board)) == "here")
  }

  @Test("a copy by CLIPBOARD's newest claim while the board is being read from another: both arrive")
  func mirrorDuringCapture() {
    var stage = Self.stage { $0.mirrors = true }
    let board = stage.atom(Self.name)
    stage.copy(Stage.Owner(0x41_0001, Apps.report, [("UTF8_STRING", .chunks([[0x61], []]))]), on: board)
    stage.copy(Self.owner("mirrored"))
    stage.storeChunks()
    stage.storeChunks()
    #expect(stage.bridge.boards[Self.name]?.items.count == 2 && stage.owners[board] == Stage.daemon)
    #expect(Self.text(stage.paste("UTF8_STRING", by: Apps.ledger, from: board)) == "a")
  }
}
