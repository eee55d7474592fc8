import Selection

/// Who comes before whom at the X server: for some milliseconds one client and ourselves, and nobody else (the priority
/// lock).
///
/// SYNC's priorities are compared strictly: while somebody ahead has requests, nobody behind is even read, so whoever is
/// behind can't put himself in front again. Clients that are behind anyhow are left as they are.
@MainActor public final class Precedence {
  /// Between ourselves (the highest there is) and the load.
  static let ofSource = Int32.max - 1
  /// Whoever has less waits.
  static let ofLoad = Int32.max - 2
  /// What those get who have put themselves ahead of the load.
  static let behind = Int32.min
  /// Changed clients that are remembered beyond our own end; more are put back by ourselves alone.
  private static let writtenCount = 256

  private struct Change {
    /// A resource of the client, by which the server finds it.
    var resource: UInt32
    var before: Int32
  }

  private let display: ActionDisplay
  private let load: ServerLoad
  private let opcode: UInt8
  private let record: NamedAtom
  private let exempt: Set<UInt32>
  /// The connection for presses, which is begun anew now and then.
  private var presses: UInt32?
  /// How long one filling up may take: some ten times what it does take.
  private static let fillMilliseconds = 5
  /// The clients of the program that goes first.
  private var source: Set<UInt32> = []
  /// A resource of each client, as long as the lock lasts.
  private var resources: [UInt32: UInt32] = [:]
  /// What was changed, by client.
  private var changes: [UInt32: Change] = [:]

  /// Prepares to put clients in order; `nil` where the server has no priorities or takes no further client.
  ///
  /// - Parameter others: a window of each other connection of ours, which is never put behind.
  public init?(_ display: ActionDisplay, name: DisplayName, others: [Window]) {
    guard let opcode = display.xcb.opcode(of: "SYNC"), let load = ServerLoad(name, syncOpcode: opcode) else {
      return nil
    }
    self.display = display
    self.load = load
    self.opcode = opcode
    record = display.atoms.intern("_XPASTEBRIDGE_PRECEDENCE")
    exempt = Set(
      (others.map(\.id) + [load.resource, load.idleResource, display.xcb.resourceIDs.base]).map {
        $0 & ~display.resourceMask
      })
    healPredecessor()
    settle([display.xcb.setPriority(Self.behind, of: load.resource, opcode: opcode)])
  }

  isolated deinit { load.close() }

  /// The descriptor to be kept full.
  public var loadDescriptor: Int32 { load.fileDescriptor }

  /// Puts the client of `window`, and every other connection of its program, ahead of all, and keeps the server busy
  /// between them and the rest; `false` when that doesn't work by `deadline`. `presses` stays ahead of all, for on it the
  /// keyboard is let go.
  public func enclose(_ window: Window, sparing presses: PressDisplay?, until deadline: MonotonicTime) -> Bool {
    self.presses = presses.map { $0.xcb.resourceIDs.base & ~display.resourceMask }
    // Ourselves first: nothing of what follows may wait.
    settle([display.xcb.setPriority(.max, of: 0, opcode: opcode)])
    let (clients, processes) = (display.xcb.resQueryClients(), display.xcb.resQueryLocalPID(of: 0))
    let mask = display.resourceMask
    let pairs = ClientList.clientProcesses(display.xcb.reply(to: processes)).map { ($0.client & ~mask, $0.processID) }
    let own = window.id & ~mask
    let process = pairs.first { $0.0 == own }?.1
    source = Set([own] + pairs.filter { process != nil && $0.1 == process }.map(\.0))
    resources = [own: window.id]
    arrange(everybody(in: clients))
    settle([display.xcb.setPriority(Self.ofLoad, of: load.resource, opcode: opcode)])
    return load.fill(until: deadline)
  }

  /// Puts those behind who were quicker than the load. Nobody can be any more when this returns.
  public func encloseAgain() {
    arrange(everybody(in: display.xcb.resQueryClients()))
    keepBusy()
  }

  /// Fills up what the server has taken meanwhile.
  public func keepBusy() { _ = load.fill(until: .now.advanced(byMilliseconds: Self.fillMilliseconds)) }

  /// Everybody goes on as before.
  public func release() {
    // The load first: what it has sent so far then waits for everybody else.
    settle([display.xcb.setPriority(Self.behind, of: load.resource, opcode: opcode)])
    let changed = Array(changes)
    let outcomes = display.xcb.outcomes(
      of: changed.map { display.xcb.setPriority($0.value.before, of: $0.value.resource, opcode: opcode) })
    // Who has closed the window by which we knew him is found by another one; else he would stay where he is for good.
    // Clients that are gone need nothing.
    for (change, error) in zip(changed, outcomes) where error != nil {
      guard let resource = anyResource(of: change.key) else { continue }
      settle([display.xcb.setPriority(change.value.before, of: resource, opcode: opcode)])
    }
    (changes, resources, source) = ([:], [:], [])
    settle([
      display.xcb.deletePropertyChecked(window: display.roots[0].id, property: record.atom.id),
      display.xcb.setPriority(0, of: 0, opcode: opcode),
    ])
  }

