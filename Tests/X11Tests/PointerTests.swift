import BridgeCore
import Foundation
import Glibc
import Selection
import Testing

@testable import Policy
@testable import X11
@testable import XPasteBridge

/// The middle button in a real server, pressed by XTEST (xdotool).
@Suite(.serialized) struct PointerTests {
  let server: PrivateServer
  let ours: Display
  let presses: PressDisplay
  let peer: Display
  let window: Window

  init() throws {
    server = try PrivateServer()
    ours = try server.connect()
    presses = try #require(PressDisplay(beside: ours))
    peer = try server.connect()
    window = try Self.mapWindow(of: peer, on: server, x: 0)
  }

  /// A mapped window of 200 × 200 that wants presses.
  private static func mapWindow(of display: Display, on server: PrivateServer, x: Int) throws -> Window {
    let id = display.xcb.generateID()
    display.xcb.createInputOnlyWindow(id, root: display.root.id, eventMask: 1 << 2)
    display.synchronize()
    try mouse(server, ["windowsize", "\(id)", "200", "200", "windowmove", "\(id)", "\(x)", "0", "windowmap", "\(id)"])
    return Window(id)
  }

  private func mouse(_ words: String...) throws { try Self.mouse(server, words) }

  private static func mouse(_ server: PrivateServer, _ words: [String]) throws {
    let program = try server.start("/usr/bin/xdotool", words)
    program.waitUntilExit()
    #expect(program.terminationStatus == 0)
  }

  /// Whether the peer's window has got a press of a button since it was last asked.
  private func peerGetsPress(within milliseconds: Int = 2_000) -> Bool {
    peer.takeEvent(until: .now.advanced(byMilliseconds: milliseconds)) {
      if case .buttonPressed = $0 { true } else { false }
    } != nil
  }

  private func ourPress(within milliseconds: Int = 2_000) -> HeldPress? {
    let deadline = MonotonicTime.now.advanced(byMilliseconds: milliseconds)
    while MonotonicTime.now < deadline {
      if let press = presses.nextPress() { return press }
      ours.synchronize()
    }
    return nil
  }

  /// A press is ours first, then either the app's as if nothing had been, or nobody's.
  @Test(arguments: [0, 2, 16, 18]) func pressIsHandedOnOrNot(locks: Int) throws {
    try mouse("mousemove", "60", "60")
    if locks & 2 != 0 { try mouse("key", "Caps_Lock") }
    if locks & 16 != 0 { try mouse("key", "Num_Lock") }
    #expect(presses.grabMiddleButton())
    for replays in [true, false, true] {
      try mouse("click", "2")
      #expect(ourPress() == .button(below: window))
      #expect(!peerGetsPress(within: 50), "not before it is decided")
      presses.releasePointer(replays: replays)
      #expect(peerGetsPress(within: replays ? 2_000 : 100) == replays)
    }
    presses.ungrabMiddleButton()
    ours.synchronize()
    try mouse("click", "2")
    #expect(peerGetsPress())
    #expect(presses.unexpectedErrorCount == 0)
  }

  /// Other buttons never wait for us.
  @Test func otherButtons() throws {
    try mouse("mousemove", "60", "60")
    #expect(presses.grabMiddleButton())
    try mouse("click", "1")
    #expect(peerGetsPress())
  }

  /// A client that has the button with some modifier costs us only that; one that has the plain button, all.
  @Test func otherGrabs() throws {
    #expect(peer.xcb.grabButton(2, modifiers: 1 << 6, on: peer.root.id))
    #expect(presses.grabMiddleButton())
    try mouse("mousemove", "60", "60", "click", "2")
    #expect(ourPress() == .button(below: window))
    presses.releasePointer(replays: true)
    #expect(peerGetsPress())
    // Some toolkits paste whatever else is held.
    try mouse("keydown", "alt", "click", "2", "keyup", "alt")
    #expect(ourPress() == .button(below: window))
    presses.releasePointer(replays: true)
    #expect(peerGetsPress())
    presses.ungrabMiddleButton()
    ours.synchronize()
    #expect(peer.xcb.grabButton(2, modifiers: 0, on: peer.root.id))
    #expect(!presses.grabMiddleButton())
  }

  /// What the watchdog does: with the connection shut down by whoever has it, the server lets the pointer go.
  @Test func pointerGoesOnWhenSomebodyElseEndsTheConnection() throws {
    try mouse("mousemove", "60", "60")
    #expect(presses.grabMiddleButton())
    try mouse("click", "2")
    #expect(!peerGetsPress(within: 50))
    let copy = dup(presses.fileDescriptor)
    shutdown(copy, Int32(SHUT_RDWR))
    Glibc.close(copy)
    try mouse("click", "1")
    #expect(peerGetsPress())
    while presses.nextPress() != nil {}
    #expect(presses.isLost)
    #expect(!ours.isLost, "and nothing else is lost")
  }

