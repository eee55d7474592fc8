import BridgeCore
import Foundation
import Selection
import Testing

@testable import Policy
@testable import X11
@testable import XPasteBridge

@Suite(.serialized) struct RunnerTests {
  let server: PrivateServer
  let peer: Display
  let clipboard: NamedAtom

  init() throws {
    server = try PrivateServer()
    peer = try server.connect()
    clipboard = peer.atoms.intern("CLIPBOARD")
  }

  /// Allows everything, and takes CLIPBOARD after every copy nevertheless.
  private static let owning: PolicySet = {
    var ruleset = Ruleset()
    ruleset.clipboard = .own
    return PolicySet(managed: ruleset, user: Ruleset())
  }()

  private func runner(replaces: Bool = false) throws -> EffectRunner {
    var options = EffectRunner.Options()
    options.replaces = replaces
    // All of these are one process, which wasn't started to replace anybody.
    options.isSuccessor = { subject in
      if case .local(let process) = subject.origin { process.id == getpid() } else { false }
    }
    return EffectRunner(display: try server.connect(), policy: Self.owning, options: options) { _ in }
  }

  @Test func secondInstanceIsRefusedByName() throws {
    let first = try runner()
    try first.start()
    #expect(first.hasPriority)
    #expect(first.rivalClipboardManager == nil)
    let second = try runner()
    do {
      try second.start()
      Issue.record("a second instance started")
    } catch {
      guard case .alreadyRunning(_, 0, let owner) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(owner.executable != nil)
      #expect(error.description.contains("pid \(getpid())"))
      #expect(error.description.contains("`\(server.name)`"))
    }
    first.drain()
    #expect(first.ending == nil)
    // The first ends; another may start at once.
    first.shutDown()
    let third = try runner()
    try third.start()
    #expect(third.ending == nil)
  }

  /// X11 lets any client destroy any window; without ours nothing is heard or guarded, so it has to be noticed.
  @Test func destroyedWindowIsNoticed() throws {
    let first = try runner()
    try first.start()
    let owner = first.display.ownerWindow
    peer.xcb.destroyWindow(owner.id)
    peer.synchronize()
    first.synchronize()
    #expect(first.ending == .windowTaken(owner))
  }

