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

  /// Whatever happens to PRIMARY: every press is let go, once, within its 20 ms, and a refused app is never handed one
  /// while the text is with its source.
  @Test(arguments: [UInt64(11), 12, 13, 14, 15, 16, 17, 18])
  func presses(seed: UInt64) {
    var random = SplitMix(seed: seed)
    for _ in 0..<8 { pressScene(&random) }
  }

  private func pressScene(_ random: inout SplitMix) {
    let apps = [Apps.ledger, Apps.report, Apps.browser, Apps.tool]
    let policies = [Policies.financeStays, Policies.vaultIsPrivate, Policies.allowedInShort]
    var stage = Stage(policies[Int(random.next() % 2) * 2])
    var presses = 0
    for step in 0..<80 {
      switch random.next() % 12 {
      case 0, 1, 2:
        let replies: [Stage.Reply] = [
          .bytes([1, 2, 3]), .chunks([[1], []]), .refuse, .silent, .nothingStored, .tooLarge,
        ]
        stage.copy(
          Stage.Owner(
            0x40_0001 + UInt32(step), apps[Int(random.next() % 4)],
            [("UTF8_STRING", replies[Int(random.next() % 6)])], listing: random.next() % 10 == 0 ? .silent : nil),
          on: stage.atoms.primary)
      case 3: stage.storeChunks()
      case 4: stage.clear(random.next() % 2 == 0 ? .set : .clientClosed, on: stage.atoms.primary)
      case 5: stage.isPointerBusy.toggle()
      case 6: stage.supersedesNextClaim = random.next() % 4 == 0
      case 7: stage.wait(milliseconds: Int(random.next() % 400))
      case 8: stage.replacePolicy(policies[Int(random.next() % 3)])
      case 9: stage.isButtonTaken.toggle()
      default:
        // The server sends no second press before the first is let go.
        guard stage.releases.count == presses else { continue }
        if !stage.isPointerGuarded { continue }
        presses += 1
        stage.feed(
          .middleButtonPressed(isOnWindowManager: random.next() % 4 == 0), apps[Int(random.next() % 4)])
        if stage.releases.count < presses { stage.wait(milliseconds: 20) }
        #expect(stage.releases.count == presses, "a press is let go within 20 ms, once")
      }
    }
    stage.supersedesNextClaim = false
    stage.isPointerBusy = false
    stage.wait(milliseconds: 70_000)
    stage.clear(on: stage.atoms.primary)
    stage.wait(milliseconds: 1_000)
    #expect(stage.releases.count == presses && !stage.isPointerGuarded && !stage.hasOpenConversions)
    #expect(stage.bridge.isSettled && stage.bridge.nextDeadline == nil)
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
        #expect(stage.notified.count <= requests, "each request is answered once")
        #expect(
          stage.notified.count == requests || stage.bridge.isCopyTaken && !stage.bridge.isSettled,
          "and at once, unless what it asks for is on its way to us")
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
    #expect(stage.notified.count == requests, "none is forgotten")
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
