import Boards
import Policy
import Selection

/// The pure core: every event and the subject behind it go in, effects come out (architecture.md).
public struct Bridge: Sendable {
  /// Quiet after a clear before the selection is held empty (product.md 5.7; measured: LibreOffice claims 0–2 ms after
  /// it clears, GIMP with event times up to 127 ms old).
  static let quietMilliseconds = 100
  /// A copy of our own content within this time of our claim is a rival's (our choice: managers answer within 1 s).
  static let rivalryMilliseconds = 2_000
  /// Whoever takes the selection back within this time of our claim does it because of the claim (our choice: a person
  /// needs longer between two keys).
  static let reactionMilliseconds = 100
  /// How often a rival is met for one clip (product.md 5.9).
  static let rivalryRounds = 3
  /// How often the clip's own source is met, when it answers our claims with the same content. Our choice: as many as
  /// stay below the 20 owner changes that users called a fight.
  static let sourceRounds = 8
  /// One paste is up to 27 conversions (measured: Chromium), all within this time (our choice).
  static let pasteMilliseconds = 1_000
  /// Refusals are counted over this time (product.md 9, flood).
  static let floodWindowMilliseconds = 10_000
  /// X clients whose refusals are counted at a time; old counts are dropped beyond it.
  static let floodClients = 256

  let atoms: KnownAtoms
  /// Which bits of an XID number a client's own resources.
  let resourceMask: UInt32
  /// Text targets asked of an owner that can't list its targets.
  let guessedTargets: [Target]

  /// The policy in force.
  public internal(set) var policy: PolicySet
  /// The time since which CLIPBOARD_MANAGER is ours, for its TIMESTAMP (ICCCM 2.6.2); `nil` while it isn't.
  public var managerTime: ServerTime?

  var phases: [NamedAtom: Phase]
  var conversions: [ConversionID: OpenConversion] = [:]
  var conversionCount: UInt64 = 0
  var clipCount: UInt64 = 0
  var transfers: [TransferKey: OpenTransfer] = [:]
  var pendingMultiples: [ConversionRequest: Subject] = [:]
  /// Verdicts already written down for the clip of each selection.
  var recorded: [NamedAtom: [VerdictKey: Written]] = [:]
  /// Under `one-shot`: who has the one paste, and until when they may finish it; `nil` while its transfer is under way.
  var usedUp: [NamedAtom: (by: SoleReader, until: MonotonicTime?)] = [:]
  var claimedAt: [NamedAtom: MonotonicTime] = [:]
  /// Selections whose owner is known to have cut.
  var cuts: Set<NamedAtom> = []
  var possibleCuts: Set<NamedAtom> = []
  /// Copies on the root window that go as soon as their program has had the time to hand them over.
  var rootCopies: [NamedAtom: LeavingCopy] = [:]
  var contests: [NamedAtom: Contest] = [:]
  /// How fast each selection is taken from us.
  var paces: [NamedAtom: Pace] = [:]
  var clearedSecrets = ClearedSecrets()
  var floods: [UInt32: Flood] = [:]
  /// What was last said of each selection by `.retain`.
  var retained: [NamedAtom: RetainMark] = [:]
  /// What is known of executables, for the order in which a copy is taken.
  var answers = AnswerMemory()
  /// Conversions that try out what their owner does.
  var probes: [ConversionID: Probe] = [:]
  /// What is known of the pointer, for PRIMARY.
  var pointer = PointerGuard()
  /// What an owner gave before, while it is being read once more.
  var earlierReading: [NamedAtom: Clip?] = [:]
  /// The drag whose readers we answer; `nil` while there is none.
  var heldDrag: HeldDrag?
  /// Runs of actions that haven't ended, by their number.
  var runs: [UInt64: OpenRun] = [:]
  var runCount: UInt64 = 0
  /// Pastes that wait for the person's word, or have it, by their number.
  var asks: [UInt64: Ask] = [:]
  /// What the person has been told.
  var told = NoticeBook()
  /// Pastes that the event under way has refused.
  var refusedPastes: [RefusedPaste] = []

  /// The boards, and the selections that stand for them.
  public internal(set) var boards: BoardTable
  var boardAtoms = BoardAtoms()

