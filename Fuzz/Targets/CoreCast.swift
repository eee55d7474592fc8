@testable import Policy
import PolicyFile
import Selection

/// A program on the pretended server.
struct Program {
  let subject: Subject
  /// The upper bits of its windows' XIDs.
  let base: UInt32

  /// One of its windows that ask for conversions.
  func requestor(_ number: Int) -> Window { Window(base | UInt32(0x100 + number)) }

  private static func local(_ pid: Int32, _ windowClass: String?, _ exe: String) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: pid, startTime: UInt64(pid) * 10)),
      windowClass: windowClass.map { Fact($0, .declared) }, executable: Fact(exe, .attested))
  }

  /// Two of one app, two that belong together, two strangers, one without a class, one of another machine, one unknown.
  static let all: [Program] = [
    local(100, "Ledger", "/opt/ledger/bin/ledger"), local(101, "Ledger", "/opt/ledger/bin/ledger"),
    local(110, "Report", "/opt/ledger/bin/report"), local(200, "Browser", "/usr/bin/browser"),
    local(300, "Vault", "/usr/bin/vault"), local(400, nil, "/usr/bin/tool"),
    Subject(origin: .remote, windowClass: Fact("Ledger", .declared)), .unknown,
  ].enumerated().map { Program(subject: $1, base: UInt32($0 + 2) << 21) }
}

/// The policies of the scenes, as people write them.
enum ScenePolicy {
  /// What `replace-with` says in them.
  static let replacement = "Nothing to paste"

  static let all: [PolicySet] = [.allowEverything, .locked] + texts.map { load($0) }

  private static func load(_ text: String) -> PolicySet {
    let file = SourceFile(path: "scene.yaml", bytes: Array(text.utf8))
    switch PolicyLoader.load(managed: [file], user: []) {
    case .success(let loaded): return loaded.policy
    case .failure(let found): preconditionFailure("a policy of the scenes is wrong: \(found)")
    }
  }

  private static let texts = [
    """
    version: 1
    groups: {finance: [{class: [Ledger, Report], exe: /opt/ledger/**}]}
    rules: [{from: finance, to: {not: finance}, decision: deny}]
    """,
    """
    version: 1
    rules: [{from: {class: Ledger}, actions: [copy, cut], decision: deny}]
    """,
    """
    version: 1
    rules: [{apps: {class: Vault}, actions: copy, decision: private, expires: 20s}]
    """,
    """
    version: 1
    boards: {com.acme.finance: {members: {exe: /opt/ledger/**}}}
    rules: [{from: {exe: /opt/ledger/**}, decision: private, replace-with: \(replacement)}]
    """,
    """
    version: 1
    rules:
      - {from: {exe: /opt/ledger/**}, to: {exe: /opt/ledger/**}, decision: allow}
      - {from: {class: Browser}, actions: copy, decision: allow}
      - {from: {class: Browser}, to: {class: Vault}, decision: allow}
    default: deny
    """,
    """
    version: 1
    rules:
      - {from: {class: Ledger}, actions: copy, decision: allow, only-targets: [text, html], max-size: 100}
      - {from: {class: Vault}, to: {not: {class: Vault}}, decision: allow, plain-text: true}
    """,
    """
    version: 1
    rules:
      - {from: {class: Vault}, actions: copy, decision: allow, one-shot: true, expires: 30s}
      - {from: {class: Ledger}, to: {class: Browser}, decision: allow, one-shot: true}
    """,
    """
    version: 1
    rules:
      - {from: {class: Ledger}, to: {class: Browser}, decision: deny, replace-with: \(replacement)}
      - {from: {class: Report}, to: any, decision: ask}
    """,
    """
    version: 1
    rules:
      - {from: {class: Ledger}, size: {up-to: 64}, decision: allow}
      - {from: {class: Ledger}, to: {not: {class: Report}}, decision: deny}
      - {from: any, sensitive: true, to: {class: Browser}, decision: deny}
      - {from: {class: Browser}, targets: html, actions: copy, decision: deny}
    """,
    """
    version: 1
    rules: [{from: {class: Ledger}, to: {class: Browser}, decision: deny}]
    limits:
      {max-targets: 3, max-pairs: 2, transfers-per-client: 1, transfers: 2, flood: 3, max-clip: 512K, max-total: 1M,
       targets-timeout: 300ms, capture-timeout: 1s, idle-timeout: 500ms}
    """,
    """
    version: 1
    rules:
      - {from: unknown, actions: copy, decision: deny}
      - {from: remote, to: {not: remote}, decision: deny}
      - {from: {class: Vault}, to: {class: Vault}, same-app: true, decision: deny}
    """,
  ]
}

/// Decides as the description of the policy language reads, without the engine: by the reference evaluator.
struct PlainJudge {
  let policy: PolicySet
  private let reference: Reference

  init(_ policy: PolicySet) {
    self.policy = policy
    reference = Reference(managed: policy.managed, user: policy.user)
  }

  /// Whether `destination` may have a representation of a clip of `source`, perhaps only since the person has allowed it once.
  func permits(
    _ facts: ContentFacts, of source: Subject, to destination: Subject, allowedOnce: Bool = false
  ) -> Bool {
    let isOwn = destination.isSameApp(as: source)
    guard !policy.isLocked else { return isOwn }
    guard keeps(facts, of: source) else { return false }
    let copy = reference.answer(Request(action: .copy, source: source, content: facts))
    if copy.verdict == .private, !isOwn, !isMember(destination, ofBoardFor: copy, copiedBy: source) { return false }
    let paste = reference.answer(Request(action: .paste, source: source, destination: destination, content: facts))
    return (paste.verdict == .allow || allowedOnce && paste.verdict == .ask) && terms(of: paste)?.permits(facts) ?? true
  }

  /// Whether a representation that `source` copied may be kept.
  func keeps(_ facts: ContentFacts, of source: Subject) -> Bool {
    guard !policy.isLocked else { return true }
    let copy = reference.answer(Request(action: .copy, source: source, content: facts))
    return (copy.verdict == .allow || copy.verdict == .private) && terms(of: copy)?.permits(facts) ?? true
  }

  /// Whether the clip may be pasted once only, by another app than its own.
  func isOneShot(_ facts: ContentFacts, of source: Subject, to destination: Subject) -> Bool {
    [
      reference.answer(Request(action: .copy, source: source, content: facts)),
      reference.answer(Request(action: .paste, source: source, destination: destination, content: facts)),
    ].contains { terms(of: $0)?.oneShot ?? false }
  }

  private func rule(of answer: Reference.Answer) -> Rule? {
    policy.managed.rules.first { $0.reference.name == answer.rule }
  }

  private func terms(of answer: Reference.Answer) -> Obligations? { rule(of: answer)?.obligations }

  private func isMember(
    _ destination: Subject, ofBoardFor answer: Reference.Answer, copiedBy source: Subject
  ) -> Bool {
    let groups = Dictionary(uniqueKeysWithValues: policy.managed.groups.map { ($0.name, $0.matcher) })
    let board =
      terms(of: answer)?.board.flatMap { name in policy.managed.boards.first { $0.name == name } }
      ?? policy.managed.boards.first { reference.belongs(source, $0.members, groups) == true }
    return board.map { reference.belongs(destination, $0.members, groups) == true } ?? false
  }
}
