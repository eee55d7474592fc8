import Selection

/// The byte form of the ledger of requests: a head, and slots of which each is free or holds one request. It is written
/// in place while the daemon runs, so nothing in it depends on anything else in it.
public struct RequestLedger: Hashable, Sendable {
  /// The mark of the server's run in which the requests were made.
  public var server: [UInt8]
  /// The boot in which they were made.
  public var boot: [UInt8]
  /// Requests that weren't answered.
  public var waiting: [RequestFields]
  /// Incremental transfers that were going out.
  public var transfers: Int
  /// Requests for which there was no room.
  public var unkept: Int
  /// Whether the process ended while it was taking up the content of the one before it.
  public var isRestoring: Bool

  /// What comes first in the bytes: `XPBREQS` and a NUL, then the version.
  public static let magic: [UInt8] = [0x58, 0x50, 0x42, 0x52, 0x45, 0x51, 0x53, 0, 1, 0, 0, 0]
  /// Where the number of transfers lies, 4 bytes as the machine has them; so in all of the following.
  public static let transfersOffset = 12
  /// Where the number of requests without room lies.
  public static let unkeptOffset = 16
  /// Where it says that content is being taken up.
  public static let restoringOffset = 20
  /// Where the server's mark lies.
  public static let serverOffset = 32
  /// Where the boot's identity lies.
  public static let bootOffset = 48
  /// Where the slots begin.
  public static let slotsOffset = 64
  /// A slot's bytes: whether it is taken, window, selection, target, property, time, and 8 for none.
  public static let slotBytes = 32
  /// Our choice: as many as a flood brings between two answers. What is beyond isn't kept, and counted.
  public static let slotCount = 1_024
  /// All bytes.
  public static let byteCount = slotsOffset + slotBytes * slotCount

  /// Reads a ledger from any bytes whatever: what isn't one is an error, never a trap.
  public static func decode(_ bytes: [UInt8]) throws(StoreError) -> RequestLedger { try decode(bytes.span) }

  /// Reads a ledger from any bytes whatever: what isn't one is an error, never a trap.
  public static func decode(_ bytes: borrowing Span<UInt8>) throws(StoreError) -> RequestLedger {
    guard bytes.count >= magic.count else { throw .tooShort }
    for index in 0..<magic.count where bytes[index] != magic[index] { throw .foreign }
    guard bytes.count == byteCount else { throw .lengths }
    var waiting: [RequestFields] = []
    for slot in 0..<slotCount {
      let start = slotsOffset + slot * slotBytes
      // A word that was only half written may have any value: everything but 1 is free.
      guard word(bytes, start) == 1 else { continue }
      waiting.append(
        RequestFields(
          requestor: Window(word(bytes, start + 4)), selection: Atom(word(bytes, start + 8)),
          target: Atom(word(bytes, start + 12)), property: Atom(word(bytes, start + 16)),
          time: ServerTime(word(bytes, start + 20))))
    }
    return RequestLedger(
      server: (serverOffset..<serverOffset + Place.identityBytes).map { bytes[$0] },
      boot: (bootOffset..<bootOffset + Place.identityBytes).map { bytes[$0] }, waiting: waiting,
      transfers: Int(word(bytes, transfersOffset)), unkept: Int(word(bytes, unkeptOffset)),
      isRestoring: word(bytes, restoringOffset) != 0)
  }

  /// Four bytes in the order of the machine that wrote them, which is this one: the ledger never leaves it.
  private static func word(_ bytes: borrowing Span<UInt8>, _ offset: Int) -> UInt32 {
    let isLittle = UInt32(1).littleEndian == 1
    return (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32(isLittle ? $1 : 3 - $1)) }
  }
}
