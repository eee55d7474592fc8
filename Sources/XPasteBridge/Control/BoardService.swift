import Boards
import BridgeCore
@preconcurrency import Glibc
import Policy
import Selection

/// What the board methods ask of the daemon.
protocol BoardHost: AnyObject {
  /// The display.
  var session: any DisplaySession { get }
}

/// The interface `org.xpastebridge.Boards1`, on the socket of the boards alone: there the kernel says which process calls,
/// and since when it runs. A session bus can't say the second.
final class BoardService {
  /// Representations of one item (product.md 9).
  private static let typeLimit = 256
  /// Bytes of a type's name; the X protocol has 16 bits for it, and no program's are longer than this (our choice).
  private static let typeByteLimit = 255
  private static let errors = "org.xpastebridge.Boards1.Error."
  /// The D-Bus error of a refusal.
  static func error(_ refusal: BoardRefusal) -> String { errors + refusal.errorName }

  /// How long a call about `general` waits for a copy that is being taken in: less than the command line tool waits (5 s).
  private static let captureMilliseconds = 3_000

  private unowned let host: any BoardHost
  private let contents: ContentQueue
  private let pending: SettleQueue
  private var server: ControlServer?
  /// Connections that watch a board, or all of them for "".
  private var watchers: [UInt64: Set<String>] = [:]
  /// The interface's table.
  private(set) var table: BusTable!

  init(host: any BoardHost, loop: EventLoop) throws(SystemFailure) {
    self.host = host
    contents = try ContentQueue(loop: loop)
    pending = try SettleQueue(loop: loop) { [unowned host] in host.session.isClipboardSettled }
    table = makeTable()
  }

  /// Begins to serve.
  func serve(at address: ControlAddress, loop: EventLoop) throws(ControlFailure) {
    let offer = ControlServer.Offer(
      socket: address.boardsSocket, table: table, passesDescriptors: true, onEnd: { [unowned self] in ended($0) })
    server = try ControlServer(address: address, offer: offer, loop: loop)
  }

  /// Stops listening and removes the socket.
  func close() { server?.close() }

  /// To be called before every wait, as the server's.
  func begin() {
    pending.noteProgress()
    server?.begin()
  }

  /// Connections open now.
  var connectionCount: Int { server?.connectionCount ?? 0 }

  /// Ends all connections, for ever, when descriptors run short. libsystemd (252) forgets to close those that come with a
  /// message it drops as invalid, so a peer could use up all that the daemon may have, and with them every identity.
  /// Returns whether that was necessary. To be called before every wait.
  func guardDescriptors() -> Bool {
    guard let open = server, open.connectionCount > 0, Posix.isShortOfDescriptors else { return false }
    open.shut()
    server = nil
    return true
  }

  private func makeTable() -> BusTable {
    func method(
      _ name: String, _ takes: (String, [String]), _ gives: (String, [String]),
      _ answer: @escaping (BoardService, BusMessage) throws(SystemFailure) -> Void
    ) -> BusTable.Method {
      BusTable.Method(name: name, takes: takes, gives: gives) { [unowned self] call throws(SystemFailure) in
        try answer(self, call)
      }
    }
    let count = ("t", ["changeCount"])
    return BusTable(
      interface: ControlAddress.boardsInterface,
      methods: [
        method("ListBoards", ("", []), ("s", ["boards"])) { (service, call) throws(SystemFailure) in
          try service.answer(call, .list)
        },
        method("DescribeBoard", ("s", ["name"]), ("s", ["boards"])) { (service, call) throws(SystemFailure) in
          try service.answer(call, .describe(try call.readString()))
        },
        method("CreateBoard", ("ssb", ["name", "members", "unique"]), ("s", ["name"])) {
          (service, call) throws(SystemFailure) in try service.create(call)
        },
        method("ReadBoard", ("sts", ["name", "item", "type"]), ("h", ["content"])) {
          (service, call) throws(SystemFailure) in
          let name = try call.readString()
          let item = try call.readUInt64()
          try service.answer(call, .read(name, item: item == 0 ? nil : item, type: try call.readString()))
        },
        method("WriteBoard", ("sa(sh)bub", ["name", "content", "replace", "expires", "localOnly"]), count) {
          (service, call) throws(SystemFailure) in try service.write(call)
        },
        method("CopyItem", ("sts", ["from", "item", "to"]), count) { (service, call) throws(SystemFailure) in
          let from = try call.readString()
          let item = try call.readUInt64()
          try service.answer(call, .copy(from: from, item: item == 0 ? nil : item, to: try call.readString()))
        },
        method("PinItem", ("stb", ["name", "item", "pinned"]), count) { (service, call) throws(SystemFailure) in
          let name = try call.readString()
          let item = try call.readUInt64()
          try service.answer(call, .pin(name, item: item, try call.readBool()))
        },
        method("RemoveItem", ("st", ["name", "item"]), count) { (service, call) throws(SystemFailure) in
          let name = try call.readString()
          try service.answer(call, .removeItem(name, try call.readUInt64()))
        },
        method("RemoveBoard", ("s", ["name"]), count) { (service, call) throws(SystemFailure) in
          try service.answer(call, .remove(try call.readString()))
        },
        method("WipeBoard", ("s", ["name"]), count) { (service, call) throws(SystemFailure) in
          try service.answer(call, .wipe(try call.readString()))
        },
        method("WatchBoard", ("s", ["name"]), ("", [])) { (service, call) throws(SystemFailure) in
          try service.watch(call)
        },
      ],
      properties: [],
      signals: [
        BusTable.Signal(
          name: "BoardChanged", signature: "stasas", parameters: ["name", "changeCount", "addedTypes", "removedTypes"]),
        BusTable.Signal(name: "BoardRemoved", parameters: ["name"]),
      ])
  }

