import Policy
import Selection

/// How a copy stands to the lock.
public enum PriorityLockState: Sendable {
  /// Nobody is kept waiting.
  case idle
  /// The key stands still, and everybody else is being put behind the source; then `held`, or `idle` where that fails.
  case locking(source: Subject, since: MonotonicTime)
  /// The source goes on alone, to copy; then `idle` when the copy is taken, or `lapsed` at the deadline.
  case held(source: Subject, until: MonotonicTime, isCopying: Bool)
  /// Let go before the copy was taken: one that comes now is late. Then `idle`.
  case lapsed(source: Subject, until: MonotonicTime)
}

/// What has to be done for the lock, in order.
public enum PriorityLockEffect: Hashable, Sendable {
  /// Put every other client behind the one with this window, and begin to keep the server busy between the two. Tell by
  /// `enclosed` how it went.
  case enclose(source: Window)
  /// Put those behind once more who have put themselves in front meanwhile, and wait for the server.
  case encloseAgain
  /// Let the keyboard go on, the key being handed to whom it was meant for.
  case replay
  /// Let the keyboard go on, without the key: nobody sees a copy that isn't made.
  case swallow
  /// Take the selection before anybody else goes on: its source hasn't given everything yet.
  case finishCopy
  /// Let everybody go on as before.
  case release
}

/// The priority lock: from a copy key in a protected app until its copy is ours, the X server takes nobody's requests but
/// the app's and ours (product.md 7; docs/threats.md has what it gives).
///
/// The person's whole desktop stands still meanwhile, so every state but `idle` has an end that nobody else can delay.
public struct PriorityLock: Sendable {
  /// How long others are kept waiting at most, from the key on. Our choice: the slowest of 1,500 measured copies took 36 ms on
  /// a machine at rest; beyond 200 ms a standstill is seen.
  public static let heldMilliseconds = 200
  /// How long putting others behind may take, for which the keyboard stands still. Our choice: 2 ms on a machine at rest,
  /// up to 50 ms were measured with ten programs waiting for each processor.
  public static let lockingMilliseconds = 100
  /// How long after its key a copy counts as late. The same time as a cut has (`CutWatch`).
  public static let lateMilliseconds = 1_000

  /// A key that comes this soon after the one before is one that is held down: repeating itself, it would keep others waiting
  /// all the time. Our choice: X repeats keys every 40 ms, and nobody types that fast.
  public static let repetitionMilliseconds: UInt32 = 60

  /// Where it stands.
  public private(set) var state = PriorityLockState.idle
  /// Copies that were taken under the lock.
  public private(set) var takenCount = 0
  /// Locks that ended before a copy was taken, mostly since the key copied nothing.
  public private(set) var lapsedCount = 0
  /// Keys that were swallowed, since others couldn't be put behind in time.
  public private(set) var swallowedCount = 0

  private var lastPress: ServerTime?

  /// Nothing is locked.
  public init() {}

  /// A key that may copy stands still on `window` of `source` since `time`.
  public mutating func keyPressed(
    by source: Subject, on window: Window, time: ServerTime, at now: MonotonicTime
  ) -> [PriorityLockEffect] {
    let isRepetition = lastPress.map { time.milliseconds &- $0.milliseconds < Self.repetitionMilliseconds } ?? false
    lastPress = time
    if isRepetition { return [.swallow] }
    switch state {
    case .idle, .lapsed:
      state = .locking(source: source, since: now)
      return [.enclose(source: window)]
    // Another one is pressed right behind.
    case .locking, .held: return [.replay]
    }
  }

  /// Everybody else is behind and the server busy, or isn't.
  public mutating func enclosed(_ isComplete: Bool, at now: MonotonicTime) -> [PriorityLockEffect] {
    guard case .locking(let source, let since) = state else { return [] }
    guard isComplete, now < since.advanced(byMilliseconds: Self.lockingMilliseconds) else {
      swallowedCount += 1
      state = .idle
      return [.swallow, .release]
    }
    state = .held(
      source: source, until: since.advanced(byMilliseconds: Self.heldMilliseconds), isCopying: false)
    return [.encloseAgain, .replay]
  }

  /// CLIPBOARD has a new owner; tells how the lock stood to its copy.
  public mutating func ownerChanged(to owner: Subject, at now: MonotonicTime) -> CopyLock {
    switch state {
    case .held(let source, let until, _) where source.isSameApp(as: owner):
      state = .held(source: source, until: until, isCopying: true)
      return .held
    case .lapsed(let source, let until) where source.isSameApp(as: owner):
      state = .idle
      return now < until ? .missed : .none
    case .idle, .locking, .held, .lapsed: return .none
    }
  }

  /// Nothing of the source's copy is open any more.
  public mutating func copyTaken() -> [PriorityLockEffect] {
    guard case .held(_, _, true) = state else { return [] }
    takenCount += 1
    state = .idle
    return [.release]
  }

  /// When ``deadlineReached(at:)`` has to be called; `nil` while nobody waits.
  public var deadline: MonotonicTime? {
    // Taken into another module, this would make the optimizer of Swift 6.3 fail.
    @inline(never) get { if case .held(_, let until, _) = state { until } else { nil } }
  }

  /// Whether the server has to be kept busy.
  public var isHeld: Bool { deadline != nil }

  /// Nobody is kept waiting any longer, whatever the source does.
  public mutating func deadlineReached(at now: MonotonicTime) -> [PriorityLockEffect] {
    guard case .held(let source, let until, let isCopying) = state, now >= until else { return [] }
    guard isCopying else {
      lapse(source, at: now)
      return [.release]
    }
    lapsedCount += 1
    state = .idle
    return [.finishCopy, .release]
  }

  /// The lock isn't wanted any more, or not possible.
  public mutating func abandon() -> [PriorityLockEffect] {
    switch state {
    case .idle: return []
    case .lapsed:
      state = .idle
      return []
    case .locking:
      state = .idle
      return [.release, .replay]
    case .held:
      state = .idle
      return [.release]
    }
  }

  private mutating func lapse(_ source: Subject, at now: MonotonicTime) {
    lapsedCount += 1
    state = .lapsed(source: source, until: now.advanced(byMilliseconds: Self.lateMilliseconds))
  }
}
