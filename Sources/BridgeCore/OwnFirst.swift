import Policy
import Selection

/// Which executables were seen to answer conversions after they had lost the selection, and what each offers.
///
/// The ICCCM leaves it open whether an owner answers what it was asked for while it still owned: GTK, Qt and Tk do, while
/// LibreOffice on its gen toolkit, Java and xsel refuse or end (measured). From the second kind a copy that is taken first
/// is lost.
struct AnswerMemory: Sendable {
  /// How often an executable has to have answered. Our choice: xsel answers about every other time.
  static let neededProofs = 3
  /// Executables that are remembered (our choice: more than anybody protects).
  static let executables = 64
  /// Targets of each that are asked for unseen (our choice: the most that a program without pictures lists).
  static let targets = 32

  private struct Entry: Sendable {
    var proofs = 0
    var targets: [Target] = []
    var isStruck = false
    var isExposed = false
  }

  private var entries: [String: Entry] = [:]

  /// What to ask a source for that may be robbed first; `nil` for all others.
  func targets(of source: Subject) -> [Target]? {
    guard let entry = self.entry(of: source), entry.proofs >= Self.neededProofs, !entry.isStruck,
      !entry.targets.isEmpty
    else { return nil }
    return entry.targets
  }

  /// Whether it is worth trying out what a source does.
  func wantsProof(of source: Subject) -> Bool {
    guard executable(of: source) != nil else { return false }
    let entry = self.entry(of: source) ?? Entry()
    return entry.proofs < Self.neededProofs && !entry.isStruck
  }

  /// What a source offered: asked for unseen the next time, the newest first.
  mutating func offered(_ targets: [Target], by source: Subject) {
    change(source) { entry in
      entry.targets = Array((targets + entry.targets.filter { !targets.contains($0) }).prefix(Self.targets))
    }
  }

  /// It answered after its loss.
  mutating func answered(_ source: Subject) { change(source) { $0.proofs += 1 } }

  /// Others could read its copy for longer than a moment: it took its time to answer, or copies came one after another, as
  /// a key that is held down makes them.
  mutating func wasExposed(_ source: Subject) { change(source) { $0.isExposed = true } }

  /// Whether that was so.
  func isExposed(_ source: Subject) -> Bool { entry(of: source)?.isExposed ?? false }

  /// It didn't: it is never robbed first again.
  mutating func failed(_ source: Subject) { change(source) { $0.isStruck = true } }

  private func executable(of source: Subject) -> String? {
    guard let fact = source.executable, fact.evidence == .attested else { return nil }
    return fact.value
  }

  private func entry(of source: Subject) -> Entry? { executable(of: source).flatMap { entries[$0] } }

  private mutating func change(_ source: Subject, _ change: (inout Entry) -> Void) {
    guard let name = executable(of: source), entries[name] != nil || entries.count < Self.executables else { return }
    change(&entries[name, default: Entry()])
  }
}

/// One of two conversions asked for at once right before a claim, to see whether their owner answers several, and after its
/// loss. Their content is had already.
struct Probe: Sendable {
  let source: Subject
  let until: MonotonicTime
  /// The other one.
  var twin: ConversionID?
}

/// A paste that came while what it asks for was still on its way to us.
struct WaitingPaste: Sendable {
  let request: ConversionRequest
  let subject: Subject
  let until: MonotonicTime
}

extension Bridge {
  /// The longest capture of which others have hardly anything. Our choice: nobody pastes as soon by hand.
  static let exposedMilliseconds = 100
  /// How long a probe may take. Our choice: as long as Firefox waits for an owner.
  static let probeMilliseconds = 1_000
  /// The largest text that is asked for once more, in bytes (our choice: one property, read by nobody).
  static let probeBytes = 64 << 10
  /// Pastes that wait for one capture (our choice: of a storm of readers the rest is refused).
  static let waitingPastes = 256

  // MARK: the order of a copy

  /// Takes over a copy: as its source needs it, and of a protected one so that nobody else reads it where that is
  /// possible (product.md 5.3).
  mutating func takeOver(_ change: OwnerChange, _ source: Subject, at now: MonotonicTime) -> [Effect] {
    let effects = {
      (bridge: inout Bridge) in
      bridge.read(change.owner, source, time: change.selectionTime, on: change.selection, at: now)
    }
    let isProtected = policy.isProtected(source, on: policyName(of: change.selection))
    guard change.selection == atoms.clipboard, change.cause == .set,
      isProtected || answers.isExposed(source) && policy.isRestricted(source)
    else { return effects(&self) }
    if change.lock == .held {
      let effects = effects(&self)
      if case .capturing(var capture) = phases[change.selection] {
        capture.isLocked = true
        phases[change.selection] = .capturing(capture)
      }
      return effects
    }
    if let targets = answers.targets(of: source) { return ownFirst(change, source, targets, at: now) }
    guard isProtected, change.lock == .missed else { return effects(&self) }
    // Reading it as if nothing had been would let everybody else read it, too.
    let capture = Capture(
      owner: change.owner, source: source, kind: kind(on: change.selection), selectionTime: change.selectionTime,
      startedAt: now)
    return refuseWhole(capture, on: change.selection, limit: .lockTimeout)
  }

