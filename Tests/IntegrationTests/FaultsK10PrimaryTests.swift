import Foundation
import Testing

extension IntegrationTests {
  /// While a selection is being made the source must not lose it; only the final text counts. And what the other kinds say
  /// of PRIMARY.
  @Suite(.serialized) struct K10Primary {
    private static let restricted = """
      version: 1
      rules:
        - {name: stays, from: {class: Source}, to: {not: {class: Source}}, decision: deny}
      """

    private func marker(_ scene: Scene, _ commands: String...) throws -> Owner {
      let owner = try scene.desktop.owner("class source Source", "selection PRIMARY")
      for command in commands { try owner.tell(command) }
      return owner
    }

    private func copies(_ scene: Scene) throws -> [AuditLine] {
      try scene.bridge.audit().filter { $0.action == "copy" && $0.selection == "primary" }
    }

    @Test(
      "no step of a drag is taken or asked for, and one text comes of it: B098 B101",
      arguments: [Bridge.allowAll, restricted])
    func drag(policy: String) throws {
      try Scene.run(policy: policy) { scene in
        let mouse = try Mouse(on: scene.desktop)
        try mouse.tell("down 1")
        let owner = try marker(scene)
        for length in 1...20 {
          try owner.tell("target UTF8_STRING text:" + "Hello-world-of-drags".prefix(length))
          try owner.claim()
          usleep(20_000)
        }
        _ = try scene.paster.summary("loop 5 TARGETS selection=_NOBODY interval=100")
        let during = try owner.status(of: "PRIMARY")
        #expect(during.number("losses") == 0 && during.number("requests") == 0)
        try mouse.tell("up 1")
        #expect(try waitUntil(within: 5) { try copies(scene).count == 1 })
        try scene.bridge.sync()
        #expect(try copies(scene).count == 1, "one entry")
        #expect(try owner.status(of: "PRIMARY").number("losses") == 0)
        #expect(try owner.requests(for: "UTF8_STRING", on: "PRIMARY") == 1)
      }
    }

    @Test("steps by key count as one making, too: B099 B103")
    func keys() throws {
      try Scene.run(policy: Self.restricted) { scene in
        let owner = try marker(scene, "target UTF8_STRING text:abc")
        // A machine that stands still for longer than the guard waits ends one making and begins another.
        var makings = 1
        var claimed = Deadline.now
        for step in 0..<40 {
          try owner.tell("target UTF8_STRING text:" + String(repeating: "a", count: step + 1))
          try owner.claim()
          if Deadline.now - claimed > 130_000_000 { makings += 1 }
          claimed = Deadline.now
          usleep(step < 10 ? 50_000 : 30_000)
        }
        try scene.bridge.sync()
        let status = try owner.status(of: "PRIMARY")
        #expect(status.number("losses") == 0)
        let reads = try owner.requests(for: "UTF8_STRING", on: "PRIMARY")
        #expect((1...makings).contains(reads), "\(makings) makings")
        let copies = try copies(scene)
        #expect(copies.count == reads && copies.last?.bytes == 40 && copies.allSatisfy { $0.outcome == "left" })
      }
    }

    @Test("a copy of what is marked leaves the mark alone: B100")
    func copyOfTheSame() throws {
      try Scene.run { scene in
        let owner = try marker(scene, "target UTF8_STRING text:abc", "claim")
        try scene.bridge.sync()
        for command in ["selection CLIPBOARD", "target UTF8_STRING text:abc", "claim"] { try owner.tell(command) }
        try scene.bridge.sync()
        #expect(try owner.status(of: "PRIMARY").flag("owned"))
        #expect(try owner.status(of: "PRIMARY").number("losses") == 0)
        #expect(try owner.status(of: "CLIPBOARD").number("losses") == 1)
      }
    }

    @Test("marking A and copying B: the middle click gives A, the key B: B106 B073", arguments: ["guard", "own"])
    func notMixed(mode: String) throws {
      try Scene.run(policy: "version: 1\nprimary: \(mode)\n") { scene in
        let a = try marker(scene, "target UTF8_STRING text:A", "claim")
        _ = try scene.copied("target UTF8_STRING text:B")
        #expect(try scene.paster.text("UTF8_STRING", "selection=PRIMARY") == "A")
        #expect(try scene.paster.text() == "B")
        #expect(try a.status(of: "PRIMARY").flag("owned") == (mode == "guard"))
        a.quit()
        #expect(try waitUntil(within: 5) { try scene.bridge.status(of: "PRIMARY").text("state") == "held" })
        #expect(try scene.paster.text("UTF8_STRING", "selection=PRIMARY") == "A", "after its end")
        #expect(try scene.paster.text() == "B")
      }
    }

