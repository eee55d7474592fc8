import Policy
import Selection

/// A selection that is being made, or has just been made: its owner is neither robbed nor asked (product.md 6).
struct Lingering: Sendable {
  let owner: Window
  let source: Subject
  let time: ServerTime
  /// When the pointer is looked at; again and again while something is down.
  var until: MonotonicTime
  /// Whether a button or Shift was found down.
  var isBusy = false
}

/// A selection that stays with its owner. Taking it would cost GTK, Tk, xterm and VTE programs their highlight (measured),
/// so that is left until a paste is about to happen that has to be judged or changed.
struct Guarded: Sendable {
  let owner: Window
  let source: Subject
  let time: ServerTime
  /// What the owner gave, for the time after its end; `nil` when it gave no text. It may have changed since: Tk and xterm
  /// select anew without claiming anew.
  let clip: Clip?
  /// What it listed, in its order.
  let targets: [Target]
  let readAt: MonotonicTime
}

/// A copy on the root window that is about to be emptied.
struct LeavingCopy: Sendable {
  /// What is written down when it is.
  let record: AuditRecord
  var until: MonotonicTime
}

extension Bridge {
  /// How long a copy on the root window stays when its program may copy. SDL and Motif answer from it, so that without it
  /// nothing could be captured. Our choice: such programs answer once in each of their frames, at 30 or 60 in a second.
  static let rootCopyMilliseconds = 250

  /// Quiet after the last change before a selection counts as made (product.md 6).
  static let makingMilliseconds = 150
  /// How often the pointer is looked at while a button or Shift is down. Our choice: nobody pastes sooner after letting go.
  static let pointerMilliseconds = 50

  /// The selections that are heard of under the policy in force.
  public var watchedSelections: [NamedAtom] {
    [atoms.clipboard] + [atoms.primary, atoms.secondary].filter { mode(of: $0) != .off }
      + (policy.speaksOfDrags ? [atoms.drag] : [])
      + boardAtoms.all.sorted { $0.atom.id < $1.atom.id }
  }

  func mode(of selection: NamedAtom) -> SelectionGuard {
    switch selection {
    case atoms.clipboard: policy.clipboard
    case atoms.primary: policy.primary
    case atoms.secondary: policy.secondary
    default: .own
    }
  }

  /// Whether `selection` comes with marking and not with a command, so that its making takes a while and shows.
  func isMadeByPointer(_ selection: NamedAtom) -> Bool { selection == atoms.primary || selection == atoms.secondary }

  /// Whether an owner keeps `selection` after it has been read: of what is marked until somebody is about to paste it, of
  /// CLIPBOARD while no rule could refuse anything of it.
  func staysWithOwner(_ source: Subject, on selection: NamedAtom) -> Bool {
    guard selection != atoms.drag, !isBoard(selection), mode(of: selection) == .guard else { return false }
    return isMadeByPointer(selection)
      ? !policy.isProtected(source, on: policyName(of: selection)) : !policy.isRestricted(source)
  }

  /// The targets of which a capture asks: of what is merely marked, text alone, and what says that it is secret. Beside
  /// UTF8_STRING the ISO 2022 encodings are left out: GTK takes a second and more to make them of a large text that somebody
  /// has only marked.
  func wanted(_ listed: [Target], on selection: NamedAtom) -> [Target] {
    if selection == atoms.drag { return listed.filter { !TargetList.dragSideEffects.contains($0.name) } }
    guard isMadeByPointer(selection) else { return listed }
    let markers = TargetList.secretMarkers
    let hasUTF8 = listed.contains { $0 == atoms.utf8String }
    return listed.filter {
      if hasUTF8, ["TEXT", "COMPOUND_TEXT"].contains($0.name) { return false }
      return TargetList.isPlainText($0.name) || $0.name == markers.valued || markers.listed.contains($0.name)
    }
  }

  // MARK: the making

  /// A selection is being made: nothing happens until it is done.
  mutating func linger(
    _ owner: Window, _ source: Subject, time: ServerTime, on selection: NamedAtom, at now: MonotonicTime
  ) -> [Effect] {
    earlierReading[selection] = nil
    recorded[selection] = [:]
    if selection == atoms.primary { noteRestriction(of: source) }
    phases[selection] = .lingering(
      Lingering(
        owner: owner, source: source, time: time, until: now.advanced(byMilliseconds: Self.makingMilliseconds)))
    return []
  }

