import BridgeCore
import Policy
import Selection
import Testing

private let text: [UInt8] = Array("content".utf8)

private func textOwner(_ subject: Subject, _ extra: [(String, Stage.Reply)] = []) -> Stage.Owner {
  Stage.Owner(0x40_0001, subject, [("UTF8_STRING", .bytes(text))] + extra)
}

@Suite struct ServingTests {
  /// A refused copy leaves the selection empty, never an older clip, and its owner is asked for nothing (K19 B175).
  @Test func deniedCopy() {
    var stage = Stage(Policies.denyLedgerCopies)
    stage.copy(Stage.Owner(0x50_0001, Apps.report, [("UTF8_STRING", .bytes([79]))]))
    stage.copy(textOwner(Apps.ledger))
    #expect(stage.asked.filter { $0 == "TARGETS" }.count == 1)
    #expect(stage.owner == Stage.daemon)
    for app in [Apps.browser, Apps.ledger, Apps.report] {
      #expect(stage.list(by: app) == [])
      #expect(stage.paste("UTF8_STRING", by: app) == nil)
    }
    let record = stage.audit.last { $0.kind == .copy }
    #expect(record?.outcome == .emptied)
    #expect(record?.verdict == .deny)
    #expect(record?.isAlwaysWritten == true)
  }

  /// One who may not paste sees metadata only; one verdict per clip and subject is written down (product.md 2).
  @Test func deniedPaste() {
    var stage = Stage(Policies.financeStays)
    stage.copy(textOwner(Apps.ledger, [("text/html", .bytes([60]))]))
    #expect(stage.list(by: Apps.browser) == [])
    for _ in 0..<5 { #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil) }
    #expect(stage.list(by: Apps.report) == ["UTF8_STRING", "text/html"])
    #expect(stage.paste("UTF8_STRING", by: Apps.report)?.bytes == text)
    let refusals = stage.audit.filter { $0.destination == Apps.browser }
    #expect(refusals.map(\.kind) == [.list, .paste])
    #expect(refusals.map(\.notifies) == [false, true], "a list never notifies")
    #expect(refusals.last?.message == "Finance stays.")
    #expect(refusals.allSatisfy { $0.outcome == .refused && $0.isAlwaysWritten })
    #expect(
      refusals.last?.reason
        == .rule(
          RuleReference(
            name: "finance stays", position: SourcePosition(file: "test.yaml", line: 7, column: 1))))
  }

  /// Plain text is served under a name that the source doesn't list only where no form of it has lost letters.
  @Test func otherSpellings() {
    var stage = Stage(Policies.owning)
    stage.copy(textOwner(Apps.ledger))
    #expect(stage.paste("STRING", by: Apps.report)?.bytes == text)
    #expect(stage.paste("text/plain;charset=utf-8", by: Apps.report)?.bytes == text)
    let lossy: (String, Stage.Reply) = ("text/plain", .bytes(Array("caf?".utf8)))
    stage.copy(.init(0x50_0001, Apps.ledger, [lossy, ("UTF8_STRING", .bytes(Array("café".utf8)))]))
    #expect(stage.paste("text/plain;charset=utf-8", by: Apps.report) == nil)
    #expect(stage.paste("STRING", by: Apps.report) == nil)
  }

  /// What a policy that isn't enforced would refuse is served, and written down as what would have been decided.
  @Test func recordedOnly() {
    var stage = Stage(PolicySet(managed: Policies.financeStays.managed.enforced(false), user: Ruleset()))
    stage.copy(textOwner(Apps.ledger))
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"])
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    let record = stage.audit.last { $0.destination == Apps.browser }
    #expect(record?.kind == .paste && record?.outcome == .served && record?.verdict == .allow)
    #expect(record?.notEnforced == .deny && record?.isAlwaysWritten == true && record?.notifies == false)
    #expect(record?.message == "Finance stays.")
    #expect(stage.paste("UTF8_STRING", by: Apps.report)?.bytes == text)
    #expect(stage.audit.last { $0.destination == Apps.report }?.notEnforced == nil)
  }

