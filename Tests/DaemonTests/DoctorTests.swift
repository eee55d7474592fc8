import Foundation
import Testing

@testable import XPasteBridge

/// What `doctor` makes of what was gathered.
struct DoctorTests {
  /// A daemon in the best of health.
  private static let status = """
    {"schema":1,"version":"\(HelpText.version)","display":":1","pid":7,"lockdown":false,"priority":true,
     "policy":{"state":"in-force","files":["/etc/a.yaml"],"rules":2,"enforced":true,"errors":[]},
     "selections":[{"selection":"PRIMARY","trigger":"middle-button"}],
     "boardStore":{"state":"open","key":"secret-service"},
     "store":{"state":"kept"},"memory":{"bytes":10,"unlockedBytes":0},
     "presses":{"heldBack":true,"watchdog":9,"freed":0},
     "actions":{"holdsBackKeys":true,"lock":{"standing":"ready"},"occupied":[]},
     "audit":{"journal":true},"sessionBus":"owned"}
    """
  private static let clients = """
    {"clients":[{"self":true,"earlier":true,"origin":"local","exe":{"value":"/usr/bin/xpastebridge","evidence":"attested"}},
     {"self":false,"earlier":false,"origin":"local","pid":8,"exe":{"value":"/usr/bin/xterm","evidence":"attested"}}]}
    """

  private static func facts(
    _ status: String = status, _ clients: String = clients
  ) throws -> DoctorFacts {
    DoctorFacts(
      server: .reachable(missing: []), unit: .enabled("graphical-session.target", .byTarget), notices: .running,
      files: DoctorFacts.Files(count: 1),
      running: .answering(status: try JSON(reading: status), clients: try JSON(reading: clients)),
      version: HelpText.version)
  }

  private func finding(_ guarantee: Guarantee, _ facts: DoctorFacts) -> Finding? {
    Findings.all(facts).first { $0.guarantee == guarantee }
  }

  @Test func allHolds() throws {
    let findings = Findings.all(try Self.facts())
    #expect(findings.map(\.guarantee) == Guarantee.allCases, "each is judged once, in their order")
    for finding in findings {
      #expect(finding.holding == .holds, "\(finding)")
      #expect(finding.remedy == nil)
    }
  }

