import Policy
import Selection
import X11

/// What was found about an X client when its windows were searched. Nothing in it is believed without asking again: it
/// only says which questions are enough, so that a client known already costs one round trip.
struct ClientMemory {
  /// Where the class was found.
  enum Source: Hashable {
    /// On the window itself or an ancestor of the same client, by window asked about.
    case ownTopLevel
    /// On windows of the same X client.
    case sameClient
    /// On windows of other X clients with the same process.
    case sameProcess
    /// Nowhere: so it was as long as these were all the top-level windows of the display.
    case nowhere(TopLevels)
  }

  /// What a search of windows found.
  struct Finding {
    var source: Source
    var window = Window.none
    var pair: ClassPair?
    var candidates: [Window] = []
    var machine: String?
  }

  /// The process behind the client, and how that is known.
  var holder: ClientHolder
  /// Where the search ended.
  var source: Source
  /// The window where the class was found; `.none` for `.nowhere`.
  var window: Window
  /// All windows found that have a class, or could get one.
  var candidates: [Window]
  /// The host that the windows name.
  var machine: String?
  /// Windows asked about so far, and the ancestor that has their class; `.none` where no ancestor has one.
  var ancestors: [Window: Window]
  /// When it was used last, for making room.
  var lastUse: UInt64
  /// What searches of its windows may still cost.
  var budget = SearchBudget()

  /// The process behind the client.
  var process: ProcessRecord { holder.process }

  /// Windows asked again in one round trip, and windows asked about that are remembered. Our choice: the largest
  /// number at which a round trip doesn't get noticeably longer.
  static let questions = 16
}

/// How much of the time the windows of one client may be searched.
///
/// A search of thousands of windows takes milliseconds, and a client with that many can ask thousands of times from ever
/// new ones (measured: 15 s for 3,000 requests, while nobody else was answered). Beyond its share the client is taken for
/// what the last search found. Its process is asked at every decision all the same; only the class, which is its own word,
/// may be that much older.
struct SearchBudget {
  /// What may be spent at once. Our choice: some ten searches of the dearest kind, more than a person's paste needs.
  static let nanoseconds: Int64 = 50_000_000
  /// One part in so many of the time comes back. Our choice: four fifths are left for everybody else.
  static let share: Int64 = 5

  private var left = Self.nanoseconds
  private var countedAt: MonotonicTime?
  private var last: ClientMemory.Finding?

  /// What stands in for a search now; `nil` when there may be one.
  mutating func standIn(at now: MonotonicTime) -> ClientMemory.Finding? {
    guard let last, let countedAt else { return nil }
    let returned = Int64(clamping: now.nanoseconds - min(countedAt.nanoseconds, now.nanoseconds)) / Self.share
    left = min(Self.nanoseconds, left + returned)
    self.countedAt = now
    return left > 0 ? nil : last
  }

  /// Counts a search.
  mutating func spend(from begun: MonotonicTime, to ended: MonotonicTime, finding: ClientMemory.Finding) {
    left -= Int64(clamping: ended.nanoseconds - begun.nanoseconds)
    countedAt = ended
    last = finding
  }
}

/// One X client as the `clients` verb shows it.
struct ClientDescription {
  /// Who it is.
  var subject: Subject
  /// The bits that all its XIDs share.
  var resourceBase: UInt32
  /// Its top-level windows, with their classes.
  var windows: [ClassedWindow]
  /// Whether it is this program.
  var isSelf: Bool
  /// Whether it was there before the daemon listened, and so may be told of copies before it.
  var isEarlier = false
}
