import Foundation
import Policy
import Testing

@testable import XPasteBridge

/// The power fails while a policy is saved: whatever length is on the disk, a start allows no paste that the policy refuses.
struct PolicyPowerCutTests {
  private let folder = TemporaryDirectory()

  private static let whole = Array(
    """
    ends-with-mark: true
    version: 1
    rules:
      - name: nothing from the ledger
        from: {exe: /opt/ledger}
        to: any
        decision: deny
      - name: nor pictures
        to: {exe: /usr/bin/chat}
        decision: deny
    ...

    """.utf8)

  private static let before = "version: 1\nrules: [{from: {exe: /opt/ledger}, to: any, decision: deny}]\n"

  private static let blocked: Request = {
    func app(_ exe: String, _ pid: Int32) -> Subject {
      Subject(origin: .local(ProcessIdentity(id: pid, startTime: 1)), executable: Fact(exe, .attested))
    }
    return Request(
      action: .paste, source: app("/opt/ledger", 1), destination: app("/usr/bin/chat", 2),
      content: ContentFacts(target: "UTF8_STRING", size: 5))
  }()

  private func write(_ bytes: some Sequence<UInt8>, _ name: String) {
    try! Data(bytes).write(to: URL(fileURLWithPath: folder.path + "/" + name))
  }

  private func shell(_ script: String) {
    let child = ChildRun(["-ec", "cd '\(folder.path)'; " + script], program: "/bin/sh")
    precondition(child.wait() == 0, "\(script): \(child.complaint)")
  }

  /// What a start with the files as they lie there decides.
  private func isRefused(_ name: String = "policy.d") -> Bool {
    let start = PolicyInForce(source: InstalledPolicy(given: [folder.path + "/" + name]))
    guard case .decided(let decision) = start.policy.evaluate(Self.blocked) else { return false }
    return decision.verdict == .deny
  }

  /// In place: the file has every length once.
  @Test func inPlace() {
    shell("mkdir policy.d")
    for length in 0...Self.whole.count {
      write(Self.whole.prefix(length), "policy.d/a.yaml")
      #expect(isRefused(), "\(length) bytes")
    }
    write(Self.whole, "policy.d/a.yaml")
    #expect(PolicyInForce(source: InstalledPolicy(given: [folder.path + "/policy.d"])).standing == .inForce)
  }

  /// By rename: beside the old file there is a part of the new one under a name that isn't read; then the new one. If the
  /// file system has the new name before the new bytes, it is as in place.
  @Test func byRename() {
    shell("mkdir policy.d")
    for length in 0...Self.whole.count {
      write(Array(Self.before.utf8), "policy.d/a.yaml")
      write(Self.whole.prefix(length), "policy.d/.a.yaml.new")
      #expect(isRefused(), "\(length) bytes, not renamed")
      #expect(rename(folder.path + "/policy.d/.a.yaml.new", folder.path + "/policy.d/a.yaml") == 0)
      #expect(isRefused(), "\(length) bytes, renamed")
    }
  }

  /// By a link that is moved to a new folder, before and after it has been moved.
  @Test func byLink() {
    shell("mkdir v1 v2; ln -s v1 policy.d")
    write(Array(Self.before.utf8), "v1/a.yaml")
    for length in 0...Self.whole.count {
      write(Self.whole.prefix(length), "v2/a.yaml")
      #expect(isRefused(), "\(length) bytes, old link")
      #expect(isRefused("v2"), "\(length) bytes, new link")
    }
    shell("ln -s v2 tmp; mv -T tmp policy.d")
    #expect(isRefused())
  }

  /// A daemon that runs keeps the last good policy at every length.
  @Test func whileItRuns() {
    shell("mkdir policy.d")
    write(Self.whole, "policy.d/a.yaml")
    let running = PolicyInForce(source: InstalledPolicy(given: [folder.path + "/policy.d"]))
    for length in 0..<Self.whole.count {
      write(Self.whole.prefix(length), "policy.d/a.yaml")
      running.load()
      guard case .decided(let decision) = running.policy.evaluate(Self.blocked) else {
        Issue.record("undecided at \(length)")
        return
      }
      #expect(decision.verdict == .deny, "\(length) bytes")
    }
  }
}
