import Foundation
import Testing

extension IntegrationTests {
  /// Text dragged out of real programs over others, with a real mouse (docs/policy.md, drags).
  @Suite(.serialized) struct DragTests {
    private static let policy = """
      version: 1
      rules:
        - name: stays
          from: {class: Marksource}
          to: {not: [{class: Marksource}, {class: Markfriend}]}
          actions: drag
          decision: deny
      """
    private static let nowhere = """
      version: 1
      rules:
        - {name: nowhere, apps: {class: Marksource}, actions: drag, decision: deny}
      """

    private static let lines = "echo five\n\n\n\n\n\nend"

    /// A source, a program that may have what it drags, one that may not, and the daemon.
    private final class Table {
      let desktop: Desktop
      let bridge: Bridge
      let mouse: Mouse
      let source: MarkingProgram
      let friend: MarkingProgram
      let stranger: MarkingProgram

      init(_ kind: MarkingKind, policy: String) throws {
        desktop = try Desktop()
        bridge = try Bridge(on: desktop, policy: policy)
        mouse = try Mouse(on: desktop)
        source = try MarkingProgram(kind, on: desktop, mouse: mouse, windowClass: "Marksource", slot: 0)
        friend = try MarkingProgram(.gtk, on: desktop, mouse: mouse, windowClass: "Markfriend", slot: 1)
        stranger = try MarkingProgram(
          kind == .gtk ? .qt : .gtk, on: desktop, mouse: mouse, windowClass: "Markstranger", slot: 2)
      }

      func begin(_ text: String) throws {
        try source.mark(text)
        try source.beginDrag(with: mouse, guardedBy: bridge, on: desktop)
      }

      /// Drags over the stranger and lets go there. Qt reads while it hovers, GTK's text view when it is dropped.
      func dropOnStranger(_ text: String) throws {
        let before = try refusals().count
        try begin(text)
        try hover(over: stranger) { try refusals().count > before }
        try mouse.tell("up 1")
        let isRefused = try waitUntil(within: 10) { try refusals().count > before }
        #expect(isRefused)
      }

      /// Moves about over a program, long enough for both sides to see it, or until `isEnough`.
      func hover(over program: MarkingProgram, until isEnough: () throws -> Bool = { false }) throws {
        var moves = 0
        _ = try program.hover(with: mouse) {
          moves += 1
          return try moves > 40 || isEnough()
        }
      }

      func dropOnFriend(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try friend.clear()
        try begin(text)
        try hover(over: friend)
        try mouse.tell("up 1")
        _ = try waitUntil(within: 10) { try friend.content() == text }
        #expect(try friend.content() == text, sourceLocation: sourceLocation)
      }

      func refusals() throws -> [AuditLine] {
        try bridge.audit().filter { $0.action == "drag" && $0.outcome == "refused" }
      }
    }

    @Test(
      "over another program nothing is read; the next drag, one's own program and the clipboard are as before",
      arguments: [MarkingKind.gtk, .qt])
    func stays(_ kind: MarkingKind) throws {
      let table = try Table(kind, policy: Self.policy)
      defer { table.desktop.close() }
      let copier = try table.desktop.owner("target UTF8_STRING text:kept")
      try copier.claim()
      try table.dropOnStranger("alpha one")
      let refusal = try #require(try table.refusals().last)
      #expect(refusal.rule == "stays" && refusal.selection == "drag")
      #expect(refusal.source?.windowClass == "Marksource" && refusal.destination?.windowClass == "Markstranger")
      try table.dropOnFriend("bravo two")
      try table.dropOnStranger("charlie three")
      try table.dropOnFriend("delta four")
      // All drags before have ended by now, since these came after them.
      #expect(try table.stranger.content() == "")
      #expect(try table.desktop.requestor().text() == "kept", "the clipboard")
      let window = try #require(Int(table.source.window))
      let marked = try table.desktop.probe.ownerWindow(of: "PRIMARY")
      #expect(marked & ~0x1f_ffff == window & ~0x1f_ffff, "what is marked")
      try table.bridge.stop()
    }

