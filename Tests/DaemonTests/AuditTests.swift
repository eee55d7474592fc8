import BridgeCore
import Foundation
import Policy
import Selection
import Testing

@testable import XPasteBridge

struct AuditTests {
  @Test(arguments: [
    "", "plain", Example.hostile, Example.huge, String(repeating: "\u{0}\n\"", count: 1_000),
    String(decoding: [0x61, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80] as [UInt8], as: UTF8.self),
  ]) func stringsSurvive(_ text: String) throws {
    let line = JSON.object(["text": .string(text)]).description
    #expect(!line.utf8.contains { $0 < 0x20 || $0 == 0x7f })
    #expect(try JSON(reading: line)["text"]?.text == text)
    let foundation = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
    #expect(foundation?["text"].map { Array($0.utf8) } == Array(text.utf8))
  }

  nonisolated static let broken = [
    "", "{", "[1,", "{\"a\"}", "{\"a\":}", "tru", "\"a", "\"\\x\"", "\"\\u12\"", "1 2", "[1]]", "\"a\nb\"", "--",
    "{a:1}",
    String(repeating: "[", count: 100_000),
  ]

  @Test(arguments: broken) func brokenTextsAreRefused(_ text: String) {
    #expect(throws: JSONFailure.self) { try JSON(reading: text) }
  }

  @Test func readsWhatOthersWrite() throws {
    let json = try JSON(reading: " { \"a\" : [ 1 , -2.5e1, true,false,null, \"\\ud83d\\ude00\\/\" ] } ")
    #expect(json["a"] == .array([.integer(1), .decimal(-25), .bool(true), .bool(false), .null, .string("😀/")]))
  }

  nonisolated static let times: [(Int, String)] = [
    (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (1_709_251_199_999, "2024-02-29T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (-1, "1969-12-31T23:59:59.999Z"),
  ]

  @Test(arguments: times) func timesAreRFC3339(_ row: (milliseconds: Int, text: String)) {
    #expect(UTCTime.text(milliseconds: row.milliseconds) == row.text)
  }

  nonisolated static let reasons: [Reason] = [
    .rule(RuleReference(name: Example.hostile, position: SourcePosition(file: Example.huge, line: 1, column: 1))),
    .fileDefault(SourcePosition(file: "f", line: 2, column: 3)), .builtInDefault, .sameApp, .locked,
    .outsideAudience(.outsideAudience(.builtInDefault)),
  ]

  private static var records: [AuditRecord] {
    var all = AuditRecord.Kind.allCases.map { Example.record(kind: $0) }
    all += AuditRecord.Outcome.allCases.map { Example.record(outcome: $0) }
    all += AuditRecord.Limit.allCases.map { Example.record(limit: $0) }
    all += Verdict.allCases.map { Example.record(verdict: $0) }
    all += reasons.map { Example.record(reason: $0) }
    var recorded = Example.record(verdict: .allow, outcome: .served)
    recorded.notEnforced = .deny
    all.append(recorded)
    all += [Example.record(Example.hostile), Example.record(Example.huge)]
    all.append(Example.record(targets: (0..<300).map { "target/\($0)" }))
    return all
  }

  @Test func recordsMatchTheSchema() throws {
    let schema = try SchemaVerdict(Project.text("schemas/audit.schema.json"))
    for record in Self.records {
      let line = AuditEntry(record: record, milliseconds: 0, display: ":0").json.description
      #expect(line.utf8.count < 16 << 10)
      #expect(schema.faults(in: try JSON(reading: line)) == [])
    }
    #expect(schema.faults(in: try JSON(reading: "{\"schema\":1}")) != [])
    var wrong = AuditEntry(record: Example.record(), milliseconds: 0, display: ":0").json.members
    wrong.append(JSON.Member("content", .string("secret")))
    #expect(schema.faults(in: .object(wrong)) != [])
  }

  @Test func recordsCanBeReadBack() throws {
    for record in Self.records where record.targets.count < 64 && record.message != Example.huge {
      let entry = AuditEntry(record: record, milliseconds: 0, display: ":0")
      let json = try JSON(reading: entry.json.description)
      #expect(AuditEntry(json: json)?.json == entry.json || json.description.contains("1970"))
      #expect(
        AuditEntry(json: json).map { AuditSentence.text(of: $0.record) } == AuditSentence.text(of: record).self
          || record.reason == Self.reasons[0])
    }
  }

  @Test func journalFieldsAreOneLineOfMessage() {
    for record in Self.records {
      let fields = JournalEntry.fields(of: AuditEntry(record: record, milliseconds: 0, display: ":0"))
      let message = fields.first { $0.name == "MESSAGE" }!.value
      #expect(!message.unicodeScalars.contains { Label.isUnprintable($0) })
      #expect(message.utf8.count < 8 << 10)
      for field in fields {
        #expect(field.name.utf8.allSatisfy { "ABCDEFGHIJKLMNOPQRSTUVWXYZ_".utf8.contains($0) })
        #expect(field.value.utf8.count < 32 << 10)
      }
      #expect(fields.first { $0.name == "XPB_SOURCE_EVIDENCE" }?.value.contains("exe=attested") == true)
    }
    #expect(Set(JournalKind.allCases.map(\.rawValue)).count == JournalKind.allCases.count)
    #expect(JournalKind.allCases.allSatisfy { $0.rawValue.utf8.count == 32 })
  }

  @Test func sentenceSaysWhatWhereWhyAndWhatToDo() {
    let text = AuditSentence.text(of: Example.record("Vault"))
    #expect(
      text == "paste of text/html, 12 bytes on CLIPBOARD from Vault (/opt/Vault, pid 42) to remote refused: "
        + "rule `Vault` at /etc/Vault:3:5, 2 times; Vault; why: xpastebridge policy explain "
        + "--from 'class=Vault,instance=Vault,exe=/opt/Vault,unit=app.scope,sandbox=flatpak:Vault,host=Vault' --to 'remote' "
        + "--action paste --selection 'CLIPBOARD' --target 'text/html' --size 12")
  }

