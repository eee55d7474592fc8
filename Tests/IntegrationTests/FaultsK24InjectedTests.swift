import Foundation
import Testing

extension IntegrationTests {
  /// Injected keys have exactly the wanted modifiers (K24). The daemon makes up no key and starts no program but itself:
  /// what it hands on is the person's own press of Shift+Insert, held back while PRIMARY is guarded.
  @Suite(.serialized) struct FaultsK24InjectedTests {
    private static let shift = 1

    /// What is marked by one app may not go elsewhere; another app pastes nothing at all.
    private static let policy = """
      version: 1
      rules:
        - {name: stays, from: {class: Marker}, to: {not: {class: [Marker, Friend]}}, decision: deny}
        - {name: pastes nothing, apps: {class: Locked}, actions: paste, same-app: true, decision: deny}
      default: allow
      """

    /// The modifiers with which Insert or another key has come, one for each press.
    private func states(_ key: Key, of window: Keys) -> [Int?] {
      window.events.filter { $0.name == "key" && $0.number("code") == key.rawValue }.map { $0.number("state") }
    }

    /// A guarded PRIMARY: both the button and the key are held back for a decision.
    private func guarded(_ scene: Scene) throws -> Owner {
      let marker = try scene.desktop.owner("class marker Marker", "selection PRIMARY", "target UTF8_STRING text:marked")
      try marker.claim()
      let isGuarded = try waitUntil(within: 10) {
        try scene.bridge.sync()
        let status = Event(try scene.bridge.json("status") as? [String: Any] ?? [:])
        return try status.object("presses")?.flag("heldBack") ?? false
          && scene.bridge.status(of: "PRIMARY").text("state") == "left"
      }
      #expect(isGuarded)
      return marker
    }

    @Test("B226: Shift+Insert that was held back arrives with Shift alone, once")
    func heldBackKey() throws {
      try Scene.run(policy: Self.policy) { scene in
        let friend = try Keys.window("Friend", on: scene.desktop)
        let marker = try guarded(scene)
        // The new window has taken the keyboard.
        try friend.tell("listen")
        for _ in 0..<5 { #expect(try friend.reaches(.insert, "shift")) }
        #expect(states(.insert, of: friend) == [Int?](repeating: Self.shift, count: 5))
        #expect(try marker.status(of: "PRIMARY").number("losses") == 0, "nothing was taken from its source")
      }
    }

    @Test("B227: with Ctrl and Alt held down the person's key arrives as it was pressed, and they stay down")
    func heldModifiers() throws {
      try Scene.run(policy: Self.policy) { scene in
        let friend = try Keys.window("Friend", on: scene.desktop)
        _ = try guarded(scene)
        try friend.tell("listen")
        // Control is 4 and Alt 8; with them the combination isn't the one that pastes.
        for code in [37, 64] { try friend.tell("down \(code)") }
        #expect(try friend.reaches(.insert, "shift"))
        #expect(try friend.reaches(.a))
        #expect(states(.insert, of: friend) == [4 | 8 | Self.shift] && states(.a, of: friend) == [4 | 8])
        for code in [37, 64] { try friend.tell("up \(code)") }
        #expect(try friend.reaches(.insert, "shift"))
        #expect(states(.insert, of: friend).last == Self.shift)
      }
    }

    /// The grab on the root for PRIMARY comes before the ones on an app's windows; both have their say.
    @Test("Shift+Insert beside a guarded PRIMARY: an app that pastes nothing doesn't get it, one that may does")
    func besideHeldBackActions() throws {
      try Scene.run(policy: Self.policy) { scene in
        let friend = try Keys.window("Friend", on: scene.desktop)
        let locked = try Keys.window("Locked", on: scene.desktop)
        _ = try scene.copied("target UTF8_STRING text:copied")
        let marker = try guarded(scene)
        try locked.tell("listen")
        #expect(try !locked.reaches(.insert, "shift") && !locked.reaches(.v, "ctrl") && locked.reaches(.insert))
        let held = try scene.bridge.audit().filter { $0.outcome == "refused-by-key" }
        #expect(held.map(\.action) == ["paste"] && held.map(\.rule) == ["pastes nothing"])
        try friend.tell("listen")
        #expect(try friend.reaches(.insert, "shift") && friend.reaches(.v, "ctrl"))
        let pasting = try scene.desktop.requestor("class friend Friend")
        #expect(try pasting.text() == "copied")
        #expect(try pasting.text("UTF8_STRING", "selection=PRIMARY") == "marked")
        // And when nothing is marked any more, all is as before.
        marker.quit()
        try scene.bridge.sync()
        try locked.tell("listen")
        #expect(try !locked.reaches(.insert, "shift"))
      }
    }
  }
}
