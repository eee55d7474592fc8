import BridgeCore
import Foundation
import Policy
import Selection
import Testing

@testable import XPasteBridge

/// The daemon in this process on a display without X, the command line as a child.
final class ServedDaemon {
  static let display = ":4711"
  let runtime = TemporaryDirectory()
  let loop = try! EventLoop()
  let session = FakeSession()
  let source: FakePolicySource
  private(set) var messages: [String] = []
  private(set) var audit: AuditSink!
  private(set) var daemon: Daemon!

  init(
    _ answer: PolicyReading = PolicyReading(policy: .allowEverything),
    actions: InstalledActions = InstalledActions(folders: [], helper: ""), noticesWithin milliseconds: Int = 30_000
  ) {
    source = FakePolicySource(answer)
    setenv("XDG_RUNTIME_DIR", runtime.path, 1)
    audit = AuditSink(
      display: Self.display, choice: .all, file: nil,
      writer: { [unowned self] fields in
        messages.append(fields[0].value)
      })
    daemon = try! Daemon(
      display: Self.display, loop: loop, session: session, policy: PolicyInForce(source: source),
      reader: PolicyReader(source: source, loop: loop), watchers: try! PolicyWatchers(source, loop: loop), audit: audit,
      actions: actions,
      notifier: Notifier(answerMilliseconds: milliseconds) { [unowned self] in messages.append($0) })
    daemon.serveControl()
  }

  /// Has the policy read again and waits until it is.
  func reload() {
    for side in PolicyOverview.Side.allCases { daemon.reloadPolicy(side) }
    #expect(run(loop, seconds: 10, until: { self.daemon.isSettled }))
  }

  var socketPath: String { try! ControlAddress(display: Self.display).socket }

  func call(_ words: String...) -> ChildRun {
    ChildRun(words, environment: ["XDG_RUNTIME_DIR": runtime.path, "DISPLAY": Self.display])
  }

  /// A raw connection to the socket.
  func connect() -> OwnedDescriptor {
    let socket = try! Posix.socket()
    try! Posix.connect(socket, socketPath)
    return socket
  }
}

struct ControlTests {
  @Test func statusMatchesItsSchema() throws {
    let served = ServedDaemon(PolicyReading(policy: .allowEverything, files: ["/etc/a.yaml"], warnings: ["a:1:1: hm"]))
    served.session.status = [
      BridgeStatus(
        selection: "CLIPBOARD", state: .held, source: Example.subject(Example.hostile), targets: ["text/html"],
        bytes: 7,
        isSensitive: true, reason: .sameApp, transfers: 1, conversions: 2, rival: Example.subject("Rival")),
      BridgeStatus(selection: "PRIMARY", state: .unowned),
    ]
    let json = served.call("status", "--json")
    #expect(json.wait(served.loop) == 0)
    let schema = try SchemaVerdict(Project.text("schemas/status.schema.json"))
    #expect(schema.faults(in: try JSON(reading: json.output.trimmingCharacters(in: .newlines))) == [])
    let text = served.call("status")
    #expect(text.wait(served.loop) == 0)
    #expect(text.output.contains("in force: 1 file"))
    #expect(text.output.contains("Rival (/opt/Rival, pid 42) keeps taking the selection"))
    #expect(!text.output.contains("\u{1b}"))
  }

  @Test func lockedPolicyIsShown() {
    let served = ServedDaemon(PolicyReading(policy: nil, errors: ["/etc/a.yaml:3:7: unknown key `x`"]))
    let status = served.call("status")
    #expect(status.wait(served.loop) == 0)
    #expect(status.output.contains("LOCKED"))
    #expect(status.output.contains("/etc/a.yaml:3:7: unknown key `x`"))
  }

  /// However many errors a file of the user's has, the journal gets a few lines of each load.
  @Test func errorsOfOneLoadAreBounded() {
    let served = ServedDaemon()
    served.source.userAnswer = SideReading(errors: (1...1_000).map { "/u.yaml:\($0):1: wrong" })
    served.reload()
    #expect(served.messages.count { $0.hasSuffix(": wrong") } == 8)
    #expect(served.messages.contains("and 992 more; `xpastebridge policy check` shows all"))
    #expect(served.messages.contains("user's policy: 1000 errors, none of the files is in force"))
  }

