import Selection
import Testing

/// Server time wraps after 49.7 days: order is decided on the circle (K05 B046).
@Suite struct TimestampTests {
  @Test(arguments: [
    (UInt32(1), UInt32(2), true),
    (2, 1, false),
    (7, 7, false),
    (0xFFFF_FFF0, 0x0000_0010, true),
    (0x0000_0010, 0xFFFF_FFF0, false),
    (0, 0x7FFF_FFFF, true),
    (0x8000_0001, 0, true),
  ])
  func laterOnTheCircle(earlier: UInt32, later: UInt32, expected: Bool) {
    #expect(ServerTime(later).isLater(than: ServerTime(earlier)) == expected)
  }

  @Test func deadlinesAddMilliseconds() {
    let start = MonotonicTime(nanoseconds: 5)
    #expect(start.advanced(byMilliseconds: 2) == MonotonicTime(nanoseconds: 2_000_005))
    #expect(start.advanced(byMilliseconds: -1) == start)
  }
}
