@preconcurrency import CSystemd
import Glibc

/// A client's end of a connection to the X server.
nonisolated struct ConnectionEnd: Hashable, Sendable {
  /// The number in `socket:[…]` of `/proc/PID/fd`. The kernel counts these with 32 bits and may use one again.
  var inode: UInt32
  /// The kernel's own name of the socket, never used again until the next boot.
  var cookie: UInt64
  /// The inode of the server's end.
  var peer: UInt32
}

/// What the kernel says about Unix sockets (sock_diag(7)); everybody may ask.
enum SocketDiagnosis {
  /// One socket.
  nonisolated struct Record: Hashable {
    var inode: UInt32
    var cookie: UInt64
    /// The bytes of the address, without the zeros behind them; an abstract one starts with a zero.
    var name: [UInt8] = []
    /// The inode of the other end; `nil` when it isn't connected (any more).
    var peer: UInt32?
  }

  /// Sockets listed at most. Our choice: some 30 times as many as a desktop has, and 10 ms.
  private static let listedSockets = 32_768
  /// Room for one answer: the kernel fills at most 32 KiB at a time.
  private static let answerBytes = 64 << 10

  /// The clients' ends of all connections that were accepted at `path`, or at the abstract address of the same name.
  ///
  /// Only sockets of our network name space are listed. Anybody can bind a socket with the same name in a mount name
  /// space of his own, so there may be more of them than the server has.
  static func clientEnds(ofServerAt path: String) throws(SystemFailure) -> [ConnectionEnd] {
    let records = try sockets()
    let name = Array(path.utf8)
    let names = [name, [0] + name]
    let accepted = Set(records.lazy.filter { names.contains($0.name) && $0.peer != nil }.map(\.inode))
    return records.compactMap { record in
      guard let peer = record.peer, accepted.contains(peer) else { return nil }
      return ConnectionEnd(inode: record.inode, cookie: record.cookie, peer: peer)
    }
  }

  /// Whether the connection still stands; a socket closed by the server has no other end.
  static func isConnected(_ end: ConnectionEnd) throws(SystemFailure) -> Bool {
    let socket = try socket()
    let halves = (UInt32(truncatingIfNeeded: end.cookie), UInt32(truncatingIfNeeded: end.cookie >> 32))
    try send(socket, flags: NLM_F_REQUEST, inode: end.inode, cookie: halves)
    var found: Record?
    do {
      _ = try receive(socket) { found = $0 }
    } catch  where error.code == ENOENT || error.code == ESTALE {
      return false
    }
    return found?.cookie == end.cookie && found?.peer == end.peer
  }

  private static func sockets() throws(SystemFailure) -> [Record] {
    let socket = try socket()
    try send(socket, flags: NLM_F_REQUEST | NLM_F_ROOT | NLM_F_MATCH, inode: 0, cookie: (.max, .max))
    var records: [Record] = []
    while try !receive(socket, { records.append($0) }) {
      guard records.count <= listedSockets else { throw SystemFailure(call: "recv", code: E2BIG) }
    }
    return records
  }

  // MARK: Calls

  /// socket
  private static func socket() throws(SystemFailure) -> OwnedDescriptor {
    let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    return OwnedDescriptor(
      try SystemFailure.unlessMinusOne(Glibc.socket(AF_NETLINK, type, NETLINK_SOCK_DIAG), "socket"))
  }

  /// send
  private static func send(
    _ socket: OwnedDescriptor, flags: Int32, inode: UInt32, cookie: (UInt32, UInt32)
  ) throws(SystemFailure) {
    var message = xpb_unix_question()
    message.header.nlmsg_len = UInt32(MemoryLayout<xpb_unix_question>.size)
    message.header.nlmsg_type = UInt16(SOCK_DIAG_BY_FAMILY)
    message.header.nlmsg_flags = UInt16(flags)
    message.question.sdiag_family = UInt8(AF_UNIX)
    // A set of states; 1 is TCP_ESTABLISHED, the state of connected Unix sockets.
    message.question.udiag_states = 1 << 1
    message.question.udiag_ino = inode
    message.question.udiag_show = UInt32(UDIAG_SHOW_NAME | UDIAG_SHOW_PEER)
    message.question.udiag_cookie = cookie
    let sent = withUnsafeBytes(of: &message) { Glibc.send(socket.number, $0.baseAddress, $0.count, 0) }
    try SystemFailure.unlessMinusOne(sent, "send")
  }

