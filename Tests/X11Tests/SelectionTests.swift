import Selection
import Testing

@testable import X11

@Suite(.serialized) struct SelectionTests {
  let server: PrivateServer
  let display: Display
  let peer: Display
  let clipboard: NamedAtom

  init() throws {
    server = try PrivateServer()
    display = try server.connect()
    peer = try server.connect()
    clipboard = display.atoms.intern("CLIPBOARD")
    display.selectOwnerChanges(of: [clipboard.atom])
    display.synchronize()
  }

  @Test func ownerChangesAndTheirCauses() throws {
    let window = peer.makeWindow()
    let time = peer.serverTime()
    peer.own("CLIPBOARD", with: window, time: time)
    #expect(
      try display.incoming("owner", { _ in true })
        == .ownerChanged(OwnerChange(selection: clipboard, owner: window, cause: .set, selectionTime: time)))
    peer.xcb.destroyWindow(window.id)
    peer.synchronize()
    guard case .ownerChanged(let change) = try display.incoming("end", { _ in true }) else { return }
    #expect(change.owner == .none)
    #expect(change.cause == .windowDestroyed)
    peer.own("CLIPBOARD", with: peer.makeWindow())
    _ = try display.incoming("owner", { _ in true })
    peer.close()
    guard case .ownerChanged(let last) = try display.incoming("close", { _ in true }) else { return }
    #expect(last.owner == .none)
    #expect(last.cause == .clientClosed || last.cause == .windowDestroyed)
  }

  @Test func claimIsACompareAndSwap() throws {
    let window = peer.makeWindow()
    let time = peer.serverTime()
    peer.own("CLIPBOARD", with: window, time: time)
    _ = try display.incoming("owner", { _ in true })
    #expect(display.claim(clipboard.atom, time: time, expecting: .none) == .superseded)
    #expect(display.selectionOwner(clipboard.atom) == window)
    #expect(display.claim(clipboard.atom, time: ServerTime(time.milliseconds &- 1), expecting: window) == .superseded)
    #expect(display.claim(clipboard.atom, time: time, expecting: window) == .held)
    #expect(display.selectionOwner(clipboard.atom) == display.ownerWindow)
    // Our own claim is no owner change.
    display.synchronize()
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    // The same owner again, unseen so far.
    peer.own("CLIPBOARD", with: window)
    _ = try display.incoming("owner", { _ in true })
    let again = peer.serverTime()
    peer.own("CLIPBOARD", with: window, time: again)
    #expect(display.claim(clipboard.atom, time: again, expecting: window) == .superseded)
  }

  /// B044, B050: a newer copy with the same millisecond is never overwritten.
  @Test func newerClaimOfTheSameMillisecondStays() throws {
    let first = peer.makeWindow()
    let second = peer.makeWindow()
    var held = 0
    for round in 0..<1_000 {
      let time = peer.serverTime()
      let selection = clipboard.atom.id
      peer.xcb.setSelectionOwner(first.id, selection: selection, time: time.milliseconds)
      peer.synchronize()
      _ = try display.incoming("first", { if case .ownerChanged(let it) = $0 { it.owner == first } else { false } })
      // The second copy goes out together with our claim and may reach the server before or after it.
      peer.xcb.setSelectionOwner(second.id, selection: selection, time: time.milliseconds)
      if round % 2 == 0 { peer.flush() }
      let outcome = display.claim(clipboard.atom, time: time, expecting: first)
      peer.synchronize()
      if outcome == .held { held += 1 }
      #expect(display.selectionOwner(clipboard.atom) == second)
      _ = try display.incoming("second", { if case .ownerChanged(let it) = $0 { it.owner == second } else { false } })
    }
    #expect(held > 0)
  }

  @Test func claimTakesAboutTwoRoundTrips() throws {
    let window = peer.makeWindow()
    var times: [UInt64] = []
    for _ in 0..<300 {
      let time = peer.serverTime()
      peer.own("CLIPBOARD", with: window, time: time)
      _ = try display.incoming("owner", { _ in true })
      let start = MonotonicTime.now.nanoseconds
      #expect(display.claim(clipboard.atom, time: time, expecting: window) == .held)
      times.append(MonotonicTime.now.nanoseconds - start)
    }
    times.sort()
    print("claim: median \(times[150] / 1_000) µs, p95 \(times[285] / 1_000) µs")
    #expect(times[150] < 2_000_000)
  }

  @Test func conversionIsAnsweredAndRead() throws {
    let owner = peer.makeWindow()
    peer.own("CLIPBOARD", with: owner)
    let conversion = ConversionID(1)
    let target = display.atoms.intern("UTF8_STRING")
    display.convert(conversion, selection: clipboard.atom, target: target.atom, time: .current)
    display.flush()
    guard
      case .conversionRequested(let request) = try peer.incoming(
        "request", { if case .conversionRequested = $0 { true } else { false } })
    else { return }
    #expect(request.target.name == "UTF8_STRING")
    peer.store(
      Payload([104, 105]), chunk: 0, type: target.atom, format: 8, in: request.property, of: request.requestor)
    peer.notify(request, property: request.property)
    peer.synchronize()
    #expect(
      try display.incoming("answer", { if case .conversionAnswered = $0 { true } else { false } })
        == .conversionAnswered(conversion, stored: true))
    #expect(display.readAnswer(conversion, limit: 10) == .value(type: target, format: 8, payload: Payload([104, 105])))
    display.endConversion(conversion, isReusable: true)
    // An owner that answers twice doesn't answer the next question: the window rests.
    peer.notify(request, property: .none)
    peer.synchronize()
    display.convert(ConversionID(2), selection: clipboard.atom, target: target.atom, time: .current)
    display.synchronize()
    #expect(display.requestors.use(of: ConversionID(2))?.window != request.requestor)
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    display.endConversion(ConversionID(2), isReusable: false)
    display.convert(ConversionID(3), selection: clipboard.atom, target: target.atom, time: .current)
    #expect(display.requestors.use(of: ConversionID(3))?.window != request.requestor)
    // A late answer to the destroyed window finds nobody.
    peer.store(Payload([1]), chunk: 0, type: target.atom, format: 8, in: request.property, of: request.requestor)
    peer.synchronize()
    display.synchronize()
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    #expect(display.openConversionCount == 1)
  }

  /// Another client that writes into our property, or deletes it, before we have read the owner's answer is noticed.
  @Test(arguments: [["store"], ["delete", "store"], ["delete"], []])
  func rewrittenAnswerIsAbsent(changes: [String]) throws {
    let owner = peer.makeWindow()
    peer.own("CLIPBOARD", with: owner)
    let target = display.atoms.intern("UTF8_STRING")
    display.convert(ConversionID(1), selection: clipboard.atom, target: target.atom, time: .current)
    display.flush()
    guard
      case .conversionRequested(let request) = try peer.incoming(
        "request", { if case .conversionRequested = $0 { true } else { false } })
    else { return }
    peer.store(
      Payload([104, 105]), chunk: 0, type: target.atom, format: 8, in: request.property, of: request.requestor)
    peer.notify(request, property: request.property)
    peer.synchronize()
    #expect(
      try display.incoming("answer", { if case .conversionAnswered = $0 { true } else { false } })
        == .conversionAnswered(ConversionID(1), stored: true))
    for change in changes {
      if change == "delete" {
        _ = peer.xcb.deleteProperty(window: request.requestor.id, property: request.property.id)
      } else {
        peer.store(
          Payload([111, 111]), chunk: 0, type: target.atom, format: 8, in: request.property, of: request.requestor)
      }
    }
    peer.synchronize()
    let value = display.readAnswer(ConversionID(1), limit: 10)
    #expect(
      value == (changes.isEmpty ? .value(type: target, format: 8, payload: Payload([104, 105])) : .absent))
  }

  /// The owner's next chunk may come as soon as ours is deleted, and is no change of ours.
  @Test func nextChunkIsNoChange() throws {
    let owner = peer.makeWindow()
    peer.own("CLIPBOARD", with: owner)
    let target = display.atoms.intern("UTF8_STRING")
    display.convert(ConversionID(1), selection: clipboard.atom, target: target.atom, time: .current)
    display.flush()
    guard
      case .conversionRequested(let request) = try peer.incoming(
        "request", { if case .conversionRequested = $0 { true } else { false } })
    else { return }
    peer.notify(request, property: request.property)
    peer.synchronize()
    _ = try display.incoming("answer", { if case .conversionAnswered = $0 { true } else { false } })
    for byte in [UInt8(1), 2, 3] {
      peer.store(
        Payload([byte]), chunk: 0, type: target.atom, format: 8, in: request.property, of: request.requestor)
      peer.synchronize()
      _ = try display.incoming("chunk", { if case .chunkStored = $0 { true } else { false } })
      #expect(
        display.readAnswer(ConversionID(1), limit: 10) == .value(type: target, format: 8, payload: Payload([byte])))
    }
  }

  @Test func forgedEventsAreDropped() throws {
    let victim = peer.makeWindow()
    let target = peer.atoms.intern("STRING").atom
    func send(_ event: [UInt8], to window: Window) {
      event.withUnsafeBytes { bytes in peer.sendRaw(bytes, to: window) }
    }
    func words(_ code: UInt8, _ words: [UInt32]) -> [UInt8] {
      let tail = words.flatMap { word in withUnsafeBytes(of: word) { Array($0) } }
      return ([code, 0, 0, 0] + tail + [UInt8](repeating: 0, count: 32)).prefix(32).map { $0 }
    }
    // SelectionRequest, PropertyNotify, DestroyNotify, SelectionClear, and XFixes' code, all by SendEvent.
    send(words(30, [0, display.ownerWindow.id, victim.id, clipboard.atom.id, target.id, 9]), to: display.ownerWindow)
    send(words(28, [display.ownerWindow.id, 9, 0, 1]), to: display.ownerWindow)
    send(words(17, [victim.id, victim.id]), to: display.ownerWindow)
    send(words(29, [0, display.ownerWindow.id, clipboard.atom.id]), to: display.ownerWindow)
    // SelectionNotify for a window without a conversion.
    send(words(31, [0, display.ownerWindow.id, clipboard.atom.id, target.id, 9]), to: display.ownerWindow)
    peer.synchronize()
    display.synchronize()
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    #expect(display.forgedEventCount == 4)
    // A real request that names one of our windows as its requestor.
    #expect(display.claim(clipboard.atom, time: display.serverTime(), expecting: .none) == .held)
    peer.xcb.convertSelection(
      requestor: display.ownerWindow.id, selection: clipboard.atom.id, target: target.id, property: 9, time: 0)
    peer.synchronize()
    display.synchronize()
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    #expect(display.forgedEventCount == 5)
  }

  @Test func errorsFindTheirOwners() throws {
    let gone = peer.makeWindow()
    let property = display.atoms.intern("_TEST").atom
    peer.xcb.destroyWindow(gone.id)
    peer.synchronize()
    let request = ConversionRequest(
      requestor: gone, selection: clipboard, target: clipboard, property: property, time: .current)
    display.store(Payload([1]), chunk: 0, type: Atom(31), format: 8, in: property, of: gone)
    display.notify(request, property: property)
    display.watch(gone)
    display.unwatch(gone)
    display.synchronize()
    for _ in 0..<3 {
      #expect(display.nextSelectionEvent(isServed: { _ in true }) == .selection(.requestorGone(gone)))
    }
    // An atom that doesn't exist: the window is there, the store is not.
    let window = peer.makeWindow()
    peer.synchronize()
    let bogus = Atom(0x1fff_fff0)
    display.store(Payload([1]), chunk: 0, type: bogus, format: 8, in: property, of: window)
    display.synchronize()
    #expect(
      display.nextSelectionEvent(isServed: { _ in true })
        == .selection(.storeRejected(window: window, property: property)))
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    #expect(display.unexpectedErrorCount == 0)
    // One that nobody expects is reported.
    var reported: [XError] = []
    display.onUnexpectedError = { reported.append($0) }
    display.xcb.destroyWindow(0x1fff_fff0)
    display.synchronize()
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    #expect(reported.map(\.code) == [XError.badWindow])
  }

  /// B077: a requestor that goes away at once costs nothing but itself.
  @Test func thousandVanishingRequestors() throws {
    #expect(display.claim(clipboard.atom, time: display.serverTime(), expecting: .none) == .held)
    let property = display.atoms.intern("_TEST").atom
    var gone = 0
    var requested = 0
    for _ in 0..<1_000 {
      let window = peer.makeWindow()
      peer.xcb.convertSelection(
        requestor: window.id, selection: clipboard.atom.id, target: 31, property: property.id, time: 0)
      peer.xcb.destroyWindow(window.id)
    }
    peer.synchronize()
    display.synchronize()
    while let event = display.nextSelectionEvent(isServed: { _ in true }) {
      switch event {
      case .selection(.conversionRequested(let request)):
        requested += 1
        display.watch(request.requestor)
        display.store(Payload([1]), chunk: 0, type: Atom(31), format: 8, in: property, of: request.requestor)
        display.notify(request, property: property)
        display.unwatch(request.requestor)
        display.synchronize()
      case .selection(.requestorGone): gone += 1
      default: Issue.record("\(event)")
      }
    }
    #expect(requested == 1_000)
    #expect(gone == 3_000)
    #expect(display.unexpectedErrorCount == 0)
    #expect(display.watchedWindowCount == 0)
    #expect(display.trap.count < 10)
  }

  @Test func watchedRequestorsReport() throws {
    let window = peer.makeWindow()
    let property = display.atoms.intern("_TEST").atom
    peer.synchronize()
    display.watch(window)
    display.watch(window)
    display.store(Payload([1, 2]), chunk: 0, type: Atom(31), format: 8, in: property, of: window)
    display.synchronize()
    _ = peer.xcb.deleteProperty(window: window.id, property: property.id)
    peer.synchronize()
    #expect(try display.incoming("deletion", { _ in true }) == .propertyDeleted(window: window, property: property))
    display.unwatch(window)
    peer.xcb.destroyWindow(window.id)
    peer.synchronize()
    #expect(try display.incoming("end", { _ in true }) == .requestorGone(window))
    display.unwatch(window)
    display.synchronize()
    #expect(display.nextSelectionEvent(isServed: { _ in true }) == nil)
    #expect(display.unexpectedErrorCount == 0)
  }

  @Test func managerSelectionHasOneOwner() throws {
    let name = display.atoms.intern("_XPASTEBRIDGE_S0")
    let first = try display.acquire(name, replacing: false)
    #expect(throws: ManagerSelectionError.owned(by: first.window)) { try peer.acquire(name, replacing: false) }
    // The predecessor doesn't leave: the successor waits as long as it may and says so.
    let second = try peer.acquire(name, replacing: true, withinMilliseconds: 50)
    #expect(second.hasLingeringPredecessor)
    #expect(try waitFor("loss", { display.nextSelectionEvent(isServed: { _ in true }) }) == .selectionLost(name.atom))
    // It leaves.
    let third = try server.connect()
    display.resign(first)
    peer.resign(second)
    peer.synchronize()
    #expect(try third.acquire(name, replacing: true).hasLingeringPredecessor == false)
  }

  @Test func predecessorThatLeavesIsAwaited() throws {
    let name = display.atoms.intern("_XPASTEBRIDGE_S0")
    let old = try peer.acquire(name, replacing: false)
    // All in one thread, so the predecessor leaves before the successor comes.
    display.watch(old.window)
    display.synchronize()
    peer.resign(old)
    peer.synchronize()
    #expect(try display.incoming("end", { _ in true }) == .requestorGone(old.window))
    #expect(try display.acquire(name, replacing: true).hasLingeringPredecessor == false)
  }
}

extension Display {
  /// Sends any 32 bytes as an event.
  func sendRaw(_ bytes: UnsafeRawBufferPointer, to window: Window) {
    _ = xcb.sendEvent(to: window.id, mask: 0, bytes: Array(bytes))
  }
}