  /// One representation that would be denied is enough for the copy's record.
  @Test func recordedOfOneRepresentation() {
    let rule = Policies.rule("no markup", .deny) {
      $0.from = Policies.apps("Ledger")
      $0.actions = [.copy]
      $0.targets = [.kind(.html)]
    }
    var stage = Stage(PolicySet(managed: Policies.set([rule]).managed.enforced(false), user: Ruleset()))
    stage.copy(textOwner(Apps.ledger, [("text/html", .bytes([60]))]))
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING", "text/html"])
    let record = stage.audit.last { $0.kind == .copy }
    #expect(record?.outcome == .kept && record?.verdict == .allow)
    #expect(record?.notEnforced == .deny && record?.isAlwaysWritten == true)
  }

  /// Conversions within a second are one paste in the audit, a later one is another.
  @Test func pastesAreWrittenDownOnce() {
    var stage = Stage()
    stage.copy(textOwner(Apps.ledger))
    for _ in 0..<4 { #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text) }
    #expect(stage.audit.filter { $0.kind == .paste }.count == 1)
    stage.wait(milliseconds: 1_000)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    #expect(stage.audit.filter { $0.kind == .paste }.count == 2)
  }

  /// `private` keeps a clip for the app alone, in all its processes, or for the members of its board.
  @Test func privateClips() {
    var alone = Stage(Policies.vaultIsPrivate)
    alone.copy(textOwner(Apps.vault))
    #expect(alone.paste("UTF8_STRING", by: Apps.vault)?.bytes == text)
    #expect(alone.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(alone.list(by: Apps.browser) == [])
    alone.wait(milliseconds: 20_000)
    #expect(alone.paste("UTF8_STRING", by: Apps.vault) == nil, "expires: 20s")

    var suite = Stage(Policies.financeBoard)
    suite.copy(textOwner(Apps.ledger))
    #expect(suite.paste("UTF8_STRING", by: Apps.ledgerAgain)?.bytes == text)
    #expect(suite.paste("UTF8_STRING", by: Apps.report)?.bytes == text)
    #expect(suite.paste("UTF8_STRING", by: Apps.browser) == nil)
    guard case .outsideAudience? = suite.audit.last?.reason else {
      Issue.record("the reason names the audience, found \(String(describing: suite.audit.last?.reason))")
      return
    }
  }

  /// With the policy unreadable only same-app paste works.
  @Test func locked() {
    var stage = Stage(.locked)
    stage.copy(textOwner(Apps.ledger))
    #expect(stage.paste("UTF8_STRING", by: Apps.ledgerAgain)?.bytes == text)
    #expect(stage.paste("UTF8_STRING", by: Apps.report) == nil)
    #expect(stage.list(by: Apps.tool) == [])
  }

  /// Partly allowed clips list exactly what is allowed, also inside MULTIPLE (K19 B179).
  @Test func partlyAllowed() {
    var stage = Stage(
      Policies.set([
        Policies.rule("text only", .deny) {
          $0.to = Policies.apps("Browser")
          $0.targets = [.kind(.image), .kind(.files)]
        }
      ]))
    stage.copy(textOwner(Apps.ledger, [("image/png", .bytes([1])), ("text/uri-list", .bytes([2]))]))
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"])
    #expect(stage.paste("image/png", by: Apps.browser) == nil)
    let multiple = stage.atom("PAIRS").atom
    let (one, two) = (stage.atom("P1").atom, stage.atom("P2").atom)
    let (utf8, png) = (stage.atom("UTF8_STRING"), stage.atom("image/png"))
    stage.pairLists[multiple] = [AtomPair(target: utf8, property: one), AtomPair(target: png, property: two)]
    let key = stage.request("MULTIPLE", by: Apps.browser, property: "PAIRS")
    #expect(stage.stored[key] == .pairs([utf8.atom, one, png.atom, .none]))
    #expect(stage.content[TransferKey(window: key.window, property: one)] == text)
    #expect(stage.content[TransferKey(window: key.window, property: two)] == nil)
  }

  /// MULTIPLE: each pair answered, refused ones None, one notify; nested or too many pairs refused (K04 B030).
  @Test func multiple() {
    var stage = Stage()
    stage.copy(textOwner(Apps.ledger))
    let list = stage.atom("PAIRS").atom
    let time = stage.atom("P3").atom
    let pairs = [
      AtomPair(target: stage.atoms.timestamp, property: time), AtomPair(target: stage.atom("FOO"), property: time),
      AtomPair(target: stage.atoms.multiple, property: time),
      AtomPair(target: stage.atom("UTF8_STRING"), property: .none),
    ]
    stage.pairLists[list] = pairs
    let before = stage.notified.count
    let key = stage.request("MULTIPLE", by: Apps.browser, property: "PAIRS")
    #expect(
      stage.stored[key]
        == .pairs([
          stage.atoms.timestamp.atom, time, stage.atom("FOO").atom, .none, stage.atoms.multiple.atom, .none,
          stage.atom("UTF8_STRING").atom, .none,
        ]))
    #expect(stage.stored[TransferKey(window: key.window, property: time)] == .time(stage.ownerTime))
    #expect(stage.notified.count == before + 1)

    stage.pairLists[list] = (0..<70).map {
      AtomPair(target: stage.atom("UTF8_STRING"), property: stage.atom("Q\($0)").atom)
    }
    stage.request("MULTIPLE", by: Apps.browser, property: "PAIRS")
    #expect(stage.content.keys.filter { stage.name(of: $0.property).hasPrefix("Q") }.count == 64)
    #expect(stage.audit.last?.limit == .pairCount)
    stage.pairLists[list] = nil
    stage.request("MULTIPLE", by: Apps.browser, property: "PAIRS")
    #expect(stage.notified.last?.property == Atom.none, "no pair list")
  }