    @Test("what both selections had is gone from both when both are cleared: B090", arguments: ["guard", "own"])
    func bothCleared(mode: String) throws {
      try Scene.run(policy: "version: 1\nprimary: \(mode)\n") { scene in
        let owner = try scene.desktop.owner()
        for selection in ["CLIPBOARD", "PRIMARY"] {
          for command in ["selection \(selection)", "target UTF8_STRING text:S", "claim"] { try owner.tell(command) }
        }
        try scene.bridge.sync()
        for command in ["clear", "selection CLIPBOARD", "clear"] { try owner.tell(command) }
        try scene.bridge.sync()
        for selection in ["CLIPBOARD", "PRIMARY"] {
          #expect(try scene.paster.convert("UTF8_STRING", "selection=\(selection)").text("state") == "refused")
        }
        #expect(try scene.desktop.probe.ownerWindow(of: "PRIMARY") == 0, "nobody takes it again")
      }
    }

    @Test("an owner that stands still costs PRIMARY nothing: B021")
    func stoppedOwner() throws {
      try Scene.run(policy: "version: 1\nprimary: own\n") { scene in
        let stopped = try scene.claimed("target TARGETS do=stop")
        _ = try marker(scene, "target UTF8_STRING text:marked", "claim")
        #expect(try waitUntil(within: 5) { try scene.bridge.status(of: "PRIMARY").text("state") == "held" })
        #expect(try scene.paster.text("UTF8_STRING", "selection=PRIMARY") == "marked")
        stopped.child.signal(SIGCONT)
      }
    }

    @Test(
      "a locker that may not paste gets neither selection where PRIMARY is owned or its source protected: B233",
      arguments: ["primary: own", "primary: guard"])
    func locker(mode: String) throws {
      let policy = """
        version: 1
        \(mode)
        rules:
          - {name: locker, to: {class: Locker}, decision: deny}
          - {name: kept close, from: {class: Source}, actions: [copy], decision: allow, protect: true}
        """
      try Scene.run(policy: policy) { scene in
        _ = try marker(scene, "target UTF8_STRING text:marked", "claim")
        _ = try scene.copied("target UTF8_STRING text:copied")
        let locker = try scene.desktop.requestor("class locker Locker")
        for selection in ["CLIPBOARD", "PRIMARY"] {
          #expect(try locker.convert("UTF8_STRING", "selection=\(selection)").text("state") == "refused")
        }
        #expect(try scene.paster.text("UTF8_STRING", "selection=PRIMARY") == "marked")
      }
    }

    @Test("a source that may not copy has no PRIMARY, and is asked for nothing")
    func denied() throws {
      let policy = """
        version: 1
        secondary: guard
        rules:
          - {name: nothing leaves, from: {class: Source}, actions: [copy], decision: deny}
        """
      try Scene.run(policy: policy) { scene in
        for selection in ["PRIMARY", "SECONDARY"] {
          let owner = try marker(scene, "selection \(selection)", "target UTF8_STRING text:secret", "claim")
          try scene.bridge.sync()
          let status = try owner.status(of: selection)
          #expect(status.number("losses") == 1 && status.number("requests") == 0)
          #expect(try scene.paster.convert("UTF8_STRING", "selection=\(selection)").text("state") == "refused")
        }
        let lines = try scene.bridge.audit().filter { $0.action == "copy" }
        #expect(lines.map(\.selection) == ["primary", "secondary"] && lines.allSatisfy { $0.outcome == "emptied" })
      }
    }

    @Test("a rule about one selection leaves the other alone")
    func ruleAboutOne() throws {
      let policy = """
        version: 1
        rules:
          - {name: no marks, from: {class: Source}, selection: primary, actions: [copy], decision: deny}
        """
      try Scene.run(policy: policy) { scene in
        let owner = try marker(scene, "target UTF8_STRING text:secret", "claim", "selection CLIPBOARD")
        for command in ["target UTF8_STRING text:copied", "claim"] { try owner.tell(command) }
        try scene.bridge.sync()
        #expect(try scene.paster.convert("UTF8_STRING", "selection=PRIMARY").text("state") == "refused")
        #expect(try scene.paster.text() == "copied")
      }
    }