  private mutating func noteRestriction(of source: Subject) {
    pointer.isSourceRestricted = policy.isRestricted(source, on: policyName(of: atoms.primary))
  }

  /// The quiet is over, or it is time to look again.
  mutating func lingeringOver(_ lingering: Lingering, on selection: NamedAtom, at now: MonotonicTime) -> [Effect] {
    var lingering = lingering
    lingering.until = now.advanced(byMilliseconds: Self.pointerMilliseconds)
    phases[selection] = .lingering(lingering)
    return [.readPointer(selection: selection)]
  }

  /// The pointer was looked at: with nothing down the selection is made, and read.
  mutating func pointerRead(_ selection: NamedAtom, isBusy: Bool, at now: MonotonicTime) -> [Effect] {
    if selection == atoms.drag { return dragLookedAt(isBusy: isBusy, at: now) }
    guard case .lingering(var lingering) = phases[selection] else { return [] }
    guard isBusy else {
      return read(lingering.owner, lingering.source, time: lingering.time, on: selection, at: now)
    }
    lingering.isBusy = true
    phases[selection] = .lingering(lingering)
    return []
  }

  /// Read, and left where it is.
  mutating func keepWithOwner(
    _ capture: Capture, _ clip: Clip?, records: [AuditRecord] = [], on selection: NamedAtom, limit: AuditRecord.Limit?
  ) -> [Effect] {
    let earlier = earlierReading.removeValue(forKey: selection)
    // A source that hangs when it is read once more may yet end, and then what it gave before is all there is of it.
    let old = clip == nil && limit != nil ? earlier ?? nil : nil
    phases[selection] = .guarded(
      Guarded(
        owner: capture.owner, source: capture.source, time: capture.selectionTime, clip: clip ?? old,
        targets: capture.list?.offered ?? [],
        readAt: old == nil ? capture.startedAt : MonotonicTime(nanoseconds: 0)))
    // What is read once more for a paste was written down the first time.
    guard earlier == nil else { return [] }
    guard let clip else {
      return refuseSaves(capture.saves) + [.audit(leftRecord(of: capture, on: selection, limit: limit))]
    }
    let mirrored = selection == atoms.clipboard ? mirror(clip) : []
    let left = records.map { record in
      var record = record
      if record.outcome == .kept || record.outcome == .keptInPart { record.outcome = .left }
      return Effect.audit(record)
    }
    guard capture.saves.isEmpty else {
      // The source is about to end, and wants its content kept.
      let holding = Holding(time: capture.selectionTime, clip: clip)
      return mirrored + left + claim(Claim(holding, expecting: capture.owner, saves: capture.saves), on: selection)
    }
    return mirrored + left
  }

  /// What was read has had its time; the owner still has it.
  mutating func forget(_ guarded: Guarded, on selection: NamedAtom) {
    phases[selection] = .guarded(
      Guarded(
        owner: guarded.owner, source: guarded.source, time: guarded.time, clip: nil, targets: guarded.targets,
        readAt: guarded.readAt))
  }

  /// The owner let go of what was marked. By request that is final. When it ended, what it gave is served from now on.
  mutating func guardedOwnerGone(_ change: OwnerChange, from phase: Phase, at now: MonotonicTime) -> [Effect] {
    let selection = change.selection
    let earlier = earlierReading.removeValue(forKey: selection) ?? nil
    var effects: [Effect] = []
    var clip: Clip?
    switch phase {
    case .capturing(var capture):
      effects += abandonConversions(of: &capture, limit: nil)
      if change.cause != .set, earlier == nil, !capture.received.isEmpty {
        return effects + settle(capture, on: selection, expecting: .none, limit: nil, at: now)
      }
      clip = earlier
    case .guarded(let guarded): clip = guarded.clip
    case .overtaken(let claim): effects += claim.recordsWithoutEffect
    case .held(let holding):
      guard change.cause == .set, let source = holding.clip?.source else { break }
      effects.append(
        .audit(
          AuditRecord(
            kind: .clear, selection: policyName(of: selection), source: source, verdict: .allow,
            reason: .builtInDefault, outcome: .dropped)))
    case .unowned, .foreign, .deferred, .lingering, .claiming, .settling: break
    }
    guard change.cause != .set, let clip else {
      phases[selection] = .unowned
      return effects
    }
    return effects + claim(Claim(Holding(time: change.selectionTime, clip: clip), expecting: .none), on: selection)
  }

  // MARK: the policy