    @Test("where nothing may leave, a program still drags and moves within itself", arguments: [MarkingKind.gtk, .qt])
    func within(_ kind: MarkingKind) throws {
      let table = try Table(kind, policy: Self.nowhere)
      defer { table.desktop.close() }
      // Empty lines below take what is dropped.
      try table.source.mark(Self.lines)
      try table.source.beginDrag(with: table.mouse, guardedBy: table.bridge, on: table.desktop)
      try table.hover(over: table.source)
      try table.mouse.tell("up 1")
      // Of seven lines it was the first; where it goes, fewer are between it and the last.
      let isMoved = try waitUntil(within: 10) {
        let text = try table.source.content()
        return text != Self.lines && text.components(separatedBy: "echo five").count == 2
      }
      let text = try table.source.content()
      #expect(isMoved, "found `\(text)`")
      #expect(try table.refusals().isEmpty)
      try table.dropOnStranger("foxtrot six")
      try table.bridge.sync()
      #expect(try table.refusals().map(\.rule) == ["nowhere"])
      try table.bridge.stop()
    }

    @Test("B231: who isn't restricted drags as if nobody were there")
    func untouched() throws {
      for policy in [Bridge.allowAll, Self.policy] {
        try Scene.run(policy: policy) { scene in
          let source = try scene.desktop.owner("selection XdndSelection", "target UTF8_STRING text:dragged")
          try source.claim()
          let before = try scene.desktop.probe.ownerWindow(of: "XdndSelection")
          try scene.bridge.sync()
          #expect(try scene.paster.text("UTF8_STRING", "selection=XdndSelection") == "dragged")
          #expect(try source.requests(for: "UTF8_STRING", on: "XdndSelection") == 1, "by the one who asked alone")
          #expect(try scene.desktop.probe.ownerWindow(of: "XdndSelection") == before)
          try scene.expectNextCopy()
        }
      }
    }

    @Test("every program's conversation: refused, handed over whole, moved, ended and begun anew")
    func conversation() throws {
      let policy = """
        version: 1
        rules:
          - {name: to friends, from: {class: Source}, to: {class: Friend}, actions: drag, decision: allow}
          - {name: to nobody, from: {class: Source}, actions: drag, decision: deny}
        """
      try Scene.run(policy: policy) { scene in
        let source = try scene.desktop.owner(
          "class source Source", "selection XdndSelection", "target UTF8_STRING text:dragged",
          "target image/png size:700000", "target XdndDirectSave0 text:S", "target DELETE empty")
        let friend = try scene.desktop.requestor("class friend Friend")
        try source.claim()
        try scene.bridge.sync()
        let drag = "selection=XdndSelection"
        try source.tell("windows")
        let window = try #require(try source.wait("windows").number("helper"))
        #expect(try scene.desktop.probe.ownerWindow(of: "XdndSelection") == window, "its own by name")
        expectSame(try friend.paste("image/png", drag), countingBytes(700_000), "image/png")
        for target in ["UTF8_STRING", "image/png", "DELETE", "XdndDirectSave0"] {
          #expect(try scene.paster.paste(target, drag) == nil, "\(target)")
        }
        #expect(try scene.paster.targets(drag) == ["TARGETS", "TIMESTAMP", "MULTIPLE"])
        #expect(try source.requests(for: "XdndDirectSave0", on: "XdndSelection") == 0)
        #expect(try source.requests(for: "DELETE", on: "XdndSelection") == 0)
        // The next drag of the same source, and its end.
        try source.tell("target UTF8_STRING text:again")
        try source.claim()
        try scene.bridge.sync()
        #expect(try friend.text("UTF8_STRING", drag) == "again")
        try source.tell("clear")
        try scene.bridge.sync()
        #expect(try scene.desktop.probe.ownerWindow(of: "XdndSelection") == 0)
        // One that doesn't say when it is over: no button is down, so it ends by itself.
        try source.claim()
        let isOver = try waitUntil(within: 15) { try scene.desktop.probe.ownerWindow(of: "XdndSelection") == 0 }
        #expect(isOver, "let go after the drop")
        // One that ends with its program.
        try source.claim()
        try scene.bridge.sync()
        source.quit()
        try scene.bridge.sync()
        #expect(try scene.desktop.probe.ownerWindow(of: "XdndSelection") == 0)
        #expect(try scene.bridge.status(of: "DRAG").text("state") == "unowned")
      }
    }
  }
}
