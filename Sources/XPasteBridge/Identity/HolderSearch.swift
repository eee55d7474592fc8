import Glibc
import Policy
import Selection
import X11

/// What was found about the process behind an X client.
enum HolderFinding {
  /// This process, and no other.
  case process(ClientHolder)
  /// One of several processes that all run the same executable in the same sandbox.
  case oneOf(executable: Fact, script: Fact?, unit: Fact?, sandbox: Fact?, [ProcessRecord])
  /// One of these processes, which run different programs.
  case among([ProcessRecord])
  /// It can't be told.
  case unknown
}

/// The process behind an X client, and what makes it so.
struct ClientHolder {
  /// The process.
  let process: ProcessRecord
  /// The process that the server names: the one that connected.
  let namedID: Int32
  /// The connection that led to the process and the descriptor it holds it by; `nil` when it is the named one.
  let connection: (end: ConnectionEnd, descriptor: Int32)?
  /// What the process ran when it was found to hold the client's connection.
  let executable: Fact?

  init(process: ProcessRecord, namedID: Int32, connection: (end: ConnectionEnd, descriptor: Int32)? = nil) {
    self.process = process
    self.namedID = namedID
    self.connection = connection
    executable = process.executable
  }
}

/// The kernel's account of the connections to one X server.
struct ConnectionSource {
  /// The clients' ends.
  var ends: () throws(SystemFailure) -> [ConnectionEnd]
  /// Whether one of them still stands.
  var isConnected: (ConnectionEnd) throws(SystemFailure) -> Bool
}

extension ConnectionSource {
  /// Asks about the server of `display`.
  init(display: DisplayName) {
    let path = "/tmp/.X11-unix/X\(display.number)"
    ends = { () throws(SystemFailure) in
      // A server on another host numbers the processes there.
      guard display.isLocal else { throw SystemFailure(call: "socket", code: EAFNOSUPPORT) }
      return try SocketDiagnosis.clientEnds(ofServerAt: path)
    }
    isConnected = { (end) throws(SystemFailure) in try SocketDiagnosis.isConnected(end) }
  }
}

/// Finds the process that holds an X client's connection.
///
/// The server names the process that connected. xclip, xsel and programs that go into the background then fork and
/// end: their child is the client, and nothing but its hold on the connection says so.
final class HolderSearch {
  private let display: Display
  private let source: ConnectionSource
  private var misses: [UInt32: (namedID: Int32, until: MonotonicTime)] = [:]
  private var groups: [UInt32: [ClientHolder]] = [:]
  /// Clients whose connection was once the only one left, among them such as nobody has asked about: a helper that forked
  /// at the start of the session would make all programs that fork later hard to tell apart.
  private var bound: [UInt32: ClientHolder] = [:]
  /// Ended processes of clients that a look at all of them couldn't settle.
  private var unsettled: [UInt32: Int32] = [:]

  /// Searches made, for tests and measurements.
  private(set) var searchCount = 0

  /// How long a search that found nothing isn't repeated for the same client, which can ask for decisions as fast as it
  /// likes: this, and so many times as long as the search took. Our choice: a twentieth of the time at most.
  private static let missMilliseconds: UInt64 = 100
  private static let missFactor: UInt64 = 20
  /// Clients of each kind remembered, and processes of a group. Our choice: more than take part in selections at a
  /// time, and few descriptors.
  private static let remembered = 16
  private static let groupSize = 16
  private static let boundClients = 256
  /// Looks at the lists of clients, connections and holders, which are made one after the other while programs connect,
  /// fork and end, and the pause between two. Our choice: a busy machine takes some milliseconds from a fork to an end.
  private static let looks = 4
  private static let pauseMicroseconds: UInt32 = 2_000

  init(display: Display, source: ConnectionSource) {
    self.display = display
    self.source = source
  }

  /// Whether `holder` still is the process behind its client.
  func isCurrent(_ holder: ClientHolder) -> Bool {
    // A process that has become another program may have left the connection to a child.
    guard holder.process.refresh(), holder.process.executable == holder.executable else { return false }
    guard let (end, descriptor) = holder.connection else { return true }
    // While the connection stands, its X client is the same: the cookie is never given to another.
    guard DescriptorTable.holds(holder.process.identity.id, descriptor, inode: end.inode) else { return false }
    return (try? source.isConnected(end)) ?? false
  }