  /// A core with nothing on its selections.
  ///
  /// - Parameters:
  ///   - atoms: the server's numbers for the names we know.
  ///   - policy: the policy to start with.
  ///   - resourceMask: which bits of an XID number a client's own resources; from the server's connection setup.
  ///   - boardCount: where the counts of boards begin: more than those of the run before.
  public init(atoms: KnownAtoms, policy: PolicySet, resourceMask: UInt32 = 0x1f_ffff, boardCount: UInt64 = 0) {
    boards = BoardTable(startingAt: boardCount)
    self.atoms = atoms
    self.policy = policy
    self.resourceMask = resourceMask
    guessedTargets = [atoms.utf8String, atoms.string]
    phases = [:]
    for selection in watchedSelections { phases[selection] = .unowned }
  }

  /// Takes one event through request, decision, transfer and audit.
  ///
  /// - Parameters:
  ///   - event: what happened.
  ///   - subject: who is behind it: the owner for `.ownerChanged`, the requestor for `.conversionRequested`, else `nil`.
  ///   - now: the monotonic time.
  /// - Returns: what has to be done, in order.
  public mutating func handle(
    _ event: SelectionEvent, from subject: Subject?, at now: MonotonicTime
  ) -> [Effect] {
    // What follows from the event comes first: keeping a clip beyond our own end is never urgent.
    let effects = respond(to: event, from: subject, at: now) + attendPointer(at: now)
    return effects + attendPerson(effects, at: now) + retentions()
  }

  private mutating func respond(
    to event: SelectionEvent, from subject: Subject?, at now: MonotonicTime
  ) -> [Effect] {
    switch event {
    case .ownerChanged(let change): ownerChanged(change, from: subject, at: now)
    case .claimForged(let selection, let time): claimForged(selection, time)
    case .claimSettled(let selection, let outcome): claimSettled(selection, outcome, at: now)
    case .seized(let selection, let time): seized(selection, at: time, now)
    case .conversionRequested(let request): conversionRequested(request, from: subject, at: now)
    case .conversionAnswered(let id, let stored):
      probeAnswered(id, isStored: stored) ?? conversionAdvanced(id, at: now) { $0.answered(stored: stored) }
    case .chunkStored(let id): conversionAdvanced(id, at: now) { $0.chunkStored() }
    case .answerRead(let id, let value): conversionAdvanced(id, at: now) { $0.read(value) }
    case .pairsRead(let request, let pairs): pairsRead(request, pairs, at: now)
    case .propertyDeleted(let window, let property):
      propertyDeleted(TransferKey(window: window, property: property), at: now)
    case .requestorGone(let window): requestorGone(window)
    case .storeRejected(let window, let property):
      drop(TransferKey(window: window, property: property), outcome: .incomplete, limit: nil)
    case .deadlineReached: deadlineReached(at: now)
    case .pointerRead(let selection, let isBusy): pointerRead(selection, isBusy: isBusy, at: now)
    case .pasteGuardSettled(let hasButton): pasteGuardSettled(hasButton: hasButton)
    case .middleButtonPressed(let isOnWindowManager):
      pasteBegins(.button(isOnWindowManager: isOnWindowManager), by: subject, at: now)
    case .pasteKeyPressed: pasteBegins(.key, by: subject, at: now)
    case .pointerEntered: pasteBegins(.entry, by: subject, at: now)
    case .cutBufferSet(let buffer, let bytes): cutBufferSet(buffer, bytes: bytes, from: subject, at: now)
    case .personRead(let number, let sign): personRead(number, sign, at: now)
    case .lockEnds: lockEnds()
    }
  }

  // MARK: claims

  /// Claims `selection`; the outcome comes as `.claimSettled`.
  mutating func claim(_ claim: Claim, on selection: NamedAtom) -> [Effect] {
    if case .capturing(let capture)? = phases[selection], capture.isOurs {
      phases[selection] = .claiming(claim.answering(capture.waiting))
      return [.confirm(selection: selection)]
    }
    phases[selection] = .claiming(claim)
    if selection == atoms.drag { return [.standIn(selection: selection, time: claim.holding.time, for: claim.owner)] }
    return [.claim(selection: selection, time: claim.holding.time, expecting: claim.owner)]
  }

