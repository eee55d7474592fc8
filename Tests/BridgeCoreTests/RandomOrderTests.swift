import BridgeCore
import Policy
import Selection
import Testing

/// Whatever order events come in: every request is answered exactly once, every transfer ends, nothing reaches a
/// subject that the policy refuses.
@Suite struct RandomOrderTests {
  @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
  func invariants(seed: UInt64) {
    var random = SplitMix(seed: seed)
    for _ in 0..<8 { scene(&random) }
  }

  private func scene(_ random: inout SplitMix) {
    var stage = Stage(Policies.financeStays)
    let apps = [Apps.ledger, Apps.report, Apps.browser, Apps.tool]
    var requests = 0
    var secrets: Set<UInt8> = []
    for step in 0..<80 {
      let roll = random.next() % 12
      switch roll {
      case 0, 1:
        let app = apps[Int(random.next() % 4)]
        let mark = UInt8(truncatingIfNeeded: step + 1)
        if app == Apps.ledger || app == Apps.report { secrets.insert(mark) }
        let size = [0, 3, 20, 300_000][Int(random.next() % 4)]
        let bytes = [mark] + Array(repeating: mark, count: size)
        let replies: [Stage.Reply] = [
          .bytes(bytes), .chunks([bytes, []]), .refuse, .silent, .nothingStored, .tooLarge, .chunks([bytes]),
        ]
        stage.copy(
          Stage.Owner(
            0x40_0001 + UInt32(step), app,
            [
              ("UTF8_STRING", replies[Int(random.next() % 7)]), ("text/html", replies[Int(random.next() % 7)]),
            ], listing: random.next() % 10 == 0 ? .silent : nil))
      case 2: stage.storeChunks()
      case 3: stage.clear(random.next() % 2 == 0 ? .set : .clientClosed)
      case 4: stage.wait(milliseconds: Int(random.next() % 6_000))
      case 5: stage.feed(.requestorGone(Window(0x60_0001 + UInt32(random.next() % 4) << 21)), nil)
      case 6: stage.supersedesNextClaim = random.next() % 4 == 0
      case 7:
        stage.feed(.conversionAnswered(ConversionID(random.next() % 40), stored: true), nil)
        stage.feed(.chunkStored(ConversionID(random.next() % 40)), nil)
      default:
        let index = Int(random.next() % 4)
        let target = ["UTF8_STRING", "text/html", "TARGETS", "FOO"][Int(random.next() % 4)]
        requests += 1
        let key = stage.request(target, by: apps[index], window: 0x60_0001 + UInt32(index) << 21)
        #expect(stage.notified.count == requests, "each request is answered at once and once")
        for _ in 0..<(random.next() % 5) {
          stage.feed(.propertyDeleted(window: key.window, property: key.property), nil)
        }
      }
      for (key, bytes) in stage.content where !bytes.isEmpty {
        let index = Int((key.window.id - 0x60_0001) >> 21)
        if apps[index] == Apps.browser || apps[index] == Apps.tool {
          #expect(!secrets.contains(bytes[0]), "a clip of finance reached \(apps[index].windowClass?.value ?? "tool")")
        }
        #expect(bytes.last == bytes[0] && bytes[bytes.count / 2] == bytes[0], "bytes of two clips are never mixed")
      }
    }
    // An owner that never answered is listened to until it goes.
    stage.supersedesNextClaim = false
    stage.clear()
    stage.wait(milliseconds: 70_000)
    #expect(!stage.hasOpenConversions)
    #expect(stage.bridge.status.allSatisfy { $0.transfers == 0 && $0.conversions == 0 })
    #expect(stage.watched.isEmpty)
    #expect(stage.bridge.isSettled)
    #expect(stage.bridge.nextDeadline == nil)
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
