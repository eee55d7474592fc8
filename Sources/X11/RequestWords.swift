@preconcurrency import CX11

/// A request of whole words, in this machine's byte order: for extensions of which too little is needed to load a library.
struct RequestWords {
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
