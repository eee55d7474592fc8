import Foundation
import Policy
import PolicyFile
import Selection
import Testing

@testable import XPasteBridge

/// The managed files and the user's are loaded apart, by real files and folders.
struct PolicySidesTests {
  private let folder = TemporaryDirectory()
  private static let ledger = "/opt/ledger"

  private func write(_ path: String, _ text: String) {
    let whole = folder.path + "/" + path
    try! FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try! Data(text.utf8).write(to: URL(fileURLWithPath: whole))
  }

  private var source: InstalledPolicy {
    InstalledPolicy(
      PolicyDirectories(vendor: nil, managed: folder.path + "/etc", user: folder.path + "/user"))
  }

  private static func rule(_ name: String, to: String, _ more: String = "") -> String {
    "version: 1\nrules: [{name: \(name), to: \(to), decision: deny}]\n\(more)"
  }

  private func verdict(_ policy: PolicySet, to exe: String) -> Verdict? {
    func app(_ exe: String, _ pid: Int32) -> Subject {
      Subject(origin: .local(ProcessIdentity(id: pid, startTime: 1)), executable: Fact(exe, .attested))
    }
    let request = Request(
      action: .paste, source: app(Self.ledger, 1), destination: app(exe, 2),
      content: ContentFacts(target: "UTF8_STRING", size: 5))
    guard case .decided(let decision) = policy.evaluate(request) else { return nil }
    return decision.verdict
  }

