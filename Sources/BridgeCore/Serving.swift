import Policy
import Selection

/// What one conversion is answered with.
enum Answer {
  case metadata(MetadataValue)
  case content(Representation, Decision, Grant)
  case refusal
}

/// Whether a subject may have one representation of the clip.
enum Access {
  case granted(Decision, Grant)
  /// Refused by a decision: told and audited.
  case refused(Decision)
  /// Left out by a rule about targets, or used up: not offered, like any target we don't have.
  case withheld
}

/// Which app was already told or audited about the clip: one verdict per clip and subject (product.md 2).
struct VerdictKey: Hashable, Sendable {
  let subject: Subject
  let kind: AuditRecord.Kind
  let outcome: AuditRecord.Outcome
  let limit: AuditRecord.Limit?
  /// What decided; of no use for what is served.
  let reason: Reason?
  /// Only what is served is told apart by target.
  let target: Target?
}

/// When a record of one kind was written last, for one clip and subject.
struct Written: Sendable {
  var at: MonotonicTime
  /// How long no other is written: twice as long each time, up to a minute, since some programs ask twice a second for ever.
  var pauseMilliseconds: Int
  /// What wasn't written since.
  var unwritten = 0
}

extension Bridge {
  /// A requestor asks us for a conversion. Every path from here answers it exactly once (product.md 5.4).
  mutating func conversionRequested(
    _ request: ConversionRequest, from subject: Subject?, at now: MonotonicTime
  ) -> [Effect] {
    let subject = subject ?? .unknown
    // ICCCM 2.2: clients from before the ICCCM give no property and mean the target's own atom.
    let property = request.property == .none ? request.target.atom : request.property
    if request.selection == atoms.clipboardManager {
      return managerRequested(request, property: property, at: now)
    }
    guard case .held(let holding) = phases[request.selection] else {
      return wait(request, subject, at: now) ?? [.notify(request, property: .none)]
    }
    if request.selection == atoms.drag { heldDrag?.noteReading(at: now) }
    if request.target == atoms.multiple {
      // ICCCM 2.6.2: the pair list lies in the property, so there must be one.
      guard request.property != .none else { return [.notify(request, property: .none)] }
      pendingMultiples[request] = subject
      return [.readPairs(request)]
    }
    let (answer, records) = answer(
      request.target, of: holding, selection: request.selection, client: client(of: request.requestor), to: subject,
      at: now)
    let key = TransferKey(window: request.requestor, property: property)
    switch answer {
    case .refusal: return [.notify(request, property: .none)] + records
    case .metadata(let value):
      return [
        .storeMetadata(window: key.window, property: property, value), .notify(request, property: property),
      ] + records
    case .content(let form, let decision, let grant):
      guard let stores = send(form, decision, grant, to: key, subject, of: holding, request.selection, at: now) else {
        return [.notify(request, property: .none)]
          + refusedByLimit(form, decision, of: holding, request.selection, to: subject)
      }
      noteUse(decision, of: holding.clip, on: request.selection, by: subject, at: now)
      return stores.before + [.notify(request, property: property)] + records + stores.after
    }
  }

