import Foundation
import Testing

extension IntegrationTests {
  /// Beside the clipboard managers that people run. Measured with Debian 12's: two owner changes a copy (the program's and
  /// ours) with every one of them, whoever starts first; they read, and none takes the clipboard from us while we own it.
  /// When an app clears it, all but CopyQ put an older clip back, and that is theirs to do, except where a rule has a say.
  @Suite(.serialized) struct RivalsTests {
    enum Order: String, CaseIterable, Sendable { case rivalFirst, daemonFirst }

    /// A desktop with a rival that has been seen reading, the daemon, and somebody who pastes.
    private struct World {
      let desktop: Desktop
      let rival: RivalProgram
      let bridge: Bridge
      let paster: Requestor

      init(_ kind: Rival, _ order: Order, policy: String = Bridge.allowAll) throws {
        desktop = try Desktop()
        if order == .rivalFirst {
          rival = try RivalProgram(kind, on: desktop)
          try rival.awaitReading { try $0.status().number("requests") ?? 0 > 0 }
          bridge = try Bridge(on: desktop, policy: policy)
        } else {
          let daemon = try Bridge(on: desktop, policy: policy)
          bridge = daemon
          rival = try RivalProgram(kind, on: desktop)
          try rival.awaitReading { _ in
            try daemon.audit().contains { $0.destination?.executable == kind.program }
          }
        }
        paster = try desktop.requestor()
        try bridge.sync()
      }

      func ownerChanges() throws -> Int {
        try desktop.probe.tell("sync")
        return desktop.probe.count("owner-change") { $0.text("selection") == "CLIPBOARD" }
      }

      func owner(_ windowClass: String, _ text: String) throws -> Owner {
        let owner = try desktop.owner(
          "class \(windowClass.lowercased()) \(windowClass)", "target UTF8_STRING text:\(text)")
        try owner.claim()
        try bridge.sync()
        return owner
      }

      /// What pastes give for a while in which every rival has had its turn: the slowest looks twice a second.
      func pastes(for seconds: Double = 1.5) throws -> Set<String> {
        var seen: Set<String> = []
        let deadline = Deadline(seconds: seconds)
        while !deadline.isOver {
          seen.insert(try paster.text() ?? "")
          usleep(10_000)
        }
        return seen
      }

      /// Ends all, with proof that both still live.
      func end() throws {
        #expect(rival.child.isAlive, "\(rival.kind) still runs")
        try bridge.stop()
        desktop.close()
      }
    }

    private static func run(
      _ kind: Rival, _ order: Order, policy: String = Bridge.allowAll, _ body: (World) throws -> Void
    ) throws {
      let world = try World(kind, order, policy: policy)
      defer { world.desktop.close() }
      try body(world)
      try world.end()
    }

    private static let png =
      Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
      + Data((0..<30_000).map { UInt8(truncatingIfNeeded: $0 &* 11) })

    /// Text, rich and image copies, each unlike the others.
    private static func copies(by who: String) -> [[String: Data]] {
      let text = { (kind: String) in Data("\(kind) za\u{17c}\u{f3}\u{142}\u{107} by \(who)".utf8) }
      return [
        ["UTF8_STRING": text("plain")],
        ["UTF8_STRING": text("rich"), "text/html": Data("<b>rich</b> by \(who)".utf8), "image/png": png],
        ["image/png": png + text("image")],
      ]
    }

    /// Takes the clipboard, and gives what ends the one who took it.
    private func copy(_ offered: [String: Data], byGTK: Bool, in world: World) throws -> () -> Void {
      if byGTK {
        let program = try WindowProgram(world.desktop, .gtk, windowClass: "RivalSource")
        try program.offer(offered)
        return program.exit
      }
      let owner = try world.desktop.owner()
      for (target, bytes) in offered {
        let path = world.desktop.path("offered")
        try bytes.write(to: URL(fileURLWithPath: path))
        try owner.tell("target \(target) file:\(path)")
      }
      try owner.claim()
      return owner.quit
    }

    @Test(
      "each copy is at most a few owner changes, pasted whole, also after the source's exit; then nobody stirs",
      arguments: Rival.tried, Order.allCases)
    func besideEachOther(kind: Rival, order: Order) throws {
      try Self.run(kind, order) { world in
        var counts: [Int] = []
        for byGTK in [false, true] {
          for offered in Self.copies(by: byGTK ? "GTK" : "owner") {
            let before = try world.ownerChanges()
            let exit = try copy(offered, byGTK: byGTK, in: world)
            try world.bridge.sync()
            for after in ["the copy", "the source's exit"] {
              for (target, bytes) in offered {
                expectSame(try world.paster.paste(target), bytes, "\(kind), \(order): \(target) after \(after)")
              }
              if after == "the copy" { exit() }
              _ = try world.paster.summary("loop 30 TARGETS interval=20")
            }
            counts.append(try world.ownerChanges() - before)
          }
        }
        print("rival \(kind) \(order): owner changes of six copies \(counts)")
        #expect(counts.allSatisfy { $0 <= 4 }, "\(kind): expected 2 to 4 changes a copy, found \(counts)")
        let status = try world.bridge.status()
        #expect(status.text("state") == "held")
        #expect(status.object("rival") == nil, "\(kind) only reads")

        // What the daemon gives back half a second after the last copy is work of its own.
        usleep(1_500_000)
        let before = try (changes: world.ownerChanges(), processor: world.bridge.processorMilliseconds())
        usleep(5_000_000)  // the measure itself: what happens while nobody does anything
        #expect(try world.ownerChanges() == before.changes)
        let used = world.bridge.processorMilliseconds() - before.processor
        #expect(used <= 50, "\(kind): expected an idle daemon, found \(used) ms of 5 s")
      }
    }

