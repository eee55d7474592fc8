@preconcurrency import CX11

// Requests of extensions for which no further library is loaded, written out.

/// A request of whole words, in this machine's byte order.
struct Words {
  private var words: [UInt32] = []

  /// The header: xcb fills the first byte and the length in.
  mutating func append(byte first: UInt8, _ second: UInt8) {
    withUnsafeBytes(of: (first, second, UInt16(0))) { words.append($0.loadUnaligned(as: UInt32.self)) }
  }

  mutating func append(half first: UInt16, _ second: UInt16) {
    withUnsafeBytes(of: (first, second)) { words.append($0.loadUnaligned(as: UInt32.self)) }
  }

  mutating func append(word: UInt32) { words.append(word) }

  mutating func send(on connection: OpaquePointer, opcode: UInt8, hasReply: Bool) -> UInt32 {
    let count = UInt32(words.count)
    return words.withUnsafeMutableBufferPointer { buffer in
      cx_send_words(connection, opcode, buffer.baseAddress, count, hasReply ? 1 : 0)
    }
  }
}

extension XcbConnection {
  /// SetPriority of SYNC: the server takes the requests of this connection before those of other clients. Nothing without
  /// the extension.
  func raisePriority() {
    // QueryExtension's reply: present at 8, major opcode at 9.
    guard let found = reply(to: queryExtension("SYNC")), found.byte(at: 8) != 0 else { return }
    // The request's minor opcode is its second byte; then the client, 0 for ourselves, and its priority.
    var words = Words()
    words.append(byte: 0, 12)
    words.append(word: 0)
    words.append(word: UInt32(bitPattern: .max))
    _ = words.send(on: raw, opcode: found.byte(at: 9), hasReply: false)
  }
}
