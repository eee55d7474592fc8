import Actions
import Policy
import Selection
import Testing

@testable import X11

@Suite(.serialized) struct ActionDisplayTests {
  let server: PrivateServer
  let peer: Display
  let ours: ActionDisplay

  init() throws {
    server = try PrivateServer()
    peer = try server.connect()
    ours = try #require(ActionDisplay(beside: peer))
  }

  private func events() -> [ActionEvent] {
    ours.synchronize()
    var events: [ActionEvent] = []
    while let event = ours.nextEvent() { events.append(event) }
    return events
  }

  /// The keyboard that the server has is read as it is.
  @Test func theKeyboardIsRead() throws {
    let (keyboard, group, modifiers) = try #require(ours.keyboard())
    #expect(group == 0 && modifiers == 0)
    let grabs = keyboard.grabs(for: try #require(KeyChord("Ctrl+C")), group: group)
    #expect(Set(grabs) == Set([4, 6, 20, 22].map { KeyGrab(key: 54, modifiers: $0) }))
    #expect(Set(keyboard.grabs(for: try #require(KeyChord("Alt+W")), group: 0).map(\.key)) == [25])
    for chord in ["XF86Copy", "XF86Cut", "XF86Paste", "Ctrl+KP_Insert", "Shift+Delete"] {
      #expect(!keyboard.grabs(for: try #require(KeyChord(chord)), group: 0).isEmpty, "\(chord)")
    }
  }

  /// Priorities come back, also when the window is gone by which a client was known.
  @Test func prioritiesComeBack() throws {
    let source = try server.connect()
    let (first, second) = (source.makeWindow(), source.makeWindow())
    source.synchronize()
    let precedence = try #require(Precedence(ours, name: peer.name, others: [peer.ownerWindow]))
    let opcode = try #require(source.xcb.opcode(of: "SYNC"))
    func priority() -> Int32? { source.xcb.takePriority(source.xcb.getPriority(of: second.id, opcode: opcode)) }
    #expect(precedence.enclose(first, sparing: nil, until: .now.advanced(byMilliseconds: 5_000)))
    #expect(priority() == Precedence.ofSource)
    source.xcb.destroyWindow(first.id)
    source.synchronize()
    precedence.release()
    #expect(priority() == 0)
  }

  /// A key of another client stays its own, and costs only itself.
  @Test func anOccupiedKeyIsNamed() throws {
    let window = peer.makeWindow()
    peer.synchronize()
    let other = try #require(ActionDisplay(beside: peer))
    let (one, two) = (KeyGrab(key: 54, modifiers: 4), KeyGrab(key: 53, modifiers: 4))
    #expect(other.grab([one], on: window).isEmpty)
    #expect(ours.grab([one, two], on: window) == [one])
    other.close()
    ours.synchronize()
    #expect(ours.grab([one], on: window).isEmpty, "its holder has gone")
    #expect(ours.unexpectedErrorCount == 0)
  }

  /// Windows come and go while they are seen to.
  @Test func windowsThatAreGoneAreNoError() {
    let window = peer.makeWindow()
    peer.xcb.destroyWindow(window.id)
    peer.synchronize()
    #expect(ours.grab([KeyGrab(key: 54, modifiers: 4)], on: window).isEmpty)
    ours.ungrab([KeyGrab(key: 54, modifiers: 4)], on: window)
    ours.publish([(window, [Atom(1)])])
    ours.follow([window])
    #expect(ours.published(on: [window]).isEmpty)
    #expect(events().isEmpty && ours.unexpectedErrorCount == 0)
  }

  /// A client could otherwise write a key press into the audit that nobody made.
  @Test func forgedKeysCountForNothing() {
    let window = peer.makeWindow()
    peer.synchronize()
    ours.follow([window])
    // KeyPress of key 54 with Control, on the window; property and structure events are what we hear there.
    var bytes = [UInt8](repeating: 0, count: 32)
    (bytes[0], bytes[1], bytes[28]) = (2, 54, 4)
    withUnsafeBytes(of: window.id) { bytes.replaceSubrange(12..<16, with: $0) }
    _ = peer.sendForgery(bytes, to: window, mask: EventMask.propertyChange)
    peer.setClass("late", "Late", on: window)
    #expect(events() == [.classChanged(window)])
    peer.xcb.destroyWindow(window.id)
    peer.synchronize()
    #expect(events() == [.gone(window)])
  }

  @Test func whatIsWrittenIsRead() {
    let window = peer.makeWindow()
    peer.synchronize()
    #expect(ours.published(on: [window]).isEmpty)
    let values = ours.atoms.intern(["A", "B"]).map(\.atom)
    ours.publish([(window, values)])
    #expect(ours.published(on: [window]) == [window: values])
    ours.publish([(window, [])])
    #expect(ours.published(on: [window]) == [window: []], "nothing allowed is not nothing written")
    #expect(ours.managedWindows() == nil && ours.windowManagerBases().isEmpty)
  }
}

extension Display {
  /// Sends an event as a client may, marked by the server as sent.
  func sendForgery(_ bytes: [UInt8], to window: Window, mask: UInt32) -> Serial {
    defer { synchronize() }
    return xcb.sendEvent(to: window.id, mask: mask, bytes: bytes)
  }
}
