import CSystemd
import Glibc
import Policy
import Selection

@testable import XPasteBridge

extension Surface {
  /// What peers send to the control socket: garbage, handshakes, messages that are wrong in any part, descriptors.
  static let bus = Surface(name: "bus", longestInput: 1_024, seeds: { BusTrial.seeds() }) { bytes throws(Finding) in
    var trial = BusTrial(input: InputReader(bytes))
    try trial.run()
  }
}

/// The control server on a socket of its own, with a daemon behind it that has nothing to do.
final class ServedControl: ControlledDaemon {
  static let shared = ServedControl()

  let loop = try! EventLoop()
  private(set) var server: ControlServer!
  private(set) var service: ControlService!
  private let folder: String
  var isSettled = true
  /// How often a method was called.
  private(set) var calls = 0
  var policyState: String { "in-force" }
  func setLockdown(_ isOn: Bool) throws(ControlFailure) { calls += 1 }

  private init() {
    // Short: socket paths have 107 bytes.
    var template = Array("/tmp/xpb-fuzz-XXXXXX".utf8CString)
    folder = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    // Where the run-time folder of this user is doesn't matter here; what was set is put back.
    let before = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
    setenv("XDG_RUNTIME_DIR", folder, 1)
    let address = try! ControlAddress(display: ":4712")
    if let before { setenv("XDG_RUNTIME_DIR", before, 1) } else { unsetenv("XDG_RUNTIME_DIR") }
    service = try! ControlService(daemon: self, loop: loop)
    server = try! ControlServer(address: address, table: service.table, loop: loop)
    Self.left = [address.socket, address.directory, address.parent, folder]
    atexit(Self.removeLeft)
  }

  /// Where the socket is, innermost first. The program may end on any thread, and nothing else looks at it then.
  private nonisolated(unsafe) static var left: [String] = []

  private nonisolated static let removeLeft: @convention(c) () -> Void = { for path in left { remove(path) } }

  static let report = JSON.object(["schema": .integer(1), "display": .string(":4712")])

  func statusReport() -> JSON { counted() }
  func identityReport(of window: Window?) -> JSON? { nil }
  func clientsReport() -> JSON { counted() }
  func policyReport() -> JSON { counted() }
  func canPerform(_ action: Policy.Action, in window: Window?) -> Bool? {
    calls += 1
    return window.map { $0.id & 1 == 0 }
  }
  func actionListReport() -> JSON { counted() }
  func menuReport() -> JSON { counted() }
  func offerItem(_ item: UInt64, of board: String) -> JSON { counted() }
  func asksReport() -> JSON { counted() }
  func allowOnce(_ number: UInt64?) throws(ControlFailure) -> JSON {
    guard number != nil else { throw ControlFailure(line: "no paste waits") }
    return counted()
  }
  func runAction(_ name: String, onEnd: @escaping (JSON) -> Void) { onEnd(counted()) }
  func synchronize() { calls += 1 }

  private func counted() -> JSON {
    calls += 1
    return Self.report
  }

  /// A connection that was just made.
  func connect() -> OwnedDescriptor {
    let socket = try! Posix.socket()
    try! Posix.connect(socket, server.address.socket)
    return socket
  }

  /// Lets the loop run until nothing is ready any more: a round in which it would have waited.
  func settle() {
    for _ in 0..<1_000 {
      service.noteProgress()
      guard sd_event_prepare(loop.pointer) > 0 || sd_event_wait(loop.pointer, 0) > 0 else { return }
      sd_event_dispatch(loop.pointer)
    }
  }
}

/// Reads an input as what one peer sends, and looks whether the next one is served.
struct BusTrial {
  var input: InputReader

  private static let mostMessages = 12
  /// How long a peer's end may stay unseen: far more than a machine under load needs for a process to begin.
  private static let lettingGoMilliseconds = 2_000

