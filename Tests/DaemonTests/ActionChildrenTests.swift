import ContentActions
import Foundation
import Glibc
import Policy
import Selection
import Testing

@testable import BridgeCore
@testable import XPasteBridge

/// The process in which an action runs: what it can't do, and how it ends.
@Suite(.serialized) struct ActionChildrenTests {
  private static let helper = URL(fileURLWithPath: Project.program).deletingLastPathComponent()
    .appendingPathComponent(HelperProtocol.program).path

  private final class Bench {
    let loop = try! EventLoop()
    let children: ActionChildren
    private var count: UInt64 = 0
    private(set) var results: [UInt64: ActionChildren.Result] = [:]

    init(
      helper: String = ActionChildrenTests.helper, isClosed: @escaping @MainActor (pid_t) -> Bool = Posix.isClosed
    ) {
      children = try! ActionChildren(loop: loop, helper: helper, isClosed: isClosed)
    }

    @discardableResult
    func start(
      _ work: ContentAction.Work, _ content: [UInt8], target: String, seconds: Double = 20, memory: Int = 512 << 20,
      output: Int = 64 << 20, program: String? = nil
    ) -> UInt64 {
      count += 1
      let number = count
      var action = ContentAction(
        name: "a", title: "A", position: SourcePosition(file: "a.yaml", line: 1, column: 1), accepts: [], work: work,
        makes: ["x"])
      action.limits.milliseconds = Int(seconds * 1_000)
      action.limits.memoryBytes = memory
      let atom = NamedAtom(Atom(1), target)
      let grant = PolicySet.allowEverything.evaluate(all: [
        Request(action: .copy, source: .unknown, content: ContentFacts(target: target, size: 1))
      ]).grant!
      let run = ActionRun(
        number: number, action: action, program: program ?? Self.program(of: work),
        input: Representation(target: atom, type: atom, format: 8, payload: Payload(content)), outputBytes: output,
        grant: grant)
      children.start(run) { [unowned self] in results[number] = $0 }
      return number
    }

    private static func program(of work: ContentAction.Work) -> String {
      guard case .command(let path, _) = work else { return "" }
      return Posix.realpath(path) ?? path
    }

    func wait(_ number: UInt64, seconds: Double = 40) -> ActionChildren.Result? {
      _ = run(loop, seconds: seconds, until: { self.results[number] != nil })
      return results[number]
    }
  }

  private func result(
    _ work: ContentAction.Work, _ content: [UInt8] = [1], target: String = "UTF8_STRING", seconds: Double = 20,
    memory: Int = 512 << 20, output: Int = 64 << 20
  ) -> Result<[UInt8], ActionFailure>? {
    let bench = Bench()
    let number = bench.start(work, content, target: target, seconds: seconds, memory: memory, output: output)
    return bench.wait(number)?.map { $0.copiedBytes() }
  }

  private func python(_ script: String) -> ContentAction.Work {
    .command(path: "/usr/bin/python3", arguments: ["-I", "-S", "-c", script])
  }

