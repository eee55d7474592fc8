import Boards
import BridgeCore
import ContentActions
import Policy
import Selection
import Testing

/// A pretended X server with an owner's script: runs the core's effects as the shell would and keeps a transcript.
struct Stage: CustomTestStringConvertible {
  /// How a pretended owner answers one target.
  enum Reply {
    case bytes([UInt8])
    case typed(String, Int, [UInt8])
    case chunks([[UInt8]])
    case refuse
    case nothingStored
    case silent
    case tooLarge
  }

  /// A pretended owner.
  struct Owner {
    var window: Window
    var subject: Subject
    var replies: [(String, Reply)]
    /// What TARGETS is answered with; `nil` lists the replies.
    var listing: Reply?
    /// Whether it refuses what it was asked for before it lost the selection.
    var refusesAfterLoss = false

    init(_ window: UInt32, _ subject: Subject, _ replies: [(String, Reply)], listing: Reply? = nil) {
      self.window = Window(window)
      self.subject = subject
      self.replies = replies
      self.listing = listing
    }
  }

  /// What a requestor got.
  struct Received: Equatable {
    var type: String
    var format: Int
    var bytes: [UInt8]
  }

  var bridge: Bridge
  let atoms: KnownAtoms
  private(set) var names: [String: NamedAtom]
  var now = MonotonicTime(nanoseconds: 1_000_000_000)
  var serverTime = ServerTime(5_000)
  /// Owners as the pretended server sees them; the daemon's own window is 1.
  var owners: [NamedAtom: Window] = [:]
  var ownerTimes: [NamedAtom: ServerTime] = [:]
  /// Owner of CLIPBOARD.
  var owner: Window {
    get { owners[atoms.clipboard] ?? .none }
    set { owners[atoms.clipboard] = newValue }
  }
  var ownerTime: ServerTime {
    get { ownerTimes[atoms.clipboard] ?? ServerTime(0) }
    set { ownerTimes[atoms.clipboard] = newValue }
  }
  /// Whether a pointer button or Shift is down.
  var isPointerBusy = false
  /// Whether another client has the middle button.
  var isButtonTaken = false
  var sources: [Window: Owner] = [:]
  /// Makes the next claim fail, as if a newer copy had come first.
  var supersedesNextClaim = false
  /// Pair lists of MULTIPLE requests by property.
  var pairLists: [Atom: [AtomPair]] = [:]

  /// What the calls to boards were answered, what was told of boards, and what of them outlives the process.
  private(set) var answers: [BoardAnswer] = []
  var notices: [BoardNotice] = []
  private(set) var store = StoreStage()
  var kept: [String: [BoardItem]] { store.kept }
  var loads: [String] { store.loads }

  private(set) var effects: [Effect] = []
  private(set) var audit: [AuditRecord] = []
  private(set) var notified: [(request: ConversionRequest, property: Atom)] = []
  private(set) var stored: [TransferKey: MetadataValue] = [:]
  private(set) var content: [TransferKey: [UInt8]] = [:]
  private(set) var contentType: [TransferKey: (Atom, Int)] = [:]
  private(set) var ended: Set<TransferKey> = []
  private(set) var watched: Set<Window> = []
  private(set) var asked: [String] = []
  /// What would outlive the process.
  private(set) var retained: HeldClip?
  private(set) var retentions = 0
  /// Claims that came through, in order.
  private(set) var claims: [NamedAtom] = []
  /// Whether presses are ours to decide, and what became of each: handed on or not.
  private(set) var isPointerGuarded = false
  private(set) var releases: [Bool] = []
  private(set) var keyReleases = 0
  private(set) var clearedBuffers: [String] = []
  private(set) var pointerReadings = 0
  /// Actions to be run, and how runs ended.
  private(set) var actionRuns: [ActionRun] = []
  private(set) var actionOutcomes: [UInt64: ActionOutcome] = [:]
  var person = PersonStage()
  private var open: [ConversionID: (owner: Window, target: Target, chunks: [[UInt8]]?)] = [:]

  static let daemon = Window(1)

  var testDescription: String { "stage with \(bridge.status)" }

  init(_ policy: PolicySet = Policies.owning) {
    var names: [String: NamedAtom] = [:]
    let atoms = KnownAtoms { name in
      let atom = NamedAtom(Atom(UInt32(200 + names.count)), name)
      names[name] = atom
      return atom
    }
    self.names = names
    self.atoms = atoms
    bridge = Bridge(atoms: atoms, policy: policy)
  }

