@preconcurrency import CX11
import Glibc

@testable import X11

/// The other end of an X connection: answers the few requests of property reading as a script says. It runs on a thread
/// of its own, because our side waits for replies; it looks at the script only while our side waits.
final class PretendedServer {
  /// What GetProperty is answered with.
  nonisolated struct Property {
    var type: UInt32
    var format: UInt8
    var data: [UInt8]
    var bytesAfter: UInt32
    var isError: Bool

    /// The bytes that the reply says it has: whole items, as a server counts them.
    var shown: [UInt8] { Array(data.prefix(items * itemBytes)) }
    var items: Int { itemBytes == 0 ? 0 : data.count / itemBytes }
    private var itemBytes: Int { Int(format) / 8 }
  }

  /// The answers to one reading.
  nonisolated struct Script {
    var properties: [Property] = []
    /// Names that unknown atoms have; every fifth atom doesn't exist.
    var names: [[UInt8]] = []
    var served = 0
  }

  /// The server's numbers of INCR and TARGETS, which are the first names it is asked for.
  nonisolated static let incr: UInt32 = 101
  nonisolated static let targets: UInt32 = 102

  static let shared = PretendedServer()

  private let xcb: XcbConnection
  // Written by our side before it asks, read by the server's thread before it answers: never at once.
  private nonisolated(unsafe) static var script = Script()

  private init() {
    var ends: [Int32] = [0, 0]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    var thread = pthread_t()
    let end = UnsafeMutableRawPointer(bitPattern: Int(ends[1]))
    precondition(pthread_create(&thread, nil, Self.run, end) == 0)
    xcb = XcbConnection(raw: xcb_connect_to_fd(ends[0], nil)!)
    precondition(!xcb.hasError, "the pretended server isn't accepted")
  }

  /// Lets `body` read while the server answers by `script`; also gives how many properties were asked for.
  func play<Value>(_ script: Script, _ body: (XcbConnection, AtomTable) -> Value) -> (Value, served: Int) {
    Self.script = script
    let atoms = AtomTable(xcb: xcb)
    _ = atoms.intern(["INCR", "TARGETS"])
    let value = body(xcb, atoms)
    // What was asked without waiting has been answered when this is.
    _ = xcb.reply(to: xcb.getInputFocus())
    return (value, Self.script.served)
  }

  // MARK: the server's thread

  /// Begins the thread; `end` is its socket's number.
  private nonisolated static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { end in
    serve(Int32(Int(bitPattern: end)))
    return nil
  }

  private nonisolated static func serve(_ end: Int32) {
    // The setup request: 12 bytes, no authorisation. The answer has no screens and no formats.
    guard read(end, 12) != nil else { return }
    var setup = [UInt8](repeating: 0, count: 40)
    setup.replaceSubrange(0..<8, with: [1, 0, 11, 0, 0, 0, 8, 0])
    put(0x20_0000, in: &setup, at: 12)
    put(0x1f_ffff, in: &setup, at: 16)
    setup[26] = 0xff
    setup[27] = 0xff
    write(end, setup)
    var serial: UInt16 = 0
    while let head = read(end, 4) {
      let length = Int(head[2]) | Int(head[3]) << 8
      guard let body = read(end, max(0, length - 1) * 4) else { return }
      serial &+= 1
      if let answer = answer(head, body) { write(end, numbered(answer, serial)) }
    }
  }

  private nonisolated static func answer(_ head: [UInt8], _ body: [UInt8]) -> [UInt8]? {
    var reply = [UInt8](repeating: 0, count: 32)
    reply[0] = 1
    switch head[0] {
    case 16:  // InternAtom
      put(body.starts(with: [4, 0]) ? incr : targets, in: &reply, at: 8)
    case 17:  // GetAtomName
      let atom = body.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
      guard atom % 5 != 0, !script.names.isEmpty else { return error(code: 5) }
      let name = script.names[Int(atom) % script.names.count]
      reply[8] = UInt8(name.count)
      reply += padded(name)
    case 20:  // GetProperty
      defer { script.served += 1 }
      guard script.served < script.properties.count else { break }
      let property = script.properties[script.served]
      if property.isError { return error(code: 3) }
      reply[1] = property.format
      put(property.type, in: &reply, at: 8)
      put(property.bytesAfter, in: &reply, at: 12)
      put(UInt32(property.items), in: &reply, at: 16)
      reply += padded(property.data)
    case 43: break  // GetInputFocus
    default: return nil
    }
    put(UInt32((reply.count - 32) / 4), in: &reply, at: 4)
    return reply
  }

  private nonisolated static func error(code: UInt8) -> [UInt8] {
    var error = [UInt8](repeating: 0, count: 32)
    error[1] = code
    return error
  }

  private nonisolated static func numbered(_ answer: [UInt8], _ serial: UInt16) -> [UInt8] {
    var answer = answer
    answer[2] = UInt8(truncatingIfNeeded: serial)
    answer[3] = UInt8(truncatingIfNeeded: serial >> 8)
    return answer
  }

  private nonisolated static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }

  private nonisolated static func put(_ word: UInt32, in bytes: inout [UInt8], at offset: Int) {
    withUnsafeBytes(of: word) { bytes.replaceSubrange(offset..<offset + 4, with: $0) }
  }

  private nonisolated static func read(_ end: Int32, _ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let more = bytes.withUnsafeMutableBytes { Glibc.read(end, $0.baseAddress! + filled, count - filled) }
      guard more > 0 || more == -1 && errno == EINTR else { return nil }
      filled += max(0, more)
    }
    return bytes
  }

  private nonisolated static func write(_ end: Int32, _ bytes: [UInt8]) {
    var written = 0
    while written < bytes.count {
      let more = bytes.withUnsafeBytes { Glibc.write(end, $0.baseAddress! + written, bytes.count - written) }
      guard more > 0 || more == -1 && errno == EINTR else { return }
      written += max(0, more)
    }
  }
}
