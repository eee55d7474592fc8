import Policy
import Selection

@testable import BridgeCore

/// A pretended X server and the daemon's shell around the real core. Whatever the programs on it do, the promises of
/// `ScenePromises` hold.
final class CoreScene {
  let atoms: SceneAtoms
  var bridge: Bridge
  var now = MonotonicTime(nanoseconds: 1_000_000_000)
  var promises: ScenePromises

  // What the server knows.
  private(set) var owner = Window.none
  private var ownerTime = ServerTime(0)
  private var serverTime = ServerTime(5_000)
  private var clips: [SceneClip] = []
  /// The owner's clip, which the core may not have heard of.
  private var current: SceneClip?
  /// Events on the wire, in the server's order.
  private var wire: [(event: SelectionEvent, from: Program?, clip: SceneClip?)] = []
  private(set) var asked: [ConversionID: SceneConversion] = [:]
  /// What would outlive the daemon.
  private var retained: HeldClip?
  /// Pair lists in requestors' properties.
  private var pairLists: [TransferKey: [AtomPair]] = [:]

  static let daemon = Window(1)
  private static let mostCopies = 12

  init(policy: PolicySet) {
    atoms = SceneAtoms()
    bridge = Bridge(atoms: atoms.known, policy: policy)
    bridge.managerTime = ServerTime(4_000)
    promises = ScenePromises(policy: policy, atoms: atoms)
  }

  // MARK: the server's side

  /// A program takes CLIPBOARD.
  func copy(by program: Program, listing: OwnerReply?, replies: [(target: Target, reply: OwnerReply, isPrompt: Bool)]) {
    guard clips.count < Self.mostCopies else { return }
    serverTime.milliseconds &+= UInt32(clips.count % 2)
    let clip = SceneClip(
      number: clips.count + 1, window: Window(program.base | UInt32(clips.count + 1)), program: program,
      time: serverTime, listing: listing, replies: replies)
    clips.append(clip)
    (owner, ownerTime, current) = (clip.window, serverTime, clip)
    let change = OwnerChange(
      selection: atoms.known.clipboard, owner: clip.window, cause: clips.count == 1 ? .foundAtStart : .set,
      selectionTime: serverTime)
    wire.append((.ownerChanged(change), program, clip))
  }

  /// CLIPBOARD loses its owner; nothing happens when it is the daemon's.
  func clear(_ cause: OwnerChangeCause) {
    guard owner != .none, owner != Self.daemon || cause == .set else { return }
    // The server changes the selection's time only for a client that says so.
    if cause == .set {
      serverTime.milliseconds &+= 1
      ownerTime = serverTime
    }
    (owner, current) = (.none, nil)
    let change = OwnerChange(selection: atoms.known.clipboard, owner: .none, cause: cause, selectionTime: ownerTime)
    wire.append((.ownerChanged(change), nil, nil))
  }

  /// Puts an event on the wire.
  func send(_ event: SelectionEvent, from program: Program? = nil) { wire.append((event, program, nil)) }

  /// A requestor asks for a conversion.
  func request(
    _ target: Target, by program: Program, window: Window, property: Atom, selection: NamedAtom, pairs: [AtomPair]?
  ) {
    pairLists[TransferKey(window: window, property: property)] = pairs
    let request = ConversionRequest(
      requestor: window, selection: selection, target: target, property: property, time: serverTime)
    wire.append((.conversionRequested(request), program, nil))
  }

  /// An owner answers one of the conversions it was asked for.
  func answer(_ number: Int) {
    let open = asked.filter { !$0.value.isAnswered }.keys.sorted { $0.number < $1.number }
    guard !open.isEmpty else { return }
    answer(open[number % open.count])
  }

  private func answer(_ id: ConversionID) {
    guard let conversion = asked[id], !conversion.isAnswered else { return }
    if case .silent = conversion.reply, conversion.clip != nil { return }
    conversion.isAnswered = true
    wire.append((.conversionAnswered(id, stored: conversion.isStored), nil, nil))
  }

  /// An owner stores its next chunk; a hasty one also when the last wasn't read.
  func storeChunk(_ number: Int, isHasty: Bool) {
    let open = asked.filter { $0.value.canStoreChunk || isHasty && $0.value.isAnnounced && !$0.value.isAtRest }
      .keys.sorted { $0.number < $1.number }
    guard !open.isEmpty else { return }
    let id = open[number % open.count]
    asked[id]!.hasChunk = true
    wire.append((.chunkStored(id), nil, nil))
  }

  // MARK: the daemon's side

