import Policy
import Selection

/// What has to be done on the windows of others so that nobody begins what is denied anyhow.
public enum ActionEffect: Hashable, Sendable {
  /// Write on a window what its app may do.
  case publish(Window, Set<Action>)
  /// Hold these keys back there.
  case grab(Window, [KeyGrab])
  /// Stop these keys there: each is the beginning of a copy that nobody else may see.
  case stop(Window, [KeyGrab])
  /// Let these keys, which were held back, go again.
  case ungrab(Window, [KeyGrab])
  /// Stop these keys no longer.
  case unstop(Window, [KeyGrab])
}

/// A key that was held back.
public struct HeldBack: Hashable, Sendable {
  /// What it would have started.
  public var action: Action
  /// Whose it was.
  public var subject: Subject
  /// Why.
  public var decision: Decision
}

/// Keys that somebody else holds.
public struct OccupiedKeys: Hashable, Sendable {
  /// The window whose keys they would be.
  public var window: Window
  /// The app.
  public var subject: Subject
  /// The combinations, as people write them.
  public var chords: [String]
}

/// Which windows there are, what each app may do, and which keys are held back for it: pure, so everything that
/// happens to windows, policy and keyboard can be tried out as values.
public struct ActionGuard: Sendable {
  /// A key that is held down repeats; the person is told once within this time (our choice).
  static let toldMilliseconds = 2_000
  /// Told refusals that are remembered (our choice).
  static let toldCount = 64

  private struct Known: Sendable {
    var subject: Subject
    var isTopLevel: Bool
    var allowed: Set<Action>
    var plan: GrabPlan?
    /// Keys that begin a copy of a protected app.
    var stopPlan: GrabPlan?
    var occupied: Set<KeyGrab> = []

    var held: Set<KeyGrab> { Set((plan?.actions.keys).map(Array.init) ?? []) }
    var stopped: Set<KeyGrab> { Set((stopPlan?.actions.keys).map(Array.init) ?? []) }
  }

  private struct Told: Hashable {
    var action: Action
    var subject: Subject
  }

  /// The policy that answers.
  public private(set) var policy: PolicySet
  private var keyboard: Keyboard?
  private var group = 0
  private var windows: [Window: Known] = [:]
  private var told: [Told: MonotonicTime] = [:]

  /// Knows no windows yet.
  public init(policy: PolicySet) { self.policy = policy }

  // MARK: windows

  /// The windows known.
  public var knownWindows: Set<Window> { Set(windows.keys) }
  /// The top-levels known.
  public var topLevels: Set<Window> { Set(windows.lazy.filter { $0.value.isTopLevel }.map(\.key)) }

  /// A window is there, or its app says something else of itself now.
  public mutating func see(_ window: Window, of subject: Subject, isTopLevel: Bool) -> [ActionEffect] {
    let before = windows[window]
    var known = before ?? Known(subject: subject, isTopLevel: isTopLevel, allowed: [])
    known.subject = subject
    known.isTopLevel = isTopLevel || known.isTopLevel
    known.allowed = policy.possibleActions(of: subject)
    windows[window] = known
    let isNews = before?.allowed != known.allowed || before?.isTopLevel != known.isTopLevel
    let effects: [ActionEffect] = known.isTopLevel && isNews ? [.publish(window, known.allowed)] : []
    return effects + regrab(window)
  }

  /// A window is gone, and what was held back there with it.
  public mutating func forget(_ window: Window) { windows[window] = nil }

  /// A window is no longer managed and may still be there.
  public mutating func retire(_ window: Window) -> [ActionEffect] {
    guard let known = windows.removeValue(forKey: window) else { return [] }
    return Self.release(
      held: known.held.subtracting(known.occupied),
      stopped: known.stopped.subtracting(known.held).subtracting(known.occupied),
      on: window)
  }

  /// What is written on a top-level; `nil` for other windows.
  public func published(on window: Window) -> Set<Action>? {
    windows[window].flatMap { $0.isTopLevel ? $0.allowed : nil }
  }

  // MARK: policy and keyboard

  /// Puts a policy in force; `subject` tells whose a window is.
  public mutating func replacePolicy(_ policy: PolicySet, subject: (Window) -> Subject) -> [ActionEffect] {
    self.policy = policy
    told = [:]
    return windows.keys.sorted(by: Self.byNumber).flatMap { window in
      see(window, of: subject(window), isTopLevel: false)
    }
  }

  /// Whether keys have to be held back on any window: only then the keyboard matters.
  public var needsKeyboard: Bool {
    windows.values.contains { $0.allowed.count < Action.byCommand.count || isProtected($0.subject) }
  }

  /// Whether keys that copy can be stopped: only where others can be kept waiting is it any use.
  public private(set) var canLock = false

  /// The priority lock is possible, or isn't.
  public mutating func setCanLock(_ canLock: Bool) -> [ActionEffect] {
    guard self.canLock != canLock else { return [] }
    self.canLock = canLock
    return windows.keys.sorted(by: Self.byNumber).flatMap { regrab($0) }
  }

