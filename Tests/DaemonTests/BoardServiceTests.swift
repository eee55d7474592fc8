import Boards
import BridgeCore
import Foundation
import Glibc
import Policy
import Selection
import Testing

@testable import XPasteBridge

/// The boards' socket with the daemon in this process, callers as children or raw connections.
struct BoardServiceTests {
  static let name = "org.example.board"

  /// Who calls is whoever the test says; the board is Ledger's.
  private func served() -> ServedDaemon {
    let served = ServedDaemon()
    var ruleset = Ruleset()
    ruleset.boards = [
      BoardPolicy(
        name: Self.name, position: SourcePosition(file: "test.yaml", line: 1, column: 1),
        members: .windowClass(Glob(literally: "Ledger")))
    ]
    let policy = PolicySet(managed: ruleset, user: Ruleset())
    served.session.core = Bridge(atoms: KnownAtoms { served.session.atom($0) }, policy: policy)
    served.session.run(served.session.core.reviseBoards([served.session.atom(Self.name)]))
    served.session.onBoardNotice = { [unowned served] in served.daemon.announce($0) }
    served.session.caller = Example.subject("Ledger")
    return served
  }

  private func connect(_ served: ServedDaemon) throws -> BusConnection {
    let socket = try Posix.socket()
    try Posix.connect(socket, try ControlAddress(display: ServedDaemon.display).boardsSocket)
    let client = try BusConnection()
    try client.setSocket(socket)
    try client.start()
    let isReady = run(served.loop) {
      _ = try? client.step()
      return client.isReady
    }
    #expect(isReady)
    return client
  }

  /// The error's or the method's reply to a call, with the daemon running meanwhile.
  private func reply(
    _ client: BusConnection, _ served: ServedDaemon, _ member: String,
    _ arguments: (BusMessage) throws(SystemFailure) -> Void
  ) throws -> BusMessage? {
    var reply: BusMessage?
    try client.addFilter { if $0.member.isEmpty { reply = $0 } }
    let call = try client.makeCall(
      path: ControlAddress.object, interface: ControlAddress.boardsInterface, member: member)
    try arguments(call)
    try call.sendCall()
    _ = run(served.loop) {
      _ = try? client.step()
      return reply != nil
    }
    return reply
  }

  private func write(
    _ client: BusConnection, _ served: ServedDaemon, _ descriptor: OwnedDescriptor
  ) throws -> BusMessage? {
    try reply(client, served, "WriteBoard") { (call) throws(SystemFailure) in
      try call.append(Self.name)
      try call.append(array: "(sh)", [descriptor]) { (call, descriptor) throws(SystemFailure) in
        try call.open("r", "sh")
        try call.append("UTF8_STRING")
        try call.append(descriptor)
        try call.close()
      }
      try call.append(false)
      try call.append(UInt32(0))
      try call.append(false)
    }
  }

  @Test("what is written comes back by the command line, bytes and all, and the lists match their schema")
  func roundTrip() throws {
    let served = served()
    let folder = TemporaryDirectory()
    let text = String(repeating: "0123456789abcdef", count: 40_000)
    folder.write(text, "content")
    #expect(served.call("board", "write", Self.name, folder.path + "/content").wait(served.loop) == 0)
    let read = served.call("board", "read", Self.name)
    #expect(read.wait(served.loop) == 0)
    #expect(read.output.utf8.elementsEqual(text.utf8))
    let schema = try SchemaVerdict(Project.text("schemas/boards.schema.json"))
    for words in [["board", "list", "--json"], ["board", "list", Self.name, "--json"]] {
      let list = ChildRun(
        words, environment: ["XDG_RUNTIME_DIR": served.runtime.path, "DISPLAY": ServedDaemon.display])
      #expect(list.wait(served.loop) == 0)
      #expect(schema.faults(in: try JSON(reading: list.output.trimmingCharacters(in: .newlines))) == [])
    }
    let people = served.call("board", "list")
    #expect(people.wait(served.loop) == 0 && people.output.contains("\(Self.name): 1 item, \(text.utf8.count) bytes"))
  }

  @Test("one who is no member: the same answer as for a board that doesn't exist, for every verb")
  func outsider() throws {
    let served = served()
    served.session.caller = Example.subject("Browser")
    let folder = TemporaryDirectory()
    folder.write("x", "content")
    var complaints: Set<String> = []
    for board in [Self.name, "org.example.nowhere"] {
      for verb in [
        ["read", board], ["write", board, folder.path + "/content"], ["list", board], ["copy", board, "general"],
        ["pin", board, "--item", "1"], ["remove", board], ["wipe", board],
      ] {
        let call = ChildRun(
          ["board"] + verb, environment: ["XDG_RUNTIME_DIR": served.runtime.path, "DISPLAY": ServedDaemon.display])
        #expect(call.wait(served.loop) == 1, "\(verb)")
        #expect(call.output == "", "\(verb)")
        complaints.insert(call.complaint)
      }
    }
    #expect(complaints.count == 1, "\(complaints)")
  }

  @Test("content that isn't a sealed memory file is refused: nobody waits for a pipe, nothing changes under our hands")
  func unsealed() throws {
    let served = served()
    let client = try connect(served)
    var pipe: [Int32] = [0, 0]
    #expect(Glibc.pipe(&pipe) == 0)
    defer { close(pipe[1]) }
    let memory = try Posix.memfd("test", byteCount: 4)
    for descriptor in [OwnedDescriptor(pipe[0]), memory, try Posix.open("/dev/zero", O_RDONLY)] {
      #expect(try write(client, served, descriptor)?.isError == true)
    }
    try Posix.addSeals(memory, Posix.Seals.content)
    #expect(try write(client, served, memory)?.isError == false)
    #expect(served.session.boards[Self.name]?.items.first?.byteCount == 4)
  }