  @Test func clientsAreATable() throws {
    let served = ServedDaemon()
    served.session.described = [
      ClientDescription(subject: Example.subject("Firefox"), resourceBase: 0x20_0000, windows: [], isSelf: false)
    ]
    let text = served.call("clients")
    #expect(text.wait(served.loop) == 0)
    #expect(text.output.hasPrefix("PID  CLASS"))
    #expect(text.output.contains("42   Firefox"))
    let json = served.call("clients", "--json")
    #expect(json.wait(served.loop) == 0)
    let report = try JSON(reading: json.output.trimmingCharacters(in: .newlines))
    #expect(report["clients"]?.elements.first?["exe"]?["evidence"] == .string("attested"))
  }

  @Test func syncAnswersWhenSettled() {
    let served = ServedDaemon()
    served.session.isSettled = false
    let sync = served.call("sync")
    #expect(!run(served.loop, seconds: 0.5, until: { sync.hasEnded() }))
    #expect(served.session.calls == ["sync"])
    served.session.isSettled = true
    #expect(sync.wait(served.loop) == 0)
  }

  @Test func syncGivesUpAfterTwoSeconds() {
    let served = ServedDaemon()
    served.session.isSettled = false
    let start = Date()
    let sync = served.call("sync")
    #expect(sync.wait(served.loop) == 1)
    #expect((1.9...4).contains(Date().timeIntervalSince(start)))
    #expect(sync.complaint.contains("still busy"))
  }

