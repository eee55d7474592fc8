import Policy
import Selection
import Testing

@testable import ClipStore

/// The byte form of a clip: what is written comes back, and any other bytes are an error that says what is wrong.
@Suite struct StoredClipTests {
  static let place = Place(
    display: ":7", screen: 1, server: Array(1...16), boot: Array(repeating: 0xab, count: 16))
  static let clip = StoredClip(
    place: place, selection: "CLIPBOARD", time: ServerTime(0xffff_fff0),
    source: Subject(
      origin: .local(ProcessIdentity(id: 4_321, startTime: 1 << 40)), windowClass: Fact("Lédger", .declared),
      executable: Fact("/opt/ledger/bin/ledger", .attested), unit: Fact("app-ledger.service", .attested),
      host: Fact("here", .inferred)),
    isCut: true, copiedAt: MonotonicTime(nanoseconds: 987_654_321_012), listsSaveTargets: true,
    forms: [
      .init(target: "UTF8_STRING", type: "UTF8_STRING", format: 8, count: 5),
      .init(target: "x/empty", type: "x/empty", format: 8, count: 0),
      .init(target: "x/words", type: "INTEGER", format: 32, count: 4_096),
    ])

  static func bytes(_ clip: StoredClip = clip) -> [UInt8] {
    let (header, ranges, count) = clip.encoded()
    var bytes = header + Array(repeating: 0, count: count - header.count)
    for (index, range) in ranges.enumerated() {
      for offset in range { bytes[offset] = UInt8(truncatingIfNeeded: index + offset) }
    }
    return bytes
  }

  private func failure(_ bytes: [UInt8]) -> StoreError? {
    do {
      _ = try LocatedClip.decode(bytes)
      return nil
    } catch {
      return error
    }
  }

  @Test func comesBackWhole() throws {
    let found = try LocatedClip.decode(Self.bytes())
    #expect(found.clip == Self.clip)
    #expect(found.ranges == Self.clip.encoded().ranges)
    #expect(found.ranges.map(\.count) == [5, 0, 4_096])
    #expect(found.ranges.allSatisfy { $0.lowerBound % 16 == 0 })
  }

  @Test(arguments: [Origin.remote, .unknown])
  func othersOrigins(origin: Origin) throws {
    var clip = Self.clip
    clip.source = Subject(origin: origin, sandbox: Fact("flatpak:a.b", .attested))
    (clip.isCut, clip.listsSaveTargets) = (false, false)
    #expect(try LocatedClip.decode(Self.bytes(clip)).clip == clip)
  }

  @Test func everyTruncationIsAnError() {
    let whole = Self.bytes()
    for count in 0..<whole.count {
      #expect(failure(Array(whole.prefix(count))) != nil, "cut to \(count) of \(whole.count) bytes")
    }
    #expect(failure(whole + [0]) == .lengths)
  }

  @Test func everyFlippedBitOfTheHeaderIsAnError() throws {
    let whole = Self.bytes()
    for offset in 0..<Self.clip.encoded().header.count {
      for bit in 0..<8 {
        var bytes = whole
        bytes[offset] ^= 1 << UInt8(bit)
        #expect(failure(bytes) != nil, "bit \(bit) of byte \(offset)")
      }
    }
  }

  /// With a digest that fits, so that the reading itself is tried: it errs or finds ranges in bounds.
  @Test func everyByteOfTheHeaderWithAFittingDigest() {
    let whole = Self.bytes()
    let headerCount = Self.clip.encoded().header.count
    var errors: Set<String> = []
    for offset in StoredClip.prefixBytes..<headerCount {
      for value in [UInt8(0), 1, 2, 3, 4, 0x7f, 0x80, 0xff] {
        var bytes = whole
        bytes[offset] = value
        let digest = Digest.of(Array(bytes.prefix(headerCount)))
        for index in 0..<8 { bytes[StoredClip.digestOffset + index] = UInt8(truncatingIfNeeded: digest >> (8 * index)) }
        do {
          let found = try LocatedClip.decode(bytes)
          #expect(found.ranges.allSatisfy { $0.lowerBound >= headerCount && $0.upperBound <= bytes.count })
        } catch {
          errors.insert(error.description)
        }
      }
    }
    for name in ["kind", "format", "size", "origin", "class", "number of forms"] {
      #expect(errors.contains("its \(name) makes no sense"), "\(name): \(errors.sorted())")
    }
  }

  @Test func otherBytes() {
    #expect(failure([]) == .tooShort)
    #expect(failure(Array(repeating: 0, count: 4_096)) == .foreign)
    var other = Self.bytes()
    other[8] = 3
    #expect(failure(other) == .version(3))
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let tail = (0..<Int.random(in: 0..<512, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(failure(StoredClip.magic + [2, 0, 0, 0] + tail) != nil)
    }
  }
}

/// The byte form of the ledger of requests.
@Suite struct RequestLedgerTests {
  private func ledger(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
    var bytes = RequestLedger.magic + Array(repeating: 0, count: RequestLedger.byteCount - RequestLedger.magic.count)
    change(&bytes)
    return bytes
  }

  private func words(_ words: [UInt32]) -> [UInt8] { words.flatMap { withUnsafeBytes(of: $0) { Array($0) } } }

  @Test func slotsComeBack() throws {
    let bytes = ledger { bytes in
      bytes.replaceSubrange(12..<24, with: words([3, 2, 1]))
      bytes.replaceSubrange(32..<64, with: Array(1...32))
      let last = RequestLedger.slotsOffset + (RequestLedger.slotCount - 1) * RequestLedger.slotBytes
      bytes.replaceSubrange(last..<last + 24, with: words([1, 0x60_0001, 5, 6, 7, 0xffff_ffff]))
      // Anything but 1 is free.
      bytes.replaceSubrange(64..<72, with: words([2, 0x60_0002]))
    }
    let found = try RequestLedger.decode(bytes)
    #expect(found.waiting.map(\.requestor.id) == [0x60_0001])
    #expect(found.waiting.first?.property == Atom(7) && found.waiting.first?.time == ServerTime(0xffff_ffff))
    #expect((found.transfers, found.unkept, found.isRestoring) == (3, 2, true))
    #expect(found.server == Array(1...16) && found.boot == Array(17...32))
  }

  @Test func otherBytes() {
    #expect(throws: StoreError.tooShort) { try RequestLedger.decode([]) }
    #expect(throws: StoreError.foreign) { try RequestLedger.decode(Array(repeating: 7, count: 100)) }
    #expect(throws: StoreError.lengths) { try RequestLedger.decode(RequestLedger.magic) }
    #expect(throws: StoreError.lengths) { try RequestLedger.decode(ledger { $0.append(0) }) }
    for count in 0..<RequestLedger.byteCount where count % 97 == 0 {
      #expect(throws: StoreError.self) { try RequestLedger.decode(ledger { $0.removeLast($0.count - count) }) }
    }
  }
}