  private mutating func claimSettled(
    _ selection: NamedAtom, _ outcome: ClaimOutcome, at now: MonotonicTime
  ) -> [Effect] {
    if case .capturing(let capture)? = phases[selection], capture.claim != nil, !capture.isOurs {
      return earlyClaimSettled(capture, outcome, on: selection, at: now)
    }
    guard case .claiming(let claim) = phases[selection] else { return [] }
    switch outcome {
    case .held:
      phases[selection] = .held(claim.holding)
      recorded[selection] = [:]
      usedUp[selection] = nil
      claimedAt[selection] = now
      if selection == atoms.drag { heldDrag = HeldDrag(source: claim.owner, lookAt: Self.nextLook(after: now)) }
      let hasClip = claim.holding.clip != nil
      let kept = claim.isCopy ? keepCopy(claim.holding, on: selection, at: now) : []
      return kept + (hasClip ? confirmSaves(claim.saves) : refuseSaves(claim.saves)) + claim.records.map { .audit($0) }
        + conclusion(of: claim, outcome)
        + serve(claim.waiting, at: now)
    case .superseded where claim.isRestored:
      // Somebody has copied or cleared since we last held it, and the server remembers. If they own it now, their event
      // comes or they are adopted; what we had is over either way.
      phases[selection] = .unowned
      return []
    case .superseded:
      phases[selection] = .overtaken(claim)
      return refuseSaves(claim.saves) + refuse(claim.waiting) + dropProbes() + conclusion(of: claim, outcome)
    }
  }

  /// Takes `selection`, whoever owns it; the outcome comes as `.seized`.
  mutating func seize(_ selection: NamedAtom, with clip: Clip?, records: [AuditRecord] = [], isCopy: Bool = false) {
    // Since when is known when it is done.
    phases[selection] = .claiming(
      Claim(Holding(time: .current, clip: clip), expecting: .none, records: records, isCopy: isCopy))
  }

  private mutating func seized(_ selection: NamedAtom, at time: ServerTime?, _ now: MonotonicTime) -> [Effect] {
    guard case .claiming(let claim) = phases[selection] else { return [] }
    guard let time else {
      // Whoever was quicker has copied since.
      phases[selection] = isBoard(selection) ? nil : .unowned
      return []
    }
    phases[selection] = .claiming(
      Claim(
        Holding(time: time, clip: claim.holding.clip), expecting: .none, records: claim.records, isCopy: claim.isCopy))
    return claimSettled(selection, .held, at: now)
  }

  /// Nobody honest names our window as owner. Whose claim it is can't be known, so nothing of it is kept; a clip that we
  /// held stays, and otherwise the selection is held empty.
  private mutating func claimForged(_ selection: NamedAtom, _ time: ServerTime) -> [Effect] {
    var effects: [Effect] = [.retake(selection: selection, time: time)]
    if case .held(let holding)? = phases[selection] {
      phases[selection] = .held(Holding(time: time, clip: holding.clip))
    } else {
      effects += abandonCapture(on: selection)
      phases[selection] = .held(Holding(time: time, clip: nil))
    }
    let record = AuditRecord(
      kind: .copy, selection: policyName(of: selection), source: .unknown, verdict: .deny, reason: .builtInDefault,
      outcome: .refused, isAlwaysWritten: true)
    return effects + [.audit(record)]
  }

  // MARK: policy

  /// Puts `policy` in force: verdicts given under the old one are forgotten, clips held are decided anew, and apps that
  /// keep our list of targets are made to ask again. `boards` are the selections of the boards that it names.
  public mutating func replacePolicy(
    _ policy: PolicySet, boards: [NamedAtom] = [], at now: MonotonicTime
  ) -> [Effect] {
    self.policy = policy
    var effects = endAsks() + rewatch(at: now) + reviseBoards(boards)
    told.forgetClips()
    for selection in phases.keys.filter({ !isBoard($0) }).sorted(by: { $0.atom.id < $1.atom.id }) {
      recorded[selection] = [:]
      switch phases[selection]! {
      case .held(let holding):
        // Who may have what is being dragged is decided when they ask.
        guard selection != atoms.drag, let clip = holding.clip else { continue }
        let (kept, records) = judgeAnew(clip, clip.entries.map(\.representation), on: selection)
        phases[selection] = .held(Holding(time: holding.time, clip: kept))
        effects += records + [.reassert(selection: selection, time: holding.time)]
      case .overtaken(let claim):
        // It may be claimed again if its owner only ended.
        guard let clip = claim.holding.clip else { continue }
        let (kept, records) = judgeAnew(clip, clip.entries.map(\.representation), on: selection)
        let holding = Holding(time: claim.holding.time, clip: kept)
        phases[selection] = .overtaken(
          Claim(holding, expecting: claim.owner, saves: claim.saves, records: kept == nil ? [] : claim.records))
        effects += records
      // A claim's outcome comes before anything else; a capture is judged when it ends, a deferred claim when it is met.
      case .unowned, .foreign, .deferred, .lingering, .guarded, .capturing, .claiming, .settling: break
      }
    }
    effects += attendPointer(at: now)
    return effects + attendPerson(effects, at: now) + retentions()
  }

