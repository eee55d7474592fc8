import BridgeCore
import Glibc
import Selection
import Testing

@testable import Policy
@testable import X11
@testable import XPasteBridge

/// B14: a server without X-Resource doesn't say whose any window is.
@Suite(.serialized) struct NamelessServerTests {
  let server: PrivateServer
  let display: Display
  let peer: Display

  init() throws {
    server = try PrivateServer(["-extension", "X-Resource"])
    display = try server.connect()
    peer = try server.connect()
  }

  @Test(arguments: [(1, 0, false), (1, 1, false), (1, 2, true), (2, 0, true)] as [(UInt16, UInt16, Bool)])
  func versions(major: UInt16, minor: UInt16, isEnough: Bool) {
    #expect(ClientList.namesPrograms(major: major, minor: minor) == isEnough)
  }

  @Test func everybodyIsUnsure() throws {
    #expect(!display.namesPrograms)
    #expect(display.missingExtensions == ["X-Resource 1.2"])
    let resolver = SubjectResolver(display: display)
    let subject = resolver.resolve(peer.ownerWindow)
    #expect(subject.isUnsure && subject.origin == .unknown)
    for name in [FactName.executable, .unit, .sandbox, .script, .windowClass, .host] {
      #expect(subject.knowledge(of: name).isUnknown, "\(name)")
    }
    #expect(!subject.isSameApp(as: subject))
    peer.setClass("vault", "Vault", on: peer.ownerWindow)
    #expect(resolver.resolve(peer.ownerWindow).windowClass == Fact("Vault", .declared), "its own word is heard")
    // Those with a window are listed.
    #expect(resolver.clients().map(\.resourceBase) == [peer.resourceBase(of: peer.ownerWindow)])
    #expect(EarlierClients(on: display).remaining(among: [:], bases: display.clientBases()).count == 1)
    #expect(!display.isLost && display.unexpectedErrorCount == 0)
  }

  /// Without XFIXES nobody hears of copies.
  @Test func nothingCanBeGuardedWithoutFixes() throws {
    let bare = try PrivateServer(["-extension", "XFIXES"])
    do {
      _ = try bare.connect()
      Issue.record("a display without XFIXES was opened")
    } catch let error as DisplayError {
      guard case .extensionMissing(bare.name, extension: "XFIXES", _) = error else { throw error }
      #expect(error.description.contains("can't be guarded"))
    }
  }

  /// Who comes by a socket is known; which windows it has isn't.
  @Test func callersAreKnown() throws {
    let resolver = SubjectResolver(display: display)
    let subject = resolver.resolve(try #require(ProcessRecord(getpid())))
    #expect(subject.executable?.evidence == .attested)
    #expect(subject.knowledge(of: .windowClass).isUnknown)
  }

  /// The strictest answer, whoever copies: a rule about one program refuses all, a rule that allows one allows none.
  @Test(arguments: [true, false])
  func copiesMeetTheStrictestRule(isRefusal: Bool) throws {
    var ruleset = Ruleset()
    if isRefusal {
      ruleset.rules = [Self.rule("vault", .deny)]
    } else {
      ruleset.rules = [Self.rule("trusted", .allow)]
      ruleset.defaultDecision = DefaultDecision(.deny, position: Self.position)
    }
    var records: [AuditRecord] = []
    let runner = EffectRunner(
      display: try server.connect(), policy: PolicySet(managed: ruleset, user: Ruleset())
    ) { records.append($0) }
    try runner.start()
    peer.own("CLIPBOARD", with: peer.ownerWindow)
    runner.synchronize()
    #expect(records.map(\.outcome) == [.emptied])
    #expect(peer.selectionOwner(peer.atoms.intern("CLIPBOARD").atom) == runner.display.ownerWindow)
    #expect(runner.ending == nil && !runner.isLost)
    runner.shutDown()
  }

  private static func rule(_ name: String, _ verdict: Verdict) -> Rule {
    var rule = Rule(RuleReference(name: name, position: position), verdict: verdict)
    rule.from = .executable(Glob(literally: "/opt/vault"))
    rule.actions = [.copy, .cut, .paste]
    return rule
  }

  private static let position = SourcePosition(file: "test.yaml", line: 1, column: 1)
}

extension Knowledge {
  fileprivate var isUnknown: Bool { if case .unknown = self { true } else { false } }
}
