import Actions
import BridgeCore
import Policy
import Selection
import X11

/// Keeps what apps may do written on their windows, holds the keys back of what they may not, and hears which copies are
/// cuts (product.md 7).
///
/// It costs nothing while the policy denies nobody anything for good: then it hears of new windows alone.
final class ActionRunner {
  /// Windows looked at of those that appear past the window manager in one drain; a flood of popups must not keep the
  /// selections waiting (our choice: some 5 ms).
  private static let drainedEvents = 128
  /// How many drains together are waited for at most (our choice).
  private static let drainedRounds = 16
  /// Children of the root that are looked at, topmost first (our choice).
  private static let describedWindows = 512

  private let display: ActionDisplay
  /// The selections' connection, for questions about windows.
  private let questions: Display
  private let resolver: SubjectResolver
  private let onAudit: (AuditRecord) -> Void
  private let onLockEnds: () -> Void
  private let presses: PressKeeper
  private var lock: PriorityLockRunner?
  private let pasteLock: PasteLock
  /// Where keys are stopped for it.
  private var stopsOn: PressHold?
  private var actions: ActionGuard
  private var cuts: CutWatch?
  private var keyboard: Keyboard?
  private var group = 0
  private var modifiers: UInt8 = 0
  private var followsWindows = false
  private var followsChildren: Bool?
  private var followsKeyboard = false
  private var followsCuts = false
  private var followsPastes = false
  private var isBehind = false
  private let atoms: [Action: Atom]

  init(
    display: ActionDisplay, questions: Display, presses: PressKeeper, resolver: SubjectResolver, policy: PolicySet,
    onAudit: @escaping (AuditRecord) -> Void, onLockEnds: @escaping () -> Void
  ) {
    self.display = display
    self.questions = questions
    self.presses = presses
    self.resolver = resolver
    self.onAudit = onAudit
    self.onLockEnds = onLockEnds
    pasteLock = PasteLock(display: questions)
    actions = ActionGuard(policy: policy)
    let names = display.atoms.intern(Action.byCommand.map { "_XPASTEBRIDGE_ACTION_\($0.rawValue.uppercased())" })
    atoms = Dictionary(uniqueKeysWithValues: zip(Action.byCommand, names.map(\.atom)))
  }

  /// Takes up the work: the windows that are there are seen to.
  func start() {
    follow(actions.policy)
    renewWindows()
    settleKeyboard()
    display.flush()
  }

  /// The connection's descriptor; `nil` when it is gone.
  var connectionDescriptor: Int32? { display.isLost ? nil : display.fileDescriptor }
  /// Whether events wait that the last ``drain()`` left.
  var hasWaitingEvents: Bool { isBehind && !display.isLost }

  func close() {
    lock?.close()
    display.close()
  }

  // MARK: events

  /// Takes in what has come, until nothing is left: answers of the server bring events along, which nobody would be
  /// woken up for.
  func drain() {
    guard !display.isLost else { return }
    settleStops()
    var (listChanged, keyboardChanged) = (false, false)
    for _ in 0..<Self.drainedEvents {
      switch display.nextEvent() {
      // Each of these two comes several times at once.
      case .windowListChanged?: listChanged = true
      case .keyboardChanged?: keyboardChanged = true
      case let event?: take(event)
      case nil:
        guard listChanged || keyboardChanged else {
          isBehind = false
          return display.flush()
        }
        if keyboardChanged { readKeyboard() }
        if listChanged { renewWindows() }
        (listChanged, keyboardChanged) = (false, false)
      }
    }
    if keyboardChanged { readKeyboard() }
    if listChanged { renewWindows() }
    isBehind = true
    display.flush()
  }

  private func take(_ event: ActionEvent) {
    switch event {
    case .keyHeldBack(let grab, let window, let time):
      display.releaseKeyboard(time)
      noteHeldBack(grab, on: window)
    case .keyPressed(let key, let time): notePress(key, at: time)
    case .keyboardTaken(let window, let time): cuts?.keyboardTaken(from: window, serverTime: time)
    case .keyboardReturned(let window): cuts?.keyboardReturned(to: window)
    case .classChanged(let window):
      guard actions.knownWindows.contains(window) else { return }
      carryOut(actions.see(window, of: resolver.resolve(window), isTopLevel: false))
      settleKeyboard()
    case .mapped(let window, let isOverrideRedirect):
      guard isOverrideRedirect ? followsWindows : display.managedWindows() == nil else { return }
      see([window], areTopLevels: !isOverrideRedirect)
    case .gone(let window): actions.forget(window)
    case .keyboardState(let group, let modifiers):
      self.modifiers = modifiers
      guard group != self.group else { return }
      self.group = group
      carryOut(actions.setGroup(group))
      renewCuts()
    case .activeWindowChanged:
      if followsCuts {
        display.followFocus()
        cuts?.keyboardReturned(to: nil)
      }
      guard actions.needsKeyboard else { return }
      carryOut(display.activeWindows().flatMap { actions.activated($0) })
    case .windowListChanged, .keyboardChanged: break
    }
  }

