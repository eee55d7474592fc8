import BridgeCore
import ClipStore
import Glibc
import Policy
import Selection
import X11

/// Carries out the core's effects on one display and feeds the outcomes back to it.
final class EffectRunner {
  /// What the daemon is told to do on its display.
  struct Options {
    /// Whether a predecessor is replaced.
    var replaces = false
    /// Whether an unexpected X error ends the program.
    var treatsErrorsAsFatal = false
    /// Whether CLIPBOARD_MANAGER is taken.
    var isClipboardManager = true
    /// What lets content and requests outlive the process; `nil` where nothing is to.
    var continuity: Continuity?
    /// What runs actions; `nil` where none are to be run.
    var children: ActionChildren?
    /// The program that watches over held presses; without it none is held back.
    var watchdogProgram: String?
    /// What keeps the content of persistent boards; `nil` where nothing does.
    var boardKeeper: (any BoardKeeper)?
    /// Takes what those who watch boards are told.
    var onBoardNotice: (BoardNotice) -> Void = { _ in }
    /// Takes what the person is to be told.
    var onNotice: (NoticeOrder) -> Void = { _ in }
    /// Whether an app that has taken the mark of a screen is our successor.
    var isSuccessor: (Subject) -> Bool = { Instance.isSuccessor($0) }
    /// Where the lock of the server is held; `nil` for no lock.
    var lockFolder: String?
    /// Called once no predecessor has to look at us any more.
    var onMarked: () -> Void = {}
    /// Says something to the journal.
    var say: (String, Priority) -> Void = { _, _ in }
  }

  var bridge: Bridge
  /// The connection.
  let display: Display
  /// Who is behind a window.
  let resolver: SubjectResolver
  /// Why the daemon has to stop; `nil` while it may run.
  private(set) var ending: RunnerEnding?
  /// Who owns CLIPBOARD_MANAGER in our place; `nil` when we do, or nobody needs to.
  private(set) var rivalClipboardManager: Subject?
  /// Whether the server puts our requests first.
  private(set) var hasPriority = false
  /// Who was there before we listened.
  private(set) var earlier = EarlierClients()

  let options: Options
  private let atoms: KnownAtoms
  private var watched: Set<NamedAtom> = []
  let presses: PressKeeper
  let pointer: PointerWatch
  let onAudit: (AuditRecord) -> Void
  private(set) var limits: Limits
  /// The answer to the call to a board that is being handled.
  var boardAnswer: BoardAnswer?
  private var adoptionCount: UInt64 = 0
  private let marks: GuardMarks
  private var lock: InstanceLock?
  private var clipboardManager: ManagerSelection? { didSet { bridge.managerTime = clipboardManager?.time } }
  private var managerPace = RetakePace()
  /// When CLIPBOARD_MANAGER, claimed in the name of our window, is taken back.
  private var managerDue: MonotonicTime?
  /// Whether content of a clip that is gone may still stand in buffers.
  var isRinseDue = false
  /// Keys and menus of others; `nil` when there is no second connection for them.
  private(set) var actions: ActionRunner?
  /// Runs of the edit menu's actions.
  let desk: ActionDesk?

  /// Pairs of a MULTIPLE request that are written back, answered or not. Our choice: more than any program asks.
  static let pairsReadBack = 1_024
  /// How many events are taken in one ``drain()``: a flood must not keep the loop from its other sources. Our choice:
  /// some 30 ms of the dearest ones.
  private static let drainedEvents = 512
  /// Where the counts of boards begin: seconds after 2026-01-01, so that they grow from run to run and stay short.
  private static var boardCount: UInt64 { UInt64(max(0, Posix.wallClockMilliseconds() / 1_000 - 1_767_225_600)) }
  /// How long an owner found at the start may take to say since when.
  private static let adoptionMilliseconds = 250

  init(
    display: Display, policy: PolicySet, options: Options = Options(), onAudit: @escaping (AuditRecord) -> Void
  ) {
    self.display = display
    self.options = options
    self.onAudit = onAudit
    display.atoms.intern(Self.atomNames + Display.answerProperties + KnownAtoms.othersInDrags)
    atoms = KnownAtoms { display.atoms.intern($0) }
    limits = policy.limits
    desk = options.children.map { ActionDesk(children: $0) }
    bridge = Bridge(
      atoms: atoms, policy: policy, resourceMask: display.resourceMask, boardCount: Self.boardCount)
    resolver = SubjectResolver(display: display)
    marks = GuardMarks(
      display: display, resolver: resolver, isSuccessor: options.isSuccessor, say: options.say)
    presses = PressKeeper(display: display, program: options.watchdogProgram, say: options.say)
    pointer = PointerWatch(display: display, presses: presses)
    display.onUnexpectedError = { [options] error in
      if options.treatsErrorsAsFatal { fatalError("unexpected X error: \(error)") }
    }
  }

