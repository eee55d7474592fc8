import Foundation
import Policy
import Selection
import Testing

@testable import X11
@testable import XPasteBridge

/// X clients whose connecting process has ended or isn't the one at work.
@Suite(.serialized) struct HolderTests {
  let server: PrivateServer
  let display: Display
  let resolver: SubjectResolver

  init() throws {
    server = try PrivateServer()
    display = try server.connect()
    resolver = SubjectResolver(display: display)
  }

  /// Starts a program that goes into the background, and waits until the process that connected has ended.
  private func startForking(
    _ path: String, _ arguments: [String], selection: String, input: String? = "x"
  ) throws -> Window {
    let atom = display.atoms.intern(selection).atom
    let before = display.selectionOwner(atom)
    let program = try server.start(path, arguments, input: input)
    let owner = try waitFor("\(path) as owner") {
      let owner = display.selectionOwner(atom)
      return owner == .none || owner == before ? nil : owner
    }
    // Not isRunning: that waits for the child, too.
    _ = try waitFor("the end of the process that connected") {
      ProcessRecord(program.processIdentifier) == nil ? true : nil
    }
    return owner
  }

  /// The processes of this name on the test's server, by what the kernel says.
  private func living(_ name: String) throws -> [Int32] {
    let pgrep = Process()
    let output = Pipe()
    pgrep.executableURL = URL(fileURLWithPath: "/usr/bin/pgrep")
    pgrep.arguments = ["-x", name]
    pgrep.standardOutput = output
    try pgrep.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return text.split(separator: "\n").compactMap { Int32($0) }.filter { id in
      let environment = FileManager.default.contents(atPath: "/proc/\(id)/environ") ?? Data()
      return environment.split(separator: 0).contains(Data("DISPLAY=\(server.name)".utf8))
    }
  }

  private func processID(_ subject: Subject) -> Int32? {
    guard case .local(let process) = subject.origin else { return nil }
    return process.id
  }

  private func end(_ name: String) throws {
    for id in try living(name) { kill(id, SIGKILL) }
    _ = try waitFor("the end of \(name)") { try living(name).isEmpty ? true : nil }
  }

  /// A client that connects, owns PRIMARY and then does what `end` says; `me` is its connection.
  private func script(_ end: String) -> [String] {
    [
      "-c",
      """
      import os, socket, struct, sys, time
      me = socket.socket(socket.AF_UNIX)
      me.connect("/tmp/.X11-unix/X" + os.environ["DISPLAY"][1:])
      me.sendall(struct.pack("<BxHHHHxx", 0x6c, 11, 0, 0, 0))
      head = me.recv(8, socket.MSG_WAITALL)
      body = me.recv(struct.unpack("<H", head[6:])[0] * 4, socket.MSG_WAITALL)
      base, vendor, formats = struct.unpack_from("<I", body, 4)[0], struct.unpack_from("<H", body, 16)[0], body[21]
      root = struct.unpack_from("<I", body, 32 + (vendor + 3 & ~3) + 8 * formats)[0]
      me.sendall(struct.pack("<BBHIIhhHHHHII", 1, 0, 8, base, root, 0, 0, 1, 1, 0, 2, 0, 0))
      me.sendall(struct.pack("<BxHIII", 22, 4, base, 1, 0) + struct.pack("<BxH", 43, 1))
      me.recv(32, socket.MSG_WAITALL)
      def sleep():
        time.sleep(60)
        os._exit(0)
      \(end)
      """,
    ]
  }

  @Test(arguments: [("xclip", ["-selection", "clipboard"]), ("xsel", ["-ib"])])
  func forkedOwner(_ name: String, _ arguments: [String]) throws {
    let window = try startForking("/usr/bin/" + name, arguments, selection: "CLIPBOARD")
    let subject = resolver.resolve(window)
    #expect(subject.executable == Fact("/usr/bin/" + name, .attested))
    #expect(try living(name) == [processID(subject) ?? 0])
    // The second time nothing is searched.
    let counts = (resolver.searchCount, resolver.holderSearch.searchCount)
    #expect(resolver.resolve(window) == subject)
    #expect((resolver.searchCount, resolver.holderSearch.searchCount) == counts)
    let shown = resolver.clients().first { $0.resourceBase == display.resourceBase(of: window) }
    #expect(shown?.subject == subject)
    try end(name)
  }

