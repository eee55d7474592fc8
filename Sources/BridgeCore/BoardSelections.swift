import Boards
import Policy
import Selection

// Boards as selections of their own (product.md 8): a paste from one is the request, the decision and the transfer of any
// other. An empty board's selection is nobody's, so that a thousand of them cost nothing.
extension Bridge {
  /// Whether `selection` stands for a board.
  func isBoard(_ selection: NamedAtom) -> Bool { boardAtoms.contains(selection) }

  /// Whether `subject` may read and write the board of this name.
  public func mayUse(_ subject: Subject, _ name: String) -> Bool {
    boards[name].map { denial(to: $0.members, from: .unknown, copiedUnder: .builtInDefault, to: subject) == nil }
      ?? false
  }

  /// The denial of one who may not use the board of `selection`; `nil` where there is no board, or none is due.
  func boardDenial(
    on selection: NamedAtom, from source: Subject = .unknown, copiedUnder reason: Reason = .builtInDefault,
    to subject: Subject
  ) -> Decision? {
    guard isBoard(selection), let board = boards[selection.name] else { return nil }
    return denial(to: board.members, from: source, copiedUnder: reason, to: subject)
  }

  /// The denial of one who isn't among `members`; `nil` for one who is.
  func denial(
    to members: BoardMembers, from source: Subject, copiedUnder reason: Reason, to subject: Subject
  ) -> Decision? {
    switch members {
    case .ofBoard(let name):
      guard !policy.isMember(subject, of: name) else { return nil }
      return policy.denial(byAudience: .board(name), copiedUnder: reason, from: source, to: subject)
    case .app(let owner): return policy.denial(byAudience: .app, copiedUnder: reason, from: owner, to: subject)
    }
  }

  // MARK: what a board shows

  /// An item as the clip that the policy in force makes of it; `nil` when that leaves nothing.
  func clip(of item: BoardItem, on selection: NamedAtom) -> Clip? {
    // Numbers of clips and of items never meet.
    let clip = Clip(
      number: item.number | 1 << 63, source: item.source, kind: item.isCut ? .cut : .copy, copiedAt: item.copiedAt,
      isSensitive: item.isSensitive, listsSaveTargets: false, derivation: item.derivation,
      isLocalOnly: item.isLocalOnly, entries: [])
    let judged = judge(clip, item.representations, on: selection, copiedOn: item.origin)
    return judged.clip.entries.isEmpty ? nil : judged.clip
  }

  /// What a board's selection is held with: the newest item of which the policy leaves something; `nil` for every other
  /// selection.
  func boardClip(on selection: NamedAtom) -> Clip? {
    guard isBoard(selection), let board = boards[selection.name] else { return nil }
    return board.items.lazy.compactMap { clip(of: $0, on: selection) }.first
  }

  /// Shows a board's newest item: whoever keeps our list asks anew.
  mutating func present(_ name: String) -> [Effect] {
    guard let selection = boardAtoms[name] else { return [] }
    switch phases[selection] {
    // What comes of these shows the board by itself.
    case .capturing, .claiming, .overtaken: return []
    default: break
    }
    guard let clip = boardClip(on: selection) else { return vacate(selection) }
    seize(selection, with: clip)
    return [.seize([selection])]
  }

  /// The same where nothing has come, only gone.
  mutating func refresh(_ name: String) -> [Effect] {
    guard let selection = boardAtoms[name], case .held(let holding)? = phases[selection] else { return [] }
    guard let clip = boardClip(on: selection) else { return vacate(selection) }
    guard clip.number != holding.clip?.number else {
      phases[selection] = .held(Holding(time: holding.time, clip: clip))
      return []
    }
    phases[selection] = .held(Holding(time: holding.time, clip: clip))
    (recorded[selection], usedUp[selection]) = (nil, nil)
    return [.reassert(selection: selection, time: holding.time)]
  }

  /// An empty board's selection is nobody's.
  private mutating func vacate(_ selection: NamedAtom) -> [Effect] {
    guard case .held(let holding)? = phases[selection] else { return [] }
    (phases[selection], recorded[selection], usedUp[selection], claimedAt[selection]) = (nil, nil, nil, nil)
    return [.giveUp(selection: selection, time: holding.time)]
  }

  /// Nobody but us owns a board's selection for long: what an owner leaves behind is kept if it came whole, and else the
  /// board shows what it has.
  mutating func boardOwnerGone(_ change: OwnerChange, from phase: Phase, at now: MonotonicTime) -> [Effect] {
    let selection = change.selection
    var effects: [Effect] = []
    switch phase {
    case .overtaken(let claim) where change.cause != .set:
      return self.claim(claim.ofAbandonedSelection, on: selection)
    case .capturing(var capture):
      effects += abandonConversions(of: &capture, limit: nil)
      if change.cause != .set, !capture.received.isEmpty {
        return effects + settle(capture, on: selection, expecting: .none, limit: nil, at: now)
      }
    default: break
    }
    guard let clip = boardClip(on: selection) else {
      phases[selection] = nil
      return effects
    }
    return effects + claim(Claim(Holding(time: change.selectionTime, clip: clip), expecting: .none), on: selection)
  }

