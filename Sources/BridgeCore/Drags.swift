import Policy
import Selection

/// A drag whose readers we answer in its source's stead.
struct HeldDrag: Sendable {
  /// The window that the source owns XdndSelection by.
  let source: Window
  /// When the pointer is looked at next.
  var lookAt: MonotonicTime
  /// When it was dropped, or what was dropped was last asked for; `nil` while a button is down.
  var restsSince: MonotonicTime?

  /// Somebody has asked for what was dropped, and may ask for more.
  mutating func noteReading(at now: MonotonicTime) {
    guard restsSince != nil else { return }
    restsSince = now
    lookAt = now.advanced(byMilliseconds: Bridge.droppedMilliseconds)
  }
}

// What is dragged is XdndSelection, which programs read as soon as it hovers over them (measured: Firefox, Chromium, GTK).
// Only a source for which some rule restricts drags is concerned. Its content is asked for as with a copy, where somebody
// may have it, and then the requests for it are made to come to us: the decision and the transfer are those of every other
// selection.
//
// The source stays the owner by name. GTK programs hand over within themselves, and move, only what the server says is
// theirs; with another owner they would ask us, and a drag within one text view would fail (measured).
extension Bridge {
  /// How long a source has to show what is dragged; then it is taken over with what has come. Our choice: nobody reaches
  /// another window by hand in less, and GTK, Qt and browsers need 1 to 20 ms.
  static let dragMilliseconds = 250
  /// How often it is looked whether the button is still down. Our choice: nobody waits for it.
  static let dragLookMilliseconds = 250
  /// How long what was dropped may still be asked for: after some programs' menu of copy, move and link (our choice).
  static let droppedMilliseconds = 5_000

  static func nextLook(after now: MonotonicTime) -> MonotonicTime {
    now.advanced(byMilliseconds: dragLookMilliseconds)
  }

  /// What asking for content on `selection` is called in records.
  func kindOfReading(_ selection: NamedAtom) -> AuditRecord.Kind { selection == atoms.drag ? .drag : .paste }

  /// Lets go of a selection that we hold since `time`.
  func giveUp(_ selection: NamedAtom, since time: ServerTime) -> Effect {
    guard selection == atoms.drag, let drag = heldDrag else { return .giveUp(selection: selection, time: time) }
    return .standDown(selection: selection, time: time, for: drag.source)
  }

  /// A drag begins, or its source has ended it.
  mutating func dragChanged(
    _ change: OwnerChange, from subject: Subject?, _ phase: Phase, at now: MonotonicTime
  ) -> [Effect] {
    let selection = change.selection
    let effects = abandonCapture(on: selection)
    heldDrag = nil
    phases[selection] = .unowned
    guard change.owner != .none else { return effects }
    let source = subject ?? .unknown
    switch policy.foresight(ofDragsFrom: source) {
    case .free:
      phases[selection] = .foreign(owner: change.owner, source: source, isRival: false)
      return effects
    case .refused:
      let holding = Holding(time: change.selectionTime, clip: drag([], of: source, isSensitive: false, at: now))
      return effects + claim(Claim(holding, expecting: change.owner), on: selection)
    case .open:
      return effects + readDrag(change.owner, source, time: change.selectionTime, at: now)
    }
  }

  /// Asks the source for its list and, in the same moment, for what most drags carry. Qt 5 answers only requests with the
  /// time of its own last move, which right at the beginning is that of its claim, and has no list (measured).
  private mutating func readDrag(
    _ owner: Window, _ source: Subject, time: ServerTime, at now: MonotonicTime
  ) -> [Effect] {
    let effects = read(owner, source, time: time, on: atoms.drag, at: now)
    guard case .capturing(var capture) = phases[atoms.drag] else { return effects }
    capture.takenBy = now.advanced(byMilliseconds: Self.dragMilliseconds)
    return effects + askInDrag(for: atoms.commonInDrags, &capture, at: now)
  }

  /// The source has given its list, or refused to: what else is on it is asked for.
  mutating func dragListed(_ listed: [Target]?, _ capture: Capture, at now: MonotonicTime) -> [Effect] {
    var capture = capture
    let targets = listed.map { wanted($0, on: atoms.drag) } ?? atoms.commonInDrags
    let list = TargetList(listed: targets, limit: policy.limits.targets)
    capture.list = list
    let effects = askInDrag(for: list.wanted.filter { !atoms.commonInDrags.contains($0) }, &capture, at: now)
    return capture.pending.isEmpty ? effects + takeDrag(capture, limit: nil) : effects
  }

