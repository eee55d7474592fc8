/// The X server's time: milliseconds in 32 bits, wrapping after 49.7 days (ICCCM 2.1; X protocol, "Timestamp").
public struct ServerTime: Hashable, Sendable, CustomStringConvertible {
  /// Milliseconds; 0 is CurrentTime and no time at all.
  public var milliseconds: UInt32

  /// The time of that many milliseconds.
  public init(_ milliseconds: UInt32) { self.milliseconds = milliseconds }

  /// CurrentTime: "whenever the server reads this".
  public static let current = ServerTime(0)
  /// The milliseconds.
  public var description: String { "\(milliseconds)" }

  /// Whether this is later than `other` on the circle of 2³² ms: within half of it, as the server itself compares.
  public func isLater(than other: ServerTime) -> Bool {
    Int32(bitPattern: milliseconds &- other.milliseconds) > 0
  }
}

/// This machine's monotonic clock in nanoseconds, for deadlines; never compared with server time.
public struct MonotonicTime: Hashable, Sendable, Comparable {
  /// Nanoseconds after an arbitrary start.
  public var nanoseconds: UInt64

  /// The time of that many nanoseconds.
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// Earlier than.
  public static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

  /// The time `milliseconds` later.
  public func advanced(byMilliseconds milliseconds: Int) -> MonotonicTime {
    MonotonicTime(nanoseconds: nanoseconds &+ UInt64(max(0, milliseconds)) &* 1_000_000)
  }
}
