import Policy
import Selection

/// A sign that somebody is about to paste from PRIMARY.
struct Press: Sendable {
  enum Kind: Hashable {
    /// The middle button, with the pointer standing still until the press is dealt with.
    case button(isOnWindowManager: Bool)
    /// A key that may paste it, with the keyboard standing still. It is never swallowed: the same key may mean CLIPBOARD.
    case key
    /// The pointer has come to the app; the second best where the button isn't to be had.
    case entry
  }

  let kind: Kind
  let subject: Subject
  let at: MonotonicTime

  /// When it has to be dealt with, whatever is known then.
  var deadline: MonotonicTime? {
    kind == .entry ? nil : at.advanced(byMilliseconds: Bridge.pressMilliseconds)
  }
}

/// How pastes from PRIMARY are met while it is left with its source.
struct PointerGuard: Sendable {
  /// The sign under decision.
  var press: Press?
  /// A press that came before that was decided: one of the button and one of the key may stand still at once.
  var next: Press?
  /// Whether we have asked for such signs.
  var isGuarded = false
  /// Whether the button was to be had.
  var hasButton = true
  /// Whether a rule could refuse or change what PRIMARY's source has.
  var isSourceRestricted = false
}

extension Bridge {
  /// How long a press may wait for the source to show its content (product.md 7's budget).
  static let pressMilliseconds = 20

  /// Somebody is about to paste; ``attendPointer(at:)`` goes on with it.
  mutating func pasteBegins(_ kind: Press.Kind, by subject: Subject?, at now: MonotonicTime) -> [Effect] {
    // A press goes before the pointer's way.
    guard kind != .entry || pointer.press == nil && pointer.isGuarded else { return [] }
    let press = Press(kind: kind, subject: subject ?? .unknown, at: now)
    if pointer.press?.deadline == nil { pointer.press = press } else { pointer.next = press }
    return []
  }

  /// The shell has the button, or hasn't.
  mutating func pasteGuardSettled(hasButton: Bool) -> [Effect] {
    pointer.hasButton = hasButton
    return []
  }

  /// After every event: goes on with a press, and asks for presses while they matter.
  mutating func attendPointer(at now: MonotonicTime) -> [Effect] {
    var effects = attendPress(at: now)
    while pointer.press == nil, let next = pointer.next {
      (pointer.press, pointer.next) = (next, nil)
      effects += attendPress(at: now)
    }
    let isWanted = pointer.isSourceRestricted && isLeftWithSource || pointer.press != nil
    if isWanted != pointer.isGuarded {
      pointer.isGuarded = isWanted
      effects.append(.guardPastes(isWanted))
    }
    return effects
  }

  private var isLeftWithSource: Bool {
    guard policy.primary == .guard else { return false }
    switch phases[atoms.primary] {
    case .lingering, .guarded, .capturing: return true
    case .unowned, .foreign, .deferred, .overtaken, .claiming, .held, .settling, nil: return false
    }
  }

  private mutating func attendPress(at now: MonotonicTime) -> [Effect] {
    guard let press = pointer.press else { return [] }
    if let deadline = press.deadline, now >= deadline { return pressOverdue(press) }
    let selection = atoms.primary
    switch phases[selection] {
    case .lingering where press.kind == .entry: return []
    case .lingering(let lingering):
      return foresee(press, lingering.source)
        ?? read(lingering.owner, lingering.source, time: lingering.time, on: selection, at: now)
    case .guarded(let guarded):
      if guarded.readAt >= press.at { return conclude(press, guarded, at: now) }
      if let effects = foresee(press, guarded.source) { return effects }
      return readAgain(guarded, at: now)
    case .capturing(let capture): return foresee(press, capture.source) ?? []
    case .claiming, .overtaken, .deferred: return []
    // Ours, so each conversion is decided when it comes; or nothing is there to be guarded.
    case .held, .unowned, .foreign, .settling, nil: return endPress(press, replays: true)
    }
  }

  /// What was read before may be another text than what is marked now. What can be asked for is known from then: the
  /// source has to be woken up once, not twice.
  private mutating func readAgain(_ guarded: Guarded, at now: MonotonicTime) -> [Effect] {
    let selection = atoms.primary
    earlierReading.updateValue(guarded.clip, forKey: selection)
    guard !guarded.targets.isEmpty else {
      return read(guarded.owner, guarded.source, time: guarded.time, on: selection, at: now)
    }
    let capture = Capture(
      owner: guarded.owner, source: guarded.source, kind: .copy, selectionTime: guarded.time, startedAt: now)
    let list = TargetList(listed: guarded.targets, limit: policy.limits.targets)
    return ask(for: list, capture, on: selection, at: now)
  }

