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
    let clip = Clip(
      number: clipCount, source: capture.source, kind: kind(of: forms, on: selection), copiedAt: capture.startedAt,
      isSensitive: capture.repeatsSecret || capture.isMarkedSecret,
      listsSaveTargets: capture.list?.listsSaveTargets ?? false, entries: [])
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
      let decision = policy.evaluate(
        all: clip.requests(clip.kind == .cut ? .cut : .copy, facts, on: place))
      let isOversized = decision.obligations.maxSize.map { facts.size > $0 } ?? false
      if decision.grant == nil || isOversized {
        judged.refuse(form, by: decision)
      } else if !decision.obligations.permits(facts) {
        judged.withheld.append(form.target.name)
        judged.withheldBy = decision.reason
      } else {
        let audience = policy.audience(of: decision, copiedBy: clip.source)
        judged.clip.entries.append(Clip.Entry(representation: form, decision: decision, audience: audience))
      }
    }
    return judged
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
    var record = AuditRecord(
      kind: kind, selection: policyName(of: selection), source: source, destination: destination, targets: targets,
      bytes: bytes, verdict: decision.verdict, reason: decision.reason, outcome: outcome, limit: limit,
      message: terms.message, notifies: kind != .list && (terms.notify ?? (isRefusal || limit != nil)),
      isAlwaysWritten: terms.audit
        ?? (isRefusal || limit != nil || terms.notEnforced != nil || decision.verdict == .ask))
    record.notEnforced = terms.notEnforced
    return record
  }

  // MARK: rivals

  /// Remembers the clip that somebody takes from us right after we took it: perhaps to offer the same again.
  mutating func noteLoss(of phase: Phase, on selection: NamedAtom, at now: MonotonicTime) {
    guard !isBoard(selection) else { return }
    if case .overtaken(let claim) = phase, let clip = claim.holding.clip { noteEnd(of: clip, on: selection, at: now) }
    guard case .held(let holding) = phase else { return }
    guard let clip = holding.clip else {
      // Held empty, for the clip that was cleared, refused or expired a moment ago.
      if contests[selection].map({ $0.isRecent(at: now) }) == false { contests[selection] = nil }
      return
    }
    guard let claimed = claimedAt[selection], now < claimed.advanced(byMilliseconds: Self.rivalryMilliseconds) else {
      contests[selection] = nil
      return
    }
    let print = Fingerprint(clip.entries.map(\.representation))
    if contests[selection].map({ $0.print.agrees(with: print) }) != true {
      contests[selection] = Contest(of: clip, print, at: now)
    }
    contests[selection]?.lastSeen = now
    contests[selection]?.isReaction = now < claimed.advanced(byMilliseconds: Self.reactionMilliseconds)
  }

  /// Remembers a clip under rules that is cleared, expires or is overtaken, since tools that have read it bring it back.
  mutating func noteEnd(of clip: Clip, on selection: NamedAtom, at now: MonotonicTime) {
    guard clip.isSensitive || policy.isRestricted(clip.source), !isBoard(selection) else { return }
    contests[selection] = Contest(of: clip, Fingerprint(clip.entries.map(\.representation)), at: now)
  }

  /// A clear is what tools answer, however long ago the clip was refused or expired.
  mutating func noteClear(of holding: Holding, on selection: NamedAtom, at now: MonotonicTime) {
    if let clip = holding.clip { return noteEnd(of: clip, on: selection, at: now) }
    contests[selection]?.lastSeen = now
  }

  /// Remembers a copy of which nothing was kept.
  mutating func noteRefusal(of capture: Capture, as judged: JudgedClip, on selection: NamedAtom, at now: MonotonicTime)
  {
    guard !isBoard(selection) else { return }
    contests[selection] = Contest(of: judged.clip, Fingerprint(capture.received), at: now)
  }

  /// The clip under rules that this capture brings back although another program made it, if it does. What is
  /// decided of content must not end because a tool that read it in time offers it as its own.
  func repeated(by capture: Capture, on selection: NamedAtom) -> Contest? {
    guard let contest = contests[selection], contest.isRecent(at: capture.startedAt),
      !capture.source.isSameApp(as: contest.source), contest.isSensitive || policy.isRestricted(contest.source),
      contest.print.isRepeated(in: Fingerprint(capture.received))
    else { return nil }
    return contest
  }

  /// What is written down of the one who offered it again; the clip's own record names who it came from.
  func repetition(
    by offerer: Subject, like record: AuditRecord?, on selection: NamedAtom
  ) -> AuditRecord {
    AuditRecord(
      kind: .copy, selection: policyName(of: selection), source: offerer, targets: record?.targets ?? [],
      bytes: record?.bytes ?? 0, verdict: record?.verdict ?? .deny, reason: record?.reason ?? .builtInDefault,
      outcome: .refused, limit: .rival, isAlwaysWritten: true)
  }

  /// Whether `clip` is our own content offered by a rival once too often (product.md 5.9). A repetition of a clip under
  /// rules is met as often as its own source is, and no more: nobody gets an endless fight.
  mutating func isRivalry(_ clip: Clip, isRepetition: Bool, on selection: NamedAtom) -> Bool {
    guard let contest = contests[selection] else { return false }
    // The source itself may copy the same again: a person presses the key twice. No person answers our claim at once.
    let isAnswer = contest.isReaction || !clip.source.isSameApp(as: contest.source)
    guard isRepetition || isAnswer && contest.print.agrees(with: Fingerprint(clip.entries.map(\.representation)))
    else {
      contests[selection] = nil
      return false
    }
    contests[selection]?.rounds += 1
    let bound = clip.source.isSameApp(as: contest.source) ? Self.sourceRounds : Self.rivalryRounds
    return contest.rounds + 1 > bound
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

/// A clip that a rival may be giving back to us.
struct Contest: Sendable {
  let print: Fingerprint
  /// Who made the clip, before any rival offered it.
  let source: Subject
  /// When that one copied it.
  let copiedAt: MonotonicTime
  let isSensitive: Bool
  var rounds = 0
  /// When the selection was last seen to lose it.
  var lastSeen: MonotonicTime
  /// Whether the last loss came so soon after our claim that a program answered it.
  var isReaction = false

  init(of clip: Clip, _ print: Fingerprint, at now: MonotonicTime) {
    self.print = print
    source = clip.source
    copiedAt = clip.copiedAt
    isSensitive = clip.isSensitive
    lastSeen = now
  }

  func isRecent(at now: MonotonicTime) -> Bool {
    now < lastSeen.advanced(byMilliseconds: Bridge.rivalryMilliseconds)
  }
}

/// Enough of a clip to recognise it, none of its content: lengths and keyed digests of the first 64 KiB, the key being
/// this process's own random one.
struct Fingerprint: Sendable {
  private let forms: [Target: (count: Int, digest: Int)]

  init(_ representations: [Representation]) {
    var forms: [Target: (count: Int, digest: Int)] = [:]
    for form in representations {
      forms[form.target] = (form.payload.count, form.payload.digest(ofFirst: 64 << 10))
    }
    self.forms = forms
  }

  /// Whether the content of this clip is the other's: its text under any name of plain text, since tools have their own,
  /// and where neither has text, some other form. Forms that say something of the program, such as TK_WINDOW's one byte or
  /// a secret's marker, are the same in clips that have nothing in common.
  func isRepeated(in other: Fingerprint) -> Bool {
    let (mine, theirs) = (texts, other.texts)
    guard mine.isEmpty, theirs.isEmpty else { return mine.contains { text in theirs.contains { $0 == text } } }
    return forms.values.contains { form in
      form.count >= Self.tellingBytes && other.forms.values.contains { $0 == form }
    }
  }

  /// Fewer bytes of something that isn't text tell nothing. Our choice: no picture or document is as small.
  private static let tellingBytes = 32

  private var texts: [(count: Int, digest: Int)] {
    forms.compactMap { target, form in TargetList.isPlainText(target.name) && form.count > 0 ? form : nil }
  }

  /// Whether the two have targets in common, and the same content in all of these.
  func agrees(with other: Fingerprint) -> Bool {
    let common = forms.keys.filter { other.forms[$0] != nil }
    return !common.isEmpty && common.allSatisfy { forms[$0]! == other.forms[$0]! }
  }
}