  /// One after the other: the first is known when the second comes, and taken off.
  @Test func twoForkedOwnersOneAfterTheOther() throws {
    let clip = try startForking("/usr/bin/xclip", ["-selection", "clipboard"], selection: "CLIPBOARD")
    #expect(resolver.resolve(clip).executable?.value == "/usr/bin/xclip")
    let sel = try startForking("/usr/bin/xsel", ["-ip"], selection: "PRIMARY")
    for (window, name) in [(sel, "xsel"), (clip, "xclip"), (sel, "xsel")] {
      let subject = resolver.resolve(window)
      #expect(subject.executable == Fact("/usr/bin/" + name, .attested))
      #expect(try living(name) == [processID(subject) ?? 0])
    }
    for name in ["xclip", "xsel"] { try end(name) }
  }

  /// The executables one of which a subject runs.
  private func candidates(_ subject: Subject) -> Set<String> {
    Set(subject.candidates.compactMap { $0.executable?.evidence == .attested ? $0.executable?.value : nil })
  }

  /// Both there before the first look: they can't be told apart, and neither gets the other's name; both names are known.
  @Test func twoForkedOwnersAtOnce() throws {
    let clip = try startForking("/usr/bin/xclip", ["-selection", "clipboard"], selection: "CLIPBOARD")
    let sel = try startForking("/usr/bin/xsel", ["-ip"], selection: "PRIMARY")
    for window in [clip, sel] {
      let subject = resolver.resolve(window)
      #expect(subject.origin == .unknown && subject.executable == nil)
      #expect(candidates(subject) == ["/usr/bin/xclip", "/usr/bin/xsel"])
      #expect(subject.candidates.allSatisfy { $0.isLocal })
    }
    // Once one has ended the other can be told.
    try end("xsel")
    _ = try waitFor("xclip known") { resolver.resolve(clip).executable?.value == "/usr/bin/xclip" ? true : nil }
    #expect(try living("xclip") == [processID(resolver.resolve(clip)) ?? 0])
    try end("xclip")
  }

