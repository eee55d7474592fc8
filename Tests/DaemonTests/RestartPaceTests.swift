import Selection
import Testing

@testable import XPasteBridge

/// How restarts slow down when our connection is ended again and again.
struct RestartPaceTests {
  @Test func waitsGrowAndAreForgotten() {
    let folder = TemporaryDirectory()
    let pace = RestartPace(path: folder.path + "/ends")
    var now = MonotonicTime(nanoseconds: 5_000_000_000)
    let waits = (0..<10).map { _ in
      now = now.advanced(byMilliseconds: 1_000)
      return pace.note(at: now)
    }
    #expect(waits == [0, 0, 100, 200, 400, 800, 1_600, 3_000, 3_000, 3_000])
    now = now.advanced(byMilliseconds: (RestartPace.memorySeconds + 2) * 1_000)
    #expect(pace.note(at: now) == 0)
    // After a boot the clock stands before what is written there.
    #expect(pace.note(at: MonotonicTime(nanoseconds: 1)) == 0)
    #expect(RestartPace(path: folder.path + "/none/ends").note(at: now) == 0)
    #expect(RestartPace.milliseconds(after: .max) == RestartPace.longestMilliseconds)
  }
}
