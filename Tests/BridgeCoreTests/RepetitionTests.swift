import BridgeCore
import Policy
import Selection
import Testing

private let secret: [UInt8] = Array("secret".utf8)

/// Tools that offer again what they read: whose copy it is then.
@Suite struct RepetitionTests {
  private func text(_ window: UInt32, _ subject: Subject, _ target: String = "UTF8_STRING") -> Stage.Owner {
    .init(window, subject, [(target, .bytes(secret))])
  }

  /// A tool that answers a clear, or a claim, with the private clip that it read: still the vault's.
  @Test(arguments: [true, false]) func privateClip(isCleared: Bool) {
    var stage = Stage(Policies.vaultIsPrivate)
    stage.copy(text(0x40_0001, Apps.vault))
    if isCleared { stage.clear() }
    stage.wait(milliseconds: 5)
    stage.copy(.init(0x70_0001, Apps.tool, [("text/plain", .bytes(secret)), ("x/mark", .bytes([1]))]))
    #expect(stage.owner == Stage.daemon)
    #expect(stage.paste("text/plain", by: Apps.browser) == nil)
    #expect(stage.paste("text/plain", by: Apps.tool) == nil)
    #expect(stage.paste("text/plain", by: Apps.vault)?.bytes == secret)
    #expect(stage.bridge.status.first?.source == Apps.vault)
    let named = stage.audit.last { $0.limit == .rival }
    #expect(named?.source == Apps.tool && named?.outcome == .refused)
    stage.wait(milliseconds: 19_990)
    #expect(stage.paste("text/plain", by: Apps.vault)?.bytes == secret)
    stage.wait(milliseconds: 5)
    #expect(stage.paste("text/plain", by: Apps.vault) == nil, "expires when the original would have")
  }

  /// One that takes it back without end is met each time, though not faster than every 50 ms, and that is said.
  @Test func insistingTool() {
    var stage = Stage(Policies.vaultIsPrivate)
    stage.copy(text(0x40_0001, Apps.vault))
    var met = 0
    for _ in 0..<20 {
      stage.wait(milliseconds: 5)
      stage.copy(text(0x70_0001, Apps.tool))
      if stage.owner == Stage.daemon { met += 1 }
    }
    #expect(met == 16)
    #expect(stage.bridge.status.first?.rival == Apps.tool, "the status names the tool, not the clip's source")
    stage.wait(milliseconds: 50)
    #expect(stage.owner == Stage.daemon && stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.vault)?.bytes == secret)
    #expect(stage.audit.contains { $0.limit == .rival && $0.source == Apps.tool && $0.outcome == .refused })
    #expect(stage.audit.allSatisfy { $0.outcome != .left })
  }

