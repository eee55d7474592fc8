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
  /// The process that the server names, by resource base.
  var processIDs: [UInt32: Int32]
  /// The clients' ends of the server's connections.
  var ends: [ConnectionEnd]
  /// The ends that each process holds whose table of descriptors we may read.
  var holders: [Int32: DescriptorTable.Sockets]
  /// Processes named by the server that live and whose sockets can't be seen.
  var unseen: Set<Int32>
  /// Ends whose client is known from an earlier census.
  var known: [UInt32: ConnectionEnd]

  /// A process named by the server, against what it holds.
  enum Standing: Hashable {
    /// It has ended, or holds fewer connections than it has clients: at least one of these isn't its.
    case lacking
    /// It holds exactly as many: all of them are its.
    case complete
    /// It holds more, so some may be other clients'; or it can't be seen.
    case believed
  }

  /// How the process `id` stands.
  func standing(of id: Int32) -> Standing {
    if unseen.contains(id) { return .believed }
    let clients = processIDs.count { $0.value == id && $0.key != 0 && known[$0.key] == nil }
    let held = holders[id, default: [:]].keys.count { inode in !known.values.contains { $0.inode == inode } }
    return held < clients ? .lacking : held == clients ? .complete : .believed
  }

  /// The connections that may be the client's with resource base `base`, each with all its holders; empty when its
  /// own may be out of sight.
  func candidates(for base: UInt32) -> [(end: ConnectionEnd, holders: [Int32])] {
    let standings = Dictionary(uniqueKeysWithValues: Set(processIDs.values).map { ($0, standing(of: $0)) })
    // Base 0 is the server itself.
    let lacking = processIDs.filter { $0.key != 0 && known[$0.key] == nil && standings[$0.value] == .lacking }
    guard lacking[base] != nil else { return [] }
    var settled = Set(known.values.map(\.inode))
    for (id, held) in holders where standings[id] == .complete { settled.formUnion(held.keys) }
    let left = ends.filter { !settled.contains($0.inode) }.compactMap { end in
      let ids = holders.filter { $0.value[end.inode] != nil }.keys
      return ids.isEmpty ? nil : (end: end, holders: ids.sorted())
    }
    return left.count < lacking.count ? [] : left
  }
}
