import Foundation
import Testing

extension IntegrationTests {
  /// What is denied for good isn't even begun: keys are held back, and windows say so.
  @Suite(.serialized) struct ActionTests {
    private static let policy = FaultsK23KeysTests.policy

    private func allowed(_ window: Keys, _ scene: Scene) throws -> [String] {
      try window.tell("windows")
      let id = try window.wait("windows").number("top") ?? 0
      let shown = try scene.desktop.run("/usr/bin/xprop", ["-id", "\(id)", "_XPASTEBRIDGE_ALLOWED_ACTIONS"])
      let text = String(decoding: shown.output, as: UTF8.self)
      guard text.contains("(ATOM)") else { return ["none written"] }
      let names = text.split(separator: "=").last ?? ""
      return names.split(separator: ",").map { String($0.filter { !$0.isWhitespace }) }.filter { !$0.isEmpty }
        .map { $0.replacingOccurrences(of: "_XPASTEBRIDGE_ACTION_", with: "") }
    }

    @Test("every window says what its app may do, and goes on saying it when the policy changes")
    func allowedActions() throws {
      try Scene.run(policy: Self.policy) { scene in
        let (locked, free) = (try Keys.window("Locked", on: scene.desktop), try Keys.window("Free", on: scene.desktop))
        try scene.bridge.sync()
        #expect(try allowed(locked, scene) == [])
        #expect(try allowed(free, scene) == ["COPY", "CUT", "PASTE"])
        try scene.bridge.replacePolicy(
          "version: 1\nrules: [{name: n, apps: {class: Free}, actions: cut, decision: deny}]\ndefault: allow\n")
        #expect(try allowed(locked, scene) == ["COPY", "CUT", "PASTE"])
        #expect(try allowed(free, scene) == ["COPY", "PASTE"] && !free.reaches(.x, "ctrl") && free.reaches(.c, "ctrl"))
        let late = try Keys.window("Late", on: scene.desktop)
        try scene.bridge.replacePolicy(Bridge.allowAll)
        try free.tell("listen")
        #expect(try free.reaches(.x, "ctrl"))
        #expect(try allowed(late, scene) == ["COPY", "CUT", "PASTE"])
        // A program gets the number of one that has just gone.
        late.quit()
        let next = try Keys.window("Next", on: scene.desktop)
        try scene.bridge.sync()
        #expect(try allowed(next, scene) == ["COPY", "CUT", "PASTE"])
      }
    }

    @Test("windows that were there before the daemon")
    func earlierWindows() throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let keys = try Keys.window("Locked", on: desktop)
      #expect(try keys.reaches(.c, "ctrl"), "without a daemon")
      let bridge = try Bridge(on: desktop, policy: Self.policy)
      #expect(try !keys.reaches(.c, "ctrl"))
      try bridge.stop()
      #expect(try keys.reaches(.c, "ctrl"), "the daemon is gone, and its keys are free")
    }

    @Test("a class that comes late, and one that goes")
    func lateClass() throws {
      try Scene.run(policy: Self.policy) { scene in
        let keys = try Keys.window("Starting", on: scene.desktop)
        try scene.bridge.sync()
        #expect(try keys.reaches(.c, "ctrl"))
        try keys.tell("class locked Locked")
        try keys.tell("sync")
        try scene.bridge.sync()
        #expect(try !keys.reaches(.c, "ctrl"))
        #expect(try allowed(keys, scene) == [])
        try keys.tell("class other Other")
        try keys.tell("sync")
        try scene.bridge.sync()
        #expect(try keys.reaches(.c, "ctrl"))
      }
    }

    @Test("a popup past the window manager, that takes the keyboard")
    func popup() throws {
      try Scene.run(policy: Self.policy) { scene in
        let keys = try Keys.window("Locked", on: scene.desktop)
        try keys.tell("popup")
        try scene.bridge.sync()
        #expect(try keys.reaches(.a, "ctrl"))
        #expect(keys.events.last { $0.name == "key" }?.text("window") == "popup")
        #expect(try !keys.reaches(.x, "ctrl"))
      }
    }