  @Test("a process that has become another program since it connected is nobody")
  func otherProgram() throws {
    let folder = TemporaryDirectory()
    // A shell that becomes `sleep` when it is told to.
    let script = "read go <'\(folder.path)/go'; exec /bin/sleep 60"
    #expect(mkfifo(folder.path + "/go", 0o600) == 0)
    let child = ChildRun(["-c", script], program: "/bin/sh")
    defer { child.end() }
    let pid = try #require(Int32(exactly: child.processID))
    let loop = try EventLoop()
    var caller = Caller(number: 1, process: nil)
    #expect(
      run(loop) {
        caller = Caller(number: 1, process: ProcessRecord(pid))
        return ProcessRecord(pid)?.executable?.value.hasSuffix("sh") == true && caller.current != nil
      })
    folder.write("", "unused")
    let go = open(folder.path + "/go", O_WRONLY)
    Glibc.write(go, "go\n", 3)
    close(go)
    #expect(run(loop) { caller.current == nil })
    #expect(ProcessRecord(pid)?.executable?.value.hasSuffix("sleep") == true)
  }

  @Test("when descriptors run short the boards are closed, and all else goes on")
  func shortOfDescriptors() throws {
    let served = served()
    let client = try connect(served)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let before = limit
    defer {
      var former = before
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former)
    }
    let open = try #require(Posix.directoryEntries("/proc/self/fd")?.compactMap(Int.init).max())
    limit.rlim_cur = rlim_t(open * 2 + 40)
    #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    var taken: [OwnedDescriptor] = []
    while !Posix.isShortOfDescriptors { taken.append(try Posix.open("/dev/null", O_RDONLY)) }
    #expect(run(served.loop) { served.messages.contains { $0.contains("boards can't be called any more") } })
    taken = []
    #expect(served.call("status").wait(served.loop) == 0)
    #expect(served.call("board", "list").wait(served.loop) == 1)
    withExtendedLifetime(client) {}
  }

  @Test("those who watch are told of boards that they may use, and only then")
  func watching() throws {
    let served = served()
    let watch = served.call("board", "watch")
    let folder = TemporaryDirectory()
    folder.write("x", "content")
    let isTold = run(served.loop, seconds: 20) {
      _ = served.call("board", "write", Self.name, "--replace", folder.path + "/content").wait(served.loop)
      folder.write("\(Date())", "content")
      return watch.output.contains("\(Self.name): change")
    }
    #expect(isTold && watch.output.contains("+UTF8_STRING"))
    served.session.caller = Example.subject("Browser")
    let lines = watch.output.split(separator: "\n").count
    served.session.caller = Example.subject("Browser")
    served.session.run(served.session.core.reviseBoards([]))
    let form = served.session.atom("UTF8_STRING")
    var writing = BoardWriting(
      board: Self.name,
      representations: [Representation(target: form, type: form, format: 8, payload: Payload([1]))])
    writing.replaces = true
    _ = served.session.callBoard(.write(writing), from: Example.subject("Ledger"))
    // What isn't sent would come before the answer to a later call.
    #expect(served.call("board", "list").wait(served.loop) == 0)
    #expect(watch.output.split(separator: "\n").count == lines)
    watch.end()
  }

  @Test("lockdown by the command line: kept for the next start, lifted unless the policy says no")
  func lockdown() throws {
    let folder = TemporaryDirectory()
    let lockdown = Lockdown(mark: folder.path + "/lockdown")
    #expect(!lockdown.isOn)
    try lockdown.set(true)
    #expect(Lockdown(mark: folder.path + "/lockdown").isOn)
    try lockdown.set(false)
    #expect(!Lockdown(mark: folder.path + "/lockdown").isOn)
    // B11: either of the two that keep it is enough, and what is missing is said and made again.
    var kept = false
    let twice = Lockdown(mark: folder.path + "/lockdown") { kept = $0 }
    try twice.set(true)
    #expect(kept && !twice.restoreMark())
    unlink(folder.path + "/lockdown")
    #expect(twice.restoreMark() && Lockdown(mark: folder.path + "/lockdown").isOn)
    unlink(folder.path + "/lockdown")
    let next = Lockdown(mark: folder.path + "/lockdown", wasKept: true) { kept = $0 }
    #expect(next.isOn && next.finding?.contains("was removed while no daemon ran") == true)
    #expect(Lockdown(mark: folder.path + "/lockdown").isOn, "the mark is there again")
    try next.set(false)
    #expect(!kept && !next.restoreMark() && !Lockdown(mark: folder.path + "/lockdown").isOn)
    #expect(Lockdown(mark: folder.path + "/lockdown").finding == nil)
    #expect(throws: SystemFailure.self) { try Lockdown(mark: folder.path + "/none/lockdown").set(true) }

    let served = ServedDaemon()
    #expect(served.call("lockdown", "on").wait(served.loop) == 0)
    #expect(served.daemon.statusReport()["lockdown"] == .bool(true))
    #expect(served.call("lockdown", "off").wait(served.loop) == 0)
    #expect(served.daemon.statusReport()["lockdown"] == .bool(false))
    #expect(served.call("lockdown", "maybe").wait(served.loop) == 2)
  }
}