  /// The process behind the client with resource base `base`, for which the server names process `id`, which is
  /// `process` if there is such a process now. `known` holds the connections of clients found before.
  func find(base: UInt32, id: Int32, process: ProcessRecord?, known: [UInt32: ClientHolder]) -> HolderFinding {
    if let miss = misses[base], miss.namedID == id, .now < miss.until { return .unknown }
    if let holder = bound[base] {
      if holder.namedID == id, isCurrent(holder) { return .process(holder) }
      bound[base] = nil
    }
    if let group = groups[base] {
      // While all these connections stand, the client's stands among them, so it is the same client.
      if group[0].namedID == id, group.allSatisfy(isCurrent) { return found(among: group) }
      groups[base] = nil
    }
    searchCount += 1
    let start = MonotonicTime.now
    let ends: [ConnectionEnd]
    do {
      ends = try visibleEnds()
      if let process, try holdsAll(process, askedAbout: base, ends: ends) {
        return .process(ClientHolder(process: process, namedID: id))
      }
    } catch {
      // Nothing can be seen: then the server's word is all there is, and none for an ended process.
      return process.map { .process(ClientHolder(process: $0, namedID: id)) } ?? .unknown
    }
    // Clients come and go while three lists are made one after the other, so a later look may see what fits. A finding
    // that leaves a choice may be of such a moment, too.
    var best = HolderFinding.unknown
    looking: for look in 0..<Self.looks {
      if look > 0 { usleep(Self.pauseMicroseconds) }
      let finding = (try? conclude(base: base, id: id, known: known)) ?? .unknown
      switch finding {
      case .process: best = finding
      case .oneOf, .among:
        best = finding
        if look == 0 { continue }
      case .unknown: continue
      }
      break looking
    }
    if case .unknown = best {
    } else {
      misses[base] = nil
      return best
    }
    if misses.count >= Self.remembered { misses = [:] }
    let pause = max(
      Self.missMilliseconds, (MonotonicTime.now.nanoseconds - start.nanoseconds) / 1_000_000 * Self.missFactor)
    misses[base] = (id, MonotonicTime.now.advanced(byMilliseconds: Int(pause)))
    return .unknown
  }

  /// Binds clients whose process has ended to the only connection that can be theirs, before others come: called at the
  /// start and when a client is met for the first time.
  func settle(known: [UInt32: ClientHolder]) {
    var processIDs = display.survey().processIDs
    bound = bound.filter { processIDs[$0.key] == $0.value.namedID && isCurrent($0.value) }
    unsettled = unsettled.filter { processIDs[$0.key] == $0.value }
    let fresh = processIDs.filter { base, id in
      base != 0 && known[base] == nil && bound[base] == nil && unsettled[base] != id
        && ProcessRecord(id) == nil
    }
    guard !fresh.isEmpty, bound.count < Self.boundClients else { return }
    unsettled.merge(fresh) { _, id in id }
    processIDs = withoutRetained(processIDs, known: known)
    guard let (census, holders) = try? census(processIDs: processIDs, known: known, except: nil) else { return }
    for (base, settled) in census.settled() {
      guard let process = ProcessRecord(settled.holder), let id = processIDs[base],
        let descriptor = holders[settled.holder]?[settled.end.inode]
      else { continue }
      let holder = ClientHolder(process: process, namedID: id, connection: (settled.end, descriptor))
      if isCurrent(holder) { bound[base] = holder }
    }
  }

  /// All ends, our own among them; else the server is out of sight, in another network name space.
  private func visibleEnds() throws(SystemFailure) -> [ConnectionEnd] {
    let ends = try source.ends()
    var own = stat()
    try SystemFailure.unlessMinusOne(fstat(display.fileDescriptor, &own), "fstat")
    guard ends.contains(where: { UInt64($0.inode) == UInt64(own.st_ino) }) else {
      throw SystemFailure(call: "recv", code: ENOENT)
    }
    return ends
  }

  /// `processIDs` without the clients that have closed their connection: the server lists them for good, and they hold
  /// none. Whoever is known to hold one isn't asked about.
  private func withoutRetained(_ processIDs: [UInt32: Int32], known: [UInt32: ClientHolder]) -> [UInt32: Int32] {
    let suspects = processIDs.keys.filter { $0 != 0 && known[$0]?.connection == nil && bound[$0] == nil }
    let retained = display.retainedClients(among: suspects)
    guard !retained.isEmpty else { return processIDs }
    // A client that has come meanwhile in the place of one that has ended is another's.
    let now = display.survey().processIDs
    return processIDs.filter { base, id in !retained.contains(base) || now[base] != id }
  }

