import Policy
import Selection
import Testing

@testable import BridgeCore

private let text: [UInt8] = Array("content".utf8)

/// In which order a protected copy is asked for and taken (product.md 5.3).
@Suite struct OwnFirstTests {
  static let policy = Policies.set([
    Policies.rule("protected", .allow) {
      $0.from = Policies.apps("Ledger")
      $0.actions = [.copy, .cut]
      $0.obligations.protect = true
    }
  ])

  private static func owner(_ replies: [(String, Stage.Reply)]) -> Stage.Owner {
    Stage.Owner(0x40_0001, Apps.ledger, replies)
  }

  private static let plain = owner([("UTF8_STRING", .bytes(text)), ("text/html", .bytes(text))])

  /// A stage on which the ledger has answered probes often enough.
  private func taught(_ owner: Stage.Owner = plain) -> Stage {
    var stage = Stage(Self.policy)
    for _ in 0..<AnswerMemory.neededProofs { stage.copy(owner, lock: .held) }
    return stage
  }

  private func lastCopy(_ stage: Stage) -> AuditRecord? { stage.audit.last { $0.kind == .copy } }

  /// What an effect list says of order: conversions asked for, and claims.
  private func order(_ effects: some Sequence<Effect>) -> [String] {
    effects.compactMap { effect in
      switch effect {
      case .convert(_, _, let target, _): target.name
      case .claim: "claim"
      case .confirm: "confirm"
      default: nil
      }
    }
  }

  private func effects(of stage: inout Stage, _ body: (inout Stage) -> Void) -> [Effect] {
    let before = stage.effects.count
    body(&stage)
    return Array(stage.effects[before...])
  }

  @Test func aCopyUnderTheLockIsTakenLastAndTriesTheSourceOut() {
    var stage = Stage(Self.policy)
    let done = effects(of: &stage) { $0.copy(Self.plain, lock: .held) }
    #expect(order(done) == ["TARGETS", "UTF8_STRING", "text/html", "TARGETS", "UTF8_STRING", "claim"])
    #expect(lastCopy(stage)?.outcome == .kept && !stage.hasOpenConversions)
    #expect(stage.paste("text/html", by: Apps.browser)?.bytes == text)
  }

  @Test func aSourceThatAnswersIsRobbedFirst() {
    var stage = taught()
    let done = effects(of: &stage) { $0.copy(Self.plain) }
    #expect(order(done) == ["TARGETS", "UTF8_STRING", "text/html", "claim", "confirm"])
    #expect(lastCopy(stage)?.outcome == .kept)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING", "text/html"])
  }

