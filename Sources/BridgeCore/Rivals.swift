import Policy
import Selection

/// A clip that somebody else may be offering again.
struct Contest: Sendable {
  let print: Fingerprint
  /// Who made the clip, before anybody offered it again, and whose it was before that.
  private(set) var sources: [Subject]
  /// When that one copied it.
  let copiedAt: MonotonicTime
  let isSensitive: Bool
  /// Whether a rule or its being secret gives it an end.
  let hasExpiry: Bool
  var rounds = 0
  /// When the selection was last seen to lose it.
  var lastSeen: MonotonicTime
  /// What a program would answer by offering it again: our claim, or its end.
  var cause: MonotonicTime

  init(of clip: Clip, _ print: Fingerprint, at now: MonotonicTime, answering cause: MonotonicTime) {
    self.print = print
    sources = [clip.source] + clip.repeated
    copiedAt = clip.copiedAt
    isSensitive = clip.isSensitive
    hasExpiry = clip.expiry != nil
    lastSeen = now
    self.cause = cause
  }

  /// Who made it.
  var maker: Subject { sources[0] }

  /// The same content was `clip`, whose apps count from now on.
  mutating func add(_ clip: Clip) {
    // Of two that look alike the same is asked, whoever they are.
    for new in [clip.source] + clip.repeated where !sources.contains(where: { $0 == new || $0.isSameApp(as: new) }) {
      sources.append(new)
    }
    sources.removeLast(max(0, sources.count - Self.mostSources))
  }

  /// Apps that copy one text after another within seconds (our choice: a person has no more in hand). What comes beyond is
  /// judged by the first ones' rules and its own.
  static let mostSources = 8

  func isRecent(at now: MonotonicTime) -> Bool {
    now < lastSeen.advanced(byMilliseconds: Bridge.rivalryMilliseconds)
  }

  /// Whether a copy at `now` comes so soon upon our claim or the clip's end that a program answers it, and no person.
  func isAnswered(at now: MonotonicTime) -> Bool {
    now < cause.advanced(byMilliseconds: Bridge.reactionMilliseconds)
  }
}

/// How fast a selection is taken from us: a key that is held down, a program that insists. Whoever takes it is answered
/// every time, for as long as it lasts, but not faster than ``Bridge/paceMilliseconds``.
struct Pace: Sendable {
  /// Claims of others that came right upon ours, without a rest.
  var rounds = 0
  /// Who made the last of them.
  var source: Subject
  /// When it was last written down.
  var writtenAt: MonotonicTime?
  /// Rounds since.
  var unwritten = 0
}

/// Secrets that their sources have cleared: what is cleared stays so, whoever offers it again. Digests alone are kept, and
/// no longer than the secret itself would have been.
struct ClearedSecrets: Sendable {
  /// Our choice: more than anybody clears in the minute that they are remembered.
  static let most = 16

  private struct Entry: Sendable {
    let print: Fingerprint
    let source: Subject
    let until: MonotonicTime
  }

  private var entries: [Entry] = []

  mutating func note(_ clip: Clip) {
    guard let until = clip.expiry else { return }
    entries.append(Entry(print: Fingerprint(clip.entries.map(\.representation)), source: clip.source, until: until))
    if entries.count > Self.most { entries.removeFirst() }
  }

  /// Whether `representations`, copied by `source`, bring one of them back. The source itself may copy again.
  mutating func contains(_ representations: [Representation], by source: Subject, at now: MonotonicTime) -> Bool {
    entries.removeAll { now >= $0.until }
    guard !entries.isEmpty else { return false }
    let print = Fingerprint(representations)
    return entries.contains { !source.isSameApp(as: $0.source) && $0.print.isRepeated(in: print) }
  }
}

// Programs that take a selection from us right after we took it: clipboard managers that answer every copy, keys that are
// held down. A restricted source never gets its content back by that.
extension Bridge {
  /// The shortest time from a claim of ours to the next, while others take the selection without a rest. Our choice: with
  /// keys that repeat 25 to 33 times a second every copy is still met before the next but one.
  static let paceMilliseconds = 50
  /// Rounds that are met at once (our choice: half a second of a key held down).
  static let quickRounds = 16
  /// How often a fight that goes on is written down.
  static let paceRecordMilliseconds = 60_000

