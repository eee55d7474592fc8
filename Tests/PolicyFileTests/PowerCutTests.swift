import Foundation
import Testing

@testable import Policy
@testable import PolicyFile

/// What a power cut leaves of a file that was being written: every length of it, as the next start reads it.
@Suite struct PowerCutTests {
  static let body = """
    version: 1
    groups:
      finance:                     # entries are alternatives
        - {exe: /opt/ledger/bin/ledger}
        - unit: "app-ledger*.service"
    rules:
      - name: finance stays in finance
        from: finance
        to: {not: finance}
        decision: deny
      - name: pictures stay
        from: {exe: /usr/bin/gimp}
        targets: [image]
        decision: deny
        message: "Bilder bleiben hier, auch für Größen über 1 MiB."
    default: allow

    """

  static let marked = "# written by the administrator\nends-with-mark: true\n" + body + "...\n"

  static let braces = """
    {"version": 1, "groups": {"finance": [{"exe": "/opt/ledger/bin/ledger"}, {"unit": "app-ledger*.service"}]},
     "rules": [{"from": "finance", "to": {"not": "finance"}, "decision": "deny"},
               {"from": {"exe": "/usr/bin/gimp"}, "targets": ["image"], "decision": "deny"}], "default": "allow"}

    """

  static func policy(_ bytes: some Sequence<UInt8>) -> PolicySet? {
    let file = SourceFile(path: "f", bytes: Array(bytes))
    return try? PolicyLoader.load(managed: [file], user: []).get().policy
  }

  /// Pastes that the whole file refuses.
  static let refused: [Request] = {
    let browser = app("Firefox", exe: "/usr/bin/firefox", pid: 2)
    let picture = ContentFacts(target: "image/png", size: 9)
    return [app("L", exe: "/opt/ledger/bin/ledger"), app("G", exe: "/usr/bin/gimp")].map {
      Request(action: .paste, source: $0, destination: browser, content: picture)
    }
  }()

  static func allowsSomething(_ policy: PolicySet) -> Bool {
    refused.contains { policy.verdict($0) != .deny }
  }

  @Test(arguments: [marked, braces, marked.replacingOccurrences(of: "\n", with: "\r\n")])
  func everyLengthIsRefusedOrMeansTheSame(_ text: String) throws {
    let whole = Array(text.utf8)
    let meaning = try #require(Self.policy(whole))
    #expect(!Self.allowsSomething(meaning))
    var loading = 0
    for length in 0..<whole.count {
      guard let policy = Self.policy(whole.prefix(length)) else { continue }
      loading += 1
      #expect(!Self.allowsSomething(policy), "the first \(length) bytes")
      #expect(policy.managed == meaning.managed, "the first \(length) bytes say something else")
    }
    // Only line ends and what stands behind the mark may be missing.
    #expect(loading <= 4)
    // Blocks that were never written are zeros.
    for length in stride(from: 0, to: whole.count, by: 13) {
      #expect(Self.policy(whole.prefix(length) + [UInt8](repeating: 0, count: whole.count - length)) == nil)
    }
  }

  /// Why the mark is there: without it some lengths are policies, and allow more.
  @Test func withoutTheMarkSomeAllowMore() {
    let whole = Array(Self.body.utf8)
    let looser = (0..<whole.count).filter { Self.policy(whole.prefix($0)).map(Self.allowsSomething) ?? false }
    #expect(!looser.isEmpty)
  }
}
