import Selection
import Testing

private let utf8 = NamedAtom(Atom(300), "UTF8_STRING")
private let html = NamedAtom(Atom(301), "text/html")

private func value(_ bytes: [UInt8], type: NamedAtom = utf8, format: Int = 8) -> PropertyValue {
  .value(type: type, format: format, payload: Payload(bytes))
}

/// Transcripts of ICCCM 2.4 and 2.7.2, legal ways first, then every illegal input in every state.
@Suite struct IncomingTransferTests {
  @Test func oneProperty() {
    var transfer = IncomingTransfer(target: utf8)
    #expect(transfer.chunkStored() == .wait, "the answer's own NewValue comes before the answer")
    #expect(transfer.answered(stored: true) == .read)
    #expect(transfer.read(value([97])) == .finish)
    #expect(transfer.representation?.payload.copiedBytes() == [97])
    #expect(transfer.isAtRest)
  }

  /// Zero-length content is content (K15 B139).
  @Test func emptyProperty() {
    var transfer = IncomingTransfer(target: utf8)
    #expect(transfer.answered(stored: true) == .read)
    #expect(transfer.read(value([])) == .finish)
    #expect(transfer.representation?.payload.count == 0)
  }

  /// The size integer of an INCR answer is never content, and the chunks' type is the value's (K01 B003, B007).
  @Test func incremental() {
    var transfer = IncomingTransfer(target: html)
    #expect(transfer.answered(stored: true) == .read)
    #expect(transfer.read(.incremental(hint: 2)) == .wait)
    #expect(transfer.isIncremental)
    #expect(transfer.chunkStored() == .read)
    #expect(transfer.read(value([1, 2], type: html)) == .wait)
    #expect(transfer.chunkStored() == .read)
    #expect(transfer.read(value([3], type: html)) == .wait)
    #expect(transfer.byteCount == 3)
    #expect(transfer.chunkStored() == .read)
    #expect(transfer.read(value([], type: html)) == .finish)
    #expect(transfer.representation?.payload.copiedBytes() == [1, 2, 3])
    #expect(transfer.representation?.type == html)
  }

  @Test func incrementalOfNothing() {
    var transfer = IncomingTransfer(target: utf8)
    _ = transfer.answered(stored: true)
    _ = transfer.read(.incremental(hint: 0))
    #expect(transfer.chunkStored() == .read)
    #expect(transfer.read(value([])) == .finish)
    #expect(transfer.representation?.payload.isEmpty == true)
  }

  @Test func refusals() {
    var none = IncomingTransfer(target: utf8)
    #expect(none.answered(stored: false) == .fail(.refused))
    #expect(none.isAtRest)
    var absent = IncomingTransfer(target: utf8)
    _ = absent.answered(stored: true)
    #expect(absent.read(.absent) == .fail(.nothingStored), "Qt answers what it doesn't offer like this")
    var large = IncomingTransfer(target: utf8)
    _ = large.answered(stored: true)
    #expect(large.read(.tooLarge(bytes: 9)) == .fail(.tooLarge))
    #expect(!large.isAtRest, "the property still lies there")
  }

  @Test func lyingChunks() {
    for bad: PropertyValue in [.incremental(hint: 1), .atoms([utf8]), value([1], format: 32)] {
      var transfer = IncomingTransfer(target: utf8)
      _ = transfer.answered(stored: true)
      _ = transfer.read(.incremental(hint: 4))
      _ = transfer.chunkStored()
      _ = transfer.read(value([1]))
      _ = transfer.chunkStored()
      #expect(transfer.read(bad) == .fail(.malformed))
      #expect(transfer.representation == nil)
      #expect(transfer.byteCount == 0, "what came is given up")
    }
  }

  /// The announced size is the least there is (ICCCM 2.7.2), so a transfer that ends before was cut short.
  @Test(arguments: [
    (hint: 4, count: 4, format: 8, isWhole: true), (hint: 4, count: 9, format: 8, isWhole: true),
    (hint: 4, count: 3, format: 8, isWhole: false), (hint: 4, count: 0, format: 8, isWhole: false),
    (hint: 0xFFFF_FFFF, count: 1, format: 8, isWhole: true), (hint: 8, count: 4, format: 32, isWhole: true),
    (hint: 16, count: 4, format: 32, isWhole: false),
  ]) func lessThanAnnounced(hint: Int, count: Int, format: Int, isWhole: Bool) {
    var transfer = IncomingTransfer(target: utf8)
    _ = transfer.answered(stored: true)
    _ = transfer.read(.incremental(hint: hint))
    if count > 0 {
      _ = transfer.chunkStored()
      #expect(transfer.read(value([UInt8](repeating: 7, count: count), format: format)) == .wait)
    }
    _ = transfer.chunkStored()
    #expect(transfer.read(value([], format: format)) == (isWhole ? .finish : .fail(.malformed)))
    #expect(transfer.representation?.payload.count == (isWhole ? count : nil))
  }

