import BridgeCore
import Policy
import Selection
import Testing

private let text: [UInt8] = Array("content".utf8)

/// Content of a restricted source is never its owner's to give: not after rivals, repeated keys, time-outs or wrong answers.
@Suite struct RestrictedSourceTests {
  /// A lockdown, and every kind of rule that keeps something of the ledger's from the browser.
  private static let policies: [(String, PolicySet)] = [
    ("deny", Policies.financeStays),
    ("private", Policies.set([Policies.rule("p", .private) { $0.from = Policies.apps("Ledger") }])),
    (
      "ask",
      Policies.set([
        Policies.rule("a", .ask) {
          $0.from = Policies.apps("Ledger"); $0.to = .any
        }
      ])
    ),
    ("lockdown", Policies.owning.lockedDown),
    (
      "only-targets",
      Policies.set([
        Policies.rule("t", .allow) {
          $0.from = Policies.apps("Ledger")
          $0.obligations.targets = [.kind(.html)]
        }
      ])
    ),
  ]

  private func owner(_ replies: [(String, Stage.Reply)] = [("UTF8_STRING", .bytes(text))]) -> Stage.Owner {
    .init(0x40_0001, Apps.ledger, replies)
  }

  /// Ctrl+C held down repeats the copy 25 to 33 times a second, each within 100 ms of our claim (field A1).
  @Test(arguments: policies.indices) func heldKey(index: Int) {
    let (name, policy) = Self.policies[index]
    var stage = Stage(policy)
    for _ in 0..<100 {
      stage.copy(owner())
      stage.wait(milliseconds: 33)
    }
    for _ in 0..<20 {
      stage.wait(milliseconds: 500)
      #expect(stage.owner == Stage.daemon, "\(name)")
      #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil, "\(name)")
    }
    #expect(stage.audit.allSatisfy { $0.outcome != .left }, "\(name)")
  }