  private func printed(_ script: String) -> String? {
    guard case .success(let bytes)? = result(python(script)) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func contentGoesInAndOut() {
    let content = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let answer = result(.command(path: "/bin/cat", arguments: []), content)
    #expect(answer == .success(content))
  }

  /// The number that a program to be executed needs may be taken by something that was handed down by accident.
  @Test func descriptorsHandedDownAreClosed() throws {
    let null = try Posix.open("/dev/null", O_RDONLY)
    let handedDown = OwnedDescriptor(fcntl(null.number, F_DUPFD, 64))
    let content: [UInt8] = [1, 2, 3]
    withExtendedLifetime(handedDown) {
      #expect(result(.command(path: "/bin/cat", arguments: []), content) == .success(content))
    }
  }

  @Test func contentMayBeLeftUnread() {
    let content = [UInt8](repeating: 7, count: 5_000_000)
    #expect(result(.command(path: "/usr/bin/head", arguments: ["-c", "1"]), content) == .success([7]))
    #expect(result(.command(path: "/bin/echo", arguments: ["-n", "x"]), content) == .success([0x78]))
  }

  /// Scripts run with their interpreter closed in their place, by the words that the kernel would give it.
  @Test(arguments: [
    ("#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:], sys.stdin.read(), end='')", "['a', ''] !"),
    ("#! /usr/bin/python3  -I \nimport sys\nprint(sys.flags.isolated, sys.argv[1:], end='')", "1 ['a', '']"),
    ("#!/bin/sh\nread -r line\nprintf '%s %s' \"$line\" $#", "! 2"),
  ]) func scriptsRun(_ text: String, _ printed: String) {
    let folder = TemporaryDirectory()
    folder.write(text, "script")
    #expect(chmod(folder.path + "/script", 0o755) == 0)
    let answer = result(.command(path: folder.path + "/script", arguments: ["a", ""]), Array("!".utf8))
    #expect(answer == .success(Array(printed.utf8)))
  }

  @Test func whatCannotBeExecutedIsNot() {
    let folder = TemporaryDirectory()
    for (text, mode) in [
      ("#!/no/such/interpreter\n", mode_t(0o755)), ("#!/bin/cat\n", 0o644), ("text", 0o755), ("#!", 0o755),
    ] {
      folder.write(text, "script")
      #expect(chmod(folder.path + "/script", mode) == 0)
      #expect(result(.command(path: folder.path + "/script", arguments: [])) == .failure(.noProgram), "\(text)")
    }
    #expect(result(.command(path: folder.path, arguments: [])) == .failure(.noProgram))
  }

  /// Executed from its own file, another program would be open to the user's other processes.
  @Test func noOtherProgramIsExecuted() {
    #expect(result(.command(path: "/usr/bin/env", arguments: ["cat"])) == .failure(.otherProgram))
    #expect(result(python("import os; os.execv('/bin/cat', ['cat'])")) == .failure(.otherProgram))
    #expect(result(.command(path: "/bin/sh", arguments: ["-c", "exec cat"])) == .failure(.otherProgram))
  }

  /// The kernel's answer stands for one of a system where programs can't be closed.
  @Test(arguments: [
    ContentAction.Work.builtIn(.plainText), .command(path: "/bin/cat", arguments: []),
  ]) func openProcessGetsNothing(_ work: ContentAction.Work) {
    var asked: [pid_t] = []
    let bench = Bench(isClosed: { process in
      asked.append(process)
      return false
    })
    let number = bench.start(work, [1], target: "UTF8_STRING")
    #expect(bench.wait(number)?.map { $0.count } == .failure(.notClosed))
    #expect(asked.count == 1)
  }

  /// A helper that doesn't say that it is shut: one that goes on, and one that ends well.
  @Test func withoutItsWordThereIsNoContent() {
    for (helper, failure) in [("/usr/bin/yes", ActionFailure.notReady), ("/bin/echo", .failed)] {
      let bench = Bench(helper: helper) { _ in
        Issue.record("content was about to be handed over")
        return true
      }
      let number = bench.start(.command(path: "/bin/cat", arguments: []), [1], target: "x", seconds: 0.5)
      #expect(bench.wait(number)?.map { $0.count } == .failure(failure))
    }
  }

  @Test func oneThatIsStoppedIsEnded() {
    // At the last moment at which it has nothing yet.
    let bench = Bench(isClosed: { kill($0, SIGSTOP) == 0 })
    let number = bench.start(.builtIn(.plainText), [1], target: "UTF8_STRING", seconds: 0.5)
    #expect(bench.wait(number)?.map { $0.count } == .failure(.timeLimit))
  }

  @Test func environmentIsFresh() {
    setenv("XPB_TEST_SECRET", "1", 1)
    defer { unsetenv("XPB_TEST_SECRET") }
    let text = printed("import os; print(sorted(os.environ.items()), os.getcwd(), os.listdir.__name__)")
    #expect(
      text
        == "[('HOME', '/nonexistent'), ('LANG', 'C.UTF-8'), ('PATH', '/usr/bin:/bin'), ('XPB_TARGET', 'UTF8_STRING')] "
        + "/ listdir\n")
  }

