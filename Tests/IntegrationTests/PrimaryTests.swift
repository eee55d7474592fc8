import Foundation
import Testing

extension IntegrationTests {
  /// Text marked in one real program and pasted into another by the middle button (product.md 6).
  @Suite(.serialized) struct PrimaryTests {
    /// Rounds of each kind for each pair; XPB_PRIMARY_ROUNDS=67 makes 201 a pair.
    static let rounds = ProcessInfo.processInfo.environment["XPB_PRIMARY_ROUNDS"].flatMap(Int.init) ?? 2

    /// The sources that are paired with all others: every kind, or the one that XPB_PRIMARY_FROM names.
    static let sources =
      ProcessInfo.processInfo.environment["XPB_PRIMARY_FROM"].flatMap(MarkingKind.init).map { [$0] }
      ?? MarkingKind.paired

    /// A rule concerns the source, but none of those who paste.
    private static let elsewhere = """
      version: 1
      rules:
        - {name: not there, from: {class: Marksource}, to: {class: Nobody}, decision: deny}
      """
    private static let stays = """
      version: 1
      rules:
        - {name: stays, from: {class: Marksource}, to: {not: {class: Marksource}}, decision: deny}
      """
    /// Only what is marked tells who may have it.
    private static let shortMayLeave = """
      version: 1
      rules:
        - {name: short may leave, from: {class: Marksource}, size: {up-to: 12}, decision: allow}
        - {name: stays, from: {class: Marksource}, to: {not: {class: Marksource}}, decision: deny}
      """

    /// A desktop with a source, those who paste, and the daemon.
    private final class Table {
      let desktop: Desktop
      let bridge: Bridge
      let mouse: Mouse
      let source: MarkingProgram
      private(set) var targets: [MarkingProgram] = []
      private(set) var misses = 0

      init(_ kind: MarkingKind, pasting kinds: [MarkingKind] = [], policy: String) throws {
        desktop = try Desktop()
        bridge = try Bridge(on: desktop, policy: policy)
        mouse = try Mouse(on: desktop)
        source = try MarkingProgram(kind, on: desktop, mouse: mouse, windowClass: "Marksource", slot: 0)
        for (number, kind) in kinds.enumerated() {
          targets.append(
            try MarkingProgram(
              kind, on: desktop, mouse: mouse, windowClass: "Mark\(kind)", slot: number * 2 + 1))
        }
        try desktop.probe.tell("watch PRIMARY")
      }

      func owner() throws -> Int { try desktop.probe.ownerWindow(of: "PRIMARY") }

      /// Owner changes of PRIMARY to the daemon so far.
      func takeovers() throws -> Int {
        try desktop.probe.tell("sync")
        let base = try (bridge.json("clients") as? [String: Any]).map { report in
          (report["clients"] as? [[String: Any]] ?? []).first { $0["pid"] as? Int == Int(bridge.child.pid) }
        }
        guard let number = (base ?? nil)?["resourceBase"] as? Int else {
          throw HarnessError("clients", expected: "the daemon among them", found: "none")
        }
        return desktop.probe.count("owner-change") {
          $0.text("selection") == "PRIMARY" && ($0.number("window") ?? 0) & ~0x1f_ffff == number
        }
      }

      /// Refusals written down so far.
      func refusals() throws -> Int {
        let status = Event(try bridge.json("status") as? [String: Any] ?? [:])
        return status.object("audit")?.number("refused") ?? 0
      }

      /// Whether `target` has `text` now. A click that the daemon said it could not decide in time is made again, as a
      /// person would.
      func pastes(_ text: String, into target: MarkingProgram) throws -> Bool {
        for _ in 0..<5 {
          try target.middleClick()
          if try waitUntil(within: 3, { try target.content() == text }) { return true }
          guard try bridge.audit().last(where: { $0.action == "paste" })?.limit == "press-timeout" else { return false }
          misses += 1
        }
        return false
      }

      func end() throws {
        try bridge.stop()
        desktop.close()
      }
    }

