import Foundation
import Policy
import Selection
import Testing

@testable import X11
@testable import XPasteBridge

@Suite(.serialized) struct IdentityTests {
  let server: PrivateServer
  let display: Display
  let peer: Display
  let resolver: SubjectResolver
  let clipboard: NamedAtom

  init() throws {
    server = try PrivateServer()
    display = try server.connect()
    peer = try server.connect()
    resolver = SubjectResolver(display: display)
    clipboard = display.atoms.intern("CLIPBOARD")
    display.selectOwnerChanges(of: [clipboard.atom])
    display.synchronize()
  }

  private func owner(_ what: String, of selection: String = "CLIPBOARD") throws -> Window {
    let atom = display.atoms.intern(selection).atom
    return try waitFor("\(what) as owner") {
      let owner = display.selectionOwner(atom)
      return owner == .none || display.isOurs(owner) ? nil : owner
    }
  }

  private func processID(_ subject: Subject) -> Int32? {
    guard case .local(let process) = subject.origin else { return nil }
    return process.id
  }

  @Test func ownTopLevelAndItsAncestors() {
    let window = peer.makeWindow()
    peer.setClass("inst", "Class", on: window)
    let subject = resolver.resolve(window)
    #expect(subject.windowClass == Fact("Class", .declared))
    #expect(subject.instance == Fact("inst", .declared))
    #expect(processID(subject) == getpid())
    #expect(subject.executable?.evidence == .attested)
    // A window without a class inside one that has it.
    let child = peer.xcb.generateID()
    peer.xcb.createInputOnlyWindow(child, root: window.id, eventMask: 0)
    // Another, with a class of its own, is not asked.
    peer.setClass("other", "Other", on: peer.makeWindow())
    #expect(resolver.resolve(Window(child)).windowClass?.value == "Class")
    #expect(resolver.resolve(Window(child)).windowClass?.value == "Class")
    // A changed class counts at once.
    peer.setClass("inst", "Changed", on: window)
    #expect(resolver.resolve(Window(child)).windowClass?.value == "Changed")
    #expect(resolver.resolve(window).windowClass?.value == "Changed")
  }

  /// B164, B165: no class is never remembered.
  @Test func classSetLate() {
    let helper = peer.makeWindow()
    peer.synchronize()
    #expect(resolver.resolve(helper).windowClass == nil)
    #expect(resolver.resolve(helper).windowClass == nil)
    #expect(resolver.searchCount == 1)
    let top = peer.makeWindow()
    peer.synchronize()
    #expect(resolver.resolve(helper).windowClass == nil)
    peer.setClass("", "", on: top)
    #expect(resolver.resolve(helper).windowClass == nil)
    peer.setClass("late", "Late", on: top)
    #expect(resolver.resolve(helper).windowClass?.value == "Late")
    let count = resolver.searchCount
    #expect(resolver.resolve(helper).windowClass?.value == "Late")
    #expect(resolver.searchCount == count)
    // The window goes and another comes.
    peer.xcb.destroyWindow(top.id)
    peer.setClass("new", "New", on: peer.makeWindow())
    #expect(resolver.resolve(helper).windowClass?.value == "New")
  }

  /// openbox takes a new window into a frame first and puts it on its list of windows later; a program may copy in between.
  @Test func framedAndNotYetListed() throws {
    let manager = try server.connect()
    let (frame, listed, helper) = (manager.makeWindowNow(), manager.makeWindowNow(), peer.makeWindowNow())
    let list = manager.atoms.intern("_NET_CLIENT_LIST").atom
    manager.put(
      withUnsafeBytes(of: listed.id) { Array($0) }, type: "WINDOW", format: 32, in: list, of: manager.root)
    manager.synchronize()
    #expect(resolver.resolve(helper).windowClass == nil)
    let top = Window(peer.xcb.generateID())
    peer.xcb.createInputOnlyWindow(top.id, root: frame.id, eventMask: 0)
    peer.setClass("new", "New", on: top)
    #expect(SubjectResolver(display: display).resolve(helper).windowClass?.value == "New")
  }

  @Test func activeWindowDecidesAmongClassesOfOneClient() throws {
    let helper = peer.makeWindow()
    let writer = peer.makeWindow()
    let calc = peer.makeWindow()
    peer.setClass("office", "Writer", on: writer)
    peer.setClass("office", "Calc", on: calc)
    let other = try server.connect()
    let foreign = other.makeWindow()
    other.setClass("term", "Term", on: foreign)
    func activate(_ window: Window) {
      let active = peer.atoms.intern("_NET_ACTIVE_WINDOW").atom
      peer.put(withUnsafeBytes(of: window.id) { Array($0) }, type: "WINDOW", format: 32, in: active, of: peer.root)
      peer.synchronize()
    }
    for _ in 0..<2 {
      activate(calc)
      #expect(resolver.resolve(helper).windowClass?.value == "Calc")
      activate(writer)
      #expect(resolver.resolve(helper).windowClass?.value == "Writer")
    }
    activate(foreign)
    #expect(["Writer", "Calc"].contains(resolver.resolve(helper).windowClass?.value))
    // A new window of the client that becomes active.
    let draw = peer.makeWindow()
    peer.setClass("office", "Draw", on: draw)
    activate(draw)
    #expect(resolver.resolve(helper).windowClass?.value == "Draw")
    // Focus decides nothing for another client's request (B159, B185).
    let background = try server.connect()
    background.setClass("bg", "Background", on: background.makeWindow())
    #expect(resolver.resolve(background.makeWindowNow()).windowClass?.value == "Background")
  }

