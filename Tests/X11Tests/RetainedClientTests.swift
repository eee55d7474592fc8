import Foundation
import Policy
import Selection
import Testing

@testable import X11
@testable import XPasteBridge

/// Clients that have ended and left their windows with the server (RetainPermanent), which lists them for good.
@Suite(.serialized) struct RetainedClientTests {
  /// A client that has made a window, and ended so; its resource base.
  private func retained(on server: PrivateServer, _ mode: UInt8 = 1) throws -> (base: UInt32, window: Window) {
    let client = try server.connect()
    let window = client.ownerWindow
    client.setCloseDownMode(mode)
    client.close()
    return (client.resourceBase(of: window), window)
  }

  @Test(arguments: [1, 2] as [UInt8])
  func aProgramThatGoesOn(mode: UInt8) throws {
    let server = try PrivateServer()
    let display = try server.connect()
    let resolver = SubjectResolver(display: display)
    let (base, window) = try retained(on: server, mode)
    let other = try server.connect()
    // The server notices the end of a connection when it comes to it.
    _ = try waitFor("the end of the client") {
      display.retainedClients(among: display.clientBases()) == [base] ? true : nil
    }
    #expect(display.clientBases().contains(base), "it is listed nevertheless")
    let subject = resolver.resolve(other.ownerWindow)
    #expect(subject.executable?.evidence == .attested)
    #expect(!subject.isUnsure)
    #expect(resolver.resolve(window).isUnsure, "whoever uses what is left isn't that program")
    let shown = resolver.clients()
    #expect(!shown.contains { $0.resourceBase == base })
    #expect(shown.contains { $0.resourceBase == display.resourceBase(of: other.ownerWindow) && !$0.subject.isUnsure })
  }

  /// Motif's programs leave such a client, and a helper may have been left by a program that has ended.
  @Test func aForkedProgramBesideOne() throws {
    let server = try PrivateServer()
    let display = try server.connect()
    let resolver = SubjectResolver(display: display)
    let leaver = try server.start("/usr/bin/python3", ["-c", Self.leaving])
    leaver.waitUntilExit()
    _ = try waitFor("the client that is left") {
      display.retainedClients(among: display.clientBases()).count == 1 ? true : nil
    }
    let program = try server.start("/usr/bin/xclip", ["-selection", "clipboard"], input: "x")
    let clipboard = display.atoms.intern("CLIPBOARD").atom
    _ = try waitFor("the end of the process that connected") {
      ProcessRecord(program.processIdentifier) == nil && display.selectionOwner(clipboard) != .none ? true : nil
    }
    let subject = resolver.resolve(display.selectionOwner(clipboard))
    #expect(subject.executable == Fact("/usr/bin/xclip", .attested))
    #expect(!subject.isUnsure)
  }

  /// Where the server can't be asked nothing is certain.
  @Test func aServerWithoutRecord() throws {
    let server = try PrivateServer(["-extension", "RECORD"])
    let display = try server.connect()
    let resolver = SubjectResolver(display: display)
    _ = try retained(on: server)
    let other = try server.connect()
    #expect(display.retainedClients(among: display.clientBases()).isEmpty)
    #expect(resolver.resolve(other.ownerWindow).isUnsure)
  }

  /// A connection that isn't set up is somebody's all the same.
  @Test func aConnectionThatIsNotSetUp() throws {
    let server = try PrivateServer()
    let display = try server.connect()
    let before = Set(display.clientBases())
    let descriptor = try Posix.socket()
    try Posix.connect(descriptor, "/tmp/.X11-unix/X\(display.name.number)")
    let base = try waitFor("the connection") { Set(display.clientBases()).subtracting(before).first }
    #expect(display.retainedClients(among: [base]).isEmpty)
    #expect(display.retainedClients(among: display.clientBases()).isEmpty, "nor are those at work")
    #expect(display.unexpectedErrorCount == 0)
  }

  /// Connects, makes a window, says RetainPermanent and ends.
  private static let leaving = """
    import os, socket, struct
    me = socket.socket(socket.AF_UNIX)
    me.connect("/tmp/.X11-unix/X" + os.environ["DISPLAY"][1:])
    me.sendall(struct.pack("<BxHHHHxx", 0x6c, 11, 0, 0, 0))
    head = me.recv(8, socket.MSG_WAITALL)
    body = me.recv(struct.unpack("<H", head[6:])[0] * 4, socket.MSG_WAITALL)
    base, vendor, formats = struct.unpack_from("<I", body, 4)[0], struct.unpack_from("<H", body, 16)[0], body[21]
    root = struct.unpack_from("<I", body, 32 + (vendor + 3 & ~3) + 8 * formats)[0]
    me.sendall(struct.pack("<BBHIIhhHHHHII", 1, 0, 8, base, root, 0, 0, 1, 1, 0, 2, 0, 0))
    me.sendall(struct.pack("<BBH", 112, 1, 1) + struct.pack("<BxH", 43, 1))
    me.recv(32, socket.MSG_WAITALL)
    """
}

extension Display {
  /// SetCloseDownMode: 1 is RetainPermanent, 2 RetainTemporary.
  fileprivate func setCloseDownMode(_ mode: UInt8) {
    var words = RequestWords()
    words.append(byte: 0, mode)
    #expect(xcb.outcomes(of: [Serial(number: words.send(on: xcb.raw, opcode: 112, hasReply: false))]) == [nil])
  }
}
