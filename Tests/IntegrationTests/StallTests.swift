import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// A daemon that stands still while a press waits for it must keep neither the keyboard nor the pointer (product.md 7).
  @Suite(.serialized) struct StallTests {
    /// Rounds of each kind; XPB_STALL_ROUNDS=50 measures, and prints what it finds.
    static let rounds = ProcessInfo.processInfo.environment["XPB_STALL_ROUNDS"].flatMap(Int.init) ?? 3

    enum Press: String, CaseIterable, Sendable { case click, key }
    /// When the daemon is stopped.
    enum Moment: String, CaseIterable, Sendable {
      /// Before the press, of which it then never hears.
      case beforePress
      /// While it waits for the source's content, which decides about the press.
      case whileDeciding
    }

    /// Only what is marked tells who may have it, so each press has to be read for.
    private static let policy = """
      version: 1
      limits: {targets-timeout: 500ms, capture-timeout: 500ms, idle-timeout: 500ms}
      rules:
        - {name: short may leave, from: {class: Marker}, size: {up-to: 12}, decision: allow}
        - {name: stays, from: {class: Marker}, to: {not: {class: Marker}}, decision: deny}
      """

    /// A marked text that is guarded, and somebody else's window with keyboard and pointer.
    private final class Stall {
      let desktop: Desktop
      let bridge: Bridge
      let marker: Owner
      let hand: Keys

      init() throws {
        desktop = try Desktop()
        bridge = try Bridge(on: desktop, policy: StallTests.policy)
        marker = try desktop.owner("class marker Marker", "selection PRIMARY")
        hand = try Keys.window("Elsewhere", on: desktop)
        try hand.tell("point")
      }

      /// All that the daemon and its watchdog have said.
      var log: String { (try? String(contentsOfFile: desktop.folder + "/xpastebridge.log", encoding: .utf8)) ?? "" }

      func presses() throws -> Event {
        Event(try bridge.json("status") as? [String: Any] ?? [:]).object("presses") ?? Event([:])
      }

      /// Marks anew, and waits until presses are held back for it.
      func mark() throws {
        try marker.tell("target UTF8_STRING text:hello do=serve")
        try marker.claim()
        try bridge.sync()
        let isGuarded = try waitUntil(within: 10) {
          try presses().flag("heldBack") && bridge.status(of: "PRIMARY").text("state") == "left"
        }
        guard isGuarded else {
          throw HarnessError(
            "PRIMARY", expected: "presses held back", found: "\(try presses()), \(try bridge.status(of: "PRIMARY"))",
            alive: desktop.alive())
        }
      }

      /// Stops the daemon at this moment of a press; how long other input then stood still, in milliseconds.
      func standStill(_ press: Press, _ moment: Moment) throws -> Double {
        if moment == .whileDeciding { try marker.tell("target UTF8_STRING do=silent") }
        hand.forget()
        marker.forget()
        if moment == .beforePress { bridge.child.signal(SIGSTOP) }
        let done = try hand.tell(press == .click ? "click 2" : "key \(Key.insert.rawValue) shift")
        if moment == .whileDeciding {
          try marker.wait("request") { $0.text("target") == "UTF8_STRING" }
          bridge.child.signal(SIGSTOP)
        }
        let next: Event
        switch press {
        case .click:
          try hand.tell("click 1")
          next = try hand.wait("button", within: 25) { $0.number("number") == 1 }
        case .key:
          try hand.tell("key \(Key.a.rawValue)")
          next = try hand.wait("key", within: 25) { $0.number("code") == Key.a.rawValue }
        }
        bridge.child.signal(SIGCONT)
        guard let begun = done.number("t"), let arrived = next.number("t") else {
          throw HarnessError("xpb-keys", expected: "times", found: "\(done) \(next)")
        }
        return Double(arrived - begun) / 1_000_000
      }
    }

    @Test("stopped at the worst moment, input goes on within 300 ms", arguments: Press.allCases, Moment.allCases)
    func stopped(press: Press, moment: Moment) throws {
      let stall = try Stall()
      defer { stall.desktop.close() }
      var times: [Double] = []
      var freed = 0
      for _ in 0..<Self.rounds * 20 where times.count < Self.rounds {
        try stall.mark()
        let milliseconds = try stall.standStill(press, moment)
        // What it makes of the press when it goes on would take what is marked next.
        try stall.bridge.sync()
        // The daemon may have decided before it was stopped.
        if milliseconds < 100, try stall.presses().number("freed") == freed { continue }
        freed += 1
        #expect(try waitUntil(within: 10) { try stall.presses().number("freed") == freed })
        times.append(milliseconds)
      }
      #expect(times.count == Self.rounds, "\(times.count) presses stood still of \(Self.rounds * 20)")
      times.sort()
      let (median, longest) = (times[times.count / 2], times.last ?? 0)
      if Self.rounds > 3 {
        print("\(press) \(moment): \(times.count) rounds, \(times[0]) to \(longest) ms, median \(median)")
      }
      #expect(median < 300 && longest < 2_000, "\(times)")
      #expect(times[0] > 100, "no press is given up before the daemon has had its time: \(times)")
      // The daemon goes on as before.
      try stall.mark()
      try stall.hand.tell("click 1")
      try stall.hand.wait("button") { $0.number("number") == 1 }
      #expect(stall.log.contains("the daemon stood still while a press waited for it"), "\(stall.log)")
      if moment == .whileDeciding {
        #expect(try stall.bridge.audit().contains { $0.action == "paste" && $0.limit == "press-timeout" })
      }
      try stall.bridge.stop()
    }

    /// A protected app's window with the keyboard, another app's, and a hand that has neither.
    private final class StoppedCopy {
      private static let policy = """
        version: 1
        rules: [{name: protected, from: {class: Locked}, actions: [copy, cut], decision: allow, protect: true}]
        default: allow
        """

      let desktop: Desktop
      let bridge: Bridge
      let app: Keys
      let other: Keys
      let hand: Keys
      let window: Int

      init() throws {
        desktop = try Desktop()
        bridge = try Bridge(on: desktop, policy: Self.policy)
        app = try Keys.window("Locked", on: desktop)
        other = try Keys.window("Elsewhere", on: desktop)
        hand = try Keys.silent(on: desktop)
        try app.tell("windows")
        window = try app.wait("windows").number("top") ?? 0
      }

      func status() throws -> (presses: Event, lock: Event) {
        let status = Event(try bridge.json("status") as? [String: Any] ?? [:])
        return (
          status.object("presses") ?? Event([:]), status.object("actions")?.object("lock") ?? Event([:])
        )
      }

      /// Waits until the app's copy keys are stopped and nobody is kept waiting.
      func begin() throws {
        try app.tell("listen")
        let isReady = try waitUntil(within: 10) {
          try bridge.sync()
          let (presses, lock) = try status()
          return try presses.number("watchdog") != nil && lock.number("windows") == 1 && hand.priority(of: window) == 0
        }
        guard isReady else {
          throw HarnessError("lock", expected: "ready", found: "\(try status())", alive: desktop.alive())
        }
      }

      /// Presses the copy key in the app and stops the daemon `microseconds` later, or before; how long a key pressed then
      /// needs to reach the other window, in milliseconds.
      func standStill(after microseconds: UInt32?) throws -> Double {
        other.forget()
        if microseconds == nil { bridge.child.signal(SIGSTOP) }
        let begun = Deadline.now
        hand.order("key \(Key.c.rawValue) ctrl")
        if let microseconds {
          usleep(microseconds)
          bridge.child.signal(SIGSTOP)
        }
        try other.tell("listen", within: 25)
        hand.order("key \(Key.a.rawValue)")
        try other.wait("key", within: 25) { $0.number("code") == Key.a.rawValue }
        let needed = Double(Deadline.now - begun) / 1_000_000
        hand.forget()
        bridge.child.signal(SIGCONT)
        return needed
      }
    }

    @Test("stopped with a protected app's copy key, the keyboard goes on within 300 ms", arguments: Moment.allCases)
    func stoppedCopyKey(moment: Moment) throws {
      let stall = try StoppedCopy()
      defer { stall.desktop.close() }
      var times: [Double] = []
      var freed = 0
      for attempt in 0..<Self.rounds * 40 where times.count < Self.rounds {
        try stall.begin()
        // The daemon has the key for some milliseconds: all of them are tried out, one after the other.
        let milliseconds = try stall.standStill(
          after: moment == .beforePress ? nil : UInt32(attempt % 16) * 250)
        try stall.bridge.sync()
        // It may have handed the key on before it was stopped; then only what keeps the server busy runs out.
        #expect(milliseconds < 2_000)
        guard try stall.status().presses.number("freed") != freed else { continue }
        freed += 1
        times.append(milliseconds)
      }
      #expect(times.count == Self.rounds, "\(times.count) keys stood still")
      times.sort()
      let (median, longest) = (times[times.count / 2], times.last ?? 0)
      if Self.rounds > 3 {
        print("copy key \(moment): \(times.count) rounds, \(times[0]) to \(longest) ms, median \(median)")
      }
      #expect(median < 300, "\(times)")
      #expect(times[0] > 100, "no key is given up before the daemon has had its time: \(times)")
      // Priorities are as before, and the next lock works.
      try stall.begin()
      #expect(try stall.app.reaches(.a) && stall.app.reaches(.v, "ctrl"))
      let locks = try stall.status().lock.number("lapsed") ?? 0
      let isLocked = try waitUntil(within: 20) {
        usleep(100_000)
        try stall.hand.tell("key \(Key.c.rawValue) ctrl")
        try stall.bridge.sync()
        return try stall.status().lock.number("lapsed") ?? 0 > locks
      }
      #expect(isLocked)
      try stall.bridge.stop()
    }

    @Test("without its watchdog nothing is held back, and another one is begun")
    func watchdogEnds() throws {
      let stall = try Stall()
      defer { stall.desktop.close() }
      #expect(try stall.presses().number("watchdog") == nil, "none while nothing is guarded")
      try stall.mark()
      let first = try #require(try stall.presses().number("watchdog"))
      kill(pid_t(first), SIGKILL)
      let isReplaced = try waitUntil(within: 10) {
        let presses = try stall.presses()
        return presses.flag("heldBack") && (presses.number("watchdog") ?? first) != first
      }
      #expect(isReplaced)
      #expect(stall.log.contains("both are begun anew"))
      #expect(try stall.presses().number("freed") == 0)
      let milliseconds = try stall.standStill(.click, .beforePress)
      #expect(milliseconds < 2_000)
      try stall.bridge.sync()
      #expect(try stall.presses().number("freed") == 1)
      try stall.bridge.stop()
    }

    @Test("it ends with the daemon, however that ends", arguments: [SIGTERM, SIGKILL])
    func daemonEnds(by signal: Int32) throws {
      let stall = try Stall()
      defer { stall.desktop.close() }
      try stall.mark()
      let watchdog = pid_t(try #require(try stall.presses().number("watchdog")))
      // What a service manager or a terminal sends to all of them is the daemon's business.
      for number in [SIGTERM, SIGINT, SIGHUP] { kill(watchdog, number) }
      try stall.bridge.sync()
      #expect(kill(watchdog, 0) == 0)
      if signal == SIGKILL {
        // The daemon's end alone lets a press go that stands still, although the watchdog has the connection, too.
        stall.bridge.child.signal(SIGSTOP)
        kill(watchdog, SIGSTOP)
        try stall.hand.tell("click 2")
        try stall.hand.tell("click 1")
      }
      stall.bridge.child.signal(signal)
      _ = try stall.bridge.child.exitStatus(within: 5)
      #expect(waitUntil(within: 5) { kill(watchdog, 0) == -1 })
      if signal == SIGKILL { try stall.hand.wait("button") { $0.number("number") == 1 } }
    }
  }
}