  /// TIMESTAMP is the time of the claim, TARGETS names what every owner answers, side effects are refused (K04).
  @Test func metadata() {
    var stage = Stage()
    stage.copy(textOwner(Apps.ledger))
    let key = stage.request("TIMESTAMP", by: Apps.browser)
    #expect(stage.stored[key] == .time(stage.ownerTime))
    let list = stage.request("TARGETS", by: Apps.browser)
    guard case .targets(let targets)? = stage.stored[list] else {
      Issue.record("no list")
      return
    }
    #expect(targets.prefix(3) == [stage.atoms.targets.atom, stage.atoms.timestamp.atom, stage.atoms.multiple.atom])
    for target in ["DELETE", "INSERT_SELECTION", "SAVE_TARGETS", "FOO_BAR"] {
      stage.request(target, by: Apps.browser)
      #expect(stage.notified.last?.property == Atom.none)
    }
  }

  /// A client from before the ICCCM names no property: the target's own atom is meant (ICCCM 2.2).
  @Test func obsoleteClient() {
    var stage = Stage()
    stage.copy(textOwner(Apps.ledger))
    let utf8 = stage.atom("UTF8_STRING")
    stage.feed(
      .conversionRequested(
        ConversionRequest(
          requestor: Window(9), selection: stage.atoms.clipboard, target: utf8, property: .none, time: .current)),
      Apps.browser)
    #expect(stage.notified.last?.property == utf8.atom)
    #expect(stage.content[TransferKey(window: Window(9), property: utf8.atom)] == text)
  }

  /// Obligations: targets, plain-text, max-size, one-shot, replace-with.
  @Test func obligations() {
    func stage(_ change: @escaping (inout Rule) -> Void) -> Stage {
      var stage = Stage(Policies.set([Policies.rule("terms", .allow, change)]))
      stage.copy(textOwner(Apps.ledger, [("text/html", .bytes([60])), ("image/png", .bytes([1, 2, 3]))]))
      return stage
    }
    var some = stage { $0.obligations.targets = [.kind(.html)] }
    #expect(some.list(by: Apps.browser) == ["text/html"])
    var plain = stage {
      $0.to = Policies.apps("Browser"); $0.obligations.plainText = true
    }
    #expect(plain.list(by: Apps.browser) == ["UTF8_STRING"])
    #expect(plain.list(by: Apps.report) == ["UTF8_STRING", "text/html", "image/png"])
    var small = stage {
      $0.actions = [.copy]; $0.obligations.maxSize = 4
    }
    #expect(small.list(by: Apps.browser) == ["text/html", "image/png"], "sizes are those of representations")
    #expect(small.audit.first?.outcome == .refused)
    #expect(small.audit.first?.limit == .clipSize)
    #expect(small.audit.first?.targets == ["UTF8_STRING"])
    var once = stage {
      $0.from = Policies.apps("Ledger"); $0.actions = [.copy]; $0.obligations.oneShot = true
    }
    #expect(once.paste("UTF8_STRING", by: Apps.ledger)?.bytes == text, "its own app doesn't use it up")
    #expect(once.paste("UTF8_STRING", by: Apps.browser)?.bytes == text)
    #expect(once.paste("text/html", by: Apps.browser)?.bytes == [60], "the same paste, its next conversion")
    #expect(once.paste("UTF8_STRING", by: Apps.report) == nil)
    once.wait(milliseconds: 1_000)
    #expect(once.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(once.bridge.status.first?.bytes == 0)
  }