  /// recv of one answer; `true` when it was the last.
  private static func receive(
    _ socket: OwnedDescriptor, _ take: (Record) -> Void
  ) throws(SystemFailure) -> Bool {
    // Nobody else can write to this socket: the kernel takes messages between programs for NETLINK_SOCK_DIAG from
    // nobody without CAP_NET_ADMIN. It has answered when send returns, so nothing has to be waited for.
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: answerBytes) { storage, initialized in
      count = recv(socket.number, storage.baseAddress, storage.count, Int32(MSG_DONTWAIT))
      initialized = max(0, count)
    }
    try SystemFailure.unlessMinusOne(count, "recv")
    guard count > 0 else { throw SystemFailure(call: "recv", code: EPROTO) }
    return try bytes.withUnsafeBytes { bytes -> Result<Bool, SystemFailure> in
      Result { () throws(SystemFailure) in try read(bytes, take) }
    }.get()
  }

  // MARK: Messages

  /// Reads the messages of one answer. The macros of linux/netlink.h don't exist for Swift: each message and each
  /// attribute starts at a multiple of 4 (NLMSG_ALIGNTO, NLA_ALIGNTO) with its length, and every length is tested
  /// before anything behind it is read.
  static func read(_ bytes: UnsafeRawBufferPointer, _ take: (Record) -> Void) throws(SystemFailure) -> Bool {
    let malformed = SystemFailure(call: "recv", code: EPROTO)
    let headerBytes = MemoryLayout<nlmsghdr>.size
    var start = 0
    var isLast = true
    while start < bytes.count {
      guard bytes.count - start >= headerBytes else { throw malformed }
      let header = bytes.loadUnaligned(fromByteOffset: start, as: nlmsghdr.self)
      guard header.nlmsg_len >= headerBytes, Int(header.nlmsg_len) <= bytes.count - start else { throw malformed }
      let body = UnsafeRawBufferPointer(rebasing: bytes[(start + headerBytes)..<(start + Int(header.nlmsg_len))])
      // A list that changed while it was made isn't complete.
      if header.nlmsg_flags & UInt16(NLM_F_DUMP_INTR) != 0 { throw SystemFailure(call: "recv", code: EAGAIN) }
      switch Int32(header.nlmsg_type) {
      case NLMSG_DONE: return true
      case NLMSG_ERROR:
        guard body.count >= 4 else { throw malformed }
        throw SystemFailure(call: "recv", code: -body.loadUnaligned(as: Int32.self))
      case SOCK_DIAG_BY_FAMILY:
        guard let record = record(body) else { throw malformed }
        take(record)
      default: break
      }
      isLast = header.nlmsg_flags & UInt16(NLM_F_MULTI) == 0
      start += Int(header.nlmsg_len + 3) & ~3
    }
    return isLast
  }

  private static func record(_ body: UnsafeRawBufferPointer) -> Record? {
    let fixed = MemoryLayout<unix_diag_msg>.size
    guard body.count >= fixed else { return nil }
    let message = body.loadUnaligned(as: unix_diag_msg.self)
    let cookie = UInt64(message.udiag_cookie.0) | UInt64(message.udiag_cookie.1) << 32
    var record = Record(inode: message.udiag_ino, cookie: cookie)
    var start = fixed
    while body.count - start >= 4 {
      // struct nlattr: length with these four bytes, type.
      let length = Int(body.loadUnaligned(fromByteOffset: start, as: UInt16.self))
      let type = UInt32(body.loadUnaligned(fromByteOffset: start + 2, as: UInt16.self))
      guard length >= 4, length <= body.count - start else { return nil }
      let value = body[(start + 4)..<(start + length)]
      if type == UInt32(UNIX_DIAG_NAME) {
        record.name = Array(value)
        while record.name.last == 0 { record.name.removeLast() }
      } else if type == UInt32(UNIX_DIAG_PEER), value.count == 4 {
        record.peer = body.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)
      }
      start += (length + 3) & ~3
    }
    return record
  }
}