  private static let atomNames = [
    "CLIPBOARD", "PRIMARY", "SECONDARY", "XdndSelection", "CLIPBOARD_MANAGER", "TARGETS", "TIMESTAMP", "MULTIPLE",
    "SAVE_TARGETS",
    "ATOM_PAIR", "INCR", "NULL",
    "UTF8_STRING", "TEXT", "COMPOUND_TEXT", "text/plain", "text/plain;charset=utf-8", "text/html", "image/png",
    "MANAGER", "WM_STATE", "_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_XPASTEBRIDGE_TIME",
  ]

  // MARK: Start and end

  /// Takes up the work: from here on no copy is missed.
  func start() throws(RunnerError) {
    watched = Set(bridge.watchedSelections)
    display.selectOwnerChanges(of: bridge.watchedSelections.map(\.atom))
    hasPriority = display.raisePriority()
    earlier = EarlierClients(on: display)
    resolver.settle()
    try takeLock(isMarked: false)
    try marks.take(replaces: options.replaces)
    if lock == nil { try takeLock(isMarked: true) }
    options.onMarked()
    if options.isClipboardManager { acquireClipboardManager() }
    watchCutBuffers()
    if let continuity = options.continuity { answerWaiting(of: continuity) }
    for selection in bridge.watchedSelections where !restore(selection) { adopt(selection) }
    openBoards()
    options.continuity?.endRestoring()
    startActions()
    drain()
  }

  /// Refuses what the run before has left unanswered: those who asked wait for it, some of them for ever.
  private func answerWaiting(of continuity: Continuity) {
    let place = Place(
      display: "\(display.name)", screen: display.screen, server: display.serverMark(), boot: Posix.bootIdentity())
    for request in continuity.begin(at: place) { display.refuse(request) }
    display.flush()
    continuity.beginLedger()
    display.requestWitness = continuity.ledger
  }

  /// Takes up the clip of the run before, where nobody owns `selection`; whoever does comes after it.
  private func restore(_ selection: NamedAtom) -> Bool {
    guard let continuity = options.continuity,
      let held = continuity.takeClip(of: selection, intern: { display.atoms.intern($0) })
    else { return false }
    let bytes = held.representations.reduce(0) { $0 + $1.payload.count }
    let what = "content of \(selection.name) from the run before"
    guard display.selectionOwner(selection.atom) == .none, !display.hasOwnerChange(of: selection.atom) else {
      continuity.retain(selection, nil)
      continuity.say("\(what) is dropped: somebody has copied since", .notice)
      return false
    }
    carryOut(bridge.restore(held, at: .now))
    if bridge.status.contains(where: { $0.state == .held && $0.selection == bridge.policyName(of: selection) }) {
      continuity.say("\(what) is back: \(held.representations.count) targets, \(bytes) bytes", .notice)
    } else {
      continuity.say("\(what) is dropped: cleared or copied since, expired, or not allowed any more", .notice)
    }
    return true
  }

  private func startActions() {
    guard let second = ActionDisplay(beside: display) else { return }
    second.onUnexpectedError = display.onUnexpectedError
    actions = ActionRunner(
      display: second, questions: display, presses: presses, resolver: resolver, policy: bridge.policy,
      onAudit: { [unowned self] in carryOut(bridge.keyHeldBack($0, at: .now)) },
      onLockEnds: { [unowned self] in feed(.lockEnds, from: nil) })
    actions?.start()
  }

  /// Gives everything up, so that a successor may start. The display is lost to us afterwards.
  func shutDown() {
    actions?.close()
    desk?.children.close()
    presses.close()
    guard !isLost else { return display.close() }
    display.giveUpSelections()
    lock?.release()
    marks.resign()
    display.close()
  }

  /// Takes the lock of this server, where there is a folder for it; a predecessor that is to be replaced may have it still.
  private func takeLock(isMarked: Bool) throws(RunnerError) {
    guard let folder = options.lockFolder else { return }
    switch InstanceLock.take(server: display.serverMark(), in: folder) {
    case .taken(let taken): lock = taken
    case .held(let id):
      let owner = ProcessRecord(id).map(resolver.resolve) ?? .unknown
      if options.replaces {
        // A predecessor lets go of the lock before it gives the mark up. One that never had the mark to give, since
        // somebody else had taken it, would fight us for it.
        guard isMarked, !marks.hasLingeringPredecessor else { return }
        throw .refused(display: display.name, screen: display.screen, owner: owner)
      }
      throw .alreadyRunning(display: display.name, screen: display.screen, owner: owner)
    case .impossible: return
    }
  }

