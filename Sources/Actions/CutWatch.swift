import Policy
import Selection

/// Tells whether a copy is a cut, and whether the person is behind a paste, by the key pressed right before.
///
/// It is asked about keys only while a policy decides cuts otherwise than copies, or refuses pastes. Of all keys pressed it keeps
/// two at most: the last combination that copies or cuts in some set of keys, and the last that pastes; never any other, and
/// nothing that was typed.
public struct CutWatch: Sendable {
  /// How long after its key a program claims the selection. Our choice: eight times the slowest that was measured (GIMP,
  /// 127 ms), since a busy machine is slower still; from a menu nobody copies again so soon.
  static let milliseconds = 1_000

  private struct Press: Sendable {
    var grab: KeyGrab
    var focus: Window
    var serverTime: ServerTime
    var time: MonotonicTime
    /// Whether a grab took the keyboard from the window in that moment.
    var isTaken = false
  }

  /// A grab that a key begins has the key's time; the server's clock may have moved on by one step. Our choice.
  private static let momentMilliseconds: UInt32 = 2

  private let keyboard: Keyboard
  private let group: Int
  private let interesting: Set<KeyGrab>
  private let pasting: Set<KeyGrab>
  /// Those that cut somewhere.
  private let cutting: Set<KeyGrab>
  private var last: Press?
  private var lastPaste: Press?
  /// The window from which a grab has taken the keyboard, for as long as it lasts.
  private var takenFrom: Window?
  /// When a key was last handed on to its window after a grab of ours had stopped it.
  private var handedOn: ServerTime?

  /// Looks out for the keys of all sets that start one of `actions`, those of the policy among them. What `previous` knows of the last key stays
  /// known: the server tells of a keyboard as new whenever another device is typed on, in the same moment as of its keys.
  public init(
    policy: PolicySet, actions: Set<Action> = [.copy, .cut], keyboard: Keyboard, group: Int,
    after previous: CutWatch? = nil
  ) {
    (last, lastPaste) = (previous?.last, previous?.lastPaste)
    (takenFrom, handedOn) = (previous?.takenFrom, previous?.handedOn)
    self.keyboard = keyboard
    self.group = group
    let named = KeySetName.allCases.map { KeySet(named: $0) }
    let assigned = (policy.managed.keys + policy.user.keys).map { KeySet($0.chords) }
    func keys(_ wanted: Set<Action>) -> Set<KeyGrab> {
      (named + assigned).reduce(into: []) { keys, set in
        keys.formUnion(GrabPlan(wanted, keys: set, on: keyboard, group: group).actions.keys)
      }
    }
    interesting = keys(actions.intersection([.copy, .cut]))
    pasting = keys(actions.intersection([.paste]))
    cutting = (named + assigned).reduce(into: []) { cutting, set in
      let plan = GrabPlan([.copy, .cut], keys: set, on: keyboard, group: group)
      cutting.formUnion(plan.actions.filter { $0.value == .cut }.keys)
    }
  }

  /// Whether the key that is pressed may copy, cut or paste somewhere; all others are to be forgotten at once.
  public func isInteresting(_ grab: KeyGrab) -> Bool { interesting.contains(grab) || pasting.contains(grab) }

  /// Such a key was pressed while `focus` had the keyboard.
  public mutating func pressed(_ grab: KeyGrab, focus: Window, serverTime: ServerTime, at now: MonotonicTime) {
    let press = Press(grab: grab, focus: focus, serverTime: serverTime, time: now, isTaken: takenFrom == focus)
    if interesting.contains(grab) { last = press }
    if pasting.contains(grab) { lastPaste = press }
  }

  /// A grab took the keyboard from `window`: the key that was pressed in this moment went to somebody else, and so do those
  /// until ``keyboardReturned(to:)``.
  public mutating func keyboardTaken(from window: Window, serverTime: ServerTime) {
    takenFrom = window
    guard let last, last.focus == window, Self.isSameMoment(last.serverTime, serverTime) else { return }
    self.last?.isTaken = true
  }

  /// The grab has ended; or, with `nil`, another window is the active one, and nothing is known of a grab.
  public mutating func keyboardReturned(to window: Window?) {
    if window == nil || takenFrom == window { takenFrom = nil }
  }

  /// The key that was pressed at `serverTime` was stopped by a grab of ours and goes to its window all the same.
  public mutating func keyHandedOn(serverTime: ServerTime) { handedOn = serverTime }

  private static func isSameMoment(_ one: ServerTime, _ other: ServerTime) -> Bool {
    min(one.milliseconds &- other.milliseconds, other.milliseconds &- one.milliseconds) <= momentMilliseconds
  }

  /// The window that had the keyboard when a key was pressed that pastes somewhere, if that was a moment ago.
  public func recentPasteFocus(at now: MonotonicTime) -> Window? {
    guard let lastPaste, now < lastPaste.time.advanced(byMilliseconds: Self.milliseconds) else { return nil }
    return lastPaste.focus
  }

  /// Whether the key pressed a moment ago pastes in an app with these keys.
  public func wasPaste(with keys: KeySet, at now: MonotonicTime) -> Bool {
    guard let lastPaste, recentPasteFocus(at: now) != nil else { return false }
    return GrabPlan([.paste], keys: keys, on: keyboard, group: group).actions[lastPaste.grab] == .paste
  }

  /// The window that had the keyboard when a key was pressed, if that was a moment ago.
  public func recentFocus(at now: MonotonicTime) -> Window? {
    guard let last, now < last.time.advanced(byMilliseconds: Self.milliseconds) else { return nil }
    return last.focus
  }

  /// Whether the key pressed a moment ago cuts in some app: which keys the app has isn't known.
  public func couldHaveCut(at now: MonotonicTime) -> Bool {
    guard let last, recentFocus(at: now) != nil, hasReached(last) else { return false }
    return cutting.contains(last.grab)
  }

  /// Whether the key pressed a moment ago cuts in an app with these keys. One that another client's grab has taken does
  /// nothing in the app.
  public func wasCut(with keys: KeySet, at now: MonotonicTime) -> Bool {
    guard let last, recentFocus(at: now) != nil, hasReached(last) else { return false }
    return GrabPlan([.copy, .cut], keys: keys, on: keyboard, group: group).actions[last.grab] == .cut
  }

  /// Whether the key went to the window that had the keyboard.
  private func hasReached(_ press: Press) -> Bool {
    !press.isTaken || handedOn.map { Self.isSameMoment(press.serverTime, $0) } ?? false
  }
}