  /// An owner that answers late, or twice, finds the window it was asked on, and its answer is taken for no other.
  @Test func lateAnswersFindTheirWindow() throws {
    let ours = try server.connect()
    let (one, two) = (ConversionID(1), ConversionID(2))
    let target = ours.atoms.intern("UTF8_STRING").atom
    let other = ours.atoms.intern("text/html").atom
    ours.convert(one, selection: clipboard.atom, target: target, time: .current)
    let window = try #require(ours.requestors.use(of: one)?.window)
    ours.endConversion(one, isReusable: false)
    #expect(ours.requestors.conversion(on: window) == nil)
    // The server itself answers for a selection without owner; that was the late answer.
    ours.synchronize()
    #expect(ours.nextSelectionEvent(isServed: { _ in true }) == nil)
    ours.convert(two, selection: clipboard.atom, target: other, time: .current)
    let second = try #require(ours.requestors.use(of: two)?.window)
    #expect(second != window, "a retired window never serves again")
    ours.synchronize()
    #expect(
      ours.nextSelectionEvent(isServed: { _ in true }) == .selection(.conversionAnswered(two, stored: false)))
  }

  /// X11 lets any client claim a selection for any window, also ours; its requests would then reach that client.
  @Test func forgedClaimIsTakenBack() throws {
    let first = try runner()
    try first.start()
    for _ in 0..<3 {
      peer.xcb.setSelectionOwner(first.display.ownerWindow.id, selection: clipboard.atom.id, time: 0)
      peer.synchronize()
      first.synchronize()
      #expect(first.bridge.status.first { $0.selection == "clipboard" }?.state == .empty)
      let conversion = ConversionID(1)
      peer.convert(
        conversion, selection: clipboard.atom, target: peer.atoms.intern("TARGETS").atom, time: .current)
      peer.synchronize()
      first.synchronize()
      #expect(
        try peer.incoming("the daemon's answer", { if case .conversionAnswered = $0 { true } else { false } })
          == .conversionAnswered(conversion, stored: true))
      peer.endConversion(conversion, isReusable: true)
    }
  }

  /// A storm of copies by one window is worked off as its last one; a window that never stops is seen nevertheless.
  @Test(arguments: [(copies: 200, seen: 1), (copies: 1_200, seen: 3)])
  func overwrittenCopiesArePassedOver(copies: Int, seen: Int) throws {
    let first = try runner()
    try first.start()
    for _ in 0..<copies { peer.xcb.setSelectionOwner(peer.ownerWindow.id, selection: clipboard.atom.id, time: 0) }
    peer.synchronize()
    first.synchronize()
    peer.synchronize()
    var asked = 0
    while let event = peer.nextSelectionEvent(isServed: { _ in true }) {
      if case .selection(.conversionRequested) = event { asked += 1 }
    }
    #expect(asked == seen, "one question for each copy that was seen")
  }

  /// An owner that was left alone because nothing was against it is met when a new policy has something against it.
  @Test func ownerLeftInPlaceMeetsTheNextPolicy() throws {
    var quick = Ruleset()
    quick.limits = [.targetsTimeout: 50]
    let policy = PolicySet(managed: quick, user: Ruleset())
    let first = EffectRunner(display: try server.connect(), policy: policy, options: .init()) { _ in }
    try first.start()
    peer.xcb.setSelectionOwner(peer.ownerWindow.id, selection: clipboard.atom.id, time: 0)
    peer.synchronize()
    first.synchronize()
    while let deadline = first.nextDeadline {
      while MonotonicTime.now < deadline { usleep(1_000) }
      first.deadlineReached()
    }
    #expect(peer.selectionOwner(clipboard.atom) == peer.ownerWindow)
    let position = SourcePosition(file: "test.yaml", line: 1, column: 1)
    var rule = Rule(RuleReference(name: "nobody copies", position: position), verdict: .deny)
    rule.actions = [.copy]
    var denial = Ruleset()
    denial.rules = [rule]
    first.replacePolicy(PolicySet(managed: denial, user: Ruleset()))
    first.synchronize()
    #expect(peer.selectionOwner(clipboard.atom) == first.display.ownerWindow)
  }

  @Test func successorMakesUsStop() throws {
    let first = try runner()
    try first.start()
    let manager = peer.atoms.intern("_XPASTEBRIDGE_S0")
    _ = try peer.acquire(manager, replacing: true, withinMilliseconds: 0)
    first.synchronize()
    guard case .replaced(let successor) = first.ending else {
      Issue.record("found \(String(describing: first.ending))")
      return
    }
    #expect(successor.executable?.evidence == .attested)
  }

  /// A claim in the name of our own window, which any client can make, is nobody's.
  @Test func forgedClaimsOfMarkAndManagerAreTakenBack() throws {
    let first = try runner()
    try first.start()
    for name in ["_XPASTEBRIDGE_S0", "CLIPBOARD_MANAGER"] {
      let selection = peer.atoms.intern(name).atom
      let window = peer.selectionOwner(selection)
      peer.xcb.setSelectionOwner(window.id, selection: selection.id, time: peer.serverTime().milliseconds)
      peer.synchronize()
      first.synchronize()
      #expect(first.ending == nil)
      #expect(peer.selectionOwner(selection) == window)
      // Requests come to us again: the peer has no one to answer them.
      let conversion = ConversionID(name == "CLIPBOARD_MANAGER" ? 1 : 2)
      peer.convert(conversion, selection: selection, target: peer.atoms.intern("TARGETS").atom, time: .current)
      peer.synchronize()
      first.synchronize()
      #expect(
        try peer.incoming("answer", { if case .conversionAnswered = $0 { true } else { false } })
          == .conversionAnswered(conversion, stored: true))
    }
    #expect(first.rivalClipboardManager == nil)
  }

  /// Another program, or one merely named like us: the mark is taken back, at growing pauses, with few lines.
  @Test func marksAreTakenBackAtLimitedPace() {
    var pace = RetakePace()
    func at(_ milliseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }
    #expect(pace.due(at: at(1_000)) == at(1_000))
    #expect(pace.retaken(at: at(1_000)) == 1)
    #expect(pace.due(at: at(1_001)) == at(1_050))
    #expect(pace.retaken(at: at(1_050)) == nil)
    #expect(pace.due(at: at(1_051)) == at(1_150))
    var now: UInt64 = 1_150
    var rounds = 0
    var lines = 0
    while now < 301_000 {
      lines += pace.retaken(at: at(now)) == nil ? 0 : 1
      rounds += 1
      now = pace.due(at: at(now + 1)).nanoseconds / 1_000_000
    }
    #expect(rounds < 170)
    #expect(lines <= 10)
    #expect(pace.due(at: at(now + 20_000)) == at(now + 20_000), "after a quiet while at once")
  }

  @Test func rivalClipboardManagerKeepsItsSelection() throws {
    let window = peer.makeWindow()
    peer.own("CLIPBOARD_MANAGER", with: window)
    let first = try runner()
    try first.start()
    #expect(first.rivalClipboardManager?.isUnknown == false)
    #expect(peer.selectionOwner(peer.atoms.intern("CLIPBOARD_MANAGER").atom) == window)
    first.shutDown()
    let second = try runner(replaces: true)
    try second.start()
    #expect(second.rivalClipboardManager == nil)
    #expect(second.display.isOurs(peer.selectionOwner(peer.atoms.intern("CLIPBOARD_MANAGER").atom)))
  }

  @Test func effectsReachTheServer() throws {
    let runner = try runner()
    try runner.start()
    let requestor = peer.makeWindow()
    let owner = peer.makeWindow()
    let time = peer.serverTime()
    peer.own("CLIPBOARD", with: owner, time: time)
    runner.synchronize()
    #expect(
      runner.run(.claim(selection: clipboard, time: time, expecting: .none))
        == [.claimSettled(selection: clipboard, .superseded)])
    #expect(
      runner.run(.claim(selection: clipboard, time: time, expecting: owner))
        == [.claimSettled(selection: clipboard, .held)])
    let property = peer.atoms.intern("_TEST").atom
    peer.synchronize()
    let values: [(MetadataValue, PropertyValue)] = [
      (.targets([Atom(31), Atom(4)]), .atoms([NamedAtom(Atom(31), ""), NamedAtom(Atom(4), "")])),
      (
        .time(ServerTime(0x0102_0304)),
        .value(type: NamedAtom(Atom(19), ""), format: 32, payload: Payload([4, 3, 2, 1]))
      ),
      (.incremental(bytes: 1_000_000), .incremental(hint: 1_000_000)),
      (.null, .value(type: peer.atoms.intern("NULL"), format: 32, payload: Payload())),
      (
        .pairs([Atom(31), .none]),
        .value(type: peer.atoms.intern("ATOM_PAIR"), format: 32, payload: Payload([31, 0, 0, 0, 0, 0, 0, 0]))
      ),
    ]
    for (stored, read) in values {
      #expect(runner.run(.storeMetadata(window: requestor, property: property, stored)) == [])
      runner.synchronize()
      let reader = PropertyReader(xcb: peer.xcb, atoms: peer.atoms)
      #expect(reader.readAndDelete(window: requestor, property: property, limit: 1_000) == read)
    }
  }

  @Test func contentIsStoredChunkByChunk() throws {
    let runner = try runner()
    let requestor = peer.makeWindow()
    peer.synchronize()
    let property = peer.atoms.intern("_TEST").atom
    let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
    let grant = Grant(reason: .builtInDefault)
    var read: [UInt8] = []
    for (format, type) in [(8, "UTF8_STRING"), (32, "INTEGER")] {
      read = []
      for chunk in [0, 1, 2, nil] {
        let content = ContentStore(
          window: requestor, property: property, type: peer.atoms.intern(type).atom, format: format,
          payload: Payload(bytes), chunk: chunk, grant: grant, isProtected: false)
        #expect(runner.run(.store(content)) == [])
        runner.synchronize()
        let value = PropertyReader(xcb: peer.xcb, atoms: peer.atoms)
          .readAndDelete(window: requestor, property: property, limit: 1 << 20)
        guard case .value(_, format, let payload) = value else {
          Issue.record("\(value)")
          return
        }
        #expect(payload.isEmpty == (chunk == nil))
        read += payload.copiedBytes()
      }
      #expect(read == bytes)
    }
    let empty = ContentStore(
      window: requestor, property: property, type: Atom(31), format: 8, payload: Payload(), chunk: 0, grant: grant,
      isProtected: false)
    #expect(runner.run(.store(empty)) == [])
    runner.synchronize()
    #expect(runner.display.unexpectedErrorCount == 0)
  }

  /// A hundred requests are taken in their order, and a flood leaves the loop its turn.
  @Test func floodIsTakenInTurns() throws {
    let runner = try runner()
    try runner.start()
    #expect(
      runner.run(.claim(selection: clipboard, time: runner.display.serverTime(), expecting: .none))
        == [.claimSettled(selection: clipboard, .held)])
    let window = peer.makeWindow()
    for _ in 0..<2_000 {
      peer.xcb.convertSelection(
        requestor: window.id, selection: clipboard.atom.id, target: 31, property: 31, time: 0)
    }
    peer.synchronize()
    runner.display.synchronize()
    var turns = 0
    repeat {
      #expect(turns == 0 || runner.nextDeadline == MonotonicTime(nanoseconds: 0))
      runner.deadlineReached()
      turns += 1
    } while runner.nextDeadline != nil && turns < 100
    #expect(turns == 4)
    #expect(runner.display.unexpectedErrorCount == 0)
  }

  /// The mark of a screen converts what ICCCM 2.6.2 asks of every owner; the rest is refused and not left unanswered.
  @Test(arguments: [
    ("_XPASTEBRIDGE_S0", "STRING", false), ("_XPASTEBRIDGE_S0", "TIMESTAMP", true),
    ("CLIPBOARD_MANAGER", "TARGETS", true), ("CLIPBOARD_MANAGER", "TIMESTAMP", true),
  ])
  func managerSelectionsConvert(_ selection: String, _ target: String, isAnswered: Bool) throws {
    let runner = try runner()
    try runner.start()
    let conversion = ConversionID(1)
    peer.convert(
      conversion, selection: peer.atoms.intern(selection).atom, target: peer.atoms.intern(target).atom, time: .current)
    peer.synchronize()
    runner.synchronize()
    #expect(
      try peer.incoming("answer", { if case .conversionAnswered = $0 { true } else { false } })
        == .conversionAnswered(conversion, stored: isAnswered))
  }

  @Test func ownershipTimeComesFromTheOwner() throws {
    try server.start("/usr/bin/python3", ["-c", Programs.gtk, "own"])
    let display = try server.connect()
    _ = try waitFor("GTK") { display.selectionOwner(clipboard.atom) == .none ? nil : true }
    let time = display.ownershipTime(of: clipboard.atom, conversion: ConversionID(7), withinMilliseconds: 5_000)
    #expect(time != nil)
    // A silent owner costs its time and no more.
    peer.own("CLIPBOARD", with: peer.makeWindow())
    let start = MonotonicTime.now
    #expect(display.ownershipTime(of: clipboard.atom, conversion: ConversionID(8), withinMilliseconds: 50) == nil)
    #expect(MonotonicTime.now < start.advanced(byMilliseconds: 1_000))
    #expect(display.openConversionCount == 0)
  }

  @Test func lostServerEndsInOrder() throws {
    let runner = try runner()
    try runner.start()
    server.end()
    _ = try waitFor("the loss") { () -> Bool? in
      runner.drain()
      return runner.isLost ? true : nil
    }
    #expect(runner.resolver.resolve(Window(0x40_0001)) == .unknown)
    runner.deadlineReached()
    runner.synchronize()
    runner.shutDown()
    #expect(runner.isLost)
  }
}