  /// The pair list of a MULTIPLE request was read: each pair is answered, those refused get None as property, the list
  /// is written back and the request answered once (ICCCM 2.6.2).
  mutating func pairsRead(
    _ request: ConversionRequest, _ pairs: [AtomPair]?, at now: MonotonicTime
  ) -> [Effect] {
    guard let subject = pendingMultiples.removeValue(forKey: request) else { return [] }
    guard let pairs, case .held(let holding) = phases[request.selection] else {
      return [.notify(request, property: .none)]
    }
    var before: [Effect] = []
    var after: [Effect] = []
    var list: [Atom] = []
    for (index, pair) in pairs.enumerated() {
      var isAnswered = false
      if index < policy.limits.multiplePairs, pair.property != .none, pair.target != atoms.multiple {
        let (answer, records) = answer(
          pair.target, of: holding, selection: request.selection, client: client(of: request.requestor), to: subject,
          at: now)
        after += records
        let key = TransferKey(window: request.requestor, property: pair.property)
        switch answer {
        case .refusal: break
        case .metadata(let value):
          before.append(.storeMetadata(window: key.window, property: key.property, value))
          isAnswered = true
        case .content(let form, let decision, let grant):
          if let stores = send(form, decision, grant, to: key, subject, of: holding, request.selection, at: now) {
            noteUse(decision, of: holding.clip, on: request.selection, by: subject, at: now)
            before += stores.before
            after += stores.after
            isAnswered = true
          } else {
            after += refusedByLimit(form, decision, of: holding, request.selection, to: subject)
          }
        }
      }
      list += [pair.target.atom, isAnswered ? pair.property : .none]
    }
    if pairs.count > policy.limits.multiplePairs {
      after += limitRecord(.pairCount, of: holding, request.selection, to: subject)
    }
    return before
      + [
        .storeMetadata(window: request.requestor, property: request.property, .pairs(list)),
        .notify(request, property: request.property),
      ] + after
  }

  // MARK: one conversion

  private mutating func answer(
    _ target: Target, of holding: Holding, selection: NamedAtom, client: UInt32, to subject: Subject,
    at now: MonotonicTime
  ) -> (Answer, [Effect]) {
    if target == atoms.timestamp { return (.metadata(.time(holding.time)), []) }
    if target == atoms.targets { return list(holding, on: selection, to: subject, client, at: now) }
    guard let clip = holding.clip else { return (.refusal, []) }
    guard let entry = clip.entry(for: target) ?? sameBytes(as: target, in: clip, on: selection) else {
      return (.refusal, selection == atoms.drag ? refusalOfDrag(target, clip, to: subject) : [])
    }
    switch access(to: entry, of: clip, on: selection, for: subject, client, at: now, heedsPerson: true) {
    case .granted(let decision, let grant):
      return (.content(entry.representation, decision, grant), [])
    case .withheld: return (.refusal, [])
    case .refused(let decision):
      let text = decision.obligations.replacement.flatMap { replacement($0, for: target) }
      var effects = recordOnce(
        record(
          kindOfReading(selection), on: selection, source: clip.source, destination: subject, decision: decision,
          outcome: text == nil ? .refused : .replaced, targets: [target.name]),
        on: selection, at: now)
      noteRefusedPaste(
        of: clip, on: selection, to: subject, decision, [target.name], outcome: text == nil ? .refused : .replaced)
      effects += countRefusal(by: client, on: selection, subject, decision, at: now)
      if let text { return (.metadata(text), effects) }
      return (.refusal, effects)
    }
  }

  /// TARGETS: exactly what will convert for this subject, and the metadata targets (product.md 5.5). For one who may
  /// have nothing that is the metadata alone: the answer that no tested program stumbles over.
  private mutating func list(
    _ holding: Holding, on selection: NamedAtom, to subject: Subject, _ client: UInt32, at now: MonotonicTime
  ) -> (Answer, [Effect]) {
    var targets = [atoms.targets.atom, atoms.timestamp.atom, atoms.multiple.atom]
    guard let clip = holding.clip else { return (.metadata(.targets(targets)), []) }
    if clip.listsSaveTargets { targets.append(atoms.saveTargets.atom) }
    var refusal: Decision?
    var refused: [String] = []
    var offersContent = false
    for entry in clip.entries {
      let target = entry.representation.target
      switch access(to: entry, of: clip, on: selection, for: subject, client, at: now, heedsPerson: true) {
      case .granted:
        targets.append(target.atom)
        offersContent = true
      case .withheld: break
      case .refused(let decision):
        refusal = refusal ?? decision
        refused.append(target.name)
        if decision.obligations.replacement.flatMap({ replacement($0, for: target) }) != nil {
          targets.append(target.atom)
          offersContent = true
        }
      }
    }
    guard let refusal else { return (.metadata(.targets(targets)), []) }
    // Who is listed something can ask for it.
    if !offersContent {
      noteRefusedPaste(of: clip, on: selection, to: subject, refusal, refused, outcome: .refused, isList: true)
    }
    let record = record(
      .list, on: selection, source: clip.source, destination: subject, decision: refusal, outcome: .refused,
      targets: refused)
    return (.metadata(.targets(targets)), recordOnce(record, on: selection))
  }

