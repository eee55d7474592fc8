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
    var time: MonotonicTime
  }

  private let keyboard: Keyboard
  private let group: Int
  private let interesting: Set<KeyGrab>
  private let pasting: Set<KeyGrab>
  private var last: Press?
  private var lastPaste: Press?

  /// Looks out for the keys of all sets that start one of `actions`, those of the policy among them. What `previous` knows of the last key stays
  /// known: the server tells of a keyboard as new whenever another device is typed on, in the same moment as of its keys.
  public init(
    policy: PolicySet, actions: Set<Action> = [.copy, .cut], keyboard: Keyboard, group: Int,
    after previous: CutWatch? = nil
  ) {
    (last, lastPaste) = (previous?.last, previous?.lastPaste)
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
  }

  /// Whether the key that is pressed may copy, cut or paste somewhere; all others are to be forgotten at once.
  public func isInteresting(_ grab: KeyGrab) -> Bool { interesting.contains(grab) || pasting.contains(grab) }

  /// Such a key was pressed while `focus` had the keyboard.
  public mutating func pressed(_ grab: KeyGrab, focus: Window, at now: MonotonicTime) {
    let press = Press(grab: grab, focus: focus, time: now)
    if interesting.contains(grab) { last = press }
    if pasting.contains(grab) { lastPaste = press }
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

  /// Whether the key pressed a moment ago cuts in an app with these keys.
  public func wasCut(with keys: KeySet, at now: MonotonicTime) -> Bool {
    guard let last, recentFocus(at: now) != nil else { return false }
    return GrabPlan([.copy, .cut], keys: keys, on: keyboard, group: group).actions[last.grab] == .cut
  }
}