struct ProcessFactsTests {
  @Test func cgroupPathsAndUnits() {
    let text = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome.Maps-1234.scope\n"
    #expect(Cgroup.innermostUnit(of: Cgroup.path(in: text)) == "app-org.gnome.Maps-1234.scope")
    #expect(Cgroup.innermostUnit(of: Cgroup.path(in: "0::/system.slice/x.service/sub\n")) == "x.service")
    #expect(Cgroup.path(in: "3:cpu:/a\n1:name=systemd:/b.scope\n0::/\n") == "/b.scope")
    // Marks that make one character with the slash before them.
    #expect(Cgroup.innermostUnit(of: "/a.service/\u{30c}b") == "a.service")
    #expect(Cgroup.innermostUnit(of: "/") == nil)
    #expect(Cgroup.innermostUnit(of: Cgroup.path(in: "")) == nil)
  }

  @Test func sandboxes() {
    let path = "/user.slice/app.slice/app-flatpak-org.gnome.Text\\x2dEditor-4711.scope"
    #expect(Sandbox.name(cgroupPath: path, flatpak: nil) == "flatpak:org.gnome.Text-Editor")
    #expect(
      Sandbox.name(cgroupPath: "", flatpak: "[Instance]\nname=no\n[Application]\nname=org.x.Y\n") == "flatpak:org.x.Y")
    #expect(Sandbox.name(cgroupPath: "/x/snap.firefox.firefox-1a2b.scope", flatpak: nil) == "snap:firefox")
    #expect(Sandbox.name(cgroupPath: "/x/session-1.scope", flatpak: "") == nil)
  }

  @Test func statFields() {
    let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 0 0\n"
    #expect(ProcessFile.startTime(inStat: stat) == 987_654)
    // U+0600 makes one character with the parenthesis behind it.
    let joined = stat.replacingOccurrences(of: ") ", with: ") x\u{600}) ")
    #expect(ProcessFile.startTime(inStat: joined) == 987_654)
    #expect(ProcessFile.startTime(inStat: "") == nil)
  }

  @Test func endedProcessIsGoneEvenAsAZombie() throws {
    let program = Process()
    program.executableURL = URL(fileURLWithPath: "/bin/sleep")
    program.arguments = ["60"]
    try program.run()
    let record = try #require(ProcessRecord(program.processIdentifier))
    #expect(record.identity.id == program.processIdentifier)
    _ = try waitFor("exec") { record.refresh() && record.executable?.value.hasSuffix("sleep") == true ? true : nil }
    kill(program.processIdentifier, SIGKILL)
    _ = try waitFor("its end") { record.refresh() ? nil : true }
    #expect(ProcessRecord(program.processIdentifier) == nil)
  }

  @Test func deletedExecutable() throws {
    let path = NSTemporaryDirectory() + "xpb-sleep-\(getpid())"
    try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: path)
    let program = Process()
    program.executableURL = URL(fileURLWithPath: path)
    program.arguments = ["60"]
    try program.run()
    let record = try #require(ProcessRecord(program.processIdentifier))
    _ = try waitFor("exec") { record.refresh() && record.executable?.value == path ? true : nil }
    unlink(path)
    #expect(record.refresh())
    #expect(record.executable == Fact(path, .attested))
    kill(program.processIdentifier, SIGKILL)
  }

  @Test(arguments: ["/usr/lib/wine/wine64", "/opt/wine/bin/wine64-preloader", "/x/explorer.exe"])
  func wine(_ path: String) { #expect(Wine.isWine(path)) }

  @Test func classPairs() {
    func pair(_ text: String) -> ClassPair? { Array(text.utf8).withUnsafeBytes { ClassPair(property: $0) } }
    #expect(pair("a\0B\0") == ClassPair(instance: "a", windowClass: "B"))
    #expect(pair("a\0B") == ClassPair(instance: "a", windowClass: "B"))
    #expect(pair("\0B\0") == ClassPair(instance: "", windowClass: "B"))
    #expect(pair("\0\0") == nil)
    #expect(pair("a\0") == nil)
    #expect(pair("") == nil)
    #expect([UInt8]([0x61, 0, 0xe9, 0]).withUnsafeBytes { ClassPair(property: $0) }?.windowClass == "\u{e9}")
  }
}