  mutating func run() throws(Finding) {
    let served = ServedControl.shared
    try attack(served)
    try Finding.unless(served.server.connectionCount <= 1, "more connections than peers")
    served.isSettled = true
    served.service.noteProgress()
    served.settle()
    // A process that a test beside this one has just forked has the peer's descriptor, too, until it becomes its program.
    for _ in 0..<Self.lettingGoMilliseconds where served.server.connectionCount > 0 {
      usleep(1_000)
      served.settle()
    }
    try Finding.unless(served.server.connectionCount == 0, "the connection of a peer that is gone stays")
    try checkServed(served)
    try Finding.unless(Self.givenCount() == 0, "\(Self.givenCount()) descriptors that were sent are left open")
  }

  private mutating func attack(_ served: ServedControl) throws(Finding) {
    let peer = served.connect()
    switch input.below(4) {
    case 0: send(input.rest(), to: peer)
    case 1:
      shake(hands: peer, served)
      send(input.rest(), to: peer)
    default:
      shake(hands: peer, served)
      served.isSettled = input.truth()
      for _ in 0..<Self.mostMessages where !input.isAtEnd {
        let (message, descriptors) = message()
        send(message.bytes, to: peer, descriptors: descriptors)
        // Some are sent in one go.
        if message.flags & 0x80 == 0 { served.settle() }
      }
    }
    served.settle()
  }

  /// A message that is right but for what the input says.
  private mutating func message() -> (BusMessageBytes, descriptors: Int) {
    var message = BusMessageBytes()
    message.serial = UInt32(input.byte())
    let wrong = input.byte()
    message.member = input.one([
      "Status", "Clients", "PolicyShow", "Sync", "Get", "GetAll", "Set", "Introspect", "Ping", "CanPerformAction",
    ])
    if wrong == 0 { return (message, 0) }
    if wrong & 1 != 0 { message.type = input.byte() % 6 }
    if wrong & 2 != 0 { message.flags = input.byte() }
    if wrong & 4 != 0 { message.path = input.one([nil, "/", "/org/xpastebridge", "/org//x", "", "x", Self.long]) }
    if wrong & 8 != 0 { message.interface = input.one(Self.interfaces) }
    if wrong & 16 != 0 { message.member = input.one([nil, "", "status", "Version", "a-b", Self.long]) }
    if wrong & 32 != 0 { fillBody(&message) }
    if wrong & 64 != 0 {
      message.bodyLength = input.truth() ? UInt32(input.half()) : input.word()
      message.strayField = input.byte()
      message.replySerial = input.truth() ? 1 : nil
    }
    guard wrong & 128 != 0 else { return (message, 0) }
    let descriptors = input.below(32)
    message.descriptorCount = input.truth() ? UInt32(descriptors) : UInt32(input.byte())
    return (message, descriptors)
  }

  private static let long = "/" + String(repeating: "a", count: 300)
  private static let interfaces: [String?] = [
    nil, "", "x", "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Peer",
    "org.freedesktop.DBus.ObjectManager", "org.freedesktop.DBus.Local",
  ]

  private mutating func fillBody(_ message: inout BusMessageBytes) {
    switch input.below(7) {
    case 6:
      message.signature = "su"
      message.body = BusMessageBytes.string(input.one(["copy", "cut", "paste", "drag", ""]))
      while message.body.count % 4 != 0 { message.body.append(0) }
      message.body += input.take(4)
    case 0:
      message.signature = "ss"
      message.body = BusMessageBytes.string(input.one(["org.xpastebridge.Bridge1", "", "x"]))
      while message.body.count % 4 != 0 { message.body.append(0) }
      message.body += BusMessageBytes.string(input.one(["Version", "PolicyState", "", "x"]))
    case 1:
      message.signature = "s"
      message.body = BusMessageBytes.string(
        input.truth() ? "org.xpastebridge.Bridge1" : String(repeating: "x", count: 70_000))
    case 2:
      message.signature = input.one([
        "", "v", "a{sv}", "(", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "h", "sss", "z", "b",
      ])
      message.body = input.take(input.below(64))
    case 3: message.body = input.take(input.below(64))
    case 4: message.signature = String(repeating: "(", count: 250)
    default:
      message.signature = String(decoding: input.take(input.below(16)).map { $0 & 0x7f }, as: UTF8.self)
      message.body = input.take(input.below(64))
    }
  }

