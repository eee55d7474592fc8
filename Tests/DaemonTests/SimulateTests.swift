import BridgeCore
import Foundation
import Policy
import Testing

@testable import XPasteBridge

/// `policy simulate`, `policy show --policy` and the answer of `policy explain`, as they are run.
struct SimulateTests {
  private let folder = TemporaryDirectory()

  private static let policy = """
    version: 1
    rules:
      - name: ledger stays
        from: {exe: /opt/ledger}
        to: any
        targets: [text]
        size: {over: 64}
        decision: deny
      - name: notes stay
        from: {exe: /opt/notes}
        to: any
        decision: deny
    default: allow

    """

  private func run(_ words: String...) -> (status: Int32?, output: String, complaint: String) {
    let child = ChildRun(words, environment: ["XDG_CONFIG_HOME": folder.path])
    let status = child.wait()
    return (status, child.output, child.complaint)
  }

  private func file(_ text: String, _ name: String) -> String {
    folder.write(text, name)
    return folder.path + "/" + name
  }

  private static func subject(_ exe: String, _ pid: Int32) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: pid, startTime: 5)), windowClass: Fact("C\(pid)", .declared),
      executable: Fact(exe, .attested))
  }

  /// A line as the daemon writes it.
  private static func line(
    _ exe: String?, kind: AuditRecord.Kind = .paste, targets: [String] = ["UTF8_STRING"], bytes: Int = 100,
    verdict: Verdict = .allow, outcome: AuditRecord.Outcome = .served, count: Int = 1, selection: String = "clipboard"
  ) -> String {
    let record = AuditRecord(
      kind: kind, selection: selection, source: exe.map { subject($0, 1) },
      destination: [.paste, .list].contains(kind) ? subject("/usr/bin/browser", 2) : nil, targets: targets,
      bytes: bytes, verdict: verdict, reason: .builtInDefault, outcome: outcome, count: count)
    return AuditEntry(record: record, milliseconds: 0, display: ":1").json.description
  }

  private static let lines: [String] = [
    line("/opt/ledger", bytes: 65, count: 3),
    line("/opt/ledger", bytes: 64),
    line("/opt/ledger", targets: ["image/png"], bytes: 9_000),
    line("/opt/ledger", bytes: 0, verdict: .deny, outcome: .refused),
    line("/opt/ledger", targets: []),
    line("/opt/notes", bytes: 0, verdict: .deny, outcome: .refused),
    line("/opt/notes", targets: ["text/html"], verdict: .allow),
    line("/opt/other", bytes: 0, verdict: .deny, outcome: .refused, count: 2),
    line("/opt/other", kind: .copy, outcome: .kept),
    line("/opt/other", kind: .clear, outcome: .dropped),
    line("/opt/other", kind: .copy, verdict: .deny, outcome: .emptied, selection: "CUT_BUFFER0"),
    line(nil, bytes: 0, verdict: .deny, outcome: .refusedByKey),
    #"{"schema":1,"time":"2026-01-01T00:00:00.000Z","display":":1","suppressed":4}"#,
    "{\"schema\":2}", "no record at all",
  ]

  /// Firefox and Qt ask for no content where the list has none: the list is all that is written of the paste.
  @Test func aRefusedListIsAPaste() {
    let lines = [
      Self.line("/opt/other", kind: .list, bytes: 0, verdict: .deny, outcome: .refused, count: 2),
      Self.line("/opt/notes", kind: .list, targets: ["UTF8_STRING", "text/html"], verdict: .deny, outcome: .refused),
      Self.line("/opt/notes", kind: .list, targets: ["UTF8_STRING"], outcome: .served),
    ]
    let path = file(Self.policy, "p.yaml")
    let result = run("policy", "simulate", file(lines.joined(separator: "\n") + "\n", "lists.jsonl"), "--policy", path)
    #expect(result.output.contains("3 decisions replayed, 2 would change"))
    #expect(result.output.contains("2 × paste of UTF8_STRING on clipboard from class=C1,exe=/opt/other"))
  }

  @Test func changesAreCountedAndNothingIsGuessed() {
    let audit = file(Self.lines.joined(separator: "\n") + "\n", "audit.jsonl")
    let path = file(Self.policy, "p.yaml")
    let result = run("policy", "simulate", audit, "--policy", path)
    #expect(result.status == 1 && result.complaint == "")
    #expect(
      result.output == """
        put to \(path)
        10 decisions replayed, 6 would change
        allow → deny: 4
          3 × paste of UTF8_STRING on clipboard from class=C1,exe=/opt/ledger to class=C2,exe=/usr/bin/browser
            then allow, by nothing that says otherwise
            now deny, by rule `ledger stays` at \(path):3:5
          1 × paste of text/html on clipboard from class=C1,exe=/opt/notes to class=C2,exe=/usr/bin/browser
            then allow, by nothing that says otherwise
            now deny, by rule `notes stay` at \(path):9:5
        deny → allow: 2
          2 × paste of UTF8_STRING on clipboard from class=C1,exe=/opt/other to class=C2,exe=/usr/bin/browser
            then deny, by nothing that says otherwise
            now allow, by the default at \(path):13:10
        not replayed: 2 no audit records of this version
        not replayed: 2 not of decisions about copies, cuts, pastes or drags
        not replayed: 1 don't say who copied
        not replayed: 1 don't name the targets, which make a difference
        not replayed: 1 don't say size or secrecy, which make a difference
        not replayed: 4 were left out when they were written

        """)
  }

  @Test func asJSON() throws {
    let audit = file(Self.lines.joined(separator: "\n"), "audit.jsonl")
    let path = file(Self.policy, "p.yaml")
    let report = try JSON(reading: run("policy", "simulate", "--json", "--policy", path, audit).output.trimmed)
    #expect(report["files"]?.elements == [.string(path)])
    #expect(report["replayed"]?.number == 10 && report["changed"]?.number == 6)
    #expect(report["notReplayed"]?["suppressed"]?.number == 4 && report["notReplayed"]?["shortened"]?.number == 0)
    let first = try #require(report["changes"]?.elements.first)
    #expect(first["from"]?.text == "allow" && first["to"]?.text == "deny" && first["count"]?.number == 3)
    #expect(first["reason"]?["rule"]?.text == "ledger stays" && first["reason"]?["line"]?.number == 3)
    #expect(first["target"]?.text == "UTF8_STRING" && first["recordedReason"]?["kind"]?.text == "built-in-default")
  }

  @Test func nothingChanges() {
    let audit = file(Self.lines[1] + "\n" + Self.lines[8] + "\n", "audit.jsonl")
    let path = file(Self.policy, "p.yaml")
    let result = run("policy", "simulate", "--policy", path, audit)
    #expect(result.status == 0 && result.output == "put to \(path)\n2 decisions replayed, 0 would change\n")
    let piped = ChildRun(
      ["-c", "\"$0\" policy simulate - --policy \"$1\" < \"$2\"", Project.program, path, audit], program: "/bin/sh",
      environment: ["XDG_CONFIG_HOME": folder.path])
    #expect(piped.wait() == 0 && piped.output == result.output)
    #expect(run("policy", "simulate", audit + "x").complaint.contains("can't read `"))
    let wrong = run("policy", "simulate", "--policy", file("version: 2\n", "w.yaml"), audit)
    #expect(wrong.status == 1 && wrong.complaint.contains("the policy has errors"))
  }

  /// What `audit` prints for people, or another program's log, is no record that nothing would change.
  @Test func aFileWithoutRecordsIsAnError() {
    let path = file(Self.policy, "p.yaml")
    let log = run("policy", "simulate", "--policy", path, file("paste of UTF8_STRING refused\nmore\n", "log"))
    #expect(log.status == 1 && log.output == "")
    #expect(log.complaint.contains("holds no audit records"))
    #expect(run("policy", "simulate", "--policy", path, file("", "empty")).status == 0)
  }

  /// A name that was cut can't be compared with a rule's.
  @Test func cutNamesAreNotCompared() {
    let audit = file(Self.line("/opt/" + String(repeating: "x", count: 600)) + "\n", "audit.jsonl")
    let path = file(Self.policy, "p.yaml")
    let result = run("policy", "simulate", "--policy", path, audit)
    #expect(
      result.output
        == "put to \(path)\n0 decisions replayed, 0 would change\nnot replayed: 1 have a name that was cut\n")
  }

  @Test func showReadsFiles() throws {
    let path = file(Self.policy, "p.yaml")
    let shown = run("policy", "show", "--policy", path)
    #expect(shown.status == 0)
    #expect(shown.output.contains("`notes stay`: from: exe=/opt/notes; to: any → deny (managed, \(path):9:5)\n"))
    let report = try JSON(reading: run("policy", "show", "--json", "--policy", path).output.trimmed)
    #expect(report["rules"]?.elements.count == 2 && report["state"]?.text == "in-force")
    #expect(run("policy", "show", "--policy", file("version: 2\n", "w.yaml")).status == 1)
  }

  @Test func theVerdictComesFirst() throws {
    let path = file(Self.policy, "p.yaml")
    let words = ["policy", "explain", "--policy", path, "--from", "exe=/opt/notes", "--to", "class=B"]
    let child = ChildRun(words + ["--action", "paste", "--selection", "primary"])
    #expect(child.wait() == 0)
    let lines = child.output.split(separator: "\n").map(String.init)
    #expect(lines.first == "paste: deny, by rule `notes stay` at \(path):9:5")
    #expect(lines.dropFirst().first?.hasPrefix("note: `primary: guard` is in force") == true)
    let json = ChildRun(words + ["--selection", "primary", "--json"])
    #expect(json.wait() == 0)
    #expect(try JSON(reading: json.output.trimmed)["note"]?.text?.contains("middle button") == true)
  }
}

extension String {
  fileprivate var trimmed: String { trimmingCharacters(in: .newlines) }
}