  // MARK: the order

  private func settle(_ serials: [Serial]) { _ = display.xcb.outcomes(of: serials) }

  /// All clients but ours, with the priority of each. Those that are known are asked about along with the list.
  private func everybody(in list: Serial) -> [(client: UInt32, priority: Int32)] {
    let xcb = display.xcb
    let asked = resources.map { client, resource in (client, xcb.getPriority(of: resource, opcode: opcode)) }
    let clients = ClientList.bases(xcb.reply(to: list)).filter { !exempt.contains($0) && $0 != presses }
    var found = asked.compactMap { client, serial in xcb.takePriority(serial).map { (client: client, priority: $0) } }
    let gone = Set(asked.map(\.0)).subtracting(found.map(\.client))
    for client in gone { resources[client] = nil }
    found += meet(clients.filter { resources[$0] == nil })
    return found
  }

  /// The priorities of clients of which no resource is known yet. The server finds a client by a resource that exists, and
  /// knows no other name for it. The first that a library makes is a good guess; else the client's are listed. Who has
  /// none has no window either, and is left out.
  private func meet(_ clients: [UInt32]) -> [(client: UInt32, priority: Int32)] {
    let xcb = display.xcb
    let asked = clients.map { client in
      (client, [client, client + 1].map { ($0, xcb.getPriority(of: $0, opcode: opcode)) })
    }
    var found: [(client: UInt32, priority: Int32)] = []
    for (client, guesses) in asked {
      var answers = guesses.compactMap { resource, serial in xcb.takePriority(serial).map { (resource, $0) } }
      if answers.isEmpty, let resource = anyResource(of: client) {
        answers = xcb.takePriority(xcb.getPriority(of: resource, opcode: opcode)).map { [(resource, $0)] } ?? []
      }
      guard let (resource, priority) = answers.first else { continue }
      resources[client] = resource
      found.append((client, priority))
    }
    return found
  }

  private func arrange(_ clients: [(client: UInt32, priority: Int32)]) {
    var serials: [Serial] = []
    for (client, priority) in clients {
      let isSource = source.contains(client)
      let wanted = isSource ? Self.ofSource : Self.behind
      guard isSource ? priority != wanted : priority >= Self.ofLoad, let resource = resources[client] else { continue }
      if changes[client] == nil {
        changes[client] = Change(resource: resource, before: priority)
        // Written down before it is done: a successor of ours has to find it, wherever we end.
        serials.append(write())
      }
      serials.append(display.xcb.setPriority(wanted, of: resource, opcode: opcode))
    }
    settle(serials)
  }

  private func write() -> Serial {
    let words = changes.values.prefix(Self.writtenCount).flatMap { [$0.resource, UInt32(bitPattern: $0.before)] }
    return words.withUnsafeBytes { bytes in
      display.xcb.changePropertyChecked(
        window: display.roots[0].id, property: record.atom.id, type: AtomNumber.cardinal, format: 32, bytes: bytes)
    }
  }

  private func anyResource(of client: UInt32) -> UInt32? {
    // QueryResourceBytes' reply: the number of resources at 8; each is id, type, bytes, references, uses, and the number
    // of those that it refers to, which follow in five words each.
    guard let reply = display.xcb.reply(to: display.xcb.queryResources(of: client)) else { return nil }
    let words = reply.tailWords(Int(reply.word(at: 4)))
    var next = 0
    while next + 6 <= words.count {
      // Of what the server made for the client itself, the highest bit of the number but one is set.
      if words[next] & ~display.resourceMask == client { return words[next] }
      next += 6 + Int(words[next + 5]) * 5
    }
    return nil
  }

  /// A predecessor that was killed in the middle has left some in the wrong place.
  private func healPredecessor() {
    let xcb = display.xcb
    let asked = xcb.getProperty(
      window: display.roots[0].id, property: record.atom.id, length: UInt32(Self.writtenCount * 2))
    let words = PropertyReader.words(xcb.reply(to: asked))
    guard !words.isEmpty else { return }
    // Anybody can write there. What isn't as we would have left it stays as it is.
    for index in stride(from: 0, to: words.count - 1, by: 2) {
      let (resource, before) = (words[index], Int32(bitPattern: words[index + 1]))
      guard resource != 0,
        let now = xcb.takePriority(xcb.getPriority(of: resource, opcode: opcode)),
        now == Self.ofSource || now == Self.behind
      else { continue }
      settle([xcb.setPriority(before, of: resource, opcode: opcode)])
    }
    settle([xcb.deletePropertyChecked(window: display.roots[0].id, property: record.atom.id)])
  }
}