  /// Follows a new policy: selections it no longer watches are let go, and what is with its owner is decided anew.
  mutating func rewatch(at now: MonotonicTime) -> [Effect] {
    var effects: [Effect] = []
    let watched = watchedSelections
    for selection in [atoms.primary, atoms.secondary, atoms.drag]
    where phases[selection] != nil && !watched.contains(selection) {
      if case .held(let holding) = phases[selection] { effects.append(giveUp(selection, since: holding.time)) }
      effects += abandonCapture(on: selection)
      if selection == atoms.drag { heldDrag = nil }
      (phases[selection], earlierReading[selection]) = (nil, nil)
    }
    for selection in watched where !isBoard(selection) {
      switch phases[selection] {
      case nil: phases[selection] = .unowned
      case .lingering(let lingering):
        effects += decideAnew(lingering.owner, lingering.source, lingering.time, on: selection, at: now)
      case .guarded(let guarded):
        effects += decideAnew(guarded.owner, guarded.source, guarded.time, on: selection, at: now)
      case .capturing(let capture) where selection == atoms.primary: noteRestriction(of: capture.source)
      default: break
      }
    }
    return effects
  }

  private mutating func decideAnew(
    _ owner: Window, _ source: Subject, _ time: ServerTime, on selection: NamedAtom, at now: MonotonicTime
  ) -> [Effect] {
    ownerChanged(
      OwnerChange(selection: selection, owner: owner, cause: .foundAtStart, selectionTime: time), from: source, at: now)
  }

  // MARK: copies on the root window

  /// A copy was put into a property of the root window. X11 tells nobody by whom, so it counts as the active app's. It can't
  /// be kept from single readers, so it is emptied wherever a rule could refuse one: xterm reads cut buffers when PRIMARY is
  /// refused, and SDL programs read each other's after the end of the one that copied.
  mutating func cutBufferSet(
    _ buffer: NamedAtom, bytes: Int, from subject: Subject?, at now: MonotonicTime
  ) -> [Effect] {
    guard policy.cutBuffers != .off, let kind = RootCopy(named: buffer.name) else { return [] }
    let source = subject ?? .unknown
    let names = selections(of: kind).map { policyName(of: $0) }
    guard let name = names.first(where: { policy.isRestricted(source, on: $0) }) else { return [] }
    let request = Request(
      action: .copy, source: source, selection: name,
      content: ContentFacts(target: atoms.string.name, size: bytes))
    var (reason, mayCopy) = (Reason.builtInDefault, false)
    if case .decided(let decision) = policy.evaluate(request) {
      (reason, mayCopy) = (decision.reason, decision.verdict != .deny)
    }
    let record = AuditRecord(
      kind: .copy, selection: policyName(of: buffer), source: source, targets: [atoms.string.name], bytes: bytes,
      verdict: .deny, reason: reason, outcome: .emptied, isAlwaysWritten: true)
    guard mayCopy, kind != .cutBuffer else {
      rootCopies[buffer] = nil
      return [.clearCutBuffer(buffer), .audit(record)]
    }
    let until = rootCopies[buffer]?.until ?? now.advanced(byMilliseconds: Self.rootCopyMilliseconds)
    rootCopies[buffer] = LeavingCopy(record: record, until: until)
    return []
  }

  /// Empties what is due on the root window, unless it is being captured at the moment.
  mutating func emptyRootCopies(at now: MonotonicTime) -> [Effect] {
    guard policy.cutBuffers != .off else {
      rootCopies = [:]
      return []
    }
    let isCapturing = [atoms.clipboard, atoms.primary].contains {
      if case .capturing = phases[$0] { true } else { false }
    }
    var effects: [Effect] = []
    for (buffer, copy) in rootCopies.sorted(by: { $0.key.atom.id < $1.key.atom.id }) where now >= copy.until {
      if isCapturing {
        rootCopies[buffer]?.until = now.advanced(byMilliseconds: Self.pointerMilliseconds)
      } else {
        rootCopies[buffer] = nil
        effects += [.clearCutBuffer(buffer), .audit(copy.record)]
      }
    }
    return effects
  }

  /// The selections whose content may be in such a property.
  private func selections(of copy: RootCopy) -> [NamedAtom] {
    switch copy {
    case .cutBuffer: [atoms.primary]
    case .sdl: [atoms.clipboard, atoms.primary]
    case .motif: [atoms.clipboard]
    }
  }
}