  /// Whether `process` holds at least as many connections as the server names it for. If its number was another's
  /// before, it holds fewer. A process whose sockets can't be seen is believed.
  private func holdsAll(
    _ process: ProcessRecord, askedAbout base: UInt32, ends: [ConnectionEnd]
  ) throws(SystemFailure) -> Bool {
    let id = process.identity.id
    guard let held = try DescriptorTable.sockets(of: id, among: Set(ends.map(\.inode))), !isElsewhere(id) else {
      return process.refresh()
    }
    guard !held.isEmpty else { return false }
    let clients = display.survey().processIDs.filter { $0.key != 0 && $0.value == id }
    if held.count >= clients.count { return true }
    let connected = withoutRetained(clients, known: [:])
    return connected[base] != nil && held.count >= connected.count
  }

  /// Whether process `id` makes its sockets in another network name space, where we don't see them.
  private func isElsewhere(_ id: Int32) -> Bool {
    let space = ProcessFile.link(AT_FDCWD, "/proc/\(id)/ns/net")
    return space == nil || space != ProcessFile.link(AT_FDCWD, "/proc/self/ns/net")
  }

  private func conclude(
    base: UInt32, id: Int32, known: [UInt32: ClientHolder]
  ) throws(SystemFailure) -> HolderFinding {
    let processIDs = withoutRetained(display.survey().processIDs, known: known)
    guard processIDs[base] == id else { return .unknown }
    let (census, holders) = try census(processIDs: processIDs, known: known, except: base)
    return conclude(base: base, id: id, census.candidates(for: base), holders: holders)
  }

  private func census(
    processIDs: [UInt32: Int32], known: [UInt32: ClientHolder], except base: UInt32?
  ) throws(SystemFailure) -> (ConnectionCensus, [Int32: DescriptorTable.Sockets]) {
    let ends = try visibleEnds()
    let holders = try DescriptorTable.holders(of: Set(ends.map(\.inode)))
    let standing = Set(ends)
    let bindings = bound.merging(known) { _, later in later }
    let ties = bindings.filter { processIDs[$0.key] == $0.value.namedID }.compactMapValues { $0.connection?.end }
      .filter { $0.key != base && standing.contains($0.value) }
    let silent = Set(processIDs.values).filter { holders[$0] == nil && ProcessRecord($0) != nil }
    var unseen = Set<Int32>()
    var elsewhere = Set<Int32>()
    for id in silent {
      let held = try DescriptorTable.sockets(of: id, among: [])
      if held == nil || isElsewhere(id) { unseen.insert(id) }
      if held != nil, isElsewhere(id) { elsewhere.insert(id) }
    }
    return (
      ConnectionCensus(
        processIDs: processIDs, ends: ends, holders: holders, unseen: unseen, known: ties, elsewhere: elsewhere),
      holders
    )
  }

  private func conclude(
    base: UInt32, id: Int32, _ candidates: [(end: ConnectionEnd, holders: [Int32])],
    holders: [Int32: DescriptorTable.Sockets]
  ) -> HolderFinding {
    var group: [ClientHolder] = []
    for (end, ids) in candidates {
      for holder in ids {
        // The record is made after the table was read, so it must be asked whether it still holds what it held.
        guard group.count < Self.groupSize, let process = ProcessRecord(holder),
          let descriptor = holders[holder]?[end.inode]
        else { return .unknown }
        group.append(ClientHolder(process: process, namedID: id, connection: (end, descriptor)))
      }
    }
    guard !group.isEmpty, group.allSatisfy(isCurrent) else { return .unknown }
    if group.count == 1, bound.count < Self.boundClients { bound[base] = group[0] }
    // Several connections of one process are all its.
    if Set(group.map(\.process.identity)).count == 1 { return .process(group[0]) }
    if groups.count >= Self.remembered { groups = [:] }
    groups[base] = group
    return found(among: group)
  }

  private func found(among group: [ClientHolder]) -> HolderFinding { common(to: group) ?? .among(group.map(\.process)) }

  /// What is the same for all of `group`. Which of them it is can't be told and would make a difference: a process may
  /// always read back its own.
  private func common(to group: [ClientHolder]) -> HolderFinding? {
    let first = group[0].process
    guard let executable = first.executable, executable.evidence == .attested,
      group.allSatisfy({ $0.process.executable == executable && $0.process.sandbox == first.sandbox })
    else { return nil }
    let unit = group.allSatisfy { $0.process.unit == first.unit } ? first.unit : nil
    let script = group.allSatisfy { $0.process.script == first.script } ? first.script : nil
    return .oneOf(
      executable: executable, script: script, unit: unit, sandbox: first.sandbox, group.map(\.process))
  }
}