  /// A chunk of another type isn't the owner's, or the owner contradicts itself.
  @Test func chunkOfAnotherType() {
    var transfer = IncomingTransfer(target: utf8)
    _ = transfer.answered(stored: true)
    _ = transfer.read(.incremental(hint: 2))
    _ = transfer.chunkStored()
    _ = transfer.read(value([1]))
    _ = transfer.chunkStored()
    #expect(transfer.read(value([2], type: html)) == .fail(.malformed))
  }

  /// The owner goes on after a deletion by anybody, so a chunk that isn't there would be missing in the middle.
  @Test func chunkThatVanished() {
    var transfer = IncomingTransfer(target: utf8)
    _ = transfer.answered(stored: true)
    _ = transfer.read(.incremental(hint: 4))
    _ = transfer.chunkStored()
    #expect(transfer.read(.absent) == .fail(.malformed))
    #expect(transfer.chunkStored() == .wait)
  }

  /// An answer that was stored twice has two writers, unless it is longer than one request can be.
  @Test(arguments: [
    (stores: 1, count: 3, isWhole: true), (stores: 2, count: 3, isWhole: false), (stores: 0, count: 3, isWhole: true),
    (stores: 3, count: 262_140, isWhole: true),
    (stores: 2, count: 262_139, isWhole: false),
  ]) func storedAgainBeforeTheAnswer(stores: Int, count: Int, isWhole: Bool) {
    var transfer = IncomingTransfer(target: utf8)
    for _ in 0..<stores { #expect(transfer.chunkStored() == .wait) }
    _ = transfer.answered(stored: true)
    let step = transfer.read(value([UInt8](repeating: 7, count: count)))
    #expect(step == (isWhole ? .finish : .fail(.malformed)))
  }

  @Test func listOrAnnouncementStoredAgain() {
    for answer: PropertyValue in [.atoms([utf8]), .incremental(hint: 4)] {
      var transfer = IncomingTransfer(target: utf8)
      _ = (transfer.chunkStored(), transfer.chunkStored(), transfer.answered(stored: true))
      #expect(transfer.read(answer) == .fail(.malformed))
    }
  }

  /// A list of atoms is kept as the four-byte items it was.
  @Test func atomList() {
    var transfer = IncomingTransfer(target: utf8)
    _ = transfer.answered(stored: true)
    #expect(transfer.read(.atoms([utf8, html])) == .finish)
    #expect(transfer.atoms == [utf8, html])
    let items = transfer.representation.map { form in
      form.payload.copiedBytes().withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
    }
    #expect(items == [300, 301])
    #expect(transfer.representation?.format == 32)
  }

  enum Input: CaseIterable { case answered, refused, chunk, read, fail }

  private static func apply(_ input: Input, to transfer: inout IncomingTransfer) -> IncomingTransfer.Step {
    switch input {
    case .answered: transfer.answered(stored: true)
    case .refused: transfer.answered(stored: false)
    case .chunk: transfer.chunkStored()
    case .read: transfer.read(value([5]))
    case .fail: transfer.fail(.timedOut)
    }
  }

  /// In a final state everything is ignored; in any other, an input that doesn't belong there changes nothing.
  @Test func inputsOutOfOrderChangeNothing() {
    let legal: [(prefix: [Input], incremental: Bool, accepts: Set<Input>)] = [
      // A value stored before the answer is counted.
      ([], false, [.answered, .refused, .chunk, .fail]),
      ([.answered], false, [.read, .fail]),
      ([.answered], true, [.chunk, .fail]),
      ([.answered, .chunk], true, [.read, .fail]),
      ([.answered, .read], false, []),
      ([.refused], false, [.fail]),
    ]
    for (prefix, incremental, accepts) in legal {
      for input in Input.allCases where !accepts.contains(input) {
        var transfer = IncomingTransfer(target: utf8)
        for (index, step) in prefix.enumerated() {
          _ = Self.apply(step, to: &transfer)
          if incremental, index == 0 { _ = transfer.read(.incremental(hint: 1)) }
        }
        let before = transfer
        #expect(Self.apply(input, to: &transfer) == .wait, "\(prefix) then \(input)")
        #expect(transfer == before, "\(prefix) then \(input)")
      }
    }
  }

  /// Whatever order events come in, a transfer never gives bytes that weren't sent, and ends once it is failed.
  @Test func randomOrders() {
    var random = SplitMix(seed: 11)
    for _ in 0..<2_000 {
      var transfer = IncomingTransfer(target: utf8)
      var finished = 0
      for _ in 0..<30 {
        let step: IncomingTransfer.Step
        switch random.next() % 7 {
        case 0: step = transfer.answered(stored: true)
        case 1: step = transfer.answered(stored: random.next() % 4 == 0)
        case 2, 3: step = transfer.chunkStored()
        case 4: step = transfer.read(.incremental(hint: 3))
        case 5: step = transfer.read(value([5, 5]))
        default: step = transfer.read(value([]))
        }
        if step == .finish { finished += 1 }
      }
      _ = transfer.fail(.timedOut)
      #expect(finished <= 1)
      #expect(transfer.representation.map { $0.payload.copiedBytes().allSatisfy { $0 == 5 } } ?? true)
      #expect((transfer.representation != nil) == (finished == 1))
    }
  }
}