  /// Whether nobody else may see the copies of `subject`.
  public func isProtected(_ subject: Subject) -> Bool {
    canLock && policy.isProtected(subject, on: "clipboard")
  }

  /// The keyboard is another one, or another of its groups is in force; without one nothing is held back.
  public mutating func setKeyboard(_ keyboard: Keyboard?, group: Int) -> [ActionEffect] {
    guard self.keyboard != keyboard || self.group != group else { return [] }
    self.keyboard = keyboard
    self.group = group
    return windows.keys.sorted(by: Self.byNumber).flatMap { regrab($0) }
  }

  /// Another of the keyboard's groups is in force.
  public mutating func setGroup(_ group: Int) -> [ActionEffect] { setKeyboard(keyboard, group: group) }

  /// A window has become the active one: its keys are asked for anew. Of several who ask for a key in different ways the
  /// server obeys the last, without a word to the others; and what was occupied may be free now.
  public mutating func activated(_ window: Window) -> [ActionEffect] {
    guard let plan = windows[window]?.plan, !plan.actions.isEmpty else { return [] }
    windows[window]?.occupied = []
    return [.grab(window, plan.actions.keys.sorted())]
  }

  private mutating func regrab(_ window: Window) -> [ActionEffect] {
    guard var known = windows[window] else { return [] }
    let denied = Set(Action.byCommand).subtracting(known.allowed)
    let copies = isProtected(known.subject) ? known.allowed.intersection([.copy, .cut]) : []
    let heldBefore = known.held.subtracting(known.occupied)
    let stoppedBefore = known.stopped.subtracting(known.held).subtracting(known.occupied)
    (known.plan, known.stopPlan) = (plan(denied, for: known), plan(copies, for: known))
    // Keys that somebody else holds are tried again: they may be free now.
    known.occupied = []
    windows[window] = known
    let (held, stopped) = (known.held, known.stopped.subtracting(known.held))
    // First, since a key is held back by one client and stopped by another.
    var effects = Self.release(
      held: heldBefore.subtracting(held), stopped: stoppedBefore.subtracting(stopped), on: window)
    let (holds, stops) = (held.subtracting(heldBefore), stopped.subtracting(stoppedBefore))
    if !holds.isEmpty { effects.append(.grab(window, holds.sorted())) }
    if !stops.isEmpty { effects.append(.stop(window, stops.sorted())) }
    return effects
  }

  private static func release(held: Set<KeyGrab>, stopped: Set<KeyGrab>, on window: Window) -> [ActionEffect] {
    let effects: [ActionEffect?] = [
      held.isEmpty ? nil : .ungrab(window, held.sorted()), stopped.isEmpty ? nil : .unstop(window, stopped.sorted()),
    ]
    return effects.compactMap(\.self)
  }

  private func plan(_ actions: Set<Action>, for known: Known) -> GrabPlan? {
    guard let keyboard, !actions.isEmpty else { return nil }
    return GrabPlan(actions, keys: KeyChoice.keys(of: known.subject, in: policy), on: keyboard, group: group)
  }

  // MARK: what came of it

  /// Other clients hold these keys on `window`.
  public mutating func occupied(_ grabs: [KeyGrab], on window: Window) {
    windows[window]?.occupied.formUnion(grabs)
  }

  /// All keys that can't be held back, by window.
  public var occupiedKeys: [OccupiedKeys] {
    windows.sorted { $0.key.id < $1.key.id }.compactMap { window, known in
      guard !known.occupied.isEmpty else { return nil }
      let chords = Set(
        known.occupied.compactMap { (known.plan?.chords[$0] ?? known.stopPlan?.chords[$0])?.description })
      return OccupiedKeys(window: window, subject: known.subject, chords: chords.sorted())
    }
  }

  /// How many windows have keys held back.
  public var guardedWindowCount: Int { windows.values.count { !($0.plan?.actions.isEmpty ?? true) } }

  /// How many windows have keys stopped for the priority lock.
  public var lockedWindowCount: Int { windows.values.count { !$0.stopped.isEmpty } }

  /// What a key that is stopped on `window` begins there; `nil` for all others.
  public func stoppedAction(_ grab: KeyGrab, on window: Window) -> Action? {
    windows[window]?.stopPlan?.actions[grab]
  }

  /// A key was held back on `window`, of which the app is `subject` now; `nil` when the person knows it already, or the
  /// key is none of ours any more.
  public mutating func pressed(
    _ grab: KeyGrab, on window: Window, of subject: Subject, at now: MonotonicTime
  ) -> HeldBack? {
    guard let action = windows[window]?.plan?.actions[grab],
      let decision = policy.staticDenial(of: action, by: subject)
    else { return nil }
    let once = Told(action: action, subject: subject)
    let isRepeated = told[once].map { now < $0.advanced(byMilliseconds: Self.toldMilliseconds) } ?? false
    if told.count >= Self.toldCount { told = [:] }
    told[once] = now
    return isRepeated ? nil : HeldBack(action: action, subject: subject, decision: decision)
  }

  private static func byNumber(_ one: Window, _ other: Window) -> Bool { one.id < other.id }
}
