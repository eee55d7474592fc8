import Policy
import Selection

/// An incremental transfer under way, with all that its end has to say.
struct OpenTransfer: Sendable {
  var transfer: OutgoingTransfer
  let grant: Grant
  let decision: Decision
  let selection: NamedAtom
  let source: Subject
  let subject: Subject
  let clipNumber: UInt64
  let isOneShot: Bool
  var lastProgress: MonotonicTime
}

/// Who has the one paste of a clip that is to be read once.
struct SoleReader: Sendable {
  private let subject: Subject
  /// The X client; `nil` where it didn't ask by X.
  private let client: UInt32?

  init(_ subject: Subject, _ client: UInt32?) { (self.subject, self.client) = (subject, client) }

  /// Whether it is surely the same: one process, or, of those of which that isn't known, one X client. Two that look alike
  /// may be two programs.
  func isSame(as other: SoleReader) -> Bool {
    guard subject == other.subject else { return false }
    return subject.isLocal || client != nil && client == other.client
  }
}

/// Refusals of one X client, for the flood limit.
struct Flood: Sendable {
  var windowStart: MonotonicTime
  var refusals = 0
  /// When the flood was last written down, and how many refusals came since.
  var writtenAt: MonotonicTime?
  var unwritten = 0
}

extension Bridge {
  /// Begins to send a representation: what to do before and after the notify; `nil` when a limit forbids it.
  mutating func send(
    _ form: Representation, _ decision: Decision, _ grant: Grant, to key: TransferKey, _ subject: Subject,
    of holding: Holding, _ selection: NamedAtom, at now: MonotonicTime
  ) -> (before: [Effect], after: [Effect])? {
    guard let clip = holding.clip else { return nil }
    // A second request into a property that still holds a transfer replaces it: its requestor has given it up.
    var before = drop(key, outcome: .incomplete, limit: nil)
    // A form that the source doesn't list has the content of one that it does.
    let entry = clip.entry(for: form.target) ?? clip.entries.first { $0.representation.payload == form.payload }
    let isOneShot = decision.obligations.oneShot || entry?.decision.obligations.oneShot == true
    guard OutgoingTransfer.isNeeded(for: form.payload) else {
      before.append(
        .store(
          ContentStore(
            window: key.window, property: key.property, type: form.type.atom, format: form.format,
            payload: form.payload, chunk: form.payload.isEmpty ? nil : 0, grant: grant,
            isProtected: isProtected(clip.source, on: selection))))
      return (
        before,
        served(
          form, decision, clip.source, subject, client(of: key.window), selection, isOneShot: isOneShot, clip.number,
          at: now)
      )
    }
    guard reachedTransferLimit(for: key.window) == nil else { return nil }
    if !transfers.keys.contains(where: { $0.window == key.window }) { before.append(.watch(key.window)) }
    before.append(
      .storeMetadata(window: key.window, property: key.property, .incremental(bytes: form.payload.count)))
    // The one paste has begun: nobody else may begin it as well. It is over some time after its last chunk.
    if isOneShot, usedUp[selection] == nil, !subject.isSameApp(as: clip.source) {
      usedUp[selection] = (SoleReader(subject, client(of: key.window)), nil)
    }
    transfers[key] = OpenTransfer(
      transfer: OutgoingTransfer(form), grant: grant, decision: decision, selection: selection, source: clip.source,
      subject: subject, clipNumber: clip.number, isOneShot: isOneShot, lastProgress: now)
    return (before, [])
  }

  /// Whether nobody but who pastes it may read what `source` copied, even for a moment.
  private func isProtected(_ source: Subject, on selection: NamedAtom) -> Bool {
    policy.hasProtection && policy.isProtected(source, on: policyName(of: selection))
  }

  private func reachedTransferLimit(for window: Window) -> AuditRecord.Limit? {
    if transfers.count >= policy.limits.transfers { return .transferCount }
    let client = client(of: window)
    let mine = transfers.keys.reduce(0) { $0 + (self.client(of: $1.window) == client ? 1 : 0) }
    return mine >= policy.limits.transfersPerClient ? .transfersPerClient : nil
  }

