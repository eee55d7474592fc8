import Boards
import Policy
import Selection

// What programs ask of boards past X. The decision is the one that X clients meet: `access` for what is read, `judge` for
// what is written, and a board that the caller may not use is answered as if there were none.
extension Bridge {
  /// Takes one call to the boards through decision and audit; `.answer` is among what it gives.
  ///
  /// - Parameters:
  ///   - call: what is asked.
  ///   - subject: the calling process.
  ///   - now: the monotonic time.
  public mutating func handle(
    _ call: BoardCall, from subject: Subject, at now: MonotonicTime
  ) -> [Effect] {
    var effects: [Effect]
    if let denial = denial(of: call, by: subject) { return denial }
    do throws(BoardRefusal) {
      effects = try carryOut(call, from: subject, at: now)
    } catch {
      effects = [.answer(.refused(error))]
      if case .write(let writing) = call, [.pinnedFillItems, .pinnedFillBytes, .itemTooLarge].contains(error),
        let selection = boardAtoms[writing.board]
      {
        effects.append(.audit(refusal(of: writing.representations, .boardQuota, by: subject, on: selection)))
      }
    }
    return effects + attendPerson(effects, at: now) + retentions()
  }

  /// A call to a board that its caller may not use: written down, as X clients' requests are. What is answered is the same
  /// as where there is no board.
  private mutating func denial(of call: BoardCall, by subject: Subject) -> [Effect]? {
    for (name, kind) in call.boards {
      guard let selection = boardAtoms[name], let denial = boardDenial(on: selection, to: subject) else { continue }
      let isCopy = kind == .copy
      let record = record(
        kind, on: selection, source: isCopy ? subject : nil, destination: isCopy ? nil : subject, decision: denial,
        outcome: .refused)
      return recordOnce(record, on: selection) + [.answer(.refused(.noBoard))]
    }
    return nil
  }

  private mutating func carryOut(
    _ call: BoardCall, from subject: Subject, at now: MonotonicTime
  ) throws(BoardRefusal) -> [Effect] {
    switch call {
    case .list:
      let names = boards.boards.keys.sorted().filter { mayUse(subject, $0) }
      return [
        .answer(.boards([describeGeneral(to: subject, at: now)] + names.map { describe($0, to: subject, at: now) }))
      ]
    case .describe(BoardName.general): return [.answer(.boards([describeGeneral(to: subject, at: now)]))]
    case .describe(let name):
      try demand(name, for: subject)
      return [.answer(.boards([describe(name, to: subject, at: now)]))]
    case .create(let creation): return try create(creation, by: subject)
    case .read(let name, let item, let type): return try read(name, item, type, by: subject, at: now)
    case .write(let writing): return try write(writing, by: subject, at: now)
    case .copy(let from, let item, let to): return try copy(from, item, to, by: subject, at: now)
    case .offer(let name, let item): return try offer(name, item, to: subject, at: now)
    case .pin(let name, let item, let isPinned):
      try demand(name, for: subject)
      let change = try boards.pin(item, on: name, isPinned)
      return (change.map { note($0) } ?? []) + [done(name)]
    case .removeItem(let name, let item):
      try demand(name, for: subject)
      return note(try boards.remove(item, from: name)) + refresh(name) + [done(name)]
    case .remove(BoardName.general): throw .notRemovable
    case .remove(let name):
      try demand(name, for: subject)
      guard boards[name]?.origin != .policy else { throw .notRemovable }
      return end(name) + [.answer(.done(changeCount: 0))]
    case .wipe(BoardName.general): return clearGeneral(by: subject, at: now)
    case .wipe(let name):
      try demand(name, for: subject)
      let change = boards.drop(from: name) { _ in true }
      return (change.map { note($0) + refresh(name) } ?? []) + [done(name)]
    case .connectionEnded(let connection):
      return boards.boards(ofConnection: connection).flatMap { end($0) }
    }
  }

  private func demand(_ name: String, for subject: Subject) throws(BoardRefusal) {
    guard mayUse(subject, name) else { throw .noBoard }
  }

  private func done(_ name: String) -> Effect { .answer(.done(changeCount: boards[name]?.changeCount ?? 0)) }