  /// Each thing that a run may not do, as one expression of Python.
  nonisolated static let forbidden = [
    "socket.socket(socket.AF_INET)", "socket.socket(socket.AF_UNIX)", "socket.socketpair()", "os.fork()",
    "subprocess.run(['/bin/true'])", "os.posix_spawn('/bin/true', ['true'], {})", "open('/etc/passwd')",
    "open(own)", "open(own, 'a')", "os.listdir('/proc')", "os.listdir(os.path.dirname(own))",
    "open('/tmp/xpb-never', 'w')", "open('/dev/shm/xpb-never', 'w')", "os.mkdir('/tmp/xpb-never')", "os.unlink(own)",
    "os.rename(own, own + '2')", "os.chmod(own, 0)", "os.kill(os.getppid(), 0)", "os.kill(-1, 0)", "os.setsid()",
    "os.setpgid(0, 0)", "os.pidfd_open(os.getppid())", "os.sched_setaffinity(0, [0])",
    "resource.setrlimit(resource.RLIMIT_AS, (-1, -1)) if os.getuid() else missing",
    "fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())", "fcntl.fcntl(0, 15, struct.pack('ii', 1, os.getppid()))",
    "fcntl.fcntl(0, 10, 9)", "fcntl.fcntl(os.open('/usr', os.O_RDONLY), 1026, 1)",
    "call('syscall', ctypes.c_long({'x86_64': 72}.get(os.uname().machine, 25)), 0, ctypes.c_long(1 << 32 | 10), 9)",
    "fcntl.lockf(1, fcntl.LOCK_EX)", "fcntl.lockf(1, fcntl.LOCK_EX | fcntl.LOCK_NB)", "fcntl.flock(1, fcntl.LOCK_EX)",
    "os.memfd_create('more')", "call('prctl', 1, 0, 0, 0, 0)", "call('ioctl', 0, 0x40086602, ctypes.c_void_p())",
    "call('inotify_init1', 0)", "call('inotify_add_watch', 0, b'/usr', 2)", "call('fanotify_init', 0x200, 0)",
    "os.listxattr('/usr')", "call('getxattr', b'/usr', b'user.a', 0, 0)", "call('fgetxattr', 0, b'user.a', 0, 0)",
    "call('ioctl', 0, 0x8901, ctypes.byref(ctypes.c_int(os.getppid())))", "call('ioctl', 0, 0x8912, b' ' * 16)",
    "call('prctl', 4, 1, 0, 0, 0)", "call('setsockopt', 0, 1, 7, b' ' * 4, 4)", "call('sendmsg', 0, 0, 0)",
    "os.open('/proc/self/fd/0', os.O_RDONLY)", "call('setxattr', own.encode(), b'user.a', b'', 0, 0)",
    "call('syscall', 464, -100, b'/usr', 0, b'user.a', 0, 0)",
  ]

  @Test(arguments: forbidden) func isShutIn(_ expression: String) throws {
    let folder = TemporaryDirectory()
    folder.write("mine", "own")
    // `missing` raises NameError, which isn't caught: it stands for what root is allowed.
    let script = """
      import ctypes, errno, fcntl, os, resource, socket, struct, subprocess
      own = '\(folder.path)/own'
      library = ctypes.CDLL(None, use_errno=True)
      def call(name, *arguments):
        # The filter's own answer, not that of a call which found something wrong.
        if getattr(library, name)(*arguments) == -1 and ctypes.get_errno() == errno.EPERM: raise PermissionError
      try:
        \(expression)
        print('done')
      except (OSError, ValueError) as error:
        print('refused')
      except NameError:
        print('refused')
      """
    #expect(printed(script) == "refused\n")
    #expect(folder.read("own") == "mine")
  }

