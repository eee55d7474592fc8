import Policy
import Selection

/// One item of a board: what was copied once, in all its representations.
public struct BoardItem: Hashable, Sendable {
  /// Tells it from every other item of its board; never used twice. 0 before it is on a board.
  public var number: UInt64 = 0
  /// Who made it.
  public var source: Subject
  /// Who put it on the board, where that is another app: it may stay for as long as one of the two is a member.
  public var placedBy: Subject?
  /// How it was made, where no program copied it.
  public var derivation: Derivation?
  /// The selection on which its copy was decided: `clipboard`, or the board's own name.
  public var origin: String
  /// Whether it was a cut.
  public var isCut: Bool
  /// When it was copied.
  public var copiedAt: MonotonicTime
  /// When it is dropped; `nil` when time alone doesn't end it.
  public var expiry: MonotonicTime?
  /// Whether its source marked it secret. Then it is never stored.
  public var isSensitive = false
  /// Whether the quota leaves it alone.
  public var isPinned = false
  /// Whether it is for programs of this machine alone.
  public var isLocalOnly = false
  /// In the source's own order.
  public var representations: [Representation]

  /// Describes an item.
  public init(
    source: Subject, origin: String, isCut: Bool = false, copiedAt: MonotonicTime, expiry: MonotonicTime? = nil,
    representations: [Representation]
  ) {
    self.source = source
    self.origin = origin
    self.isCut = isCut
    self.copiedAt = copiedAt
    self.expiry = expiry
    self.representations = representations
  }

  /// Bytes of all representations.
  public var byteCount: Int { representations.reduce(0) { $0 + $1.payload.count } }

  /// The names of its types, in order.
  public var types: [String] { representations.map(\.target.name) }

  /// Whether `other` is the same thing copied again: by the same app, to the last byte.
  public func isRepeated(by other: BoardItem) -> Bool {
    source.isSameApp(as: other.source) && isPinned == other.isPinned && isLocalOnly == other.isLocalOnly
      && derivation == other.derivation && representations == other.representations
  }
}
