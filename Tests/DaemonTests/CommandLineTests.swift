import Policy
import Testing

@testable import XPasteBridge

struct CommandLineTests {
  nonisolated struct Accepted: CustomTestStringConvertible {
    var words: String
    var command: String
    var values: [String: [String]] = [:]
    var operands: [String] = []
    var testDescription: String { words }
  }

  nonisolated static let accepted = [
    Accepted(words: "status", command: "status"),
    Accepted(words: "status --json --display :1", command: "status", values: ["json": [""], "display": [":1"]]),
    Accepted(words: "status --display=:1", command: "status", values: ["display": [":1"]]),
    Accepted(words: "status --display=", command: "status", values: ["display": [""]]),
    Accepted(words: "status -jd:1", command: "status", values: ["json": [""], "display": [":1"]]),
    Accepted(words: "status -jd :1", command: "status", values: ["json": [""], "display": [":1"]]),
    Accepted(words: "policy check a b", command: "policy check", operands: ["a", "b"]),
    Accepted(words: "policy check -- -a --json", command: "policy check", operands: ["-a", "--json"]),
    Accepted(words: "policy check -", command: "policy check", operands: ["-"]),
    Accepted(words: "run --policy a --policy=b", command: "run", values: ["policy": ["a", "b"]]),
    Accepted(words: "run -a all", command: "run", values: ["audit": ["all"]]),
    Accepted(words: "policy explain --from class=A=B", command: "policy explain", values: ["from": ["class=A=B"]]),
    Accepted(words: "run --audit-file --json", command: "run", values: ["audit-file": ["--json"]]),
  ]

  @Test(arguments: accepted) func understands(_ row: Accepted) throws {
    let reading = try CommandLineParser.read(row.words.split(separator: " ").map(String.init))
    guard case .command(let invocation) = reading else { throw UsageFailure(description: "no command") }
    #expect(invocation.command.name == row.command)
    #expect(invocation.values == row.values)
    #expect(invocation.operands == row.operands)
  }

  nonisolated static let refused: [(String, String)] = [
    ("", "a command is missing"),
    ("statsu", "unknown command `statsu`; did you mean `status`?"),
    ("frobnicate", "unknown command `frobnicate`"),
    ("board lst", "unknown command `board lst`; did you mean `list`?"),
    ("policy", "`policy` needs one of: check, show, explain, simulate; `xpastebridge help policy` explains them"),
    ("policy simulate", "`policy simulate` needs FILE"),
    ("policy chekc", "unknown command `policy chekc`; did you mean `check`?"),
    ("--json status", "a command has to come before the option `--json`"),
    ("status --jsn", "unknown option `--jsn` for `status`; did you mean `--json`?"),
    ("status -x", "unknown option `-x` for `status`"),
    ("status --display", "the option `--display` needs a value: DISPLAY"),
    ("status --json=yes", "the option `--json` takes no value"),
    ("status --json --json", "the option `--json` is given twice"),
    ("status now", "unexpected word `now` after `status`"),
    ("run --audit some", "`--audit` is one of refusals, all, not `some`"),
    ("policy explain", "`policy explain` needs --from=APP"),
    ("status --\u{1b}[31m", "unknown option `--\\u{1b}[31m` for `status`"),
  ]

  @Test(arguments: refused) func refuses(_ row: (words: String, line: String)) {
    let failure = #expect(throws: UsageFailure.self) {
      try CommandLineParser.read(row.words.split(separator: " ").map(String.init))
    }
    #expect(failure?.description.hasPrefix(row.line) == true, "\(failure?.description ?? "")")
    #expect(failure?.description.contains("\n") == false)
  }

  @Test func asksForHelpAndVersion() throws {
    #expect(try CommandLineParser.read(["--version"]) == .version)
    #expect(try CommandLineParser.read(["--help"]) == .help(nil))
    guard case .help(let command?) = try CommandLineParser.read(["policy", "show", "--help"]) else {
      throw UsageFailure(description: "no help")
    }
    #expect(command.name == "policy show")
  }

  @Test func tableIsSound() {
    for command in CommandTable.commands {
      #expect(Set(command.options.map(\.name)).count == command.options.count, "\(command.name)")
      let letters = command.options.compactMap(\.letter)
      #expect(Set(letters).count == letters.count, "\(command.name)")
      #expect(!command.summary.hasSuffix("."), "\(command.name)")
    }
  }

  @Test(arguments: ["bash", "zsh", "fish"]) func completionsAreCurrent(_ shell: String) throws {
    #expect(try Project.text("completions/xpastebridge.\(shell)") == CompletionScripts.script(for: shell))
  }

  @Test func manualIsCurrent() throws {
    let page = try Project.text("man/xpastebridge.1")
    #expect(page.contains(ManualSections.synopsis))
    #expect(page.contains(ManualSections.commands))
  }

  nonisolated static let subjects: [(String, String)] = [
    ("class=Firefox,exe=/usr/bin/firefox", "class=Firefox exe=/usr/bin/firefox"),
    ("class=a,b,unit=c", "class=a,b unit=c"),
    ("remote,class=x", "remote class=x"),
    ("exe=/usr/bin/python3.11,script=/opt/a.py", "exe=/usr/bin/python3.11 script=/opt/a.py"),
    (#"class=a\,exe=/b\\,unit=c"#, #"class=a,exe=/b\ unit=c"#),
    (#"unit=app-a\x2db.scope"#, #"unit=app-a\x2db.scope"#),
    ("unknown", "unknown"),
  ]

  @Test(arguments: subjects) func readsApps(_ row: (text: String, facts: String)) throws {
    let subject = try RequestReader.subject(row.text, pid: 1)
    var words = subject.facts.map { "\($0.name.rawValue)=\($0.fact.value)" }
    if case .remote = subject.origin { words.insert("remote", at: 0) }
    if case .unknown = subject.origin { words.insert("unknown", at: 0) }
    #expect(words.joined(separator: " ") == row.facts)
  }

  /// What an audit record tells to try is read as it was meant, whatever a program calls itself.
  @Test(arguments: ["a,exe=/opt/sap", "a\\,b", "\\", ",", "remote,x", "a\\x2db", ",,"])
  func readsWhatItShows(name: String) throws {
    let subject = Subject(
      origin: .local(ProcessIdentity(id: 1, startTime: 0)), windowClass: Fact(name, .declared),
      executable: Fact("/opt/a,b", .attested), script: Fact("/opt/c.py", .declared))
    #expect(try RequestReader.subject(subject.summary, pid: 1) == subject)
  }

  @Test func readsSizes() throws {
    #expect(try RequestReader.bytes("64") == 64)
    #expect(try RequestReader.bytes("64M") == 64 << 20)
    for wrong in ["", "M", "-1", "1T", "99999999999999G"] {
      #expect(throws: UsageFailure.self, "\(wrong)") { try RequestReader.bytes(wrong) }
    }
  }

  nonisolated static let displays: [(String, String)] = [
    (":4", ":4"), (":4.0", ":4"), ("unix:4.1", ":4"), ("unix/:4", ":4"), ("localhost:10.0", "localhost:10"),
    (":04", ":4"), ("unix/foo:04.1", ":4"), ("10.0.0.1:0", "10.0.0.1:0"), ("/tmp/x/:0", "%2Ftmp%2Fx%2F:0"),
    ("..", "%2E.."), ("", "%2E"), ("/\u{30c}x", "%2F\u{30c}x"),
  ]

  @Test(arguments: displays) func namesDisplays(_ row: (display: String, key: String)) {
    #expect(ControlAddress.key(of: row.display) == row.key)
  }
}