  // MARK: what there is

  private func describeGeneral(to subject: Subject, at now: MonotonicTime) -> BoardDescription {
    var board = BoardDescription(name: BoardName.general, origin: nil, changeCount: clipCount, items: [])
    guard let clip = generalClip?.clip else { return board }
    let item = BoardItem(clip, clip.entries.map(\.representation), origin: policyName(of: atoms.clipboard))
    board.items = [describe(item, number: clip.number, clip, on: atoms.clipboard, to: subject, at: now)]
      .compactMap(\.self)
    return board
  }

  private func describe(_ name: String, to subject: Subject, at now: MonotonicTime) -> BoardDescription {
    guard let board = boards[name], let selection = boardAtoms[name] else {
      preconditionFailure("a board without a selection")
    }
    let items = board.items.compactMap { item in
      clip(of: item, on: selection).flatMap {
        describe(item, number: item.number, $0, on: selection, to: subject, at: now)
      }
    }
    return BoardDescription(
      name: name, origin: board.origin, isPersistent: board.settings.isPersistent, changeCount: board.changeCount,
      items: items)
  }

  /// An item as far as the caller may have it; `nil` when that is nothing.
  private func describe(
    _ item: BoardItem, number: UInt64, _ clip: Clip, on selection: NamedAtom, to subject: Subject, at now: MonotonicTime
  ) -> ItemDescription? {
    let granted = clip.entries.filter { entry in
      if case .granted = access(to: entry, of: clip, on: selection, for: subject, at: now) { true } else { false }
    }
    guard !granted.isEmpty else { return nil }
    var visible = item
    visible.representations = granted.map(\.representation)
    return ItemDescription(
      number: number, types: visible.representations.map { ($0.target.name, $0.payload.count) },
      labels: PatternLabel.labels(of: visible), source: item.source, copiedAt: item.copiedAt, expiry: item.expiry,
      isPinned: item.isPinned, isLocalOnly: item.isLocalOnly, isSensitive: item.isSensitive)
  }

  // MARK: reading

  /// Why there is no clip on CLIPBOARD.
  private var generalWithoutClip: BoardRefusal {
    switch phases[atoms.clipboard] {
    case nil, .unowned, .settling: .unowned
    case .held: .empty
    case .foreign, .deferred, .overtaken, .lingering, .guarded, .capturing, .claiming: .unanswered
    }
  }

  /// The clip of an item, or of CLIPBOARD for `general`.
  private func clip(
    _ name: String, _ item: UInt64?, for subject: Subject
  ) throws(BoardRefusal) -> (clip: Clip, selection: NamedAtom) {
    if name == BoardName.general {
      guard let clip = generalClip?.clip else { throw generalWithoutClip }
      guard item == nil || item == clip.number else { throw .noItem }
      return (clip, atoms.clipboard)
    }
    guard let selection = boardAtoms[name], let board = boards[name] else { throw .noBoard }
    guard let item else {
      guard let clip = boardClip(on: selection) else { throw .empty }
      return (clip, selection)
    }
    guard let found = board.item(item), let clip = clip(of: found, on: selection) else { throw .noItem }
    return (clip, selection)
  }

  private mutating func read(
    _ name: String, _ item: UInt64?, _ type: String, by subject: Subject, at now: MonotonicTime
  ) throws(BoardRefusal) -> [Effect] {
    let (clip, selection) = try clip(name, item, for: subject)
    guard let entry = clip.entries.first(where: { $0.representation.target.name == type }) else { throw .noType }
    switch access(to: entry, of: clip, on: selection, for: subject, at: now) {
    case .withheld: throw .noType
    case .refused(let denial):
      let record = record(
        .paste, on: selection, source: clip.source, destination: subject, decision: denial, outcome: .refused,
        targets: [type])
      return recordOnce(record, on: selection) + [.answer(.refused(.denied))]
    case .granted(let decision, let grant):
      let form = entry.representation
      let content = BoardContent(type: type, payload: form.payload, grant: grant)
      let isOneShot = decision.obligations.oneShot || entry.decision.obligations.oneShot
      return [.answer(.content(content))]
        + served(form, decision, clip.source, subject, nil, selection, isOneShot: isOneShot, clip.number, at: now)
    }
  }