  /// Two programs that copy one after the other are two programs, whatever their toolkit offers besides; and rules about
  /// the second are never loosened by the first's.
  @Test(arguments: ["hunter2", "secret"]) func anotherProgramsCopy(content: String) {
    let policy = Policies.set([
      Policies.rule("vault", .private) {
        $0.from = Policies.apps("Vault"); $0.actions = [.copy]
      },
      Policies.rule("ledger", .deny) {
        $0.from = Policies.apps("Ledger"); $0.to = Policies.apps("Tool")
      },
    ])
    var stage = Stage(policy)
    let toolkit: (String, Stage.Reply) = ("TK_WINDOW", .bytes([46]))
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes(secret)), toolkit]))
    stage.wait(milliseconds: 300)
    stage.copy(.init(0x50_0001, Apps.vault, [("UTF8_STRING", .bytes(Array(content.utf8))), toolkit]))
    #expect(stage.bridge.status.first?.source == Apps.vault)
    #expect(stage.paste("UTF8_STRING", by: Apps.browser) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.ledger) == nil)
    #expect(stage.paste("UTF8_STRING", by: Apps.vault) != nil)
  }

  /// What expired stays expired.
  @Test func expiredClip() {
    var stage = Stage(Policies.vaultIsPrivate)
    stage.copy(text(0x40_0001, Apps.vault))
    stage.wait(milliseconds: 20_500)
    stage.copy(text(0x70_0001, Apps.tool))
    stage.wait(milliseconds: 1)
    #expect(stage.owner == Stage.daemon)
    #expect(stage.list(by: Apps.vault) == [])
  }

  /// A copy refused for its content is refused whoever offers it next, and again.
  @Test func refusedContent() {
    let policy = Policies.set([
      Policies.rule("nothing long", .deny) {
        $0.from = Policies.apps("Ledger"); $0.actions = [.copy]; $0.size = SizeRange(over: 3, upTo: nil)
      }
    ])
    var stage = Stage(policy)
    stage.copy(text(0x40_0001, Apps.ledger))
    #expect(stage.bridge.status.first?.state == .empty)
    for _ in 0..<6 {
      stage.wait(milliseconds: 500)
      stage.copy(text(0x70_0001, Apps.tool, "STRING"))
      #expect(stage.bridge.status.first?.state == .empty)
    }
    stage.wait(milliseconds: 60_000)
    stage.clear()
    stage.wait(milliseconds: 20)
    stage.copy(text(0x70_0001, Apps.tool))
    #expect(stage.bridge.status.first?.state == .empty, "a clear long after is answered, too")
    stage.copy(.init(0x70_0001, Apps.tool, [("STRING", .bytes([9]))]))
    #expect(stage.paste("STRING", by: Apps.browser)?.bytes == [9], "other content is the tool's own")
  }

  /// A secret that its source has cleared stays cleared, whoever offers it again and however late, until it would have
  /// ended by itself; its source may copy it again (field A24).
  @Test(arguments: [5, 3_000, 59_000]) func clearedSecret(milliseconds: Int) {
    var stage = Stage()
    let mark: (String, Stage.Reply) = ("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))
    stage.copy(.init(0x40_0001, Apps.vault, [("UTF8_STRING", .bytes([1, 2])), mark]))
    stage.clear()
    stage.wait(milliseconds: milliseconds)
    stage.copy(.init(0x70_0001, Apps.tool, [("text/plain", .bytes([1, 2])), ("a/b", .bytes([3]))]))
    #expect(stage.owner == Stage.daemon && stage.bridge.status.first?.state == .empty)
    #expect(stage.audit.last?.source == Apps.tool && stage.audit.last?.outcome == .emptied)
    #expect(stage.list(by: Apps.browser) == [])
    stage.copy(.init(0x40_0001, Apps.vault, [("UTF8_STRING", .bytes([1, 2])), mark]))
    #expect(stage.paste("UTF8_STRING", by: Apps.browser)?.bytes == [1, 2])
    stage.clear()
    stage.wait(milliseconds: 60_000)
    stage.copy(.init(0x70_0001, Apps.tool, [("text/plain", .bytes([1, 2]))]))
    #expect(stage.paste("text/plain", by: Apps.browser)?.bytes == [1, 2], "nothing is remembered for longer")
  }

  /// A marker is not needed twice: the secret stays one.
  @Test func markedSecret() {
    var stage = Stage()
    let mark: (String, Stage.Reply) = ("x-kde-passwordManagerHint", .bytes(Array("secret".utf8)))
    stage.copy(.init(0x40_0001, Apps.vault, [("UTF8_STRING", .bytes([1, 2])), mark]))
    stage.copy(.init(0x70_0001, Apps.tool, [("UTF8_STRING", .bytes([1, 2]))]))
    #expect(stage.bridge.status.first?.isSensitive == true)
    stage.wait(milliseconds: 60_000)
    #expect(stage.list(by: Apps.browser) == [])
  }

  /// Without a rule at stake a tool may bring a cleared clip back, as it may without the daemon; and a copy is the
  /// maker's own when it comes later, or from the source itself.
  @Test func ownCopies() {
    var open = Stage()
    open.copy(text(0x40_0001, Apps.vault))
    open.clear()
    open.copy(text(0x70_0001, Apps.tool))
    #expect(open.bridge.status.first?.source == Apps.tool)

    var late = Stage(Policies.vaultIsPrivate)
    late.copy(text(0x40_0001, Apps.vault))
    late.clear()
    late.wait(milliseconds: 2_000)
    late.copy(text(0x70_0001, Apps.tool))
    #expect(late.bridge.status.first?.source == Apps.tool)
    #expect(late.paste("UTF8_STRING", by: Apps.browser)?.bytes == secret)

    var again = Stage(Policies.vaultIsPrivate)
    again.copy(text(0x40_0001, Apps.vault))
    again.clear()
    again.copy(text(0x40_0001, Apps.vault))
    #expect(again.audit.allSatisfy { $0.limit == nil })
    #expect(again.paste("UTF8_STRING", by: Apps.vault)?.bytes == secret)
  }
}