  /// A round trip, then ``drain()``.
  func synchronize() {
    guard !display.isLost else { return }
    display.synchronize()
    drainAll()
  }

  private func drainAll() {
    for _ in 0..<Self.drainedRounds {
      drain()
      guard isBehind else { return }
    }
  }

  /// Puts a new policy in force.
  func replacePolicy(_ policy: PolicySet) {
    guard !display.isLost else { return }
    follow(policy)
    // While nobody is denied anything for good, nobody has to be known.
    carryOut(actions.replacePolicy(policy) { followsWindows ? resolver.resolve($0) : .unknown })
    renewWindows()
    settleKeyboard()
    renewCuts()
    display.flush()
  }

  /// Follows what the policy makes necessary.
  private func follow(_ policy: PolicySet) {
    followRoot(policy)
    let matters = policy.hasStaticDenials || policy.hasProtection
    if followsWindows != matters {
      followsWindows = matters
      display.follow(actions.knownWindows, isWanted: followsWindows)
    }
    followLock(policy)
    let canFollow = display.canFollowKeys && display.hasKeyboard
    followsCuts = policy.distinguishesCuts && canFollow
    followsPastes = policy.mayRefusePastes && canFollow
    display.followKeys(followsKeys)
  }

  private var followsKeys: Bool { followsCuts || followsPastes }

  /// Keys are stopped only while some app is protected, where that is any use, and while somebody watches over them.
  private func followLock(_ policy: PolicySet) {
    if policy.hasProtection, lock == nil, display.hasKeyboard {
      lock = PriorityLockRunner(display: display, questions: questions, presses: presses, finishCopy: onLockEnds)
    } else if !policy.hasProtection {
      lock?.close()
      lock = nil
    }
    presses.set(.copies, isWanted: lock != nil)
    settleStops()
  }

  private func settleStops() {
    let wanted = lock == nil ? nil : presses.watchedHold
    guard wanted !== stopsOn else { return }
    // What was stopped on one that is gone has ended with it.
    carryOut(actions.setCanLock(false))
    stopsOn = wanted
    carryOut(actions.setCanLock(wanted != nil))
    settleKeyboard()
  }

  private func followRoot(_ policy: PolicySet) {
    // Without a window manager's list the windows themselves have to be heard of.
    let children = policy.hasStaticDenials || policy.hasProtection || display.managedWindows() == nil
    guard children != followsChildren else { return }
    followsChildren = children
    display.followRoot(children: children)
  }

  // MARK: windows

  private func renewWindows() {
    let managed = display.managedWindows()
    if let managed {
      // A window manager that came after us has made frames of windows that we took for an app's.
      followRoot(actions.policy)
      let managers = display.windowManagerBases()
      let frames = actions.knownWindows.filter { window in managers.contains { display.belongs(window, to: $0) } }
      let gone = actions.topLevels.subtracting(managed).union(frames)
      carryOut(gone.flatMap { actions.retire($0) })
      if followsWindows { display.follow(gone, isWanted: false) }
    }
    see(managed ?? children { $0 == .mapped || $0 == .managed }, areTopLevels: true)
    if followsWindows { see(children { $0 == .popup }, areTopLevels: false) }
    republish()
  }

  private func children(_ isWanted: (ClassedWindow.Standing) -> Bool) -> [Window] {
    let children = questions.survey().topLevels.rootChildren.suffix(Self.describedWindows)
    return questions.describe(Array(children)).filter { isWanted($0.standing) }.map(\.window)
  }

  /// A window that is new may have the number of one that has just gone, and then nothing is written on it yet.
  private func republish() {
    let windows = actions.topLevels
    let written = display.published(on: windows)
    let missing = windows.compactMap { window -> (Window, [Atom])? in
      guard let wanted = actions.published(on: window).map(values), written[window] != wanted else { return nil }
      return (window, wanted)
    }
    if !missing.isEmpty { display.publish(missing) }
  }