  // MARK: what comes onto boards

  /// Why a board has no room for a clip; `nil` for every other selection.
  func boardObstacle(to clip: Clip, on selection: NamedAtom) -> BoardRefusal? {
    isBoard(selection) ? boards.obstacle(to: clip.byteCount, on: selection.name) : nil
  }

  /// The record of a clip for which a board has no room.
  func quotaRecord(of clip: Clip, _ obstacle: BoardRefusal, on selection: NamedAtom) -> AuditRecord {
    AuditRecord(
      kind: clip.kind, selection: policyName(of: selection), source: clip.source,
      targets: clip.entries.map(\.representation.target.name), bytes: clip.byteCount, verdict: .allow,
      reason: clip.entries.first?.decision.reason ?? .builtInDefault, outcome: .refused, limit: .boardQuota,
      message: obstacle.rawValue, notifies: true, isAlwaysWritten: true)
  }

  /// A copy is ours: it is put on the board that it was made on, or, from CLIPBOARD, on those that keep it too.
  mutating func keepCopy(_ holding: Holding, on selection: NamedAtom, at now: MonotonicTime) -> [Effect] {
    guard let clip = holding.clip else { return [] }
    guard isBoard(selection) else { return selection == atoms.clipboard ? mirror(clip) : [] }
    let item = BoardItem(clip, clip.entries.map(\.representation), origin: selection.name)
    // Judged to have room before the claim, of which nobody hears in between.
    let change = (try? boards.add(item, to: selection.name)) ?? nil
    phases[selection] = .held(Holding(time: holding.time, clip: boardClip(on: selection)))
    return change.map { note($0) } ?? []
  }

  /// Puts a clip of CLIPBOARD on the boards of its audience, of its rules and of its source. Secret ones stay where they
  /// are, and so do those that are to be read once.
  mutating func mirror(_ clip: Clip) -> [Effect] {
    guard !clip.isSensitive, clip.isForItsAppsBoards, !isInsisted(clip, on: atoms.clipboard) else { return [] }
    var names: [String] = []
    var forms: [String: [Representation]] = [:]
    let mirrors = policy.mirrors(of: clip.source).map(\.name)
    for entry in clip.entries where !entry.decision.obligations.oneShot {
      let wanted: [String] =
        switch entry.audience {
        case .everyone: [entry.decision.obligations.board].compactMap(\.self) + mirrors
        case .board(let name): [name]
        case .app: []
        }
      for name in wanted where boards[name] != nil && forms[name]?.last != entry.representation {
        if forms[name] == nil { names.append(name) }
        forms[name, default: []].append(entry.representation)
      }
    }
    return names.flatMap { name -> [Effect] in
      let item = BoardItem(clip, forms[name] ?? [], origin: policyName(of: atoms.clipboard))
      do throws(BoardRefusal) {
        guard let change = try boards.add(item, to: name) else { return [] }
        return note(change) + present(name)
      } catch {
        return boardAtoms[name].map { [.audit(quotaRecord(of: clip, error, on: $0))] } ?? []
      }
    }
  }

  // MARK: what follows from a change

  /// Tells those who watch, and the store.
  func note(_ change: BoardChange) -> [Effect] {
    var effects: [Effect] = [.announce(.changed(change))]
    guard boards[change.board]?.settings.isPersistent == true else { return effects }
    if !change.dropped.isEmpty { effects.append(.forgetItems(change.dropped, of: change.board)) }
    if let item = change.kept, !item.isSensitive { effects.append(.keepItem(item, on: change.board)) }
    return effects
  }

  /// Items had their time.
  mutating func expired(_ change: BoardChange) -> [Effect] {
    let record = AuditRecord(
      kind: .expire, selection: change.board, source: nil, targets: change.removedTypes, verdict: .allow,
      reason: .builtInDefault, outcome: .dropped, count: max(1, change.dropped.count))
    return note(change) + [.audit(record)] + refresh(change.board)
  }

  /// The one paste of a board's newest item is done.
  mutating func dropFront(of selection: NamedAtom) -> [Effect] {
    usedUp[selection] = nil
    guard case .held(let holding)? = phases[selection], let clip = holding.clip,
      let change = boards.drop(from: selection.name, where: { $0.number | 1 << 63 == clip.number })
    else { return [] }
    return expired(change)
  }

  // MARK: the policy

