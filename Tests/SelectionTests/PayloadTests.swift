import Selection
import Testing

@Suite struct PayloadTests {
  /// Bytes in are bytes out for every way of cutting them, NUL, CR and blanks included (K14).
  @Test(arguments: [0, 1, 2, 255, Payload.segmentBytes - 1, Payload.segmentBytes, Payload.segmentBytes + 1, 700_000])
  func bytesSurviveEveryChunking(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var random = SplitMix(seed: UInt64(count))
    for _ in 0..<4 {
      var payload = Payload()
      var rest = bytes[...]
      while !rest.isEmpty {
        let taken = Int(random.next() % UInt64(rest.count)) + 1
        Array(rest.prefix(taken)).withUnsafeBytes { payload.append($0) }
        rest = rest.dropFirst(taken)
      }
      #expect(payload.count == count)
      #expect(payload.copiedBytes() == bytes)
      #expect(payload == Payload(bytes))
      let chunks = (0..<payload.chunkCount).map { payload.byteCount(ofChunk: $0) }
      #expect(chunks.reduce(0, +) == count)
      #expect(chunks.dropLast().allSatisfy { $0 == Payload.segmentBytes })
    }
  }

  @Test func appendingLeavesCopiesAlone() {
    var first = Payload([1, 2, 3])
    let copy = first
    first.append(Payload([4]))
    #expect(copy.copiedBytes() == [1, 2, 3])
    #expect(first.copiedBytes() == [1, 2, 3, 4])
  }

  /// Content never prints.
  @Test func descriptionsShowTheSizeAlone() {
    let secret = Payload(Array("TOKEN-7f3a".utf8))
    var dumped = ""
    dump(secret, to: &dumped)
    let form = Representation(
      target: Target(Atom(1), "UTF8_STRING"), type: NamedAtom(Atom(1), "UTF8_STRING"), format: 8, payload: secret)
    var wholeForm = ""
    dump(form, to: &wholeForm)
    for text in ["\(secret)", String(reflecting: secret), dumped, "\(form)", String(reflecting: form), wholeForm] {
      #expect(!text.contains("TOKEN"))
      #expect(!text.contains("84, 79, 75"), "the bytes as numbers")
    }
    #expect("\(secret)" == "10 bytes")
  }

  @Test func differentContentIsUnequal() {
    #expect(Payload([1, 2]) != Payload([1, 3]))
    #expect(Payload([1, 2]) != Payload([1, 2, 3]))
    #expect(Payload([1, 2]).digest(ofEnds: 64) == Payload([1, 2]).digest(ofEnds: 64))
    #expect(Payload([1, 2]).digest(ofEnds: 64) != Payload([2, 2]).digest(ofEnds: 64))
  }
}

/// A small seeded generator, so that a failing run can be repeated.
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