  /// Deals with a press that is decided whatever the content; `nil` when the content has to be read.
  private mutating func foresee(_ press: Press, _ source: Subject) -> [Effect]? {
    let name = policyName(of: atoms.primary)
    switch policy.foresight(ofPasteBy: press.subject, from: source, on: name) {
    case .free(let decision):
      // The source itself hands over what is marked: right by construction, and its highlight stays.
      let effects = endPress(press, replays: true)
      guard case .button = press.kind, !press.subject.isSameApp(as: source) else { return effects }
      return effects + [.audit(pressRecord(press, source, decision, outcome: .left))]
    case .refused(let decision):
      guard press.kind == .button(isOnWindowManager: false) else { return nil }
      return endPress(press, replays: false)
        + told(pressRecord(press, source, decision, outcome: .refused))
    case .open: return nil
    }
  }

  /// The content is known: a press that gives its app nothing is swallowed; otherwise the selection is taken, and then
  /// every conversion is decided by itself.
  private mutating func conclude(_ press: Press, _ guarded: Guarded, at now: MonotonicTime) -> [Effect] {
    guard let clip = guarded.clip else { return withoutContent(press, guarded) }
    var refusal: Decision?
    for entry in clip.entries {
      switch access(to: entry, of: clip, on: atoms.primary, for: press.subject, at: now) {
      case .granted: return take(guarded, clip)
      case .refused(let decision) where decision.obligations.replacement != nil: return take(guarded, clip)
      case .refused(let decision): refusal = refusal ?? decision
      case .withheld: break
      }
    }
    guard press.kind == .button(isOnWindowManager: false), let refusal else { return take(guarded, clip) }
    return endPress(press, replays: false)
      + told(pressRecord(press, guarded.source, refusal, outcome: .refused, of: clip))
  }

  private mutating func take(_ guarded: Guarded, _ clip: Clip?) -> [Effect] {
    claim(Claim(Holding(time: guarded.time, clip: clip), expecting: guarded.owner), on: atoms.primary)
  }

  /// The source gives no text, so nothing can be judged.
  private mutating func withoutContent(_ press: Press, _ guarded: Guarded) -> [Effect] {
    switch press.kind {
    case .button(isOnWindowManager: true): endPress(press, replays: true)
    case .button(isOnWindowManager: false):
      endPress(press, replays: false) + told(unjudgedRecord(press, guarded.source, limit: nil))
    case .key, .entry: take(guarded, nil)
    }
  }

  private mutating func pressOverdue(_ press: Press) -> [Effect] {
    if press.kind == .key, case .capturing(var capture) = phases[atoms.primary] {
      // Whoever asks after the key gets an empty selection from us rather than the text from its source.
      earlierReading[atoms.primary] = nil
      let holding = Holding(time: capture.selectionTime, clip: nil)
      return abandonConversions(of: &capture, limit: nil)
        + claim(
          Claim(
            holding, expecting: capture.owner,
            records: [unjudgedRecord(press, capture.source, limit: .pressTimeout)]), on: atoms.primary)
    }
    let source: Subject? =
      switch phases[atoms.primary] {
      case .capturing(let capture): capture.source
      case .claiming(let claim), .overtaken(let claim): claim.holding.clip?.source
      default: nil
      }
    guard press.kind == .button(isOnWindowManager: false) else { return endPress(press, replays: true) }
    return endPress(press, replays: false) + told(unjudgedRecord(press, source, limit: .pressTimeout))
  }

  private mutating func endPress(_ press: Press, replays: Bool) -> [Effect] {
    pointer.press = nil
    switch press.kind {
    case .button: return [.releasePointer(replays: replays)]
    case .key: return [.releaseKeyboard]
    case .entry: return []
    }
  }

  // MARK: records

  private func pressRecord(
    _ press: Press, _ source: Subject, _ decision: Decision, outcome: AuditRecord.Outcome, of clip: Clip? = nil
  ) -> AuditRecord {
    record(
      .paste, on: atoms.primary, source: source, destination: press.subject, decision: decision, outcome: outcome,
      targets: clip?.entries.map(\.representation.target.name) ?? [], bytes: clip?.byteCount ?? 0)
  }

  private func unjudgedRecord(_ press: Press, _ source: Subject?, limit: AuditRecord.Limit?) -> AuditRecord {
    AuditRecord(
      kind: .paste, selection: policyName(of: atoms.primary), source: source, destination: press.subject,
      verdict: .deny, reason: .builtInDefault, outcome: .refused, limit: limit, notifies: true, isAlwaysWritten: true)
  }

  /// Every press is written down, and the person told of the first alone.
  private mutating func told(_ record: AuditRecord) -> [Effect] {
    let first = recordOnce(record, on: atoms.primary)
    guard first.isEmpty else { return first }
    var repeated = record
    repeated.notifies = false
    return [.audit(repeated)]
  }
}