  /// Makes the boards that the policy in force names, `selections` being theirs; ends those that it doesn't name any more,
  /// and wipes what apps have left there that are members no longer.
  public mutating func reviseBoards(_ selections: [NamedAtom]) -> [Effect] {
    // Of files that can't be read nothing follows for the boards.
    guard !policy.isUnreadable else { return [] }
    var effects: [Effect] = []
    for board in boards.boards.values.sorted(by: { $0.name < $1.name }) where !isFounded(board) {
      effects += end(board.name)
    }
    var loads: [String] = []
    for selection in selections {
      guard let said = policy.board(named: selection.name) else { continue }
      let settings = BoardSettings(said, limits: policy.limits)
      if let board = boards[selection.name], board.origin == .policy {
        effects += replaceSettings(of: board, by: settings)
        continue
      }
      // A program may have made one of this name: the policy's takes its place.
      if boards[selection.name] != nil { effects += end(selection.name) }
      let board = Board(
        name: selection.name, origin: .policy, members: .ofBoard(selection.name), settings: settings)
      guard (try? boards.open(board)) != nil else { continue }
      boardAtoms[selection.name] = selection
      if settings.isPersistent { loads.append(selection.name) }
    }
    for name in boards.boards.keys.sorted() {
      guard let selection = boardAtoms[name], let board = boards[name] else { continue }
      let gone = Set(board.items.filter { !isEntitled($0, to: board, on: selection) }.map(\.number))
      if let change = boards.drop(from: name, where: { gone.contains($0.number) }) { effects += note(change) }
      effects += refresh(name)
    }
    return loads.isEmpty ? effects : effects + [.loadBoards(loads)]
  }

  private func isFounded(_ board: Board) -> Bool {
    switch (board.origin, board.members) {
    case (.policy, _): policy.board(named: board.name) != nil
    case (_, .ofBoard(let name)): policy.board(named: name) != nil
    case (_, .app): true
    }
  }

  /// Whether what is on the board may stay: its app is a member, or who put it there, or its rule sends it there.
  private func isEntitled(_ item: BoardItem, to board: Board, on selection: NamedAtom) -> Bool {
    guard let clip = clip(of: item, on: selection) else { return false }
    switch board.members {
    case .app: return true
    case .ofBoard(let name):
      return [item.source, item.placedBy].contains { $0.map { policy.isMember($0, of: name) } ?? false }
        || clip.entries.contains { $0.audience == .board(name) || $0.decision.obligations.board == name }
    }
  }

  private mutating func replaceSettings(of board: Board, by settings: BoardSettings) -> [Effect] {
    guard board.settings != settings else { return [] }
    let change = boards.replaceSettings(of: board.name, by: settings)
    var effects = change.map { note($0) } ?? []
    if board.settings.isPersistent, !settings.isPersistent { effects.append(.forgetBoard(board.name)) }
    if !board.settings.isPersistent, settings.isPersistent {
      let items = boards[board.name]?.items.reversed() ?? []
      effects += items.filter { !$0.isSensitive }.map { .keepItem($0, on: board.name) }
    }
    return effects
  }

  /// A board is over, with all that is on it.
  mutating func end(_ name: String) -> [Effect] {
    guard let board = boards[name] else { return [] }
    var effects: [Effect] = []
    if let selection = boardAtoms[name] {
      effects += abandonCapture(on: selection) + vacate(selection)
      (phases[selection], boardAtoms[name], paces[selection]) = (nil, nil, nil)
    }
    boards.close(name)
    if board.settings.isPersistent { effects.append(.forgetBoard(name)) }
    return effects + [.announce(.removed(name))]
  }

  /// Takes up what was stored of boards. What isn't allowed any more is wiped. Selections in `owned` have an owner, whose
  /// copy comes before what was stored.
  public mutating func restoreBoards(
    _ stored: [StoredBoard], owned: Set<NamedAtom>, at now: MonotonicTime
  ) -> [Effect] {
    var effects: [Effect] = []
    var shown: [NamedAtom] = []
    for found in stored {
      guard let board = boards[found.name], let selection = boardAtoms[found.name] else { continue }
      let kept = found.items.filter { item in
        !item.isSensitive && item.expiry.map { $0 > now } ?? true && isEntitled(item, to: board, on: selection)
      }
      let change = boards.restore(kept, to: found.name, changeCount: found.changeCount)
      let here = Set(boards[found.name]?.items.map(\.number) ?? [])
      let gone = found.items.map(\.number).filter { !here.contains($0) }
      if !gone.isEmpty { effects.append(.forgetItems(gone, of: found.name)) }
      if let change { effects.append(.announce(.changed(change))) }
      guard phases[selection] == nil, !owned.contains(selection), let clip = boardClip(on: selection) else { continue }
      seize(selection, with: clip)
      shown.append(selection)
    }
    return shown.isEmpty ? effects : effects + [.seize(shown)]
  }
}

/// The selections of boards, by name and as they are.
struct BoardAtoms: Sendable {
  private var byName: [String: NamedAtom] = [:]
  private(set) var all: Set<NamedAtom> = []

  /// The selection of a board.
  subscript(name: String) -> NamedAtom? {
    get { byName[name] }
    set {
      if let old = byName[name] { all.remove(old) }
      byName[name] = newValue
      if let newValue { all.insert(newValue) }
    }
  }

  func contains(_ selection: NamedAtom) -> Bool { all.contains(selection) }
}

extension BoardItem {
  /// A clip with the forms that a board keeps of it.
  init(_ clip: Clip, _ forms: [Representation], origin: String) {
    self.init(
      source: clip.source, origin: origin, isCut: clip.kind == .cut, copiedAt: clip.copiedAt, expiry: clip.expiry,
      representations: forms)
    isSensitive = clip.isSensitive
    isLocalOnly = clip.isLocalOnly
    derivation = clip.derivation
  }
}