  private func acquireClipboardManager() {
    do throws(ManagerSelectionError) {
      clipboardManager = try display.acquire(
        atoms.clipboardManager, for: display.ownerWindow, replacing: options.replaces, withinMilliseconds: 0)
    } catch {
      // It stays with whoever has it, or was quicker: the status shows them.
      rivalClipboardManager = resolver.resolve(display.selectionOwner(atoms.clipboardManager.atom))
    }
  }

  /// Another clipboard manager may replace us. A claim in the name of our own window is nobody's, and would leave programs
  /// that save their clip as they end without an answer.
  private func clipboardManagerLost() {
    let owner = display.selectionOwner(atoms.clipboardManager.atom)
    guard owner != .none, display.isOurs(owner) else {
      clipboardManager = nil
      managerDue = nil
      rivalClipboardManager = owner == .none ? nil : resolver.resolve(owner)
      return
    }
    let due = managerPace.due(at: .now)
    guard due <= .now else { return managerDue = due }
    retakeClipboardManager()
  }

  private func retakeClipboardManager() {
    managerDue = nil
    let owner = display.selectionOwner(atoms.clipboardManager.atom)
    guard owner != .none, display.isOurs(owner) else { return clipboardManagerLost() }
    do throws(ManagerSelectionError) {
      clipboardManager = try display.acquire(
        atoms.clipboardManager, for: display.ownerWindow, replacing: true, withinMilliseconds: 0)
    } catch {
      managerDue = managerPace.due(at: MonotonicTime.now.advanced(byMilliseconds: 1))
    }
    if let count = managerPace.retaken(at: .now) {
      options.say(
        "another program claimed CLIPBOARD_MANAGER in the name of our window"
          + (count > 1 ? " \(count) times" : "") + ": taken back", .warning)
    }
  }

  /// Hands the core a selection that was owned before we came (product.md 5.10).
  func adopt(_ selection: NamedAtom) {
    let owner = display.selectionOwner(selection.atom)
    guard owner != .none, !display.isOurs(owner), !display.hasOwnerChange(of: selection.atom) else { return }
    // The core numbers its conversions from below, so these can't meet.
    adoptionCount += 1
    let conversion = ConversionID(.max - adoptionCount)
    let time =
      display.ownershipTime(
        of: selection.atom, conversion: conversion, withinMilliseconds: Self.adoptionMilliseconds)
      ?? display.serverTime()
    // A change that came meanwhile speaks for itself.
    guard !display.hasOwnerChange(of: selection.atom) else { return }
    let change = OwnerChange(selection: selection, owner: owner, cause: .foundAtStart, selectionTime: time)
    feed(.ownerChanged(change), from: resolver.resolve(owner))
  }

  // MARK: Events

  /// Whether the X server is gone.
  var isLost: Bool { display.isLost }

  /// When `deadlineReached` has to be called: at once while events wait that ``drain()`` left for the next round.
  var nextDeadline: MonotonicTime? {
    guard !isLost else { return nil }
    let isBehind = display.hasWaitingEvents || actions?.hasWaitingEvents ?? false || presses.hasWaitingPresses
    guard !isBehind else { return MonotonicTime(nanoseconds: 0) }
    return [bridge.nextDeadline, actions?.deadline, marks.deadline, managerDue].compactMap { $0 }.min()
  }

  /// Takes in everything that X has for us and flushes; call it before every wait.
  func drain() {
    guard !isLost else { return }
    takeSelectionEvents()
    takePresses()
    actions?.drain()
    // What still lies on a window of ours is gone before others go on.
    display.flush()
    actions?.settleLock(isCopyTaken: bridge.isCopyTaken)
    display.flush()
    rinse()
  }

  private func takeSelectionEvents() {
    for _ in 0..<Self.drainedEvents {
      if resolver.askAhead() { display.flush() }
      guard
        let event = display.nextSelectionEvent(isServed: {
          atoms.clipboardManager == $0 || watched.contains($0) || marks.screen(markedBy: $0.atom) != nil
        })
      else { break }
      take(event)
    }
  }

  private func takePresses() {
    let taken = presses.takePresses()
    if let hasButton = pointer.settle() { feed(.pasteGuardSettled(hasButton: hasButton), from: nil) }
    for press in taken {
      switch press {
      case .button(let child):
        guard let place = pointer.place(below: child) else {
          pointer.releasePointer(replays: true)
          continue
        }
        // The answers have brought along what happened before the press, which counts before it.
        takeSelectionEvents()
        feed(
          .middleButtonPressed(isOnWindowManager: place.isOnWindowManager), from: resolver.resolve(place.window))
      case .key:
        let window = display.focusedWindow
        takeSelectionEvents()
        feed(.pasteKeyPressed, from: resolver.resolve(window))
      case .stoppedKey(let grab, let window, let time): actions?.keyStopped(grab, on: window, at: time)
      }
    }
  }

  /// Overwrites what is left in buffers, when nothing is in a hurry.
  private func rinse() {
    guard isRinseDue, bridge.isSettled, bridge.transferCount == 0 else { return }
    isRinseDue = false
    display.rinse()
  }