  // MARK: writing

  private mutating func create(_ creation: BoardCreation, by subject: Subject) throws(BoardRefusal) -> [Effect] {
    let name = creation.selection.name
    if case .created = creation.origin, !BoardName.isFree(name) { throw .nameInvalid }
    var members = BoardMembers.app(subject)
    var settings = BoardSettings(itemBytes: policy.limits.clipBytes)
    if let other = creation.members {
      guard policy.isMember(subject, of: other), let said = policy.board(named: other) else { throw .noBoard }
      members = .ofBoard(other)
      settings = BoardSettings(said, limits: policy.limits)
      // What is stored is found again by the policy that names it.
      settings.isPersistent = false
    }
    try boards.open(Board(name: name, origin: creation.origin, members: members, settings: settings))
    boardAtoms[name] = creation.selection
    return [.answer(.created(name))]
  }

  private mutating func write(
    _ writing: BoardWriting, by subject: Subject, at now: MonotonicTime
  ) throws(BoardRefusal) -> [Effect] {
    let selection = try target(writing.board, for: subject)
    guard !writing.representations.isEmpty else { throw .empty }
    clipCount += 1
    let clip = Clip(
      number: clipCount, source: subject, kind: .copy, copiedAt: now,
      isSensitive: Clip.isMarkedSecret(writing.representations), listsSaveTargets: false,
      isLocalOnly: writing.isLocalOnly, entries: [])
    let judged = judge(clip, writing.representations, on: selection)
    return try place(judged, on: selection, writing, by: subject, at: now)
  }

  private func target(_ name: String, for subject: Subject) throws(BoardRefusal) -> NamedAtom {
    if name == BoardName.general { return atoms.clipboard }
    try demand(name, for: subject)
    guard let selection = boardAtoms[name] else { throw .noBoard }
    return selection
  }

  /// An item goes from one board to another as what it is: its own source's copy, under the rules about that source and
  /// about the caller, whichever leave less of it.
  private mutating func copy(
    _ from: String, _ item: UInt64?, _ to: String, by subject: Subject, at now: MonotonicTime
  ) throws(BoardRefusal) -> [Effect] {
    if from != BoardName.general { try demand(from, for: subject) }
    let selection = try target(to, for: subject)
    let (clip, origin) = try clip(from, item, for: subject)
    let forms = clip.entries.filter { entry in
      if case .granted = access(to: entry, of: clip, on: origin, for: subject, at: now) { true } else { false }
    }.map(\.representation)
    guard !forms.isEmpty, clip.isForItsAppsBoards else { throw .denied }
    clipCount += 1
    func copied(by source: Subject) -> JudgedClip {
      var copy = Clip(
        number: clipCount, source: source, kind: .copy, copiedAt: now, isSensitive: clip.isSensitive,
        listsSaveTargets: false, isLocalOnly: clip.isLocalOnly, entries: [])
      (copy.derivation, copy.repeated) = (clip.derivation, clip.repeated)
      return judge(copy, forms, on: selection)
    }
    let ofSource = copied(by: clip.source)
    let ofCaller = copied(by: subject)
    let judged = ofCaller.strictness > ofSource.strictness ? ofCaller : ofSource
    var writing = BoardWriting(board: to, representations: forms)
    writing.isLocalOnly = clip.isLocalOnly
    return try place(judged, on: selection, writing, by: subject, at: now)
  }