  /// The record of a conversion that a limit refused.
  mutating func refusedByLimit(
    _ form: Representation, _ decision: Decision, of holding: Holding, _ selection: NamedAtom, to subject: Subject
  ) -> [Effect] {
    let limit: AuditRecord.Limit =
      transfers.count >= policy.limits.transfers ? .transferCount : .transfersPerClient
    return limitRecord(limit, of: holding, selection, to: subject, decision: decision, target: form.target)
  }

  /// The record of a reached limit, once per clip and subject.
  mutating func limitRecord(
    _ limit: AuditRecord.Limit, of holding: Holding, _ selection: NamedAtom, to subject: Subject,
    decision: Decision? = nil, target: Target? = nil
  ) -> [Effect] {
    let record = AuditRecord(
      kind: kindOfReading(selection), selection: policyName(of: selection), source: holding.clip?.source,
      destination: subject,
      targets: target.map { [$0.name] } ?? [], verdict: decision?.verdict ?? .allow,
      reason: decision?.reason ?? .builtInDefault, outcome: .refused, limit: limit, notifies: true,
      isAlwaysWritten: true)
    return recordOnce(record, on: selection)
  }

  /// The requestor took what lay in the property: the next chunk follows, or the end.
  mutating func propertyDeleted(_ key: TransferKey, at now: MonotonicTime) -> [Effect] {
    guard transfers[key] != nil else { return [] }
    let step = transfers[key]!.transfer.propertyDeleted()
    transfers[key]!.lastProgress = now
    let open = transfers[key]!
    let form = open.transfer.representation
    let chunk: Int? = if case .store(let index) = step { index } else { nil }
    var effects: [Effect] = [
      .store(
        ContentStore(
          window: key.window, property: key.property, type: form.type.atom, format: form.format, payload: form.payload,
          chunk: chunk, grant: open.grant, isProtected: isProtected(open.source, on: open.selection)))
    ]
    if chunk == nil {
      transfers[key] = nil
      effects += unwatchIfUnused(key.window)
      effects += served(
        form, open.decision, open.source, open.subject, client(of: key.window), open.selection,
        isOneShot: open.isOneShot, open.clipNumber, at: now)
    }
    return effects
  }

  /// Ends a transfer early.
  mutating func drop(
    _ key: TransferKey, outcome: AuditRecord.Outcome, limit: AuditRecord.Limit?
  ) -> [Effect] {
    guard let open = transfers.removeValue(forKey: key) else { return [] }
    // A paste that failed was none.
    if case (let user, nil)? = usedUp[open.selection],
      user.isSame(as: SoleReader(open.subject, client(of: key.window))),
      !transfers.values.contains(where: { $0.isOneShot && $0.selection == open.selection })
    {
      usedUp[open.selection] = nil
    }
    let form = open.transfer.representation
    var record = record(
      kindOfReading(open.selection), on: open.selection, source: open.source, destination: open.subject,
      decision: open.decision,
      outcome: outcome, targets: [form.target.name], bytes: open.transfer.nextChunk * OutgoingTransfer.chunkBytes,
      limit: limit)
    record.bytes = min(record.bytes, form.payload.count)
    record.notifies = false
    return unwatchIfUnused(key.window) + [.audit(record)]
  }

  /// The requestor's window is gone, with all that was under way to it.
  mutating func requestorGone(_ window: Window) -> [Effect] {
    let keys = transfers.keys.filter { $0.window == window }.sorted { $0.property.id < $1.property.id }
    return keys.flatMap { drop($0, outcome: .incomplete, limit: nil) }
  }

  private func unwatchIfUnused(_ window: Window) -> [Effect] {
    transfers.keys.contains { $0.window == window } ? [] : [.unwatch(window)]
  }

