@preconcurrency import Glibc
import Selection

/// Serves the control interface on the private socket: any number of short connections, each independent of the others.
final class ControlServer {
  /// Connections at once (our choice: the command line uses one for a moment, a panel keeps one).
  private static let connectionLimit = 64
  /// Answers a peer may leave unread before it is let go (our choice).
  private static let unreadAnswerLimit: UInt64 = 64
  /// How long a peer may take for the handshake (our choice: a local one takes under 1 ms).
  private static let handshakeMilliseconds = 5_000

  /// After which time accepting is tried again when the system had no descriptor left (our choice).
  private static let retryMilliseconds = 500

  /// What a server serves, and where.
  struct Offer {
    /// The socket's path.
    var socket: String
    /// The interface.
    var table: BusTable
    /// Whether descriptors go to and fro.
    var passesDescriptors = false
    /// Called with the number of a connection that has ended.
    var onEnd: (UInt64) -> Void = { _ in }
  }

  private final class Peer {
    let connection: BusConnection
    let caller: Caller
    let handshakeDeadline: MonotonicTime
    var lastActive: MonotonicTime
    /// Whether what came with the handshake has been taken.
    var hasBegun = false

    init(_ connection: BusConnection, _ caller: Caller, now: MonotonicTime) {
      self.connection = connection
      self.caller = caller
      handshakeDeadline = now.advanced(byMilliseconds: ControlServer.handshakeMilliseconds)
      lastActive = now
    }
  }

  /// Where it listens.
  let address: ControlAddress
  private let loop: EventLoop
  private let offer: Offer
  private var peerCount: UInt64 = 0
  private let listener: OwnedDescriptor
  private var source: EventSource?
  private var timer: EventTimer?
  private var retry: EventTimer?
  private var sweep: DeferredCall?
  private var peers: [OpaquePointer: Peer] = [:]
  private var ended: [OpaquePointer] = []

  /// Connections open now.
  var connectionCount: Int { peers.count }

  /// Listens at `address`; the display's manager selection has to be held, so a socket that is there is a dead one's.
  convenience init(address: ControlAddress, table: BusTable, loop: EventLoop) throws(ControlFailure) {
    try self.init(address: address, offer: Offer(socket: address.socket, table: table), loop: loop)
  }

  /// The same with another socket in the same directory.
  init(address: ControlAddress, offer: Offer, loop: EventLoop) throws(ControlFailure) {
    self.address = address
    self.loop = loop
    self.offer = offer
    do throws(SystemFailure) {
      try Self.makePrivateDirectory(address.parent)
      try Self.makePrivateDirectory(address.directory)
      if Posix.lstat(offer.socket) != nil { try Posix.unlink(offer.socket) }
      listener = try Posix.socket()
      try Posix.bind(listener, offer.socket)
      try Posix.chmod(offer.socket, mode: 0o600)
      // Enough for a burst of command lines; more wait and try again.
      try Posix.listen(listener, backlog: 64)
      source = try loop.addInput(listener.number) { [weak self] in self?.acceptAll() }
      timer = try loop.makeTimer { [weak self] in self?.endSlowHandshakes() }
      retry = try loop.makeTimer { [weak self] in self?.source?.resume() }
      sweep = try loop.makeDeferredCall { [weak self] in self?.releaseEnded() }
    } catch {
      throw ControlFailure(line: "can't listen on \(Label.plain(offer.socket)): \(error)")
    }
  }

  /// Stops listening and removes the socket.
  func close() {
    source = nil
    peers = [:]
    try? Posix.unlink(offer.socket)
    try? Posix.rmdir(address.directory)
  }

  private static func makePrivateDirectory(_ path: String) throws(SystemFailure) {
    if Posix.lstat(path) == nil { try Posix.mkdir(path, mode: 0o700) }
    guard let state = Posix.lstat(path), state.isDirectory else { throw SystemFailure(call: "mkdir", code: ENOTDIR) }
    // Fails where the directory is another user's, and then nothing must be put there.
    try Posix.chmod(path, mode: 0o700)
  }

  private func acceptAll() {
    do throws(SystemFailure) {
      while let socket = try Posix.accept4(listener) { admit(socket) }
    } catch {
      // Out of descriptors or memory: the peer waits in the backlog, and the loop must not spin meanwhile.
      endLongestSilent()
      source?.pause()
      retry?.set(Posix.monotonicNow().advanced(byMilliseconds: Self.retryMilliseconds))
    }
  }

