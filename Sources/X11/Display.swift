import Glibc
import Selection

// The isolation is the module's default, but a release build that imports the class by itself doesn't know that and then
// rejects its isolated deinit (Swift 6.3).

/// One connection to one X server: its windows of ours, its atoms, the events that wait and the errors that may come.
///
/// Once the server is gone every call is harmless: requests go nowhere, replies are absent, ``isLost`` is true.
@MainActor public final class Display {
  /// The display's name.
  public let name: DisplayName
  /// The screen whose root window we use.
  public let screen: Int
  /// The screen's root window.
  public let root: Window
  /// The root windows of all screens: selections belong to all of them together.
  public let roots: [Window]
  /// The window that owns the selections we hold; unmapped.
  public let ownerWindow: Window
  /// The atoms seen so far, by name and number.
  public let atoms: AtomTable
  /// Which bits of an XID tell one client's resources apart; the others tell the client.
  public let resourceMask: UInt32
  /// Whether the server lists its clients and says which process of this machine each of them is.
  public let namesPrograms: Bool
  /// Events that only the server may make and a client sent nevertheless, since the start.
  public internal(set) var forgedEventCount = 0
  /// Errors for requests that nobody expected to fail, since the start: each is a bug of ours.
  public private(set) var unexpectedErrorCount = 0
  /// Called with each of them.
  public var onUnexpectedError: (XError) -> Void = { _ in }
  /// Called before and after the moments in which no other client is served (GrabServer).
  public var holdsServer: (Bool) -> Void = { _ in }
  /// Told of requests and their answers.
  public weak var requestWitness: (any RequestWitness)?

  let xcb: XcbConnection
  var trap = ErrorTrap()
  var requestors: RequestorWindows
  var watchCounts: [Window: Int] = [:]
  var pointerInterest = PointerInterest()
  /// The server's process, where it is on this machine.
  private let server: Int32?
  private let xlib: XlibDisplay
  private let resourceBase: UInt32
  private let fixesFirstEvent: UInt8
  private let hasSync: Bool
  /// RECORD's major opcode, where the server has it.
  let recordOpcode: UInt8?
  private var waiting: [(event: DisplayEvent, serial: Serial)] = []
  private var takenCount = 0
  /// Claims of ours whose events have not been taken yet, oldest first, for selections whose changes we asked for.
  private var awaitedClaims: [Atom: [ServerTime]] = [:]
  /// Claims in the name of a selection's owner whose events haven't come yet.
  var awaitedStandIns: [Atom: StandIn] = [:]
  /// Events taken since the connection began.
  public private(set) var takenEventCount: UInt64 = 0
  private var isClosed = false
  /// Copies passed over in a row.
  var overwrittenCount = 0

  /// Connects to the display `name`, or the one in `DISPLAY`.
  public static func open(_ name: String? = nil) throws(DisplayError) -> Display {
    guard let text = name ?? getenv("DISPLAY").map({ String(cString: $0) }), !text.isEmpty else {
      throw .nameMissing
    }
    guard let parsed = DisplayName(text) else { throw .nameInvalid(text) }
    guard let xlib = XlibDisplay(opening: text) else {
      throw parsed.isLocal && LocalSocket.answers(displayNumber: parsed.number)
        ? .refused(text, AuthorityFile.problem(for: parsed)) : .unreachable(text)
    }
    do {
      return try Display(name: parsed, text: text, xlib: xlib)
    } catch {
      xlib.close()
      throw error
    }
  }

  private init(name: DisplayName, text: String, xlib: XlibDisplay) throws(DisplayError) {
    let xcb = XcbConnection(raw: xlib.xcb)
    xcb.prefetchMaximumRequestLength()
    let names: [StaticString] = ["XFIXES", "X-Resource", "SYNC", "RECORD"]
    let queries = names.map { xcb.queryExtension($0) }
    // QueryExtension's reply: present at 8, major opcode at 9, first event at 10.
    let answers = queries.map { serial -> (isPresent: Bool, opcode: UInt8, firstEvent: UInt8) in
      guard let reply = xcb.reply(to: serial) else { return (false, 0, 0) }
      return (reply.byte(at: 8) != 0, reply.byte(at: 9), reply.byte(at: 10))
    }
    guard answers[0].isPresent, let fixes = xlib.queryFixesVersion(), fixes.major >= 1 else {
      throw .extensionMissing(text, extension: "XFIXES", version: "1.0")
    }
    // libxcb ends a connection on which an extension is asked for that the server lacks.
    namesPrograms = answers[1].isPresent && ClientList.namesPrograms(xcb.reply(to: xcb.resQueryVersion()))

    self.name = name
    self.xlib = xlib
    self.xcb = xcb
    fixesFirstEvent = answers[0].firstEvent
    server = LocalSocket.peer(of: xcb.fileDescriptor)
    recordOpcode = answers[3].isPresent ? answers[3].opcode : nil
    hasSync = answers[2].isPresent && xlib.initializeSync()
    screen = Int(xlib.defaultScreen)
    root = Window(xlib.rootWindow(screen: xlib.defaultScreen))
    roots = (0..<xlib.screenCount).map { Window(xlib.rootWindow(screen: $0)) }
    (resourceBase, resourceMask) = xcb.resourceIDs
    atoms = AtomTable(xcb: xcb)
    let owner = xcb.generateID()
    xcb.createInputOnlyWindow(owner, root: root.id, eventMask: EventMask.propertyChange | EventMask.structureNotify)
    ownerWindow = Window(owner)
    requestors = RequestorWindows()
    xcb.guardBuffers()
  }

