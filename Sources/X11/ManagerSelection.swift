import Selection

/// Why a manager selection could not be had.
public nonisolated enum ManagerSelectionError: Error, Hashable, Sendable {
  /// Somebody owns it, and we weren't told to replace them.
  case owned(by: Window)
  /// Somebody took it at the same moment.
  case lost
}

/// A selection that stands for a role on a display (ICCCM 2.8), held by us.
public struct ManagerSelection {
  /// The selection.
  public let selection: NamedAtom
  /// The window that owns it: its end tells a successor that we are gone.
  public let window: Window
  /// Since when it is ours.
  public let time: ServerTime
  /// Whether a predecessor was replaced and its window was still there when the wait for its end ended.
  public let hasLingeringPredecessor: Bool

  /// How long a predecessor may take to leave. Our choice: it has to finish no transfer, only to notice.
  public static let predecessorMilliseconds = 5_000
}

extension Display {
  /// Acquires `selection` and announces it on the root window `root`, with `window` as owner, or one made for it. A
  /// predecessor that is replaced has `milliseconds` to destroy its window, which says that it is gone.
  public func acquire(
    _ selection: NamedAtom, for window: Window? = nil, on root: Window? = nil, replacing: Bool,
    withinMilliseconds milliseconds: Int = ManagerSelection.predecessorMilliseconds
  ) throws(ManagerSelectionError) -> ManagerSelection {
    let predecessor = selectionOwner(selection.atom)
    guard predecessor == .none || replacing else { throw .owned(by: predecessor) }
    // A window of ours that another client has named as the owner is no predecessor to wait for.
    let isWatched = predecessor != .none && !isOurs(predecessor)
    if isWatched { watch(predecessor) }
    let time = serverTime()
    let holder = window ?? makeWindow()
    guard claim(selection.atom, for: holder, time: time, expecting: predecessor) == .held else {
      if isWatched { unwatch(predecessor) }
      throw .lost
    }
    let lingers = isWatched && !awaitEnd(of: predecessor, withinMilliseconds: milliseconds)
    announce(selection, holder: holder, on: root ?? self.root, time: time)
    return ManagerSelection(
      selection: selection, window: holder, time: time, hasLingeringPredecessor: lingers)
  }

  /// Destroys the window of a manager selection, which gives it up.
  public func resign(_ selection: ManagerSelection) {
    xcb.destroyWindow(selection.window.id)
    xcb.flush()
  }

  /// Destroys ``ownerWindow``, which gives up all selections it holds and no other: setting their owner to None could
  /// hit a claim of the same millisecond.
  public func giveUpSelections() {
    xcb.destroyWindow(ownerWindow.id)
    synchronize()
  }

  private func awaitEnd(of window: Window, withinMilliseconds milliseconds: Int) -> Bool {
    defer { unwatch(window) }
    let deadline = MonotonicTime.now.advanced(byMilliseconds: milliseconds)
    // A window that was gone before it could be watched shows as an error in its place.
    let end = takeEvent(until: deadline) { event in
      switch event {
      case .windowDestroyed(window): true
      case .failed(let error): error.isBadWindow && error.value == window.id
      default: false
      }
    }
    return end != nil
  }

  private func announce(_ selection: NamedAtom, holder: Window, on root: Window, time: ServerTime) {
    let serial = xcb.sendClientMessage(
      to: root.id, mask: EventMask.structureNotify, type: atoms.intern("MANAGER").atom.id,
      words: [time.milliseconds, selection.atom.id, holder.id, 0, 0])
    trap.expect(serial, for: .reach(window: root))
    xcb.flush()
  }
}