  private func see(_ windows: [Window], areTopLevels: Bool) {
    let managers = display.windowManagerBases()
    // A frame isn't its manager's app, and a key held back on it would be held back from the app inside.
    let new = windows.filter { window in
      !actions.knownWindows.contains(window) && !managers.contains { display.belongs(window, to: $0) }
    }
    guard !new.isEmpty else { return }
    if followsWindows { display.follow(new) }
    var effects: [ActionEffect] = []
    for window in new {
      let subject = followsWindows ? resolver.resolve(window) : .unknown
      effects += actions.see(window, of: subject, isTopLevel: areTopLevels)
    }
    carryOut(effects)
    settleKeyboard()
  }

  private func values(_ allowed: Set<Action>) -> [Atom] {
    Action.byCommand.filter(allowed.contains).compactMap { atoms[$0] }
  }

  private func carryOut(_ effects: [ActionEffect]) {
    var published: [(window: Window, allowed: [Atom])] = []
    for effect in effects {
      switch effect {
      case .publish(let window, let allowed): published.append((window, values(allowed)))
      case .stop(let window, let grabs): actions.occupied(stopsOn?.stop(grabs, on: window) ?? [], on: window)
      case .grab(let window, let grabs): actions.occupied(display.grab(grabs, on: window), on: window)
      case .ungrab(let window, let grabs): display.ungrab(grabs, on: window)
      case .unstop(let window, let grabs): stopsOn?.unstop(grabs, on: window)
      }
    }
    if !published.isEmpty { display.publish(published) }
  }

  // MARK: keyboard

  /// Follows the keyboard as long as any key matters.
  private func settleKeyboard() {
    let isNeeded = actions.needsKeyboard || followsKeys
    guard isNeeded != followsKeyboard || (followsKeys != (cuts != nil)) else { return }
    followsKeyboard = isNeeded
    display.followKeyboard(isNeeded, modifiers: followsKeys)
    readKeyboard()
  }

  private func readKeyboard() {
    guard followsKeyboard, let read = display.keyboard() else {
      keyboard = nil
      cuts = nil
      return carryOut(actions.setKeyboard(nil, group: 0))
    }
    // Later on events tell the modifiers, each in its place between the keys; what the server says now is ahead of them.
    if keyboard == nil { modifiers = read.modifiers }
    (keyboard, group) = (read.keyboard, read.group)
    carryOut(actions.setKeyboard(read.keyboard, group: read.group))
    renewCuts()
  }

  private func renewCuts() {
    guard followsKeys, let keyboard else { return cuts = nil }
    var wanted: Set<Action> = []
    if followsCuts {
      wanted = [.copy, .cut]
      display.followFocus()
    }
    if followsPastes { wanted.insert(.paste) }
    cuts = CutWatch(policy: actions.policy, actions: wanted, keyboard: keyboard, group: group, after: cuts)
  }

  /// A key was stopped and the keyboard stands still: one that may copy for a protected app begins the lock.
  func keyStopped(_ grab: KeyGrab, on window: Window, at time: ServerTime) {
    cuts?.keyHandedOn(serverTime: time)
    if let lock, !display.isLost, actions.stoppedAction(grab, on: window) != nil {
      let subject = resolver.resolve(window)
      if actions.isProtected(subject) {
        // The watchdog may have let the keyboard go meanwhile: then the key is lost, and nobody has to be kept waiting.
        let isHandedOn = stopsOn === presses.hold && lock.keyPressed(by: subject, on: window, at: time)
        if !isHandedOn { noteSwallowed(grab, on: window, of: subject) }
        return
      }
    }
    // The reason is gone by now.
    presses.hold?.releaseKeyboard()
  }

  /// A copy that others would have read wasn't begun.
  private func noteSwallowed(_ grab: KeyGrab, on window: Window, of subject: Subject) {
    let action = actions.stoppedAction(grab, on: window) ?? .copy
    let request = Request(action: action, source: subject, selection: "clipboard")
    let reason: Reason =
      if case .decided(let decision) = actions.policy.evaluate(request) { decision.reason } else { .builtInDefault }
    onAudit(
      AuditRecord(
        kind: .init(action), selection: "clipboard", source: subject, verdict: .deny, reason: reason,
        outcome: .refusedByKey, limit: .lockTimeout, notifies: true, isAlwaysWritten: true))
  }