    @Test(
      "every pair: right content or right refusal; the highlight stays until the click and, where nothing is taken, after it",
      arguments: sources)
    func pairs(kind: MarkingKind) throws {
      let table = try Table(kind, pasting: MarkingKind.paired, policy: Self.elsewhere)
      defer { table.desktop.close() }
      let source = table.source
      // xterm can't be asked what is marked; its pictures are compared in a test of their own.
      let isMarked = { try kind == .xterm || source.isMarked() }
      var done: [MarkingKind: Int] = [:]
      var number = 0
      func mark(_ text: String) throws {
        try source.mark(text)
        // Every other time the click comes before the daemon has read anything.
        guard number.isMultiple(of: 2) else { return }
        try table.bridge.sync()
        let marked = try isMarked()
        #expect(marked, "\(kind): marked until the click")
        #expect(try table.bridge.status(of: "PRIMARY").text("state") == "left")
      }

      for _ in 0..<Self.rounds {
        for target in table.targets {
          number += 1
          try target.clear()
          try mark("open \(number)")
          let owner = try table.owner()
          #expect(try table.pastes("open \(number)", into: target), "\(kind) → \(target.kind), allowed")
          #expect(try table.owner() == owner, "left with its source")
          let marked = try isMarked()
          #expect(marked, "\(kind): marked after a click that takes nothing")
          done[target.kind, default: 0] += 1
        }
      }

      try table.bridge.replacePolicy(Self.stays)
      for _ in 0..<Self.rounds {
        for target in table.targets {
          number += 1
          try target.clear()
          try mark("shut \(number)")
          let (owner, before) = (try table.owner(), try table.refusals())
          try target.middleClick()
          #expect(try waitUntil(within: 3) { try table.refusals() > before }, "\(kind) → \(target.kind): said")
          #expect(try target.content() == "", "\(kind) → \(target.kind), denied")
          #expect(try table.owner() == owner)
          let marked = try isMarked()
          #expect(marked, "\(kind): marked after a refusal")
          done[target.kind, default: 0] += 1
        }
      }
      for target in table.targets { #expect(try target.content() == "", "and nothing came later") }

      try table.bridge.replacePolicy(Self.shortMayLeave)
      for _ in 0..<Self.rounds {
        for target in table.targets {
          number += 1
          try target.clear()
          let isShort = Bool.random()
          let text = isShort ? "short \(number)" : "too long to leave \(number)"
          try mark(text)
          if isShort {
            #expect(try table.pastes(text, into: target), "\(kind) → \(target.kind), judged by its content")
          } else {
            let before = try table.refusals()
            try target.middleClick()
            #expect(try waitUntil(within: 3) { try table.refusals() > before }, "\(kind) → \(target.kind): said")
            #expect(try target.content() == "", "\(kind) → \(target.kind), refused for its content")
          }
          done[target.kind, default: 0] += 1
        }
      }
      print(
        "rounds from \(kind): "
          + MarkingKind.paired.map { "\($0) \(done[$0] ?? 0)" }.joined(separator: ", ")
          + "; clicks made again after press-timeout: \(table.misses)")
      try table.end()
    }

    @Test("marking and middle-clicking within one program is its own affair", arguments: MarkingKind.paired)
    func sameApp(kind: MarkingKind) throws {
      let table = try Table(kind, policy: Self.stays)
      defer { table.desktop.close() }
      for round in 1...2 {
        try table.source.clear()
        try table.source.mark("own \(round)\nrest")
        if round == 2 { try table.bridge.sync() }
        let owner = try table.owner()
        try table.source.middleClick()
        let wanted = kind == .xterm ? "own \(round)" : "own \(round)\nrestown \(round)"
        #expect(
          try waitUntil(within: 5) { try table.source.content() == wanted })
        #expect(try table.owner() == owner)
      }
      #expect(try table.takeovers() == 0)
      #expect(try table.bridge.audit().filter { $0.action == "paste" }.isEmpty)
      try table.end()
    }

