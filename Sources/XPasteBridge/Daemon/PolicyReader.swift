@preconcurrency import CSystemd
@preconcurrency import Glibc
import Policy
import PolicyFile
import Selection

/// Reads policy files while the loop goes on: each side on a thread of its own, which ends with its reading. What such a
/// thread is given and what it gives are values; the kernel's event says when it is done, so the two never share anything
/// at the same time.
final class PolicyReader {
  /// How long a side may take (our choice: the limits of folders are read in 1 s, and a start may take 20 s in all).
  static let limitMilliseconds = 10_000

  /// A reading of one side on a thread of its own.
  private final class Work {
    let exchange: PolicyExchange
    let done: OwnedDescriptor
    var source: EventSource?
    var timer: EventTimer?
    /// Whether the time is over, so that what comes is late.
    var isLate = false
    /// Whether the files are to be read again as soon as this is done.
    var isStale = false

    init(_ exchange: PolicyExchange, _ done: OwnedDescriptor) {
      self.exchange = exchange
      self.done = done
    }

    // Before the descriptor: the kernel would still report it while the thread has its copy.
    deinit { source = nil }
  }

  private let source: any PolicySource
  private let loop: EventLoop
  private let limitMilliseconds: Int
  private var work: [PolicySide: Work] = [:]
  /// What a side is read over; asked when a reading begins.
  var combination: () -> PolicyCombination = { PolicyCombination() }
  /// Takes what was read of a side, with the set that comes of it.
  var onRead: (PolicySide, SideReading, CompiledPolicy?) -> Void = { _, _, _ in }

  /// Reads from `source`; a side that takes longer than `limitMilliseconds` is reported as one that can't be read.
  init(source: any PolicySource, loop: EventLoop, limitMilliseconds: Int = PolicyReader.limitMilliseconds) {
    self.source = source
    self.loop = loop
    self.limitMilliseconds = limitMilliseconds
  }

  /// Whether a side is being read and its time isn't over.
  var isReading: Bool { work.values.contains { !$0.isLate } }

  /// Whether `side` has anywhere to be read from.
  func hasPaths(_ side: PolicySide) -> Bool { !source.paths(of: side).isEmpty }

  /// Reads `side` and hands it over when that is done. What is being read of it already is read again.
  func read(_ side: PolicySide) {
    guard let under = work[side] else { return begin(side) }
    under.isStale = true
    // Whoever hangs in a file still does, or the time isn't over yet.
    if under.isLate { report(lateReading(of: side), side) }
  }

  private func begin(_ side: PolicySide) {
    do throws(SystemFailure) {
      let done = OwnedDescriptor(try SystemFailure.unlessNegative(xpb_eventfd(), "eventfd"))
      let new = Work(PolicyExchange(source, side, combination(), done: done.number), done)
      new.source = try loop.addInput(done.number) { [weak self, unowned new] in self?.finish(new, side) }
      new.timer = try loop.makeTimer { [weak self, unowned new] in
        guard let self else { return }
        new.isLate = true
        report(lateReading(of: side), side)
      }
      work[side] = new
      try new.exchange.start()
      new.timer?.set(Posix.monotonicNow().advanced(byMilliseconds: limitMilliseconds))
    } catch {
      work[side] = nil
      report(SideReading(errors: ["\(place(of: side)):1:1: the files can't be read: \(error)"]), side)
    }
  }

  private func finish(_ done: Work, _ side: PolicySide) {
    work[side] = nil
    guard !done.isStale else { return begin(side) }
    guard let (reading, policy) = done.exchange.outcome else { return }
    withExtendedLifetime(done) { onRead(side, reading, policy) }
  }

  private func report(_ reading: SideReading, _ side: PolicySide) { onRead(side, reading, nil) }

  private func lateReading(of side: PolicySide) -> SideReading {
    SideReading(errors: [
      "\(place(of: side)):1:1: expected files that are read within \(limitMilliseconds / 1_000) s, found more to read"
    ])
  }

  private func place(of side: PolicySide) -> String { source.paths(of: side).last ?? "policy" }
}

/// What goes to a reading thread and comes back. The loop looks at the outcome only after the descriptor `done` has
/// said that the thread is done with it.
private nonisolated final class PolicyExchange: @unchecked Sendable {
  private let source: any PolicySource
  private let side: PolicySide
  private let combination: PolicyCombination
  private let done: Int32
  private(set) var outcome: (SideReading, CompiledPolicy?)?

  init(_ source: any PolicySource, _ side: PolicySide, _ combination: PolicyCombination, done: Int32) {
    // Of its own: the other may be closed before a thread that is late is done.
    (self.source, self.side, self.combination, self.done) = (source, side, combination, fcntl(done, F_DUPFD_CLOEXEC, 3))
  }

  deinit { close(done) }

  /// Starts the thread.
  func start() throws(SystemFailure) {
    try DetachedThread.start("policy") { self.run() }
  }

  private func run() {
    let reading = source.load(side, over: combination.managed)
    var sum = combination
    if let ruleset = reading.ruleset {
      switch side {
      case .managed: sum.managed = ruleset
      case .user: (sum.user, sum.outer) = (ruleset, sum.managed)
      }
    }
    outcome = (reading, reading.ruleset == nil ? nil : CompiledPolicy(policy: sum.policy, version: sum.version))
    var one: UInt64 = 1
    _ = write(done, &one, MemoryLayout.size(ofValue: one))
  }
}