  /// B1: a broken file of the user's holds back no new managed policy.
  @Test func aFaultOfTheUsersHoldsNothingBack() {
    write("etc/a.yaml", Self.rule("m", to: "{exe: /one}"))
    write("user/b.yaml", Self.rule("u", to: "{exe: /two}"))
    let policy = PolicyInForce(source: source)
    #expect(policy.standing == .inForce && verdict(policy.policy, to: "/two") == .deny)
    write("user/b.yaml", "version: 1\nrules: [")
    write("etc/a.yaml", Self.rule("m", to: "{exe: /three}"))
    #expect(!policy.load())
    #expect(policy.managed.standing == .inForce && policy.user.standing == .lastGood && policy.standing == .lastGood)
    #expect(verdict(policy.policy, to: "/three") == .deny && verdict(policy.policy, to: "/one") == .allow)
    #expect(verdict(policy.policy, to: "/two") == .deny, "the user's last good set stays")
    #expect(
      policy.summary.contains("1 error in the user's files, the last good ones stay in force"), "\(policy.summary)")
  }

  @Test func aFaultOfTheManagedFilesHoldsTheUsersBackNeither() {
    write("etc/a.yaml", Self.rule("m", to: "{exe: /one}"))
    let policy = PolicyInForce(source: source)
    write("etc/a.yaml", "version: 1\nrules: [")
    write("user/b.yaml", Self.rule("u", to: "{exe: /two}"))
    #expect(!policy.load())
    #expect(policy.managed.standing == .lastGood && policy.user.standing == .inForce && policy.standing == .lastGood)
    #expect(verdict(policy.policy, to: "/one") == .deny && verdict(policy.policy, to: "/two") == .deny)
  }

  @Test func atTheStart() {
    write("etc/a.yaml", Self.rule("m", to: "{exe: /one}"))
    write("user/b.yaml", "version: 1\nrules: [")
    let policy = PolicyInForce(source: source)
    #expect(policy.standing == .leftOut && policy.user.standing == .leftOut)
    #expect(verdict(policy.policy, to: "/one") == .deny && verdict(policy.policy, to: "/two") == .allow)
    #expect(policy.summary.contains("1 error in the user's files, none of them is in force"))
    #expect(policy.summary(of: .managed) == "managed policy: 1 file in force")
    write("user/b.yaml", Self.rule("u", to: "{exe: /two}"))
    write("etc/a.yaml", "version: 1\nrules: [")
    let locked = PolicyInForce(source: source)
    #expect(locked.standing == .locked && locked.user.standing == .inForce)
    #expect(verdict(locked.policy, to: "/two") == .deny && verdict(locked.policy, to: "/three") == .deny)
    write("etc/a.yaml", "version: 1\n")
    #expect(locked.load())
    #expect(verdict(locked.policy, to: "/two") == .deny && verdict(locked.policy, to: "/three") == .allow)
  }

  /// A managed change that takes a group away is an error of the user's files that use it; what they refused stays refused.
  @Test func aGroupThatIsGone() {
    write("etc/a.yaml", "version: 1\ngroups: {chats: [{exe: /two}]}\n")
    write("user/b.yaml", Self.rule("u", to: "chats"))
    let policy = PolicyInForce(source: source)
    #expect(policy.standing == .inForce && verdict(policy.policy, to: "/two") == .deny, "\(policy.errors)")
    write("etc/a.yaml", Self.rule("m", to: "{exe: /one}"))
    #expect(!policy.load())
    #expect(policy.managed.standing == .inForce && policy.user.standing == .lastGood)
    #expect(policy.user.lastLoad.errors.first?.contains("user/b.yaml:2:") == true, "\(policy.user.lastLoad.errors)")
    #expect(verdict(policy.policy, to: "/one") == .deny && verdict(policy.policy, to: "/two") == .deny)
  }

  /// B2: limits of a folder as a whole; a file with many names counts for each.
  @Test func foldersHaveLimits() throws {
    write("user/000.yaml", "version: 1\n" + String(repeating: "# padding\n", count: 30_000))
    for number in 1..<8 { link(folder.path + "/user/000.yaml", folder.path + "/user/00\(number).yaml") }
    let read = source.load(.user, over: Ruleset())
    #expect(read.ruleset == nil)
    #expect(
      read.errors.count == 1 && read.errors.first?.hasPrefix(folder.path + "/user:1:1: ") == true, "\(read.errors)")
    #expect(read.errors.first?.contains("at most `256K` in all") == true)
    let other = TemporaryDirectory()
    for number in 0...FolderLimits.user.files {
      try Data("version: 1\n".utf8).write(to: URL(fileURLWithPath: other.path + "/\(number).yaml"))
    }
    let many = InstalledPolicy(PolicyDirectories(vendor: nil, managed: nil, user: other.path))
    let found = many.load(.user, over: Ruleset())
    #expect(found.errors == ["\(other.path):1:1: expected at most 64 policy files in all, found more"])
    #expect(found.files.isEmpty, "none is read")
    #expect(
      InstalledPolicy(PolicyDirectories(vendor: nil, managed: other.path, user: nil)).load(.managed, over: Ruleset())
        .errors == [])
  }

  /// B6
  @Test(.enabled(if: geteuid() == 0)) func whatOthersMayChangeIsNamed() {
    write("etc/a.yaml", "version: 1\n")
    // Folders on the way to the test's own may be anybody's.
    func found() -> [String] { source.load(.managed, over: Ruleset()).changeable.filter { $0.hasPrefix(folder.path) } }
    #expect(found() == [])
    chmod(folder.path + "/etc/a.yaml", 0o666)
    #expect(found().map { $0.dropFirst(folder.path.count) } == ["/etc/a.yaml"])
    chmod(folder.path + "/etc/a.yaml", 0o644)
    chmod(folder.path + "/etc", 0o1777)
    #expect(found().map { $0.dropFirst(folder.path.count) } == ["/etc"], "sticky, and yet open to new files")
    chmod(folder.path + "/etc", 0o755)
    chown(folder.path + "/etc/a.yaml", 65_534, 0)
    #expect(found().map { $0.dropFirst(folder.path.count) } == ["/etc/a.yaml"])
  }

  @Test func digestsAreThoseOfOtherPrograms() {
    write("etc/a.yaml", "version: 1\n")
    let policy = PolicyInForce(source: source)
    let shell = ChildRun(
      ["-ec", "cd /; sha256sum '\(folder.path)/etc/a.yaml'; sha256sum '\(folder.path)/etc/a.yaml' | sha256sum"],
      program: "/bin/sh")
    #expect(shell.wait() == 0)
    let lines = shell.output.split(separator: "\n").map { String($0.prefix(64)) }
    #expect(lines == [policy.managed.files.first?.digest, policy.managed.digest])
  }

  // MARK: beside the loop

  /// A source of which one side hangs until it is let go.
  private nonisolated final class HangingSource: PolicySource, @unchecked Sendable {
    let gate: Int32
    let isNamed = false
    init(gate: Int32) { self.gate = gate }
    func paths(of side: PolicyOverview.Side) -> [String] { ["/x/\(side.rawValue)"] }
    func load(_ side: PolicyOverview.Side, over managed: Ruleset) -> SideReading {
      if side == .user {
        var byte: UInt8 = 0
        _ = read(gate, &byte, 1)
      }
      return SideReading(ruleset: Ruleset(), files: [ReadPolicyFile(path: "/x/\(side.rawValue)/a.yaml", digest: "00")])
    }
  }

  @Test func aSideThatHangsIsReportedAndHoldsNothingUp() throws {
    let gate = Pipe()
    let loop = try EventLoop()
    let reader = PolicyReader(
      source: HangingSource(gate: gate.fileHandleForReading.fileDescriptor), loop: loop, limitMilliseconds: 300)
    var read: [(side: PolicyOverview.Side, errors: [String])] = []
    reader.onRead = { side, reading, _ in read.append((side, reading.errors)) }
    reader.read(.user)
    reader.read(.managed)
    #expect(run(loop, seconds: 10, until: { read.count == 1 }))
    #expect(read[0].side == .managed && read[0].errors == [] && reader.isReading)
    #expect(run(loop, seconds: 10, until: { read.count == 2 }))
    #expect(
      read[1].side == .user && read[1].errors.first?.hasPrefix("/x/user:1:1: expected files that are read") == true)
    #expect(!reader.isReading, "nobody waits any longer")
    reader.read(.user)
    #expect(read.count == 3 && read[2].errors.count == 1, "it still hangs")
    try gate.fileHandleForWriting.write(contentsOf: Data([1, 1]))
    #expect(run(loop, seconds: 10, until: { read.count == 4 }))
    #expect(read[3].side == .user && read[3].errors == [])
  }

  /// The loop goes on while as much is read and compiled as the limits allow.
  @Test func readingStopsTheLoopForLessThan20Milliseconds() throws {
    var text = "version: 1\nrules:\n"
    for number in 0... {
      text += "- {name: n\(number), from: {class: App\(number)}, to: {class: Other\(number)}, decision: deny}\n"
      if text.utf8.count > FolderLimits.user.bytes - 200 { break }
    }
    write("user/a.yaml", text)
    let loop = try EventLoop()
    let policy = PolicyInForce(source: source, readsUser: false)
    let reader = PolicyReader(source: source, loop: loop)
    reader.combination = { policy.combination }
    var isDone = false
    var longest = 0
    reader.onRead = { side, reading, compiled in
      #expect(reading.errors == [])
      let start = Posix.monotonicNow()
      policy.take(reading, of: side, compiled: compiled)
      longest = Int((Posix.monotonicNow().nanoseconds - start.nanoseconds) / 1_000_000)
      isDone = true
    }
    reader.read(.user)
    var rounds = 0
    let deadline = Posix.monotonicNow().advanced(byMilliseconds: 60_000)
    while !isDone, Posix.monotonicNow() < deadline {
      _ = try loop.runOnce(milliseconds: 1)
      rounds += 1
    }
    #expect(isDone && rounds > 3, "\(rounds) rounds of the loop meanwhile")
    #expect(longest < 20, "\(longest) ms to take it up")
    #expect(policy.user.ruleset.rules.count > 2_000)
  }
}