  /// A stage on which the policy's boards are there as well.
  static func withBoards(_ policy: PolicySet) -> Stage {
    var stage = Stage(policy)
    stage.run(stage.bridge.reviseBoards(policy.boards.map { stage.atom($0.name) }))
    return stage
  }

  mutating func atom(_ name: String) -> NamedAtom {
    if let known = names[name] { return known }
    let atom = NamedAtom(Atom(UInt32(200 + names.count)), name)
    names[name] = atom
    return atom
  }

  func name(of atom: Atom) -> String { names.values.first { $0.atom == atom }?.name ?? "?\(atom.id)" }

  // MARK: what happens

  /// `source` takes CLIPBOARD or another selection, and everything that follows at once does.
  mutating func copy(
    _ source: Owner, cause: OwnerChangeCause = .set, on selection: NamedAtom? = nil, lock: CopyLock = .none,
    isKnownCut: Bool = false
  ) {
    let selection = selection ?? atoms.clipboard
    serverTime.milliseconds &+= 1
    (owners[selection], ownerTimes[selection]) = (source.window, serverTime)
    sources[source.window] = source
    var change = OwnerChange(selection: selection, owner: source.window, cause: cause, selectionTime: serverTime)
    (change.lock, change.isKnownCut) = (lock, isKnownCut)
    feed(.ownerChanged(change), source.subject)
  }

  /// CLIPBOARD or another selection loses its owner.
  mutating func clear(_ cause: OwnerChangeCause = .set, on selection: NamedAtom? = nil) {
    let selection = selection ?? atoms.clipboard
    serverTime.milliseconds &+= 1
    owners[selection] = Window.none
    feed(
      .ownerChanged(
        OwnerChange(selection: selection, owner: .none, cause: cause, selectionTime: serverTime)), nil)
  }

  /// Asks for a conversion; the property is named after the target unless told otherwise.
  @discardableResult
  mutating func request(
    _ target: String, by subject: Subject, window: UInt32 = 0x60_0001, property: String? = nil,
    selection: NamedAtom? = nil
  ) -> TransferKey {
    let property = atom(property ?? "P_\(target)").atom
    let key = TransferKey(window: Window(window), property: property)
    (stored[key], content[key], contentType[key]) = (nil, nil, nil)
    ended.remove(key)
    feed(
      .conversionRequested(
        ConversionRequest(
          requestor: Window(window), selection: selection ?? atoms.clipboard, target: atom(target), property: property,
          time: serverTime)),
      subject)
    return key
  }

  /// Pastes as a well-behaved app does: takes every chunk. `nil` when refused.
  mutating func paste(
    _ target: String, by subject: Subject, window: UInt32 = 0x60_0001, from selection: NamedAtom? = nil
  ) -> Received? {
    let key = request(target, by: subject, window: window, selection: selection)
    guard notified.last?.property == key.property else { return nil }
    if case .replacement(let type, let bytes)? = stored[key] {
      return Received(type: name(of: type), format: 8, bytes: bytes)
    }
    if case .incremental? = stored[key] {
      while !ended.contains(key) { feed(.propertyDeleted(window: key.window, property: key.property), nil) }
    }
    guard let bytes = content[key], let (type, format) = contentType[key] else { return nil }
    return Received(type: name(of: type), format: format, bytes: bytes)
  }

  /// Asks for TARGETS and gives the content targets listed.
  mutating func list(by subject: Subject, on selection: NamedAtom? = nil) -> [String]? {
    let key = request("TARGETS", by: subject, selection: selection)
    guard notified.last?.property == key.property, case .targets(let list)? = stored[key] else { return nil }
    return list.map(name(of:)).filter { !TargetList.metadata.contains($0) }
  }

  /// Lets time pass and hands in every deadline that comes.
  mutating func wait(milliseconds: Int) {
    let end = now.advanced(byMilliseconds: milliseconds)
    while let due = bridge.nextDeadline, due <= end {
      now = max(now, due)
      feed(.deadlineReached, nil)
    }
    now = end
  }

