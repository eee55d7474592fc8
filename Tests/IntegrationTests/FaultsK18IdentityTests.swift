import Foundation
import Testing

extension IntegrationTests {
  /// The class is that of the client behind the window, read at the time of the decision, matched whole.
  @Suite(.serialized) struct K18Identity {
    private static func denyingCopy(of name: String) -> String {
      """
      version: 1
      rules:
        - name: \(name) keeps its content
          from: {class: \(name)}
          actions: [copy, cut]
          decision: deny
      default: allow
      """
    }

    private static func denyingPaste(to name: String) -> String {
      """
      version: 1
      rules:
        - name: nothing into \(name)
          to: {class: \(name)}
          decision: deny
      default: allow
      """
    }

    @Test("a hidden owner window has the class of its client's top-level: B158")
    func helperOwner() throws {
      try Scene.run(policy: Self.denyingCopy(of: "keepassxc")) { scene in
        let owner = try scene.copied("class keepassxc keepassxc", "target UTF8_STRING text:s")
        #expect(try scene.paster.convert("UTF8_STRING").text("state") == "refused")
        #expect(try owner.requests(for: "UTF8_STRING") == 0, "a denied source isn't asked")
      }
    }

    @Test("the owner decides, not the active window: B159")
    func backgroundOwner() throws {
      try Scene.run(policy: Self.denyingCopy(of: "Hidden")) { scene in
        let front = try scene.desktop.owner("class front Front", "focus")
        _ = try scene.copied("class hidden Hidden", "target UTF8_STRING text:s")
        try front.tell("sync")
        #expect(try scene.paster.convert("UTF8_STRING").text("state") == "refused")
      }
    }

    @Test("without any class the default decides: B160")
    func noClass() throws {
      try Scene.run(policy: Self.denyingCopy(of: "Other")) { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        #expect(try scene.paster.text() == "s")
      }
    }

    @Test("seen clients are shown with the class as it is: B161")
    func seenClasses() throws {
      try Scene.run(policy: Self.denyingCopy(of: "KeePassXC")) { scene in
        let owner = try scene.copied("class keepassxc org.keepassxc.KeePassXC", "target UTF8_STRING text:s")
        let text = String(describing: try scene.bridge.json("clients"))
        #expect(text.contains("org.keepassxc.KeePassXC"))
        _ = owner
      }
    }

    @Test("a class is matched whole and by case: B162", arguments: ["steam", "Postman", "ST", "s", "stx"])
    func wholeClass(name: String) throws {
      try Scene.run(policy: Self.denyingCopy(of: "st")) { scene in
        _ = try scene.copied("class a \(name)", "target UTF8_STRING text:s")
        #expect(try scene.paster.text() == "s")
      }
    }

    @Test("a class set later counts from then on: B164 B165")
    func lateClass() throws {
      try Scene.run(policy: Self.denyingCopy(of: "Late")) { scene in
        let owner = try scene.copied("top", "target UTF8_STRING text:one")
        #expect(try scene.paster.text() == "one")
        try owner.tell("class late Late")
        try owner.tell("target UTF8_STRING text:two")
        try owner.claim()
        try scene.bridge.sync()
        #expect(try scene.paster.convert("UTF8_STRING").text("state") == "refused")
      }
    }

    @Test("_NET_WM_PID is never believed: B168")
    func falsePid() throws {
      try Scene.run(policy: Self.denyingPaste(to: "Two")) { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        let one = try scene.desktop.requestor("class one One", "pid 2")
        let two = try scene.desktop.requestor("class two Two", "pid 2")
        #expect(try one.text() == "s")
        #expect(try two.text() == nil)
      }
    }

    @Test("a hidden requestor without class is its client, also with time 0: B171")
    func helperRequestor() throws {
      try Scene.run(policy: Self.denyingPaste(to: "jetbrains-idea")) { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        let java = try scene.desktop.requestor("class jetbrains-idea jetbrains-idea")
        let answer = try java.convert("UTF8_STRING", "from=fresh time=current")
        #expect(answer.text("state") == "refused")
        #expect(answer.flag("echo"))
        #expect(try scene.paster.text() == "s")
      }
    }

    @Test("the next client on the same window numbers is somebody else: B158 B168")
    func reusedNumbers() throws {
      try Scene.run(policy: Self.denyingPaste(to: "Gone")) { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        let gone = try scene.desktop.requestor("class gone Gone")
        #expect(try gone.text() == nil)
        gone.quit()
        let next = try scene.desktop.requestor()
        #expect(try next.text() == "s")
      }
    }

    @Test("requests that wait side by side are each answered for their own client")
    func waitingTogether() throws {
      try Scene.run(policy: Self.denyingPaste(to: "Denied")) { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        let denied = try scene.desktop.requestor("class denied Denied")
        // Met before, so that both are remembered, and once more with the requests of all of them waiting at once.
        for _ in 0..<2 {
          scene.bridge.child.signal(SIGSTOP)
          for _ in 0..<10 {
            try scene.paster.tell("many 3 UTF8_STRING from=fresh wait=no")
            try denied.tell("many 3 UTF8_STRING from=fresh wait=no")
          }
          try denied.tell("sync")
          scene.bridge.child.signal(SIGCONT)
          for _ in 0..<10 {
            #expect(try scene.paster.wait("summary").number("answered") == 3)
            #expect(try denied.wait("summary").number("refused") == 3)
          }
        }
      }
    }
  }
}