  @Test func noDaemonIsOneLine() {
    let runtime = TemporaryDirectory()
    let status = ChildRun(["status", "--display", ":99"], environment: ["XDG_RUNTIME_DIR": runtime.path])
    #expect(status.wait() == 1)
    #expect(
      status.complaint
        == "xpastebridge: no daemon guards display `:99`; start one with `xpastebridge run --display :99`\n")
    let missing = ChildRun(["status"], environment: ["XDG_RUNTIME_DIR": runtime.path])
    #expect(missing.wait() == 2)
    #expect(missing.complaint == "xpastebridge: no display: set DISPLAY or give --display\n")
  }

  /// B237: a daemon that doesn't answer.
  @Test func stoppedDaemonIsTimedOut() {
    let served = ServedDaemon()
    let start = Date()
    // Its loop doesn't run.
    let status = served.call("status", "--timeout", "0.5")
    #expect(status.wait() == 1)
    #expect(Date().timeIntervalSince(start) < 3)
    #expect(status.complaint.contains("does not answer within 500 ms"))
  }

  /// B212
  @Test func deadSocketIsReplaced() {
    let served = ServedDaemon()
    let path = served.socketPath
    unlink(path)
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    served.daemon.serveControl()
    #expect(served.call("status").wait(served.loop) == 0)
    #expect(Posix.lstat(path)?.mode == S_IFSOCK | 0o600)
    #expect(Posix.lstat(served.runtime.path + "/xpastebridge/:4711")?.mode == S_IFDIR | 0o700)
  }

  @Test func guardsWithoutControl() {
    let served = ServedDaemon()
    setenv("XDG_RUNTIME_DIR", "/dev/null", 1)
    served.daemon.serveControl()
    #expect(served.messages.last?.hasPrefix("no control: can't listen on /dev/null/xpastebridge") == true)
  }

  @Test func badPeersCostNothing() {
    let served = ServedDaemon()
    let before = socketCount(of: served)
    var peers: [OwnedDescriptor] = []
    let garbage = [
      "", "\0", "\0AUTH EXTERNAL zz\r\nBEGIN\r\n", String(repeating: "A", count: 100_000), "GET / HTTP/1.1\r\n\r\n",
      "\0AUTH ANONYMOUS\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\nl\u{1}\u{0}\u{1}garbage",
    ]
    for text in garbage {
      let peer = served.connect()
      try? Posix.write(text, to: peer.number)
      peers.append(peer)
      run(served.loop, seconds: 0.05)
    }
    // One of them half-way through its life, one silent, and still others are served.
    peers.removeFirst(2)
    let status = served.call("status")
    #expect(status.wait(served.loop) == 0)
    peers = []
    #expect(run(served.loop, seconds: 20, until: { socketCount(of: served) <= before }))
  }

  @Test func silentPeerIsLetGo() {
    let served = ServedDaemon()
    let peers = (0..<70).map { _ in
      let peer = served.connect()
      run(served.loop, seconds: 0.002)
      return peer
    }
    #expect(served.call("status").wait(served.loop) == 0)
    // 70 connections to a limit of 64: the first ones are closed.
    #expect((try? Posix.read(peers[0].number, limit: 1)) == [])
    #expect(run(served.loop, seconds: 7, until: { (try? Posix.read(peers[69].number, limit: 1)) == [] }))
  }

  @Test func peerThatReadsNothingIsLetGo() throws {
    let served = ServedDaemon()
    // libsystemd has the kernel keep up to 8 MiB for a connection; long answers fill that sooner.
    served.session.status = (0..<20).map { number in
      BridgeStatus(
        selection: "board \(number)", state: .held, targets: (0..<64).map { "\($0)" + String(Example.huge.prefix(100)) }
      )
    }
    let client = try BusConnection()
    try client.setSocket(served.connect())
    try client.start()
    #expect(
      run(
        served.loop,
        until: {
          _ = try? client.step(); return client.isReady
        }))
    var wasEnded = false
    for _ in 0..<1_000 where !wasEnded {
      let call = try client.makeCall(
        path: ControlAddress.object, interface: ControlAddress.interface, member: "Status")
      wasEnded = (try? call.sendCall()) == nil
      run(served.loop, seconds: 0.0005)
      if served.daemon.statusReport()["controlConnections"] == .integer(0) { wasEnded = true }
    }
    #expect(wasEnded)
    #expect(served.call("status").wait(served.loop) == 0)
  }

  @Test func manyCallsLeaveNothing() {
    let served = ServedDaemon()
    #expect(served.call("status").wait(served.loop) == 0)
    let before = socketCount(of: served)
    #expect(before > 0)
    for _ in 0..<100 {
      let calls = (0..<5).map { _ in served.call("status", "--json") }
      for call in calls { #expect(call.wait(served.loop) == 0) }
    }
    #expect(run(served.loop, seconds: 20, until: { socketCount(of: served) <= before }))
  }

  @Test func lostDisplayEndsTheLoop() throws {
    let served = ServedDaemon()
    served.session.isLost = true
    #expect(try served.daemon.run() == 69)
    #expect(served.messages.contains("no longer guarding: the X server of :4711 is gone"))
    #expect(Posix.lstat(served.socketPath) == nil)
    #expect(!served.session.calls.contains("close"))
  }

  @Test func replacedInstanceEndsCleanly() throws {
    let served = ServedDaemon()
    served.session.successor = Subject(
      origin: .local(ProcessIdentity(id: 4_242, startTime: 1)), executable: Fact("/usr/bin/xpastebridge", .attested))
    #expect(try served.daemon.run() == 0)
    #expect(served.messages.contains { $0.contains("replaced by") && $0.contains("/usr/bin/xpastebridge (pid 4242)") })
    // The socket is the new instance's by then.
    #expect(Posix.lstat(served.socketPath) != nil)
    #expect(served.session.calls == ["close"])
  }

  @Test func deadlineIsHandedIn() {
    let served = ServedDaemon()
    let start = Posix.monotonicNow()
    served.session.nextDeadline = start.advanced(byMilliseconds: 50)
    #expect(run(served.loop, seconds: 2, until: { served.session.calls.contains("deadline") }))
    #expect(Posix.monotonicNow() >= start.advanced(byMilliseconds: 50))
    served.session.nextDeadline = nil
  }

  /// The sockets of this process with the daemon's name at one of their ends: other tests open descriptors of their own
  /// meanwhile.
  private func socketCount(of served: ServedDaemon) -> Int {
    Posix.directoryEntries("/proc/self/fd")!.compactMap { Int32($0) }.filter { descriptor in
      [getsockname, getpeername].contains { name(of: descriptor, by: $0) == served.socketPath }
    }.count
  }

  private func name(
    of descriptor: Int32, by ask: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
  ) -> String? {
    var address = sockaddr_un()
    var length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(descriptor, $0, &length) }
    }
    guard result == 0, Int32(address.sun_family) == AF_UNIX else { return nil }
    return withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