  /// Takes note of a claim by somebody else: what is written down of it, and when it is met if it is too soon now.
  mutating func pace(
    _ change: OwnerChange, by source: Subject, at now: MonotonicTime
  ) -> (records: [Effect], until: MonotonicTime?) {
    let selection = change.selection
    guard let claimed = claimedAt[selection] else { return ([], nil) }
    guard now < claimed.advanced(byMilliseconds: Self.rivalryMilliseconds) else {
      paces[selection] = nil
      return ([], nil)
    }
    // No person needs less from one key to the next.
    guard now < claimed.advanced(byMilliseconds: Self.reactionMilliseconds) else { return ([], nil) }
    var pace = paces[selection] ?? Pace(source: source)
    pace.rounds += 1
    pace.unwritten += 1
    pace.source = source
    var records: [Effect] = []
    if pace.rounds > Self.quickRounds,
      pace.writtenAt.map({ now >= $0.advanced(byMilliseconds: Self.paceRecordMilliseconds) }) ?? true
    {
      records.append(.audit(record(of: pace, on: selection)))
      (pace.writtenAt, pace.unwritten) = (now, 0)
    }
    paces[selection] = pace
    answers.wasExposed(source)
    let due = claimed.advanced(byMilliseconds: Self.paceMilliseconds)
    return (records, pace.rounds > Self.quickRounds && now < due ? due : nil)
  }

  /// Who takes `selection` from us without a rest, while it lasts.
  func contender(on selection: NamedAtom) -> Subject? {
    guard let pace = paces[selection], pace.rounds > Self.quickRounds else { return nil }
    return pace.source
  }

  private func record(of pace: Pace, on selection: NamedAtom) -> AuditRecord {
    AuditRecord(
      kind: .copy, selection: policyName(of: selection), source: pace.source, verdict: .allow,
      reason: .builtInDefault, outcome: .refused, limit: .rival, count: pace.unwritten,
      notifies: pace.writtenAt == nil, isAlwaysWritten: true)
  }

  // MARK: clips that come back

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
    note(clip, print, on: selection, at: now, answering: claimed)
  }

  /// Takes note of a clip that is lost; one that repeats what was there before continues its contest.
  private mutating func note(
    _ clip: Clip, _ print: Fingerprint, on selection: NamedAtom, at now: MonotonicTime, answering cause: MonotonicTime
  ) {
    guard var contest = contests[selection], contest.print.isRepeated(in: print) else {
      contests[selection] = Contest(of: clip, print, at: now, answering: cause)
      return
    }
    contest.add(clip)
    (contest.lastSeen, contest.cause) = (now, cause)
    contests[selection] = contest
  }

  /// Remembers a clip under rules that is cleared, expires or is overtaken, since tools that have read it bring it back.
  mutating func noteEnd(of clip: Clip, on selection: NamedAtom, at now: MonotonicTime) {
    guard clip.isSensitive || policy.isRestricted(clip.source), !isBoard(selection) else { return }
    note(clip, Fingerprint(clip.entries.map(\.representation)), on: selection, at: now, answering: now)
  }

  /// A clear is what tools answer, however long ago the clip was refused or expired.
  mutating func noteClear(of holding: Holding, on selection: NamedAtom, at now: MonotonicTime) {
    guard let clip = holding.clip else {
      contests[selection]?.lastSeen = now
      contests[selection]?.cause = now
      return
    }
    if clip.isSensitive { clearedSecrets.note(clip) }
    noteEnd(of: clip, on: selection, at: now)
  }

  /// Remembers a copy of which nothing was kept.
  mutating func noteRefusal(of capture: Capture, as judged: JudgedClip, on selection: NamedAtom, at now: MonotonicTime)
  {
    guard !isBoard(selection) else { return }
    note(judged.clip, Fingerprint(capture.received), on: selection, at: now, answering: now)
  }

  /// The clip under rules that this capture brings back although another program made it, if it does. What is
  /// decided of content must not end because a tool that read it in time offers it as its own.
  func repeated(by capture: Capture, on selection: NamedAtom) -> Contest? {
    guard let contest = contests[selection], contest.isRecent(at: capture.startedAt) else { return nil }
    let others = contest.sources.filter { !capture.source.isSameApp(as: $0) }
    guard !others.isEmpty, contest.isSensitive || others.contains(where: { policy.isRestricted($0) }),
      contest.print.isRepeated(in: Fingerprint(capture.received))
    else { return nil }
    return contest
  }

  /// What `capture` is judged as when it brings back the clip of `contest`. A program that answers our claim, or a clear, offers
  /// what is still the other's. A copy that comes later is the app's own, as a person may copy the same text in two apps.
  /// Either way the rules about both count.
  func joined(_ capture: Capture, with contest: Contest) -> Capture {
    var joint = capture
    joint.repeatsSecret = contest.isSensitive
    joint.repeated = contest.sources.filter { !capture.source.isSameApp(as: $0) }
    let isAnswer = contest.isAnswered(at: capture.startedAt) && !capture.source.isSameApp(as: contest.maker)
    if isAnswer { (joint.source, joint.repeated) = (contest.maker, [capture.source] + joint.repeated.dropFirst()) }
    if contest.hasExpiry || isAnswer { joint.startedAt = contest.copiedAt }
    return joint
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

  /// Whether `clip` is our own content, which no rule restricts, offered by a rival once too often: then it is left with it.
  mutating func isRivalry(_ clip: Clip, of capture: Capture, isRepetition: Bool, on selection: NamedAtom) -> Bool {
    guard let contest = contests[selection] else { return false }
    // The source itself may copy the same again: a person presses the key twice. No person answers our claim at once.
    let isAnswer = contest.isAnswered(at: capture.startedAt) || !clip.source.isSameApp(as: contest.maker)
    guard isRepetition || isAnswer && contest.print.isSame(as: Fingerprint(clip.entries.map(\.representation)))
    else {
      contests[selection] = nil
      return false
    }
    contests[selection]?.rounds += 1
    // Nothing that a rule is about is ever its owner's to give.
    guard !contest.isSensitive, !clip.isSensitive,
      !(contest.sources + [clip.source, capture.source]).contains(where: { policy.isRestricted($0) })
    else { return false }
    let bound = clip.source.isSameApp(as: contest.maker) ? Self.sourceRounds : Self.rivalryRounds
    return contest.rounds + 1 > bound
  }

  /// Whether `clip` is one that somebody brings back again and again: then no board keeps it once more.
  func isInsisted(_ clip: Clip, on selection: NamedAtom) -> Bool {
    if contender(on: selection) == clip.source { return true }
    guard let contest = contests[selection], contest.rounds > Self.rivalryRounds else { return false }
    return contest.print.isSame(as: Fingerprint(clip.entries.map(\.representation)))
  }
}