  @Test func replacement() {
    var stage = Stage(
      Policies.set([
        Policies.rule("replaced", .deny) {
          $0.to = Policies.apps("Browser"); $0.obligations.replacement = "gesperrt – no"
        }
      ]))
    stage.copy(textOwner(Apps.ledger, [("STRING", .bytes(text)), ("text/html", .bytes([60]))]))
    #expect(stage.list(by: Apps.browser) == ["UTF8_STRING"], "Latin-1 has no dash, so STRING isn't offered")
    #expect(
      stage.paste("UTF8_STRING", by: Apps.browser)
        == .init(type: "UTF8_STRING", format: 8, bytes: Array("gesperrt – no".utf8)))
    #expect(stage.paste("text/html", by: Apps.browser) == nil)
    #expect(stage.paste("text/plain;charset=utf-16", by: Apps.browser) == nil, "it would be UTF-8 under that name")
    #expect(stage.audit.contains { $0.outcome == .replaced && $0.kind == .paste })
  }

  /// A new policy judges the clip that is held anew; what it denies is gone.
  @Test func policyReplaced() {
    var stage = Stage()
    stage.copy(textOwner(Apps.ledger))
    stage.replacePolicy(Policies.financeStays)
    #expect(stage.list(by: Apps.browser) == [])
    #expect(stage.effects.contains(.reassert(selection: stage.atoms.clipboard, time: stage.ownerTime)))
    stage.replacePolicy(Policies.denyLedgerCopies)
    #expect(stage.list(by: Apps.ledger) == [])
    #expect(stage.bridge.status.first?.bytes == 0)
    stage.replacePolicy(Policies.owning)
    #expect(stage.paste("UTF8_STRING", by: Apps.ledger) == nil, "loosening brings nothing back")
  }
}