  /// Takes note of a paste that is refused, for what the person is told. Of drags the records tell: many are only passed over
  /// an app.
  private mutating func noteRefusedPaste(
    of clip: Clip, on selection: NamedAtom, to subject: Subject, _ decision: Decision, _ targets: [String],
    outcome: AuditRecord.Outcome, isList: Bool = false
  ) {
    guard selection != atoms.drag else { return }
    refusedPastes.append(
      RefusedPaste(
        selection: selection, clip: clip.number, source: clip.source, subject: subject, decision: decision,
        targets: targets, outcome: outcome, isList: isList))
  }

  /// Whether `subject`, which asks as this X client where it does by X, may have a representation. With `heedsPerson`, what
  /// the person has allowed once counts: for those whose use of it is noted.
  func access(
    to entry: Clip.Entry, of clip: Clip, on selection: NamedAtom, for subject: Subject, _ client: UInt32? = nil,
    at now: MonotonicTime, heedsPerson: Bool = false
  ) -> Access {
    if let used = usedUp[selection],
      !used.by.isSame(as: SoleReader(subject, client)) || used.until.map({ now >= $0 }) ?? false
    {
      return .withheld
    }
    if clip.isLocalOnly, !subject.isLocal { return .withheld }
    // An app has its own content back from a board, but not what was made of it there.
    let owner = clip.derivation == nil ? clip.source : .unknown
    if let denial = boardDenial(on: selection, from: owner, copiedUnder: entry.decision.reason, to: subject) {
      return .refused(denial)
    }
    if let members = clip.confinement?.members,
      let denial = denial(to: members, from: owner, copiedUnder: entry.decision.reason, to: subject)
    {
      return .refused(denial)
    }
    if let denial = policy.denial(
      byAudience: entry.audience, copiedUnder: entry.decision.reason, from: clip.source, to: subject)
    {
      return .refused(denial)
    }
    for further in entry.further where !subject.isSameApp(as: clip.source) {
      if let denial = policy.denial(
        byAudience: further.audience, copiedUnder: further.reason, from: further.source, to: subject)
      {
        return .refused(denial)
      }
    }
    let form = entry.representation
    let facts = ContentFacts(target: form.target.name, size: form.payload.count, isSensitive: clip.isSensitive)
    var decision = policy.evaluate(
      all: clip.requests(
        selection == atoms.drag ? .drag : .paste, facts, by: subject, on: policyName(of: selection)))
    if heedsPerson, decision.isAwaitingPerson, isAllowedOnce(clip, on: selection, for: subject, at: now) {
      decision = decision.allowedOnce
    }
    guard let grant = decision.grant else { return .refused(decision) }
    if let maxSize = decision.obligations.maxSize, facts.size > maxSize { return .refused(decision) }
    guard decision.obligations.permits(facts) else { return .withheld }
    return .granted(decision, grant)
  }

  /// Largest text of which another spelling is made (our choice: 1 ms).
  private static let spelledBytes = 1 << 20

