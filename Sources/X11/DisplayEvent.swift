import Actions
import Selection

/// What the server tells us, decoded and without anything forged.
nonisolated enum DisplayEvent: Hashable, Sendable {
  /// A requestor asks `owner`, a window of ours, for a conversion.
  case selectionRequest(
    owner: Window, requestor: Window, selection: Atom, target: Atom, property: Atom, time: ServerTime)
  /// An answer to a conversion of ours; sent by the owner, or by the server where there is none.
  case selectionNotify(requestor: Window, selection: Atom, target: Atom, property: Atom)
  /// A window of ours lost a selection.
  case selectionClear(owner: Window, selection: Atom)
  /// A property was given a new value, or deleted.
  case propertyChanged(window: Window, property: Atom, isDeleted: Bool, time: ServerTime)
  /// A window is gone.
  case windowDestroyed(Window)
  /// A selection has another owner (XFixes).
  case ownerChanged(selection: Atom, owner: Window, cause: OwnerChangeCause, selectionTime: ServerTime)
  /// A pointer button that we hold is pressed, below `child` of the root; the pointer stands still.
  case buttonPressed(child: Window)
  /// A key that we hold is pressed; the keyboard stands still.
  case keyPressed(KeyGrab, on: Window, time: ServerTime)
  /// The pointer has come into a window.
  case pointerEntered(Window)
  /// A request failed.
  case failed(XError)
  /// A client sent an event that only the server may make.
  case forged
  /// Nothing we asked for.
  case other
}
