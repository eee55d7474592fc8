import BridgeCore
import Policy
import Selection
import Testing

private let text: [UInt8] = Array("content".utf8)

@Suite struct CaptureTests {
  /// Copy, capture, claim with the owner's own time, serve; content survives its app (K06).
  @Test func copyIsKeptAndServed() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("text/html", .bytes([60])), ("UTF8_STRING", .bytes(text))]))
    #expect(stage.asked == ["TARGETS", "UTF8_STRING", "text/html"], "text first, each target once")
    #expect(stage.owner == Stage.daemon)
    #expect(stage.ownerTime == stage.serverTime, "the claim carries the owner's time")
    #expect(!stage.hasOpenConversions)
    stage.sources = [:]
    #expect(stage.list(by: Apps.browser) == ["text/html", "UTF8_STRING"], "the owner's own order")
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == .init(type: "UTF8_STRING", format: 8, bytes: text))
    #expect(stage.paste("image/png", by: Apps.browser) == nil, "K04 B028: what isn't there is refused")
    #expect(stage.bridge.isSettled)
  }

  /// Types and formats are passed on as they were; chunked content is whole whatever its chunks.
  @Test func typesFormatsAndChunks() {
    var stage = Stage()
    let big = (0..<700_001).map { UInt8(truncatingIfNeeded: $0 / 3) }
    let chunks = stride(from: 0, to: big.count, by: 4_000).map { Array(big[$0..<min($0 + 4_000, big.count)]) } + [[]]
    stage.copy(
      .init(
        0x40_0001, Apps.ledger,
        [("text/html", .chunks(chunks)), ("x/int", .typed("INTEGER", 32, [1, 0, 0, 0])), ("UTF8_STRING", .bytes([]))]))
    #expect(stage.owner != Stage.daemon, "own-last: not before the last answer is in")
    for _ in chunks { stage.storeChunks() }
    #expect(stage.owner == Stage.daemon)
    #expect(stage.paste("text/html", by: Apps.browser) == .init(type: "text/html", format: 8, bytes: big))
    #expect(stage.paste("x/int", by: Apps.browser) == .init(type: "INTEGER", format: 32, bytes: [1, 0, 0, 0]))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == [], "K15 B139: empty is content")
    #expect(stage.watched.isEmpty)
  }

  /// Targets that the owner lists and then doesn't give are not listed by us (K04 B043).
  @Test func failedTargetsAreNotOffered() {
    var stage = Stage()
    stage.copy(
      .init(
        0x40_0001, Apps.ledger,
        [("a/1", .refuse), ("a/2", .bytes([1])), ("a/3", .nothingStored), ("a/4", .bytes([2])), ("a/5", .bytes([3]))]))
    #expect(stage.list(by: Apps.browser) == ["a/2", "a/4", "a/5"])
    #expect(stage.audit.last { $0.kind == .copy }?.outcome == .keptInPart)
    #expect(stage.audit.last { $0.kind == .copy }?.leftOut == ["a/1", "a/3"])
  }

  /// A picture of no bytes is no picture; other targets may be empty (K15 B139). LibreOffice answers so for many cells.
  @Test func emptyPicturesAreNotOffered() {
    var stage = Stage()
    stage.copy(
      .init(
        0x40_0001, Apps.ledger,
        [
          ("image/png", .bytes([])), ("image/svg+xml", .chunks([[]])), ("text/html", .bytes([])),
          ("UTF8_STRING", .bytes(text)),
        ]))
    stage.storeChunks()
    #expect(stage.list(by: Apps.browser) == ["text/html", "UTF8_STRING"])
    #expect(stage.paste("image/png", by: Apps.browser) == nil)
    #expect(stage.audit.last { $0.kind == .copy }?.leftOut == ["image/png", "image/svg+xml"])
  }

  /// LibreOffice is asked for text alone, then for one document and picture after another; what had no turn before T_cap isn't
  /// offered, and text always is.
  @Test func officeIsAskedInTurns() {
    var stage = Stage()
    let office = "application/x-openoffice-link"
    stage.copy(
      .init(
        0x40_0001, Apps.ledger,
        [
          ("image/png", .bytes([1])), (office, .bytes([2])), ("text/html", .silent),
          ("UTF8_STRING", .chunks([text, []])),
        ]))
    #expect(stage.asked == ["TARGETS", "UTF8_STRING"])
    stage.storeChunks()
    stage.storeChunks()
    #expect(stage.asked == ["TARGETS", "UTF8_STRING", office, "text/html"])
    stage.wait(milliseconds: 10_000)
    #expect(stage.list(by: Apps.browser) == [office, "UTF8_STRING"])
    #expect(stage.audit.last { $0.kind == .copy }?.leftOut == ["text/html", "image/png"])
    #expect(!stage.hasOpenConversions)
  }

  /// At most one conversion is outstanding, chunks included: many owners have one transfer at a time (field A6).
  @Test func oneConversionAtATime() {
    var stage = Stage()
    stage.copy(
      .init(
        0x40_0001, Apps.ledger,
        [
          ("text/html", .chunks([[1], [2], []])), ("UTF8_STRING", .bytes(text)), ("a/b", .silent),
          ("c/d", .bytes(text)),
        ]))
    #expect(stage.asked == ["TARGETS", "UTF8_STRING", "text/html"])
    stage.wait(milliseconds: 4_000)
    for _ in 0..<3 { stage.storeChunks() }
    #expect(stage.asked == ["TARGETS", "UTF8_STRING", "text/html", "a/b"])
    stage.feed(.conversionAnswered(ConversionID(4), stored: false), nil)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.list(by: Apps.browser) == ["text/html", "UTF8_STRING", "c/d"])
  }

  /// An owner that can't list its targets is asked for text by its common names.
  @Test func ownerWithoutTargets() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.tool, [("STRING", .bytes(text))], listing: .refuse))
    #expect(stage.list(by: Apps.browser) == ["STRING"])
  }

  /// Everything is refused at first: an allowed source keeps its selection, a restricted one is held empty, since it may
  /// give to others what it didn't give to us.
  @Test func everythingRefused() {
    for (policy, isHeld) in [(Policies.owning, false), (Policies.financeStays, true)] {
      var stage = Stage(policy)
      stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .refuse), ("text/html", .nothingStored)]))
      #expect((stage.owner == Stage.daemon) == isHeld)
      #expect(stage.audit.last?.outcome == (isHeld ? .emptied : .left))
      #expect(stage.bridge.restrictedForeigners.isEmpty)
      stage.replacePolicy(Policies.denyLedgerCopies)
      #expect(stage.bridge.restrictedForeigners == (isHeld ? [] : [stage.atoms.clipboard]))
    }
  }

  /// The owner doesn't answer: it is left in place after T_targets (K03 B021), told apart from nothing there.
  @Test func hungOwnerIsLeft() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [], listing: .silent))
    stage.wait(milliseconds: 1_999)
    #expect(!stage.bridge.isSettled)
    stage.wait(milliseconds: 1)
    #expect(stage.bridge.isSettled)
    #expect(stage.owner == Window(0x40_0001))
    #expect(stage.audit.last?.limit == .targetsTimeout)
    #expect(stage.audit.last?.outcome == .left)
    #expect(stage.bridge.status.first?.state == .foreign)
    #expect(stage.bridge.nextDeadline == nil, "nothing is waited for any more")
  }

  /// An owner that was only busy answers late: it is guarded from then on.
  @Test func lateOwnerIsCapturedAfterAll() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))], listing: .silent))
    stage.wait(milliseconds: 3_000)
    stage.sources[Window(0x40_0001)]?.listing = nil
    stage.feed(.conversionAnswered(ConversionID(1), stored: true), nil)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
  }

  /// Nothing came before T_cap: an allowed source keeps its selection, a restricted one is held empty.
  @Test func nothingInTime() {
    for (policy, isHeld) in [(Policies.owning, false), (Policies.financeStays, true)] {
      var stage = Stage(policy)
      stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)]))
      stage.wait(milliseconds: 10_000)
      #expect((stage.owner == Stage.daemon) == isHeld)
      #expect(stage.audit.last?.limit == .captureTimeout)
      #expect(stage.audit.last?.outcome == (isHeld ? .emptied : .left))
      #expect(!stage.hasOpenConversions)
    }
  }

  /// A slow format ends with T_cap; what arrived is offered (K12 B116).
  @Test func slowTargetIsLeftOut() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text)), ("image/png", .silent)]))
    stage.wait(milliseconds: 9_999)
    #expect(stage.owner == Window(0x40_0001), "until then pastes go to the source itself")
    stage.wait(milliseconds: 1)
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"])
    #expect(stage.asked.filter { $0 == "image/png" }.count == 1)
    #expect(stage.audit.last { $0.kind == .copy }?.limit == .captureTimeout)
  }

  /// Chunks that stop coming end their transfer after T_idle, nothing partial is kept (K01 B008).
  @Test func stalledChunksEnd() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .chunks([[1], [2], [3]]))]))
    stage.storeChunks()
    stage.wait(milliseconds: 5_000)
    #expect(stage.owner == Window(0x40_0001))
    #expect(stage.audit.last?.limit == .idleTimeout)
    #expect(stage.bridge.status.first?.bytes == 0)
    stage.copy(.init(0x50_0001, Apps.report, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text, "the next copy is captured normally")
  }

  /// The owner ends half-way: whole representations stay, partial ones don't (K02 B016).
  @Test func ownerDiesHalfway() {
    var stage = Stage()
    stage.copy(
      .init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text)), ("image/png", .chunks([[1], [2], []]))]))
    stage.storeChunks()
    stage.clear(.clientClosed)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"])

    var bare = Stage()
    bare.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .chunks([[1], [2], []]))]))
    bare.storeChunks()
    bare.clear(.clientClosed)
    #expect(bare.owner == .none)
    bare.wait(milliseconds: 100)
    #expect(bare.owner == Stage.daemon)
    #expect(bare.list(by: Apps.browser) == [])
    #expect(bare.paste("UTF8_STRING", by: Apps.browser) == nil)
  }

  /// A newer copy ends the capture of the older one; late answers are dropped (K05 B056).
  @Test func newerCopyWins() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .silent)]))
    stage.copy(.init(0x50_0001, Apps.report, [("UTF8_STRING", .bytes([50]))]))
    stage.feed(.conversionAnswered(ConversionID(2), stored: true), nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == [50])
    #expect(!stage.hasOpenConversions)
  }

  /// A claim that a newer copy has overtaken gives way, and the newer one is captured (K05 B044).
  @Test func supersededClaimGivesWay() {
    var stage = Stage()
    stage.supersedesNextClaim = true
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes([49]))]))
    #expect(stage.audit.allSatisfy { $0.outcome != .kept })
    stage.copy(.init(0x50_0001, Apps.report, [("UTF8_STRING", .bytes([50]))]))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == [50])
  }

  /// The owner ended between its last answer and our claim: what it gave is kept (K06).
  @Test func ownerEndsBeforeTheClaim() {
    var stage = Stage()
    stage.supersedesNextClaim = true
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    stage.clear(.clientClosed)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    #expect(stage.audit.contains { $0.outcome == .kept })

    var cleared = Stage()
    cleared.supersedesNextClaim = true
    cleared.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    cleared.clear()
    cleared.wait(milliseconds: 100)
    #expect(cleared.paste("UTF8_STRING", by: Apps.browser) == nil, "a clear by request goes first")
  }

  /// PCManFM clears the selection as it hands out the list of files that were cut: the files can still be moved, once. The
  /// same clear with anything else in that list or still to come is a clear (K17, K09 B085).
  @Test(arguments: ["cut\nfile:///a", "copy\nfile:///a", "cut"])
  func clearedByGivingCutFiles(list: String) {
    let files = "x-special/gnome-copied-files"
    var stage = Stage()
    stage.copy(
      .init(0x40_0001, Apps.ledger, [(files, .silent), ("text/uri-list", .bytes(text))]))
    #expect(stage.asked == ["TARGETS", "text/uri-list", files])
    stage.clear()
    stage.sources[Window(0x40_0001)] = .init(0x40_0001, Apps.ledger, [(files, .bytes(Array(list.utf8)))])
    stage.feed(.conversionAnswered(ConversionID(3), stored: true), nil)
    stage.wait(milliseconds: 100)
    let isKept = list.hasPrefix("cut\n")
    #expect(stage.paste(files, by: Apps.browser)?.bytes == (isKept ? Array(list.utf8) : nil))
    #expect(stage.paste("text/uri-list", by: Apps.browser)?.bytes == (isKept ? text : nil))
    #expect(stage.audit.contains { $0.kind == .clear } == !isKept)
    #expect(!stage.hasOpenConversions)
  }

  /// A clear while more than that list is still to come is a clear, and so is one that no answer follows.
  @Test func clearedBeforeTheCutFiles() {
    let files = "x-special/gnome-copied-files"
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [(files, .silent), ("text/uri-list", .silent)]))
    stage.clear()
    #expect(stage.audit.contains { $0.kind == .clear })
    var unanswered = Stage()
    unanswered.copy(.init(0x40_0001, Apps.ledger, [(files, .silent), ("text/uri-list", .bytes(text))]))
    unanswered.clear()
    unanswered.wait(milliseconds: 10_100)
    #expect(unanswered.paste("text/uri-list", by: Apps.browser) == nil)
    #expect(unanswered.audit.contains { $0.kind == .clear })
    #expect(!unanswered.hasOpenConversions)
  }

  /// The policy changes between a claim that came too late and the event that says that the owner only ended: the clip is
  /// judged by the new one.
  @Test func policyChangesBetweenTwoClaims() {
    var stage = Stage()
    stage.supersedesNextClaim = true
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    stage.replacePolicy(Policies.denyLedgerCopies)
    stage.clear(.clientClosed)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.audit.map(\.outcome) == [.dropped])
  }

  /// A source that takes its own content back at once, again and again, is no better than a rival (K07).
  @Test func sourceThatFightsBack() {
    var stage = Stage()
    var claims = 0
    for _ in 0..<10 {
      stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
      if stage.owner == Stage.daemon { claims += 1 } else { break }
      stage.wait(milliseconds: 5)
    }
    #expect(claims == 9, "its copy, and eight answers to our claims")
    var patient = Stage()
    for _ in 0..<10 {
      patient.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
      patient.wait(milliseconds: 150)
      #expect(patient.owner == Stage.daemon, "a person who presses the key again and again")
    }
  }

  /// A clear by the source is final; after 100 ms of quiet the selection is held empty with the clear's time (K09 B085).
  @Test func clearIsFinal() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.vault, [("UTF8_STRING", .bytes(text))]))
    stage.clear()
    #expect(stage.bridge.status.first?.state == .settling)
    stage.wait(milliseconds: 99)
    #expect(stage.owner == .none, "an app that clears and copies again within 100 ms isn't disturbed")
    stage.wait(milliseconds: 1)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.ownerTime == stage.serverTime)
    #expect(stage.list(by: Apps.vault) == [])
    #expect(stage.paste("UTF8_STRING", by: Apps.vault) == nil)
    #expect(stage.bridge.status.first?.bytes == 0)
  }

  /// LibreOffice clears right before each copy.
  @Test func copyRightAfterAClear() {
    var stage = Stage()
    stage.clear()
    stage.wait(milliseconds: 2)
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    stage.wait(milliseconds: 500)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
  }

  /// An owner with nothing to offer has nothing to keep, and stays (field C1); of a restricted one nothing is known, so that is
  /// an empty copy: it clears.
  @Test func ownerWithoutContent() {
    for (policy, isHeld) in [(Policies.owning, false), (Policies.financeStays, true)] {
      var stage = Stage(policy)
      stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
      stage.copy(.init(0x50_0001, Apps.report, [("DELETE", .bytes([]))]))
      #expect((stage.owner == Stage.daemon) == isHeld)
      #expect(stage.asked == ["TARGETS", "UTF8_STRING", "TARGETS"])
      #expect(stage.list(by: Apps.report) == (isHeld ? [] : nil))
    }
  }

  /// Over MAX nothing is cut: the clip stays with its owner, or is refused if its source is restricted (K16 B146).
  @Test func tooLarge() {
    let limits: [LimitName: Int] = [.maxClip: 10]
    var free = Stage(Policies.set([], limits: limits))
    free.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(Array(repeating: 1, count: 11)))]))
    #expect(free.owner == Window(0x40_0001))
    #expect(free.audit.last?.limit == .clipSize)
    #expect(free.audit.last?.outcome == .left)
    var restricted = Stage(
      Policies.set(
        [
          Policies.rule("stays", .deny) {
            $0.from = Policies.apps("Ledger"); $0.to = .any
          }
        ], limits: limits))
    restricted.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(Array(repeating: 1, count: 11)))]))
    #expect(restricted.owner == Stage.daemon)
    #expect(restricted.list(by: Apps.browser) == [])
    #expect(restricted.audit.last { $0.kind == .copy }?.outcome == .emptied)
  }

  /// More targets than the limit: the rest isn't offered, and that is written down.
  @Test func tooManyTargets() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, (0..<300).map { ("x/\($0)", .bytes([1])) }))
    #expect(stage.list(by: Apps.browser)?.count == 256)
    #expect(stage.audit.last { $0.kind == .copy }?.limit == .targetCount)
  }

  /// A rival that takes the same content back is met three times, then left with it (K07 B065).
  @Test func rivalIsMetThreeTimes() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    var claims = 0
    for _ in 0..<8 where stage.owner == Stage.daemon {
      stage.wait(milliseconds: 5)
      stage.copy(.init(0x70_0001, Apps.tool, [("UTF8_STRING", .bytes(text))]))
      if stage.owner == Stage.daemon { claims += 1 }
    }
    #expect(claims == 3)
    #expect(stage.owner == Window(0x70_0001))
    #expect(stage.bridge.status.first?.rival == Apps.tool)
    #expect(stage.audit.last?.limit == .rival)
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes([1]))]))
    #expect(stage.owner == Stage.daemon, "a real copy afterwards is taken as ever")
  }

  /// Secrets end after 60 s at the latest and keep their marker (product.md 5.8).
  @Test func secretsExpire() {
    var stage = Stage()
    stage.copy(
      .init(
        0x40_0001, Apps.vault,
        [("UTF8_STRING", .bytes(text)), ("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))]))
    #expect(stage.bridge.status.first?.isSensitive == true)
    stage.wait(milliseconds: 59_999)
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING", "x-kde-passwordManagerHint"])
    stage.wait(milliseconds: 1)
    #expect(stage.list(by: Apps.browser) == [])
    #expect(stage.owner == Stage.daemon)
    #expect(stage.audit.last?.kind == .expire)
    #expect(stage.effects.contains(.reassert(selection: stage.atoms.clipboard, time: stage.ownerTime)))
  }

  /// A hand-over at exit is answered at once when the content is ours, else when its capture ends (K06 B059, B061).
  @Test func handOver() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    let held = stage.request("SAVE_TARGETS", by: Apps.ledger, selection: stage.atoms.clipboardManager)
    #expect(stage.stored[held] == .null)
    #expect(stage.notified.last?.property == held.property)

    stage.copy(.init(0x50_0001, Apps.report, [("UTF8_STRING", .chunks([[1], []]))]))
    let before = stage.notified.count
    let waiting = stage.request("SAVE_TARGETS", by: Apps.report, selection: stage.atoms.clipboardManager)
    #expect(stage.notified.count == before, "late-notified")
    stage.storeChunks()
    stage.storeChunks()
    #expect(stage.stored[waiting] == .null)
    #expect(stage.notified.count == before + 1)
    stage.clear()
    stage.request("SAVE_TARGETS", by: Apps.report, selection: stage.atoms.clipboardManager)
    #expect(stage.notified.last?.property == Atom.none, "nothing to save")
  }
}
