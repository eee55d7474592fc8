import Selection

/// What the server tells us, in the core's words where it is the core's business.
public nonisolated enum IncomingEvent: Hashable, Sendable {
  /// An event for the core.
  case selection(SelectionEvent)
  /// A window of ours lost a selection; for CLIPBOARD and its like ``SelectionEvent/ownerChanged(_:)`` says more, so it
  /// matters for manager selections alone.
  case selectionLost(Atom)
  /// Another client claimed a selection for a window of ours, as X11 lets it.
  case claimForged(NamedAtom, ServerTime)
  /// Another client destroyed a window of ours, as X11 lets it.
  case windowTaken(Window)
  /// The pointer has come into this window.
  case pointerEntered(Window)
  /// A property of the root window was set.
  case rootPropertySet(Atom)
}

extension Display {
  /// Copies in a row that are passed over because the same window's next one has come (our choice: some milliseconds).
  private static let mostOverwritten = 512

  /// Takes the next event that means something; `nil` when none has come.
  ///
  /// - Parameter isServed: whether requests for a selection are the core's to answer; others are refused here.
  public func nextSelectionEvent(isServed: (NamedAtom) -> Bool) -> IncomingEvent? {
    while let (event, purpose) = nextEvent() {
      if let incoming = meaning(of: event, purpose: purpose, isServed: isServed) { return incoming }
    }
    return nil
  }

  /// Whether a change of the owner of `selection`, by another client, has come and was not taken yet.
  public func hasOwnerChange(of selection: Atom) -> Bool {
    isWaiting { event in
      guard case .ownerChanged(selection, let owner, _, _) = event else { return false }
      // Our own claims are no news.
      return owner == .none || !isOurs(owner)
    }
  }

  /// Whether the same window's next copy has come already, so that nobody can read this one any more. A storm of copies
  /// would else be worked off long after its end, with the last copy waiting behind all the others.
  private func isOverwritten(_ selection: Atom, _ owner: Window, _ cause: OwnerChangeCause) -> Bool {
    let hasNext =
      cause == .set && owner != .none
      && isWaiting {
        guard case .ownerChanged(selection, owner, .set, _) = $0 else { return false }
        return true
      }
    // One that copies without end is seen nevertheless.
    overwrittenCount = hasNext && overwrittenCount < Self.mostOverwritten ? overwrittenCount + 1 : 0
    return overwrittenCount > 0
  }

  private func meaning(
    of event: DisplayEvent, purpose: RequestPurpose?, isServed: (NamedAtom) -> Bool
  ) -> IncomingEvent? {
    switch event {
    case .ownerChanged(let selection, let owner, let cause, let time):
      if owner != .none, isOurs(owner) {
        return takeAwaitedClaim(of: selection, at: time) ? nil : .claimForged(atoms.named(selection), time)
      }
      if cause == .set, awaitedStandIns[selection] == StandIn(source: owner, time: time) {
        awaitedStandIns[selection] = nil
        return nil
      }
      guard !isOverwritten(selection, owner, cause) else { return nil }
      return .selection(
        .ownerChanged(
          OwnerChange(selection: atoms.named(selection), owner: owner, cause: cause, selectionTime: time)))
    case .selectionRequest(_, let requestor, let selection, let target, let property, let time):
      let names = atoms.named([selection, target])
      guard names.count == 2 else {
        // Can't be: the server lets no request with other numbers through.
        requestWitness?.answered(
          RequestFields(requestor: requestor, selection: selection, target: target, property: property, time: time))
        return nil
      }
      return request(
        ConversionRequest(
          requestor: requestor, selection: names[0], target: names[1], property: property, time: time),
        isServed: isServed)
    case .selectionNotify(let requestor, _, _, let property): return answer(on: requestor, property: property)
    case .selectionClear(_, let selection): return .selectionLost(selection)
    case .propertyChanged(let window, let property, let isDeleted, _):
      return propertyChange(window: window, property: property, isDeleted: isDeleted)
    case .windowDestroyed(let window): return end(of: window)
    case .pointerEntered(let window): return isOurs(window) ? nil : .pointerEntered(window)
    case .failed(let error): return failure(error, purpose: purpose)
    // Presses come on a connection of their own (``PressDisplay``).
    case .buttonPressed, .keyPressed, .forged, .other: return nil
    }
  }

  private func request(_ request: ConversionRequest, isServed: (NamedAtom) -> Bool) -> IncomingEvent? {
    // Any client can name any window as requestor. With one of ours we would be told our own answers.
    guard !isOurs(request.requestor) else {
      forgedEventCount += 1
      requestWitness?.answered(RequestFields(request))
      return nil
    }
    guard isServed(request.selection) else {
      notify(request, property: .none)
      return nil
    }
    return .selection(.conversionRequested(request))
  }

  private func answer(on window: Window, property: Atom) -> IncomingEvent? {
    if requestors.takeRetired(window) {
      xcb.destroyWindow(window.id)
      return nil
    }
    // Anybody may send one. Only the window tells that it is ours to await, since each conversion has its own, and only our own
    // property is read: owners name another target (FLTK answers TEXT as UTF8_STRING), no target (Qt 5 when it refuses what is
    // dragged), or another time than they were asked with (all measured).
    guard let conversion = requestors.conversion(on: window), let use = requestors.use(of: conversion)
    else { return nil }
    return .selection(.conversionAnswered(conversion, stored: property == answerProperty(of: use)))
  }

  private func propertyChange(window: Window, property: Atom, isDeleted: Bool) -> IncomingEvent? {
    if isOurs(window) {
      guard !isDeleted, let conversion = requestors.conversion(on: window),
        let use = requestors.use(of: conversion), property == answerProperty(of: use)
      else { return nil }
      return .selection(.chunkStored(conversion))
    }
    if window == root, !isDeleted { return .rootPropertySet(property) }
    guard isDeleted, watchCounts[window] != nil else { return nil }
    return .selection(.propertyDeleted(window: window, property: property))
  }

  private func end(of window: Window) -> IncomingEvent? {
    if isOurs(window) {
      // Windows that we destroy ourselves are in no list any more. Without these we hear and guard nothing.
      guard window == ownerWindow || requestors.contains(window) else { return nil }
      return .windowTaken(window)
    }
    guard watchCounts[window] != nil else { return nil }
    forget(window)
    return .selection(.requestorGone(window))
  }

  private func failure(_ error: XError, purpose: RequestPurpose?) -> IncomingEvent? {
    switch purpose {
    case .store(let window, let property):
      if error.isBadWindow {
        forget(window)
        return .selection(.requestorGone(window))
      }
      return .selection(.storeRejected(window: window, property: property))
    case .reach(let window):
      forget(window)
      return .selection(.requestorGone(window))
    case .release, nil: return nil
    }
  }
}
