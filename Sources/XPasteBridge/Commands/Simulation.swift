import BridgeCore
import Policy

/// Recorded decisions put to another policy, and what would become of them.
struct Simulation {
  /// Why a line isn't replayed.
  enum Omission: String, CaseIterable {
    /// The line is no audit record of this version.
    case unreadable
    /// The record is of something that no rule decides: a list that was answered, a clear, an expiry, a cut buffer.
    case undecided
    /// The record doesn't say who copied.
    case source
    /// The record doesn't name the targets, and they make a difference.
    case targets
    /// The record doesn't say how large the content was or whether it was secret, and that makes a difference.
    case content
    /// A name in the record was too long to be written whole.
    case shortened
    /// The daemon left out records because too many came at once.
    case suppressed

    /// What is said to people.
    var phrase: String {
      switch self {
      case .unreadable: "no audit records of this version"
      case .undecided: "not of decisions about copies, cuts, pastes or drags"
      case .source: "don't say who copied"
      case .targets: "don't name the targets, which make a difference"
      case .content: "don't say size or secrecy, which make a difference"
      case .shortened: "have a name that was cut"
      case .suppressed: "were left out when they were written"
      }
    }
  }

  /// Equal decisions that would all change in the same way.
  struct Change: Hashable {
    let kind: AuditRecord.Kind
    let from: Verdict
    let to: Verdict
    let source: String
    let destination: String?
    let selection: String
    /// The rule that decided then, and the one that would now.
    let recorded: Reason
    let reason: Reason
  }

  private let policy: PolicySet
  /// Decisions replayed, each as often as its record stands for.
  private(set) var replayed = 0
  private(set) var omissions: [Omission: Int] = [:]
  private(set) var changes: [Change: Int] = [:]
  /// A target of each change, for the example.
  private(set) var examples: [Change: String] = [:]

  init(_ policy: PolicySet) { self.policy = policy }

  /// Whether anything that was taken is a record of ours; an empty file has none and isn't wrong.
  var holdsRecords: Bool { replayed > 0 || omissions.isEmpty || omissions.keys.contains { $0 != .unreadable } }

  /// The changes, the most frequent first.
  var ranked: [(change: Change, count: Int)] {
    changes.sorted { one, other in
      one.value == other.value ? one.key.order.lexicographicallyPrecedes(other.key.order) : one.value > other.value
    }.map { ($0.key, $0.value) }
  }

  /// Takes one line of the file.
  mutating func take(_ line: String) {
    guard !line.allSatisfy(\.isWhitespace) else { return }
    guard let json = try? JSON(reading: line) else { return omit(.unreadable) }
    if let count = json["suppressed"]?.number { return omit(.suppressed, count) }
    // What the daemon records of itself is no decision.
    guard json["event"] == nil else { return }
    guard let record = AuditEntry(json: json)?.record else { return omit(.unreadable) }
    let count = max(1, record.count)
    guard let action = Self.action(of: record), !record.selection.hasPrefix("CUT_BUFFER") else {
      return omit(.undecided, count)
    }
    guard let source = record.source, !action.hasDestination || record.destination != nil else {
      return omit(.source, count)
    }
    guard !Self.isShortened(record) else { return omit(.shortened, count) }
    let request = Request(
      action: action, source: source, destination: action.hasDestination ? record.destination : nil,
      selection: record.selection)
    // A refusal moves nothing, and of several targets only the sum is written down.
    let isMeasured = record.targets.count == 1 && [.served, .kept].contains(record.outcome)
    let recorded = RecordedRequest(request, targets: record.targets, size: isMeasured ? record.bytes : nil)
    switch policy.replay(recorded) {
    case .open(.targets): omit(.targets, count)
    case .open(.content): omit(.content, count)
    case .certain(let decision):
      replayed += count
      guard decision.verdict != record.verdict else { return }
      let change = Change(
        kind: AuditRecord.Kind(action), from: record.verdict, to: decision.verdict, source: source.summary,
        destination: request.destination?.summary, selection: record.selection, recorded: record.reason,
        reason: decision.reason)
      changes[change, default: 0] += count
      examples[change] = examples[change] ?? record.targets.first
    }
  }

  /// What was decided. A program that finds nothing in the list that it may have doesn't ask for content: then the refused list
  /// is the only record of a user's paste.
  private static func action(of record: AuditRecord) -> Action? {
    if record.kind == .list, record.outcome == .refused, record.destination != nil { return .paste }
    return Action(rawValue: record.kind.rawValue)
  }

  private mutating func omit(_ omission: Omission, _ count: Int = 1) { omissions[omission, default: 0] += count }

  private static func isShortened(_ record: AuditRecord) -> Bool {
    let subjects = [record.source, record.destination].compactMap(\.self)
    let facts = subjects.flatMap(\.facts).map(\.fact.value)
    // Programs may have an ellipsis in their name; only one at the length where names are cut counts.
    return facts.contains { $0.hasSuffix("…") && $0.utf8.count >= Label.factBytes - 4 }
      || record.targets.contains { $0.hasSuffix("…") && $0.utf8.count >= 124 }
  }
}

extension Simulation.Change {
  /// What is written of it, for an order that is the same each time.
  fileprivate var order: [String] {
    [from.rawValue, to.rawValue, kind.rawValue, source, destination ?? "", selection, "\(reason)", "\(recorded)"]
  }
}