  private mutating func askInDrag(
    for targets: [Target], _ capture: inout Capture, at now: MonotonicTime
  ) -> [Effect] {
    let effects = targets.map { target in
      let id = nextConversion()
      capture.pending.insert(id)
      return open(id, atoms.drag, target, time: capture.selectionTime, at: now)
    }
    phases[atoms.drag] = .capturing(capture)
    return effects
  }

  /// The source has answered, or its time is up: from now on we answer, with what has come.
  mutating func takeDrag(_ capture: Capture, limit: AuditRecord.Limit?) -> [Effect] {
    let selection = atoms.drag
    var capture = capture
    let effects = abandonConversions(of: &capture, limit: limit)
    let order = capture.list?.offered ?? capture.received.map(\.target)
    let forms = order.compactMap { target in capture.received.first { $0.target == target } }
    let clip = drag(forms, of: capture.source, isSensitive: capture.isMarkedSecret, at: capture.startedAt)
    var records: [AuditRecord] = []
    if let reached = limit ?? capture.failed.compactMap(\.limit).first {
      var record = leftRecord(of: capture, on: selection, limit: reached)
      (record.kind, record.outcome) = (.drag, forms.isEmpty ? .emptied : .keptInPart)
      records.append(record)
    }
    let holding = Holding(time: capture.selectionTime, clip: clip)
    return effects + claim(Claim(holding, expecting: capture.owner, records: records), on: selection)
  }

  /// What is being dragged. Everything about it is decided when somebody asks.
  private mutating func drag(
    _ forms: [Representation], of source: Subject, isSensitive: Bool, at now: MonotonicTime
  ) -> Clip {
    clipCount += 1
    let inItsApp = Request(action: .drag, source: source, destination: source)
    guard case .decided(let decision) = policy.evaluate(inItsApp) else {
      preconditionFailure("a drag within one app is always decided")
    }
    return Clip(
      number: clipCount, source: source, kind: .drag, copiedAt: now, isSensitive: isSensitive,
      listsSaveTargets: false,
      entries: forms.map { Clip.Entry(representation: $0, decision: decision, audience: .everyone) })
  }

  /// The record of a request for something that isn't there because the source may give it to nobody.
  mutating func refusalOfDrag(_ target: Target, _ clip: Clip, to subject: Subject) -> [Effect] {
    guard !TargetList.metadata.contains(target.name), !TargetList.sideEffects.contains(target.name) else { return [] }
    let facts = ContentFacts(target: target.name, size: 0, isSensitive: clip.isSensitive)
    let request = Request(
      action: .drag, source: clip.source, destination: subject, selection: policyName(of: atoms.drag), content: facts)
    guard case .decided(let decision) = policy.evaluate(request), decision.verdict == .deny else { return [] }
    return recordOnce(
      record(
        .drag, on: atoms.drag, source: clip.source, destination: subject, decision: decision, outcome: .refused,
        targets: [target.name]),
      on: atoms.drag)
  }

  // MARK: the end

  /// GTK says when a drag is over, Chromium destroys its window, Qt leaves everything as it is: so the button is looked at.
  mutating func lookAfterDrag(at now: MonotonicTime) -> [Effect] {
    guard let drag = heldDrag, now >= drag.lookAt else { return [] }
    heldDrag?.lookAt = Self.nextLook(after: now)
    return [.readPointer(selection: atoms.drag)]
  }

  /// The pointer was looked at.
  mutating func dragLookedAt(isBusy: Bool, at now: MonotonicTime) -> [Effect] {
    guard let drag = heldDrag, case .held(let holding)? = phases[atoms.drag] else { return [] }
    guard !isBusy else {
      heldDrag?.restsSince = nil
      return []
    }
    guard let since = drag.restsSince else {
      heldDrag?.restsSince = now
      heldDrag?.noteReading(at: now)
      return []
    }
    guard now >= since.advanced(byMilliseconds: Self.droppedMilliseconds) else { return [] }
    let effect = giveUp(atoms.drag, since: holding.time)
    (heldDrag, phases[atoms.drag]) = (nil, .unowned)
    return [effect]
  }
}