  /// What is changed in the daemon's words, and what is found.
  nonisolated static let changes: [(of: String, to: String, Guarantee, Holding, says: String)] = [
    (#""lockdown":false"#, #""lockdown":true"#, .daemon, .limited, "lockdown"),
    (#""version":""#, #""version":"9."#, .daemon, .limited, "version"),
    (#""state":"in-force""#, #""state":"locked""#, .policy, .broken, "locked"),
    (#""state":"in-force""#, #""state":"last-good""#, .policy, .limited, "last good"),
    (#""enforced":true"#, #""enforced":false"#, .policy, .limited, "not enforced"),
    (#""state":"in-force""#, #""state":"left-out""#, .policy, .limited, "none of the user's files"),
    (
      #""errors":[]"#, #""errors":[],"managed":{"changeable":["/etc/x","/etc/y"]}"#, .policy, .broken,
      "`/etc/x` and 1 other path can be changed by others than root"
    ),
    (#""priority":true"#, #""priority":false"#, .priority, .limited, "SYNC"),
    (#""trigger":"middle-button""#, #""rival":{"class":{"value":"Klipper"}}"#, .rivals, .broken, "Klipper"),
    (#""priority":true"#, #""priority":true,"rivalManager":{"class":{"value":"Old"}}"#, .rivals, .broken, "Old"),
    (#""holdsBackKeys":true"#, #""holdsBackKeys":false"#, .keys, .broken, "XKB"),
    (
      #""occupied":[]"#, #""occupied":[{"keys":["Ctrl+X"],"app":{"class":{"value":"Ledger"}}}]"#, .keys, .limited,
      "Ctrl+X of Ledger"
    ),
    (#""standing":"ready""#, #""standing":"impossible""#, .protection, .broken, "read by others"),
    (#""trigger":"middle-button""#, #""trigger":"pointer-entry""#, .presses, .limited, "another program"),
    (#""freed":0"#, #""freed":2"#, .presses, .limited, "2 times"),
    (#""unlockedBytes":0"#, #""unlockedBytes":5"#, .memory, .limited, "5 bytes"),
    (#""journal":true"#, #""journal":false"#, .audit, .limited, "standard error"),
    (
      #""journal":true"#, #""journal":true,"file":{"path":"/x","failure":"disk full"}"#, .audit, .broken, "disk full"
    ),
    (
      #""state":"kept""#, #""state":"none","reason":"no service manager keeps it""#, .crash, .limited,
      "no service manager"
    ),
    (#""sessionBus":"owned""#, #""sessionBus":"absent""#, .bus, .limited, "no session bus"),
    (#""sessionBus":"owned""#, #""sessionBus":"queued""#, .bus, .limited, "another display"),
    (#""key":"secret-service""#, #""key":"key-file""#, .boards, .limited, "beside the store"),
    (#""state":"open""#, #""state":"failed","reason":"in use""#, .boards, .broken, "in use"),
  ]

  @Test(arguments: changes.indices)
  func oneThingIsWrong(index: Int) throws {
    let change = Self.changes[index]
    let status = Self.status.replacingOccurrences(of: change.of, with: change.to)
    #expect(status != Self.status, "the change is one")
    let findings = Findings.all(try Self.facts(status))
    let wrong = findings.filter { $0.holding != .holds }
    #expect(wrong.map(\.guarantee) == [change.2], "\(wrong)")
    #expect(wrong.first?.holding == change.3)
    #expect(wrong.first?.found.contains(change.says) ?? false, "\(wrong)")
    #expect(wrong.first?.remedy != nil)
  }

  /// B14: where no program can be told from another nothing rests on who it is, and who was there first isn't known either.
  @Test func aServerThatNamesNobody() throws {
    let status = Self.status.replacingOccurrences(
      of: #""priority":true"#, with: #""priority":true,"namesPrograms":false"#)
    let wrong = Findings.all(try Self.facts(status)).filter { $0.holding != .holds }
    #expect(wrong.map(\.guarantee) == [.first, .identity])
    #expect(wrong.last?.holding == .broken)
    #expect(wrong.allSatisfy { $0.remedy?.contains("X-Resource") ?? false })
  }

  /// Without XFIXES nobody hears of copies: another display's name is no remedy.
  @Test func aServerThatCannotBeGuarded() throws {
    var facts = try Self.facts()
    facts.server = .unfit("display `:1` has no XFIXES extension of version 1.0 or later")
    let display = try #require(finding(.display, facts))
    #expect(display.holding == .broken && display.found.contains("XFIXES"))
    #expect(display.remedy?.contains("extension") ?? false)
  }

  /// B9: what the X server itself gives away no rule can keep.
  @Test func aServerThatHandsCopiesOut() throws {
    var facts = try Self.facts()
    facts.server = .reachable(missing: [], copying: "VNC-EXTENSION")
    let wrong = Findings.all(facts).filter { $0.holding != .holds }
    #expect(wrong.map(\.guarantee) == [.priority, .protection])
    #expect(wrong.allSatisfy { $0.holding == .broken && $0.found.contains("VNC-EXTENSION") && $0.remedy != nil })
  }

  /// C6: a display that takes connections and never answers ends both commands, with its name.
  @Test func aDisplayThatNeverAnswers() throws {
    let folder = TemporaryDirectory()
    let number = 40_000 + Int(getpid()) % 20_000
    mkdir("/tmp/.X11-unix", 0o1777)
    let path = "/tmp/.X11-unix/X\(number)"
    unlink(path)
    defer { unlink(path) }
    let socket = try Posix.socket()
    try Posix.bind(socket, path)
    try Posix.listen(socket, backlog: 8)
    let environment = ["XDG_RUNTIME_DIR": folder.path, "HOME": folder.path, "PATH": "/usr/bin:/bin"]
    let words = [["doctor", "--display", ":\(number)"], ["run", "--display", ":\(number)", "--no-bus"]]
    let children = words.map { ChildRun($0, environment: environment) }
    for (child, words) in zip(children, words) {
      #expect(child.wait(seconds: 30) == 1, "\(words)")
      #expect((child.output + child.complaint).contains("display `:\(number)` doesn't answer"), "\(words)")
    }
    #expect(children[0].output.contains("guarantees:"), "the rest of the report is there")
  }

  @Test func clientsThatCameFirst() throws {
    let clients = Self.clients.replacingOccurrences(
      of: #""self":false,"earlier":false"#, with: #""self":false,"earlier":true"#)
    let found = finding(.first, try Self.facts(Self.status, clients))
    #expect(found?.holding == .limited)
    #expect(found?.found.contains("/usr/bin/xterm (pid 8)") ?? false)
    #expect(!(found?.found.contains("xpastebridge") ?? true), "our own connections aren't named")
  }

  @Test func aManagerIsKnownByItsExecutable() throws {
    let clients = Self.clients.replacingOccurrences(of: "/usr/bin/xterm", with: "/usr/bin/copyq")
    #expect(finding(.rivals, try Self.facts(Self.status, clients))?.holding == .limited)
    let other = Self.clients.replacingOccurrences(of: "/usr/bin/xterm", with: "/opt/copyq/reader")
    #expect(finding(.rivals, try Self.facts(Self.status, other))?.holding == .holds)
  }

  @Test func aClientThatNobodyAttests() throws {
    let clients = Self.clients.replacingOccurrences(
      of: #""value":"/usr/bin/xterm","evidence":"attested""#, with: #""value":"/app/x","evidence":"declared""#)
    #expect(finding(.identity, try Self.facts(Self.status, clients))?.holding == .limited)
    // Of a program of another machine nothing can be attested; rules name it as `remote`.
    let remote = clients.replacingOccurrences(
      of: #""earlier":false,"origin":"local""#, with: #""earlier":false,"origin":"remote""#)
    #expect(finding(.identity, try Self.facts(Self.status, remote))?.holding == .holds)
  }

  @Test func withoutADaemon() throws {
    var facts = try Self.facts()
    facts.running = .absent("no daemon guards display `:1`")
    #expect(finding(.daemon, facts)?.holding == .broken)
    #expect(finding(.policy, facts)?.holding == .holds)
    #expect(finding(.first, facts) == nil, "nothing is said of what only a daemon can know")
    facts.files.errors = ["a.yaml:1:1: x", "a.yaml:2:1: y"]
    #expect(finding(.policy, facts)?.holding == .broken)
    #expect(finding(.policy, facts)?.found.contains("a.yaml:1:1: x (and 1 more)") ?? false)
    facts.server = .unreachable("no display")
    #expect(finding(.display, facts)?.holding == .broken)
    facts.server = .reachable(missing: ["XKB"])
    #expect(finding(.display, facts)?.holding == .limited)
    facts.runtimeProblem = "none"
    #expect(finding(.runtime, facts)?.holding == .broken)
    facts.files = DoctorFacts.Files(count: 1, changeable: ["/etc/xpastebridge/policy.d"])
    #expect(finding(.policy, facts)?.holding == .broken)
    let target = "graphical-session.target"
    for (unit, holding) in [
      (DoctorFacts.Unit.disabled, Holding.limited), (.absent, .limited), (.masked("/x"), .broken),
      (.masked(nil), .broken),
      (.enabled(target, .byTarget), .holds), (.enabled(target, .byOther), .holds), (.enabled(target, .never), .broken),
      (.enabled(target, .unasked("none")), .broken),
    ] {
      facts.unit = unit
      #expect(finding(.unit, facts)?.holding == holding)
    }
    for (notices, holding) in [
      (DoctorFacts.NoticeServer.startable, Holding.holds), (.absent, .limited), (.unasked("none"), .limited),
    ] {
      facts.notices = notices
      #expect(finding(.notices, facts)?.holding == holding)
    }
  }

  @Test func theReportMatchesItsSchemaAndSteersNoTerminal() throws {
    var facts = try Self.facts()
    facts.running = .absent(Example.hostile)
    let findings = Findings.all(facts)
    let schema = try SchemaVerdict(Project.text("schemas/doctor.schema.json"))
    #expect(schema.faults(in: DoctorReport.json(findings, display: Example.hostile)) == [])
    let text = DoctorReport.text(findings)
    #expect(!text.contains("\u{1b}"))
    #expect(text.contains("0 limited, 1 broken"))
    #expect(text.contains("broken   daemon"))
  }
}
