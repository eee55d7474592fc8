import Selection

// Taking selections, and the server's time.
extension Display {
  /// The owner of `selection`; `.none` when it has none.
  public func selectionOwner(_ selection: Atom) -> Window {
    // GetSelectionOwner's reply: the owner at 8.
    Window(xcb.reply(to: xcb.getSelectionOwner(selection.id))?.word(at: 8) ?? 0)
  }

  /// Makes ``ownerWindow`` the owner of `selection` as of `time`, if `expected` owns it still and nobody has claimed it
  /// since: a compare-and-swap.
  public func claim(_ selection: Atom, time: ServerTime, expecting expected: Window) -> ClaimOutcome {
    claim(selection, for: ownerWindow, time: time, expecting: expected)
  }

  /// The same for any window.
  ///
  /// The server is grabbed between the look and the claim. Timestamps alone don't order two claims within one
  /// millisecond: the server ignores only an *older* claim, so ours, with the time of the copy we captured, would
  /// overwrite a newer copy with the same time. The grab lasts one round trip; while it lasts the queue that came with
  /// the reply is complete, so a re-claim by the same owner shows there too.
  func claim(_ selection: Atom, for window: Window, time: ServerTime, expecting expected: Window) -> ClaimOutcome {
    holdsServer(true)
    defer { holdsServer(false) }
    xcb.grabServer()
    let owner = selectionOwner(selection)
    guard owner == expected, !isLost, !hasOwnerChange(of: selection) else {
      xcb.ungrabServer()
      xcb.flush()
      return .superseded
    }
    xcb.setSelectionOwner(window.id, selection: selection.id, time: time.milliseconds)
    // The server ignores a time before the last change or after its own now: ask what came of it, still in the grab.
    let settled = xcb.getSelectionOwner(selection.id)
    xcb.ungrabServer()
    let holder = Window(xcb.reply(to: settled)?.word(at: 8) ?? 0)
    xcb.flush()
    guard holder == window else { return .superseded }
    if isOurs(window) {
      awaitClaim(of: selection, at: time)
    } else {
      awaitedStandIns[selection] = StandIn(source: window, time: time)
    }
    return .held
  }

  /// Has the requests for `selection` come to us, if `source` owns it and nobody has claimed it since, `source` staying
  /// its owner by name: the server sends requests to the client that named the owner, whoever's window that is.
  public func standIn(_ selection: Atom, time: ServerTime, for source: Window) -> ClaimOutcome {
    claim(selection, for: source, time: time, expecting: source)
  }

  /// Takes away the owner `source` where ``standIn(_:time:for:)`` named it and nobody has claimed the selection since.
  public func standDown(_ selection: Atom, time: ServerTime, for source: Window) {
    xcb.grabServer()
    // Only what has come tells whether `source` has claimed anew; the reply brings everything along.
    if selectionOwner(selection) == source, !hasOwnerChange(of: selection) {
      xcb.setSelectionOwner(Window.none.id, selection: selection.id, time: time.milliseconds)
    }
    xcb.ungrabServer()
    xcb.flush()
  }

  /// Whether a selection that was taken before is still ours, and nobody's claim waits to be read.
  public func confirm(_ selection: Atom) -> ClaimOutcome {
    selectionOwner(selection) == ownerWindow && !hasOwnerChange(of: selection) ? .held : .superseded
  }

  /// The owners of several selections, in one round trip.
  public func selectionOwners(of selections: [Atom]) -> [Window] {
    selections.map { xcb.getSelectionOwner($0.id) }.map { Window(xcb.reply(to: $0)?.word(at: 8) ?? 0) }
  }

  /// Takes selections, whoever owns them, as a program does that has just copied. The server ignores a `time` before the
  /// last change; each outcome says what came of it.
  public func seize(_ selections: [Atom], time: ServerTime) -> [ClaimOutcome] {
    for selection in selections {
      xcb.setSelectionOwner(ownerWindow.id, selection: selection.id, time: time.milliseconds)
    }
    return zip(selections, selectionOwners(of: selections)).map { selection, owner in
      guard owner == ownerWindow else { return .superseded }
      awaitClaim(of: selection, at: time)
      return .held
    }
  }

  /// Takes a selection of ours again with the time it is held since: everybody who listens sees a change of owner. The
  /// server ignores it when somebody else has claimed the selection with a later time.
  public func reassert(_ selection: Atom, time: ServerTime) {
    set(selection, to: ownerWindow, time: time) { $0 == ownerWindow }
  }

  /// Takes a selection that another client has claimed for a window of ours, as X11 lets it: requests would reach that
  /// client, although the server names our window as owner. `time` is that claim's.
  public func retake(_ selection: Atom, time: ServerTime) {
    set(selection, to: ownerWindow, time: time, ifOwner: isOurs)
  }

  /// Lets go of a selection held since `time`, unless somebody has it by now.
  public func giveUp(_ selection: Atom, time: ServerTime) {
    set(selection, to: .none, time: time) { $0 == ownerWindow }
  }

  /// Sets the owner where the present one is as `isRight` wants it; nobody can change it in between.
  private func set(_ selection: Atom, to window: Window, time: ServerTime, ifOwner isRight: (Window) -> Bool) {
    holdsServer(true)
    defer { holdsServer(false) }
    xcb.grabServer()
    if isRight(selectionOwner(selection)) {
      xcb.setSelectionOwner(window.id, selection: selection.id, time: time.milliseconds)
      if window != .none { awaitClaim(of: selection, at: time) }
    }
    xcb.ungrabServer()
    xcb.flush()
  }

  /// The server's time now, by a change of a property of our own window (ICCCM 2.1); `.current` when the server is
  /// gone.
  public func serverTime() -> ServerTime {
    let property = atoms.intern("_XPASTEBRIDGE_TIME").atom
    _ = xcb.changeProperty(
      window: ownerWindow.id, property: property.id, type: AtomNumber.integer, format: 32,
      bytes: UnsafeRawBufferPointer(start: nil, count: 0), appends: true)
    // The server answers as soon as it gets to us; another client's grab may hold it up.
    let event = takeEvent(until: .now.advanced(byMilliseconds: 5_000)) { event in
      guard case .propertyChanged(ownerWindow, property, _, _) = event else { return false }
      return true
    }
    guard case .propertyChanged(_, _, _, let time)? = event else { return .current }
    return time
  }

  /// What the owner of `selection` says about the time it took it, asked by the TIMESTAMP target; `nil` when it doesn't
  /// say within `milliseconds`. For a selection that was owned before we came.
  public func ownershipTime(
    of selection: Atom, conversion: ConversionID, withinMilliseconds milliseconds: Int
  ) -> ServerTime? {
    convert(conversion, selection: selection, target: atoms.intern("TIMESTAMP").atom, time: serverTime())
    defer { endConversion(conversion, isReusable: false) }
    let window = requestors.use(of: conversion)?.window
    let answer = takeEvent(until: .now.advanced(byMilliseconds: milliseconds)) { event in
      guard case .selectionNotify(let requestor, _, _, _) = event else { return false }
      return requestor == window
    }
    guard case .selectionNotify(_, _, _, let property)? = answer, property != .none,
      case .value(_, 32, let payload) = readStored(conversion, limit: 16), payload.count >= 4
    else { return nil }
    let time = payload.withChunk(0) { $0.loadUnaligned(as: UInt32.self) }
    // Wine answers 0, which is no time.
    return time == 0 ? nil : ServerTime(time)
  }
}
