import Selection

/// A value of metadata, ready to be stored.
public nonisolated enum MetadataItems: Hashable, Sendable {
  /// Type ATOM, format 32.
  case atoms([Atom])
  /// Type INTEGER, format 32.
  case integer(UInt32)
  /// Type ATOM_PAIR, format 32.
  case atomPairs([Atom])
  /// Type INCR, format 32: the lower bound of the number of bytes to come.
  case incremental(UInt32)
  /// Type NULL, no items.
  case null
  /// Text of our own in format 8.
  case text(type: Atom, [UInt8])
}

// Everything we do to other clients' windows, and the conversions we ask for.
extension Display {
  /// Stores chunk `chunk` of `payload`; `nil` stores no bytes, the end of an incremental transfer (ICCCM 2.7.2).
  public func store(
    _ payload: Payload, chunk: Int?, type: Atom, format: Int, in property: Atom, of window: Window
  ) {
    // The protocol knows these three alone; a length that isn't whole items loses its last bytes, which no owner could
    // have given us.
    let format = format == 16 || format == 32 ? UInt8(format) : 8
    let serial: Serial
    if let chunk, !payload.isEmpty {
      serial = payload.withChunk(chunk) { bytes in
        xcb.changeProperty(window: window.id, property: property.id, type: type.id, format: format, bytes: bytes)
      }
    } else {
      serial = xcb.changeProperty(
        window: window.id, property: property.id, type: type.id, format: format,
        bytes: UnsafeRawBufferPointer(start: nil, count: 0))
    }
    trap.expect(serial, for: .store(window: window, property: property))
  }

  /// Stores metadata.
  public func store(_ items: MetadataItems, in property: Atom, of window: Window) {
    let type: UInt32
    let words: [UInt32]
    switch items {
    case .text(let type, let bytes):
      let serial = bytes.withUnsafeBytes { bytes in
        xcb.changeProperty(window: window.id, property: property.id, type: type.id, format: 8, bytes: bytes)
      }
      trap.expect(serial, for: .store(window: window, property: property))
      return
    case .atoms(let atoms): (type, words) = (AtomNumber.atom, atoms.map(\.id))
    case .integer(let number): (type, words) = (AtomNumber.integer, [number])
    case .atomPairs(let pairs): (type, words) = (atoms.intern("ATOM_PAIR").atom.id, pairs.map(\.id))
    case .incremental(let bytes): (type, words) = (atoms.intern("INCR").atom.id, [bytes])
    case .null: (type, words) = (atoms.intern("NULL").atom.id, [])
    }
    let serial = words.withUnsafeBytes { bytes in
      xcb.changeProperty(window: window.id, property: property.id, type: type, format: 32, bytes: bytes)
    }
    trap.expect(serial, for: .store(window: window, property: property))
  }

  /// Whether `window` has `property` now; asks the server.
  public func holds(_ property: Atom, of window: Window) -> Bool {
    let serial = xcb.getProperty(window: window.id, property: property.id, length: 0)
    guard let reply = xcb.reply(to: serial) else { return false }
    // GetProperty's reply has the type at 8; none where there is no property.
    return reply.word(at: 8) != 0
  }

  /// Answers a request with SelectionNotify; `.none` as property refuses it.
  public func notify(_ request: ConversionRequest, property: Atom) {
    let serial = xcb.sendSelectionNotify(
      requestor: request.requestor.id, selection: request.selection.atom.id, target: request.target.atom.id,
      property: property.id, time: request.time.milliseconds)
    trap.expect(serial, for: .reach(window: request.requestor))
    requestWitness?.answered(RequestFields(request))
  }

  /// Asks for the deletion of properties of `window` and for its end, until as many calls of ``unwatch(_:)``.
  public func watch(_ window: Window) {
    watchCounts[window, default: 0] += 1
    // Our own windows have their mask already.
    guard watchCounts[window] == 1, !isOurs(window) else { return }
    trap.expect(xcb.selectInput(window.id, eventMask: eventMask(of: window)), for: .reach(window: window))
  }

  /// Takes one ``watch(_:)`` back.
  public func unwatch(_ window: Window) {
    guard let count = watchCounts[window] else { return }
    watchCounts[window] = count > 1 ? count - 1 : nil
    guard count == 1, !isOurs(window) else { return }
    trap.expect(xcb.selectInput(window.id, eventMask: eventMask(of: window)), for: .release(window: window))
  }

