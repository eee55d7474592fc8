import Selection

/// When a press that stands still has stood still for too long, so that somebody else than the daemon has to let the
/// person's keyboard and pointer go on. Pure: what the watching process sees goes in, what it does comes out.
public struct StallWatch: Sendable {
  /// How long a press may stand still. Ten times what the daemon gives itself for a decision, and so short that with being
  /// woken up late a person is held up for 300 ms at most (our choice).
  public static let milliseconds = 200

  /// What can be seen of the daemon from outside.
  public struct Sight: Hashable, Sendable {
    /// Whether something has come from the X server that the daemon hasn't read.
    public var isUnread: Bool
    /// How often the daemon has begun to read, or was done with it.
    public var reads: UInt64
    /// Since when it has been attending to what it read; `nil` when it is done with all of it.
    public var attendsSince: MonotonicTime?

    /// Describes what is seen. `isUnread` has to be looked up before the other two: the daemon writes that it attends, and
    /// reads then.
    public init(isUnread: Bool, reads: UInt64, attendsSince: MonotonicTime?) {
      self.isUnread = isUnread
      self.reads = reads
      self.attendsSince = attendsSince
    }
  }

  /// What to do.
  public enum Verdict: Hashable, Sendable {
    /// Nothing stands still: to be woken up by what comes from the X server.
    case rest
    /// To be looked at again.
    case lookAgain(at: MonotonicTime)
    /// The daemon doesn't go on: input has to be let go.
    case free
  }

  /// Since when something has lain unread, and how often the daemon had read until then.
  private var unread: (since: MonotonicTime, reads: UInt64)?

  /// Has seen nothing yet.
  public init() {}

  /// Looks once. It has to be called when something comes from the X server, and when a verdict says so.
  public mutating func look(_ sight: Sight, at now: MonotonicTime) -> Verdict {
    if !sight.isUnread {
      unread = nil
    } else if unread?.reads != sight.reads {
      unread = (now, sight.reads)
    }
    guard let oldest = [sight.attendsSince, unread?.since].compactMap({ $0 }).min() else { return .rest }
    let due = oldest.advanced(byMilliseconds: Self.milliseconds)
    return now < due ? .lookAgain(at: due) : .free
  }
}
