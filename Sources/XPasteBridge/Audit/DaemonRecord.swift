import BridgeCore
@preconcurrency import Glibc
import Policy
import PolicyFile

/// What the daemon records of itself: that it began, ended, or looked at policy files. An administrator's query finds these
/// by `XPB_STATE`.
struct DaemonRecord {
  /// What happened.
  enum Event: String, CaseIterable {
    /// A display is guarded from now on, or couldn't be.
    case start
    /// A display is no longer guarded by this daemon.
    case end
    /// The files of one side of the policy were read.
    case policy
  }

  /// Why a daemon ended.
  enum Ending: String, CaseIterable {
    /// It was told to, by a signal.
    case stopped
    /// Another instance guards the display.
    case replaced
    /// The X server is gone.
    case serverGone = "server-gone"
    /// The X server is there and our connection was ended.
    case connectionEnded = "connection-ended"
    /// Another client took away what the daemon can't do without.
    case failed
  }

  /// Files named in one record (our choice: more are counted).
  static let namedFiles = 64

  let event: Event
  /// `guarding`, `ended` or `failed`; of a policy its standing.
  let state: String
  let kind: JournalKind
  let priority: Priority
  private let text: String
  private let members: [JSON.Member]
  private let fields: [JournalEntry.Field]

  /// A daemon of this version guards the display; `isLockedDown` says how it begins.
  static func start(isNamed: Bool, isEnforced: Bool, isLockedDown: Bool) -> DaemonRecord {
    let notes = [
      isNamed ? "with the policy named on its command line" : nil, isEnforced ? nil : "not enforcing its policy",
      isLockedDown ? "locked down" : nil,
    ].compactMap(\.self)
    return DaemonRecord(
      event: .start, state: "guarding", kind: .daemonStarted, priority: isNamed || !isEnforced ? .notice : .information,
      text: "guarding, version \(HelpText.version)" + notes.map { ", " + $0 }.joined(),
      members: [
        JSON.Member("version", .string(HelpText.version)), JSON.Member("pid", .integer(Int(getpid()))),
        JSON.Member("source", .string(sourceName(isNamed))), JSON.Member("enforced", .bool(isEnforced)),
        JSON.Member("lockdown", .bool(isLockedDown)),
      ],
      fields: [
        ("XPB_VERSION", HelpText.version), ("XPB_POLICY_SOURCE", sourceName(isNamed)),
        ("XPB_ENFORCED", yesOrNo(isEnforced)), ("XPB_LOCKDOWN", yesOrNo(isLockedDown)),
      ])
  }

  /// No daemon guards the display, for this reason.
  static func failedStart(_ reason: String) -> DaemonRecord {
    let reason = Label.plain(reason, to: 1_024)
    return DaemonRecord(
      event: .start, state: "failed", kind: .daemonStarted, priority: .error, text: "not guarding: \(reason)",
      members: [
        JSON.Member("version", .string(HelpText.version)), JSON.Member("pid", .integer(Int(getpid()))),
        JSON.Member("reason", .string(reason)),
      ], fields: [("XPB_VERSION", HelpText.version)])
  }

  /// This daemon guards the display no longer; `successor` is the instance that does, where one took over.
  static func end(_ ending: Ending, _ words: String, successor: Subject?, isLockedDown: Bool) -> DaemonRecord {
    let by = successor.map { " by \(AuditSentence.name(of: $0))" } ?? ""
    return DaemonRecord(
      event: .end, state: "ended", kind: .daemonEnded, priority: ending == .stopped ? .notice : .warning,
      text: "no longer guarding: \(words)\(by)" + (isLockedDown ? "; a lockdown is on" : ""),
      members: [
        JSON.Member("pid", .integer(Int(getpid()))), JSON.Member("cause", .string(ending.rawValue)),
        JSON.Member("reason", .string(words)), JSON.Member("successor", successor.map(RecordJSON.subject) ?? .null),
        JSON.Member("lockdown", .bool(isLockedDown)),
      ],
      fields: [("XPB_CAUSE", ending.rawValue), ("XPB_LOCKDOWN", yesOrNo(isLockedDown))]
        + (successor.map { JournalEntry.fields(of: $0, "XPB_SUCCESSOR_") } ?? []))
  }

  /// How one side of the policy stands after its files were read.
  static func policy(_ policy: PolicyInForce, _ side: PolicySide) -> DaemonRecord {
    let state = policy[side]
    let files = state.files.prefix(namedFiles)
    let isEnforced = state.ruleset.isEnforced
    let name = policy.isNamed && side == .managed ? ", named by --policy" : ""
    let isGood = state.standing == .inForce
    return DaemonRecord(
      event: .policy, state: state.standing.rawValue, kind: .policyLoaded,
      priority: isGood && isEnforced && name.isEmpty ? .information : isGood ? .notice : .warning,
      text: policy.summary(of: side) + name,
      members: [
        JSON.Member("side", .string(side.rawValue)), JSON.Member("source", .string(sourceName(policy.isNamed))),
        JSON.Member("enforced", .bool(isEnforced)), JSON.Member("digest", .string(state.digest)),
        JSON.Member("rules", .integer(state.ruleset.rules.count)),
        JSON.Member(
          "files",
          .array(
            files.map { .object(["path": .string(Label.shortened($0.path)), "sha256": .string($0.digest)]) })),
        JSON.Member(
          "filesOmitted", state.files.count > namedFiles ? .integer(state.files.count - namedFiles) : .null),
        JSON.Member("errors", .integer(state.lastLoad.errors.count)),
      ],
      fields: [
        ("XPB_SIDE", side.rawValue), ("XPB_POLICY_SOURCE", sourceName(policy.isNamed)),
        ("XPB_ENFORCED", yesOrNo(isEnforced)), ("XPB_DIGEST", state.digest),
        ("XPB_FILES", files.map { "\($0.digest)  \(Label.shortened($0.path))" }.joined(separator: "\n")),
        ("XPB_ERRORS", String(state.lastLoad.errors.count)),
      ])
  }

  /// The record as one JSON object, as in the audit file.
  func json(milliseconds: Int, display: String) -> JSON {
    .object(
      [
        JSON.Member("schema", .integer(AuditEntry.schemaVersion)),
        JSON.Member("time", .string(UTCTime.text(milliseconds: milliseconds))),
        JSON.Member("display", .string(Label.shortened(display))), JSON.Member("event", .string(event.rawValue)),
        JSON.Member("state", .string(state)), JSON.Member("text", .string(text)),
      ] + members.filter { $0.value != .null })
  }

  /// The record as fields of the journal.
  func journalFields(milliseconds: Int, display: String) -> [JournalEntry.Field] {
    AuditSink.fields(text, kind, priority) + [
      ("XPB_DISPLAY", Label.shortened(display)), ("XPB_EVENT", event.rawValue), ("XPB_STATE", state),
    ] + fields + [("XPB_RECORD", json(milliseconds: milliseconds, display: display).description)]
  }

  private static func sourceName(_ isNamed: Bool) -> String { isNamed ? "named" : "installed" }
  private static func yesOrNo(_ truth: Bool) -> String { truth ? "yes" : "no" }
}