    private static let rules = """
      version: 1
      rules:
        - {name: copies nothing, from: {class: Denied}, actions: [copy], decision: deny}
        - {name: copies nothing long, from: {class: Sized}, actions: [copy], size: {over: 5}, decision: deny}
        - {name: keeps to itself, from: {class: Vault}, actions: [copy], decision: private}
      default: allow
      """

    @Test(
      "a denied, a refused and a private copy are pasted by nobody, although the rival may have read them",
      arguments: Rival.tried)
    func deniedCopies(kind: Rival) throws {
      try Self.run(kind, .rivalFirst, policy: Self.rules) { world in
        for windowClass in ["Denied", "Sized", "Vault"] {
          let older = try world.owner("Older", "older")
          #expect(try world.paster.text() == "older")
          older.quit()
          let source = try world.owner(windowClass, "secret-\(windowClass)")
          #expect(try world.pastes() == [""], "\(kind), \(windowClass)")
          source.quit()
          #expect(try world.pastes(for: 0.7) == [""], "\(kind), \(windowClass) after its exit")
        }
        let next = try world.owner("Next", "next")
        #expect(try world.pastes(for: 0.7) == ["next"])
        next.quit()
      }
    }

    @Test(
      "a private copy that its source clears is still its source's when the rival puts it back",
      arguments: Rival.tried)
    func clearedPrivateCopy(kind: Rival) throws {
      try Self.run(kind, .rivalFirst, policy: Self.rules) { world in
        for windowClass in ["Sized", "Vault"] {
          let secret = "secret-\(windowClass)"
          let source = try world.owner(windowClass, secret)
          // Time for the rival to have read it, or to have found that it may not.
          #expect(try world.pastes(for: 0.7) == [""], "\(kind), \(windowClass)")
          try source.tell("clear")
          // While the rival's own copy is being captured it answers itself, as every source does.
          let whileItComes = try world.pastes()
          try world.bridge.sync()
          let pastes = try world.pastes(for: 0.7)
          #expect(!pastes.contains(secret), "\(kind), \(windowClass): \(pastes) after \(whileItComes)")
          source.quit()
        }
        let back = try world.bridge.audit().filter { $0.limit == "rival" }
        print("rival \(kind): put back after a clear \(back.count) times")
        #expect(back.allSatisfy { $0.source?.executable == kind.program && $0.outcome == "refused" })
      }
    }

    @Test(
      "a copy denied to a class, read in the moment before, comes back after a clear only if the tool may copy",
      arguments: Rival.tried)
    func toolsWithoutCopies(kind: Rival) throws {
      let policy = """
        version: 1
        rules:
          - {name: copies nothing, from: {class: Denied}, actions: [copy], decision: deny}
          - {name: tools bring nothing back, from: {exe: \(kind.program)}, actions: [copy], decision: deny}
        default: allow
        """
      try Self.run(kind, .rivalFirst, policy: policy) { world in
        let source = try world.owner("Denied", "secret")
        let denied = try world.pastes(for: 0.7)
        #expect(denied == [""], "\(kind): \(denied)")
        try source.tell("clear")
        // What the rival offers is its own for the moment until it is denied.
        let whileItComes = try world.pastes()
        try world.bridge.sync()
        let cleared = try world.pastes(for: 0.7)
        #expect(cleared == [""], "\(kind): \(cleared) after \(whileItComes)")
        source.quit()
        let next = try world.owner("Next", "next")
        #expect(try world.pastes(for: 0.7) == ["next"])
        next.quit()
      }
    }

    @Test(
      "a manager that is made to take the same content back again and again is named, with its executable and process")
    func insistentManagerIsNamed() throws {
      try Self.run(.copyq, .rivalFirst) { world in
        let source = try world.owner("Source", "contested")
        let before = try world.ownerChanges()
        for _ in 1...6 where try world.bridge.status().object("rival") == nil {
          #expect(try world.rival.tell("/usr/bin/copyq", ["copy", "contested"]) == 0)
          try world.bridge.sync()
        }
        let named = try #require(try world.bridge.status().object("rival").map(AuditSubject.init))
        #expect(named.executable == Rival.copyq.program)
        #expect(named.pid ?? 0 > 0)
        let changes = try world.ownerChanges() - before
        print("rival copyq: named after \(changes) owner changes")
        #expect(changes <= 10)
        #expect(try world.pastes(for: 0.5) == ["contested"])
        #expect(try world.ownerChanges() - before == changes, "at rest")
        source.quit()
        let next = try world.owner("Next", "next")
        #expect(try world.pastes(for: 0.7) == ["next"], "a copy afterwards is taken as ever")
        next.quit()
      }
    }
  }
}