  @Test func classOnAnotherConnectionOfTheProcess() throws {
    let second = try server.connect()
    let helper = second.makeWindowNow()
    let top = peer.makeWindow()
    peer.setClass("soffice", "libreoffice-writer", on: top)
    for _ in 0..<3 { #expect(resolver.resolve(helper).windowClass?.value == "libreoffice-writer") }
    #expect(resolver.searchCount == 1)
    peer.close()
    _ = try waitFor("the window's end") { resolver.resolve(helper).windowClass == nil ? true : nil }
  }

  @Test func goneAndServer() {
    #expect(resolver.resolve(.none) == .unknown)
    #expect(resolver.resolve(display.root) == .unknown)
    #expect(resolver.resolve(Window(0x0ff0_0001)) == .unknown)
    let gone = peer.makeWindow()
    peer.xcb.destroyWindow(gone.id)
    peer.synchronize()
    // The client is still there, and known.
    #expect(processID(resolver.resolve(gone)) == getpid())
    #expect(display.unexpectedErrorCount == 0)
  }

  @Test func thousandsOfWindowsStallNobody() {
    let helper = peer.makeWindow()
    for _ in 0..<5_000 { _ = peer.makeWindow() }
    peer.synchronize()
    let start = MonotonicTime.now.nanoseconds
    _ = resolver.resolve(helper)
    let milliseconds = (MonotonicTime.now.nanoseconds - start) / 1_000_000
    print("resolve with 5000 windows of the client: \(milliseconds) ms")
    #expect(milliseconds < 200)
  }

  /// The same base and the same XID under another program at once.
  @Test func reusedIdentifiers() throws {
    var classes: [String] = []
    var bases = Set<UInt32>()
    for name in ["First", "Second", "Third"] {
      let program = try server.start("/usr/bin/xterm", ["-class", name, "-e", "cat"])
      let window = try waitFor(name) {
        resolver.clients().first { $0.windows.contains { $0.pair?.windowClass == name } }?.windows.first?.window
      }
      bases.insert(display.resourceBase(of: window))
      let subject = resolver.resolve(window)
      #expect(processID(subject) == program.processIdentifier)
      #expect(subject.executable == Fact("/usr/bin/xterm", .attested))
      classes.append(subject.windowClass?.value ?? "")
      kill(program.processIdentifier, SIGKILL)
      _ = try waitFor("the end of \(name)") { resolver.resolve(window) == .unknown ? true : nil }
    }
    #expect(classes == ["First", "Second", "Third"])
    #expect(bases.count == 1, "the server gave another base: nothing was tested")
  }

  @Test func clientsOverTheNetworkAreRemote() throws {
    let server = try PrivateServer(["-listen", "tcp"])
    let display = try server.connect()
    let remote = try Display.open("127.0.0.1" + server.name)
    let resolver = SubjectResolver(display: display)
    let window = remote.makeWindowNow()
    #expect(resolver.resolve(window).isRemote)
    remote.setClass("far", "Far", on: window)
    remote.put(Array("there".utf8), type: "STRING", format: 8, in: Atom(AtomNumber.wmClientMachine), of: window)
    remote.synchronize()
    let subject = resolver.resolve(window)
    #expect(subject.isRemote)
    #expect(subject.origin == .remote)
    #expect(subject.windowClass == Fact("Far", .declared))
    #expect(subject.host == Fact("there", .declared))
    #expect(subject.executable == nil)
  }

  @Test func describesClients() throws {
    peer.setClass("one", "One", on: peer.makeWindow())
    let clients = resolver.clients()
    #expect(clients.count == 2)
    #expect(clients.first { display.isOurs(Window($0.resourceBase)) }?.isSelf == true)
    #expect(clients.flatMap(\.windows).compactMap(\.pair).map(\.windowClass) == ["One"])
    #expect(clients.contains { $0.subject.windowClass?.value == "One" })
  }

  @Test func resolveTimes() throws {
    let others = try server.connect()
    for index in 0..<300 { others.setClass("o", "O\(index)", on: others.makeWindow()) }
    func measure(_ window: Window, cold: Bool) -> String {
      var times: [UInt64] = []
      for _ in 0..<(cold ? 100 : 1_000) {
        let used = cold ? SubjectResolver(display: display) : resolver
        let start = MonotonicTime.now.nanoseconds
        _ = used.resolve(window)
        times.append(MonotonicTime.now.nanoseconds - start)
      }
      times.sort()
      return "\(times[times.count / 2] / 1_000) µs, p95 \(times[times.count * 95 / 100] / 1_000) µs"
    }
    let classed = try server.connect()
    let top = classed.makeWindow()
    classed.setClass("c", "C", on: top)
    let helper = classed.makeWindowNow()
    let program = try server.start("/usr/bin/xterm", ["-e", "cat"])
    let xterm = try waitFor("xterm") {
      resolver.clients().first { processID($0.subject) == program.processIdentifier }?.windows.first?.window
    }
    for (name, window) in [("own class", top), ("same client", helper), ("xterm", xterm)] {
      _ = resolver.resolve(window)
      let count = resolver.searchCount
      print("resolve, \(name): warm \(measure(window, cold: false)); cold \(measure(window, cold: true))")
      #expect(resolver.searchCount == count)
    }
    try server.start("/usr/bin/xclip", ["-selection", "secondary", "-quiet"], input: "x")
    let bare = try owner("xclip", of: "SECONDARY")
    _ = resolver.resolve(bare)
    let count = resolver.searchCount
    print("resolve, no class: warm \(measure(bare, cold: false)); cold \(measure(bare, cold: true))")
    #expect(resolver.searchCount == count)
  }
}

extension Display {
  /// Makes a window and waits until the server has it.
  func makeWindowNow() -> Window {
    defer { synchronize() }
    return makeWindow()
  }
}
