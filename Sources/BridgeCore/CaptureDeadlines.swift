import Policy
import Selection

// The limits of time of a capture (product.md 9).
extension Bridge {
  /// When something of a capture is overdue.
  func deadline(of capture: Capture) -> MonotonicTime? {
    guard !capture.isOverdue else { return nil }
    if let takenBy = capture.takenBy { return takenBy }
    let limits = policy.limits
    if capture.listing != nil, capture.claim == nil {
      return capture.startedAt.advanced(byMilliseconds: min(limits.targetsMilliseconds, limits.captureMilliseconds))
    }
    let whole = capture.startedAt.advanced(byMilliseconds: limits.captureMilliseconds)
    let idle = capture.pending.compactMap { conversions[$0] }.filter { $0.transfer.isIncremental }
      .map { $0.lastProgress.advanced(byMilliseconds: limits.idleMilliseconds) }
    return (idle + capture.waiting.map(\.until)).reduce(whole, min)
  }

  /// Ends what is overdue of a capture: the whole of it, or single transfers that stand still.
  mutating func captureOverdue(_ capture: Capture, on selection: NamedAtom, at now: MonotonicTime) -> [Effect] {
    let limits = policy.limits
    if let effects = refuseWaiting(capture, on: selection, at: now) { return effects }
    if capture.takenBy != nil { return takeDrag(capture, limit: .captureTimeout) }
    if capture.listing != nil, capture.claim == nil {
      var capture = capture
      // On a board nobody but us may stand in for the members' owner.
      if isBoard(selection) { return refuseWhole(capture, on: selection, limit: .targetsTimeout) }
      let effects = leave(capture, on: selection, limit: .targetsTimeout)
      (capture.isOverdue, capture.saves) = (true, [])
      phases[selection] = .capturing(capture)
      return effects
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
