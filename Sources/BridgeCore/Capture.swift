import Policy
import Selection

extension Bridge {
  /// A selection has a new owner: the copy is decided, and denied or captured (product.md 5.2, 5.3).
  mutating func ownerChanged(_ change: OwnerChange, from subject: Subject?, at now: MonotonicTime) -> [Effect] {
    guard let phase = phases[change.selection] ?? (isBoard(change.selection) ? .unowned : nil) else { return [] }
    if change.selection == atoms.drag { return dragChanged(change, from: subject, phase, at: now) }
    guard change.owner != .none else {
      return isBoard(change.selection)
        ? boardOwnerGone(change, from: phase, at: now) : ownerGone(change, from: phase, at: now)
    }
    let source = subject ?? .unknown
    noteLoss(of: phase, on: change.selection, at: now)
    var effects = abandonCapture(on: change.selection)
    if case .overtaken(let claim) = phase { effects += claim.recordsWithoutEffect }
    noteCut(change)
    let (records, until) = pace(change, by: source, at: now)
    effects += records
    if let until {
      phases[change.selection] = .deferred(change, by: source, until: until)
      return effects
    }
    return effects + meet(change, by: source, at: now)
  }

  /// Decides a copy, and denies or reads it.
  mutating func meet(_ change: OwnerChange, by source: Subject, at now: MonotonicTime) -> [Effect] {
    if let denial = boardDenial(on: change.selection, to: source) {
      return denyCopy(change, source: source, denial, isWritten: contender(on: change.selection) == nil)
    }
    for action in actions(on: change.selection) {
      let request = Request(action: action, source: source, selection: policyName(of: change.selection))
      if case .decided(let decision) = policy.evaluate(request), decision.verdict == .deny {
        return denyCopy(change, source: source, decision, isWritten: contender(on: change.selection) == nil)
      }
    }
    guard !isMadeByPointer(change.selection) else {
      return linger(change.owner, source, time: change.selectionTime, on: change.selection, at: now)
    }
    return takeOver(change, source, at: now)
  }

  /// Begins to ask an owner for its content.
  mutating func read(
    _ owner: Window, _ source: Subject, time: ServerTime, on selection: NamedAtom, at now: MonotonicTime
  ) -> [Effect] {
    let listing = nextConversion()
    phases[selection] = .capturing(
      Capture(owner: owner, source: source, kind: .copy, selectionTime: time, startedAt: now, listing: listing))
    return [open(listing, selection, atoms.targets, time: time, at: now)]
  }

  /// The owner let go: by request, which clears, or by its end, after which what arrived whole is still served.
  private mutating func ownerGone(_ change: OwnerChange, from phase: Phase, at now: MonotonicTime) -> [Effect] {
    if case .overtaken(let claim) = phase, change.cause != .set {
      return self.claim(claim.ofAbandonedSelection, on: change.selection)
    }
    if isMadeByPointer(change.selection) { return guardedOwnerGone(change, from: phase, at: now) }
    if case .capturing(var capture) = phase, change.cause != .set {
      // The owner's answers came before its end on the same wire, so what is still open will never come.
      let effects = abandonConversions(of: &capture, limit: nil)
      guard capture.received.isEmpty else {
        return effects + settle(capture, on: change.selection, expecting: .none, limit: nil, at: now)
      }
      phases[change.selection] = .settling(until: quiet(after: now), time: change.selectionTime)
      return effects + refuseSaves(capture.saves) + refuse(capture.waiting)
    }
    if case .capturing(var capture) = phase, awaitsCopiedFilesAlone(capture) {
      (capture.isCleared, capture.selectionTime) = (true, change.selectionTime)
      phases[change.selection] = .capturing(capture)
      return []
    }
    // Where nothing is at stake an owner's clear is its own.
    if mode(of: change.selection) == .guard,
      currentSource(of: phase).map({ staysWithOwner($0, on: change.selection) }) ?? true
    {
      return guardedOwnerGone(change, from: phase, at: now)
    }
    return clear(change, from: phase, at: now)
  }

  private func awaitsCopiedFilesAlone(_ capture: Capture) -> Bool {
    capture.pending.count == 1
      && capture.pending.allSatisfy {
        conversions[$0].map { TargetList.isCopiedFiles($0.transfer.target.name) } ?? false
      }
  }