  /// Hands the core its deadline.
  func deadlineReached() {
    guard !isLost else { return }
    if let deadline = bridge.nextDeadline, deadline <= .now { feed(.deadlineReached, from: nil) }
    actions?.deadlineReached()
    if let deadline = marks.deadline, deadline <= .now { ending = ending ?? marks.deadlineReached() }
    if let due = managerDue, due <= .now { retakeClipboardManager() }
    drain()
  }

  /// Puts a new policy in force.
  func replacePolicy(_ policy: PolicySet) {
    limits = policy.limits
    guard !isLost else { return }
    carryOut(bridge.replacePolicy(policy, boards: selections(ofBoardsIn: policy), at: .now))
    rewatch()
    bridge.restrictedForeigners.forEach(adopt)
    actions?.replacePolicy(policy)
    display.flush()
  }

  /// Follows a policy that watches other selections than the one before.
  func rewatch() {
    let before = watched
    let now = bridge.watchedSelections
    watched = Set(now)
    for selection in before where !watched.contains(selection) { display.ignoreOwnerChanges(of: selection.atom) }
    let new = now.filter { !before.contains($0) }
    display.selectOwnerChanges(of: new.map(\.atom))
    adopt(new)
    watchCutBuffers()
  }

  private func watchCutBuffers() { display.setFollowsCutBuffers(bridge.policy.cutBuffers != .off) }

  /// A round trip to the server, then `drain`: what happened before is visible afterwards.
  func synchronize() {
    guard !isLost else { return }
    display.synchronize()
    drain()
    actions?.synchronize()
  }

  private func take(_ event: IncomingEvent) {
    switch event {
    case .selection(.ownerChanged(var change)):
      if change.owner == .none, change.cause != .set {
        // The end of our own connection (XKillClient) shows like that of any owner, and says nothing of the content.
        display.synchronize()
        guard !isLost else { return }
      }
      let owner = change.owner == .none ? nil : resolver.resolve(change.owner)
      if let owner, change.selection == atoms.clipboard, let actions {
        (change.isKnownCut, change.couldBeCut) = actions.isCut(by: owner)
        change.lock = actions.lock(ofCopyBy: owner)
      }
      feed(.ownerChanged(change), from: owner)
    case .selection(.conversionRequested(let request)):
      if let screen = marks.screen(markedBy: request.selection.atom) { return answer(request, forMarkOf: screen) }
      feed(.conversionRequested(request), from: resolver.resolve(request.requestor))
    case .selection(let other): feed(other, from: nil)
    case .claimForged(let selection, let time): feed(.claimForged(selection: selection, time: time), from: nil)
    case .windowTaken(let window): ending = ending ?? .windowTaken(window)
    case .pointerEntered(let window): feed(.pointerEntered, from: resolver.resolve(window))
    case .rootPropertySet(let property):
      pointer.rootPropertySet(property)
      guard let (buffer, bytes) = display.cutBuffer(property) else { return }
      feed(.cutBufferSet(buffer, bytes: bytes), from: resolver.resolve(display.activeWindow))
    case .selectionLost(let selection):
      if let screen = marks.screen(markedBy: selection) {
        ending = ending ?? marks.lose(screen)
      } else if selection == clipboardManager?.selection.atom {
        clipboardManagerLost()
      }
    }
  }

  /// Answers what every owner of a selection has to convert (ICCCM 2.6.2), and refuses the rest.
  private func answer(_ request: ConversionRequest, forMarkOf screen: Int) {
    // Obsolete clients name no property and expect the target's name (ICCCM 2.2).
    let property = request.property == .none ? request.target.atom : request.property
    if request.target == atoms.targets {
      display.store(
        .atoms([atoms.targets.atom, atoms.timestamp.atom]), in: property, of: request.requestor)
    } else if request.target == atoms.timestamp {
      display.store(.integer(marks.time(of: screen).milliseconds), in: property, of: request.requestor)
    } else {
      return display.notify(request, property: .none)
    }
    display.notify(request, property: property)
  }

  // MARK: Effects

  /// Hands `event` to the core, carries out what it wants, and so on with the outcomes until none is left.
  func feed(_ event: SelectionEvent, from subject: Subject?) {
    carryOut(bridge.handle(event, from: subject, at: .now))
  }

  /// Carries out what the core wants, and what it wants then.
  func carryOut(_ effects: [Effect]) {
    var outcomes = effects.flatMap { run($0) }
    var next = 0
    while next < outcomes.count {
      outcomes += bridge.handle(outcomes[next], from: nil, at: .now).flatMap { run($0) }
      next += 1
    }
    actions?.endPaste()
    options.continuity?.ledger?.note(transfers: bridge.transferCount)
  }
}