  @Test func onlyRefusalsUnlessAllAreWanted() {
    var lines = 0
    for (choice, expected) in [(AuditSink.Choice.refusals, 1), (.all, 2)] {
      lines = 0
      let sink = AuditSink(display: ":0", choice: choice, file: nil, writer: { _ in lines += 1 })
      sink.take(Example.record(isAlwaysWritten: true))
      sink.take(Example.record(isAlwaysWritten: false))
      #expect(lines == expected)
    }
  }

  /// Each program has its share, and what is left out of it is a record that names the program.
  @Test func tooManyRecordsAreSummedUp() throws {
    var entries: [[JournalEntry.Field]] = []
    var now = MonotonicTime(nanoseconds: 5_000_000_000)
    let directory = TemporaryDirectory()
    let file = AuditFile(path: directory.path + "/audit.jsonl", complain: { _ in })
    let sink = AuditSink(
      display: ":0", choice: .all, file: file, writer: { fields in entries.append(fields) }, now: { now })
    for _ in 0..<1_000 { sink.take(Example.record("Flood", kind: .copy)) }
    #expect(entries.count == AuditBudget.ofProgram)
    #expect(sink.unsaidDeadline == MonotonicTime(nanoseconds: 6_000_000_000))
    now = now.advanced(byMilliseconds: 1_000)
    sink.take(Example.record())
    #expect(entries.count == AuditBudget.ofProgram + 2)
    let gap = Dictionary(uniqueKeysWithValues: entries[AuditBudget.ofProgram].map { ($0.name, $0.value) })
    #expect(gap["MESSAGE"]?.hasPrefix("980 audit records of Flood (/opt/Flood, pid 42) were left out") == true)
    #expect(gap["XPB_COUNT"] == "980" && gap["XPB_PROGRAM_EXE"] == "/opt/Flood")
    let schema = try SchemaVerdict(Project.text("schemas/audit.schema.json"))
    let lines = directory.read("audit.jsonl").split(separator: "\n")
    #expect(lines.count == AuditBudget.ofProgram + 2)
    for line in lines { #expect(schema.faults(in: try JSON(reading: String(line))) == []) }
    #expect(try JSON(reading: String(lines[AuditBudget.ofProgram]))["program"]?["exe"]?["value"]?.text == "/opt/Flood")
  }

  /// B3: a program that floods hides nothing of another's, and many that do leave each other some.
  @Test func aFloodHidesNobodyElse() {
    var written: [String: Int] = [:]
    var now = MonotonicTime(nanoseconds: 5_000_000_000)
    let sink = AuditSink(
      display: ":0", choice: .all, file: nil,
      writer: { fields in
        if let name = fields.first(where: { $0.name == "XPB_SOURCE_CLASS" }) { written[name.value, default: 0] += 1 }
      }, now: { now })
    for round in 0..<3 {
      for _ in 0..<500 { sink.take(Example.record("Flood", kind: .copy)) }
      for _ in 0..<6 { sink.take(Example.record("Quiet", kind: .copy)) }
      #expect(written["Quiet"] == 6 * (round + 1), "round \(round)")
      now = now.advanced(byMilliseconds: 1_000)
    }
    written = [:]
    for number in 0..<40 { for _ in 0..<100 { sink.take(Example.record("Flood\(number)", kind: .copy)) } }
    for _ in 0..<3 { sink.take(Example.record("Late", kind: .copy)) }
    #expect(written["Late"] == AuditBudget.ofProgramAlways)
    #expect(written.values.reduce(0, +) <= AuditBudget.ofAll + 42 * AuditBudget.ofProgramAlways)
  }

  /// The table of programs is bounded, and a place that nobody uses is free after a while.
  @Test func programsAreToldApartUpToALimit() {
    var budget = AuditBudget()
    _ = budget.begin(7)
    for number in 0..<1_000 { _ = budget.admits(Example.subject("App\(number)")) }
    let gaps = budget.takeGaps()
    #expect(gaps.count == 1 && gaps.first?.program == nil, "the others share what one has")
    #expect(gaps.first?.count == 1_000 - AuditBudget.mostPrograms - AuditBudget.ofProgram)
    #expect(!budget.hasGaps)
    let isNew = budget.begin(7 + AuditBudget.idleSeconds)
    let hasPlace = budget.admits(Example.subject("New"))
    #expect(isNew && hasPlace)
    for _ in 0..<100 { _ = budget.admits(Example.subject("New")) }
    let later = budget.takeGaps()
    #expect(later.first?.program == Example.subject("New"))
  }

  /// One file is one program, however often it is started; without an attested file each process is one.
  @Test func whatOneProgramIs() {
    var one = Example.subject("App")
    var two = one
    two.origin = .local(ProcessIdentity(id: 43, startTime: 100))
    #expect(AuditBudget.Program(one) == AuditBudget.Program(two))
    one.executable = Fact("/opt/App", .declared)
    two.executable = nil
    #expect(AuditBudget.Program(one) != AuditBudget.Program(two))
    #expect(Example.record(kind: .paste).cause == Example.record().destination)
    #expect(Example.record(kind: .copy).cause == Example.record().source)
  }

  /// B16: what the daemon records of itself keeps to the schema and can be asked for by fields.
  @Test func theDaemonRecordsItself() throws {
    let schema = try SchemaVerdict(Project.text("schemas/audit.schema.json"))
    let policy = PolicyInForce(
      source: FakePolicySource(PolicyReading(policy: .allowEverything, files: ["/etc/a.yaml"])))
    let records: [(DaemonRecord, state: String)] = [
      (.start(isNamed: true, isEnforced: false, isLockedDown: true), "guarding"),
      (.failedStart(Example.hostile), "failed"),
      (.end(.replaced, "replaced", successor: Example.subject("xpastebridge"), isLockedDown: false), "ended"),
      (.policy(policy, .managed), "in-force"), (.policy(policy, .user), "in-force"),
    ]
    for (record, state) in records {
      #expect(schema.faults(in: record.json(milliseconds: 0, display: ":0")) == [])
      let fields = Dictionary(
        uniqueKeysWithValues: record.journalFields(milliseconds: 0, display: ":0").map { ($0.name, $0.value) })
      #expect(fields["XPB_STATE"] == state && fields["XPB_DISPLAY"] == ":0" && fields["XPB_RECORD"] != nil)
      #expect(JournalKind.records.map(\.rawValue).contains(fields["MESSAGE_ID"] ?? ""))
    }
    // They are no decisions, which a simulation would replay.
    var simulation = Simulation(.allowEverything)
    for (record, _) in records { simulation.take(record.json(milliseconds: 0, display: ":0").description) }
    #expect(simulation.replayed == 0 && simulation.omissions.isEmpty && simulation.holdsRecords)
    let named = records[0].0.journalFields(milliseconds: 0, display: ":0").map { "\($0.name)=\($0.value)" }
    #expect(named.contains("XPB_POLICY_SOURCE=named") && named.contains("XPB_ENFORCED=no"))
    #expect(named.contains("XPB_LOCKDOWN=yes"))
    let replaced = records[2].0.journalFields(milliseconds: 0, display: ":0").map { "\($0.name)=\($0.value)" }
    #expect(replaced.contains("XPB_SUCCESSOR_EXE=/opt/xpastebridge") && replaced.contains("XPB_CAUSE=replaced"))
  }

  @Test func fullDiskIsSaidOnce() {
    var complaints: [String] = []
    let file = AuditFile(path: "/dev/full", complain: { complaints.append($0) })
    for _ in 0..<3 { file.append(.null) }
    #expect(complaints == ["audit file /dev/full: No space left on device; records are missing there"])
    #expect(file.linesLost == 3)
  }

  @Test func rotatedFileIsLetGo() {
    let directory = TemporaryDirectory()
    let file = AuditFile(path: directory.path + "/a", complain: { _ in })
    file.append(.integer(1))
    rename(directory.path + "/a", directory.path + "/a.1")
    file.append(.integer(2))
    file.reopen()
    file.append(.integer(3))
    #expect(directory.read("a.1") == "1\n2\n")
    #expect(directory.read("a") == "3\n")
    #expect(Posix.stat(directory.path + "/a")?.mode == S_IFREG | 0o600)
  }

  @Test func auditVerbReadsFilesAndInput() throws {
    let directory = TemporaryDirectory()
    let file = AuditFile(path: directory.path + "/a", complain: { _ in })
    let entry = AuditEntry(record: Example.record(), milliseconds: 0, display: ":7")
    file.append(entry.json)
    file.append(AuditEntry(record: Example.record(), milliseconds: 0, display: ":8").json)
    let all = ChildRun(["audit", "--audit-file", directory.path + "/a"])
    #expect(all.wait() == 0)
    #expect(all.output.split(separator: "\n").count == 2)
    let one = ChildRun(["audit", "--audit-file", directory.path + "/a", "--display", ":7.0", "--json"])
    #expect(one.wait() == 0)
    #expect(try JSON(reading: one.output.trimmingCharacters(in: .newlines)) == entry.json)
    file.append(DaemonRecord.failedStart("no display").json(milliseconds: 0, display: ":8"))
    let own = ChildRun(["audit", "--audit-file", directory.path + "/a", "--display", ":8"])
    #expect(own.wait() == 0)
    #expect(own.output.hasSuffix("1970-01-01T00:00:00.000Z not guarding: no display\n"))
    let none = ChildRun(["audit", "--audit-file", directory.path + "/none"])
    #expect(none.wait() == 1)
    #expect(none.complaint == "xpastebridge: can't read `\(directory.path)/none`: No such file or directory\n")
  }
}

/// As much of JSON Schema 2020-12 as our schemas use.
struct SchemaVerdict {
  private let root: JSON