  /// A secret is one whatever the rules say.
  @Test func heldKeyInAVault() {
    let mark: (String, Stage.Reply) = ("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))
    var stage = Stage()
    for _ in 0..<100 {
      stage.copy(.init(0x40_0001, Apps.vault, [("UTF8_STRING", .bytes(text)), mark]))
      stage.wait(milliseconds: 33)
    }
    stage.wait(milliseconds: 60_000)
    #expect(stage.owner == Stage.daemon && stage.paste("UTF8_STRING", by: Apps.browser) == nil)
  }

  /// A rival that changes line ends or adds a blank is one as well, named, and no board is filled with what it brings (field A21).
  @Test(arguments: ["content\r\n", "content \n\n", "content"]) func changingRival(offered: String) throws {
    var stage = Stage.withBoards(
      Policies.set(
        [Policies.rule("p", .private) { $0.from = Policies.apps("Ledger") }],
        boards: [
          BoardTests.board {
            $0.mirrors = true; $0.members = Policies.apps("Ledger", "Tool")
          }
        ]))
    stage.copy(.init(0x48_0001, Apps.ledger, [("UTF8_STRING", .bytes(Array("before".utf8)))]))
    stage.wait(milliseconds: 3_000)
    stage.copy(owner([("UTF8_STRING", .bytes(Array("content\n".utf8)))]))
    let before = stage.claims.count
    for _ in 0..<1_000 {
      stage.copy(.init(0x70_0001, Apps.tool, [("STRING", .bytes(Array(offered.utf8)))]))
      stage.wait(milliseconds: 10)
    }
    #expect(stage.claims.count - before < 250, "not faster than every 50 ms")
    #expect(stage.bridge.status.first?.rival == Apps.tool)
    #expect(stage.audit.contains { $0.limit == .rival && $0.source == Apps.tool && $0.count > 1 })
    #expect(stage.paste("STRING", by: Apps.browser) == nil)
    let items = try #require(stage.bridge.boards[BoardTests.name]?.items)
    #expect(items.contains { $0.representations.contains { $0.payload == Payload(Array("before".utf8)) } })
  }

  /// An owner that doesn't list its targets in time is held empty where a rule could be about it.
  @Test func silentOwner() {
    var stage = Stage(Policies.financeStays)
    stage.copy(.init(0x40_0001, Apps.ledger, [], listing: .silent))
    stage.wait(milliseconds: 2_000)
    #expect(stage.owner == Stage.daemon && stage.bridge.isSettled && !stage.hasOpenConversions)
    #expect(stage.audit.last?.outcome == .emptied && stage.audit.last?.limit == .targetsTimeout)
  }

  /// A slow one is taken over with what has come; what it was asked for it may still give, and readers wait for that.
  @Test func slowOwner() {
    var stage = Stage(Policies.financeStays)
    stage.copy(owner([("UTF8_STRING", .bytes(text)), ("text/html", .silent), ("a/b", .bytes(text))]))
    stage.wait(milliseconds: 1_999)
    #expect(stage.owner == Window(0x40_0001))
    stage.wait(milliseconds: 1)
    #expect(stage.owner == Stage.daemon && !stage.bridge.isSettled)
    let before = stage.notified.count
    stage.request("UTF8_STRING", by: Apps.report)
    #expect(stage.notified.count == before, "it waits")
    stage.feed(.conversionAnswered(ConversionID(3), stored: false), nil)
    #expect(stage.notified.count == before + 1)
    #expect(stage.paste("UTF8_STRING", by: Apps.report)?.bytes == text)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    let copy = stage.audit.last { $0.kind == .copy }
    #expect(copy?.outcome == .keptInPart && copy?.leftOut == ["text/html", "a/b"])
  }

  /// Whatever happens, a restricted source owns the selection no longer than a capture's bound after its last claim; and what
  /// the policy refuses a reader is refused then.
  @Test(arguments: [UInt64(21), 22, 23, 24, 25, 26, 27, 28]) func boundInTime(seed: UInt64) {
    var random = SplitMix(seed: seed)
    for round in 0..<12 { history(&random, Self.policies[round % Self.policies.count]) }
  }

  private func history(_ random: inout SplitMix, _ policy: (name: String, set: PolicySet)) {
    let bound = 2_000 + 50
    var stage = Stage(policy.set)
    var claimedAt: MonotonicTime?
    let apps = [Apps.ledger, Apps.ledger, Apps.tool, Apps.browser]
    let restricted = Set([Window(0x40_0001), Window(0x40_0002)])
    for _ in 0..<200 {
      switch random.next() % 10 {
      case 0...4:
        let index = Int(random.next() % 4)
        let bytes = Array("content\(random.next() % 3)".utf8)
        let replies: [Stage.Reply] = [
          .bytes(bytes), .bytes(bytes), .bytes(bytes), .chunks([bytes, []]), .refuse, .silent, .nothingStored,
          .tooLarge,
        ]
        stage.copy(
          .init(
            0x40_0001 + UInt32(index), apps[index],
            [("UTF8_STRING", replies[Int(random.next() % 8)]), ("text/html", replies[Int(random.next() % 8)])],
            listing: [nil, nil, nil, .silent, .refuse][Int(random.next() % 5)]))
        if index < 2 { claimedAt = stage.now }
      case 5: stage.storeChunks()
      case 6: stage.clear(random.next() % 2 == 0 ? .set : .clientClosed)
      case 7: stage.feed(.conversionAnswered(ConversionID(random.next() % 60), stored: random.next() % 2 == 0), nil)
      default:
        for _ in 0..<(random.next() % 30) {
          stage.wait(milliseconds: 1 + Int(random.next() % 200))
          let isOver = claimedAt.map { stage.now >= $0.advanced(byMilliseconds: bound) } ?? false
          #expect(!(isOver && restricted.contains(stage.owner)), "\(policy.name): left with a restricted source")
        }
      }
    }
    // What is called left without a limit, or refused, was overtaken by a newer copy.
    let left = stage.audit.filter {
      $0.outcome == .left && $0.source == Apps.ledger && $0.verdict == .allow && $0.limit != nil
    }
    #expect(left.isEmpty, "\(policy.name): \(left)")
  }
}

/// Two apps that copy the same text one after the other (field A25).
@Suite struct SameTextTests {
  private static let policy = Policies.set([
    Policies.rule("ledger stays", .private) { $0.from = Policies.apps("Ledger") },
    Policies.rule("report stays", .private) { $0.from = Policies.apps("Report") },
  ])
  private static let html: (String, Stage.Reply) = ("text/html", .bytes(Array("<b>Total</b>".utf8)))
  private static let total: (String, Stage.Reply) = ("UTF8_STRING", .bytes(Array("Total".utf8)))