@Suite struct TransferTests {
  private func big(_ policy: PolicySet = Policies.owning) -> Stage {
    var stage = Stage(policy)
    stage.copy(Stage.Owner(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(Array(repeating: 7, count: 2 << 20)))]))
    return stage
  }

  /// Two readers of which nothing is known look alike, and only one of them has the one paste.
  @Test(arguments: [Subject.unknown, Subject(origin: .remote)])
  func oneShotForThoseWhoLookAlike(reader: Subject) {
    var stage = Stage(
      Policies.set([
        Policies.rule("once", .allow) {
          $0.from = Policies.apps("Ledger"); $0.actions = [.copy]; $0.obligations.oneShot = true
        }
      ]))
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes([1])), ("text/html", .bytes([60]))]))
    #expect(stage.paste("UTF8_STRING", by: reader, window: 0x80_0001)?.bytes == [1])
    #expect(stage.paste("text/html", by: reader, window: 0xa0_0001) == nil, "another X client")
    #expect(stage.paste("text/html", by: reader, window: 0x80_0002)?.bytes == [60], "the same one's next conversion")
  }

  /// Content that is to be read once goes to one program, also while it is still on its way; a paste that fails is none.
  @Test func oneShotInChunks() {
    var stage = big(
      Policies.set([
        Policies.rule("once", .allow) {
          $0.from = Policies.apps("Ledger"); $0.actions = [.copy]; $0.obligations.oneShot = true
        }
      ]))
    stage.request("UTF8_STRING", by: Apps.tool, window: 0x80_0001)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, window: 0x90_0001) == nil)
    stage.feed(.requestorGone(Window(0x80_0001)), nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, window: 0x90_0002)?.bytes.count == 2 << 20)
    #expect(stage.paste("UTF8_STRING", by: Apps.tool, window: 0x80_0002) == nil)
    stage.wait(milliseconds: 1_000)
    #expect(stage.bridge.status.first?.state == .empty)
  }

  /// A requestor that never deletes costs only itself and ends after T_idle (K02 B011, B015).
  @Test func stalledRequestors() {
    var stage = big()
    for index in 0..<60 { stage.request("UTF8_STRING", by: Apps.tool, window: 0x80_0001 + UInt32(index)) }
    #expect(stage.bridge.status.first?.transfers == 60)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser, window: 0x90_0001)?.bytes.count == 2 << 20)
    stage.wait(milliseconds: 5_000)
    #expect(stage.bridge.status.first?.transfers == 0)
    #expect(stage.watched.isEmpty)
    #expect(stage.audit.filter { $0.limit == .idleTimeout }.count == 60)
  }

  /// A requestor's end ends its transfers alone (K02 B012).
  @Test func requestorGone() {
    var stage = big()
    let key = stage.request("UTF8_STRING", by: Apps.tool, window: 0x80_0001)
    let other = stage.request("UTF8_STRING", by: Apps.browser, window: 0x90_0001)
    stage.feed(.propertyDeleted(window: key.window, property: key.property), nil)
    stage.feed(.requestorGone(key.window), nil)
    #expect(stage.bridge.status.first?.transfers == 1)
    #expect(stage.watched == [other.window])
    #expect(stage.audit.last?.outcome == .incomplete)
    stage.feed(.storeRejected(window: other.window, property: other.property), nil)
    #expect(stage.bridge.status.first?.transfers == 0)
    #expect(stage.watched.isEmpty)
  }

  /// A new copy replaces the old at once; a transfer of the old one ends with the old bytes (K02 B020).
  @Test func transferAcrossANewCopy() {
    var stage = big()
    let key = stage.request("UTF8_STRING", by: Apps.browser)
    stage.copy(Stage.Owner(0x50_0001, Apps.report, [("UTF8_STRING", .bytes(text))]))
    #expect(stage.paste("UTF8_STRING", by: Apps.tool, window: 0x80_0001)?.bytes == text)
    while !stage.ended.contains(key) { stage.feed(.propertyDeleted(window: key.window, property: key.property), nil) }
    #expect(stage.content[key]?.count == 2 << 20)
    #expect(stage.content[key]?.allSatisfy { $0 == 7 } == true)
  }

  /// 64 transfers per X client, 512 in all; further ones are refused and written down once.
  @Test func transferLimits() {
    var stage = big()
    for index in 0..<70 { stage.request("UTF8_STRING", by: Apps.tool, property: "X\(index)") }
    #expect(stage.bridge.status.first?.transfers == 64)
    #expect(stage.notified.suffix(6).allSatisfy { $0.property == .none })
    #expect(stage.audit.filter { $0.limit == .transfersPerClient }.count == 1)
    for index in 0..<600 {
      stage.request("UTF8_STRING", by: Apps.tool, window: 0x100_0001 + UInt32(index / 60) << 21 + UInt32(index))
    }
    #expect(stage.bridge.status.first?.transfers == 512)
    #expect(stage.audit.contains { $0.limit == .transferCount })
    stage.wait(milliseconds: 5_000)
    #expect(stage.bridge.status.first?.transfers == 0)
  }

  /// Asking again for the property of a running transfer starts it anew.
  @Test func samePropertyAgain() {
    var stage = big()
    let key = stage.request("UTF8_STRING", by: Apps.browser)
    stage.feed(.propertyDeleted(window: key.window, property: key.property), nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes.count == 2 << 20)
    #expect(stage.bridge.status.first?.transfers == 0)
    #expect(stage.watched.isEmpty)
  }

  /// More than 200 refusals in ten seconds: answered as before, written down once a minute with a count (K07 B068).
  @Test func flood() {
    var stage = Stage(Policies.financeStays)
    stage.copy(Stage.Owner(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(text))]))
    for _ in 0..<5_000 { stage.request("UTF8_STRING", by: Apps.browser) }
    #expect(stage.notified.filter { $0.property == .none }.count == 5_000)
    #expect(stage.audit.filter { $0.limit == .flood }.map(\.count) == [201])
    #expect(stage.audit.filter { $0.kind == .paste }.count == 2)
    stage.wait(milliseconds: 60_000)
    for _ in 0..<300 { stage.request("UTF8_STRING", by: Apps.browser) }
    #expect(stage.audit.filter { $0.limit == .flood }.map(\.count) == [201, 5_000])
    #expect(stage.audit.filter { $0.limit == .flood }.map(\.notifies) == [true, false])
  }
}