  /// Selections left with an owner that the policy in force restricts, although the one before had nothing against it:
  /// to be looked at again, like what was there at the start.
  public var restrictedForeigners: [NamedAtom] {
    phases.compactMap { selection, phase in
      let source: Subject
      switch phase {
      case .foreign(_, let foreigner, _): source = foreigner
      case .capturing(let capture) where capture.isOverdue: source = capture.source
      default: return nil
      }
      let isRestricted =
        selection == atoms.drag
        ? policy.foresight(ofDragsFrom: source) != .free : policy.isRestricted(source, on: policyName(of: selection))
      return isRestricted ? selection : nil
    }
  }

  /// What the policy in force leaves of `clip`, which has these forms, and the records of what it takes away.
  func judgeAnew(
    _ clip: Clip, _ forms: [Representation], on selection: NamedAtom
  ) -> (kept: Clip?, records: [Effect]) {
    let judged = judge(clip, forms, on: selection)
    let records = judged.refusals.map { refusal in
      Effect.audit(
        record(
          clip.kind, on: selection, source: clip.source, decision: refusal.decision, outcome: .dropped,
          targets: refusal.targets, bytes: refusal.bytes))
    }
    return (judged.clip.entries.isEmpty ? nil : judged.clip, records)
  }

  // MARK: time

  /// When `.deadlineReached` has to be handed in, if nothing happens before; `nil` when nothing waits.
  public var nextDeadline: MonotonicTime? {
    var next = transfers.values.map { idleDeadline(of: $0) }.min()
    let dues = [
      heldDrag?.lookAt, pointer.press?.deadline, boards.nextExpiry, probes.values.map(\.until).min(),
      asks.values.map(\.until).min(), rootCopies.values.map(\.until).min(),
    ]
    for due in dues.compactMap(\.self) { next = next.map { min($0, due) } ?? due }
    for (selection, phase) in phases {
      guard let due = deadline(of: phase, on: selection) else { continue }
      next = next.map { min($0, due) } ?? due
    }
    return next
  }

  private func idleDeadline(of open: OpenTransfer) -> MonotonicTime {
    open.lastProgress.advanced(byMilliseconds: policy.limits.idleMilliseconds)
  }

  private func deadline(of phase: Phase, on selection: NamedAtom) -> MonotonicTime? {
    switch phase {
    case .unowned, .overtaken, .claiming, .foreign: return nil
    case .deferred(_, _, let until): return until
    case .guarded(let guarded): return guarded.clip?.expiry
    case .settling(let until, _): return until
    case .lingering(let lingering): return lingering.until
    case .capturing(let capture): return deadline(of: capture, on: selection)
    case .held(let holding):
      guard let clip = holding.clip else { return nil }
      if isBoard(selection) { return usedUp[selection]?.until }
      return [clip.expiry, usedUp[selection]?.until].compactMap { $0 }.min()
    }
  }

