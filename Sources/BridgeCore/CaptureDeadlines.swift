import Policy
import Selection

// The limits of time of a capture (product.md 9).
extension Bridge {
  /// When something of a capture is overdue.
  func deadline(of capture: Capture, on selection: NamedAtom) -> MonotonicTime? {
    guard !capture.isOverdue else { return nil }
    if let takenBy = capture.takenBy { return takenBy }
    let limits = policy.limits
    if capture.listing != nil, capture.claim == nil {
      return capture.startedAt.advanced(byMilliseconds: min(limits.targetsMilliseconds, limits.captureMilliseconds))
    }
    let whole = capture.startedAt.advanced(byMilliseconds: captureMilliseconds(of: capture, on: selection))
    let idle = capture.pending.compactMap { conversions[$0] }.filter { $0.transfer.isIncremental }
      .map { $0.lastProgress.advanced(byMilliseconds: limits.idleMilliseconds) }
    return (idle + capture.waiting.map(\.until)).reduce(whole, min)
  }

  /// Whether the source of a capture could hand out, as long as it is read, what a rule keeps from others: then that is not for
  /// long. What is merely marked stays with its source, and a drag has a time of its own.
  private func isBounded(_ capture: Capture, on selection: NamedAtom) -> Bool {
    capture.claim == nil && capture.takenBy == nil && !capture.isCleared
      && !staysWithOwner(capture.source, on: selection) && policy.isRestricted(capture.source)
  }

  /// How long a capture may take. A restricted source is taken over with what has come, and what it still gives then, when it
  /// has had as long as it may take to list its targets.
  private func captureMilliseconds(of capture: Capture, on selection: NamedAtom) -> Int {
    let limits = policy.limits
    return isBounded(capture, on: selection)
      ? min(limits.targetsMilliseconds, limits.captureMilliseconds) : limits.captureMilliseconds
  }

  /// Ends what is overdue of a capture: the whole of it, or single transfers that stand still.
  mutating func captureOverdue(_ capture: Capture, on selection: NamedAtom, at now: MonotonicTime) -> [Effect] {
    let limits = policy.limits
    if let effects = refuseWaiting(capture, on: selection, at: now) { return effects }
    if capture.takenBy != nil { return takeDrag(capture, limit: .captureTimeout) }
    if capture.listing != nil, capture.claim == nil {
      var capture = capture
      // Whatever it may give others later, a rule could be about it; and on a board nobody but us answers for its members.
      if isBoard(selection) || policy.isRestricted(capture.source) {
        answers.wasExposed(capture.source)
        return abandonConversions(of: &capture, limit: .targetsTimeout)
          + refuseWhole(capture, on: selection, limit: .targetsTimeout)
      }
      let effects = leave(capture, on: selection, limit: .targetsTimeout)
      (capture.isOverdue, capture.saves) = (true, [])
      phases[selection] = .capturing(capture)
      return effects
    }
    if isBounded(capture, on: selection),
      now >= capture.startedAt.advanced(byMilliseconds: captureMilliseconds(of: capture, on: selection))
    {
      answers.wasExposed(capture.source)
      return takeNow(capture, on: selection, limit: .captureTimeout)
    }
    if now >= capture.startedAt.advanced(byMilliseconds: limits.captureMilliseconds) {
      return settle(capture, on: selection, expecting: capture.owner, limit: .captureTimeout, at: now)
    }
    var effects: [Effect] = []
    for id in capture.pending.sorted(by: { $0.number < $1.number }) {
      guard let conversion = conversions[id], conversion.transfer.isIncremental,
        now >= conversion.lastProgress.advanced(byMilliseconds: limits.idleMilliseconds)
      else { continue }
      effects += conclude(id, conversions[id]!.transfer.fail(.timedOut), at: now)
    }
    return effects
  }
}
