import Foundation
import Testing

extension IntegrationTests {
  /// Keys are held back whatever the layout and the lock keys say (K23).
  @Suite(.serialized) struct FaultsK23KeysTests {
    /// Copies and cuts of this class are denied for good, and its pastes.
    static let policy = """
      version: 1
      rules:
        - {name: copies nothing, apps: {class: Locked}, actions: [copy, cut], decision: deny}
        - {name: pastes nothing, apps: {class: Locked}, actions: paste, same-app: true, decision: deny}
      default: allow
      """

    private func run(layout: String, variant: String? = nil, _ body: (Scene, Keys) throws -> Void) throws {
      try Scene.run(policy: Self.policy) { scene in
        try setLayout(layout, variant: variant, on: scene.desktop)
        let keys = try Keys.window("Locked", on: scene.desktop)
        try scene.bridge.sync()
        try body(scene, keys)
      }
    }

    private func setLayout(_ layout: String, variant: String? = nil, on desktop: Desktop) throws {
      let set = try desktop.run(
        "/usr/bin/setxkbmap", ["-layout", layout, "-variant", variant ?? "", "-option", ""])
      #expect(set.status == 0, "setxkbmap \(layout)")
    }

    @Test("B218: NumLock and CapsLock, alone and together")
    func locks() throws {
      try run(layout: "us") { _, keys in
        for caps in ["no", "yes"] {
          for num in ["no", "yes"] {
            try keys.tell("lock caps \(caps)")
            try keys.tell("lock num \(num)")
            let state = "caps \(caps), num \(num)"
            for key in [Key.c, .x, .v] { #expect(try !keys.reaches(key, "ctrl"), "\(key), \(state)") }
            for key in [Key.insert, .delete] { #expect(try !keys.reaches(key, "shift"), "\(key), \(state)") }
            #expect(try !keys.reaches(.insert, "ctrl"), "\(state)")
            #expect(try keys.reaches(.a, "ctrl") && keys.reaches(.c) && keys.reaches(.c, "shift"), "\(state)")
            // With Num Lock it is a digit, which nobody copies by.
            #expect(try keys.reaches(.keypadInsert, "ctrl") == (num == "yes"), "\(state)")
          }
        }
      }
    }

    @Test("B220: a key that somebody else has is told, and all others are held back")
    func occupied() throws {
      try Scene.run(policy: Self.policy) { scene in
        let keys = try Keys.window("Locked", on: scene.desktop)
        try keys.tell("grab \(Key.x.rawValue) 4")
        // The window is new to a daemon that starts now, and the key is taken.
        let later = try Keys.window("Locked", on: scene.desktop)
        try scene.bridge.replacePolicy(Bridge.allowAll)
        try scene.bridge.replacePolicy(Self.policy)
        let actions = try #require((try scene.bridge.json("status") as? [String: Any])?["actions"] as? [String: Any])
        let occupied = (actions["occupied"] as? [[String: Any]] ?? []).map { Event($0) }
        #expect(occupied.map { $0.list("keys") } == [["Ctrl+X"]])
        #expect(occupied.first?.object("app")?.object("class")?.text("value") == "Locked")
        #expect(try !later.reaches(.x, "ctrl") && !later.reaches(.c, "ctrl"))
        let text = String(decoding: try scene.bridge.command("status").output, as: UTF8.self)
        #expect(text.contains("Ctrl+X"), "\(text)")
      }
    }

    @Test("B221: another layout while the daemon runs")
    func newLayout() throws {
      try run(layout: "us") { scene, keys in
        #expect(try !keys.reaches(.c, "ctrl") && keys.reaches(.i, "ctrl"))
        try setLayout("us", variant: "dvorak", on: scene.desktop)
        try scene.bridge.sync()
        // C is where I was, and where C was is J.
        #expect(try !keys.reaches(.i, "ctrl") && keys.reaches(.c, "ctrl"))
        #expect(try !keys.reaches(.b, "ctrl"), "X")
        try setLayout("de", on: scene.desktop)
        try scene.bridge.sync()
        #expect(try !keys.reaches(.c, "ctrl") && !keys.reaches(.x, "ctrl") && keys.reaches(.i, "ctrl"))
      }
    }

    @Test("B223: a layout without Latin letters")
    func cyrillic() throws {
      try run(layout: "ru") { scene, keys in
        try scene.bridge.sync()
        for key in [Key.c, .x, .v] { #expect(try !keys.reaches(key, "ctrl"), "\(key)") }
        #expect(try keys.reaches(.a, "ctrl") && keys.reaches(.c))
      }
    }

    @Test("B224: another group of the same layout")
    func groups() throws {
      try run(layout: "us,ru") { scene, keys in
        for group in [1, 0, 1] {
          try keys.tell("group \(group)")
          try scene.bridge.sync()
          for key in [Key.c, .x, .v] { #expect(try !keys.reaches(key, "ctrl"), "\(key), group \(group)") }
          #expect(try keys.reaches(.a, "ctrl"))
        }
        let cut = try scene.bridge.audit().last { $0.outcome == "refused-by-key" && $0.action == "cut" }
        #expect(cut?.rule == "copies nothing")
      }
    }

    @Test("two Latin layouts: the key of the other one is left alone")
    func twoLatinGroups() throws {
      try run(layout: "us,us", variant: ",dvorak") { scene, keys in
        #expect(try !keys.reaches(.c, "ctrl") && keys.reaches(.i, "ctrl"))
        try keys.tell("group 1")
        try scene.bridge.sync()
        #expect(try keys.reaches(.c, "ctrl") && !keys.reaches(.i, "ctrl"))
        try keys.tell("group 0")
        try scene.bridge.sync()
        #expect(try !keys.reaches(.c, "ctrl") && keys.reaches(.i, "ctrl"))
      }
    }
  }
}