  // MARK: calls

  /// Who calls: of a process that can't be told nothing is known.
  private func subject(of call: BusMessage) -> Subject {
    server?.caller(of: call)?.current.map { host.session.subject(of: $0) } ?? .unknown
  }

  private func answer(_ call: BusMessage, _ boardCall: BoardCall) throws(SystemFailure) {
    guard boardCall.readsGeneral else { return try answer(call, boardCall, from: subject(of: call)) }
    // What was copied before the call is in its answer.
    host.session.synchronize()
    guard !host.session.isClipboardSettled else { return try answer(call, boardCall, from: subject(of: call)) }
    pending.add(milliseconds: Self.captureMilliseconds) { [unowned self] _ in
      reply(to: call) { () throws(SystemFailure) in try answer(call, boardCall, from: subject(of: call)) }
    }
  }

  private func answer(
    _ call: BusMessage, _ boardCall: BoardCall, from subject: Subject
  ) throws(SystemFailure) {
    guard let answer = host.session.callBoard(boardCall, from: subject) else {
      throw SystemFailure(call: call.member, code: ENOTCONN)
    }
    switch answer {
    case .refused(let refusal): return try call.refuse(Self.error(refusal), refusal.words)
    case .boards(let boards):
      let reply = try call.makeReturn()
      try reply.append(BoardReport.boards(boards).description)
      try reply.send()
    case .content(let content):
      contents.add(
        try OutgoingContent(content.payload) { [unowned self] made in
          reply(to: call) { () throws(SystemFailure) in
            let answer = try call.makeReturn()
            try answer.append(try made.get())
            try answer.send()
          }
        })
    case .created(let name):
      let reply = try call.makeReturn()
      try reply.append(name)
      try reply.send()
    case .done(let count):
      let reply = try call.makeReturn()
      try reply.append(count)
      try reply.send()
    }
  }

  /// Answers a call later than in its own round.
  private func reply(to call: BusMessage, _ answer: () throws(SystemFailure) -> Void) {
    do throws(SystemFailure) { try answer() } catch {
      // Where this fails too, the caller has gone while it waited.
      try? call.refuse(Self.errors + "System", error.reason)
    }
  }

  private func create(_ call: BusMessage) throws(SystemFailure) {
    var name = try call.readString()
    let members = try call.readString()
    let isUnique = try call.readBool()
    guard let caller = server?.caller(of: call) else { throw SystemFailure(call: call.member, code: ENOTCONN) }
    if isUnique {
      name = BoardName.uniquePrefix + Posix.randomName()
    } else if !BoardName.isFree(name) {
      return try call.refuse(Self.error(.nameInvalid), BoardRefusal.nameInvalid.words)
    }
    guard let selection = host.session.intern([name]).first, selection.atom != .none else {
      throw SystemFailure(call: call.member, code: ENOTCONN)
    }
    let origin = isUnique ? BoardOrigin.unique(connection: caller.number) : .created
    try answer(
      call, .create(BoardCreation(selection, origin: origin, members: members.isEmpty ? nil : members)))
  }

  private func write(_ call: BusMessage) throws(SystemFailure) {
    let name = try call.readString()
    var content: [(type: String, descriptor: OwnedDescriptor)] = []
    guard try call.enter("a", "(sh)") else { throw SystemFailure(call: call.member, code: EINVAL) }
    while try call.enter("r", "sh") {
      content.append((try call.readString(), try call.readDescriptor()))
      try call.leave()
      guard content.count <= Self.typeLimit else { throw SystemFailure(call: call.member, code: E2BIG) }
    }
    try call.leave()
    var writing = BoardWriting(board: name, representations: [])
    writing.replaces = try call.readBool()
    let seconds = try call.readUInt32()
    writing.expiresAfterSeconds = seconds == 0 ? nil : Int(seconds)
    writing.isLocalOnly = try call.readBool()
    let subject = subject(of: call)
    // Of one who may not write nothing is read.
    guard host.session.mayUse(subject, name) else { return try answer(call, .write(writing), from: subject) }
    guard let forms = try forms(content) else {
      return try call.refuse(Self.error(.itemTooLarge), BoardRefusal.itemTooLarge.words)
    }
    contents.add(
      IncomingContent(forms) { [unowned self] read in
        reply(to: call) { () throws(SystemFailure) in
          writing.representations = try read.get()
          // Asked again: the caller may have ended meanwhile, or be another program.
          try answer(call, .write(writing))
        }
      })
  }

