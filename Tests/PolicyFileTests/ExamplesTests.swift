import Foundation
import Testing

@testable import Policy
@testable import PolicyFile

/// The policies that are shipped, and the snippets of the documents: they load without a warning, and do what they say.
@Suite struct ExamplesTests {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static let names = ["contractor", "kiosk", "report-only", "suite", "vault"]

  static func policy(_ name: String) throws -> LoadedPolicy {
    let path = root.appendingPathComponent("policy/examples/\(name).yaml").path
    return try PolicyDirectories(explicit: [path]).load().result.get()
  }

  @Test func allAreTried() throws {
    let folder = Self.root.appendingPathComponent("policy/examples").path
    let found = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".yaml") }
    #expect(Set(found).isSuperset(of: Self.names.map { $0 + ".yaml" }))
    for name in found {
      let loaded = try Self.policy(String(name.dropLast(5)))
      // Doubt and PRIMARY are treated so on purpose; the programs aren't on this machine.
      let meant: Set<Diagnostic.Kind> = [.unsureApps, .protectsPrimary, .pathIsMissing]
      let doubtful = loaded.warnings.filter { !meant.contains($0.kind) }
      #expect(doubtful.map(\.description) == [], "\(name)")
      #expect(loaded.policy.managed.expectations.count >= 4, "\(name)")
      #expect(loaded.policy.failedExpectations().map(\.description) == [], "\(name)")
    }
  }

  static func paste(
    _ source: String, _ destination: String, _ target: String = "UTF8_STRING", _ size: Int = 10
  ) -> Request {
    Request(
      action: .paste, source: app("S", exe: source, pid: 1), destination: app("D", exe: destination, pid: 2),
      content: ContentFacts(target: target, size: size))
  }

  @Test func vault() throws {
    let policy = try Self.policy("vault").policy
    let copied = Request(
      action: .copy, source: app("K", exe: "/usr/bin/keepassxc"), content: ContentFacts(target: "UTF8_STRING", size: 9))
    let terms = try #require(policy.decided(copied)).obligations
    #expect(terms.oneShot && terms.expiresAfterSeconds == 20)
    let refusal = try #require(policy.decided(Self.paste("/usr/bin/keepassxc", "/usr/bin/gedit")))
    #expect(refusal.verdict == .deny && refusal.obligations.message == "Passwords go to the browser alone.")
    var secret = copied
    secret.source = app("E", exe: "/usr/bin/gedit")
    secret.content?.isSensitive = true
    #expect(policy.decided(secret)?.obligations.expiresAfterSeconds == 30)
  }

  @Test func kiosk() throws {
    let policy = try Self.policy("kiosk").policy
    let browser = app("B", exe: "/usr/bin/browser")
    for action in Action.byCommand { #expect(policy.alwaysDenies(action, by: browser), "\(action)") }
    #expect(policy.possibleActions(of: app("F", exe: "/opt/kiosk/bin/form")) == [.copy, .cut, .paste])
    #expect(policy.primary == .own && policy.secondary == .guard && policy.cutBuffers == .guard)
    #expect(policy.limits.clipBytes == 64 << 10)
  }

  @Test func contractor() throws {
    let policy = try Self.policy("contractor").policy
    #expect(policy.decided(Self.paste("/usr/bin/xfreerdp", "/usr/bin/firefox"))?.obligations.audit == true)
    #expect(policy.decided(Self.paste("/usr/bin/xfreerdp", "/usr/bin/firefox", "text/uri-list"))?.verdict == .deny)
    #expect(policy.decided(Self.paste("/usr/bin/gedit", "/usr/bin/xfreerdp"))?.obligations.plainText == true)
  }

  @Test func reportOnly() throws {
    let policy = try Self.policy("report-only").policy
    let leaving = try #require(policy.decided(Self.paste("/opt/ledger/bin/ledger", "/usr/bin/firefox")))
    #expect(!policy.isEnforced && leaving.verdict == .allow && leaving.obligations.notEnforced == .deny)
    #expect(policy.whenEnforced.decided(Self.paste("/opt/ledger/bin/ledger", "/usr/bin/firefox"))?.verdict == .deny)
  }

  /// Each block of YAML in the migration notes is a policy, and does what the row above it says.
  @Test func migrationNotes() throws {
    let text = try String(contentsOf: Self.root.appendingPathComponent("docs/migration.md"), encoding: .utf8)
    let blocks = text.components(separatedBy: "```yaml\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    #expect(blocks.count >= 14)
    for block in blocks {
      let loaded = try load(block)
      let doubtful = loaded.warnings.filter { $0.kind != .unsureApps && $0.kind != .protectsPrimary }
      #expect(doubtful.map(\.description) == [], "\(block)")
      #expect(!loaded.policy.managed.expectations.isEmpty, "\(block)")
      #expect(loaded.policy.failedExpectations().map(\.description) == [], "\(block)")
      expectClosedDrags(loaded.policy, block)
    }
  }

  /// No example leaves open to drags what it keeps from copies and pastes. Within an app no drag is decided.
  private func expectClosedDrags(_ policy: PolicySet, _ what: String) {
    let policy = policy.whenEnforced
    let stranger = Subject(
      origin: .local(ProcessIdentity(id: 99, startTime: 1)), executable: Fact("/nobody", .attested))
    for expectation in policy.managed.expectations where expectation.request.selection == "clipboard" {
      guard policy.decided(expectation.request)?.grant == nil, !expectation.request.isSameApp else { continue }
      var drag = expectation.request
      (drag.action, drag.selection, drag.destination) = (.drag, "drag", drag.destination ?? stranger)
      #expect(policy.decided(drag)?.grant == nil, "\(drag.summary) in \(what)")
    }
  }

  @Test(arguments: ["contractor", "kiosk", "report-only", "suite", "vault"]) func examplesCloseDrags(name: String)
    throws
  {
    let policy = try Self.policy(name).policy
    #expect(!policy.managed.expectations.isEmpty)
    expectClosedDrags(policy, name)
  }

  /// A literal path is looked at where the policy is loaded; running programs show what a link leads to.
  @Test func pathsOnThisMachine() throws {
    let text = """
      version: 1
      rules:
        - {name: linked, from: {exe: /bin/app}, decision: deny}
        - {name: script, from: {exe: /bin/start}, decision: deny}
        - {name: nothing, from: {exe: /bin/gone}, decision: deny}
        - {name: fine, from: {exe: [/bin/real, /opt/**]}, decision: deny}
      """
    let found: [String: PathFinding] = [
      "/bin/app": .link(to: "/usr/bin/app"), "/bin/gone": .missing, "/bin/real": .program,
      "/bin/start": .script(file: "/usr/bin/start.sh", interpreter: "/bin/sh", program: "/usr/lib/start"),
    ]
    let file = SourceFile(path: "a.yaml", bytes: Array(text.utf8))
    guard
      case .success(let loaded) = PolicyLoader.load(managed: [file], user: [], look: { found[$0] ?? .missing })
    else {
      Issue.record("not loaded")
      return
    }
    let kinds: Set<Diagnostic.Kind> = [.pathIsLink, .pathIsScript, .pathIsMissing]
    let said = loaded.warnings.filter { kinds.contains($0.kind) }.map(\.description)
    #expect(said.count == 3)
    #expect(said[0].contains("`/bin/app` is a link to `/usr/bin/app`"))
    #expect(said[1].contains("a link to the script `/usr/bin/start.sh`, which `/bin/sh` runs"))
    #expect(said[1].contains("it starts `/usr/lib/start`"))
    #expect(said[2].contains("`/bin/gone` is nothing on this machine"))
    for path in ["/bin/app", "/usr/bin/app"] {
      let subject = Subject(
        origin: .local(ProcessIdentity(id: 1, startTime: 1)), executable: Fact(path, .attested))
      #expect(loaded.policy.decided(Request(action: .copy, source: subject))?.verdict == .deny)
    }
  }

  /// A side is enforced or it isn't: else a rule that is only recorded would stand before one that decides.
  @Test func enforcementIsOfAWholeSide() {
    let lax = SourceFile(path: "10.yaml", bytes: Array("version: 1\nenforce: false\n".utf8))
    let strict = SourceFile(path: "20.yaml", bytes: Array("version: 1\ndefault: deny\n".utf8))
    guard case .failure(let found) = PolicyLoader.load(managed: [lax, strict], user: []) else {
      Issue.record("a side that is enforced in part was taken")
      return
    }
    #expect(found.errors.map(\.kind) == [.conflictingKeys])
    #expect(
      found.description.hasPrefix("10.yaml:2:10: expected `enforce: false` in all files of one side, found `20.yaml`"))
    let user = SourceFile(path: "u.yaml", bytes: Array("version: 1\nrules: [{from: {exe: /a}, decision: deny}]\n".utf8))
    guard case .success(let loaded) = PolicyLoader.load(managed: [lax], user: [user]) else {
      Issue.record("a user's file may be enforced beside managed ones that aren't")
      return
    }
    #expect(!loaded.policy.managed.isEnforced && loaded.policy.user.isEnforced)
  }
}

extension PolicySet {
  fileprivate func decided(_ request: Request) -> Decision? {
    if case .decided(let decision) = outcome(of: request) { decision } else { nil }
  }
}
