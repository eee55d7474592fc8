import Selection

/// All windows that stand at the top: children of the root, and those the window manager put into frames.
public nonisolated struct TopLevels: Hashable, Sendable {
  /// The root's children, lowest first, without ours.
  public var rootChildren: [Window]
  /// `_NET_CLIENT_LIST`.
  public var managed: [Window]

  /// Every one of them once.
  public var all: [Window] {
    var seen = Set<Window>()
    return (managed + rootChildren).filter { seen.insert($0).inserted }
  }
}

/// What is asked about a window in one round trip.
public nonisolated struct IdentityQuestion: Hashable, Sendable {
  /// Whose client's process and whose class is wanted.
  public var window: Window
  /// Further windows whose class is wanted.
  public var classesOf: [Window] = []
  /// Windows of other clients whose process is wanted.
  public var processesOf: [Window] = []
  /// Whether the list of top-level windows is wanted.
  public var wantsTopLevels = false

  /// Asks about `window` alone.
  public init(_ window: Window) { self.window = window }
}

/// The answer to an ``IdentityQuestion``.
public nonisolated struct IdentityAnswer: Hashable, Sendable {
  /// The process of the window's X client, as the server saw it connect; `nil` without a local one.
  public var processID: Int32?
  /// Whether the window exists.
  public var windowExists = false
  /// The classes of the windows asked about that have one.
  public var classes: [Window: ClassPair] = [:]
  /// The processes of the other windows asked about.
  public var processIDs: [Window: Int32] = [:]
  /// `_NET_ACTIVE_WINDOW`; `.none` when there is none.
  public var activeWindow = Window.none
  /// The top-level windows, when they were asked for.
  public var topLevels: TopLevels?
}

/// An ``IdentityQuestion`` on its way.
public nonisolated struct AskedIdentity: Sendable {
  /// What was asked.
  public let question: IdentityQuestion
  /// `nil` where the server names no processes.
  let process: Serial?
  let ownClass: Serial
  let classes: [Serial]
  let processes: [Serial]
  let active: Serial
  let topLevels: (trees: [Serial], managed: [Serial])?
}

extension Display {
  /// Windows looked at in one step of a search: a client may have thousands, and nobody may stall the daemon with them.
  /// Our choice: some 2 ms.
  static let searchedWindows = 512
  /// Windows of one client that are described: half a millisecond.
  public static let describedWindows = 128
  /// How deep the search goes below the root: frame, inner frame, top-level.
  private static let searchDepth = 3

  /// Asks everything in `question` in one round trip.
  public func answer(_ question: IdentityQuestion) -> IdentityAnswer { take(ask(question)) }

  /// Asks everything in `question`; the answer is there for ``take(_:)`` a round trip later. Several that are asked before
  /// the first is taken share that round trip.
  public func ask(_ question: IdentityQuestion) -> AskedIdentity {
    AskedIdentity(
      question: question, process: askProcess(of: question.window.id),
      ownClass: askClass(of: question.window), classes: question.classesOf.map { askClass(of: $0) },
      processes: question.processesOf.compactMap { askProcess(of: $0.id) },
      active: askWords(ofRootProperty: "_NET_ACTIVE_WINDOW", limit: 1),
      topLevels: question.wantsTopLevels ? askTopLevels() : nil)
  }

  /// The answer to what was asked. Each must be taken exactly once.
  public func take(_ asked: AskedIdentity) -> IdentityAnswer {
    let question = asked.question
    var answer = IdentityAnswer()
    answer.processID = takeProcessIDs(asked.process).first?.processID
    let own = takeClass(asked.ownClass)
    answer.windowExists = own.exists
    answer.classes[question.window] = own.pair
    for (window, serial) in zip(question.classesOf, asked.classes) { answer.classes[window] = takeClass(serial).pair }
    for (window, serial) in zip(question.processesOf, asked.processes) {
      answer.processIDs[window] = takeProcessIDs(serial).first?.processID
    }
    answer.activeWindow = Window(PropertyReader.words(xcb.reply(to: asked.active)).first ?? 0)
    answer.topLevels = asked.topLevels.map(takeTopLevels)
    // Requests that came along with the answer are written down before anything else is looked for.
    collectRead()
    return answer
  }

