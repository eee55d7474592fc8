import GuardedMemory
import Selection

/// Whoever keeps count of the requests that have no answer yet.
public protocol RequestWitness: AnyObject {
  /// A request was read from the connection.
  func received(_ request: RequestFields)
  /// Its answer was given, or none is due; it may not have left yet.
  func answered(_ request: RequestFields)
  /// All answers given have left.
  func flushed()
}

// What lets a later process take up the work of this one.
extension Display {
  /// The mark of this run of the server: a random number that stands in a property of the root window, put there by the
  /// first who asks. A server that begins anew, in the same process or another, has none.
  public func serverMark() -> [UInt8] {
    let property = atoms.intern("_XPASTEBRIDGE_SERVER").atom
    let reader = PropertyReader(xcb: xcb, atoms: atoms)
    let length = 4
    if reader.words(window: root, property: property, limit: length).count != length {
      var random = SystemRandomNumberGenerator()
      let words = (0..<length).map { _ in UInt32.random(in: 0...UInt32.max, using: &random) }
      words.withUnsafeBytes { bytes in
        _ = xcb.changeProperty(
          window: root.id, property: property.id, type: AtomNumber.integer, format: 32, bytes: bytes)
      }
    }
    // Read back, since another daemon may have been first; its mark is as good.
    let words = reader.words(window: root, property: property, limit: length)
    return (words + Array(repeating: 0, count: max(0, length - words.count))).flatMap { word in
      (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) }
    }
  }

  /// Refuses a request that somebody else has read. Its window may be gone.
  public func refuse(_ request: RequestFields) {
    let serial = xcb.sendSelectionNotify(
      requestor: request.requestor.id, selection: request.selection.id, target: request.target.id, property: 0,
      time: request.time.milliseconds)
    trap.expect(serial, for: .reach(window: request.requestor))
  }

  /// Overwrites what content has left in the buffers that belong to libxcb: requests of up to 16 KiB are put together in
  /// one, and the first 4 KiB of what the server says are read into another. A property of our own of just that length
  /// goes through both. One round trip.
  public func rinse() {
    guard !isLost else { return }
    let property = atoms.intern("_XPASTEBRIDGE_TIME").atom
    xcb.flush()
    // 24 bytes of ChangeProperty come before.
    [UInt8](repeating: 0, count: (16 << 10) - 24).withUnsafeBytes { bytes in
      _ = xcb.changeProperty(
        window: ownerWindow.id, property: property.id, type: AtomNumber.integer, format: 8, bytes: bytes)
    }
    _ = xcb.reply(
      to: xcb.getProperty(window: ownerWindow.id, property: property.id, length: 4 << 10, deletes: true))
  }
}