  isolated deinit { close() }

  /// Ends the connection; the server destroys our windows and thereby gives up our selections. Only ``isLost`` may be
  /// asked afterwards.
  public func close() {
    guard !isClosed else { return }
    // XCloseDisplay talks to the server, and Xlib complains on stderr when it can't: find out first.
    synchronize()
    if isLost { xcb.disconnect() } else { xlib.close() }
    isClosed = true
  }

  /// Names of the extensions that we use and that the server lacks; those it must have are found at the opening.
  public var missingExtensions: [String] {
    (namesPrograms ? [] : ["X-Resource 1.2"]) + absentExtensions
  }

  private var absentExtensions: [String] {
    let wanted: [(StaticString, String)] = [
      ("SYNC", "SYNC"), ("XKEYBOARD", "XKB"), ("XInputExtension", "the X Input Extension"),
    ]
    let serials = wanted.map { xcb.queryExtension($0.0) }
    return zip(wanted, serials).filter { _, serial in
      // QueryExtension's reply: present at 8.
      guard let reply = xcb.reply(to: serial) else { return true }
      return reply.byte(at: 8) == 0
    }.map(\.0.1)
  }

  /// How long a server may take to close what it has open (our choice: the kernel does that for one that was killed).
  private static let endingMilliseconds: Int32 = 100

  /// The extension by which this server hands copies out itself, to those who look at its screen from elsewhere: it does
  /// so as a part of the server, before any client is told. `nil` for none that is known.
  public var copyingExtension: String? {
    // Xvnc has it, whoever makes it: TigerVNC, TightVNC, RealVNC.
    guard let reply = xcb.reply(to: xcb.queryExtension("VNC-EXTENSION")) else { return nil }
    // QueryExtension's reply: present at 8.
    return reply.byte(at: 8) != 0 ? "VNC-EXTENSION" : nil
  }

  /// Whether the server that we were connected to still listens at this display's name; asked when the connection is lost.
  /// Another one that has taken the name by then isn't it. Of displays that are reached by TCP it isn't known, and the
  /// answer is `false`.
  public var isServerThere: Bool {
    guard name.isLocal, let server, LocalSocket.server(displayNumber: name.number) == server else { return false }
    // One that is just ending closes its clients' connections and its own socket one after the other.
    _ = poll(nil, 0, Self.endingMilliseconds)
    return LocalSocket.server(displayNumber: name.number) == server
  }

  // MARK: State

  /// The connection's descriptor, readable when the server has said something; see ``hasWaitingEvents``.
  public var fileDescriptor: Int32 { xcb.fileDescriptor }

  /// Whether the server is gone.
  public var isLost: Bool { isClosed || xcb.hasError }

  /// Whether `window` was made by this connection.
  public func isOurs(_ window: Window) -> Bool { window.id & ~resourceMask == resourceBase }

  /// The XID bits that tell whose window it is. They are given to the next client as soon as one leaves.
  public func resourceBase(of window: Window) -> UInt32 { window.id & ~resourceMask }

  /// Makes another unmapped window of ours.
  func makeWindow() -> Window {
    let id = xcb.generateID()
    xcb.createInputOnlyWindow(id, root: root.id, eventMask: EventMask.propertyChange | EventMask.structureNotify)
    return Window(id)
  }

  // MARK: Start

  /// Asks for every owner change of `selections`. XFixes tells its listeners in the order in which they asked, so this
  /// comes before anything else (product.md 5.1).
  public func selectOwnerChanges(of selections: [Atom]) {
    for selection in selections {
      xlib.selectSelectionInput(window: ownerWindow.id, selection: selection.id)
      awaitedClaims[selection] = awaitedClaims[selection] ?? []
    }
    xlib.flush()
  }

  /// No longer asks for the owner changes of `selection`.
  public func ignoreOwnerChanges(of selection: Atom) {
    xlib.selectSelectionInput(window: ownerWindow.id, selection: selection.id, isWanted: false)
    xlib.flush()
  }

  /// Asks the server to take our requests before those of other clients; `false` when it can't.
  public func raisePriority() -> Bool {
    guard hasSync, !isLost else { return false }
    xlib.setPriority(.max)
    xlib.flush()
    return true
  }