    @Test(
      "nothing is taken while a button is down, however long; the text is there afterwards",
      arguments: MarkingKind.allCases)
    func dragging(kind: MarkingKind) throws {
      let table = try Table(kind, policy: Self.stays)
      defer { table.desktop.close() }
      try table.source.hold("dragged over", steps: 10, milliseconds: 25)
      // Longer than the quiet after which a selection counts as made.
      try table.bridge.sync()
      _ = try table.desktop.probe.summary("loop 4 TARGETS selection=_NOBODY interval=100")
      try table.bridge.sync()
      #expect(try table.takeovers() == 0)
      if kind != .xterm { #expect(try table.source.isMarked()) }
      try table.mouse.tell("up 1")
      #expect(
        try waitUntil(within: 5) {
          let status = try table.bridge.status(of: "PRIMARY")
          return status.text("state") == "left" && status.number("bytes") ?? 0 > 0
        })
      if kind != .xterm { #expect(try table.source.isMarked()) }
      #expect(try table.takeovers() == 0)
      try table.end()
    }

    @Test("Shift+Insert in a terminal pastes what is marked, or nothing", arguments: [MarkingKind.gtk, .xterm])
    func pasteKey(kind: MarkingKind) throws {
      // xterm asks for CUT_BUFFER0 where PRIMARY is refused, and sets it with every mark.
      let buffers = "\ncut-buffers: guard\n"
      let table = try Table(kind, pasting: [.xterm], policy: Self.elsewhere + buffers)
      defer { table.desktop.close() }
      let target = table.targets[0]
      func press() throws {
        let words = ["windowactivate", "--sync", target.window, "key", "shift+Insert"]
        #expect(try table.desktop.run("/usr/bin/xdotool", words).status == 0)
      }
      try table.source.mark("by key")
      try table.bridge.sync()
      try press()
      #expect(try waitUntil(within: 5) { try target.content() == "by key" })
      try target.clear()
      try table.bridge.replacePolicy(Self.stays + buffers)
      let before = try table.refusals()
      try press()
      #expect(try waitUntil(within: 5) { try table.refusals() > before }, "asked us, and was refused")
      #expect(try target.content() == "")
      #expect(try table.takeovers() == 1)
      try table.end()
    }

    @Test(
      "a terminal's highlight, by its picture, outlasts reading and a refused click",
      arguments: [MarkingKind.xterm, .vte])
    func pictures(kind: MarkingKind) throws {
      let table = try Table(kind, pasting: [.tk], policy: Self.stays)
      defer { table.desktop.close() }
      try table.source.load("highlighted")
      // A terminal without focus may look different.
      try table.targets[0].click(3)
      let plain = try #require(try table.source.restingPicture())
      try table.source.mark("highlighted")
      // Who has the pointer elsewhere before presses are listened to makes the daemon take it at once.
      try table.bridge.sync()
      try table.targets[0].click(3)
      let marked = try #require(try table.source.restingPicture(otherThan: plain), "the mark shows")
      try table.bridge.sync()
      // xterm's cut buffer was emptied, which is a refusal, too.
      let before = try table.refusals()
      try table.targets[0].middleClick()
      #expect(try waitUntil(within: 3) { try table.refusals() == before + 1 })
      #expect(try table.source.restingPicture() == marked)
      // The measure can tell: whoever takes PRIMARY ends the highlight.
      let other = try table.desktop.owner("selection PRIMARY", "target UTF8_STRING text:x")
      try other.claim()
      #expect(try table.source.restingPicture(otherThan: marked) != nil, "gone with the selection")
      try table.end()
    }

    @Test("marked text outlives its program, whatever the rules say of it", arguments: MarkingKind.paired)
    func afterExit(kind: MarkingKind) throws {
      let table = try Table(kind, pasting: [.tk], policy: Self.elsewhere)
      defer { table.desktop.close() }
      try table.source.mark("left behind")
      try table.bridge.sync()
      table.source.talker.quit()
      #expect(try waitUntil(within: 5) { try table.bridge.status(of: "PRIMARY").text("state") == "held" })
      #expect(try table.pastes("left behind", into: table.targets[0]))
      try table.end()
    }
  }
}