    @Test("cut buffers of an app that may not copy are emptied when they are guarded", arguments: ["guard", "off"])
    func cutBuffers(mode: String) throws {
      let policy = """
        version: 1
        cut-buffers: \(mode)
        rules:
          - {name: nothing leaves, from: {class: Source}, actions: [copy], decision: deny}
        """
      try Scene.run(policy: policy) { scene in
        func buffer() throws -> String {
          let answer = try scene.desktop.run("/usr/bin/xprop", ["-root", "CUT_BUFFER0"])
          return String(decoding: answer.output, as: UTF8.self)
        }
        func set(_ text: String) throws {
          let words = ["-root", "-f", "CUT_BUFFER0", "8s", "-set", "CUT_BUFFER0", text]
          _ = try scene.desktop.run("/usr/bin/xprop", words)
          try scene.bridge.sync()
        }
        /// The buffer is judged as the active window's, and which that is the window manager says a little later.
        func activate(_ owner: Owner) throws {
          try owner.tell("focus")
          try owner.tell("windows")
          let top = String(try owner.wait("windows").number("top") ?? 0, radix: 16)
          let isActive = try waitUntil(within: 10) {
            let answer = try scene.desktop.run("/usr/bin/xprop", ["-root", "_NET_ACTIVE_WINDOW"])
            return String(decoding: answer.output, as: UTF8.self).contains("0x\(top)")
          }
          #expect(isActive)
        }
        try activate(try scene.desktop.owner("class other Other", "top"))
        try set("free")
        #expect(try buffer().contains("free"))
        try activate(try marker(scene, "top"))
        try set("secret")
        #expect(try buffer().contains("secret") == (mode == "off"))
        let lines = try scene.bridge.audit().filter { $0.selection == "CUT_BUFFER0" }
        #expect(lines.map(\.outcome) == (mode == "off" ? [] : ["emptied"]))
      }
    }

    @Test(
      "copies that toolkits keep on the root window are emptied without a mode, and left with `off`",
      arguments: ["", "cut-buffers: off"], ["SDL_CUTBUFFER", "_MOTIF_CLIP_DATA_1", "_MOTIF_CLIP_ITEM_2"])
    func copiesOfToolkits(mode: String, property: String) throws {
      let policy = """
        version: 1
        \(mode)
        rules:
          - {name: nothing leaves, from: {class: Source}, actions: [copy], decision: deny}
        """
      try Scene.run(policy: policy) { scene in
        func isSet() throws -> Bool {
          let answer = try scene.desktop.run("/usr/bin/xprop", ["-root", property])
          return String(decoding: answer.output, as: UTF8.self).contains("=")
        }
        func copy(_ name: String) throws {
          let owner = try scene.desktop.owner("class \(name.lowercased()) \(name)", "top")
          try owner.tell("focus")
          try owner.tell("windows")
          let top = String(try owner.wait("windows").number("top") ?? 0, radix: 16)
          let isActive = try waitUntil(within: 10) {
            let answer = try scene.desktop.run("/usr/bin/xprop", ["-root", "_NET_ACTIVE_WINDOW"])
            return String(decoding: answer.output, as: UTF8.self).contains("0x\(top)")
          }
          #expect(isActive)
          try owner.tell("root \(property) content")
          // Whose it is goes by the active window, so the program ends after the daemon has heard of it.
          try scene.bridge.sync()
          try owner.tell("quit")
        }
        try copy("Other")
        #expect(try isSet())
        try copy("Source")
        #expect(try isSet() == !mode.isEmpty)
        let lines = try scene.bridge.audit().filter { $0.selection == property }
        #expect(lines.map(\.outcome) == (mode.isEmpty ? ["emptied"] : []))
      }
    }

    @Test("drag and drop is nobody's business: B231")
    func dragAndDrop() throws {
      try Scene.run(policy: "version: 1\nprimary: own\n") { scene in
        let owner = try scene.desktop.owner("selection XdndSelection", "target text/uri-list text:file:///a")
        try owner.claim()
        _ = try scene.copied("target UTF8_STRING text:other")
        #expect(try scene.paster.text("text/uri-list", "selection=XdndSelection") == "file:///a")
        let status = try owner.status(of: "XdndSelection")
        #expect(status.flag("owned") && status.number("losses") == 0)
        #expect(try owner.requests(for: "TARGETS", on: "XdndSelection") == 0)
      }
    }

    @Test("a policy that turns PRIMARY off lets it go, and one that turns it on takes it up")
    func reloaded() throws {
      try Scene.run(policy: "version: 1\nprimary: own\n") { scene in
        let owner = try marker(scene, "target UTF8_STRING text:one", "claim")
        try scene.bridge.sync()
        #expect(try owner.status(of: "PRIMARY").flag("owned") == false)
        try scene.bridge.replacePolicy("version: 1\nprimary: off\n")
        #expect(try scene.desktop.probe.ownerWindow(of: "PRIMARY") == 0)
        try owner.claim()
        try scene.bridge.replacePolicy("version: 1\nprimary: own\n")
        #expect(try waitUntil(within: 5) { try scene.bridge.status(of: "PRIMARY").text("state") == "held" })
        #expect(try scene.paster.text("UTF8_STRING", "selection=PRIMARY") == "one")
      }
    }
  }
}