  /// A helper that forked before is bound to its connection when it is alone, so that what forks later is known.
  @Test func helperThatForkedBefore() throws {
    let helper = try startForking(
      "/usr/bin/python3", script("if not os.fork(): sleep()"), selection: "PRIMARY", input: nil)
    resolver.settle()
    let clip = try startForking("/usr/bin/xclip", ["-selection", "clipboard"], selection: "CLIPBOARD")
    #expect(resolver.resolve(clip).executable == Fact("/usr/bin/xclip", .attested))
    let bound = resolver.resolve(helper)
    #expect(bound.executable?.value.contains("python3") == true)
    kill(try #require(processID(bound)), SIGKILL)
    try end("xclip")
  }

  /// Several of one program: what they have in common is known, and not which is which.
  @Test func twoForkedOwnersOfOneProgram() throws {
    let first = try startForking("/usr/bin/xclip", ["-selection", "clipboard"], selection: "CLIPBOARD")
    let second = try startForking("/usr/bin/xclip", ["-selection", "primary"], selection: "PRIMARY")
    for window in [first, second] {
      let subject = resolver.resolve(window)
      #expect(subject.executable == Fact("/usr/bin/xclip", .attested))
      #expect(subject.origin == .unknown)
      #expect(!subject.isUnknown)
    }
    #expect(!resolver.resolve(first).isSameApp(as: resolver.resolve(second)))
    #expect(resolver.holderSearch.searchCount == 2)
    try end("xclip")
  }

  /// The next program gets the same XIDs.
  @Test func reusedIdentifiers() throws {
    var windows: [Window] = []
    for (name, arguments) in [
      ("xclip", ["-selection", "clipboard"]), ("xsel", ["-ib"]), ("xclip", ["-selection", "c"]),
    ] {
      let window = try startForking("/usr/bin/" + name, arguments, selection: "CLIPBOARD")
      let subject = resolver.resolve(window)
      #expect(subject.executable?.value == "/usr/bin/" + name)
      #expect(try living(name) == [processID(subject) ?? 0])
      windows.append(window)
      try end(name)
      _ = try waitFor("the client's end") { resolver.resolve(window) == .unknown ? true : nil }
    }
    let bases = Set(windows.map(display.resourceBase(of:)))
    #expect(bases.count == 1, "the server gave another base: nothing was tested")
  }

  /// The child that holds the connection has become another program: that is who can use it now.
  @Test func childThatBecameAnotherProgram() throws {
    let window = try startForking(
      "/usr/bin/python3",
      script(
        """
        me.set_inheritable(True)
        if not os.fork(): os.execv("/bin/sleep", ["sleep", "60"])
        """), selection: "PRIMARY", input: nil)
    _ = try waitFor("sleep") {
      resolver.resolve(window).executable?.value.hasSuffix("/sleep") == true ? true : nil
    }
    #expect(try living("sleep") == [processID(resolver.resolve(window)) ?? 0])
    try end("sleep")
    _ = try waitFor("the client's end") { resolver.resolve(window) == .unknown ? true : nil }
  }

  /// The process with the number that the server names runs, but the connection is a child's: as after the number was
  /// given to another program.
  @Test func namedProcessWithoutTheConnection() throws {
    let program = try server.start(
      "/usr/bin/python3",
      script(
        """
        if not os.fork(): sleep()
        os.execv("/bin/sleep", ["sleep", "60"])
        """))
    let primary = display.atoms.intern("PRIMARY").atom
    let window = try waitFor("the owner") {
      display.selectionOwner(primary) == .none ? nil : display.selectionOwner(primary)
    }
    let early = resolver.resolve(window)
    #expect(early.executable?.value.contains("python3") == true)
    _ = try waitFor("sleep") { try living("sleep") == [program.processIdentifier] ? true : nil }
    let subject = resolver.resolve(window)
    #expect(subject.executable?.value.contains("python3") == true)
    #expect(processID(subject) != nil && processID(subject) != program.processIdentifier)
    kill(processID(subject) ?? 0, SIGKILL)
  }

  /// Somebody who forks and ends makes the others unknown at most.
  @Test func forkingBesideAnotherProgramBorrowsNothing() throws {
    let clip = try startForking("/usr/bin/xclip", ["-selection", "clipboard"], selection: "CLIPBOARD")
    let forked = try startForking(
      "/usr/bin/python3", script("if not os.fork(): sleep()"), selection: "PRIMARY", input: nil)
    for window in [forked, clip, forked] {
      let subject = resolver.resolve(window)
      #expect(subject.origin == .unknown && subject.executable == nil)
      #expect(subject.candidates.count == 2)
    }
    try end("xclip")
    _ = try waitFor("the forked one known") {
      resolver.resolve(forked).executable?.value.contains("python3") == true ? true : nil
    }
    kill(processID(resolver.resolve(forked)) ?? 0, SIGKILL)
  }

  @Test func withoutTheKernelsAnswer() throws {
    let refusing = ConnectionSource(
      ends: { () throws(SystemFailure) in throw SystemFailure(call: "socket", code: EAFNOSUPPORT) },
      isConnected: { (_) throws(SystemFailure) in throw SystemFailure(call: "socket", code: EAFNOSUPPORT) })
    let resolver = SubjectResolver(display: display, connections: refusing)
    let window = try startForking("/usr/bin/xclip", ["-selection", "clipboard"], selection: "CLIPBOARD")
    let subject = resolver.resolve(window)
    #expect(subject.origin == .unknown && subject.facts.isEmpty && subject.candidates.isEmpty)
    #expect(subject.unsure == Set(FactName.allCases.filter { $0 != .host }))
    // A server that isn't seen: the same.
    let blind = ConnectionSource(ends: { () throws(SystemFailure) in [] }, isConnected: { _ in false })
    #expect(SubjectResolver(display: display, connections: blind).resolve(window) == subject)
    // Whose process lives is known as before.
    #expect(processID(resolver.resolve(display.makeWindowNow())) == getpid())
    try end("xclip")
  }
}