  /// Says who we are, line by line as the specification has it.
  private func shake(hands peer: OwnedDescriptor, _ served: ServedControl) {
    for line in ["\0AUTH EXTERNAL\r\n", "DATA\r\n", "NEGOTIATE_UNIX_FD\r\n", "BEGIN\r\n"] {
      send(Array(line.utf8), to: peer)
      served.settle()
    }
  }

  // MARK: the next peer

  /// A peer that behaves gets its answer.
  private func checkServed(_ served: ServedControl) throws(Finding) {
    let peer = served.connect()
    let calls = served.calls
    shake(hands: peer, served)
    send(BusMessageBytes(serial: 77).bytes, to: peer)
    served.settle()
    var answer: [UInt8] = []
    while let more = try? Posix.read(peer.number, limit: 4_096), !more.isEmpty { answer += more }
    let text = Array(ServedControl.report.description.utf8)
    try Finding.unless(
      served.calls == calls + 1,
      "a right call isn't carried out; the answer is \(String(decoding: answer, as: UTF8.self))")
    try Finding.unless(answer.count > text.count && Self.contains(answer, text), "a right call isn't answered")
    Glibc.shutdown(peer.number, Int32(SHUT_RDWR))
    served.settle()
  }

  private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: part) }
  }

  private static let givenName = "xpb-fuzz-given"

  /// How many descriptors of what is sent this process has; tests beside this one have others.
  private static func givenCount() -> Int {
    Posix.directoryEntries("/proc/self/fd")!.count {
      Posix.readlink("/proc/self/fd/\($0)")?.hasPrefix("/memfd:\(givenName)") ?? false
    }
  }

  /// Sends what the kernel takes, with so many descriptors.
  private func send(_ bytes: [UInt8], to peer: OwnedDescriptor, descriptors: Int = 0) {
    guard !bytes.isEmpty else { return }
    let given = descriptors > 0 ? OwnedDescriptor(memfd_create(Self.givenName, 0)) : nil
    defer { withExtendedLifetime(given) {} }
    let numbers = [Int32](repeating: given?.number ?? -1, count: descriptors)
    bytes.withUnsafeBytes { bytes in
      var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
      // struct cmsghdr: length, level and type; then the descriptors, up to a multiple of 8.
      let length = 16 + descriptors * 4
      let space = UnsafeMutableRawPointer.allocate(byteCount: (length + 7) & ~7, alignment: 8)
      defer { space.deallocate() }
      space.storeBytes(of: length, as: Int.self)
      space.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
      space.storeBytes(of: Int32(SCM_RIGHTS), toByteOffset: 12, as: Int32.self)
      for (index, number) in numbers.enumerated() {
        space.storeBytes(of: number, toByteOffset: 16 + index * 4, as: Int32.self)
      }
      withUnsafeMutablePointer(to: &part) { part in
        var message = msghdr()
        message.msg_iov = part
        message.msg_iovlen = 1
        if descriptors > 0 {
          message.msg_control = space
          message.msg_controllen = (length + 7) & ~7
        }
        _ = sendmsg(peer.number, &message, Int32(MSG_NOSIGNAL))
      }
    }
  }

  // MARK: seeds

  static func seeds() -> [(name: String, bytes: [UInt8])] {
    var seeds: [(name: String, bytes: [UInt8])] = [
      ("silent", [0]), ("web", [0] + Array("GET / HTTP/1.1\r\n\r\n".utf8)),
      ("anonymous", [0] + Array("\0AUTH ANONYMOUS\r\nBEGIN\r\n".utf8)), ("call", [1] + BusMessageBytes().bytes),
      ("big-endian", [1, UInt8(ascii: "B")] + BusMessageBytes().bytes.dropFirst()),
    ]
    for member in 0..<10 { seeds.append(("member-\(member)", [2, 0, 1, 0, UInt8(member), 2, 0, UInt8(member)])) }
    // Get of a property, and each part wrong alone.
    seeds.append(("property", [2, 0, 1, 8 | 32, 4, 3, 0, 0, 0]))
    for bit in 0..<8 { seeds.append(("wrong-\(bit)", [3, 1, 1, 1 << UInt8(bit), 3, 2, 2, 0, 5, 1, 2])) }
    return seeds
  }
}