  mutating func clear(_ change: OwnerChange, from phase: Phase, at now: MonotonicTime) -> [Effect] {
    var effects = abandonCapture(on: change.selection)
    if case .overtaken(let claim) = phase { effects += claim.recordsWithoutEffect }
    if case .held(let holding) = phase { noteClear(of: holding, on: change.selection, at: now) }
    if change.cause == .set, let source = currentSource(of: phase) {
      effects.append(
        .audit(
          AuditRecord(
            kind: .clear, selection: policyName(of: change.selection), source: source, verdict: .allow,
            reason: .builtInDefault, outcome: .dropped)))
    }
    phases[change.selection] = .settling(until: quiet(after: now), time: change.selectionTime)
    return effects
  }

  private func quiet(after now: MonotonicTime) -> MonotonicTime {
    now.advanced(byMilliseconds: Self.quietMilliseconds)
  }

  private func currentSource(of phase: Phase) -> Subject? {
    switch phase {
    case .held(let holding): return holding.clip?.source
    case .claiming(let claim), .overtaken(let claim): return claim.holding.clip?.source
    case .foreign(_, let source, _): return source
    case .capturing(let capture): return capture.source
    case .deferred(_, let source, _): return source
    case .guarded(let guarded): return guarded.source
    case .unowned, .settling, .lingering: return nil
    }
  }

  mutating func denyCopy(
    _ change: OwnerChange, source: Subject, _ decision: Decision, isWritten: Bool = true
  ) -> [Effect] {
    // What a board holds stays on it.
    let holding = Holding(time: change.selectionTime, clip: boardClip(on: change.selection))
    let record = record(
      kind(on: change.selection), on: change.selection, source: source, decision: decision,
      outcome: isBoard(change.selection) ? .refused : .emptied)
    return claim(
      Claim(holding, expecting: change.owner, records: isWritten ? [record] : []), on: change.selection)
  }

  /// Ends a capture that a newer copy or a clear has overtaken: nothing of it is kept.
  mutating func abandonCapture(on selection: NamedAtom) -> [Effect] {
    guard case .capturing(let capture) = phases[selection] else { return [] }
    var abandoned = capture
    let effects =
      abandonConversions(of: &abandoned, limit: nil) + refuseSaves(capture.saves) + refuse(capture.waiting)
    phases[selection] = .unowned
    return effects
  }

  // MARK: conversions

  mutating func nextConversion() -> ConversionID {
    conversionCount += 1
    return ConversionID(conversionCount)
  }

  mutating func open(
    _ id: ConversionID, _ selection: NamedAtom, _ target: Target, time: ServerTime, at now: MonotonicTime
  ) -> Effect {
    conversions[id] = OpenConversion(
      selection: selection, transfer: IncomingTransfer(target: target), lastProgress: now)
    return .convert(id, selection: selection, target: target, time: time)
  }

  mutating func closeConversion(_ id: ConversionID) -> [Effect] {
    guard let conversion = conversions.removeValue(forKey: id) else { return [] }
    return [.endConversion(id, reusable: conversion.transfer.isAtRest)]
  }

  /// The owner answered, or stored a chunk.
  mutating func conversionAdvanced(
    _ id: ConversionID, at now: MonotonicTime, _ advance: (inout IncomingTransfer) -> IncomingTransfer.Step
  ) -> [Effect] {
    guard conversions[id] != nil else { return [] }
    // An owner answers one thing after another: what it does for one target shows that it hasn't stopped at the others.
    let selection = conversions[id]!.selection
    for other in conversions.keys where conversions[other]!.selection == selection {
      conversions[other]!.lastProgress = now
    }
    let step = advance(&conversions[id]!.transfer)
    return conclude(id, step, at: now)
  }

  mutating func conclude(_ id: ConversionID, _ step: IncomingTransfer.Step, at now: MonotonicTime) -> [Effect] {
    guard let conversion = conversions[id] else { return [] }
    switch step {
    case .wait: return []
    case .read: return [.readAnswer(id, limit: readLimit(for: conversion))]
    case .finish, .fail:
      guard case .capturing(var capture) = phases[conversion.selection] else { return closeConversion(id) }
      let scarcer = scarcerSize(for: conversion)
      let effects = closeConversion(id)
      if capture.listing == id {
        capture.listing = nil
        if capture.isOverdue { (capture.isOverdue, capture.startedAt) = (false, now) }
        return effects + listed(conversion, capture, at: now)
      }
      capture.pending.remove(id)
      var limit: AuditRecord.Limit?
      let target = conversion.transfer.target
      if let representation = conversion.transfer.representation,
        representation.payload.count > 0 || !TargetList.isPicture(target.name)
      {
        capture.received.append(representation)
      } else {
        if case .fail(.tooLarge) = step { limit = scarcer }
        if case .fail(.timedOut) = step { limit = .idleTimeout }
        capture.failed.append((target, limit))
      }
      if let limit, limit == scarcer { return effects + tooLarge(capture, limit, on: conversion.selection) }
      guard capture.pending.isEmpty, capture.listing == nil else {
        phases[conversion.selection] = .capturing(capture)
        return effects
      }
      guard capture.later.isEmpty else { return effects + askNext(capture, on: conversion.selection, at: now) }
      return effects
        + settle(capture, on: conversion.selection, expecting: capture.owner, limit: nil, at: now)
    }
  }