  /// Asks for everything that the source is known to offer, and takes the selection in the same moment.
  private mutating func ownFirst(
    _ change: OwnerChange, _ source: Subject, _ targets: [Target], at now: MonotonicTime
  ) -> [Effect] {
    let selection = change.selection
    let listing = nextConversion()
    let ids = targets.map { _ in nextConversion() }
    var capture = Capture(
      owner: change.owner, source: source, kind: .copy, selectionTime: change.selectionTime, startedAt: now,
      listing: listing, pending: Set(ids))
    capture.claim = .asked(for: targets)
    phases[selection] = .capturing(capture)
    let conversions = zip([listing] + ids, [atoms.targets] + targets).map { id, target in
      open(id, selection, target, time: change.selectionTime, at: now)
    }
    return conversions + [.claim(selection: selection, time: change.selectionTime, expecting: change.owner)]
  }

  /// The others go on now: what is still being read is taken first, and what its source doesn't give after that is lost.
  mutating func lockEnds() -> [Effect] {
    let selection = atoms.clipboard
    guard case .capturing(let capture) = phases[selection], capture.isLocked, capture.claim == nil else { return [] }
    return takeNow(capture, on: selection, limit: .lockTimeout)
  }

  /// Takes a selection whose owner is still being read: what it was asked for it may still give, what it wasn't is lost.
  mutating func takeNow(_ capture: Capture, on selection: NamedAtom, limit: AuditRecord.Limit) -> [Effect] {
    var capture = capture
    guard capture.listing == nil else {
      return abandonConversions(of: &capture, limit: limit) + refuseWhole(capture, on: selection, limit: limit)
    }
    capture.claim = .asked(
      for: capture.received.map(\.target) + capture.pending.compactMap { conversions[$0]?.transfer.target })
    capture.later = []
    phases[selection] = .capturing(capture)
    return [.claim(selection: selection, time: capture.selectionTime, expecting: capture.owner)]
  }

  /// The claim in the middle of a capture was carried out, or somebody else was quicker.
  mutating func earlyClaimSettled(
    _ capture: Capture, _ outcome: ClaimOutcome, on selection: NamedAtom, at now: MonotonicTime
  ) -> [Effect] {
    var capture = capture
    guard outcome == .held else {
      // Whose event follows.
      capture.claim = nil
      phases[selection] = .capturing(capture)
      return []
    }
    capture.isOurs = true
    phases[selection] = .capturing(capture)
    claimedAt[selection] = now
    return []
  }

  // MARK: what comes after the loss

  /// TARGETS was answered, or won't be, of an owner that was asked for everything unseen.
  mutating func listedAfterLoss(
    _ listed: [Target], _ capture: Capture, on selection: NamedAtom, at now: MonotonicTime
  ) -> [Effect] {
    var capture = capture
    if !listed.isEmpty { capture.list = TargetList(listed: listed, limit: policy.limits.targets) }
    phases[selection] = .capturing(capture)
    guard capture.pending.isEmpty else { return [] }
    return settle(capture, on: selection, expecting: capture.owner, limit: nil, at: now)
  }

  /// A capture that took the selection first is over: notes what its source didn't give, and refuses the copy when that
  /// is all of it. Nothing is lost silently.
  mutating func concludeAfterLoss(
    _ capture: inout Capture, on selection: NamedAtom, limit: AuditRecord.Limit?
  ) -> [Effect]? {
    guard capture.isOurs, case .asked(let asked)? = capture.claim else { return nil }
    let list = capture.list ?? TargetList(listed: asked, limit: policy.limits.targets)
    let isListed = capture.list != nil
    capture.list = list
    let listed = list.wanted
    // What it doesn't list, it hasn't promised.
    capture.failed.removeAll { isListed && !listed.contains($0.target) }
    if !capture.failed.isEmpty || capture.received.isEmpty { answers.failed(capture.source) }
    capture.failed = capture.failed.map { ($0.target, $0.limit ?? .afterLoss) }
    capture.failed += listed.filter { !asked.contains($0) }.map { ($0, .afterLoss) }
    if isListed { answers.offered(listed, by: capture.source) }
    guard capture.received.isEmpty else { return nil }
    return refuseWhole(capture, on: selection, limit: limit ?? .afterLoss)
  }