  /// What was handed over; `nil` when it is larger than a clip may be.
  private func forms(
    _ content: [(type: String, descriptor: OwnedDescriptor)]
  ) throws(SystemFailure) -> [IncomingContent.Form]? {
    var forms: [IncomingContent.Form] = []
    var room = host.session.contentLimit
    for (type, descriptor) in content {
      guard !type.isEmpty, type.utf8.count <= Self.typeByteLimit, !TargetList.metadata.contains(type),
        !TargetList.sideEffects.contains(type)
      else { throw SystemFailure(call: "WriteBoard", code: EINVAL) }
      // Nobody may change its size or its bytes any more, and it is no pipe, which could keep us waiting.
      guard let count = Posix.sealedByteCount(descriptor, Posix.Seals.content) else {
        throw SystemFailure(call: "WriteBoard", code: EBADFD)
      }
      guard count <= room else { return nil }
      room -= count
      guard let target = host.session.intern([type]).first else {
        throw SystemFailure(call: "WriteBoard", code: ENOTCONN)
      }
      forms.append(IncomingContent.Form(target: target, byteCount: count, descriptor: descriptor))
    }
    return forms
  }

  // MARK: watching

  private func watch(_ call: BusMessage) throws(SystemFailure) {
    let name = try call.readString()
    guard let caller = server?.caller(of: call) else { throw SystemFailure(call: call.member, code: ENOTCONN) }
    watchers[caller.number, default: []].insert(name)
    try call.makeReturn().send()
  }

  /// Tells those who watch, and may use the board now. Of a board that has gone those are told who were told of it before.
  func announce(_ notice: BoardNotice) {
    for (number, names) in watchers where !names.isDisjoint(with: [notice.board, ""]) {
      guard let caller = server?.caller(number) else { continue }
      switch notice {
      case .changed(let change):
        guard let process = caller.current else { continue }
        guard host.session.mayUse(host.session.subject(of: process), change.board) else { continue }
        caller.known.insert(change.board)
        server?.send(to: number) { (connection) throws(SystemFailure) in
          try connection.emitSignal(
            path: ControlAddress.object, interface: ControlAddress.boardsInterface, member: "BoardChanged"
          ) { (message) throws(SystemFailure) in
            try message.append(change.board)
            try message.append(change.changeCount)
            try message.append(change.addedTypes)
            try message.append(change.removedTypes)
          }
        }
      case .removed(let name):
        guard caller.known.remove(name) != nil else { continue }
        server?.send(to: number) { (connection) throws(SystemFailure) in
          try connection.emitSignal(
            path: ControlAddress.object, interface: ControlAddress.boardsInterface, member: "BoardRemoved", name)
        }
      }
    }
  }

  private func ended(_ number: UInt64) {
    watchers[number] = nil
    _ = host.session.callBoard(.connectionEnded(number), from: .unknown)
  }
}

extension BoardRefusal {
  /// The last part of the D-Bus error's name.
  var errorName: String {
    rawValue.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }

  /// What it says to people, in one line.
  var words: String {
    switch self {
    case .noBoard: "there is no such board, or this program isn't one of its members"
    case .nameTaken: "there is a board of this name already"
    case .nameInvalid:
      "a board's name is letters, digits, `-`, `_` and at least one `.` inside, at most \(BoardName.byteLimit) bytes"
    case .tooManyBoards: "programs have made \(BoardTable.createdBoards) boards already"
    case .noItem: "the board has no such item"
    case .noType: "the item has nothing of this type"
    case .denied: "the policy refuses it"
    case .empty: "there is nothing in it"
    case .unowned: "nobody owns the clipboard"
    case .unanswered: "the clipboard's owner has handed out nothing"
    case .itemTooLarge: "the item is larger than the board takes"
    case .pinnedFillItems: "all items of the board are pinned, and it takes no more"
    case .pinnedFillBytes: "the pinned items of the board leave too little room"
    case .totalTooLarge: "all clips and boards together would be too large"
    case .notRemovable: "a board of the policy, or `general`, can't be removed; `wipe` empties it"
    }
  }
}