  /// A new process takes up what the one before it retained, `milliseconds` after it was killed, under `policy`; the
  /// pretended server goes on.
  mutating func restart(after milliseconds: Int = 0, policy: PolicySet? = nil) {
    let held = retained
    bridge = Bridge(atoms: atoms, policy: policy ?? bridge.policy)
    open = [:]
    now = now.advanced(byMilliseconds: milliseconds)
    if owner == Self.daemon { owner = .none }
    // The shell asks only for what nobody owns, and adopts the others.
    if owner == .none, let held { run(bridge.restore(held, at: now)) }
  }

  /// Somebody wants an action run; its outcome, if it ended at once.
  @discardableResult
  mutating func request(
    _ action: ContentAction, program: String, number: UInt64 = 1, active: Subject? = nil
  ) -> ActionOutcome? {
    actionOutcomes[number] = nil
    run(bridge.actionRequested(action, program: program, number: number, active: active, at: now))
    return actionOutcomes[number]
  }

  /// A run ends with these bytes, or without any.
  @discardableResult
  mutating func end(_ number: UInt64 = 1, _ result: Result<[UInt8], ActionFailure>) -> ActionOutcome? {
    guard let begun = actionRuns.last(where: { $0.number == number }) else { return nil }
    serverTime.milliseconds &+= 1
    let targets = begun.action.outputs(from: begun.input.target.name).map { atom($0) }
    run(
      bridge.actionEnded(
        number, result.map { Payload($0) }, targets: targets, ownedBy: Self.daemon, time: serverTime, at: now))
    return actionOutcomes[number]
  }

  mutating func feed(_ event: SelectionEvent, _ subject: Subject?) {
    run(bridge.handle(event, from: subject, at: now))
  }

  // MARK: the pretended shell

  mutating func run(_ effects: [Effect]) {
    var outcomes: [SelectionEvent] = []
    for effect in effects {
      self.effects.append(effect)
      outcomes += carryOut(effect)
    }
    // The shell knows at once how a claim ended; an owner's answers come later.
    let isSettled = { (event: SelectionEvent) in
      switch event {
      case .claimSettled, .seized: true
      default: false
      }
    }
    for outcome in outcomes.filter(isSettled) + outcomes.filter({ !isSettled($0) }) { feed(late(outcome), nil) }
  }

  /// What becomes of an answer when its owner has lost the selection meanwhile.
  private func late(_ event: SelectionEvent) -> SelectionEvent {
    guard case .conversionAnswered(let id, true) = event, let owner = open[id]?.owner,
      sources[owner]?.refusesAfterLoss == true, !owners.values.contains(owner)
    else { return event }
    return .conversionAnswered(id, stored: false)
  }