  /// What we want to hear of another client's window: a client has one mask on each, whatever it is for.
  func eventMask(of window: Window) -> UInt32 {
    (watchCounts[window] == nil ? 0 : EventMask.propertyChange | EventMask.structureNotify)
      | pointerInterest.eventMask(of: window)
  }

  /// Forgets a watched window that is gone.
  func forget(_ window: Window) { watchCounts[window] = nil }

  /// Windows watched now.
  public var watchedWindowCount: Int { watchCounts.count }

  // MARK: Conversions of ours

  /// The property on our requestor windows in which owners store their answers.
  func answerProperty(of use: RequestorWindows.Use) -> Atom { atoms.intern(Self.answerProperties[use.turn]).atom }

  /// One for each turn of a window.
  public static let answerProperties = ["_XPASTEBRIDGE_ANSWER", "_XPASTEBRIDGE_ANSWER_2"]

  /// Asks the owner of `selection` for `target`, on a window of this conversion's own.
  public func convert(_ conversion: ConversionID, selection: Atom, target: Atom, time: ServerTime) {
    for window in requestors.takeOverdue(at: .now) { xcb.destroyWindow(window.id) }
    let use = requestors.open(conversion, make: makeWindow)
    xcb.convertSelection(
      requestor: use.window.id, selection: selection.id, target: target.id, property: answerProperty(of: use).id,
      time: time.milliseconds)
  }

  /// Reads and deletes the answer to `conversion`, at most `limit` bytes. What was written again since the event that told
  /// of it isn't known to be the owner's, and counts as absent. Call it when that event has been taken, before any other.
  public func readAnswer(_ conversion: ConversionID, limit: Int) -> PropertyValue {
    let value = readStored(conversion, limit: limit)
    return wasRewritten(conversion) ? .absent : value
  }

  /// The same, whatever was written since.
  func readStored(_ conversion: ConversionID, limit: Int) -> PropertyValue {
    guard let use = requestors.use(of: conversion) else { return .absent }
    return PropertyReader(xcb: xcb, atoms: atoms).readAndDelete(
      window: use.window, property: answerProperty(of: use), limit: limit)
  }

  /// Whether the answer's property changed between the event that told of it and its reading. The server tells of each
  /// change in order, before it answers the reading: with nobody between, the first is that our reading deleted it.
  private func wasRewritten(_ conversion: ConversionID) -> Bool {
    guard let use = requestors.use(of: conversion) else { return false }
    let property = answerProperty(of: use)
    var deletions = 0
    return isWaiting { event in
      guard case .propertyChanged(use.window, property, let isDeleted, _) = event else { return false }
      deletions += isDeleted ? 1 : 0
      // After a deletion the owner may write its next chunk.
      return isDeleted ? deletions > 1 : deletions == 0
    }
  }

  /// Ends `conversion`; `isReusable` when nothing can still arrive on its window.
  public func endConversion(_ conversion: ConversionID, isReusable: Bool) {
    guard let use = requestors.close(conversion, isReusable: isReusable, at: .now) else { return }
    // Usually gone already. What is left would be a later conversion's answer, and anybody could read it.
    _ = xcb.deleteProperty(window: use.window.id, property: answerProperty(of: use).id)
  }

  /// Conversions of ours that are open.
  public var openConversionCount: Int { requestors.openCount }

  /// The pairs of a MULTIPLE request, at most `limit` of them and one more; `nil` when there is no list.
  public func readPairs(of request: ConversionRequest, limit: Int) -> [AtomPair]? {
    // LibreOffice (gen) writes type ATOM where ATOM_PAIR is due, so the format alone decides.
    let words = PropertyReader(xcb: xcb, atoms: atoms).words(
      window: request.requestor, property: request.property, limit: (limit + 1) * 2)
    guard words.count >= 2 else { return nil }
    let targets = stride(from: 0, to: words.count - 1, by: 2).map { Atom(words[$0]) }
    let names = Dictionary(atoms.named(targets).map { ($0.atom, $0) }, uniquingKeysWith: { first, _ in first })
    // A target that doesn't exist keeps its place, so that its pair is refused and not lost.
    return targets.enumerated().map { index, target in
      AtomPair(target: names[target] ?? NamedAtom(target, ""), property: Atom(words[index * 2 + 1]))
    }
  }
}
