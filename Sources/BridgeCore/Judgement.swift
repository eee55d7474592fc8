import Policy
import Selection

/// A captured clip with what policy left out of it.
struct JudgedClip {
  /// Representations that one decision refused.
  struct Refusal {
    let decision: Decision
    var targets: [String]
    var bytes: Int
  }

  var clip: Clip

  /// How little is left of it: nothing, a clip for some, or one for everybody.
  var strictness: Int {
    clip.entries.isEmpty ? 2 : clip.entries.contains { $0.audience != .everyone } ? 1 : 0
  }

  var refusals: [Refusal] = []
  /// Targets that a rule's `targets:` or `plain-text:` leaves out.
  var withheld: [String] = []
  /// The rule that does.
  var withheldBy: Reason?
}

extension Bridge {
  /// Decides a capture representation by representation.
  mutating func judge(_ capture: Capture, on selection: NamedAtom) -> JudgedClip {
    clipCount += 1
    let order = capture.list?.offered ?? []
    let forms = order.compactMap { target in capture.received.first { $0.target == target } }
    let said = Self.kindSaid(by: forms)
    var clip = Clip(
      number: clipCount, source: capture.source, kind: said ?? kind(on: selection), copiedAt: capture.startedAt,
      isSensitive: capture.repeatsSecret || capture.isMarkedSecret,
      listsSaveTargets: capture.list?.listsSaveTargets ?? false, entries: [])
    clip.repeated = capture.repeated
    clip.couldBeCut = said == nil && possibleCuts.contains(selection)
    return judge(clip, forms, on: selection)
  }

  /// Decides a clip's representations under the policy in force; `origin` is the selection that its copy was made on,
  /// where that is another one and the clip itself doesn't say so.
  func judge(
    _ clip: Clip, _ forms: [Representation], on selection: NamedAtom, copiedOn origin: String? = nil
  ) -> JudgedClip {
    let place = origin ?? clip.confinement?.origin ?? policyName(of: selection)
    var judged = JudgedClip(clip: clip)
    judged.clip.entries = []
    for form in forms {
      let facts = ContentFacts(target: form.target.name, size: form.payload.count, isSensitive: clip.isSensitive)
      let action: Action = clip.kind == .cut ? .cut : .copy
      let decision = policy.evaluate(all: clip.requests(action, facts, on: place))
      let isOversized = decision.obligations.maxSize.map { facts.size > $0 } ?? false
      if decision.grant == nil || isOversized {
        judged.refuse(form, by: decision)
      } else if !decision.obligations.permits(facts) {
        judged.withheld.append(form.target.name)
        judged.withheldBy = decision.reason
      } else {
        judged.clip.entries.append(entry(form, facts, of: clip, by: decision, action, on: place))
      }
    }
    return judged
  }

  /// One form that `decision` keeps, with who may have it: each app's own rules say for whom its copy is.
  private func entry(
    _ form: Representation, _ facts: ContentFacts, of clip: Clip, by decision: Decision, _ action: Action,
    on place: String
  ) -> Clip.Entry {
    guard !clip.repeated.isEmpty else {
      return Clip.Entry(
        representation: form, decision: decision, audience: policy.audience(of: decision, copiedBy: clip.source))
    }
    var alone = clip
    alone.repeated = []
    let ofSource = policy.evaluate(all: alone.requests(action, facts, on: place))
    let further = clip.repeated.map { other in
      let ofOther = policy.evaluate(all: [Request(action: action, source: other, selection: place, content: facts)])
      return Clip.FurtherAudience(
        source: other, audience: policy.audience(of: ofOther, copiedBy: other), reason: ofOther.reason)
    }
    return Clip.Entry(
      representation: form, decision: decision, audience: policy.audience(of: ofSource, copiedBy: clip.source),
      further: further)
  }

  /// The records of a finished capture: one for what is kept, one for each decision that refused something.
  func copyRecords(
    of judged: JudgedClip, _ capture: Capture, limit: AuditRecord.Limit?, on selection: NamedAtom
  ) -> [AuditRecord] {
    var records: [AuditRecord] = []
    let source = capture.source
    let isEmptied = judged.clip.entries.isEmpty
    for refusal in judged.refusals {
      records.append(
        record(
          judged.clip.kind, on: selection, source: source, decision: refusal.decision,
          outcome: isEmptied ? .emptied : .refused, targets: refusal.targets, bytes: refusal.bytes,
          limit: refusal.decision.grant == nil ? nil : .clipSize))
    }
    let reached =
      limit ?? capture.failed.compactMap(\.limit).first
      ?? ((capture.list?.beyondLimit ?? 0) > 0 ? .targetCount : nil)
    if let first = judged.clip.entries.first {
      let leftOut = capture.failed.map(\.target.name) + judged.withheld
      // Of what isn't enforced, the strictest decision speaks for the copy.
      let entries = judged.clip.entries
      let unenforced = entries.filter { $0.decision.obligations.notEnforced != nil }
      let telling = unenforced.max { $0.strictnessIfEnforced < $1.strictnessIfEnforced } ?? first
      var kept = record(
        judged.clip.kind, on: selection, source: source, decision: telling.decision,
        outcome: leftOut.isEmpty && reached == nil ? .kept : .keptInPart,
        targets: judged.clip.entries.map(\.representation.target.name), bytes: judged.clip.byteCount, limit: reached)
      kept.leftOut = leftOut
      records.append(kept)
    } else if judged.refusals.isEmpty {
      // Everything was left out by rules about targets: the copy leaves nothing to paste.
      records.append(
        AuditRecord(
          kind: judged.clip.kind, selection: policyName(of: selection), source: source, targets: judged.withheld,
          verdict: .deny, reason: judged.withheldBy ?? .builtInDefault, outcome: .emptied, limit: reached,
          isAlwaysWritten: true))
    }
    return records
  }

  /// A record with what the decision's obligations say about audit and notice.
  func record(
    _ kind: AuditRecord.Kind, on selection: NamedAtom, source: Subject?, destination: Subject? = nil,
    decision: Decision, outcome: AuditRecord.Outcome, targets: [String] = [], bytes: Int = 0,
    limit: AuditRecord.Limit? = nil
  ) -> AuditRecord {
    let isRefusal = outcome == .refused || outcome == .emptied || outcome == .replaced
    let terms = decision.obligations
    // Nobody who marks text has asked for anything that could be refused.
    let isMarking = (kind == .copy || kind == .cut) && (selection == atoms.primary || selection == atoms.secondary)
    let notifiesByDefault = (isRefusal || limit != nil) && !isMarking
    var record = AuditRecord(
      kind: kind, selection: policyName(of: selection), source: source, destination: destination, targets: targets,
      bytes: bytes, verdict: decision.verdict, reason: decision.reason, outcome: outcome, limit: limit,
      message: terms.message, notifies: kind != .list && (terms.notify ?? notifiesByDefault),
      isAlwaysWritten: terms.audit
        ?? (isRefusal || limit != nil || terms.notEnforced != nil || decision.verdict == .ask))
    record.notEnforced = terms.notEnforced
    return record
  }
}

extension Clip.Entry {
  fileprivate var strictnessIfEnforced: Verdict { decision.obligations.notEnforced ?? .allow }
}

extension JudgedClip {
  mutating func refuse(_ form: Representation, by decision: Decision) {
    if let index = refusals.firstIndex(where: { $0.decision == decision }) {
      refusals[index].targets.append(form.target.name)
      refusals[index].bytes += form.payload.count
    } else {
      refusals.append(Refusal(decision: decision, targets: [form.target.name], bytes: form.payload.count))
    }
  }
}
