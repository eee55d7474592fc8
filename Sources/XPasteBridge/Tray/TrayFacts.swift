import Boards
import BridgeCore
import Policy
import Tray

/// What the daemon knows, in the tray's words. Texts that programs or files chose are cut, and can't break a line.
enum TrayFacts {
  /// Bytes of a name (our choice: a menu has to fit on a screen).
  private static let nameBytes = 40
  /// Bytes of a longer text.
  private static let lineBytes = 120

  /// All that is shown.
  static func state(
    display: String, policy: PolicyInForce, boards: BoardTable, refusals: RefusalMemory
  ) -> TrayState {
    var state = TrayState(
      display: Label.plain(display, to: nameBytes), standing: standing(of: policy),
      summary: Label.plain(policy.summary, to: lineBytes))
    state.fault = policy.errors.first.map { Label.plain($0, to: lineBytes) }
    state.isEnforced = policy.policy.isEnforced
    state.isLockedDown = policy.isLockedDown
    state.liftsLockdown = policy.policy.liftsLockdown
    state.refusals = refusals.entries.map(refusal)
    // The names of other boards are known to their programs alone; those of the policy stand in its files.
    state.boards = boards.boards.values.filter { $0.origin == .policy }.sorted { $0.name < $1.name }
      .map { TrayState.BoardLine(name: Label.plain($0.name, to: nameBytes), items: $0.items.count) }
    return state
  }

  private static func standing(of policy: PolicyInForce) -> TrayState.Standing {
    switch policy.standing {
    case .inForce: .inForce
    case .lastGood, .leftOut: .lastGood
    case .locked: .locked
    }
  }

  private static func refusal(_ entry: RefusalMemory.Entry) -> TrayState.Refusal {
    let record = entry.record
    let (reason, place) = words(for: record.reason)
    let time = Posix.clock(ofMilliseconds: entry.milliseconds)
    let minute = time.minute < 10 ? "0\(time.minute)" : "\(time.minute)"
    return TrayState.Refusal(
      action: action(of: record), source: record.source.map(party), destination: record.destination.map(party),
      reason: Label.plain(reason, to: lineBytes), place: place.map { Label.plain($0, to: lineBytes) },
      message: record.message.map { Label.plain($0, to: lineBytes) }, count: entry.count,
      clock: "\(time.hour):\(minute)")
  }

  /// What was refused. Whoever is shown no formats asks for none, so that a list is all there is of many a paste.
  static func action(of record: AuditRecord) -> String {
    record.kind == .list ? AuditRecord.Kind.paste.rawValue : record.kind.rawValue
  }

  private static func party(_ subject: Subject) -> TrayState.Party {
    let executable = subject.executable.map { String($0.value.split(separator: "/").last ?? "") }
    let name =
      subject.windowClass?.value ?? executable ?? subject.instance?.value ?? subject.sandbox?.value
      ?? subject.unit?.value ?? (subject.origin == .remote ? "a remote program" : "an unknown program")
    return TrayState.Party(
      Label.plain(name, to: nameBytes), Label.plain(AuditSentence.name(of: subject), to: lineBytes))
  }

  /// The rule, or what decided in its place, and where that is written.
  private static func words(for reason: Reason) -> (reason: String, place: String?) {
    switch reason {
    case .rule(let rule): (rule.name, "\(rule.position.file):\(rule.position.line)")
    case .fileDefault(let position): ("the file's default", "\(position.file):\(position.line)")
    case .builtInDefault: ("the built-in default", nil)
    case .sameApp: ("the app's own clip", nil)
    case .outsideAudience(let copied):
      ("private by \(words(for: copied).reason)", words(for: copied).place)
    case .couldBe(let reason): words(for: reason)
    case .locked: ("the policy files have errors", nil)
    case .lockdown: ("lockdown", nil)
    }
  }
}