  private mutating func carryOut(_ effect: Effect) -> [SelectionEvent] {
    switch effect {
    case .convert(let id, let selection, let target, _):
      asked.append(target.name)
      open[id] = (owners[selection] ?? .none, target, nil)
      return answer(id, target)
    case .readAnswer(let id, let limit): return [.answerRead(id, value(of: id, limit: limit))]
    case .endConversion(let id, _):
      open[id] = nil
      return []
    case .claim(let selection, let time, let expecting):
      guard !supersedesNextClaim, owners[selection] ?? .none == expecting,
        !(ownerTimes[selection] ?? ServerTime(0)).isLater(than: time)
      else {
        supersedesNextClaim = false
        return [.claimSettled(selection: selection, .superseded)]
      }
      (owners[selection], ownerTimes[selection]) = (Self.daemon, time)
      claims.append(selection)
      return [.claimSettled(selection: selection, .held)]
    case .standIn(let selection, let time, let source):
      guard !supersedesNextClaim, owners[selection] == source else {
        supersedesNextClaim = false
        return [.claimSettled(selection: selection, .superseded)]
      }
      ownerTimes[selection] = time
      claims.append(selection)
      return [.claimSettled(selection: selection, .held)]
    case .standDown(let selection, _, let source):
      if owners[selection] == source { owners[selection] = Window.none }
      return []
    case .confirm(let selection):
      return [.claimSettled(selection: selection, owners[selection] == Self.daemon ? .held : .superseded)]
    case .seize(let selections):
      serverTime.milliseconds &+= 1
      return selections.map { selection in
        (owners[selection], ownerTimes[selection]) = (Self.daemon, serverTime)
        claims.append(selection)
        return .seized(selection, time: serverTime)
      }
    case .answer(let answer):
      answers.append(answer)
      return []
    case .announce(let notice):
      notices.append(notice)
      return []
    case .loadBoards, .keepItem, .forgetItems, .forgetBoard:
      store.carryOut(effect)
      return []
    case .reassert: return []
    case .retake(let selection, let time):
      (owners[selection], ownerTimes[selection]) = (Self.daemon, time)
      return []
    case .giveUp(let selection, _):
      if owners[selection] == Self.daemon { owners[selection] = Window.none }
      return []
    case .readPointer(let selection):
      pointerReadings += 1
      return [.pointerRead(selection: selection, isBusy: isPointerBusy)]
    case .guardPastes(let isWanted):
      isPointerGuarded = isWanted
      return isWanted ? [.pasteGuardSettled(hasButton: !isButtonTaken)] : []
    case .releasePointer(let replays):
      releases.append(replays)
      return []
    case .releaseKeyboard:
      keyReleases += 1
      return []
    case .clearCutBuffer(let buffer):
      clearedBuffers.append(buffer.name)
      return []
    case .readPairs(let request): return [.pairsRead(request, pairLists[request.property])]
    case .store(let store):
      let key = TransferKey(window: store.window, property: store.property)
      contentType[key] = (store.type, store.format)
      if let chunk = store.chunk {
        store.payload.withChunk(chunk) { content[key, default: []].append(contentsOf: $0) }
      } else {
        content[key, default: []] += []
        ended.insert(key)
      }
      return []
    case .storeMetadata(let window, let property, let value):
      stored[TransferKey(window: window, property: property)] = value
      return []
    case .notify(let request, let property):
      notified.append((request, property))
      return []
    case .watch(let window):
      watched.insert(window)
      return []
    case .unwatch(let window):
      watched.remove(window)
      return []
    case .retain(let selection, let held):
      guard selection == atoms.clipboard else { return [] }
      retained = held
      retentions += 1
      return []
    case .runAction(let run):
      actionRuns.append(run)
      return []
    case .concludeAction(let number, let outcome):
      actionOutcomes[number] = outcome
      return []
    case .readPerson, .tell, .closeNotice: return person.carryOut(effect)
    case .audit(let record):
      audit.append(record)
      return []
    }
  }

  private func reply(to target: Target, from owner: Window) -> Reply {
    guard let source = sources[owner] else { return .silent }
    if target == atoms.targets {
      return source.listing ?? .typed("ATOM", 32, [])
    }
    return source.replies.first { $0.0 == target.name }?.1 ?? .refuse
  }

  private func answer(_ id: ConversionID, _ target: Target) -> [SelectionEvent] {
    switch reply(to: target, from: open[id]!.owner) {
    case .silent: []
    case .refuse: [.conversionAnswered(id, stored: false)]
    case .bytes, .typed, .chunks, .nothingStored, .tooLarge: [.conversionAnswered(id, stored: true)]
    }
  }

  private mutating func value(of id: ConversionID, limit: Int) -> PropertyValue {
    guard let (owner, target, chunks) = open[id] else { return .absent }
    if let chunks {
      guard let next = chunks.first else { return .absent }
      open[id]!.chunks = Array(chunks.dropFirst())
      return .value(type: target, format: 8, payload: Payload(next))
    }
    switch reply(to: target, from: owner) {
    case .typed where target == atoms.targets:
      let listed = sources[owner]!.replies.map { atom($0.0) }
      return .atoms([atoms.targets, atoms.timestamp] + listed)
    case .bytes(let bytes):
      return bytes.count > limit
        ? .tooLarge(bytes: bytes.count) : .value(type: target, format: 8, payload: Payload(bytes))
    case .typed(let type, let format, let bytes):
      return .value(type: atom(type), format: format, payload: Payload(bytes))
    case .chunks(let chunks):
      open[id]!.chunks = chunks
      return .incremental(hint: chunks.reduce(0) { $0 + $1.count })
    case .tooLarge: return .tooLarge(bytes: limit + 1)
    case .refuse, .nothingStored, .silent: return .absent
    }
  }

  /// The owner stores its next chunk of every incremental conversion under way.
  mutating func storeChunks() {
    for id in open.keys.sorted(by: { $0.number < $1.number }) where open[id]?.chunks != nil {
      feed(.chunkStored(id), nil)
    }
  }

  /// Whether any conversion of ours is still open.
  var hasOpenConversions: Bool { !open.isEmpty }
}