  // MARK: pastes meanwhile

  /// A request that comes while the selection is ours and its content on the way waits for it (product.md 9, T_wait);
  /// `nil` when there is nothing to wait for.
  mutating func wait(_ request: ConversionRequest, _ subject: Subject, at now: MonotonicTime) -> [Effect]? {
    guard case .capturing(var capture)? = phases[request.selection], capture.isOurs,
      capture.waiting.count < Self.waitingPastes
    else { return nil }
    capture.waiting.append(
      WaitingPaste(
        request: request, subject: subject, until: now.advanced(byMilliseconds: policy.limits.waitMilliseconds)))
    phases[request.selection] = .capturing(capture)
    return []
  }

  /// Answers those who waited, now that it is ours.
  mutating func serve(_ waiting: [WaitingPaste], at now: MonotonicTime) -> [Effect] {
    waiting.flatMap { conversionRequested($0.request, from: $0.subject, at: now) }
  }

  /// Refuses those who have waited long enough; `nil` when nobody has.
  mutating func refuseWaiting(
    _ capture: Capture, on selection: NamedAtom, at now: MonotonicTime
  ) -> [Effect]? {
    let overdue = capture.waiting.filter { now >= $0.until }
    guard !overdue.isEmpty else { return nil }
    var capture = capture
    capture.waiting.removeAll { now >= $0.until }
    phases[selection] = .capturing(capture)
    return refuse(overdue)
  }

  func refuse(_ waiting: [WaitingPaste]) -> [Effect] { waiting.map { .notify($0.request, property: .none) } }

  // MARK: probes

  /// Before a source loses its copy whose next one would better be taken first, asks it once more for its list and some text
  /// of which we have everything: whether it answers both tells whether that may be done.
  mutating func probe(_ capture: Capture, on selection: NamedAtom, at now: MonotonicTime) -> [Effect] {
    guard selection == atoms.clipboard, !capture.isOurs, !capture.isCleared, answers.wantsProof(of: capture.source),
      policy.isProtected(capture.source, on: policyName(of: selection))
        || answers.isExposed(capture.source) && policy.isRestricted(capture.source),
      let text = capture.received.filter({ TargetList.isPlainText($0.target.name) })
        .min(by: { $0.payload.count < $1.payload.count }), text.payload.count <= Self.probeBytes
    else { return [] }
    answers.offered(capture.list?.wanted ?? [], by: capture.source)
    let (list, content) = (nextConversion(), nextConversion())
    let until = now.advanced(byMilliseconds: Self.probeMilliseconds)
    probes[list] = Probe(source: capture.source, until: until, twin: content)
    probes[content] = Probe(source: capture.source, until: until, twin: list)
    return [(list, atoms.targets), (content, text.target)].map { id, target in
      .convert(id, selection: selection, target: target, time: capture.selectionTime)
    }
  }

  /// The answer to a probe; `nil` when it is to something else.
  mutating func probeAnswered(_ id: ConversionID, isStored: Bool) -> [Effect]? {
    guard let probe = probes.removeValue(forKey: id) else { return nil }
    let twin = probe.twin.flatMap { probes[$0] == nil ? nil : $0 }
    // What it stored is never read: it goes with the window.
    guard isStored else {
      answers.failed(probe.source)
      if let twin { probes[twin] = nil }
      return [id, twin].compactMap { $0.map { .endConversion($0, reusable: false) } }
    }
    if twin == nil { answers.answered(probe.source) }
    return [.endConversion(id, reusable: false)]
  }

  /// Ends the probes that nobody answers.
  mutating func endProbes(at now: MonotonicTime) -> [Effect] {
    probes.filter { now >= $0.value.until }.keys.sorted { $0.number < $1.number }.flatMap {
      probeAnswered($0, isStored: false) ?? []
    }
  }

  /// The owner asked was somebody else's: its answers say nothing.
  mutating func dropProbes() -> [Effect] {
    let ids = probes.keys.sorted { $0.number < $1.number }
    probes = [:]
    return ids.map { .endConversion($0, reusable: false) }
  }

  // MARK: what the shell asks

  /// Whether CLIPBOARD is in nobody's hands any more but ours, or is to be left where it is, and nothing of it lies on a window.
  public var isCopyTaken: Bool {
    switch phases[atoms.clipboard] {
    // A probe has the source write its content once more.
    case .held: probes.isEmpty
    case .foreign, .guarded: true
    case .capturing(let capture): capture.isOurs || capture.isOverdue
    case .unowned, .overtaken, .lingering, .deferred, .claiming, .settling, nil: false
    }
  }
}
