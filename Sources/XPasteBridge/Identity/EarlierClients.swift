import Glibc
import X11

/// The X clients that were there before the daemon had begun to listen. XFixes tells its listeners of a copy in the order
/// in which they asked, and doesn't say who has asked: so whoever connected later is told later, and of these it can't be
/// known.
struct EarlierClients {
  /// The process that the server named for a client, by which a later client with the same numbers is told apart.
  private struct Mark: Hashable {
    var id: Int32?
    var startTime: UInt64?
  }

  private var marks: [UInt32: Mark] = [:]

  /// Nobody.
  init() {}

  /// All that are connected now; to be asked for once the daemon listens.
  init(on display: Display) {
    let processIDs = display.survey().processIDs
    for base in display.clientBases() { marks[base] = Self.mark(processIDs[base]) }
  }

  /// Those of the clients with these processes, by resource base, that were there before.
  func remaining(among processIDs: [UInt32: Int32], bases: [UInt32]) -> Set<UInt32> {
    Set(bases.filter { base in marks[base].map { $0 == Self.mark(processIDs[base]) } ?? false })
  }

  /// An ended process has no start time any more, and may have left its client to a child: it counts as the same.
  private static func mark(_ id: Int32?) -> Mark {
    guard let id else { return Mark() }
    return Mark(id: id, startTime: ProcessFile.startTime(ofProcess: id))
  }
}
