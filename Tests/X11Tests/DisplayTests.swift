import Foundation
import Selection
import Testing

@testable import X11

@Suite(.serialized) struct DisplayTests {
  @Test(
    arguments: [
      (":4", ":4", nil), (":4.0", ":4", 0), (":4.1", ":4", 1), (":04", ":4", nil), (":004.00", ":4", 0),
      ("unix:4", ":4", nil), ("unix:04.1", ":4", 1), ("unix/:4", ":4", nil), ("unix/foo:4", ":4", nil),
      ("localhost:4.0", "localhost:4", 0), ("Host:4", "host:4", nil), ("tcp/host:10.2", "host:10", 2),
      ("tcp/:4", "tcp/:4", nil), ("foo/unix:4", "foo/unix:4", nil), ("UNIX:4", "UNIX:4", nil),
      ("tcp/unix:4", "tcp/unix:4", nil),
      ("[::1]:3", "[::1]:3", nil),
    ] as [(String, String, Int?)])
  func nameIsNormalised(_ text: String, _ name: String, _ screen: Int?) throws {
    let parsed = try #require(DisplayName(text))
    #expect(parsed.description == name)
    #expect(parsed.screen == screen)
    #expect(parsed.isLocal == name.hasPrefix(":"), "an identity is attested by the local socket alone")
  }

  @Test(arguments: ["", "4", ":", ":x", ":4.", ":4.x", ":4.0.0", ":-1", ":99999999999999999999"])
  func namesOfNoDisplay(_ text: String) { #expect(DisplayName(text) == nil) }

  @Test func nobodyThere() {
    #expect(throws: DisplayError.unreachable(":7654321")) { try Display.open(":7654321") }
    #expect(throws: DisplayError.nameInvalid("nonsense")) { try Display.open("nonsense") }
  }

  @Test func authorityEntries() {
    func entry(_ number: String) -> [UInt8] {
      func counted(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }
      return [1, 0] + counted("host") + counted(number) + counted("MIT-MAGIC-COOKIE-1") + counted("sixteen bytes...")
    }
    #expect(AuthorityFile.hasEntry(forDisplay: 4, in: entry("1") + entry("4")))
    #expect(AuthorityFile.hasEntry(forDisplay: 4, in: entry("")))
    #expect(!AuthorityFile.hasEntry(forDisplay: 4, in: entry("1") + entry("44")))
    #expect(!AuthorityFile.hasEntry(forDisplay: 4, in: []))
    #expect(!AuthorityFile.hasEntry(forDisplay: 4, in: Array(entry("4").dropLast(3))))
  }

  @Test func refusedWithoutAuthority() throws {
    let path = NSTemporaryDirectory() + "xpb-authority-\(getpid())"
    defer { unlink(path) }
    // An entry for display 250, which is not the one that the server picks.
    let entry: [UInt8] =
      [1, 0, 0, 1, 120, 0, 3] + Array("250".utf8) + [0, 18] + Array("MIT-MAGIC-COOKIE-1".utf8) + [0, 16]
      + [UInt8](repeating: 7, count: 16)
    try Data(entry).write(to: URL(fileURLWithPath: path))
    let server = try PrivateServer(["-auth", path])
    defer { unsetenv("XAUTHORITY") }
    setenv("XAUTHORITY", path, 1)
    #expect(throws: DisplayError.refused(server.name, .noEntry(path: path))) { try server.connect() }
    setenv("XAUTHORITY", path + "-missing", 1)
    #expect(throws: DisplayError.refused(server.name, .unreadable(path: path + "-missing"))) { try server.connect() }
  }

  @Test func lostServer() throws {
    let server = try PrivateServer()
    let display = try server.connect()
    let clipboard = display.atoms.intern("CLIPBOARD")
    display.selectOwnerChanges(of: [clipboard.atom])
    #expect(display.raisePriority())
    server.end()
    _ = try waitFor("the loss") { () -> Bool? in
      _ = display.nextSelectionEvent(isServed: { _ in true })
      return display.isLost ? true : nil
    }
    let conversion = ConversionID(1)
    display.convert(conversion, selection: clipboard.atom, target: Atom(1), time: .current)
    #expect(display.readAnswer(conversion, limit: 10) == .absent)
    #expect(display.claim(clipboard.atom, time: .current, expecting: .none) == .superseded)
    #expect(display.serverTime() == .current)
    #expect(display.atoms.intern("NEW").atom == .none)
    #expect(!display.raisePriority())
    display.store(Payload([1]), chunk: 0, type: Atom(31), format: 8, in: Atom(9), of: Window(1))
    display.synchronize()
    display.flush()
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    #expect(display.isLost)
    display.close()
    #expect(display.isLost)
  }

  @Test func atomsByNameAndNumber() throws {
    let server = try PrivateServer()
    let display = try server.connect()
    let peer = try server.connect()
    let both = display.atoms.intern(["CLIPBOARD", "b\u{e9}", "CLIPBOARD"])
    #expect(both[0] == both[2])
    #expect(peer.atoms.named(both[1].atom).name == "b\u{e9}")
    let bogus = Atom(0x1fff_fff0)
    #expect(display.atoms.named([bogus, Atom(4), .none, Atom(4), bogus]).map(\.name) == ["ATOM", "ATOM"])
    #expect(display.atoms.named(bogus).name == "")
    // Names beyond the capacity push out the oldest, and come back when asked for.
    let many = peer.atoms.intern((0..<10_000).map { "made-up-\($0)" }).map(\.atom)
    for start in stride(from: 0, to: many.count, by: 1_000) {
      _ = display.atoms.named(Array(many[start..<start + 1_000]))
    }
    #expect(display.atoms.count <= 2 * AtomTable.capacity + 100)
    #expect(display.atoms.named(many[0]).name == "made-up-0")
    #expect(display.unexpectedErrorCount == 0)
  }

  @Test func serialsAreComparedOnTheCircle() {
    var trap = ErrorTrap()
    let first = Serial(number: .max - 1)
    let second = Serial(number: 3)
    trap.expect(first, for: .reach(window: Window(1)))
    trap.expect(second, for: .reach(window: Window(2)))
    #expect(trap.purpose(of: second) == .reach(window: Window(2)))
    #expect(trap.purpose(of: Serial(number: 2)) == nil)
    trap.settle(before: second)
    #expect(trap.purpose(of: first) == nil)
    #expect(trap.purpose(of: second) == .reach(window: Window(2)))
    #expect(trap.count == 1)
    trap.settle(before: Serial(number: 4))
    #expect(trap.count == 0)
  }
}