    @Test("frames are the window manager's: a rule about everybody else reaches no app through them")
    func frames() throws {
      let policy = """
        version: 1
        rules: [{name: only Free copies, apps: {not: {class: Free}}, actions: [copy, cut], decision: deny}]
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        let (free, other) = (try Keys.window("Free", on: scene.desktop), try Keys.window("Other", on: scene.desktop))
        try scene.bridge.sync()
        #expect(try !other.reaches(.c, "ctrl"))
        try free.tell("listen")
        #expect(try free.reaches(.c, "ctrl") && free.reaches(.x, "ctrl"))
      }
    }

    @Test("without a window manager")
    func bareServer() throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop, policy: Self.policy)
      let keys = try Keys.window("Locked", on: desktop)
      try bridge.sync()
      #expect(try !keys.reaches(.c, "ctrl") && keys.reaches(.a, "ctrl"))
      try bridge.stop()
    }

    @Test("windows on another screen of the display")
    func otherScreen() throws {
      let desktop = try Desktop(windowManager: false, screens: 2)
      defer { desktop.close() }
      let earlier = try Keys.window("Locked", on: desktop, screen: 1)
      let bridge = try Bridge(on: desktop, policy: Self.policy)
      let (later, free) = (
        try Keys.window("Locked", on: desktop, screen: 1), try Keys.window("Free", on: desktop, screen: 1)
      )
      try bridge.sync()
      #expect(try free.reaches(.c, "ctrl"))
      for keys in [earlier, later] {
        try keys.tell("listen")
        #expect(try !keys.reaches(.c, "ctrl") && keys.reaches(.a, "ctrl"))
      }
      try bridge.stop()
    }

    /// A passive grab doesn't fire while somebody holds the whole keyboard: the holder gets the key, and the copy that may
    /// follow is refused all the same.
    @Test("an open menu, and a client that holds the keyboard: nothing stands still, and it works again afterwards")
    func heldKeyboard() throws {
      try Scene.run(policy: Self.policy) { scene in
        let keys = try Keys.window("Locked", on: scene.desktop)
        try scene.bridge.sync()
        try keys.tell("hold")
        #expect(try keys.reaches(.c, "ctrl") && keys.reaches(.a))
        try keys.tell("release")
        #expect(try !keys.reaches(.c, "ctrl") && keys.reaches(.a))
        let other = try Keys.window("Other", on: scene.desktop)
        try other.tell("hold")
        #expect(try other.reaches(.c, "ctrl") && other.reaches(.a))
        try other.tell("release")
        try keys.tell("listen")
        #expect(try !keys.reaches(.c, "ctrl") && keys.reaches(.a))
      }
    }

    /// Whoever types fast presses the next key before the last one is up.
    @Test("keys pressed while a held-back one is still down reach the program")
    func rollover() throws {
      try Scene.run(policy: Self.policy) { scene in
        let keys = try Keys.window("Locked", on: scene.desktop)
        try scene.bridge.sync()
        try keys.tell("down 37")
        try keys.tell("down \(Key.c.rawValue)")
        // The daemon lets the keyboard go as soon as it hears of the key.
        try scene.bridge.sync()
        try keys.tell("up 37")
        #expect(try keys.reaches(.a))
        try keys.tell("up \(Key.c.rawValue)")
        #expect(keys.count("key") { $0.number("code") == Key.c.rawValue } == 0)
        let records = try scene.bridge.audit().filter { $0.outcome == "refused-by-key" }
        #expect(records.map(\.action) == ["copy"], "once, however long it is held")
        #expect(records.first?.source?.windowClass == "Locked" && records.first?.decision == "deny")
      }
    }

    /// The server gives a key to whoever asked last by either way, and tells nobody.
    @Test("keys that somebody has taken through the X Input Extension are ours again when the window becomes active")
    func takenByExtension() throws {
      try Scene.run(policy: Self.policy) { scene in
        let keys = try Keys.window("Locked", on: scene.desktop)
        try scene.bridge.sync()
        func isHeldBack(_ key: Key, _ action: String) throws -> Bool {
          #expect(try !keys.reaches(key, "ctrl"))
          return try scene.bridge.audit().contains { $0.outcome == "refused-by-key" && $0.action == action }
        }
        #expect(try isHeldBack(.c, "copy"))
        try keys.tell("xi-grab \(Key.x.rawValue) 4")
        #expect(try !isHeldBack(.x, "cut"), "this test can fail")
        let other = try Keys.window("Other", on: scene.desktop)
        for window in [other, keys] {
          try window.tell("focus")
          try window.tell("windows")
          let top = try window.wait("windows").number("top") ?? 0
          let isActive = try waitUntil(within: 10) {
            let shown = try scene.desktop.run("/usr/bin/xprop", ["-root", "_NET_ACTIVE_WINDOW"])
            return String(decoding: shown.output, as: UTF8.self).contains("0x" + String(top, radix: 16))
          }
          #expect(isActive)
        }
        try keys.tell("listen")
        try scene.bridge.sync()
        #expect(try isHeldBack(.x, "cut"))
      }
    }

    @Test("`can` and its exit status")
    func can() throws {
      try Scene.run(policy: Self.policy) { scene in
        let keys = try Keys.window("Locked", on: scene.desktop)
        let free = try Keys.window("Free", on: scene.desktop)
        try scene.bridge.sync()
        try keys.tell("windows")
        let id = String(try keys.wait("windows").number("top") ?? 0)
        let denied = try scene.bridge.command("can", "cut", id)
        #expect(denied.status == 1 && String(decoding: denied.output, as: UTF8.self) == "no\n")
        try free.tell("focus")
        let isActive = try waitUntil(within: 5) { try scene.bridge.command("can", "cut").status == 0 }
        #expect(isActive, "the active window is meant")
        let json = try scene.bridge.command("can", "paste", id, "--json")
        #expect(
          json.status == 1 && String(decoding: json.output, as: UTF8.self) == "{\"schema\":1,\"allowed\":false}\n")
        #expect(try scene.bridge.command("can", "cut", "0x7fffffff").status == 1)
        #expect(try scene.bridge.command("can", "drag").status == 2)
        #expect(try scene.bridge.command("can", "cut", "window").status == 2)
      }
    }

    @Test("`keys:` of a policy")
    func keysOfGroups() throws {
      let policy = """
        version: 1
        groups: {g: [{class: Locked}]}
        rules: [{name: n, apps: g, actions: [copy, cut], decision: deny}]
        keys: {g: {set: terminal, cut: Ctrl+I}}
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        let keys = try Keys.window("Locked", on: scene.desktop)
        try scene.bridge.sync()
        #expect(try keys.reaches(.c, "ctrl") && keys.reaches(.x, "ctrl"))
        #expect(try !keys.reaches(.c, "ctrl", "shift") && !keys.reaches(.i, "ctrl"))
        let shown = String(decoding: try scene.bridge.command("policy", "show").output, as: UTF8.self)
        #expect(shown.contains("`keys of g`: terminal; cut: Ctrl+I"), "\(shown)")
      }
    }
  }

  /// Cut as an action of its own.
  @Suite(.serialized) struct CutTests {
    private static let policy = """
      version: 1
      rules:
        - {name: text stays, apps: {class: Editor}, actions: cut, targets: text, decision: deny}
      default: allow
      """

    /// The owner's own window has the keyboard, a key is pressed, and it claims.
    private func claim(
      _ scene: Scene, _ key: Key, _ modifiers: String, text: String, while isBusy: () throws -> Void = {}
    ) throws -> AuditLine {
      let owner = try scene.desktop.owner("class editor Editor", "target UTF8_STRING text:\(text)")
      try owner.tell("focus")
      try owner.tell("windows")
      let top = String(try owner.wait("windows") { $0.number("top") != 0 }.number("top") ?? 0)
      _ = try scene.desktop.run("/usr/bin/xdotool", ["windowactivate", "--sync", top])
      let hand = try Keys.silent(on: scene.desktop)
      try scene.bridge.sync()
      try isBusy()
      try hand.tell("key \(key.rawValue) \(modifiers)")
      try owner.claim()
      let line = try scene.bridge.audit().last { ["copy", "cut"].contains($0.action) }
      owner.quit()
      return try #require(line)
    }

    @Test("a claim right after the cut key is a cut, any other is a copy")
    func byKey() throws {
      try Scene.run(policy: Self.policy) { scene in
        let cut = try claim(scene, .x, "ctrl", text: "cut")
        #expect(cut.action == "cut" && cut.outcome == "emptied" && cut.rule == "text stays", "\(cut)")
        #expect(try scene.paster.text() == nil)
        let copy = try claim(scene, .c, "ctrl", text: "copied")
        #expect(copy.action == "copy" && copy.outcome == "kept")
        #expect(try scene.paster.text() == "copied")
        let other = try claim(scene, .a, "ctrl", text: "menu")
        #expect(other.action == "copy", "by a menu it can't be told")
        let deleted = try claim(scene, .delete, "shift", text: "cut")
        #expect(deleted.action == "cut")
        let status = try scene.bridge.json("status") as? [String: Any]
        #expect((status?["actions"] as? [String: Any])?["followsCuts"] as? Bool == true)
      }
    }

    @Test("a cut key that another program's grab has taken makes nobody's copy a cut")
    func taken() throws {
      try Scene.run(policy: Self.policy) { scene in
        let other = try Keys.silent(on: scene.desktop)
        // As programs for hot keys do it, and as menus and screen lockers do.
        let grabs = [("grab \(Key.x.rawValue) 4", "ungrab \(Key.x.rawValue) 4"), ("hold", "release")]
        for (grab, ungrab) in grabs {
          let copy = try claim(scene, .x, "ctrl", text: "copied") { try other.tell(grab) }
          #expect(copy.action == "copy" && copy.outcome == "kept", "\(grab)")
          #expect(try scene.paster.text() == "copied")
          try other.tell(ungrab)
          let cut = try claim(scene, .x, "ctrl", text: "cut")
          #expect(cut.action == "cut" && cut.outcome == "emptied", "\(ungrab)")
        }
      }
    }

    @Test("keys of another window make nobody's copy a cut, and keys aren't followed without need")
    func elsewhere() throws {
      try Scene.run(policy: Self.policy) { scene in
        let typist = try Keys.window("Typist", on: scene.desktop)
        let owner = try scene.desktop.owner("class editor Editor", "target UTF8_STRING text:mine")
        try scene.bridge.sync()
        try typist.tell("listen")
        try typist.tell("key \(Key.x.rawValue) ctrl")
        try owner.claim()
        #expect(try scene.bridge.audit().last?.action == "copy")
        try scene.bridge.replacePolicy(Bridge.allowAll)
        let status = try scene.bridge.json("status") as? [String: Any]
        #expect((status?["actions"] as? [String: Any])?["followsCuts"] as? Bool == false)
      }
    }

    @Test("files that a file manager has cut")
    func files() throws {
      let policy = """
        version: 1
        rules: [{name: no files are moved, apps: {class: Files}, actions: cut, decision: deny}]
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        let kinds = [
          ("x-special/gnome-copied-files", "cut\\nfile:///a", "copy\\nfile:///a"),
          ("application/x-kde-cutselection", "1", "0"),
        ]
        for (target, cut, copy) in kinds {
          for (value, action) in [(cut, "cut"), (copy, "copy")] {
            let owner = try scene.copied(
              "class files Files", "target text/uri-list text:file:///a", "target \(target) text:\(value)")
            #expect(try scene.bridge.audit().last { ["copy", "cut"].contains($0.action) }?.action == action)
            let read = try scene.paster.text("text/uri-list")
            #expect(read == (action == "copy" ? "file:///a" : nil), "\(target) \(action)")
            owner.quit()
          }
        }
      }
    }
  }

  /// A screen locker reads nothing and its paste key isn't passed on (K27).
  @Suite(.serialized) struct FaultsK27LockerTests {
    @Test("B233: the locker's class asks CLIPBOARD: None")
    func locker() throws {
      let policy = """
        version: 1
        rules: [{name: nothing is pasted over the lock, to: {class: Locker}, decision: deny}]
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        _ = try scene.copied("target UTF8_STRING text:secret", "target text/html text:<b>")
        let locker = try scene.desktop.requestor("class locker Locker")
        for target in ["UTF8_STRING", "text/html", "STRING"] { #expect(try locker.paste(target) == nil) }
        #expect(try locker.targets()?.contains("UTF8_STRING") == false)
        #expect(try scene.paster.text() == "secret")
      }
    }

    /// A locker asks for PRIMARY without a click that would be noticed: `primary: own` has it in our hands before.
    @Test("B233: and PRIMARY, where the policy owns it: None")
    func lockerAsksPrimary() throws {
      let policy = """
        version: 1
        primary: own
        rules: [{name: nothing is pasted over the lock, to: {class: Locker}, decision: deny}]
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        let marker = try scene.desktop.owner("selection PRIMARY", "target UTF8_STRING text:secret")
        try marker.claim()
        #expect(try waitUntil(within: 10) { try marker.status(of: "PRIMARY").number("losses") == 1 })
        try scene.bridge.sync()
        let locker = try scene.desktop.requestor("class locker Locker")
        #expect(try locker.paste("UTF8_STRING", "selection=PRIMARY") == nil)
        #expect(try scene.paster.text("UTF8_STRING", "selection=PRIMARY") == "secret")
      }
    }
  }
}