  /// What the documentation says can be seen.
  @Test func namesCanBeSeen() {
    let folder = TemporaryDirectory()
    folder.write("mine", "own")
    let text = printed(
      "import os\nprint(os.stat('\(folder.path)/own').st_size, os.readlink('/proc/self') == str(os.getpid()), "
        + "'bin' in os.listdir('/usr'))")
    #expect(text == "4 True True\n")
  }

  @Test func linkPutInSinceTheDecisionIsNotFollowed() throws {
    let folder = TemporaryDirectory()
    let link = folder.path + "/tool"
    let cat: String = try #require(Posix.realpath("/bin/cat"))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/bin/cat")
    let bench = Bench()
    let decided = bench.start(
      .command(path: link, arguments: []), [7], target: "x", program: cat)
    let followed = bench.start(.command(path: link, arguments: []), [7], target: "x", program: link)
    #expect(bench.wait(followed)?.map { $0.count } == .failure(.noProgram))
    #expect(bench.wait(decided)?.map { $0.copiedBytes() } == .success([7]))
    // What the link leads to now doesn't count.
    try FileManager.default.removeItem(atPath: link)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/bin/false")
    let later = bench.start(
      .command(path: link, arguments: []), [8], target: "x", program: cat)
    #expect(bench.wait(later)?.map { $0.copiedBytes() } == .success([8]))
  }

