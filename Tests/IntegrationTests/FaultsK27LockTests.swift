import Foundation
import Testing

extension IntegrationTests {
  /// Nothing of ours keeps a screen from being locked (K27); what a locker may read is in `FaultsK27LockerTests`.
  @Suite(.serialized) struct FaultsK27LockTests {
    /// A locker that can't have keyboard and pointer gives up, and the screen stays open.
    @Test("a locker has keyboard and pointer at once, whatever is held back")
    func grabbing() throws {
      let policy = """
        version: 1
        rules:
          - {name: copies nothing, apps: {class: Locked}, actions: [copy, cut], decision: deny}
          - {name: pastes nothing, apps: {class: Locked}, actions: paste, same-app: true, decision: deny}
          - {name: not there, from: any, to: {class: Nobody}, decision: deny}
        """
      try Scene.run(policy: policy) { scene in
        let locker = try Mouse(on: scene.desktop)
        let marker = try scene.copied("class marker Marker", "selection PRIMARY", "target UTF8_STRING text:marked")
        // The last window that comes has the keyboard.
        let keys = try Keys.window("Locked", on: scene.desktop)
        let isGuarded = try waitUntil(within: 10) {
          try scene.bridge.status(of: "PRIMARY").text("trigger") == "middle-button"
        }
        #expect(isGuarded)
        func expectLocks(_ when: String) throws {
          let grabbed = try locker.tell("grab")
          #expect(grabbed.number("keyboard") == 0 && grabbed.number("pointer") == 0, "\(when): \(grabbed)")
          try locker.tell("ungrab")
        }
        try expectLocks("at rest")
        for round in 1...10 {
          #expect(try !keys.reaches(.c, "ctrl"))
          try scene.bridge.sync()
          try expectLocks("after a key that is held back, \(round)")
        }
        // While the screen is locked, what is pressed is the locker's, and the daemon goes on.
        let grabbed = try locker.tell("grab")
        #expect(grabbed.number("keyboard") == 0 && grabbed.number("pointer") == 0)
        try scene.expectNextCopy()
        try locker.tell("ungrab")
        #expect(try !keys.reaches(.c, "ctrl") && keys.reaches(.a, "ctrl"), "as before")
        marker.quit()
      }
    }
  }
}
