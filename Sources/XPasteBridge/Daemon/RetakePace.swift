import Selection

/// How often what another program takes again and again is taken back, and how often that is said.
///
/// Each round costs the server and us some requests, and a line in the journal; whoever takes it decides how many rounds
/// there are.
struct RetakePace {
  /// The first pause (closed-in-doubt: not faster than that), and the longest.
  static let shortestMilliseconds = 50
  static let longestMilliseconds = 2_000
  /// After as long without a loss the pauses begin anew. Our choice.
  static let quietMilliseconds = 10_000
  /// From one line to the next.
  static let lineMilliseconds = 30_000

  private var pause = Self.shortestMilliseconds
  private var lastRetake: MonotonicTime?
  private var lastLine: MonotonicTime?
  private(set) var unsaid = 0

  /// When it may be taken back that was lost at `now`.
  mutating func due(at now: MonotonicTime) -> MonotonicTime {
    guard let lastRetake else { return now }
    if now >= lastRetake.advanced(byMilliseconds: Self.quietMilliseconds) {
      pause = Self.shortestMilliseconds
      return now
    }
    return max(now, lastRetake.advanced(byMilliseconds: pause))
  }

  /// Counts a loss that is made good at `now`; returns how many there were since the last line, where one is due.
  mutating func retaken(at now: MonotonicTime) -> Int? {
    if let lastRetake, now < lastRetake.advanced(byMilliseconds: Self.quietMilliseconds) {
      pause = min(Self.longestMilliseconds, pause * 2)
    }
    lastRetake = now
    unsaid += 1
    if let lastLine, now < lastLine.advanced(byMilliseconds: Self.lineMilliseconds) { return nil }
    lastLine = now
    defer { unsaid = 0 }
    return unsaid
  }
}