  private func noteHeldBack(_ grab: KeyGrab, on window: Window) {
    let subject = resolver.resolve(window)
    guard let held = actions.pressed(grab, on: window, of: subject, at: .now) else { return }
    let terms = held.decision.obligations
    onAudit(
      AuditRecord(
        kind: .init(held.action), selection: "clipboard", source: held.action == .paste ? nil : held.subject,
        destination: held.action == .paste ? held.subject : nil, verdict: .deny, reason: held.decision.reason,
        outcome: .refusedByKey, message: terms.message, notifies: terms.notify ?? true,
        isAlwaysWritten: terms.audit ?? true))
  }

  // MARK: cuts

  private func notePress(_ key: UInt8, at time: ServerTime) {
    let grab = KeyGrab(key: key, modifiers: modifiers)
    // What doesn't copy or cut anywhere is forgotten here.
    guard let watch = cuts, watch.isInteresting(grab) else { return }
    let focus = followsCuts ? display.followFocus() : display.focus()
    cuts?.pressed(grab, focus: focus, serverTime: time, at: .now)
  }

  /// Whether `owner` has taken CLIPBOARD because of a key that cuts, or could have, where it isn't certain whose window had
  /// the key. Asked when the change of owner has come: the server had told of the key before the program could take the
  /// selection, so it is here by now.
  func isCut(by owner: Subject) -> (isKnown: Bool, isPossible: Bool) {
    guard followsCuts, !display.isLost else { return (false, false) }
    drainAll()
    let now = MonotonicTime.now
    guard let watch = cuts, let focus = watch.recentFocus(at: now), focus != .none else { return (false, false) }
    let subject = resolver.resolve(focus)
    guard subject.isSameApp(as: owner) else {
      return (false, (subject.isUnsure || owner.isUnsure) && watch.couldHaveCut(at: now))
    }
    return (watch.wasCut(with: KeyChoice.keys(of: subject, in: actions.policy), at: now), false)
  }

  /// Whether a key that pastes in the app of `subject` was pressed there a moment ago.
  func hasPasteKey(of subject: Subject) -> Bool {
    guard followsPastes, !display.isLost else { return false }
    drainAll()
    let now = MonotonicTime.now
    guard let watch = cuts, let focus = watch.recentPasteFocus(at: now), focus != .none else { return false }
    return resolver.resolve(focus).isSameApp(as: subject)
      && watch.wasPaste(with: KeyChoice.keys(of: subject, in: actions.policy), at: now)
  }

  // MARK: the priority lock

  /// How the lock stands to the copy of `owner`, who has just taken CLIPBOARD.
  func lock(ofCopyBy owner: Subject) -> CopyLock {
    guard let lock, !display.isLost else { return .none }
    return lock.ownerChanged(to: owner)
  }

  /// Protected content is about to be stored for `window`: nobody else goes on until ``endPaste()``.
  func beginPaste(_ window: Window, _ property: Atom) {
    pasteLock.begin(window, property, order: display.isLost ? nil : lock)
  }
  /// Waits until what was stored has been taken out.
  func endPaste() { pasteLock.end() }

  /// After each round.
  func settleLock(isCopyTaken: Bool) {
    if !display.isLost { lock?.settle(isCopyTaken: isCopyTaken) }
  }

  /// What has to be kept full while others wait.
  var busyDescriptor: Int32? { display.isLost ? nil : lock?.busyDescriptor }
  /// When ``deadlineReached()`` has to be called.
  var deadline: MonotonicTime? { display.isLost ? nil : lock?.deadline }
  func deadlineReached() { if !display.isLost { lock?.deadlineReached() } }

  private var lockStatus: LockStatus {
    guard actions.policy.hasProtection else { return LockStatus() }
    var status = lock?.status ?? LockStatus()
    if stopsOn == nil { status.standing = .impossible }
    status.windows = actions.lockedWindowCount
    (status.pastes, status.openPastes) = (pasteLock.taken, pasteLock.open)
    return status
  }

  // MARK: what others ask

  /// What `status` shows.
  var status: ActionStatus {
    ActionStatus(
      windows: actions.topLevels.count, guardedWindows: actions.guardedWindowCount, occupied: actions.occupiedKeys,
      followsCuts: followsCuts, followsPastes: followsPastes, isLost: display.isLost,
      canHoldBack: display.hasKeyboard, lock: lockStatus)
  }
}