  init(_ text: String) throws { root = try JSON(reading: text) }

  func faults(in value: JSON) -> [String] { faults(in: value, root, "$") }

  private func faults(in value: JSON, _ schema: JSON, _ path: String) -> [String] {
    var faults: [String] = []
    for keyword in schema.members {
      switch keyword.name {
      case "$ref":
        let name = keyword.value.text!.split(separator: "/").last.map(String.init)!
        faults += self.faults(in: value, root["$defs"]![name]!, path)
      case "type": if !isType(value, keyword.value.text!) { faults.append("\(path): not \(keyword.value)") }
      case "const": if value != keyword.value { faults.append("\(path): not \(keyword.value)") }
      case "enum": if !keyword.value.elements.contains(value) { faults.append("\(path): not in \(keyword.value)") }
      case "minimum": if value.number! < keyword.value.number! { faults.append("\(path): too small") }
      case "maxItems": if value.elements.count > keyword.value.number! { faults.append("\(path): too many") }
      case "pattern":
        let matches = value.text?.range(of: keyword.value.text!, options: .regularExpression) != nil
        if !matches { faults.append("\(path): no match") }
      case "required":
        for name in keyword.value.elements where value[name.text!] == nil { faults.append("\(path): no \(name)") }
      case "properties":
        for member in value.members {
          if let inner = keyword.value[member.name] {
            faults += self.faults(in: member.value, inner, "\(path).\(member.name)")
          }
        }
      case "additionalProperties":
        for member in value.members where schema["properties"]?[member.name] == nil {
          faults.append("\(path): unexpected \(member.name)")
        }
      case "items": for element in value.elements { faults += self.faults(in: element, keyword.value, path + "[]") }
      case "oneOf":
        let passed = keyword.value.elements.filter { self.faults(in: value, $0, path).isEmpty }.count
        if passed != 1 { faults.append("\(path): \(passed) of oneOf hold") }
      case "$schema", "$id", "$defs", "title", "description": break
      default: faults.append("\(path): the schema uses \(keyword.name), which this test doesn't know")
      }
    }
    return faults
  }

  private func isType(_ value: JSON, _ type: String) -> Bool {
    switch (value, type) {
    case (.object, "object"), (.array, "array"), (.string, "string"), (.integer, "integer"), (.bool, "boolean"): true
    default: false
    }
  }
}
