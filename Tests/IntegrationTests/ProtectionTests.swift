import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// Copies of protected apps: nobody else reads them, and nobody stands still for longer than he must.
  @Suite(.serialized) struct ProtectionTests {
    private static let copies = 40

    /// On CLIPBOARD alone: with PRIMARY taken, GTK and Tk have nothing marked any more, and a key pressed again copies nothing.
    private static func policy(_ windowClass: String) -> String {
      """
      version: 1
      rules:
        - {name: protected, from: {class: \(windowClass)}, selection: clipboard, actions: [copy, cut], decision: allow, protect: true}
        - {name: not to sniffers, from: {class: \(windowClass)}, to: {exe: "**/xpb-sniffer"}, decision: deny}
      default: allow
      """
    }

    private func lock(_ scene: Scene) throws -> Event {
      let actions = try #require((try scene.bridge.json("status") as? [String: Any])?["actions"] as? [String: Any])
      return Event(try #require(actions["lock"] as? [String: Any]))
    }

    /// Copies one text by key, again where the key was swallowed or the copy was late because the machine was too busy;
    /// whether it came.
    private func copy(_ text: String, in editor: Editor, by hand: Keys, _ scene: Scene) throws -> Bool {
      try editor.load(text)
      try hand.tell("key \(Key.a.rawValue) ctrl")
      for _ in 0..<10 {
        let before = try lock(scene)
        // A key that comes sooner after the one before is taken for one that is held down.
        usleep(100_000)
        try hand.tell("key \(Key.c.rawValue) ctrl")
        let isHeld = try waitUntil(within: 3) {
          try scene.bridge.sync()
          return try scene.paster.text() == text
        }
        if isHeld { return true }
        let now = try lock(scene)
        guard now.number("swallowed") != before.number("swallowed") || now.number("lapsed") != before.number("lapsed")
        else { return false }
      }
      return false
    }

    @Test("no copy by key is read by a program that listens for it", arguments: [EditorKind.gtk, .qt, .tk])
    func listener(kind: EditorKind) throws {
      try Scene.run(policy: Self.policy(kind.windowClass)) { scene in
        let sniffer = try Sniffer.start("listen", on: scene.desktop)
        let hand = try Keys.silent(on: scene.desktop)
        let editor = try Editor(kind, on: scene.desktop)
        #expect(try editor.copiedText(wanted: EditorKind.text, by: scene.paster, within: 60) == EditorKind.text)
        let begun = try lock(scene)
        #expect(begun.text("standing") == "ready" && begun.number("windows") == 1)
        let before = try hand.priority(of: sniffer.window)
        for number in 0..<Self.copies {
          #expect(try copy("copy \(number)", in: editor, by: hand, scene), "copy \(number)")
        }
        let ended = try lock(scene)
        let taken = (ended.number("taken") ?? 0) - (begun.number("taken") ?? 0)
        #expect(taken >= Self.copies - (ended.number("lapsed") ?? 0) + (begun.number("lapsed") ?? 0))
        // The paste just made keeps others waiting, too.
        try scene.bridge.sync()
        #expect(try hand.priority(of: sniffer.window) == before)
        let read = try sniffer.end().filter { $0.hasPrefix("copy ") }
        // A lock that ended early let its copy go; on a machine at rest there is none.
        #expect(read.count <= (ended.number("lapsed") ?? 0) - (begun.number("lapsed") ?? 0), "\(read)")
      }
    }

    @Test("without protection the same program reads them: these tests can fail")
    func unprotected() throws {
      try Scene.run { scene in
        let sniffer = try Sniffer.start("listen", on: scene.desktop)
        let hand = try Keys.silent(on: scene.desktop)
        let editor = try Editor(.gtk, on: scene.desktop)
        #expect(try editor.copiedText(wanted: EditorKind.text, by: scene.paster, within: 60) == EditorKind.text)
        #expect(try lock(scene).text("standing") == "unneeded")
        for number in 0..<5 {
          try editor.load("copy \(number)")
          for key in [Key.a, .c] { try hand.tell("key \(key.rawValue) ctrl") }
          _ = try waitUntil(within: 10) { try scene.paster.text() == "copy \(number)" }
        }
        #expect(try sniffer.end().contains { $0.hasPrefix("copy ") })
      }
    }

    /// What a program that looks at the properties of all windows reads while `kind` pastes.
    private func watched(_ kind: ProgramKind, isProtected: Bool) throws -> (read: [String], lock: Event) {
      var found: (read: [String], lock: Event)?
      let policy = isProtected ? Self.policy("Locked") : "version: 1\ndefault: allow\n"
      try Scene.run(policy: policy) { scene in
        let reader = try WindowProgram(scene.desktop, kind, windowClass: "PasteReader")
        let text = String(repeating: "paste ", count: 20)
        // Qt takes a minute for one line as long as this.
        let large = text + String(repeating: String(repeating: "x", count: 99) + "\n", count: 6_000)
        let path = try scene.desktop.file("content", Data(text.utf8))
        let owner = try scene.copied("class locked Locked", "top", "target UTF8_STRING file:\(path)")
        // While the daemon reads a copy without a key its own windows can be read.
        let own = try scene.desktop.probe.ownerWindow() & ~0x1f_ffff
        let sniffer = try Sniffer.start("watch", on: scene.desktop)
        for _ in 0..<10 { #expect(try reader.paste(expecting: text.utf8.count) == Data(text.utf8)) }
        try Data(large.utf8).write(to: URL(fileURLWithPath: path))
        try owner.tell("target UTF8_STRING file:\(path)")
        try owner.claim()
        try scene.bridge.sync()
        #expect(try reader.paste(expecting: large.utf8.count) == Data(large.utf8), "incrementally")
        let read = try sniffer.end { ($0.number("window") ?? 0) & ~0x1f_ffff != own }
        found = (read, try lock(scene))
      }
      return try #require(found)
    }

    @Test("no paste is read out of its reader's window", arguments: [ProgramKind.gtk, .qt])
    func pasted(kind: ProgramKind) throws {
      let (read, lock) = try watched(kind, isProtected: true)
      // A lock that couldn't be had, or a reader that was slow: none on a machine at rest.
      let open = lock.number("openPastes") ?? 0
      #expect(lock.number("pastes") ?? 0 >= 11 - open)
      #expect(read.count { $0.hasPrefix("paste ") || $0.hasPrefix("xxx") } <= open, "\(read)")
    }

    @Test("without protection pastes are read so") func pastedInTheOpen() throws {
      #expect(try watched(.gtk, isProtected: false).read.contains { $0.hasPrefix("paste ") })
    }

    @Test("one that puts itself in front of everybody is put behind, and gets its place back")
    func evil() throws {
      try Scene.run(policy: Self.policy("EditorGtk")) { scene in
        let hand = try Keys.silent(on: scene.desktop)
        let editor = try Editor(.gtk, on: scene.desktop)
        let raised = try Sniffer.start("listen", on: scene.desktop)
        #expect(try editor.copiedText(wanted: EditorKind.text, by: scene.paster, within: 60) == EditorKind.text)
        try hand.tell("priority \(raised.window) \(Int32.max)")
        for number in 0..<10 { #expect(try copy("copy \(number)", in: editor, by: hand, scene)) }
        // The paste just made keeps others waiting, too.
        try scene.bridge.sync()
        #expect(try hand.priority(of: raised.window) == Int(Int32.max), "as before")
        let lapsed = try lock(scene).number("lapsed") ?? 0
        #expect(try raised.end().count { $0.hasPrefix("copy ") } <= lapsed)
      }
    }

    @Test("a key that copies nothing keeps others for a moment alone, and all keys arrive")
    func nothingCopied() throws {
      try Scene.run(policy: Self.policy("Locked")) { scene in
        let keys = try Keys.window("Locked", on: scene.desktop)
        let id = try window(of: keys)
        let free = try Keys.window("Free", on: scene.desktop)
        try scene.bridge.sync()
        #expect(try free.reaches(.c, "ctrl") && free.reaches(.x, "ctrl"), "another app's")
        #expect(try lock(scene).number("lapsed") == 0 && lock(scene).number("windows") == 1)
        try keys.tell("listen")
        let arrives = try waitUntil(within: 20) { try keys.reaches(.c, "ctrl") }
        #expect(arrives)
        let isOver = try waitUntil(within: 10) { try lock(scene).number("lapsed") ?? 0 >= 1 }
        #expect(isOver)
        #expect(try free.priority(of: id) == 0, "the app's own place, too")
        #expect(try keys.reaches(.v, "ctrl") && keys.reaches(.a))
        try scene.expectNextCopy()
      }
    }

    private func window(of keys: Keys) throws -> Int {
      try keys.tell("windows")
      return try keys.wait("windows").number("top") ?? 0
    }

    @Test("a copy that comes after its lock is refused and written down")
    func lateCopy() throws {
      try Scene.run(policy: Self.policy("Locked")) { scene in
        let hand = try Keys.silent(on: scene.desktop)
        let owner = try scene.desktop.owner("class locked Locked", "top", "focus", "target UTF8_STRING text:late")
        try scene.bridge.sync()
        _ = try waitUntil(within: 10) { try lock(scene).number("windows") == 1 }
        // It copies nothing by itself, so each lock lapses; what it claims within a second of one is late.
        let isRefused = try waitUntil(within: 30) {
          let lapsed = try lock(scene).number("lapsed") ?? 0
          try hand.tell("key \(Key.c.rawValue) ctrl")
          guard try waitUntil(within: 2, { try lock(scene).number("lapsed") ?? 0 > lapsed }) else { return false }
          try owner.claim()
          return try scene.bridge.hasAudited(limit: "lock-timeout")
            && scene.bridge.audit().contains { $0.outcome == "emptied" && $0.limit == "lock-timeout" }
        }
        #expect(isRefused)
        #expect(try scene.paster.text() == nil)
        // Without a key it is a copy like any other of its app.
        let isKept = try waitUntil(within: 20) {
          usleep(200_000)
          try owner.claim()
          try scene.bridge.sync()
          return try scene.paster.text() == "late"
        }
        #expect(isKept)
      }
    }

    @Test("a daemon that is killed or stopped in the middle keeps nobody waiting, and the next puts all in order")
    func killedInTheMiddle() throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let first = try Bridge(on: desktop, policy: Self.policy("Locked"))
      let keys = try Keys.window("Locked", on: desktop)
      let id = try window(of: keys)
      let free = try Keys.window("Free", on: desktop)
      try keys.tell("listen")
      try first.sync()
      // The source's place tells that others have to wait; each round is one attempt to meet the daemon there.
      let isMet = try waitUntil(within: 30) {
        try keys.tell("key \(Key.c.rawValue) ctrl")
        first.child.signal(SIGSTOP)
        if try free.priority(of: id) != 0 { return true }
        first.child.signal(SIGCONT)
        try first.sync()
        return false
      }
      #expect(isMet)
      // It stands still, so nobody fills up what keeps the server busy: others go on.
      let begun = Deadline.now
      try free.tell("sync", within: 5)
      #expect((Deadline.now - begun) / 1_000_000 < 2_000)
      first.child.signal(SIGKILL)
      first.child.signal(SIGCONT)
      _ = try first.child.exitStatus(within: 5)
      #expect(try keys.reaches(.a) && keys.reaches(.c, "ctrl"))
      #expect(try free.priority(of: id) != 0, "nobody has put it back yet")
      let second = try Bridge(on: desktop, policy: Self.policy("Locked"))
      #expect(try free.priority(of: id) == 0)
      try second.stop()
    }

    @Test("copies without a key are taken whole, first or last")
    func withoutKey() throws {
      try Scene.run(policy: Self.policy("EditorGtk")) { scene in
        let hand = try Keys.silent(on: scene.desktop)
        let editor = try Editor(.gtk, on: scene.desktop)
        #expect(try editor.copiedText(wanted: EditorKind.text, by: scene.paster, within: 60) == EditorKind.text)
        // The daemon learns from these that GTK answers after its loss.
        for number in 0..<4 { #expect(try copy("copy \(number)", in: editor, by: hand, scene)) }
        let path = scene.desktop.path("offered")
        for number in 0..<5 {
          try Data("offered \(number)".utf8).write(to: URL(fileURLWithPath: path))
          try editor.tell("offer UTF8_STRING=\(path) text/html=\(path)")
          let isHeld = try waitUntil(within: 10) {
            try scene.bridge.sync()
            return try scene.paster.text() == "offered \(number)"
          }
          #expect(isHeld, "copy \(number)")
        }
        let copies = try scene.bridge.audit().filter { $0.action == "copy" }
        // `text/html` was never asked for before the first of these; it is named, and there the next time.
        #expect(copies.suffix(4).allSatisfy { $0.outcome == "kept" })
        #expect(try scene.paster.text("text/html") == "offered 4")
      }
    }
  }
}
