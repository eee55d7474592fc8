import Foundation
import Testing

extension IntegrationTests {
  /// A copy key held down in every program under every kind of refusal: `make held-keys`, seven minutes.
  @Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["XPB_HELD_KEYS"] != nil))
  struct HeldKeyTableTests {
    private static let holdMilliseconds = 3_000
    private static let pastes = 20
    private static let pauseMicroseconds: UInt32 = 500_000
    private static let handMicroseconds: UInt32 = 300_000

    /// Ways in which nothing of a program's may reach others.
    private enum Refusal: String, CaseIterable {
      case deny, ask, `private`, lockdown

      func policy(_ windowClass: String) -> String {
        let rule =
          switch self {
          case .deny, .ask:
            "{name: stays, from: {class: \(windowClass)}, to: {not: {class: \(windowClass)}}, decision: \(rawValue)}"
          case .private: "{name: stays, apps: {class: \(windowClass)}, actions: [copy, cut], decision: private}"
          case .lockdown: "{name: elsewhere, from: {class: Nobody}, decision: deny}"
          }
        return "version: 1\nrules:\n  - \(rule)\ndefault: allow\n"
      }
    }

    /// Holds the keys down in what has the focus; what others then got in 20 pastes, and how many copies there were.
    private func held(_ keys: [String], _ scene: Scene) throws -> (served: [String], copies: Int) {
      try scene.bridge.sync()
      let before = try copies(scene)
      let down = keys.flatMap { ["keydown", $0] }
      _ = try scene.desktop.run("/usr/bin/xdotool", down, within: 10)
      usleep(UInt32(Self.holdMilliseconds) * 1_000)
      _ = try scene.desktop.run("/usr/bin/xdotool", keys.reversed().flatMap { ["keyup", $0] }, within: 10)
      // What was pressed last is taken in by then; sooner nobody's hands get to another window.
      usleep(Self.handMicroseconds)
      var served: [String] = []
      for _ in 0..<Self.pastes {
        if let text = try scene.paster.text(), !text.isEmpty { served.append(text) }
        usleep(Self.pauseMicroseconds)
      }
      return (served, try copies(scene) - before)
    }

    private func copies(_ scene: Scene) throws -> Int {
      try scene.bridge.audit().count { $0.action == "copy" && $0.selection == "clipboard" }
    }

    private func check(
      _ name: String, _ windowClass: String, _ keys: [String], _ scene: Scene, prepare: () throws -> Void
    ) throws {
      for refusal in Refusal.allCases {
        try scene.bridge.replacePolicy(refusal.policy(windowClass))
        if refusal == .lockdown { #expect(try scene.bridge.command("lockdown", "on").status == 0) }
        try prepare()
        let (served, copies) = try held(keys, scene)
        print("held key: \(name), \(refusal.rawValue): \(copies) copies, \(Self.pastes) pastes, \(served.count) served")
        #expect(served.isEmpty, "\(name), \(refusal.rawValue): \(served.first ?? "")")
        // LibreOffice copies twice a second at most.
        #expect(copies > 1, "\(name), \(refusal.rawValue): the key repeated")
        if refusal == .lockdown { #expect(try scene.bridge.command("lockdown", "off").status == 0) }
      }
    }

    @Test("editors", arguments: [EditorKind.gtk, .qt, .tk, .writer, .firefox])
    func editors(kind: EditorKind) throws {
      try Scene.run { scene in
        let editor = try Editor(kind, on: scene.desktop)
        #expect(try editor.copiedText(wanted: EditorKind.text, by: scene.paster, within: 60) == EditorKind.text)
        try check(kind.rawValue, kind.windowClass, ["ctrl", "c"], scene) {
          try editor.press(kind.selectsAll)
          usleep(300_000)
        }
      }
    }

    @Test("a terminal") func terminal() throws {
      try Scene.run { scene in
        let xterm = try WindowProgram(scene.desktop, .xterm, windowClass: "HeldXterm")
        try xterm.copy(Data("held text".utf8))
        try check("xterm", "HeldXterm", ["ctrl", "shift", "c"], scene) {}
      }
    }

    @Test("a password manager's secret") func secret() throws {
      let policy = """
        version: 1
        rules:
          - {name: secrets stay, sensitive: true, to: {not: {class: KeePassXC}}, actions: paste, decision: deny}
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        let vault = try HeavyKind.keepassxc(clearingAfter: 60).start(on: scene.desktop)
        let path = try scene.desktop.file("secret", Data("a secret".utf8))
        try vault.load(.text, from: path)
        try vault.pressCopy()
        let (served, copies) = try held(["ctrl", "c"], scene)
        print("held key: keepassxc, sensitive: \(copies) copies, \(Self.pastes) pastes, \(served.count) served")
        #expect(served.isEmpty)
        #expect(copies > 5, "the key repeated")
        vault.exit()
      }
    }
  }
}