  mutating func served(
    _ form: Representation, _ decision: Decision, _ source: Subject, _ subject: Subject, _ client: UInt32?,
    _ selection: NamedAtom, isOneShot: Bool, _ clipNumber: UInt64, at now: MonotonicTime
  ) -> [Effect] {
    guard case .held(let holding) = phases[selection], let clip = holding.clip, clip.number == clipNumber else {
      // Finished after a newer copy: written down, but no longer part of this selection's verdicts.
      return [
        .audit(
          record(
            kindOfReading(selection), on: selection, source: source, destination: subject, decision: decision,
            outcome: .served,
            targets: [form.target.name], bytes: form.payload.count))
      ]
    }
    if isOneShot, usedUp[selection]?.until == nil, !subject.isSameApp(as: source) {
      usedUp[selection] = (SoleReader(subject, client), now.advanced(byMilliseconds: Self.pasteMilliseconds))
    }
    let key = VerdictKey(
      subject: subject, kind: kindOfReading(selection), outcome: .served, limit: nil, reason: nil,
      target: form.target)
    // Conversions within a moment are one paste; a later one is another (measured: Chromium makes up to 27 for one).
    let last = recorded[selection]?[key]
    guard last.map({ now >= $0.at.advanced(byMilliseconds: $0.pauseMilliseconds) }) ?? true else { return [] }
    recorded[selection, default: [:]][key] = Written(at: now, pauseMilliseconds: Self.pasteMilliseconds)
    return [
      .audit(
        record(
          kindOfReading(selection), on: selection, source: source, destination: subject, decision: decision,
          outcome: .served,
          targets: [form.target.name], bytes: form.payload.count))
    ]
  }

  /// Writes a record unless its like was written for this clip and subject. With a time, for what a person does again,
  /// what came within a pause is counted by the first record behind it.
  mutating func recordOnce(_ record: AuditRecord, on selection: NamedAtom, at now: MonotonicTime? = nil) -> [Effect] {
    let key = VerdictKey(
      subject: record.destination ?? .unknown, kind: record.kind, outcome: record.outcome, limit: record.limit,
      reason: record.reason, target: nil)
    guard var written = recorded[selection]?[key] else {
      recorded[selection, default: [:]][key] = Written(
        at: now ?? MonotonicTime(nanoseconds: 0), pauseMilliseconds: Self.pasteMilliseconds)
      return [.audit(record)]
    }
    written.unwritten += 1
    guard let now, now >= written.at.advanced(byMilliseconds: written.pauseMilliseconds) else {
      recorded[selection]?[key] = written
      return []
    }
    recorded[selection]?[key] = Written(at: now, pauseMilliseconds: min(written.pauseMilliseconds * 2, 60_000))
    var repeated = record
    (repeated.count, repeated.notifies) = (written.unwritten, false)
    return [.audit(repeated)]
  }

  // MARK: floods

  /// Counts a refusal; a client refused too often is written down once a minute with a count (product.md 9).
  mutating func countRefusal(
    by client: UInt32, on selection: NamedAtom, _ subject: Subject, _ decision: Decision, at now: MonotonicTime
  ) -> [Effect] {
    var flood = floods[client] ?? Flood(windowStart: now)
    if now >= flood.windowStart.advanced(byMilliseconds: Self.floodWindowMilliseconds) {
      flood.windowStart = now
      flood.refusals = 0
    }
    flood.refusals += 1
    flood.unwritten += 1
    var effects: [Effect] = []
    let isDue = flood.writtenAt.map { now >= $0.advanced(byMilliseconds: 60_000) } ?? true
    if flood.refusals > policy.limits.floodRefusals, isDue {
      var record = record(
        kindOfReading(selection), on: selection, source: nil, destination: subject, decision: decision,
        outcome: .refused, limit: .flood)
      record.count = flood.unwritten
      record.isAlwaysWritten = true
      record.notifies = flood.writtenAt == nil
      (flood.writtenAt, flood.unwritten) = (now, 0)
      effects.append(.audit(record))
    }
    floods[client] = flood
    if floods.count > Self.floodClients {
      floods = floods.filter { now < $0.value.windowStart.advanced(byMilliseconds: 60_000) }
    }
    return effects
  }
}
