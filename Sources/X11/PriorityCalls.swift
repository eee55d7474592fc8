@preconcurrency import CX11
import Glibc

// SYNC's two requests for priorities and XFIXES's regions, written out.
extension XcbConnection {
  /// The major opcode of the extension; `nil` without it.
  func opcode(of name: StaticString) -> UInt8? {
    // QueryExtension's reply: present at 8, major opcode at 9.
    guard let found = reply(to: queryExtension(name)), found.byte(at: 8) != 0 else { return nil }
    return found.byte(at: 9)
  }

  /// SyncGetPriority of the client that owns `resource`; 0 means ourselves.
  func getPriority(of resource: UInt32, opcode: UInt8) -> Serial {
    var words = RequestWords()
    words.append(byte: 0, 13)
    words.append(word: resource)
    return Serial(number: words.send(on: raw, opcode: opcode, hasReply: true))
  }

  /// The answer; `nil` when nobody owns such a resource.
  func takePriority(_ serial: Serial) -> Int32? {
    // SyncGetPriority's reply: the priority at 8.
    guard let reply = reply(to: serial) else { return nil }
    return Int32(bitPattern: reply.word(at: 8))
  }

  /// SyncSetPriority of the client that owns `resource`, checked; 0 means ourselves.
  func setPriority(_ priority: Int32, of resource: UInt32, opcode: UInt8) -> Serial {
    var words = RequestWords()
    words.append(byte: 0, 12)
    words.append(word: resource)
    words.append(word: UInt32(bitPattern: priority))
    return Serial(number: words.send(on: raw, opcode: opcode, hasReply: false))
  }

  /// Lets the server take the requests of this connection before those of other clients. Nothing without the extension.
  func raisePriority() {
    guard let opcode = opcode(of: "SYNC") else { return }
    _ = outcomes(of: [setPriority(.max, of: 0, opcode: opcode)])
  }

  /// XResQueryResourceBytes of everything that the client owns.
  func queryResources(of client: UInt32) -> Serial {
    var all = xcb_res_resource_id_spec_t(resource: 0, type: 0)
    return Serial(number: xcb_res_query_resource_bytes(raw, client, 1, &all).sequence)
  }

  /// XFixesQueryVersion, without which the extension refuses everything else.
  func fixesQueryVersion(opcode: UInt8) -> Serial {
    var words = RequestWords()
    words.append(byte: 0, 0)
    words.append(word: 2)
    words.append(word: 0)
    return Serial(number: words.send(on: raw, opcode: opcode, hasReply: true))
  }

  /// XFixesCreateRegion of squares of one pixel, checked.
  func createRegion(_ id: UInt32, of squares: [(x: Int, y: Int)], opcode: UInt8) -> Serial {
    var words = RequestWords()
    words.append(byte: 0, 5)
    words.append(word: id)
    for square in squares {
      words.append(half: UInt16(truncatingIfNeeded: square.x), UInt16(truncatingIfNeeded: square.y))
      words.append(half: 1, 1)
    }
    return Serial(number: words.send(on: raw, opcode: opcode, hasReply: false))
  }

  /// send(2) past libxcb, which must not be asked for anything on this connection afterwards: how many bytes the socket
  /// took, 0 when it is full.
  func sendRaw(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { buffer in
      max(0, send(fileDescriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)))
    }
  }

  /// SO_SNDBUF
  func setSendBuffer(to bytes: Int32) {
    var bytes = bytes
    setsockopt(fileDescriptor, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
  }
}
