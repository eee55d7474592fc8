/// Who may hold the connection of which X client: what the server says of its clients beside what the kernel says of
/// the sockets and their holders.
///
/// The kernel doesn't say which connection belongs to which X client. So the connections of all other clients are
/// taken off, and what is left is this client's or can't be told apart.
///
/// **Why nobody can pass for another by this.** A program that connects, forks and ends leaves a connection that it
/// must keep open somewhere, and one more client that lacks its process. If the holder can be seen, it is among those
/// left, with its own executable. If it can't be seen (it forbids looking into it, or connected from another network
/// name space), fewer connections are left than clients lack a process, and nothing is concluded. If it lets another
/// client of its own hold the connection, that one holds more connections than it has clients, and takes none off. So
/// it can only make the answer unknown. A process group or session narrows nothing here: a program can start another
/// in any group it likes. What stays possible is to hand the connection itself to a process of another program (see
/// docs/threats.md); that needs no ended process and is possible with every client.
nonisolated struct ConnectionCensus {
  /// The process that the server names, by resource base; without clients that are known to have closed their connection.
  var processIDs: [UInt32: Int32]
  /// The clients' ends of the server's connections.
  var ends: [ConnectionEnd]
  /// The ends that each process holds whose table of descriptors we may read.
  var holders: [Int32: DescriptorTable.Sockets]
  /// Processes named by the server that live and whose sockets can't be seen.
  var unseen: Set<Int32>
  /// Ends whose client is known from an earlier census.
  var known: [UInt32: ConnectionEnd]

  /// Processes among ``unseen`` that make their sockets in another network name space: their ends aren't listed.
  var elsewhere: Set<Int32> = []

  /// A process named by the server, against what it holds.
  enum Standing: Hashable {
    /// It has ended, or holds fewer connections than it has clients: at least one of these isn't its.
    case lacking
    /// It holds exactly as many: all of them are its.
    case complete
    /// It holds more, so some may be other clients'.
    case surplus
    /// It lives, and what it holds can't be seen.
    case unseen
  }

  /// How the process `id` stands.
  func standing(of id: Int32) -> Standing {
    if unseen.contains(id) { return .unseen }
    let clients = processIDs.count { $0.value == id && $0.key != 0 && known[$0.key] == nil }
    let held = holders[id, default: [:]].keys.count { inode in !known.values.contains { $0.inode == inode } }
    return held < clients ? .lacking : held == clients ? .complete : .surplus
  }

  /// The connections that may be the client's with resource base `base`, each with all its holders; empty when its
  /// own may be out of sight.
  ///
  /// Each client that isn't settled has one connection among those that are left. Those of processes that can't be seen
  /// have no holder that can be seen: if there are fewer such ends than such clients, the rest of these clients may have
  /// left its connection to somebody else (dbus-launch does, and then becomes the session's program), whose end would be
  /// taken for another client's; if there are more, one of them may be this client's.
  func candidates(for base: UInt32) -> [(end: ConnectionEnd, holders: [Int32])] {
    let standings = Dictionary(uniqueKeysWithValues: Set(processIDs.values).map { ($0, standing(of: $0)) })
    // Base 0 is the server itself.
    let unsettled = processIDs.filter { $0.key != 0 && known[$0.key] == nil && standings[$0.value] != .complete }
    guard unsettled[base].flatMap({ standings[$0] }) == .lacking else { return [] }
    let hiddenClients = unsettled.count { standings[$0.value] == .unseen && !elsewhere.contains($0.value) }
    let visibleClients = unsettled.count { standings[$0.value] != .unseen }
    var settled = Set(known.values.map(\.inode))
    for (id, held) in holders where standings[id] == .complete { settled.formUnion(held.keys) }
    let left = ends.filter { !settled.contains($0.inode) }.map { end in
      (end: end, holders: holders.filter { $0.value[end.inode] != nil }.keys.sorted())
    }
    let hiddenEnds = left.count { $0.holders.isEmpty }
    let visible = left.filter { !$0.holders.isEmpty }
    guard hiddenEnds == hiddenClients, visible.count >= visibleClients else { return [] }
    return visible
  }

  /// Clients whose connection can be held by one process alone, by resource base. Of several connections of that process
  /// any is as good: all are its.
  func settled() -> [UInt32: (end: ConnectionEnd, holder: Int32)] {
    var found: [UInt32: (end: ConnectionEnd, holder: Int32)] = [:]
    for base in processIDs.keys.sorted() where base != 0 && known[base] == nil {
      let left = candidates(for: base)
      guard let holder = left.first?.holders.first, left.allSatisfy({ $0.holders == [holder] }),
        let own = left.first(where: { end, _ in !found.values.contains { $0.end == end } })
      else { continue }
      found[base] = (own.end, holder)
    }
    return found
  }
}
