import Policy
import Selection

// All answers are in, or time is up.
extension Bridge {
  // MARK: the end of a capture

  /// All answers are in, or time is up: what arrived is judged and claimed.
  mutating func settle(
    _ capture: Capture, on selection: NamedAtom, expecting owner: Window, limit: AuditRecord.Limit?,
    at now: MonotonicTime
  ) -> [Effect] {
    if selection == atoms.drag { return takeDrag(capture, limit: limit) }
    if capture.isCleared, !capture.hasCutFiles {
      let change = OwnerChange(selection: selection, owner: .none, cause: .set, selectionTime: capture.selectionTime)
      return clear(change, from: .capturing(capture), at: now)
    }
    if now >= capture.startedAt.advanced(byMilliseconds: Self.exposedMilliseconds) {
      answers.wasExposed(capture.source)
    }
    let owner = capture.isCleared ? .none : owner
    var capture = capture
    var effects = abandonConversions(of: &capture, limit: limit)
    if let refusal = concludeAfterLoss(&capture, on: selection, limit: limit) { return effects + refusal }
    // What was taken first can't be left, whatever a new policy says of its source.
    let staysWithOwner = owner != .none && !capture.isOurs && staysWithOwner(capture.source, on: selection)
    guard !capture.received.isEmpty else {
      if staysWithOwner { return effects + keepWithOwner(capture, nil, on: selection, limit: limit) }
      // Nothing came, in time or at all: a restricted source must not stay unguarded, since what it gives others later
      // would leak.
      guard !policy.isRestricted(capture.source), !isBoard(selection) else {
        return effects + refuseWhole(capture, on: selection, limit: limit ?? capture.failed.compactMap(\.limit).first)
      }
      return effects + leave(capture, on: selection, limit: limit)
    }
    let offered = capture
    if !isBoard(selection), clearedSecrets.contains(capture.received, by: capture.source, at: now) {
      return effects + refuseWhole(capture, on: selection, limit: .rival)
    }
    if let original = repeated(by: capture, on: selection) { capture = joined(capture, with: original) }
    let isRepetition = capture.source != offered.source
    let judged = judge(capture, on: selection)
    var records = copyRecords(of: judged, capture, limit: limit, on: selection)
    if isRepetition { records.append(repetition(by: offered.source, like: records.first, on: selection)) }
    guard let kept = judged.clip.entries.first else {
      noteRefusal(of: capture, as: judged, on: selection, at: now)
      let holding = Holding(time: capture.selectionTime, clip: boardClip(on: selection))
      return effects + claim(Claim(holding, expecting: owner, saves: capture.saves, records: records), on: selection)
    }
    if staysWithOwner {
      return effects + keepWithOwner(capture, judged.clip, records: records, on: selection, limit: limit)
    }
    if !capture.isOurs, isRivalry(judged.clip, of: offered, isRepetition: isRepetition, on: selection) {
      phases[selection] = .foreign(owner: capture.owner, source: offered.source, isRival: true)
      effects.append(
        .audit(
          record(
            capture.kind, on: selection, source: capture.source, decision: kept.decision, outcome: .left,
            limit: .rival)))
      return effects + refuseSaves(capture.saves)
    }
    if let obstacle = boardObstacle(to: judged.clip, on: selection) {
      let holding = Holding(time: capture.selectionTime, clip: boardClip(on: selection))
      let record = quotaRecord(of: judged.clip, obstacle, on: selection)
      return effects + claim(Claim(holding, expecting: owner, records: [record]), on: selection)
    }
    let holding = Holding(time: capture.selectionTime, clip: judged.clip)
    effects += probe(capture, on: selection, at: now)
    return effects
      + claim(
        Claim(holding, expecting: owner, saves: capture.saves, records: records, isCopy: true), on: selection)
  }

  /// Nothing usable came of a source that no rule restricts: the selection stays with its owner.
  mutating func leave(_ capture: Capture, on selection: NamedAtom, limit: AuditRecord.Limit?) -> [Effect] {
    phases[selection] = .foreign(owner: capture.owner, source: capture.source, isRival: false)
    return [.audit(leftRecord(of: capture, on: selection, limit: limit))] + refuseSaves(capture.saves)
  }

  /// The record of a capture that gave nothing to be judged.
  func leftRecord(of capture: Capture, on selection: NamedAtom, limit: AuditRecord.Limit?) -> AuditRecord {
    var record = AuditRecord(
      kind: capture.kind, selection: policyName(of: selection), source: capture.source,
      targets: capture.failed.map(\.target.name), verdict: .allow, reason: .builtInDefault, outcome: .left,
      limit: limit ?? capture.failed.compactMap(\.limit).first)
    record.isAlwaysWritten = record.limit != nil
    record.notifies = record.limit != nil
    return record
  }

  /// The clip is over MAX, or all together are: nothing is cut. It stays with its owner if allowed, and is refused if restricted
  /// (product.md 9).
  mutating func tooLarge(
    _ capture: Capture, _ limit: AuditRecord.Limit, on selection: NamedAtom
  ) -> [Effect] {
    if selection == atoms.drag { return takeDrag(capture, limit: limit) }
    var capture = capture
    let effects = abandonConversions(of: &capture, limit: nil)
    if !capture.isOurs, staysWithOwner(capture.source, on: selection) {
      return effects + keepWithOwner(capture, nil, on: selection, limit: limit)
    }
    guard policy.isRestricted(capture.source) || isBoard(selection) else {
      return effects + leave(capture, on: selection, limit: limit)
    }
    return effects + refuseWhole(capture, on: selection, limit: limit)
  }

  /// Holds the selection of a restricted source empty, because we couldn't capture what it would leak.
  mutating func refuseWhole(
    _ capture: Capture, on selection: NamedAtom, limit: AuditRecord.Limit?
  ) -> [Effect] {
    let request = Request(action: .copy, source: capture.source, selection: policyName(of: selection))
    let reason: Reason =
      if case .decided(let decision) = policy.evaluate(request) { decision.reason } else { .builtInDefault }
    let record = AuditRecord(
      kind: capture.kind, selection: policyName(of: selection), source: capture.source,
      targets: capture.failed.map(\.target.name), verdict: .deny, reason: reason, outcome: .emptied, limit: limit,
      notifies: true, isAlwaysWritten: true)
    let holding = Holding(time: capture.selectionTime, clip: boardClip(on: selection))
    return claim(Claim(holding, expecting: capture.owner, saves: capture.saves, records: [record]), on: selection)
  }

  /// Closes what is still open of a capture and counts it as failed.
  mutating func abandonConversions(of capture: inout Capture, limit: AuditRecord.Limit?) -> [Effect] {
    var effects: [Effect] = []
    if let listing = capture.listing { effects += closeConversion(listing) }
    capture.listing = nil
    for id in capture.pending.sorted(by: { $0.number < $1.number }) {
      if let target = conversions[id]?.transfer.target { capture.failed.append((target, limit)) }
      effects += closeConversion(id)
    }
    capture.pending = []
    capture.failed += capture.later.map { ($0, limit) }
    capture.later = []
    return effects
  }
}
