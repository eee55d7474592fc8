import Selection

/// Reads whole properties that other clients wrote, whatever they wrote.
struct PropertyReader {
  /// Bytes asked for at once. 1 MiB: GetProperty was as fast from 256 KB to 4 MB, and the copy inside xcb stays small.
  static let pieceBytes = 1 << 20
  /// Atoms of a list that are named; the rest of a longer list is left out. Our choice: 4 × the targets of a clip.
  static let namedAtoms = 1_024

  let xcb: XcbConnection
  let atoms: AtomTable

  /// Reads the property and deletes it, at most `limit` bytes; a larger one is left where it is.
  func readAndDelete(window: Window, property: Atom, limit: Int) -> PropertyValue {
    var payload = Payload()
    var first: Header?
    while true {
      let room = min(Self.pieceBytes, max(0, limit) - payload.count)
      let serial = xcb.getProperty(
        window: window.id, property: property.id, offset: UInt32(payload.count / 4), length: UInt32((room + 3) / 4),
        deletes: true)
      guard let reply = xcb.reply(to: serial, isContent: true) else { return .absent }
      let header = Header(reply)
      guard header.type != 0 else { return .absent }
      if header.type == atoms.intern("INCR").atom.id, first == nil {
        return incremental(header, reply, window: window, property: property)
      }
      // A property that changes while it is read is no value at all.
      if let first, first.type != header.type || first.format != header.format { return .absent }
      first = first ?? header
      reply.withTail(header.byteCount) { payload.append($0) }
      let total = payload.count + Int(header.bytesAfter)
      if total > limit { return .tooLarge(bytes: total) }
      if header.bytesAfter == 0 { return value(header, payload) }
      // Only a last piece may have a length that isn't whole words; anything else would never end.
      guard header.byteCount > 0, payload.count % 4 == 0 else { return .absent }
    }
  }

  /// The words of a short property of format 32, which stays; empty when it isn't there or of another format.
  func words(window: Window, property: Atom, limit: Int) -> [UInt32] {
    Self.words(xcb.reply(to: xcb.getProperty(window: window.id, property: property.id, length: UInt32(limit))))
  }

  /// The words in a GetProperty reply of format 32.
  static func words(_ reply: consuming Reply?) -> [UInt32] {
    guard let reply else { return [] }
    let header = Header(reply)
    return header.format == 32 ? reply.tailWords(header.byteCount / 4) : []
  }

  private func incremental(_ header: Header, _ reply: borrowing Reply, window: Window, property: Atom) -> PropertyValue
  {
    if header.bytesAfter > 0 {
      // Longer than the one number it should hold. It still has to go: its deletion starts the transfer (ICCCM 2.7.2).
      _ = xcb.deleteProperty(window: window.id, property: property.id)
    }
    let hint = header.format == 32 ? reply.tailWords(1).first ?? 0 : 0
    return .incremental(hint: Int(hint))
  }

  private func value(_ header: Header, _ payload: Payload) -> PropertyValue {
    // ATOM is right (ICCCM 2.6.2); TARGETS is what several owners write instead.
    let isList = header.type == AtomNumber.atom || header.type == atoms.intern("TARGETS").atom.id
    guard isList, header.format == 32 else {
      return .value(type: atoms.named(Atom(header.type)), format: header.format, payload: payload)
    }
    var numbers: [Atom] = []
    for chunk in 0..<payload.chunkCount where numbers.count < Self.namedAtoms {
      payload.withChunk(chunk) { bytes in
        for offset in stride(from: 0, to: bytes.count, by: 4).prefix(Self.namedAtoms - numbers.count) {
          numbers.append(Atom(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        }
      }
    }
    return .atoms(atoms.named(numbers))
  }
}

/// Predefined atoms (X protocol, appendix B).
nonisolated enum AtomNumber {
  static let atom: UInt32 = 4
  static let cardinal: UInt32 = 6
  static let integer: UInt32 = 19
  static let wmClass: UInt32 = 67
  static let wmClientMachine: UInt32 = 36
}

/// What a GetProperty reply says of the value.
nonisolated struct Header {
  /// 0 when the property isn't there.
  let type: UInt32
  /// 8, 16 or 32; 0 when it isn't there.
  let format: Int
  /// Bytes in this reply.
  let byteCount: Int
  /// Bytes left in the property.
  let bytesAfter: UInt32

  /// GetProperty's reply: format at 1, type at 8, bytes after at 12, items at 16.
  init(_ reply: borrowing Reply) {
    format = Int(reply.byte(at: 1))
    type = reply.word(at: 8)
    bytesAfter = reply.word(at: 12)
    byteCount = Int(reply.word(at: 16)) * (format / 8)
  }
}