  /// The top-level windows and the processes of all X clients, by resource base, in one round trip. No process where the
  /// server doesn't name them.
  public func survey() -> (topLevels: TopLevels, processIDs: [UInt32: Int32]) {
    // XID 0 stands for all clients.
    let processes = askProcess(of: 0)
    let topLevels = askTopLevels()
    let pairs = takeProcessIDs(processes).map { ($0.client & ~resourceMask, $0.processID) }
    return (takeTopLevels(topLevels), Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
  }

  /// The resource bases of all X clients; of those with a window alone where the server doesn't list its clients.
  public func clientBases() -> [UInt32] {
    guard !namesPrograms else { return ClientList.bases(xcb.reply(to: xcb.resQueryClients())) }
    return Set(survey().topLevels.all.map(resourceBase(of:))).subtracting([0]).sorted()
  }

  /// The parent of `window` and the parent's class; `nil` when the parent is the root or another client's window.
  public func parentOfSameClient(_ window: Window) -> Window? {
    guard let parent = takeTree(xcb.queryTree(window.id))?.parent, parent != root, parent != .none,
      resourceBase(of: parent) == resourceBase(of: window)
    else { return nil }
    return parent
  }

  /// Searches the tree below `tops` for windows of the clients with the resource bases `bases`: for windows that a
  /// window manager has framed and that `_NET_CLIENT_LIST` doesn't name, or not yet.
  public func descend(from tops: [Window], findingClients bases: Set<UInt32>) -> [Window] {
    var found: [Window] = []
    var level = tops
    for _ in 1..<Self.searchDepth {
      let foreign = level.filter { !bases.contains(resourceBase(of: $0)) }
      let serials = fairShare(of: foreign).map { xcb.queryTree($0.id) }
      level = serials.flatMap { takeTree($0)?.children ?? [] }
      found += level.filter { bases.contains(resourceBase(of: $0)) }
      if !found.isEmpty { break }
    }
    return Array(found.suffix(Self.searchedWindows))
  }

  // MARK: Parts

  /// At most ``searchedWindows`` of `windows`, and of each client no more than half of that, topmost first: one client
  /// with thousands of windows must not hide the window manager's frames.
  private func fairShare(of windows: [Window]) -> [Window] {
    guard windows.count > Self.searchedWindows / 2 else { return windows }
    var counts: [UInt32: Int] = [:]
    let share = windows.reversed().lazy.filter { window in
      counts[self.resourceBase(of: window), default: 0] += 1
      return counts[self.resourceBase(of: window)]! <= Self.searchedWindows / 2
    }
    return Array(share.prefix(Self.searchedWindows))
  }

  private func askWords(ofRootProperty name: String, limit: UInt32) -> Serial {
    xcb.getProperty(window: root.id, property: atoms.intern(name).atom.id, length: limit)
  }

  private func askTopLevels() -> (trees: [Serial], managed: [Serial]) {
    let list = atoms.intern("_NET_CLIENT_LIST").atom.id
    return (
      roots.map { xcb.queryTree($0.id) },
      roots.map { xcb.getProperty(window: $0.id, property: list, length: 4_096) }
    )
  }

  private func takeTopLevels(_ serials: (trees: [Serial], managed: [Serial])) -> TopLevels {
    let children = serials.trees.flatMap { takeTree($0)?.children ?? [] }
    let managed = serials.managed.flatMap { PropertyReader.words(xcb.reply(to: $0)) }.map { Window($0) }
    return TopLevels(rootChildren: children.filter { !isOurs($0) }, managed: managed)
  }

  private func takeTree(_ serial: Serial) -> (parent: Window, children: [Window])? {
    // QueryTree's reply: parent at 12, the number of children at 16.
    guard let reply = xcb.reply(to: serial) else { return nil }
    return (Window(reply.word(at: 12)), reply.tailWords(Int(reply.half(at: 16))).map { Window($0) })
  }

  private func askProcess(of xid: UInt32) -> Serial? { namesPrograms ? xcb.resQueryLocalPID(of: xid) : nil }

  private func takeProcessIDs(_ serial: Serial?) -> [(client: UInt32, processID: Int32)] {
    // On a display of another machine, or one that ssh forwards, the numbers are those of processes over there.
    guard let serial else { return [] }
    let reply = xcb.reply(to: serial)
    return name.isLocal ? ClientList.clientProcesses(reply) : []
  }
}

/// What XRes tells of all clients.
nonisolated enum ClientList {
  /// Whether a server that answers QueryVersion so can name the processes of its clients.
  static func namesPrograms(_ reply: consuming Reply?) -> Bool {
    // Major at 8, minor at 10.
    guard let reply else { return false }
    return namesPrograms(major: reply.half(at: 8), minor: reply.half(at: 10))
  }

  /// 1.2 brought QueryClientIds.
  static func namesPrograms(major: UInt16, minor: UInt16) -> Bool { (major, minor) >= (1, 2) }

  /// The resource bases in a reply to QueryClients.
  static func bases(_ reply: consuming Reply?) -> [UInt32] {
    // The number of clients at 8, then base and mask of each.
    guard let reply else { return [] }
    let words = reply.tailWords(Int(reply.word(at: 8)) * 2)
    // Base 0 is the server itself.
    return stride(from: 0, to: words.count, by: 2).map { words[$0] }.filter { $0 != 0 }
  }

  /// The processes in a reply to QueryClientIds.
  static func clientProcesses(_ reply: consuming Reply?) -> [(client: UInt32, processID: Int32)] {
    // The number of ids at 8; each is client, mask, length in bytes, and as many bytes.
    guard let reply else { return [] }
    let count = Int(reply.word(at: 8))
    let words = reply.tailWords(Int(reply.word(at: 4)))
    var found: [(client: UInt32, processID: Int32)] = []
    var next = 0
    for _ in 0..<count where next + 3 <= words.count {
      let valueWords = Int(words[next + 2] / 4)
      // 0 is a process outside the server's pid name space, for whose number the server has no name.
      if valueWords >= 1, next + 3 < words.count, case let id = Int32(bitPattern: words[next + 3]), id > 0 {
        found.append((words[next], id))
      }
      next += 3 + valueWords
    }
    return found
  }
}