  /// Takes the next event off the wire; false when there is none.
  @discardableResult
  func deliver() throws(Finding) -> Bool {
    guard !wire.isEmpty else { return false }
    let (event, program, clip) = wire.removeFirst()
    var subject = program?.subject
    switch event {
    case .ownerChanged(let change):
      if change.owner == .none {
        promises.cleared(change)
      } else {
        // A window that is gone again by now belongs to nobody that is known.
        if clip!.number % 9 == 0 { subject = .unknown }
        (clip!.source, clip!.takenAt) = (subject!, now)
        promises.copied(clip!)
      }
    case .conversionAnswered(let id, let stored) where !stored: asked[id]?.isAtRest = true
    case .requestorGone(let window): promises.forgetWatch(of: window)
    default: break
    }
    try feed(event, from: subject)
    return true
  }

  func deliverAll() throws(Finding) { while try deliver() {} }

  /// Lets time pass, with the deadlines handed in as they come, or only the last when the daemon was held up.
  func wait(milliseconds: Int, isHeldUp: Bool) throws(Finding) {
    let end = now.advanced(byMilliseconds: milliseconds)
    if !isHeldUp {
      // While events wait, the daemon takes them before any deadline.
      try deliverAll()
      var rounds = 0
      while let due = bridge.nextDeadline, due <= end {
        now = max(now, due)
        try reachDeadline()
        rounds += 1
        try Finding.unless(rounds < 2_000, "the deadlines of \(milliseconds) ms have no end")
      }
    }
    now = end
    try deliverAll()
    if let due = bridge.nextDeadline, due <= now { try reachDeadline() }
  }

  private func reachDeadline() throws(Finding) {
    try feed(.deadlineReached, from: nil)
    try deliverAll()
    if let due = bridge.nextDeadline {
      try Finding.unless(due > now, "a deadline that was handed in is still due")
    }
  }

  /// The person allows the paste that was asked about last.
  func allowOnce() throws(Finding) {
    let (allowed, effects) = bridge.allowOnce(nil, at: now)
    if let allowed { try promises.allowed(allowed, at: now) }
    try carryOut(effects, because: .other)
  }

  func replacePolicy(_ policy: PolicySet) throws(Finding) {
    promises.replaced(policy)
    try carryOut(bridge.replacePolicy(policy, at: now), because: .other)
    try promises.settle(bridge, at: now)
  }

  /// The daemon is killed, and another one takes up what it retained.
  func restart(policy: PolicySet) throws(Finding) {
    let held = retained
    (wire, asked) = ([], [:])
    bridge = Bridge(atoms: atoms.known, policy: policy)
    bridge.managerTime = ServerTime(4_000)
    if owner == Self.daemon { owner = .none }
    let isFree = owner == .none && held.map { !ownerTime.isLater(than: $0.time) } ?? false
    promises.restarted(policy, keepsClip: isFree)
    // As the shell does it: only what nobody owns is asked for, all else is adopted, and what was kept is dropped then.
    if owner != .none { retained = nil }
    if owner == .none, let held {
      try carryOut(bridge.restore(held, at: now), because: .other)
    } else if let current {
      let change = OwnerChange(
        selection: atoms.known.clipboard, owner: owner, cause: .foundAtStart, selectionTime: ownerTime)
      wire.append((.ownerChanged(change), current.program, current))
      try deliverAll()
    }
    try promises.settle(bridge, at: now)
  }

  /// Hands the core an event, carries out what it wants, and so on with the outcomes until none is left.
  func feed(_ event: SelectionEvent, from subject: Subject?) throws(Finding) {
    let cause = ScenePromises.Cause(event, from: subject, asked: promises.askers)
    if case .conversionRequested(let request) = event { promises.awaitAnswer(request, from: subject ?? .unknown) }
    try carryOut(bridge.handle(event, from: subject, at: now), because: cause)
    if case .conversionRequested(let request) = event {
      try promises.checkAnswered(request, mayWait: isWaiting(request))
    }
    try promises.settle(bridge, at: now)
  }

  /// A hand-over, or the paste of a restricted source's content, while that content is taken in.
  private func isWaiting(_ request: ConversionRequest) -> Bool {
    if request.target == atoms.known.saveTargets { return true }
    switch bridge.phases[atoms.known.clipboard] {
    case .capturing(let capture): return capture.waiting.contains { $0.request == request }
    case .claiming(let claim): return claim.waiting.contains { $0.request == request }
    default: return false
    }
  }

  private func carryOut(_ effects: [Effect], because cause: ScenePromises.Cause) throws(Finding) {
    var outcomes = try run(effects, because: cause)
    var next = 0
    while next < outcomes.count {
      let cause = ScenePromises.Cause(outcomes[next], from: nil, asked: promises.askers)
      outcomes += try run(bridge.handle(outcomes[next], from: nil, at: now), because: cause)
      next += 1
    }
  }

