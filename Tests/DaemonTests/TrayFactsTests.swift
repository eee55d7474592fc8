import Boards
import BridgeCore
import Foundation
import Policy
import Selection
import Testing
import Tray

@testable import XPasteBridge

/// What of the daemon's knowledge the tray shows, and in which words.
struct TrayFactsTests {
  private func state(_ records: [AuditRecord], boards: BoardTable = BoardTable()) -> TrayState {
    var memory = RefusalMemory()
    for record in records { memory.note(record, milliseconds: 1_000) }
    let source = FakePolicySource(PolicyReading(policy: .allowEverything))
    return TrayFacts.state(display: ":0", policy: PolicyInForce(source: source), boards: boards, refusals: memory)
  }

  private nonisolated static let position = SourcePosition(file: "/etc/p.yaml", line: 4, column: 2)

  nonisolated static let reasons: [(Reason, String, String?)] = [
    (.rule(RuleReference(name: "r", position: position)), "r", "/etc/p.yaml:4"),
    (.fileDefault(position), "the file's default", "/etc/p.yaml:4"),
    (.builtInDefault, "the built-in default", nil),
    (.sameApp, "the app's own clip", nil),
    (.outsideAudience(.rule(RuleReference(name: "r", position: position))), "private by r", "/etc/p.yaml:4"),
    (.locked, "the policy files have errors", nil),
    (.lockdown, "lockdown", nil),
  ]

  @Test(arguments: reasons) func reasonHasWordsAndAPlace(_ row: (reason: Reason, words: String, place: String?)) {
    let refusal = state([Example.record(reason: row.reason)]).refusals[0]
    #expect(refusal.reason == row.words)
    #expect(refusal.place == row.place)
  }

  @Test func alikeRefusalsAreOne() {
    let paste = Example.record("A")
    let other = Example.record("B")
    let memory = state([paste, other, Example.record("A", kind: .list), Example.record("A", kind: .copy)])
    #expect(memory.refusals.map(\.action) == ["copy", "paste", "paste"])
    #expect(memory.refusals.map { $0.source?.name } == ["A", "A", "B"], "the newest first")
    #expect(memory.refusals.map(\.count) == [2, 4, 2])
  }

  @Test func onlyTheLastAreKept() {
    let refusals = state((1...100).map { Example.record("App\($0)") }).refusals
    #expect(refusals.count == TrayMenu.refusalLimit)
    #expect(refusals.first?.source?.name == "App100")
  }

  nonisolated static let names: [(Subject, String)] = [
    (
      Subject(origin: .unknown, windowClass: Fact("Ledger", .declared), executable: Fact("/opt/x", .attested)), "Ledger"
    ),
    (Subject(origin: .unknown, executable: Fact("/usr/bin/xclip", .attested)), "xclip"),
    (Subject(origin: .unknown, unit: Fact("app.scope", .attested)), "app.scope"),
    (Subject(origin: .remote, host: Fact("far", .declared)), "a remote program"),
    (.unknown, "an unknown program"),
  ]

  @Test(arguments: names) func programsHaveNames(_ row: (subject: Subject, name: String)) {
    var record = Example.record()
    record.destination = row.subject
    #expect(state([record]).refusals[0].destination?.name == row.name)
  }

  /// The names of boards that programs made are theirs alone; every program of the session may read the menu.
  @Test func boardsOfThePolicyAlone() throws {
    var table = BoardTable()
    for (name, origin) in [
      ("z.policy", BoardOrigin.policy), ("a.policy", .policy), ("b.created", .created),
      ("org.xpastebridge.unique.1", .unique(connection: 1)),
    ] {
      try table.open(Board(name: name, origin: origin, members: .ofBoard(name), settings: BoardSettings()))
    }
    #expect(state([], boards: table).boards == [.init(name: "a.policy", items: 0), .init(name: "z.policy", items: 0)])
  }

  /// Icons are named to panels only where they are: some show a name that they don't find as a broken picture.
  @Test func iconsAreNamedWhereTheyAreInstalled() throws {
    let prefix = TemporaryDirectory()
    #expect(InstalledIcons.folder(beside: prefix.path + "/bin") == nil)
    let folder = prefix.path + "/share/icons/hicolor/scalable/status"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: prefix.path + "/bin", withIntermediateDirectories: true)
    for sign in TraySign.allCases {
      let name = "/\(sign.iconName).svg"
      try Project.text("data/icons/hicolor/scalable/status" + name).write(
        toFile: folder + name, atomically: true, encoding: .utf8)
    }
    #expect(InstalledIcons.folder(beside: prefix.path + "/bin") == prefix.path + "/share/icons")
  }
}