  @Test func eachHasItsOwnCopyAndNobodyTheOthers() {
    var stage = Stage(Self.policy)
    stage.copy(.init(0x40_0001, Apps.ledger, [Self.total]))
    stage.wait(milliseconds: 1_500)
    stage.copy(.init(0x50_0001, Apps.report, [Self.total, Self.html]))
    #expect(stage.bridge.status.first?.source == Apps.report)
    #expect(stage.paste("text/html", by: Apps.ledger) == nil)
    #expect(stage.paste("text/html", by: Apps.report)?.bytes == Array("<b>Total</b>".utf8))
    #expect(stage.paste("UTF8_STRING", by: Apps.report)?.bytes == Array("Total".utf8))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.audit.contains { $0.kind == .copy && $0.source == Apps.report && $0.outcome == .kept })
  }

  /// The rules about the second app's pastes count as well as the first one's.
  @Test func neitherLoosensTheOther() {
    let policy = Policies.set([
      Policies.rule("ledger", .deny) {
        $0.from = Policies.apps("Ledger"); $0.to = Policies.apps("Vault")
      },
      Policies.rule("report", .deny, line: 2) {
        $0.from = Policies.apps("Report"); $0.to = Policies.apps("Browser")
      },
    ])
    for order in [[Apps.ledger, Apps.report], [Apps.report, Apps.ledger]] {
      var stage = Stage(policy)
      for (index, app) in order.enumerated() {
        stage.copy(.init(0x40_0001 + UInt32(index), app, [Self.total]))
        stage.wait(milliseconds: 400)
      }
      for reader in [Apps.vault, Apps.browser] { #expect(stage.paste("UTF8_STRING", by: reader) == nil) }
      #expect(stage.paste("UTF8_STRING", by: Apps.tool)?.bytes == Array("Total".utf8))
    }
  }

  /// Another ending is another text, however long what they have in common is.
  @Test func anotherEndingIsAnotherText() {
    let common = Array(repeating: UInt8(65), count: 100_000)
    var stage = Stage(Self.policy)
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(common + [66]))]))
    stage.wait(milliseconds: 400)
    stage.copy(.init(0x70_0001, Apps.tool, [("UTF8_STRING", .bytes(common + [67]))]))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes.last == 67)
  }
}

/// `clipboard: guard`, which no rules at all mean: the source keeps CLIPBOARD.
@Suite struct GuardedClipboardTests {
  private func owner(_ replies: [(String, Stage.Reply)] = [("UTF8_STRING", .bytes(text))]) -> Stage.Owner {
    .init(0x40_0001, Apps.ledger, replies)
  }

  @Test func theSourceKeepsWhatNoRuleIsAbout() {
    var stage = Stage(.allowEverything)
    stage.copy(owner([("UTF8_STRING", .bytes(text)), ("text/html", .bytes(text))]))
    #expect(stage.owner == Window(0x40_0001) && stage.claims.isEmpty && stage.bridge.isSettled)
    #expect(stage.asked == ["TARGETS", "UTF8_STRING", "text/html"])
    #expect(stage.bridge.status.first?.state == .left)
    stage.clear(.clientClosed)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.paste("text/html", by: Apps.browser)?.bytes == text)
  }

  @Test func aHandOverTakesIt() {
    var stage = Stage(.allowEverything)
    stage.copy(owner())
    let saved = stage.request("SAVE_TARGETS", by: Apps.ledger, selection: stage.atoms.clipboardManager)
    #expect(stage.owner == Stage.daemon && stage.stored[saved] == .null)
    #expect(stage.notified.last?.property == saved.property)
    stage.copy(owner([("UTF8_STRING", .chunks([text, []]))]))
    let waiting = stage.request("SAVE_TARGETS", by: Apps.ledger, selection: stage.atoms.clipboardManager)
    #expect(stage.stored[waiting] == nil)
    stage.storeChunks()
    stage.storeChunks()
    #expect(stage.owner == Stage.daemon && stage.stored[waiting] == .null)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
  }

  @Test func aClearIsTheSources() {
    var stage = Stage(.allowEverything)
    stage.copy(owner())
    stage.clear()
    stage.wait(milliseconds: 1_000)
    #expect(stage.owner == Window.none && stage.bridge.isSettled && stage.bridge.nextDeadline == nil)
    // As well of an owner that had nothing to keep, and by the end of one that gave nothing.
    stage.copy(owner([("DELETE", .bytes([]))]))
    #expect(stage.owner == Window(0x40_0001))
    stage.clear(.clientClosed)
    stage.wait(milliseconds: 1_000)
    #expect(stage.owner == Window.none && stage.claims.isEmpty && stage.audit.count { $0.outcome == .left } == 1)
  }

  /// Under rules only what they could be about is taken; a new rule takes what was left.
  @Test func rulesTakeWhatTheyAreAbout() {
    var ruleset = Policies.financeStays.managed
    ruleset.clipboard = .guard
    let policy = PolicySet(managed: ruleset, user: Ruleset())
    var stage = Stage(policy)
    stage.copy(.init(0x50_0001, Apps.browser, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.owner == Window(0x50_0001))
    stage.copy(owner())
    #expect(stage.owner == Stage.daemon && stage.paste("UTF8_STRING", by: Apps.browser) == nil)

    stage = Stage(.allowEverything)
    stage.copy(owner())
    stage.replacePolicy(Policies.financeStays)
    #expect(stage.owner == Stage.daemon && stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.report)?.bytes == text)
  }

  /// Boards and actions have what is left with its source.
  @Test func actionsHaveIt() {
    var stage = Stage(.allowEverything)
    stage.copy(owner())
    #expect(stage.call(.read("general", item: nil, type: "UTF8_STRING"), by: Apps.browser) != .refused(.empty))
  }
}

