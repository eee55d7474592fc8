import Foundation
import Testing

extension IntegrationTests {
  /// Programs that carry a clipboard to another display: what comes there is the same with the daemon as without, nobody
  /// takes anything back from anybody, and without rules it is they who own it.
  @Suite(.serialized) struct SharedClipboardTests {
    /// What is on the display: no daemon, one without rules, or one that takes each copy over.
    enum World: String, CaseIterable, Sendable {
      case bare, withoutRules, allowAll

      func startBridge(on desktop: Desktop) throws -> Bridge? {
        switch self {
        case .bare: nil
        case .withoutRules: try Bridge(on: desktop, policy: Bridge.withoutRules)
        case .allowAll: try Bridge(on: desktop)
        }
      }
    }

    /// One copy as the other display had it.
    private struct Arrival: Equatable {
      let text: String?
      let targets: Set<String>
      /// How many programs have owned CLIPBOARD there since: Barrier, and the daemon where it takes copies over.
      let owners: Int
    }

    private func takers(_ desktop: Desktop) throws -> [Int] {
      try desktop.probe.tell("sync")
      return desktop.probe.events.filter { $0.name == "owner-change" && $0.text("selection") == "CLIPBOARD" }
        .compactMap { $0.number("window") }
    }

    private static let rounds = 2

    private func shared(_ world: World) throws -> (arrivals: [Arrival], taken: [Int]) {
      let pair = try BarrierPair()
      defer { pair.close() }
      let desktops = [pair.one, pair.two]
      let bridges = try desktops.compactMap { try world.startBridge(on: $0) }
      let copiers = try desktops.map { try ProgramKind.xclip.start(on: $0) }
      var arrivals: [Arrival] = []
      for round in 1...Self.rounds {
        for from in [0, 1] {
          let (here, there) = (desktops[from], desktops[1 - from])
          let text = "copied on \(from), \(round)"
          let earlier = try takers(there).count
          try copiers[from].copy(Data(text.utf8))
          try pair.go(to: there)
          var found: String?
          _ = try waitUntil(within: 10) {
            found = try there.probe.text()
            return found == text
          }
          for bridge in bridges { try bridge.sync() }
          let clients = Set(try takers(there).dropFirst(earlier).map { $0 & ~0x1f_ffff })
          arrivals.append(
            Arrival(text: found, targets: Set(try there.probe.targets() ?? []), owners: clients.count))
          #expect(found == text, "\(world): from \(here.display) to \(there.display)")
        }
      }
      let taken = try desktops.map { try takers($0).count }
      usleep(1_000_000)  // the measure itself: what happens while nobody does anything
      #expect(try desktops.map { try takers($0).count } == taken, "\(world): at rest")
      for bridge in bridges { #expect(try bridge.status().object("rival") == nil, "\(world)") }
      // The pointer is on the first display. What was copied last was copied on the second.
      for copier in copiers { copier.exit() }
      for bridge in bridges { try bridge.sync() }
      let last = "copied on 1, \(Self.rounds)"
      #expect(try pair.one.probe.text() == last, "\(world): after the source's end")
      if world == .withoutRules { #expect(try pair.two.probe.text() == last, "where the source was") }
      pair.endServer()
      for bridge in bridges { try bridge.sync() }
      #expect(try pair.one.probe.text() == (world == .bare ? nil : last), "\(world): after Barrier's end")
      for bridge in bridges { try bridge.stop() }
      return (arrivals, taken)
    }

    @Test("Barrier between two displays with a daemon on each: both ways the same, and nobody takes anything back")
    func barrier() throws {
      let bare = try shared(.bare)
      let withoutRules = try shared(.withoutRules)
      let allowAll = try shared(.allowAll)
      print("barrier: CLIPBOARD taken on the two displays: \(bare.taken), \(withoutRules.taken), \(allowAll.taken)")
      #expect(withoutRules.arrivals == bare.arrivals)
      #expect(bare.arrivals.allSatisfy { $0.owners == 1 } && allowAll.arrivals.allSatisfy { $0.owners == 2 })
      // Barrier itself sometimes takes it once more. Our claim it takes for a copy and tells the other display, where that ends.
      let most = 4 * 2 * Self.rounds
      #expect((bare.taken + withoutRules.taken + allowAll.taken).allSatisfy { $0 <= most }, "four for each copy")
    }

    private func viewed(_ world: World) throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let bridge = try world.startBridge(on: desktop)
      let viewer = try RemoteViewer(on: desktop)
      let program = try WindowProgram(desktop, .gtk, windowClass: "ViewedGtk")

      try program.copy(Data("by GTK".utf8))
      #expect(try viewer.received() == "by GTK", "\(world)")

      // A source that lists UTF8_STRING alone refuses STRING, so that the viewer gets nothing of it while it gives it itself.
      let source = try desktop.owner("target UTF8_STRING text:narrow")
      try source.claim()
      try bridge?.sync()
      if world == .allowAll {
        #expect(try viewer.received() == "narrow", "\(world)")
      } else {
        for _ in 1...2 { try source.wait("request", within: 20) { $0.text("target") == "STRING" } }
        #expect(try source.status().number("losses") == 0, "\(world)")
      }
      try program.copy(Data("by GTK again".utf8))
      #expect(try viewer.received() == "by GTK again", "\(world): nothing in between")

      try source.tell("target UTF8_STRING text:of-the-dead")
      try source.claim()
      try bridge?.sync()
      source.quit()
      if bridge != nil { #expect(try viewer.received() == "of-the-dead", "\(world): after the source's end") }

      let earlier = try takers(desktop).count
      try viewer.copy("from the viewer")
      try bridge?.sync()
      #expect(try takers(desktop).count - earlier == (world == .allowAll ? 2 : 1), "\(world)")
      #expect(try desktop.probe.text("STRING") == "from the viewer", "\(world)")
      #expect(try program.paste(expecting: 15) == Data("from the viewer".utf8), "\(world)")
      viewer.exit()
      try bridge?.sync()
      #expect(
        try desktop.probe.text("STRING") == (bridge == nil ? nil : "from the viewer"), "\(world): after x11vnc's end")
      try bridge?.stop()
    }

    @Test(
      "x11vnc, which asks for STRING alone: a viewer gets and gives what it does without the daemon",
      arguments: World.allCases)
    func viewer(world: World) throws { try viewed(world) }
  }
}
