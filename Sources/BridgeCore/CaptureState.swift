import Policy
import Selection

/// What is known while an owner is being asked for its content.
struct Capture: Sendable {
  let owner: Window
  var source: Subject
  let kind: AuditRecord.Kind
  var selectionTime: ServerTime
  var startedAt: MonotonicTime
  /// The owner, which no rule restricts, didn't answer TARGETS in time and was left in place. Its answer may still come: a program that was busy for
  /// some seconds goes on, and then it must not stay unguarded.
  var isOverdue = false
  /// The conversion to TARGETS, until it is answered.
  var listing: ConversionID?
  var list: TargetList?
  /// Conversions to content that aren't over.
  var pending: Set<ConversionID> = []
  /// Targets that are asked for one after another, each when the one before is whole.
  var later: [Target] = []
  /// Whole representations.
  var received: [Representation] = []
  /// Targets that gave nothing, with the limit that was to blame, if one was.
  var failed: [(target: Target, limit: AuditRecord.Limit?)] = []
  /// The owner cleared the selection while it was answering for its cut files, the last thing it was asked for. PCManFM does:
  /// whoever has read the list moves the files, so it gives it once. Whether that was so its answer tells.
  var isCleared = false
  /// Hand-overs to answer when the capture is over.
  var saves: [SaveRequest] = []
  /// When it is taken over with what has come by then; `nil` but for drags.
  var takenBy: MonotonicTime?
  /// Whether nobody else goes on meanwhile (the priority lock).
  var isLocked = false
  /// The claim made while the content is still on its way; `nil` when it comes last.
  var claim: EarlyClaim?
  /// Whether that was carried out: the selection is ours, and empty until the capture is over.
  var isOurs = false
  /// Pastes that came since.
  var waiting: [WaitingPaste] = []
  /// Whether a program offers again what another one had marked secret.
  var repeatsSecret = false
  /// Apps whose rules count beside the source's, since one offers what the other had.
  var repeated: [Subject] = []

  /// Whether the file managers' list of files came, and says that they were cut.
  var hasCutFiles: Bool {
    received.contains { TargetList.isCopiedFiles($0.target.name) && $0.payload.starts(with: Array("cut\n".utf8)) }
  }

  /// Whether the source marks the content as secret, as far as it has answered: most marks count by being listed, and one
  /// whose value it keeps to itself counts as set.
  var isMarkedSecret: Bool {
    let marks = TargetList.secretMarkers
    let offered = (list?.offered ?? []).map(\.name)
    return Clip.isMarkedSecret(received) || offered.contains { marks.listed.contains($0) }
      || offered.contains(marks.valued) && !received.contains { $0.target.name == marks.valued }
  }

  var byteCount: Int { received.reduce(0) { $0 + $1.payload.count } }
}

/// A claim before the end of a capture, and what its source had been asked for until then; it can't be asked any more.
enum EarlyClaim: Sendable {
  case asked(for: [Target])
}

/// A conversion we asked for, with its selection and its clock.
struct OpenConversion: Sendable {
  let selection: NamedAtom
  var transfer: IncomingTransfer
  var lastProgress: MonotonicTime
}