/// Plain text under a name that its source doesn't list (field C3).
@Suite struct SameBytesTests {
  @Test func asciiIsServedUnderEveryNameOfText() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    for (target, type) in [("STRING", "STRING"), ("TEXT", "STRING"), ("text/plain", "text/plain")] {
      #expect(stage.paste(target, by: Apps.browser) == Stage.Received(type: type, format: 8, bytes: text))
    }
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"])
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(Array("é".utf8)))]))
    #expect(stage.paste("STRING", by: Apps.browser) == nil, "other bytes in Latin-1")
  }

  /// What an encoding lacks, sources write as question marks, or leave out: such a form is ASCII, and the text isn't.
  @Test func aFormThatLostLettersIsNoOther() {
    let whole = Array("zażółć".utf8)
    let lost = Array("za????".utf8)
    let java: [(String, Stage.Reply)] = [
      ("text/plain;charset=US-ASCII", .bytes(lost)), ("text/plain;charset=UTF-8", .bytes(whole)),
      ("STRING", .bytes(lost)),
    ]
    // Without UTF-8 the forms have to agree: UTF-16 and ISO 2022 may say more in bytes that are all below 0x80.
    let wide: [(String, Stage.Reply)] = [
      ("STRING", .bytes(lost)), ("text/plain;charset=utf-16", .bytes([0x22, 0x6f, 0x57, 0x5b])),
    ]
    let compound: [(String, Stage.Reply)] = [
      ("STRING", .bytes(lost)), ("COMPOUND_TEXT", .bytes([0x1b, 0x24, 0x28, 0x41, 0x30, 0x21])),
    ]
    for forms in [java, wide, compound] {
      var stage = Stage()
      stage.copy(.init(0x40_0001, Apps.ledger, forms))
      for target in ["text/plain;charset=utf-8", "text/plain", "TEXT"] {
        #expect(stage.paste(target, by: Apps.browser) == nil, "\(target) beside \(forms.map(\.0))")
      }
      #expect(stage.paste("STRING", by: Apps.browser)?.bytes == lost, "as the source gave it")
    }
  }

  @Test func anEncodingThatIsNotASCIIIsNotServed() {
    var stage = Stage()
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.paste("text/plain;charset=utf-16", by: Apps.browser) == nil)
    #expect(stage.paste("text/plain; charset=\"UTF-8\"", by: Apps.browser)?.bytes == text)
    #expect(stage.paste("text/plain;charset=ISO-8859-2", by: Apps.browser)?.bytes == text)
  }

  @Test func itIsDecidedAsItIsAskedFor() {
    let policy = Policies.set([
      Policies.rule("no STRING", .deny) {
        $0.from = Policies.apps("Ledger"); $0.targets = [.glob("STRING")]
      }
    ])
    var stage = Stage(policy)
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.paste("STRING", by: Apps.browser) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    stage = Stage(Policies.financeStays)
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.paste("STRING", by: Apps.browser) == nil)
    #expect(stage.audit.last?.outcome == .refused)
  }
}
