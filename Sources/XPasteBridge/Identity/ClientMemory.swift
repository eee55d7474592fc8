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

  /// The process behind the client.
  var process: ProcessRecord { holder.process }

  /// Windows asked again in one round trip, and windows asked about that are remembered. Our choice: the largest
  /// number at which a round trip doesn't get noticeably longer.
  static let questions = 16
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
}