  @Test func whatIsTakenFirstIsKeptOnItsBoardToo() {
    var rule = BoardTests.privateRule
    rule.obligations.protect = true
    var stage = Stage.withBoards(Policies.set([rule], boards: [BoardTests.board()]))
    for _ in 0..<AnswerMemory.neededProofs { stage.copy(Self.plain, lock: .held) }
    let done = effects(of: &stage) { $0.copy(Self.owner([("UTF8_STRING", .bytes([7])), ("text/html", .bytes([8]))])) }
    #expect(order(done) == ["TARGETS", "UTF8_STRING", "text/html", "claim", "confirm"])
    let board = stage.atom(BoardTests.name)
    #expect(stage.paste("UTF8_STRING", by: Apps.report, from: board)?.bytes == [7])
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, from: board) == nil)
  }

  @Test func othersAreTakenLastWithoutTheLock() {
    var stage = Stage(Self.policy)
    let done = effects(of: &stage) { $0.copy(Self.plain) }
    #expect(order(done).last == "claim" && order(done).first == "TARGETS" && order(done).count == 6)
    var free = Stage(Policies.owning)
    let unprotected = effects(of: &free) { $0.copy(Self.plain) }
    #expect(order(unprotected) == ["TARGETS", "UTF8_STRING", "text/html", "claim"], "nobody is tried out")
  }

  @Test func lateCopiesAreRefusedUnlessTheSourceCanBeRobbed() {
    var stage = Stage(Self.policy)
    stage.copy(Self.plain, lock: .missed)
    #expect(stage.asked.isEmpty)
    #expect(lastCopy(stage)?.outcome == .emptied && lastCopy(stage)?.limit == .lockTimeout)
    #expect(lastCopy(stage)?.isAlwaysWritten == true)
    var known = taught()
    known.copy(Self.plain, lock: .missed)
    #expect(lastCopy(known)?.outcome == .kept)
  }

  /// Java, xsel and LibreOffice on its gen toolkit refuse what they are asked for after their loss.
  @Test func aSourceThatRefusesAfterItsLossIsNeverRobbed() {
    var refusing = Self.plain
    refusing.refusesAfterLoss = true
    var stage = taught(refusing)
    let done = effects(of: &stage) { $0.copy(refusing) }
    #expect(order(done).last == "claim" && lastCopy(stage)?.outcome == .kept)
  }

  @Test func oneThatBeginsToRefuseLosesOneCopyWithARecord() {
    var stage = taught()
    var refusing = Self.plain
    refusing.refusesAfterLoss = true
    stage.copy(refusing)
    #expect(lastCopy(stage)?.outcome == .emptied && lastCopy(stage)?.limit == .afterLoss)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil && !stage.hasOpenConversions)
    let next = effects(of: &stage) { $0.copy(refusing) }
    #expect(order(next).last == "claim", "struck off, so the next one is kept")
    #expect(lastCopy(stage)?.outcome == .kept)
  }

  @Test func whatWasNotAskedForIsNamedAndAskedTheNextTime() {
    var stage = taught()
    let rich = Self.owner([("UTF8_STRING", .bytes(text)), ("text/rtf", .bytes(text))])
    stage.copy(rich)
    #expect(lastCopy(stage)?.outcome == .keptInPart && lastCopy(stage)?.leftOut == ["text/rtf"])
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"])
    stage.copy(rich)
    #expect(lastCopy(stage)?.outcome == .kept && stage.list(by: Apps.browser) == ["UTF8_STRING", "text/rtf"])
  }

  @Test func aSourceThatListsNothingGivesWhatItIsKnownFor() {
    var stage = taught()
    var mute = Self.plain
    mute.listing = .refuse
    stage.copy(mute)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    mute.listing = .silent
    stage.copy(mute)
    stage.wait(milliseconds: 20_000)
    #expect(stage.bridge.isSettled && !stage.hasOpenConversions)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
  }

  @Test func pastesWaitForAContentThatIsOnItsWay() {
    let slow = Self.owner([("UTF8_STRING", .chunks([text, []])), ("text/html", .bytes(text))])
    var stage = taught()
    stage.copy(slow)
    #expect(stage.bridge.isCopyTaken && !stage.bridge.isSettled)
    let before = stage.notified.count
    let key = stage.request("UTF8_STRING", by: Apps.browser)
    #expect(stage.notified.count == before, "neither served nor refused yet")
    stage.storeChunks()
    stage.storeChunks()
    #expect(stage.notified.count == before + 1 && stage.content[key] == text)
  }

  @Test func nobodyWaitsForEver() {
    let slow = Self.owner([("UTF8_STRING", .chunks([text, text, []]))])
    var stage = taught()
    stage.copy(slow)
    stage.request("UTF8_STRING", by: Apps.browser)
    stage.wait(milliseconds: 500)
    #expect(stage.notified.last?.property == Atom.none, "T_wait")
    // A newer copy overtakes it all.
    stage.request("UTF8_STRING", by: Apps.browser)
    stage.copy(.init(0x50_0001, Apps.browser, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.notified.count == 2 && lastCopy(stage)?.source == Apps.browser && !stage.hasOpenConversions)
  }

  @Test func theEndOfTheLockTakesWhatIsStillBeingRead() {
    let slow = Self.owner([("UTF8_STRING", .bytes(text)), ("text/html", .chunks([text, []]))])
    var stage = Stage(Self.policy)
    stage.copy(slow, lock: .held)
    #expect(!stage.bridge.isCopyTaken)
    let done = effects(of: &stage) { $0.feed(.lockEnds, nil) }
    #expect(order(done) == ["claim"] && stage.bridge.isCopyTaken && stage.owner == Stage.daemon)
    stage.storeChunks()
    stage.storeChunks()
    #expect(lastCopy(stage)?.outcome == .kept && stage.paste("text/html", by: Apps.browser)?.bytes == text)
  }

  @Test func theEndOfTheLockRefusesWhatWasNeverListed() {
    var silent = Self.plain
    silent.listing = .silent
    var stage = Stage(Self.policy)
    stage.copy(silent, lock: .held)
    stage.feed(.lockEnds, nil)
    #expect(stage.owner == Stage.daemon && !stage.hasOpenConversions)
    #expect(lastCopy(stage)?.outcome == .emptied && lastCopy(stage)?.limit == .lockTimeout)
  }

  @Test func theEndOfTheLockMeansNothingToOthers() {
    var stage = Stage(Policies.owning)
    stage.copy(Self.owner([("UTF8_STRING", .chunks([text, []]))]))
    #expect(effects(of: &stage) { $0.feed(.lockEnds, nil) }.isEmpty)
    stage.storeChunks()
    stage.storeChunks()
    #expect(effects(of: &stage) { $0.feed(.lockEnds, nil) }.isEmpty && stage.owner == Stage.daemon)
  }

  @Test func aNewerCopyBetweenLookAndClaimWins() {
    var stage = taught()
    stage.supersedesNextClaim = true
    stage.copy(Self.plain)
    stage.copy(.init(0x50_0001, Apps.browser, [("UTF8_STRING", .bytes(Array("other".utf8)))]))
    #expect(lastCopy(stage)?.source == Apps.browser && lastCopy(stage)?.outcome == .kept)
    #expect(stage.bridge.isSettled && !stage.hasOpenConversions)
  }

  @Test func aProbeThatNobodyAnswersEnds() {
    var stage = Stage(Self.policy)
    stage.copy(Self.plain, lock: .held)
    let id = ConversionID(77)
    stage.bridge.probes[id] = Probe(source: Apps.ledger, until: stage.now)
    stage.wait(milliseconds: 1)
    #expect(stage.bridge.probes.isEmpty && stage.bridge.nextDeadline == nil)
    #expect(stage.effects.contains(.endConversion(id, reusable: false)))
  }

  @Test func onlyAttestedExecutablesAreRemembered() {
    var memory = AnswerMemory()
    let claimed = Subject(origin: Apps.ledger.origin, executable: Fact("/usr/bin/any", .declared))
    #expect(!memory.wantsProof(of: claimed) && memory.wantsProof(of: Apps.ledger))
    for number in 0..<AnswerMemory.executables + 5 {
      memory.answered(Apps.local(Int32(number + 1), nil, "/usr/bin/program\(number)"))
    }
    for _ in 0..<AnswerMemory.neededProofs { memory.answered(Apps.ledger) }
    memory.offered([NamedAtom(Atom(1), "UTF8_STRING")], by: Apps.ledger)
    #expect(memory.targets(of: Apps.ledger) == nil, "as many as fit")
  }
}
