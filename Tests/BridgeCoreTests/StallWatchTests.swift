import BridgeCore
import Selection
import Testing

/// When the watching process lets input go, as transcripts of what it sees.
@Suite struct StallWatchTests {
  private var stall = StallWatch()

  private func at(_ milliseconds: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000).advanced(byMilliseconds: milliseconds)
  }

  private mutating func look(
    _ milliseconds: Int, unread: Bool = false, reads: UInt64 = 0, since: Int? = nil
  ) -> StallWatch.Verdict {
    stall.look(
      StallWatch.Sight(isUnread: unread, reads: reads, attendsSince: since.map { at($0) }), at: at(milliseconds))
  }

  @Test mutating func nothingStandsStill() {
    #expect(look(0) == .rest)
    #expect(look(10_000, reads: 7) == .rest)
  }

  /// The usual case: a press comes, is read and decided.
  @Test mutating func decidedInTime() {
    #expect(look(0, unread: true) == .lookAgain(at: at(200)))
    #expect(look(200, reads: 1) == .rest)
    #expect(look(5_000, unread: true, reads: 1) == .lookAgain(at: at(5_200)), "the next press counts from its own time")
  }

  /// The daemon stood still before the press came.
  @Test mutating func neverRead() {
    #expect(look(0, unread: true, reads: 3) == .lookAgain(at: at(200)))
    #expect(look(199, unread: true, reads: 3) == .lookAgain(at: at(200)))
    #expect(look(200, unread: true, reads: 3) == .free)
  }

  /// It has read the press, and stands still before it has decided.
  @Test mutating func neverDecided() {
    #expect(look(0, reads: 1, since: 0) == .lookAgain(at: at(200)))
    #expect(look(200, reads: 1, since: 0) == .free)
  }

  /// It stands still between saying that it reads and reading.
  @Test mutating func stopsWhileReading() {
    #expect(look(0, unread: true, reads: 1, since: 0) == .lookAgain(at: at(200)))
    #expect(look(200, unread: true, reads: 1, since: 0) == .free)
  }

  /// Clicks come one after another, all decided in time.
  @Test mutating func manyPresses() {
    var reads: UInt64 = 0
    for press in 0..<20 {
      let time = press * 150
      #expect(look(time, unread: true, reads: reads) == .lookAgain(at: at(time + 200)), "\(press)")
      reads += 1
    }
    #expect(look(19 * 150 + 200, reads: reads) == .rest)
  }

  /// A key comes while a click waits: the older of the two counts, and one that is decided no longer does.
  @Test mutating func twoPresses() {
    #expect(look(0, reads: 1, since: 0) == .lookAgain(at: at(200)))
    #expect(look(150, unread: true, reads: 1, since: 0) == .lookAgain(at: at(200)))
    var other = self
    #expect(look(200, unread: true, reads: 1, since: 0) == .free)
    #expect(other.look(200, unread: true, reads: 1) == .lookAgain(at: at(350)), "the click is decided, the key unread")
    #expect(other.look(350, unread: true, reads: 1) == .free)
  }
}
