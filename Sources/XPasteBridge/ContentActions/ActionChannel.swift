@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

// How content goes to an action's process and comes back: by a socket, which nobody can open anew by `/proc`, and to a
// process alone that is closed to the user's others.
extension Posix {
  /// Two connected sockets, one of which is for a program that knows nothing of those that don't wait.
  static func channel() throws(SystemFailure) -> (ours: OwnedDescriptor, theirs: OwnedDescriptor) {
    let (ours, theirs) = try socketPair()
    try SystemFailure.unlessMinusOne(fcntl(theirs.number, F_SETFL, 0), "fcntl")
    return (ours, theirs)
  }

  /// A copy of the program `path` in memory, which nobody can read or change: the kernel closes what executes it to other
  /// processes of the user from the first instruction on. `nil` where `path` can't be read, and has the same effect.
  static func closedCopy(of path: String) throws(SystemFailure) -> OwnedDescriptor? {
    let source = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else {
      if errno == EACCES { return nil }
      throw SystemFailure(call: "open", code: errno)
    }
    let file = OwnedDescriptor(source)
    // Not 3, which is another one in the child.
    let made = OwnedDescriptor(try SystemFailure.unlessMinusOne(xpb_memfd_executable("action"), "memfd_create"))
    let copy = OwnedDescriptor(
      try SystemFailure.unlessMinusOne(fcntl(made.number, F_DUPFD_CLOEXEC, 4), "fcntl"))
    try copyContents(of: file.number, to: copy.number)
    try SystemFailure.unlessMinusOne(fchmod(copy.number, 0o111), "fchmod")
    try addSeals(copy, Seals.content)
    return copy
  }

  /// Whether no other process of the user can reach the memory or descriptors of our child `process`: we are such a process
  /// ourselves. Nothing is closed to root.
  static func isClosed(_ process: pid_t) -> Bool { geteuid() == 0 || readlink("/proc/\(process)/fd/0") == nil }

  /// Reads what has come, at most `limit` bytes. `nil` when nothing more comes: the other end is closed.
  static func receive(_ socket: OwnedDescriptor, into payload: inout Payload, limit: Int) -> Int? {
    let step = UnsafeMutableRawBufferPointer.allocate(byteCount: Payload.segmentBytes, alignment: 1)
    defer {
      if let start = step.baseAddress { explicit_bzero(start, step.count) }
      step.deallocate()
    }
    var all = 0
    while all < limit {
      let count = Glibc.read(socket.number, step.baseAddress, min(step.count, limit - all))
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { break }
      // An end that was closed with content unread is an error here, after what it had written.
      guard count > 0 else { return all > 0 ? all : nil }
      payload.append(UnsafeRawBufferPointer(rebasing: step.prefix(count)))
      all += count
    }
    return all
  }

  /// Sends `payload` from chunk `chunk` and byte `offset` of it on, as much as is taken. False when nothing is taken any more.
  static func send(
    _ payload: Payload, chunk: inout Int, offset: inout Int, to socket: OwnedDescriptor
  ) -> Bool {
    while chunk < payload.chunkCount {
      let count = payload.withChunk(chunk) { bytes in
        Glibc.send(
          socket.number, bytes.baseAddress.map { $0 + offset }, bytes.count - offset, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      if count < 0 { return errno == EAGAIN }
      offset += count
      if offset == payload.byteCount(ofChunk: chunk) { (chunk, offset) = (chunk + 1, 0) }
    }
    return true
  }

  /// Nothing more is sent: the other end reads an end.
  static func endSending(_ socket: OwnedDescriptor) { shutdown(socket.number, Int32(SHUT_WR)) }
}