  /// Plain text under a name that the source doesn't list, where it is the same bytes under both: programs ask for STRING
  /// without looking at the list, and sources answer them (measured: x11vnc and xclip). Decided as a form of its own.
  ///
  /// One form in ASCII doesn't show that the text is: what an encoding lacks, sources write as question marks (measured: Java).
  /// The form in UTF-8 shows it, and without that all forms together.
  private func sameBytes(as target: Target, in clip: Clip, on selection: NamedAtom) -> Clip.Entry? {
    guard TargetList.holdsASCII(target.name), selection != atoms.drag else { return nil }
    let texts = clip.entries.map(\.representation).filter { TargetList.isPlainText($0.target.name) }
    let whole = texts.first { TargetList.isUTF8Text($0.target.name) }
    let isASCII = (whole.map { [$0] } ?? texts).allSatisfy {
      TargetList.holdsASCII($0.target.name) && $0.format == 8 && $0.payload.isASCII(upTo: Self.spelledBytes)
    }
    guard isASCII, let text = whole ?? texts.first else { return nil }
    // TEXT stands for whichever encoding the owner likes (ICCCM 2.6.2).
    let type = target.name == "TEXT" ? atoms.string : target
    let form = Representation(target: target, type: type, format: 8, payload: text.payload)
    return judge(clip, [form], on: selection).clip.entries.first
  }

  /// A rule's replacement text in the spelling that `target` wants; `nil` for targets that aren't plain text, for STRING where
  /// Latin-1 doesn't suffice (ICCCM 2.7.1), and for encodings that aren't written here.
  private func replacement(_ text: String, for target: Target) -> MetadataValue? {
    guard TargetList.isPlainText(target.name) else { return nil }
    switch target.name {
    case "STRING", "TEXT", "C_STRING", "COMPOUND_TEXT":
      // Latin-1 is ISO 8859-1 as STRING has it, and also the initial state of COMPOUND_TEXT.
      let latin1 = text.unicodeScalars.map { $0.value < 256 ? UInt8($0.value) : nil }
      guard !latin1.contains(nil) else { return nil }
      let type = target.name == "COMPOUND_TEXT" ? target.atom : atoms.string.atom
      return .replacement(type: type, bytes: latin1.compactMap { $0 })
    default:
      let isSame = TargetList.holdsASCII(target.name) && text.utf8.allSatisfy { $0 < 0x80 }
      guard isSame || TargetList.isUTF8Text(target.name) || target.name == "text/plain" else { return nil }
      return .replacement(type: target.atom, bytes: Array(text.utf8))
    }
  }

  // MARK: hand-over

  /// CLIPBOARD_MANAGER: an app that ends wants its content kept (product.md 5.9; the freedesktop clipboard manager
  /// specification). We have it already or are about to, so SAVE_TARGETS is answered at once or when the capture ends.
  private mutating func managerRequested(
    _ request: ConversionRequest, property: Atom, at now: MonotonicTime
  ) -> [Effect] {
    let window = request.requestor
    switch request.target {
    case atoms.targets:
      let list = [atoms.targets.atom, atoms.timestamp.atom, atoms.saveTargets.atom]
      return [.storeMetadata(window: window, property: property, .targets(list)), .notify(request, property: property)]
    case atoms.timestamp where managerTime != nil:
      return [
        .storeMetadata(window: window, property: property, .time(managerTime!)), .notify(request, property: property),
      ]
    case atoms.saveTargets:
      let save = SaveRequest(request: request, property: property)
      switch phases[atoms.clipboard] {
      case .held(let holding) where holding.clip != nil: return confirmSaves([save])
      case .guarded(let guarded) where guarded.clip != nil:
        // It is about to end; what it gave is ours to serve from now on.
        let holding = Holding(time: guarded.time, clip: guarded.clip)
        return claim(Claim(holding, expecting: guarded.owner, saves: [save]), on: atoms.clipboard)
      case .capturing(var capture) where !capture.isOverdue:
        capture.saves.append(save)
        phases[atoms.clipboard] = .capturing(capture)
        return []
      default: return refuseSaves([save])
      }
    default: return [.notify(request, property: .none)]
    }
  }

  func confirmSaves(_ saves: [SaveRequest]) -> [Effect] {
    saves.flatMap { save -> [Effect] in
      [
        .storeMetadata(window: save.request.requestor, property: save.property, .null),
        .notify(save.request, property: save.property),
      ]
    }
  }

  func refuseSaves(_ saves: [SaveRequest]) -> [Effect] { saves.map { .notify($0.request, property: .none) } }
}
