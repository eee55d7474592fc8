import Foundation
import Testing

@testable import Policy
@testable import PolicyFile

func load(_ text: String, user: String? = nil) throws -> LoadedPolicy {
  let users = user.map { [SourceFile(path: "user.yaml", bytes: Array($0.utf8))] } ?? []
  return try PolicyLoader.load(managed: [SourceFile(path: "a.yaml", bytes: Array(text.utf8))], user: users).get()
}

func errors(_ text: String, user: String? = nil) -> [String] {
  do {
    _ = try load(text, user: user)
    return []
  } catch { return (error as? Diagnostics)?.errors.map(\.description) ?? ["\(error)"] }
}

func app(_ windowClass: String?, exe: String? = nil, pid: Int32 = 1) -> Subject {
  Subject(
    origin: .local(ProcessIdentity(id: pid, startTime: 1)), windowClass: windowClass.map { Fact($0, .declared) },
    executable: exe.map { Fact($0, .attested) })
}

extension PolicySet {
  func verdict(_ request: Request) -> Verdict? {
    if case .decided(let one) = evaluate(request) { one.verdict } else { nil }
  }
}

@Suite struct LoaderTests {
  static let everything = """
    version: 1
    groups:
      finance:                     # entries are alternatives; the keys of one entry must all hold
        - class: "SAP*"
          exe: /opt/sap/**
        - unit: "app-ledger*.service"
      vault:
        - {class: KeePassXC, exe: /usr/bin/keepassxc}
        - {class: [A, "B*"], not: finance}
    boards:
      com.acme.finance:
        members: [finance]
        mirror: true
        persistent: true
        local-only: true
        expires: 8h
        max-size: 64M
        max-items: 50
    limits:
      targets-timeout: 500ms
      capture-timeout: 5m
      max-clip: 1M
      max-total: 1G
      flood: 7
    primary: own
    secondary: guard
    cut-buffers: guard
    rules:
      - name: vault never enters the desktop
        apps: vault
        actions: [copy, cut]
        decision: private
        expires: 20s
      - name: short snippets may leave finance
        from: finance
        targets: [text]
        size: {up-to: 64}
        decision: allow
      - from: finance
        to: {not: finance}
        decision: deny
        message: "Finance data stays in finance applications."
      - name: all terms
        from: {remote: true}
        selection: [clipboard, com.acme.finance]
        sensitive: false
        only-targets: [text, "image/*"]
        plain-text: false
        max-size: 2K
        expires: 7d
        one-shot: true
        board: com.acme.finance
        notify: true
        audit: false
        protect: true
        decision: allow
    default: ask
    expect:
      - {from: {class: SAPGUI, exe: /opt/sap/gui}, to: {class: Firefox}, target: text/html, size: 1K, decision: deny}
      - {from: {exe: /usr/bin/b}, action: cut, decision: allow}
    """