  @Test func threadsAreFree() {
    #expect(
      printed("import threading\nt = threading.Thread(target=lambda: print('thread'))\nt.start()\nt.join()")
        == "thread\n")
  }

  @Test func nothingOfOursIsOpen() {
    // /proc is shut, so each number is tried.
    let text = printed(
      "import os\nfor n in range(3, 1024):\n  try: os.fstat(n); print(n)\n  except OSError: pass\nprint('end')")
    #expect(text == "end\n")
  }

  @Test func oneThatHangsIsEnded() {
    let begun = Date()
    #expect(result(.command(path: "/bin/sleep", arguments: ["1000"]), seconds: 0.3) == .failure(.timeLimit))
    #expect(Date().timeIntervalSince(begun) < 10)
  }

  @Test func oneThatIgnoresSignalsIsEnded() {
    let script = """
      import signal, time
      for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
      while True: time.sleep(1000)
      """
    #expect(result(python(script), seconds: 1) == .failure(.timeLimit))
  }

  @Test func oneThatComputesForEverIsEnded() {
    #expect(result(python("while True: pass"), seconds: 0.5) == .failure(.timeLimit))
  }

  @Test func floodEndsAtItsBound() {
    #expect(result(.command(path: "/usr/bin/yes", arguments: []), output: 1 << 20) == .failure(.outputLimit))
    #expect(
      result(.command(path: "/usr/bin/head", arguments: ["-c", "1048576", "/dev/zero"]), output: 1 << 20)
        .map { $0.map(\.count) } == .success(1 << 20))
  }

  @Test func memoryIsBounded() {
    #expect(result(python("x = bytearray(1 << 30)"), memory: 256 << 20) == .failure(.failed))
  }

  @Test func deathIsAFailure() {
    #expect(result(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")) == .failure(.failed))
    #expect(result(.command(path: "/bin/false", arguments: [])) == .failure(.failed))
    #expect(result(.command(path: "/bin/true", arguments: [])) == .failure(.empty))
    #expect(result(.command(path: "/no/such/program", arguments: [])) == .failure(.noProgram))
  }

  @Test func withoutItsHelperNothingRuns() {
    let bench = Bench(helper: "/no/such/helper")
    let number = bench.start(.command(path: "/bin/cat", arguments: []), [1], target: "x")
    #expect(bench.wait(number)?.map { $0.count } == .failure(.noProgram))
  }

  @Test func severalRunSideBySide() {
    let bench = Bench()
    let slow = bench.start(.command(path: "/bin/sleep", arguments: ["1000"]), [1], target: "x")
    for _ in 0..<3 {
      let quick = bench.start(.command(path: "/bin/cat", arguments: []), [7], target: "x")
      #expect(bench.wait(quick)?.map { $0.copiedBytes() } == .success([7]))
    }
    #expect(bench.results[slow] == nil && bench.children.count == 1)
    bench.children.close()
    #expect(bench.children.count == 0)
  }

  // MARK: what the helper does itself

  @Test func plainTextIsUTF8() {
    #expect(result(.builtIn(.plainText), [0x61, 0xE9], target: "STRING") == .success([0x61, 0xC3, 0xA9]))
    #expect(result(.builtIn(.plainText), [0x61, 0xC3, 0xA9]) == .success([0x61, 0xC3, 0xA9]))
  }

  @Test func linksAreStripped() {
    let link = Array("https://a.example/?gclid=1&b".utf8)
    #expect(result(.builtIn(.stripTracking), link) == .success(Array("https://a.example/?b".utf8)))
    #expect(result(.builtIn(.stripTracking), Array("text".utf8)) == .failure(.notApplicable))
  }

  @Test func thumbnailIsAThird() throws {
    let image = try Picture.png(width: 301, height: 200)
    let made = try #require(try result(.builtIn(.thumbnail), image, target: "image/png")?.get())
    #expect(Picture.size(ofPNG: made) == [100, 66])
    let tiny = try Picture.png(width: 2, height: 1)
    #expect(
      try Picture.size(ofPNG: #require(try result(.builtIn(.thumbnail), tiny, target: "image/png")?.get())) == [1, 1])
  }

  @Test func decoderBombEndsByItsLimit() throws {
    let bomb = try Picture.png(width: 60_000, height: 60_000, isCutShort: true)
    #expect(bomb.count < 1 << 20)
    #expect(result(.builtIn(.thumbnail), bomb, target: "image/png") == .failure(.memoryLimit))
  }

  @Test func otherBytesAreNoImage() throws {
    #expect(result(.builtIn(.thumbnail), Array("no image".utf8), target: "image/png") == .failure(.undecodable))
    let image = try Picture.png(width: 30, height: 30)
    #expect(result(.builtIn(.thumbnail), image, target: "image/jpeg") == .failure(.undecodable), "the type decides")
    #expect(result(.builtIn(.thumbnail), Array(image.prefix(20)), target: "image/png") == .failure(.undecodable))
    #expect(result(.builtIn(.removeMetadata), image, target: "image/gif") == .failure(.notApplicable))
  }

  @Test func metadataIsGone() throws {
    let image = try Picture.png(width: 30, height: 20)
    #expect(Picture.contains(image, "Comment"))
    let made = try #require(try result(.builtIn(.removeMetadata), image, target: "image/png")?.get())
    #expect(!Picture.contains(made, "Comment") && Picture.size(ofPNG: made) == [30, 20])
  }
}

/// Small pictures, made by Python's zlib.
enum Picture {
  /// Noise in three colours with a comment; `isCutShort`: as many bytes as an image of that size begins with.
  static func png(width: Int, height: Int, isCutShort: Bool = false) throws -> [UInt8] {
    let script = """
      import os, struct, sys, zlib
      w, h, short = \(width), \(height), \(isCutShort ? 1 : 0)
      def chunk(kind, data):
        body = kind + data
        return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))
      rows = bytes(1 << 16) if short else b''.join(b'\\0' + os.urandom(w * 3) for _ in range(h))
      sys.stdout.buffer.write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0))
        + chunk(b'tEXt', b'Comment\\0taken at home') + chunk(b'IDAT', zlib.compress(rows, 1)) + chunk(b'IEND', b''))
      """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["-c", script]
    let pipe = Foundation.Pipe()
    process.standardOutput = pipe
    try process.run()
    let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return [UInt8](bytes)
  }

  /// Width and height as the header has them.
  static func size(ofPNG bytes: [UInt8]) -> [Int] {
    guard bytes.count > 24 else { return [] }
    return [16, 20].map { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
  }

  static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
    Data(bytes).range(of: Data(text.utf8)) != nil
  }
}
