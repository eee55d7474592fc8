import Selection

/// What a request was for that another client may make fail, so that its error finds an owner.
public nonisolated enum RequestPurpose: Hashable, Sendable {
  /// Storing an answer in a requestor's property.
  case store(window: Window, property: Atom)
  /// Notifying or watching a requestor.
  case reach(window: Window)
  /// No longer watching a window, which may be gone by now: an error means nothing.
  case release(window: Window)
}

/// Keeps, for every request under way that may fail, what it was for.
///
/// Errors arrive later, with their request's number. Asking the server after every request would cost a round trip
/// each; so the numbers are kept until a later event proves that no error can come any more.
nonisolated struct ErrorTrap {
  private var expected: [(serial: Serial, purpose: RequestPurpose)] = []
  private var settledCount = 0

  /// Expects that the request `serial` may fail. Numbers must come in ascending order.
  mutating func expect(_ serial: Serial, for purpose: RequestPurpose) { expected.append((serial, purpose)) }

  /// What the failed request `serial` was for; `nil` when nobody expected it to fail.
  func purpose(of serial: Serial) -> RequestPurpose? {
    // Binary search: a flood of answers may have thousands of requests under way.
    var low = settledCount
    var high = expected.count
    while low < high {
      let middle = (low + high) / 2
      if expected[middle].serial.isEarlier(than: serial) { low = middle + 1 } else { high = middle }
    }
    return low < expected.count && expected[low].serial == serial ? expected[low].purpose : nil
  }

  /// Forgets all requests before `serial`: an event that carries this number came after their errors.
  mutating func settle(before serial: Serial) {
    while settledCount < expected.count, expected[settledCount].serial.isEarlier(than: serial) { settledCount += 1 }
    if settledCount == expected.count {
      expected.removeAll(keepingCapacity: true)
      settledCount = 0
    } else if settledCount > 1_024 {
      expected.removeFirst(settledCount)
      settledCount = 0
    }
  }

  /// How many requests are still expected to fail or pass.
  var count: Int { expected.count - settledCount }
}