/// Enough of a clip to recognise it, none of its content: keyed digests of its ends, the key being this process's own
/// random one.
struct Fingerprint: Sendable {
  /// Bytes at the beginning and at the end that count. Our choice: 0.1 ms.
  private static let ends = 64 << 10

  private struct Form: Hashable, Sendable {
    let count: Int
    let digest: Int
  }

  private var forms: [Target: Form] = [:]
  /// The texts, whatever their line ends.
  private var texts: Set<Int> = []

  init(_ representations: [Representation]) {
    for form in representations {
      forms[form.target] = Form(count: form.payload.count, digest: form.payload.digest(ofEnds: Self.ends))
      if TargetList.isPlainText(form.target.name), !form.payload.isEmpty {
        texts.insert(form.payload.textDigest(ofEnds: Self.ends))
      }
    }
  }

  /// Whether the content of this clip is the other's: its text under any name of plain text, since tools have their own,
  /// and where neither has text, some other form. Forms that say something of the program, such as TK_WINDOW's one byte or
  /// a secret's marker, are the same in clips that have nothing in common.
  func isRepeated(in other: Fingerprint) -> Bool {
    guard texts.isEmpty, other.texts.isEmpty else { return !texts.isDisjoint(with: other.texts) }
    let theirs = Set(other.forms.values)
    return forms.values.contains { $0.count >= Self.tellingBytes && theirs.contains($0) }
  }

  /// Fewer bytes of something that isn't text tell nothing. Our choice: no picture or document is as small.
  private static let tellingBytes = 32

  /// Whether the two have targets in common, and the same content in all of these.
  func agrees(with other: Fingerprint) -> Bool {
    let common = forms.keys.filter { other.forms[$0] != nil }
    return !common.isEmpty && common.allSatisfy { forms[$0] == other.forms[$0] }
  }

  /// Whether a rival that changes line ends or adds blanks offers the same.
  func isSame(as other: Fingerprint) -> Bool {
    agrees(with: other) || !texts.isEmpty && texts == other.texts
  }
}
