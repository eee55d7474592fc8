@preconcurrency import CX11
import Glibc
import Selection

/// A connection that keeps the X server busy when told to: as long as its socket isn't empty, the server has no time for
/// clients behind it.
///
/// What it sends has no effect and no answer. It is heavy for its bytes, so that the server needs much longer for what
/// fits into the socket than we need to refill it. And after each piece the server looks whether somebody ahead has come
/// meanwhile: it would otherwise stay with one client for 5 ms, and every answer would take as long (measured). It does so
/// when any client's priority changes, so each piece changes that of an idle connection of ours.
@MainActor final class ServerLoad {
  /// One piece. Our choice: what fits into the socket of a stock kernel (416 KiB) keeps the server for some 200 ms, as long
  /// as a lock may last; so nobody slips through when a busy machine leaves us without the processor.
  private static let pieceBytes = 512
  /// Pieces that are sent together.
  private static let pieces = 32
  /// Squares in each region. Our choice: one piece keeps the server for about 0.25 ms, the longest that anybody ahead
  /// waits.
  private static let squares = 15_000
  /// What the kernel is asked to keep, which doubles it; every kernel grants as much.
  private static let bufferBytes: Int32 = 212_992

  /// A resource by which the server knows this client.
  let resource: UInt32
  /// The same of the idle connection.
  let idleResource: UInt32
  private let busy: XcbConnection
  private let idle: XcbConnection
  private let bytes: [UInt8]
  private var sent = 0

  /// Connects twice more; `nil` when that isn't possible.
  init?(_ name: DisplayName, syncOpcode: UInt8) {
    guard let busy = Self.connect(name) else { return nil }
    guard let idle = Self.connect(name) else {
      busy.xcb.disconnect()
      return nil
    }
    (self.busy, self.idle) = (busy.xcb, idle.xcb)
    let regions = (0..<3).map { _ in busy.xcb.generateID() }
    (resource, idleResource) = (regions[0], idle.xcb.generateID())
    // Every square of the second lies between two of the first, so that joining them merges nothing.
    let made =
      busy.xcb.outcomes(of: [
        busy.xcb.createRegion(regions[0], of: Self.pattern(offset: 0), opcode: busy.fixes),
        busy.xcb.createRegion(regions[1], of: Self.pattern(offset: 2), opcode: busy.fixes),
        busy.xcb.createRegion(regions[2], of: [], opcode: busy.fixes),
      ]) + idle.xcb.outcomes(of: [idle.xcb.createRegion(idleResource, of: [], opcode: idle.fixes)])
    bytes = Self.content(joining: regions, fixes: busy.fixes, sync: syncOpcode, idle: idleResource)
    guard made.allSatisfy({ $0 == nil }) else {
      close()
      return nil
    }
    busy.xcb.setSendBuffer(to: Self.bufferBytes)
  }

  /// Ends both connections.
  func close() {
    busy.disconnect()
    idle.disconnect()
  }

  var fileDescriptor: Int32 { busy.fileDescriptor }

  /// Sends until the socket is full; `false` when it isn't by `deadline`, or the connection is gone.
  func fill(until deadline: MonotonicTime) -> Bool {
    while !busy.hasError {
      let count = busy.sendRaw(bytes[sent...])
      guard count > 0 else { return errno == EAGAIN }
      sent = (sent + count) % bytes.count
      if MonotonicTime.now >= deadline { return false }
    }
    return false
  }

  private static func connect(_ name: DisplayName) -> (xcb: XcbConnection, fixes: UInt8)? {
    guard let raw = "\(name)".withCString({ xcb_connect($0, nil) }) else { return nil }
    let xcb = XcbConnection(raw: raw)
    guard !xcb.hasError, let fixes = xcb.opcode(of: "XFIXES"),
      xcb.reply(to: xcb.fixesQueryVersion(opcode: fixes)) != nil
    else {
      xcb.disconnect()
      return nil
    }
    return (xcb, fixes)
  }

  private static func pattern(offset: Int) -> [(x: Int, y: Int)] {
    let perRow = 100
    return (0..<squares).map { (x: $0 % perRow * 4 + offset, y: $0 / perRow * 2) }
  }

  /// Of each piece: a union of regions, a change of the idle connection's priority, and a NoOperation that fills it up.
  private static func content(joining regions: [UInt32], fixes: UInt8, sync: UInt8, idle: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    func append<T: FixedWidthInteger>(_ value: T) { withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) } }
    func header(_ major: UInt8, _ minor: UInt8, bytes: Int) {
      append(major)
      append(minor)
      append(UInt16(bytes / 4))
    }
    let (unionBytes, priorityBytes) = (16, 12)
    for number in 0..<pieces {
      header(fixes, 13, bytes: unionBytes)
      for region in regions { append(region) }
      header(sync, 12, bytes: priorityBytes)
      append(idle)
      // Another one than in the piece before.
      append(Int32(number % 2))
      let rest = pieceBytes - unionBytes - priorityBytes
      header(127, 0, bytes: rest)
      bytes += [UInt8](repeating: 0, count: rest - 4)
    }
    return bytes
  }
}