  @Test func allKeys() throws {
    let policy = try load(LoaderTests.everything).policy
    let rules = policy.managed.rules
    #expect(
      rules.map(\.reference.name).prefix(3) == [
        "vault never enters the desktop", "short snippets may leave finance", "rule 3",
      ])
    #expect(rules[0].obligations.expiresAfterSeconds == 20 && rules[0].actions == [.copy, .cut])
    #expect(rules[0].reference.position == SourcePosition(file: "a.yaml", line: 29, column: 5))
    #expect(rules[1].size == SizeRange(upTo: 64) && rules[1].targets == [.kind(.text)])
    #expect(rules[2].to == .not(.group("finance")))
    let terms = rules[3].obligations
    #expect(terms.targets == [.kind(.text), .glob("image/*")] && terms.maxSize == 2_048 && terms.oneShot)
    #expect(terms.expiresAfterSeconds == 604_800 && terms.board == "com.acme.finance" && terms.protect)
    #expect(terms.notify == true && terms.audit == false && rules[3].isSensitive == false)
    let board = try #require(policy.boards.first)
    #expect(board.mirrors && board.isPersistent && board.isLocalOnly && board.expiresAfterSeconds == 28_800)
    #expect(board.maxBytes == 64 << 20 && board.maxItems == 50)
    #expect(policy.limits.targetsMilliseconds == 500 && policy.limits.captureMilliseconds == 300_000)
    #expect(policy.limits.clipBytes == 1 << 20 && policy.limits.floodRefusals == 7)
    #expect(policy.primary == .own && policy.secondary == .guard && policy.cutBuffers == .guard)
    #expect(policy.managed.defaultDecision?.verdict == .ask)
    #expect(policy.failedExpectations() == [])
    let firefox = app("Firefox", pid: 2)
    let sap = app("SAPGUI", exe: "/opt/sap/gui")
    let html = ContentFacts(target: "text/html", size: 100)
    #expect(policy.verdict(Request(action: .paste, source: sap, destination: firefox, content: html)) == .deny)
    #expect(policy.verdict(Request(action: .paste, source: app("SAPGUI"), destination: firefox, content: html)) == .ask)
  }

  /// Windows editors write a byte order mark and CRLF (B193).
  @Test func byteOrderMarkAndCarriageReturns() throws {
    let plain = try load(LoaderTests.everything).policy
    let windows = "\u{FEFF}" + LoaderTests.everything.replacingOccurrences(of: "\n", with: "\r\n")
    #expect(try load(windows).policy.managed == plain.managed)
  }

  /// Only the first mark is dropped (B194).
  @Test func markInsideATextIsKept() throws {
    let policy = try load("version: 1\nrules:\n  - from: {class: \"a\u{FEFF}b\"}\n    decision: deny\n").policy
    #expect(policy.verdict(Request(action: .copy, source: app("a\u{FEFF}b"))) == .deny)
    #expect(policy.verdict(Request(action: .copy, source: app("ab"))) == .allow)
  }

  /// Whole names only (B162).
  @Test func wholeNames() throws {
    let policy = try load("version: 1\nrules: [{from: {class: st}, decision: deny}]").policy
    #expect(policy.verdict(Request(action: .copy, source: app("st"))) == .deny)
    for name in ["steam", "Postman", "ST", "st "] {
      #expect(policy.verdict(Request(action: .copy, source: app(name))) == .allow)
    }
  }

  @Test func jsonIsRead() throws {
    let json = #"{"version": 1, "rules": [{"from": {"class": "\u0041\/\n"}, "decision": "deny"}]}"#
    #expect(
      errors(json) == [
        "a.yaml:1:45: expected a pattern for `class` without control characters, found `A/\\n`"
      ])
    let fine = "{\"version\": 1,\n\t\"rules\": [{\"from\": {\"class\": \"A\\/B\"}, \"decision\": \"deny\"}]}"
    #expect(try load(fine).policy.verdict(Request(action: .copy, source: app("A/B"))) == .deny)
  }

  static let literally = ["no", "yes", "on", "off", "1.5", "0x10", "2026-01-01", "No", "n"]

  /// Words that YAML 1.1 takes for something else are texts where texts are meant.
  @Test(arguments: literally) func literalTexts(_ word: String) throws {
    let policy = try load("version: 1\nrules: [{name: \(word), from: {class: \(word)}, decision: deny}]").policy
    #expect(policy.managed.rules[0].reference.name == word)
    #expect(policy.verdict(Request(action: .copy, source: app(word))) == .deny)
  }

  /// Bytes that are no text are placed by the same line ends as everything else.
  @Test(arguments: ["\n", "\r", "\r\n", "\u{85}", "\u{2028}", "\u{2029}"])
  func placesOfBadBytes(_ lineEnd: String) {
    let file = SourceFile(path: "a.yaml", bytes: Array("version: 1\(lineEnd)é: ".utf8) + [0xFF])
    guard case .failure(let found) = PolicyLoader.load(managed: [file], user: []) else {
      Issue.record("a policy from bytes that are no text")
      return
    }
    #expect(found.errors.map(\.position) == [SourcePosition(file: "a.yaml", line: 2, column: 4)])
  }

  @Test func aBrokenFileLeavesNothing() {
    let good = SourceFile(path: "1.yaml", bytes: Array("version: 1\nrules: [{decision: deny}]".utf8))
    let bad = SourceFile(path: "2.yaml", bytes: Array(#"{"rules": ["#.utf8))
    let worse = SourceFile(path: "0.yaml", bytes: Array("version: 3".utf8))
    guard case .failure(let found) = PolicyLoader.load(managed: [good, bad], user: [worse]) else {
      Issue.record("a policy from broken files")
      return
    }
    #expect(found.errors.map(\.position.file) == ["0.yaml", "2.yaml"])
  }

  @Test func severalFilesMakeOneRuleset() throws {
    func file(_ name: String, _ text: String) -> SourceFile { SourceFile(path: name, bytes: Array(text.utf8)) }
    let one = file("1.yaml", "version: 1\ngroups: {g: [{exe: /a}]}\ndefault: ask\nrules: [{from: g, decision: allow}]")
    let two = file("2.yaml", "version: 1\ndefault: deny\nrules: [{from: {exe: /b}, decision: allow}]")
    let three = file("3.yaml", "version: 1\ndefault: allow\n")
    let policy = try PolicyLoader.load(managed: [one, two, three], user: []).get().policy
    #expect(policy.managed.rules.map(\.reference.position.file) == ["1.yaml", "2.yaml"])
    #expect(
      policy.managed.defaultDecision
        == DefaultDecision(.deny, position: SourcePosition(file: "2.yaml", line: 2, column: 10)))
    let twice = file("4.yaml", "version: 1\ngroups: {g: [{exe: /a}]}\nlimits: {flood: 5}")
    let again = file("5.yaml", "version: 1\nlimits: {flood: 5}")
    guard case .failure(let found) = PolicyLoader.load(managed: [one, twice, again], user: []) else {
      Issue.record("names given twice were taken")
      return
    }
    #expect(
      found.errors.map(\.description) == [
        "4.yaml:2:10: expected a group name that is free, found `g` again; it is first used at 1.yaml:2:10",
        "5.yaml:2:17: expected `flood` to be set once, found it again; it is first set at 4.yaml:3:17",
      ])
  }

  /// Rules without a name are numbered in each file, so the message needs both files.
  @Test func coveringAcrossFiles() throws {
    func file(_ name: String, _ text: String) -> SourceFile { SourceFile(path: name, bytes: Array(text.utf8)) }
    let one = file("1.yaml", "version: 1\nrules: [{from: {exe: /a}, decision: deny}]")
    let two = file("2.yaml", "version: 1\nrules: [{from: {exe: /a}, decision: allow}]")
    guard case .failure(let found) = PolicyLoader.load(managed: [one, two], user: []) else {
      Issue.record("a rule that can't decide anything was taken")
      return
    }
    #expect(
      found.errors.map(\.description) == [
        "2.yaml:2:9: expected a rule that can decide something, found `rule 1` of `2.yaml`; rule `rule 1` at 1.yaml:2:9 always decides before it, since that file is read first"
      ])
  }

  @Test func usersMayUseManagedGroupsAndHideThem() throws {
    let managed = "version: 1\ngroups: {g: [{exe: /a}]}\nrules: [{from: g, decision: ask}]"
    let policy = try load(managed, user: "version: 1\nrules: [{from: g, decision: deny}]").policy
    #expect(policy.verdict(Request(action: .copy, source: app(nil, exe: "/a"))) == .deny)
    let hiding = try load(managed, user: "version: 1\ngroups: {g: [{exe: /b}]}\nrules: [{from: g, decision: deny}]")
      .policy
    #expect(hiding.verdict(Request(action: .copy, source: app(nil, exe: "/a"))) == .allow)
    #expect(hiding.verdict(Request(action: .copy, source: app(nil, exe: "/b"))) == .deny)
    let paste = Request(action: .paste, source: app(nil, exe: "/a"), destination: app("Z", pid: 5))
    #expect(hiding.verdict(paste) == .ask)
    #expect(
      errors("version: 1\nboards: {b: {members: any}}", user: "version: 1\nboards: {b: {members: any}}") == [
        "user.yaml:2:10: expected a board name that is free, found `b` again; it is first used at a.yaml:2:10"
      ])
  }

  @Test func boundsOfSizeAndNesting() {
    let large = SourceFile(path: "l.yaml", bytes: [UInt8](repeating: 35, count: DocumentLimits.bytes + 1))
    guard case .failure(let found) = PolicyLoader.load(managed: [large], user: []) else {
      Issue.record("too large a file was taken")
      return
    }
    #expect(found.errors.map(\.kind) == [.tooLarge])
    let deep = "version: 1\nrules: " + String(repeating: "[", count: 200_000)
    #expect(errors(deep).count == 1)
    let brackets = "version: 1\nrules: [" + String(repeating: "{},", count: 2_000) + "]"
    #expect(errors(brackets).count == 2_000)
  }

  @Test func quantities() {
    #expect(Quantity.bytes("64") == 64 && Quantity.bytes("64K") == 65_536 && Quantity.bytes("1G") == 1 << 30)
    #expect(Quantity.milliseconds("500ms") == 500 && Quantity.milliseconds("5m") == 300_000)
    #expect(Quantity.milliseconds("8h") == 28_800_000 && Quantity.milliseconds("7d") == 604_800_000)
    for text in ["", "K", "-1", "+1", "1 K", "1k", "1KB", "9999999999999999999", "9999999999999G", "1.5M", "0x10"] {
      #expect(Quantity.bytes(text) == nil, "\(text)")
    }
    for text in ["", "s", "20", "-1s", "1 s", "1S", "1w", "99999999999999999d"] {
      #expect(Quantity.milliseconds(text) == nil, "\(text)")
    }
  }

  @Test func suggestions() {
    #expect(Suggestion.nearest(to: "frm", among: ["from", "to"]) == "from")
    #expect(Suggestion.nearest(to: "FROM", among: ["from"]) == "from")
    #expect(Suggestion.nearest(to: "form", among: ["from"]) == "from", "neighbours swapped")
    #expect(Suggestion.nearest(to: "banana", among: ["from", "to"]) == nil)
    #expect(Suggestion.hint(for: "x", among: []) == nil)
  }

  /// Cut, doubled and changed bytes are refused or read, and nothing worse.
  @Test func damagedFilesEndWell() {
    var random = SystemRandomNumberGenerator()
    let whole = Array(LoaderTests.everything.utf8)
    for length in stride(from: 0, through: whole.count, by: 7) {
      _ = PolicyLoader.load(managed: [SourceFile(path: "f", bytes: Array(whole.prefix(length)))], user: [])
    }
    for _ in 0..<500 {
      var bytes = whole
      for _ in 0..<3 {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        default: bytes.insert(Array("[]{}:,-&*!\"'\n ".utf8).randomElement(using: &random)!, at: index)
        }
      }
      _ = PolicyLoader.load(managed: [SourceFile(path: "f", bytes: bytes)], user: [])
    }
  }

  /// Every prefix of a good file, as a program that writes it piece by piece leaves it, either is refused or says a
  /// part of the rules in order; the daemon waits until writing has settled, since such a part can allow more.
  @Test func anEmptiedFileIsNoPolicy() {
    #expect(
      errors("") == [
        "a.yaml:1:1: expected `version: 1`, found an empty file; delete the file; an empty one only masks a vendor's file of the same name"
      ])
    #expect(errors("\u{FEFF}").count == 1)
  }

  @Test func theExampleIsRight() throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("policy/example.yaml").path
    let (_, result) = PolicyDirectories(explicit: [path]).load()
    let loaded = try result.get()
    #expect(loaded.warnings.filter { $0.kind != .unsureApps } == [])
    #expect(!loaded.policy.managed.expectations.isEmpty)
    #expect(loaded.policy.failedExpectations().map(\.description) == [])
  }
}