  /// When we end while the pointer stands still, the server lets it go.
  @Test func pointerGoesOnWithoutUs() throws {
    try mouse("mousemove", "60", "60")
    #expect(presses.grabMiddleButton())
    try mouse("click", "2")
    #expect(!peerGetsPress(within: 50))
    // Somebody else has the connection, too, as the watchdog does.
    let copy = dup(presses.fileDescriptor)
    defer { Glibc.close(copy) }
    presses.close()
    try mouse("click", "1")
    #expect(peerGetsPress())
  }

  /// Shift+Insert is ours first and then the app's, with Caps Lock, too; Insert alone never waits for us.
  @Test(arguments: ["shift+Insert", "Insert"]) func pasteKey(keys: String) throws {
    let typed = { (display: Display, milliseconds: Int) -> Bool in
      display.takeEvent(until: .now.advanced(byMilliseconds: milliseconds)) {
        if case .keyPressed = $0 { true } else { false }
      } != nil
    }
    _ = peer.xcb.selectInput(window.id, eventMask: 1)
    peer.synchronize()
    try mouse("windowfocus", "\(window.id)", "key", "Caps_Lock")
    #expect(ours.focusedWindow == window)
    let grabbed = presses.grabPasteKeys()
    #expect(!grabbed.isEmpty)
    while typed(peer, 50) {}
    try mouse("key", keys)
    if keys == "shift+Insert" {
      #expect(ourPress() == .key)
      #expect(typed(peer, 50), "Shift itself")
      #expect(!typed(peer, 50), "not before it is decided")
      presses.releaseKeyboard()
    }
    #expect(typed(peer, 2_000))
    presses.ungrabPasteKeys(grabbed)
    ours.synchronize()
    try mouse("key", "shift+Insert")
    #expect(ourPress(within: 50) == nil && typed(peer, 2_000))
  }

  @Test func pointerState() throws {
    #expect(!ours.isPointerBusy)
    try mouse("mousedown", "1")
    #expect(ours.isPointerBusy)
    try mouse("mouseup", "1")
    #expect(!ours.isPointerBusy)
    try mouse("keydown", "Shift_L")
    #expect(ours.isPointerBusy)
    try mouse("keyup", "Shift_L")
    #expect(!ours.isPointerBusy)
  }

  /// Where the button isn't to be had: windows are followed by the pointer's way, those that come later too.
  @Test func entries() throws {
    let list = ours.atoms.intern("_NET_CLIENT_LIST")
    try mouse("mousemove", "500", "500")
    peer.setRootWords([window.id], property: list.atom.id)
    ours.followEntries()
    func entered() -> IncomingEvent? {
      let deadline = MonotonicTime.now.advanced(byMilliseconds: 2_000)
      while MonotonicTime.now < deadline {
        if let event = ours.nextSelectionEvent(isServed: { _ in false }), case .pointerEntered = event { return event }
        ours.synchronize()
      }
      return nil
    }
    try mouse("mousemove", "60", "60")
    #expect(entered() == .pointerEntered(window))
    let later = try Self.mapWindow(of: peer, on: server, x: 300)
    peer.setRootWords([window.id, later.id], property: list.atom.id)
    peer.synchronize()
    ours.synchronize()
    #expect(ours.nextSelectionEvent(isServed: { _ in false }) == .rootPropertySet(list.atom))
    ours.renewEntries()
    try mouse("mousemove", "360", "60")
    #expect(entered() == .pointerEntered(later))
    ours.ignoreEntries()
    ours.synchronize()
    try mouse("mousemove", "60", "60")
    ours.synchronize()
    #expect(ours.nextSelectionEvent(isServed: { _ in false }) == nil)
    #expect(ours.unexpectedErrorCount == 0)
  }

  /// The daemon as a whole where nobody watches over presses: none is held back, and it guards by the pointer's way.
  @Test func runnerWithoutWatchdog() throws {
    let runner = EffectRunner(display: try server.connect(), policy: .locked, options: .init()) { _ in }
    try runner.start()
    let primary = peer.atoms.intern("PRIMARY")
    #expect(peer.claim(primary.atom, time: peer.serverTime(), expecting: .none) == .held)
    runner.synchronize()
    let status = runner.bridge.status.first { $0.selection == "primary" }
    #expect(status?.trigger == .pointerEntry && status?.state == .selecting)
    try mouse("mousemove", "60", "60", "click", "2")
    #expect(peerGetsPress())
    runner.shutDown()
  }
}

extension Display {
  fileprivate func setRootWords(_ words: [UInt32], property: UInt32) {
    words.withUnsafeBytes { bytes in
      _ = xcb.changeProperty(window: root.id, property: property, type: 33, format: 32, bytes: bytes)
    }
    synchronize()
  }
}