  private func admit(_ socket: OwnedDescriptor) {
    guard let peer = try? Posix.peer(socket), peer.user == geteuid() else { return }
    if peers.count >= Self.connectionLimit { endLongestSilent() }
    do throws(SystemFailure) {
      let connection = try BusConnection()
      try connection.setSocket(socket)
      try connection.setServer()
      try connection.setTrusted()
      if !offer.passesDescriptors { try connection.refuseDescriptors() }
      try connection.add(offer.table, path: ControlAddress.object)
      let pointer = connection.pointer
      try connection.addMatch(
        "type='signal',sender='org.freedesktop.DBus.Local',interface='org.freedesktop.DBus.Local',member='Disconnected'"
      ) { [weak self] _ in self?.end(pointer) }
      try connection.addFilter { [weak self] _ in self?.noteMessage(from: pointer) }
      try connection.attach(to: loop)
      try connection.start()
      peerCount += 1
      let caller = Caller(number: peerCount, process: ProcessRecord(peer.process))
      peers[connection.pointer] = Peer(connection, caller, now: Posix.monotonicNow())
      armTimer()
    } catch {
      // The peer sees its connection closed; nothing of it stays here.
      return
    }
  }

  /// Takes note of a message from a peer; one that doesn't read its answers is let go.
  private func noteMessage(from pointer: OpaquePointer) {
    guard let peer = peers[pointer] else { return }
    peer.lastActive = Posix.monotonicNow()
    if peer.connection.queuedAnswers > Self.unreadAnswerLimit { end(pointer) }
  }

  /// Tells every peer of a change.
  func broadcast(_ send: (BusConnection) throws(SystemFailure) -> Void) {
    for peer in peers.values where peer.connection.isReady {
      guard peer.connection.queuedAnswers <= Self.unreadAnswerLimit else {
        end(peer.connection.pointer)
        continue
      }
      // A peer that can't be told is about to be reported as disconnected.
      try? send(peer.connection)
    }
  }

  /// Who is at the other end of the connection that a call came by.
  func caller(of call: BusMessage) -> Caller? { call.connection.flatMap { peers[$0]?.caller } }

  /// Who is at the other end of the connection of this number.
  func caller(_ number: UInt64) -> Caller? { peers.values.first { $0.caller.number == number }?.caller }

  /// Sends to the peer of this number, if it is there still.
  func send(to number: UInt64, _ send: (BusConnection) throws(SystemFailure) -> Void) {
    guard let peer = peers.values.first(where: { $0.caller.number == number }), peer.connection.isReady else { return }
    guard peer.connection.queuedAnswers <= Self.unreadAnswerLimit else { return end(peer.connection.pointer) }
    // A peer that can't be told is about to be reported as disconnected.
    try? send(peer.connection)
  }

  /// Takes what came in one piece with the end of a handshake, as GLib sends it: libsystemd (252) leaves it lying until
  /// more comes, and the caller waits for its answer. To be called before every wait.
  func begin() {
    for peer in peers.values where !peer.hasBegun && peer.connection.isReady {
      peer.hasBegun = true
      // A connection that fails here is about to be reported as disconnected.
      while (try? peer.connection.step()) == true {}
    }
  }

  /// Ends all connections, and has no more.
  func shut() {
    source = nil
    for pointer in peers.keys { release(pointer) }
  }

  private func release(_ pointer: OpaquePointer) {
    guard let peer = peers.removeValue(forKey: pointer) else { return }
    peer.connection.close()
    offer.onEnd(peer.caller.number)
  }

  /// Connections are let go in the loop's next round: libsystemd may be in the middle of a call of theirs.
  private func end(_ pointer: OpaquePointer) {
    ended.append(pointer)
    sweep?.request()
  }

  private func releaseEnded() {
    for pointer in ended { release(pointer) }
    ended = []
    armTimer()
  }

  private func endLongestSilent() {
    guard let peer = peers.values.min(by: { $0.lastActive < $1.lastActive }) else { return }
    release(peer.connection.pointer)
  }

  private func armTimer() {
    timer?.set(peers.values.filter { !$0.connection.isReady }.map(\.handshakeDeadline).min())
  }

  private func endSlowHandshakes() {
    let now = Posix.monotonicNow()
    for peer in peers.values where !peer.connection.isReady && peer.handshakeDeadline <= now {
      end(peer.connection.pointer)
    }
    armTimer()
  }
}