  private mutating func deadlineReached(at now: MonotonicTime) -> [Effect] {
    var effects: [Effect] = []
    let idle = transfers.filter { now >= idleDeadline(of: $0.value) }.keys
    for key in idle.sorted(by: { ($0.window.id, $0.property.id) < ($1.window.id, $1.property.id) }) {
      effects += drop(key, outcome: .incomplete, limit: .idleTimeout)
    }
    effects += lookAfterDrag(at: now)
    effects += endProbes(at: now)
    effects += emptyRootCopies(at: now)
    effects += boards.expire(at: now).flatMap { expired($0) }
    for selection in phases.keys.sorted(by: { $0.atom.id < $1.atom.id }) {
      guard let phase = phases[selection], let due = deadline(of: phase, on: selection), now >= due else { continue }
      switch phase {
      case .unowned, .overtaken, .claiming, .foreign: break
      case .deferred(let change, let source, _): effects += meet(change, by: source, at: now)
      case .guarded(let guarded): forget(guarded, on: selection)
      case .lingering(let lingering): effects += lingeringOver(lingering, on: selection, at: now)
      case .settling(_, let time):
        // Held with metadata only: Qt 6.4 text edits crash on pasting a selection without owner (product.md 5.7).
        effects += claim(
          Claim(Holding(time: time, clip: nil), expecting: .none), on: selection)
      case .capturing(let capture): effects += captureOverdue(capture, on: selection, at: now)
      case .held(let holding): effects += expire(holding, on: selection, at: now)
      }
    }
    return effects
  }

  private mutating func expire(_ holding: Holding, on selection: NamedAtom, at now: MonotonicTime) -> [Effect] {
    if isBoard(selection) { return dropFront(of: selection) }
    guard let clip = holding.clip, !clip.entries.isEmpty else { return [] }
    noteEnd(of: clip, on: selection, at: now)
    phases[selection] = .held(Holding(time: holding.time, clip: nil))
    usedUp[selection] = nil
    recorded[selection] = [:]
    return [.audit(expiryRecord(of: clip, on: selection)), .reassert(selection: selection, time: holding.time)]
  }

  /// The record of a clip whose time is over; it has entries.
  func expiryRecord(of clip: Clip, on selection: NamedAtom) -> AuditRecord {
    record(
      .expire, on: selection, source: clip.source, decision: clip.entries[0].decision, outcome: .dropped,
      targets: clip.entries.map(\.representation.target.name), bytes: clip.byteCount)
  }

  // MARK: what others ask

  /// Whether no capture, claim or settling is under way: what `sync` waits for.
  public var isSettled: Bool {
    pointer.press?.deadline == nil && phases.values.allSatisfy(\.isSettled)
  }

  /// Whether nothing of the newest copy on CLIPBOARD is under way any more.
  public var isClipboardSettled: Bool { phases[atoms.clipboard]?.isSettled ?? true }

  /// Incremental transfers that are going out.
  public var transferCount: Int { transfers.count }

  /// The name by which policies call a selection.
  public func policyName(of selection: NamedAtom) -> String {
    switch selection {
    case atoms.clipboard: "clipboard"
    case atoms.primary: "primary"
    case atoms.secondary: "secondary"
    case atoms.drag: "drag"
    default: selection.name
    }
  }

  /// The X client that a window belongs to, as the upper bits of its XID have it.
  func client(of window: Window) -> UInt32 { window.id & ~resourceMask }

  /// Bytes of all clips held, arriving and still being sent.
  var totalByteCount: Int {
    let kept = phases.reduce(boards.byteCount) { sum, entry in
      switch entry.value {
      case .held where isBoard(entry.key): sum
      case .held(let holding): sum + (holding.clip?.byteCount ?? 0)
      case .claiming(let claim), .overtaken(let claim): sum + (claim.holding.clip?.byteCount ?? 0)
      case .capturing(let capture): sum + capture.byteCount
      case .guarded(let guarded): sum + (guarded.clip?.byteCount ?? 0)
      case .unowned, .foreign, .deferred, .settling, .lingering: sum
      }
    }
    let arriving = conversions.values.reduce(0) { $0 + $1.transfer.byteCount }
    let current = Set(
      phases.values.compactMap { phase -> UInt64? in
        switch phase {
        case .held(let holding): return holding.clip?.number
        case .guarded(let guarded): return guarded.clip?.number
        default: return nil
        }
      })
    // Transfers of a clip that is gone keep its representations alive, each once however many requestors it has.
    var kin: [[UInt64]: Int] = [:]
    for open in transfers.values where !current.contains(open.clipNumber) {
      let form = open.transfer.representation
      kin[[open.clipNumber, UInt64(form.target.atom.id)]] = form.payload.count
    }
    return kin.values.reduce(kept + arriving, +)
  }
}
