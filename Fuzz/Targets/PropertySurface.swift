import Glibc
import Selection

@testable import X11

extension Surface {
  /// What other clients write: properties of any type, format and length, and events as 32 bytes.
  static let properties = Surface(name: "properties", longestInput: 2_048, seeds: { PropertyTrial.seeds() }) {
    bytes throws(Finding) in
    var trial = PropertyTrial(input: InputReader(bytes))
    try trial.run()
  }
}

/// Reads an input as an event, as a property's bytes, or as a pretended server's replies.
struct PropertyTrial {
  var input: InputReader

  mutating func run() throws(Finding) {
    switch input.below(6) {
    case 0: try decodeEvent()
    case 1: try readNames()
    case 2: readReply()
    case 3: try transfer()
    default: try readProperty()
    }
  }

  // MARK: events

  private mutating func decodeEvent() throws(Finding) {
    let fixesFirstEvent = 64 + input.byte() % 63
    let raw = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 8)
    defer { raw.deallocate() }
    let bytes = input.take(32)
    raw.initializeMemory(as: UInt8.self, repeating: 0, count: 32)
    raw.copyMemory(from: bytes, byteCount: bytes.count)
    let event = EventDecoder.decode(raw, fixesFirstEvent: fixesFirstEvent)
    let code = raw.load(as: UInt8.self)
    guard code & 0x80 != 0 else { return }
    switch event {
    // An answer is meant to be sent by a client (ICCCM 2.2).
    case .forged, .other, .selectionNotify: break
    default: throw Finding("an event that a client sent is taken for the server's: \(code)")
    }
  }

  // MARK: names

  private mutating func readNames() throws(Finding) {
    let bytes = input.rest()
    try Finding.unless(AtomName.bytes(of: AtomName.string(of: bytes)) == bytes, "an atom's name changes")
    _ = PropertyText.string(of: bytes)
    let pair = bytes.withUnsafeBytes { ClassPair(property: $0) }
    if let pair {
      try Finding.unless(!pair.windowClass.isEmpty, "an empty class is a class")
      let scalars = pair.instance.unicodeScalars.map { $0 } + pair.windowClass.unicodeScalars.map { $0 }
      try Finding.unless(!scalars.contains { $0.value == 0 }, "a class has a zero in it")
    }
  }

  // MARK: replies

  private mutating func readReply() {
    let fixed = input.take(32)
    let tail = input.rest()
    var bytes = fixed + [UInt8](repeating: 0, count: 32 - fixed.count) + tail
    bytes += [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    // xcb has read as many words as the reply says.
    let words = UInt32((bytes.count - 32) / 4)
    withUnsafeBytes(of: words) { bytes.replaceSubrange(4..<8, with: $0) }
    func reply() -> Reply {
      let raw = malloc(bytes.count)!
      raw.copyMemory(from: bytes, byteCount: bytes.count)
      return Reply(raw, isContent: true)
    }
    _ = PropertyReader.words(reply())
    let header = Header(reply())
    _ = reply().tailWords(header.byteCount)
    _ = reply().withTail(header.byteCount) { PropertyText.string(of: $0) }
  }

  private mutating func readProperty() throws(Finding) {
    var script = PretendedServer.Script()
    let limit = [0, 3, 16, 1_000, 1 << 20][input.below(5)]
    for _ in 0..<input.below(6) { script.properties.append(property()) }
    script.names = [[], Array("UTF8_STRING".utf8), [0xe4, 0xff], Array("text/html".utf8)]
    let server = PretendedServer.shared
    let (value, served) = server.play(script) { xcb, atoms in
      PropertyReader(xcb: xcb, atoms: atoms).readAndDelete(window: Window(9), property: Atom(5), limit: limit)
    }
    try Finding.unless(served <= script.properties.count + 1, "a property is read \(served) times")
    try check(value, script, served: served, limit: limit)
  }

  private mutating func property() -> PretendedServer.Property {
    let types: [UInt32] = [4, PretendedServer.incr, PretendedServer.targets, 31, 0, 77]
    let format = input.one([8, 16, 32, 32, 8, 0, 7, 64, 255] as [UInt8])
    let count = [0, 1, 2, 3, 4, 8, 64, 4_096, 20_000][input.below(9)]
    let type = input.one(types)
    let start = input.take(min(count, 16))
    let data = start + [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: count - start.count)
    let after = input.below(4) == 0 ? input.word() : 0
    return PretendedServer.Property(
      type: type, format: format, data: data, bytesAfter: after, isError: input.below(16) == 15)
  }

  private func check(
    _ value: PropertyValue, _ script: PretendedServer.Script, served: Int, limit: Int
  ) throws(Finding) {
    let read = script.properties.prefix(served)
    let whole = read.flatMap(\.shown)
    switch value {
    case .value(let type, let format, let payload):
      try Finding.unless(payload.count <= limit, "\(payload.count) bytes are read, \(limit) is the limit")
      try Finding.unless(payload.copiedBytes() == whole, "the bytes read aren't the property's")
      try Finding.unless(
        read.first!.type == type.atom.id && Int(read.first!.format) == format, "another type or format")
    case .atoms(let list):
      try Finding.unless(list.count <= PropertyReader.namedAtoms, "\(list.count) atoms are named")
      try Finding.unless(list.count * 4 <= whole.count, "more atoms than the property has")
      try Finding.unless(!list.contains { $0.atom == .none }, "None is listed")
    case .tooLarge(let bytes): try Finding.unless(bytes > limit, "\(bytes) bytes are too large for \(limit)")
    case .incremental(let hint): try Finding.unless(hint >= 0, "a negative hint")
    case .absent: break
    }
  }

  // MARK: what comes of values

  /// An owner's answers to one conversion, in any order.
  private mutating func transfer() throws(Finding) {
    var transfer = IncomingTransfer(target: NamedAtom(Atom(31), "STRING"))
    var bytes: [UInt8] = []
    var isOver = false
    while !input.isAtEnd {
      let before = transfer
      let step: IncomingTransfer.Step
      switch input.below(4) {
      case 0: step = transfer.answered(stored: input.below(4) != 0)
      case 1: step = transfer.chunkStored()
      default:
        let value = value()
        if case .value(_, _, let payload) = value, before.isReading { bytes += payload.copiedBytes() }
        step = transfer.read(value)
      }
      if isOver { try Finding.unless(transfer == before && step == .wait, "a transfer that was over goes on") }
      switch step {
      case .finish:
        isOver = true
        let found = transfer.representation
        try Finding.unless(found != nil && transfer.isAtRest, "finished without a representation")
        if transfer.atoms == nil { try Finding.unless(found!.payload.copiedBytes() == bytes, "bytes are lost") }
        if let atoms = transfer.atoms { try check(TargetList(listed: atoms, limit: 3), of: atoms) }
      case .fail:
        isOver = true
        try Finding.unless(transfer.representation == nil && transfer.byteCount == 0, "failed and holds bytes")
      case .wait, .read: break
      }
    }
  }

  private mutating func value() -> PropertyValue {
    switch input.below(8) {
    case 0: return .incremental(hint: 0)
    case 1: return .absent
    case 2: return .tooLarge(bytes: 9)
    case 3:
      let names = ["TARGETS", "STRING", "text/html", "image/png", "image/bmp", "DELETE", "INCR", "text/plain;a=b", ""]
      return .atoms(
        (0..<input.below(8)).map { _ in
          let number = input.below(names.count)
          return NamedAtom(Atom(UInt32(number)), names[number])
        })
    default:
      let format = input.one([8, 8, 16, 32])
      return .value(type: NamedAtom(Atom(31), "STRING"), format: format, payload: Payload(input.take(input.below(6))))
    }
  }

  private func check(_ list: TargetList, of listed: [NamedAtom]) throws(Finding) {
    try Finding.unless(list.offered.count <= 3, "more targets than the limit")
    try Finding.unless(Set(list.wanted) == Set(list.offered), "what is wanted isn't what is offered")
    try Finding.unless(Set(list.offered).count == list.offered.count, "a target twice")
    try Finding.unless(Set(list.offered).isSubset(of: listed), "a target that isn't listed")
    let never = TargetList.metadata.union(TargetList.sideEffects)
    try Finding.unless(!list.wanted.contains { never.contains($0.name) }, "a target that does something is wanted")
  }

  // MARK: seeds

  static func seeds() -> [(name: String, bytes: [UInt8])] {
    [
      ("request", [0, 22, 30, 0, 1, 0] + [UInt8](repeating: 7, count: 27)),
      ("forged", [0, 22, 158, 0, 1, 0] + [UInt8](repeating: 7, count: 27)),
      ("class", [1] + Array("xterm\0XTerm\0".utf8)),
      ("reply", [2, 1, 32, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0] + [2, 2, 2, 2]),
      ("transfer", [3, 0, 1, 2, 0, 1, 2, 5, 0, 3, 1, 2, 3, 1, 2, 6, 0, 2, 4, 5, 1, 2, 7, 0, 0]),
      ("atoms", [4, 4, 1, 2, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0]),
      ("pieces", [5, 4, 3, 0, 4, 3, 1, 2, 3, 4, 0, 9, 0, 0, 0]),
      ("announced", [5, 3, 1, 2, 4, 1, 9, 9, 0, 0, 1, 0]),
    ]
  }
}

extension IncomingTransfer {
  /// Whether a value that is read now counts.
  fileprivate var isReading: Bool {
    switch state {
    case .reading, .readingChunk: true
    case .awaitingAnswer, .awaitingChunk, .complete, .failed: false
    }
  }
}