  /// Puts a judged clip on its board, or on CLIPBOARD as a program does that has just copied.
  private mutating func place(
    _ judged: JudgedClip, on selection: NamedAtom, _ writing: BoardWriting, by subject: Subject, at now: MonotonicTime
  ) throws(BoardRefusal) -> [Effect] {
    guard totalByteCount + judged.clip.byteCount <= policy.limits.totalBytes else { throw .totalTooLarge }
    var records = judged.refusals.map { refusal in
      record(
        judged.clip.kind, on: selection, source: judged.clip.source, decision: refusal.decision, outcome: .refused,
        targets: refusal.targets, bytes: refusal.bytes)
    }
    guard let first = judged.clip.entries.first else {
      return records.map { .audit($0) } + [.answer(.refused(.denied))]
    }
    records.append(
      record(
        judged.clip.kind, on: selection, source: judged.clip.source, decision: first.decision, outcome: .kept,
        targets: judged.clip.entries.map(\.representation.target.name), bytes: judged.clip.byteCount))
    guard isBoard(selection) else {
      guard judged.clip.byteCount <= policy.limits.clipBytes else { throw .itemTooLarge }
      return takeGeneral(judged.clip, records: records, at: now)
        + [.answer(.done(changeCount: judged.clip.number))]
    }
    var item = BoardItem(judged.clip, judged.clip.entries.map(\.representation), origin: selection.name)
    item.placedBy = judged.clip.source == subject ? nil : subject
    if let seconds = writing.expiresAfterSeconds {
      let end = now.advanced(byMilliseconds: seconds * 1_000)
      item.expiry = item.expiry.map { min($0, end) } ?? end
    }
    let change = try boards.add(item, to: selection.name, replacing: writing.replaces)
    let shown = change.map { note($0) + present(selection.name) } ?? []
    return shown + records.map { .audit($0) } + [done(selection.name)]
  }

  private mutating func takeGeneral(
    _ clip: Clip?, records: [AuditRecord], at now: MonotonicTime
  ) -> [Effect] {
    let selection = atoms.clipboard
    if let phase = phases[selection] { noteLoss(of: phase, on: selection, at: now) }
    let effects = abandonCapture(on: selection)
    // What was taken from a board is there already.
    seize(selection, with: clip, records: records, isCopy: clip.map { $0.confinement == nil } ?? false)
    return effects + [.seize([selection])]
  }

  /// An item goes on CLIPBOARD, where the active app pastes it as it pastes anything: decided as its source's, and for
  /// nobody who couldn't read the board.
  private mutating func offer(
    _ name: String, _ number: UInt64, to subject: Subject, at now: MonotonicTime
  ) throws(BoardRefusal) -> [Effect] {
    try demand(name, for: subject)
    let (shown, selection) = try clip(name, number, for: subject)
    guard let board = boards[name], let item = board.item(number) else { throw .noItem }
    let forms = shown.entries.filter { entry in
      guard !entry.decision.obligations.oneShot else { return false }
      if case .granted = access(to: entry, of: shown, on: selection, for: subject, at: now) { return true }
      return false
    }.map(\.representation)
    clipCount += 1
    var clip = Clip(
      number: clipCount, source: item.source, kind: shown.kind, copiedAt: item.copiedAt, isSensitive: item.isSensitive,
      listsSaveTargets: false, derivation: item.derivation, isLocalOnly: item.isLocalOnly, entries: [])
    clip.confinement = Confinement(members: board.members, origin: item.origin, expiry: item.expiry)
    let judged = judge(clip, forms, on: atoms.clipboard)
    guard let first = judged.clip.entries.first else { throw .denied }
    let record = record(
      clip.kind, on: atoms.clipboard, source: item.source, destination: subject, decision: first.decision,
      outcome: .kept, targets: judged.clip.entries.map(\.representation.target.name), bytes: judged.clip.byteCount)
    return takeGeneral(judged.clip, records: [record], at: now) + [.answer(.done(changeCount: clip.number))]
  }

  private mutating func clearGeneral(by subject: Subject, at now: MonotonicTime) -> [Effect] {
    let record = AuditRecord(
      kind: .clear, selection: policyName(of: atoms.clipboard), source: subject, verdict: .allow,
      reason: .builtInDefault, outcome: .dropped)
    return takeGeneral(nil, records: [record], at: now) + [.answer(.done(changeCount: clipCount))]
  }

  private func refusal(
    of forms: [Representation], _ limit: AuditRecord.Limit, by subject: Subject, on selection: NamedAtom
  ) -> AuditRecord {
    AuditRecord(
      kind: .copy, selection: policyName(of: selection), source: subject, targets: forms.map(\.target.name),
      bytes: forms.reduce(0) { $0 + $1.payload.count }, verdict: .allow, reason: .builtInDefault, outcome: .refused,
      limit: limit, notifies: true, isAlwaysWritten: true)
  }
}