  /// How many bytes may still arrive for this conversion: MAX of its clip, and of everything together.
  private func readLimit(for conversion: OpenConversion) -> Int {
    let room = room(for: conversion)
    return max(0, min(room.ofClip, room.inAll))
  }

  private func room(for conversion: OpenConversion) -> (ofClip: Int, inAll: Int) {
    let selection = conversion.selection
    let arriving = conversions.values.reduce(0) { $0 + ($1.selection == selection ? $1.transfer.byteCount : 0) }
    let kept = if case .capturing(let capture) = phases[selection] { capture.byteCount } else { 0 }
    return (policy.limits.clipBytes - kept - arriving, policy.limits.totalBytes - totalByteCount)
  }

  /// Which of the two limits of size leaves less room.
  private func scarcerSize(for conversion: OpenConversion) -> AuditRecord.Limit {
    let room = room(for: conversion)
    return room.inAll < room.ofClip ? .totalSize : .clipSize
  }

  /// TARGETS was answered: every wanted target is asked for (product.md 5.3, 5.4).
  private mutating func listed(
    _ conversion: OpenConversion, _ capture: Capture, at now: MonotonicTime
  ) -> [Effect] {
    let selection = conversion.selection
    if selection == atoms.drag { return dragListed(conversion.transfer.atoms, capture, at: now) }
    if capture.claim != nil {
      return listedAfterLoss(conversion.transfer.atoms ?? [], capture, on: selection, at: now)
    }
    var capture = capture
    let list: TargetList
    if let listed = conversion.transfer.atoms {
      list = TargetList(listed: wanted(listed, on: selection), limit: policy.limits.targets)
    } else {
      // An owner that refuses TARGETS breaks ICCCM 2.6.2, yet some old ones hand out text when asked for it.
      list = TargetList(listed: guessedTargets, limit: policy.limits.targets)
    }
    capture.list = list
    guard !list.wanted.isEmpty || isMadeByPointer(selection) else { return withoutContent(capture, on: selection) }
    guard !list.wanted.isEmpty else {
      return settle(capture, on: selection, expecting: capture.owner, limit: nil, at: now)
    }
    return ask(for: list, capture, on: selection, at: now)
  }

  /// An owner that offers metadata alone has nothing to keep: programs that share a clipboard between machines own it like
  /// that until the pointer comes over. One that no rule restricts keeps it. Of a restricted one nothing is known, so the
  /// selection is held empty; boards are cleared by removing items.
  private mutating func withoutContent(_ capture: Capture, on selection: NamedAtom) -> [Effect] {
    guard policy.isRestricted(capture.source) || isBoard(selection) else {
      phases[selection] = .foreign(owner: capture.owner, source: capture.source, isRival: false)
      return refuseSaves(capture.saves)
    }
    let holding = Holding(time: capture.selectionTime, clip: boardClip(on: selection))
    return claim(Claim(holding, expecting: capture.owner, saves: capture.saves), on: selection)
  }

  /// Asks for all wanted targets of a list, one after another: many owners have one transfer at a time, and lose formats, hang
  /// or end when they are asked for several (measured: agents of remote desktops, a compositor, image editors).
  mutating func ask(
    for list: TargetList, _ capture: Capture, on selection: NamedAtom, at now: MonotonicTime
  ) -> [Effect] {
    var capture = capture
    capture.list = list
    capture.later = list.wanted
    return askNext(capture, on: selection, at: now)
  }

  /// Asks for the target whose turn it is.
  private mutating func askNext(_ capture: Capture, on selection: NamedAtom, at now: MonotonicTime) -> [Effect] {
    var capture = capture
    let target = capture.later.removeFirst()
    let id = nextConversion()
    capture.pending = [id]
    phases[selection] = .capturing(capture)
    return [open(id, selection, target, time: capture.selectionTime, at: now)]
  }
}
