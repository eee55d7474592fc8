/// Why an owner's conversion gave nothing. What a peer does is a value, not an error.
public enum TransferFailure: Hashable, Sendable {
  /// SelectionNotify with property None.
  case refused
  /// Success was reported and no property written: what Qt does for targets it doesn't have.
  case nothingStored
  /// More bytes than we keep.
  case tooLarge
  /// A chunk that contradicts the ones before: another type or format, or a second INCR; or fewer bytes in all than the
  /// owner announced as the least; or a property that was written again, or deleted, before it was read. Another client may
  /// have written in our property, or ended the transfer early.
  case malformed
  /// No answer, or no further chunk, in time.
  case timedOut
  /// The owner's client ended.
  case ownerGone
}

/// One conversion that we asked of an owner, from ConvertSelection to its last byte (ICCCM 2.4, 2.7.2).
///
/// `awaitingAnswer → reading → complete | awaitingChunk → readingChunk → awaitingChunk … → complete`; from each of them
/// to `failed`. `complete` and `failed` are final: whatever comes after is ignored.
public struct IncomingTransfer: Hashable, Sendable {
  /// What is awaited.
  public enum State: Hashable, Sendable {
    /// The owner's SelectionNotify.
    case awaitingAnswer
    /// The value of the answer property.
    case reading
    /// The owner's next chunk.
    case awaitingChunk
    /// The value of a chunk.
    case readingChunk
    /// Nothing: the representation is whole.
    case complete
    /// Nothing: there will be no representation.
    case failed(TransferFailure)
  }

  /// What the one who runs the transfer has to do next.
  public enum Step: Hashable, Sendable {
    /// Wait for the peer.
    case wait
    /// Read the property.
    case read
    /// Take ``representation``.
    case finish
    /// Give up.
    case fail(TransferFailure)
  }

  /// What was asked for.
  public let target: Target
  /// What is awaited now.
  public private(set) var state: State = .awaitingAnswer
  /// The type of the value or of the first chunk; B007: never INCR.
  private var type = NamedAtom(.none, "")
  /// The format of the value or of the first chunk.
  private var format = 8
  private var received = Payload()
  /// The bytes that an INCR answer announced as the least (ICCCM 2.7.2); 0 where it announced none.
  private var announced = 0
  /// How often a value was stored before the answer.
  private var storeCount = 0
  /// The atoms of a list answer, for TARGETS.
  public private(set) var atoms: [NamedAtom]?

  /// Bytes that an owner stores at once at any server: the longest request without BIG-REQUESTS. Of more, an owner may append
  /// the rest.
  static let oneRequestBytes = 65_535 * 4

  /// A conversion to `target` that has just been asked for.
  public init(target: Target) { self.target = target }

  /// Bytes received so far.
  public var byteCount: Int { received.count }

  /// Whether chunks are arriving: only then does T_idle apply, T_cap does before.
  public var isIncremental: Bool {
    switch state {
    case .awaitingChunk, .readingChunk: true
    case .awaitingAnswer, .reading, .complete, .failed: false
    }
  }

  /// Whether nothing more can come to the conversion's window, so that it may serve again.
  public var isAtRest: Bool {
    switch state {
    case .complete, .failed(.refused), .failed(.nothingStored): true
    case .awaitingAnswer, .reading, .awaitingChunk, .readingChunk, .failed: false
    }
  }

  /// The whole value, once complete.
  public var representation: Representation? {
    guard state == .complete else { return nil }
    return Representation(target: target, type: type, format: format, payload: received)
  }

  /// The owner's SelectionNotify arrived.
  public mutating func answered(stored: Bool) -> Step {
    guard state == .awaitingAnswer else { return .wait }
    guard stored else { return fail(.refused) }
    state = .reading
    return .read
  }

  /// A value was stored in the property. Before the owner's answer this is the answer's own value, read later.
  public mutating func chunkStored() -> Step {
    if state == .awaitingAnswer { storeCount += 1 }
    guard state == .awaitingChunk else { return .wait }
    state = .readingChunk
    return .read
  }

  /// The property was read.
  public mutating func read(_ value: PropertyValue) -> Step {
    switch state {
    case .reading: readAnswer(value)
    case .readingChunk: readChunk(value)
    case .awaitingAnswer, .awaitingChunk, .complete, .failed: .wait
    }
  }

  /// Ends the transfer from outside: a deadline, or the owner's end.
  public mutating func fail(_ failure: TransferFailure) -> Step {
    guard state != .complete else { return .wait }
    state = .failed(failure)
    received = Payload()
    return .fail(failure)
  }

  private mutating func readAnswer(_ value: PropertyValue) -> Step {
    switch value {
    case .atoms, .incremental:
      guard storeCount <= 1 else { return fail(.malformed) }
    case .value(_, _, let payload):
      guard storeCount <= 1 || payload.count >= Self.oneRequestBytes else { return fail(.malformed) }
    case .absent, .tooLarge: break
    }
    switch value {
    case .value(let type, let format, let payload):
      (self.type, self.format, received) = (type, format, payload)
    case .atoms(let list):
      atoms = list
      // Atoms are numbers of the server that all its clients share, so a list of them can be passed on as it is.
      (type, format) = (NamedAtom(Atom(4), "ATOM"), 32)
      received = Payload(list.flatMap { bytes(of: $0.atom.id) })
    case .incremental(let hint):
      // A signed integer: a negative one announces nothing.
      announced = hint <= Int(Int32.max) ? hint : 0
      state = .awaitingChunk
      return .wait
    case .absent: return fail(.nothingStored)
    case .tooLarge: return fail(.tooLarge)
    }
    state = .complete
    return .finish
  }

  /// Whether as much came as was announced as the least. The X toolkit (Xt) counts items of format 32 as C longs, which
  /// are twice as long in its memory as on the wire.
  private var isAsLongAsAnnounced: Bool { received.count >= (format == 32 ? announced / 2 : announced) }

  private mutating func readChunk(_ value: PropertyValue) -> Step {
    switch value {
    case .value(let type, let format, let payload):
      if received.isEmpty {
        (self.type, self.format) = (type, format)
      } else if !payload.isEmpty, format != self.format || type != self.type {
        return fail(.malformed)
      }
      guard !payload.isEmpty else {
        guard isAsLongAsAnnounced else { return fail(.malformed) }
        state = .complete
        return .finish
      }
      received.append(payload)
      state = .awaitingChunk
      return .wait
    case .tooLarge: return fail(.tooLarge)
    // What isn't there was deleted or written again by somebody else: the owner goes on, and this chunk would be missing.
    case .absent, .atoms, .incremental: return fail(.malformed)
    }
  }
}

/// The four bytes of an item of format 32 in the machine's order.
private func bytes(of item: UInt32) -> [UInt8] {
  let little = item.littleEndian == item
  return (0..<4).map { UInt8(truncatingIfNeeded: item >> (8 * UInt32(little ? $0 : 3 - $0))) }
}