  // MARK: Events

  /// Sends what is buffered.
  public func flush() {
    xcb.flush()
    requestWitness?.flushed()
  }

  /// Waits until the server has taken in everything sent so far.
  public func synchronize() { _ = xcb.reply(to: xcb.getInputFocus()) }

  /// Whether events have been read that nobody has taken yet. The descriptor says nothing about these: a round trip
  /// brings them along with its reply.
  public var hasWaitingEvents: Bool {
    collect(queuedOnly: true)
    return takenCount < waiting.count
  }

  /// Takes the next event; `nil` when none has come.
  ///
  /// A failed request that was expected to fail comes with its purpose; all other errors are reported and left out.
  func nextEvent() -> (event: DisplayEvent, purpose: RequestPurpose?)? {
    while true {
      if takenCount == waiting.count {
        waiting.removeAll(keepingCapacity: true)
        takenCount = 0
        collect(queuedOnly: false)
        guard !waiting.isEmpty else { return nil }
      }
      let (event, serial) = waiting[takenCount]
      takenCount += 1
      takenEventCount += 1
      if takenCount > 4_096 {
        waiting.removeFirst(takenCount)
        takenCount = 0
      }
      let purpose: RequestPurpose?
      if case .failed = event { purpose = trap.purpose(of: serial) } else { purpose = nil }
      trap.settle(before: serial)
      switch event {
      case .failed(let error) where purpose == nil:
        unexpectedErrorCount += 1
        onUnexpectedError(error)
      case .forged: forgedEventCount += 1
      case .other: break
      default: return (event, purpose)
      }
    }
  }

  /// Remembers a claim of ours, whose event will come.
  func awaitClaim(of selection: Atom, at time: ServerTime) { awaitedClaims[selection]?.append(time) }

  /// Whether the event of a claim for our window tells of a claim of ours. Events come in the order of the claims; ours
  /// that were ignored have none.
  func takeAwaitedClaim(of selection: Atom, at time: ServerTime) -> Bool {
    guard let index = awaitedClaims[selection]?.firstIndex(of: time) else { return false }
    awaitedClaims[selection]?.removeFirst(index + 1)
    return true
  }

  /// Whether an event that `matches` has come and was not taken yet. Looks only at what is read already.
  func isWaiting(_ matches: (DisplayEvent) -> Bool) -> Bool {
    collect(queuedOnly: true)
    return waiting[takenCount...].contains { matches($0.event) }
  }

  /// The requestors of the selection requests that have come and are taken next, one for each event, before any other
  /// kind of event; at most `limit`. Looks only at what is read already.
  public func waitingRequestors(atMost limit: Int) -> [Window] {
    collect(queuedOnly: true)
    var requestors: [Window] = []
    for (event, _) in waiting[takenCount...].prefix(limit) {
      guard case .selectionRequest(_, let requestor, _, _, _, _) = event else { break }
      requestors.append(requestor)
    }
    return requestors
  }

  /// Takes the first event that `matches` out of the queue, whatever stands before it; `nil` when none comes until
  /// `deadline`.
  func takeEvent(until deadline: MonotonicTime, _ matches: (DisplayEvent) -> Bool) -> DisplayEvent? {
    xcb.flush()
    var seen = takenCount
    while true {
      collect(queuedOnly: false)
      while seen < waiting.count {
        if matches(waiting[seen].event) { return waiting.remove(at: seen).event }
        seen += 1
      }
      let now = MonotonicTime.now
      guard !isLost, now < deadline else { return nil }
      var descriptor = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
      let milliseconds = (deadline.nanoseconds - now.nanoseconds + 999_999) / 1_000_000
      _ = poll(&descriptor, 1, Int32(clamping: milliseconds))
    }
  }

  /// Takes in the events that have been read already.
  func collectRead() { collect(queuedOnly: true) }

  private func collect(queuedOnly: Bool) {
    while let next = xcb.pollEvent(
      queuedOnly: queuedOnly,
      { raw, serial in (EventDecoder.decode(raw, fixesFirstEvent: fixesFirstEvent), serial) })
    {
      if case .selectionRequest(_, let requestor, let selection, let target, let property, let time) = next.0 {
        requestWitness?.received(
          RequestFields(requestor: requestor, selection: selection, target: target, property: property, time: time))
      }
      waiting.append(next)
    }
  }
}

/// A claim of ours in the name of another client's window.
nonisolated struct StandIn: Hashable {
  let source: Window
  let time: ServerTime
}

/// The event masks we use (X protocol, "SETofEVENT").
nonisolated enum EventMask {
  static let enterWindow: UInt32 = 1 << 4
  static let structureNotify: UInt32 = 1 << 17
  static let substructureNotify: UInt32 = 1 << 19
  static let propertyChange: UInt32 = 1 << 22
}

extension MonotonicTime {
  /// The time now, by CLOCK_MONOTONIC.
  public static var now: MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }
}