  private func run(_ effects: [Effect], because cause: ScenePromises.Cause) throws(Finding) -> [SelectionEvent] {
    try promises.check(effects, because: cause, at: now)
    var outcomes: [SelectionEvent] = []
    for effect in effects {
      if let outcome = try carryOut(effect) { outcomes.append(outcome) }
    }
    try promises.checkTransfers(of: bridge, after: effects, because: cause)
    return outcomes
  }

  private func carryOut(_ effect: Effect) throws(Finding) -> SelectionEvent? {
    switch effect {
    case .convert(let id, let selection, let target, _):
      try Finding.unless(selection == atoms.known.clipboard, "asks for a selection that isn't watched")
      try Finding.unless(owner != Self.daemon, "the daemon asks itself for \(target)")
      let (reply, isPrompt) = reply(to: target)
      asked[id] = SceneConversion(target: target, clip: current, reply: reply)
      // The server itself answers for a selection without owner.
      if isPrompt || owner == .none { answer(id) }
    case .readAnswer(let id, let limit):
      try Finding.unless(limit >= 0, "a negative limit")
      guard let conversion = asked[id] else { throw Finding("reads conversion \(id.number), which isn't open") }
      return .answerRead(id, conversion.read(limit: limit, atoms: atoms))
    case .endConversion(let id, let isReusable):
      guard let conversion = asked.removeValue(forKey: id) else {
        throw Finding("ends conversion \(id.number), which isn't open")
      }
      try Finding.unless(
        !isReusable || conversion.isAtRest, "a window is used again to which \(conversion.target) may still come")
    case .claim(let selection, let time, let expecting):
      try promises.checkClaim(time: time)
      // As the shell does it: nothing newer may be on the wire, and the server refuses an older time.
      guard owner == expecting, !hasOwnerChange, !ownerTime.isLater(than: time) else {
        return .claimSettled(selection: selection, .superseded)
      }
      (owner, ownerTime, current) = (Self.daemon, time, nil)
      return .claimSettled(selection: selection, .held)
    case .confirm(let selection):
      return .claimSettled(selection: selection, owner == Self.daemon && !hasOwnerChange ? .held : .superseded)
    case .readPairs(let request):
      return .pairsRead(request, pairLists[TransferKey(window: request.requestor, property: request.property)])
    case .retain(_, let held): retained = held
    case .runAction, .concludeAction, .tell, .closeNotice: break
    case .readPerson(let number, _, let wantsFocus):
      return .personRead(number, [.pasteKey, wantsFocus ? .inFront : .behind, .behind][Int(number % 3)])
    case .giveUp, .readPointer, .guardPastes, .releasePointer, .releaseKeyboard, .clearCutBuffer, .retake: break
    case .seize, .answer, .announce, .loadBoards, .keepItem, .forgetItems, .forgetBoard: break
    case .standIn, .standDown, .reassert, .store, .storeMetadata, .notify, .watch, .unwatch, .audit: break
    }
    return nil
  }

  private var hasOwnerChange: Bool { wire.contains { if case .ownerChanged = $0.event { true } else { false } } }

  private func reply(to target: Target) -> (OwnerReply, isPrompt: Bool) {
    guard let current else { return (.refuse, true) }
    if target == atoms.known.targets {
      return current.listing.map { ($0, false) } ?? (.atomList(current.replies.count), true)
    }
    return current.replies.first { $0.target == target }.map { ($0.reply, $0.isPrompt) } ?? (.refuse, true)
  }

  // MARK: the end

  /// Everybody goes quiet: every wait has to end, and nothing may be left of anything.
  func finish() throws(Finding) {
    try deliverAll()
    // An owner that never answered is listened to until it goes.
    if owner != Self.daemon { clear(.clientClosed) }
    try wait(milliseconds: 70_000, isHeldUp: false)
    try promises.checkAllAnswered()
    try Finding.unless(asked.isEmpty, "\(asked.count) conversions never ended")
    try Finding.unless(bridge.isSettled, "something is under way for ever")
    let counts = bridge.status.map { ($0.transfers, $0.conversions) }
    try Finding.unless(counts.allSatisfy { $0 == (0, 0) }, "counted as under way: \(counts)")
    try Finding.unless(bridge.pendingMultiples.isEmpty, "MULTIPLE requests without pairs are left")
    clear(.set)
    try wait(milliseconds: 70_000, isHeldUp: false)
    try Finding.unless(bridge.asks.isEmpty, "a question to the person is left")
    try Finding.unless(bridge.nextDeadline == nil, "a deadline is left")
    try Finding.unless(bridge.totalByteCount == 0, "\(bridge.totalByteCount) bytes are left of clips that are gone")
  }
}
