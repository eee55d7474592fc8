import Policy
import Selection

/// What the person is to be told. No part of it can hold content.
public struct Notice: Hashable, Sendable {
  /// Tells it apart; a later one with the same number takes its place.
  public var number: UInt64
  /// What happened.
  public var record: AuditRecord
  /// Whether the person may allow it once, by `Bridge.allowOnce` with this number.
  public var offersAllowOnce = false
  /// Whether the person seems to be behind it: the program had the keyboard, or the key was seen.
  public var isPersons: Bool
  /// Whether it is the last for a while, since there are too many.
  public var isLast: Bool

  /// Describes what the person is to be told.
  public init(
    number: UInt64, record: AuditRecord, offersAllowOnce: Bool = false, isPersons: Bool, isLast: Bool = false
  ) {
    (self.number, self.record, self.offersAllowOnce) = (number, record, offersAllowOnce)
    (self.isPersons, self.isLast) = (isPersons, isLast)
  }
}

/// A paste of a clip that we hold, refused.
struct RefusedPaste: Sendable {
  let selection: NamedAtom
  let clip: UInt64
  let source: Subject
  let subject: Subject
  let decision: Decision
  let targets: [String]
  let outcome: AuditRecord.Outcome
  /// Whether only the list was asked for. Programs do that whenever the clipboard changes, and many also before they paste;
  /// then they stop there. A key that pastes tells the one from the other.
  let isList: Bool
}

/// An app as notices tell it from others: whatever its process, so that one that is started anew and anew is one.
struct AppLabel: Hashable, Sendable {
  let windowClass: String?
  let executable: String?
  let isLocal: Bool

  init(_ subject: Subject) {
    (windowClass, executable) = (subject.windowClass?.value, subject.executable?.value)
    isLocal = subject.isLocal
  }
}

/// What the person has been told, and when: it keeps programs from flooding the desktop.
///
/// Of one clip each app is told of once, and of all that aren't in front one. Of what isn't about a clip that we hold, such as
/// refused copies, each app once in 10 s. In all, 10 a minute of what the person seems to do and 3 of the rest.
struct NoticeBook: Sendable {
  /// Our choice: long enough to read one; a program that copies in a loop shows 6 a minute at most.
  static let restMilliseconds = 10_000
  /// Over which notices are counted.
  static let windowMilliseconds = 60_000
  /// Our choice: nobody works with more refusals than that, and nobody reads more.
  static let mostOfPerson = 10
  /// Our choice.
  static let mostOfOthers = 3
  /// Apps that are told apart for one clip, and kinds of refusals. Beyond, the person is told of none: a program that changes
  /// its name all the time would else be told of each time.
  static let mostLabels = 64
  /// Questions to the shell that have no answer yet.
  static let mostQuestions = 32

  /// What a question to the shell is about.
  enum Question: Sendable {
    case paste(RefusedPaste)
    case record(AuditRecord)
  }

  /// How an app was told of.
  private enum Standing: Sendable { case persons, others }

  private struct ToldClip: Sendable {
    let clip: UInt64
    var apps: [AppLabel: Standing] = [:]
    /// Whether one that wasn't in front was told of.
    var hasOthers = false
  }

  /// What a refusal that isn't of a held clip is told apart by.
  private struct RecordLabel: Hashable, Sendable {
    let app: AppLabel?
    let kind: AuditRecord.Kind
    let outcome: AuditRecord.Outcome
    let limit: AuditRecord.Limit?
  }

  private(set) var count: UInt64 = 0
  /// Notices that were due and not shown, since there were too many.
  private(set) var leftOut = 0
  private var clips: [NamedAtom: ToldClip] = [:]
  private var labels: [RecordLabel: MonotonicTime] = [:]
  private var questions: [UInt64: Question] = [:]
  private var times: [Bool: [MonotonicTime]] = [:]

  mutating func next() -> UInt64 {
    count += 1
    return count
  }

  // MARK: questions

  mutating func ask(_ question: Question) -> UInt64? {
    guard questions.count < Self.mostQuestions else { return nil }
    let number = next()
    questions[number] = question
    return number
  }

  mutating func answered(_ number: UInt64) -> Question? { questions.removeValue(forKey: number) }

  // MARK: pastes

  /// Whether it has to be looked who is behind this paste, and whether the keyboard's focus tells; `nil` when nothing more
  /// is to be told.
  mutating func wantsFocus(of paste: RefusedPaste) -> Bool? {
    if clips[paste.selection]?.clip != paste.clip { clips[paste.selection] = ToldClip(clip: paste.clip) }
    let known = clips[paste.selection]?.apps ?? [:]
    switch known[AppLabel(paste.subject)] {
    case .persons: return nil
    case .others: return false
    case nil: return known.count < Self.mostLabels ? !paste.isList : nil
    }
  }

  /// Takes note of a paste; whether the person is to be told, as far as its clip goes.
  mutating func note(_ paste: RefusedPaste, isPersons: Bool) -> Bool {
    let hadOthers = clips[paste.selection]?.hasOthers ?? false
    clips[paste.selection]?.apps[AppLabel(paste.subject)] = isPersons ? .persons : .others
    if !isPersons { clips[paste.selection]?.hasOthers = true }
    return isPersons || !hadOthers
  }

  /// The app is to be told of anew if the person pastes there.
  mutating func forget(_ app: AppLabel, on selection: NamedAtom) {
    if case .persons? = clips[selection]?.apps[app] { clips[selection]?.apps[app] = nil }
  }

  /// A new policy: what is refused now is told anew.
  mutating func forgetClips() { clips = [:] }

  // MARK: all else

  /// Whether what is written down here was told of a moment ago.
  mutating func isRepeated(_ record: AuditRecord, at now: MonotonicTime) -> Bool {
    let app = record.kind == .drag ? nil : (record.destination ?? record.source).map { AppLabel($0) }
    let label = RecordLabel(app: app, kind: record.kind, outcome: record.outcome, limit: record.limit)
    labels = labels.filter { now < $0.value.advanced(byMilliseconds: Self.restMilliseconds) }
    guard labels[label] == nil, labels.count < Self.mostLabels else { return true }
    labels[label] = now
    return false
  }

  /// Takes room for one more in this minute: whether it is the last; `nil` when there is no room.
  mutating func admit(isPersons: Bool, at now: MonotonicTime) -> Bool? {
    let most = isPersons ? Self.mostOfPerson : Self.mostOfOthers
    var recent = (times[isPersons] ?? []).filter { now < $0.advanced(byMilliseconds: Self.windowMilliseconds) }
    guard recent.count < most else {
      leftOut += 1
      return nil
    }
    recent.append(now)
    times[isPersons] = recent
    return recent.count == most
  }

  /// The latest one that took room wasn't shown: the room is free again.
  mutating func giveBack(isPersons: Bool) { _ = times[isPersons]?.popLast() }
}

// Who is told what. It comes last of all effects, so that nobody waits for it.
extension Bridge {
  /// Notices that were due and not shown, since there were too many.
  public var noticesLeftOut: Int { told.leftOut }

  /// A key was held back: the shell's record of it, and what the person is told.
  public mutating func keyHeldBack(_ record: AuditRecord, at now: MonotonicTime) -> [Effect] {
    [.audit(record)] + attendPerson([.audit(record)], at: now)
  }

  /// Nobody could show `notice`, so it takes no room among those of this minute.
  public mutating func noticeNotShown(_ notice: Notice) { told.giveBack(isPersons: notice.isPersons) }

  /// What the person is to be told of `effects`, and what has become of open questions.
  mutating func attendPerson(_ effects: [Effect], at now: MonotonicTime) -> [Effect] {
    let refused = refusedPastes
    refusedPastes = []
    var more = refused.flatMap { consider($0) }
    for case .audit(let record) in effects where record.notifies {
      // A paste of a held clip has been considered, or will be when it comes again.
      let isConsidered =
        record.limit == nil
        && refused.contains { policyName(of: $0.selection) == record.selection && $0.subject == record.destination }
      if !isConsidered { more += consider(record, at: now) }
    }
    return more + settleAsks(at: now)
  }

  private mutating func consider(_ paste: RefusedPaste) -> [Effect] {
    guard paste.decision.obligations.notify ?? true || mayBeAllowed(paste), let wantsFocus = told.wantsFocus(of: paste),
      let number = told.ask(.paste(paste))
    else { return [] }
    return [.readPerson(number, of: paste.subject, wantsFocus: wantsFocus)]
  }

  private mutating func consider(_ record: AuditRecord, at now: MonotonicTime) -> [Effect] {
    guard !told.isRepeated(record, at: now) else { return [] }
    // A key, a press, what is being dragged and an action of the menu: that was the person.
    let isPersons =
      record.outcome == .refusedByKey || record.kind == .drag || record.kind == .action
      || record.kind == .paste && record.selection == policyName(of: atoms.primary)
    if isPersons { return tell(record, isPersons: true, at: now) }
    guard let subject = record.destination ?? record.source, let number = told.ask(.record(record)) else {
      return tell(record, isPersons: false, at: now)
    }
    return [.readPerson(number, of: subject, wantsFocus: true)]
  }

  /// It was looked who is behind something.
  mutating func personRead(_ number: UInt64, _ sign: PersonSign, at now: MonotonicTime) -> [Effect] {
    switch told.answered(number) {
    case nil: []
    case .record(let record): tell(record, isPersons: sign != .behind, at: now)
    case .paste(let paste): concludePaste(paste, sign, number: number, at: now)
    }
  }

  private mutating func concludePaste(
    _ paste: RefusedPaste, _ sign: PersonSign, number: UInt64, at now: MonotonicTime
  ) -> [Effect] {
    // Asked before, so that the app may have been told of meanwhile.
    guard let wantsFocus = told.wantsFocus(of: paste), sign != .behind || !paste.isList else { return [] }
    // An app that was told of in the background is told of again only with a key; it may be allowed all the same.
    let isDue = (sign != .behind || wantsFocus) && told.note(paste, isPersons: sign != .behind)
    var effects: [Effect] = []
    var number = number
    let mayBeAllowed = mayBeAllowed(paste)
    if mayBeAllowed {
      let (ask, over) = openAsk(about: paste, number: number, at: now)
      (number, effects) = (ask.number, over)
    }
    guard isDue, paste.decision.obligations.notify ?? true else { return effects }
    let record = record(
      .paste, on: paste.selection, source: paste.source, destination: paste.subject, decision: paste.decision,
      outcome: paste.outcome, targets: paste.targets)
    return effects
      + tell(record, number: number, offersAllowOnce: mayBeAllowed, isPersons: sign != .behind, at: now)
  }

  private mutating func tell(
    _ record: AuditRecord, number: UInt64? = nil, offersAllowOnce: Bool = false, isPersons: Bool,
    at now: MonotonicTime
  ) -> [Effect] {
    guard let isLast = told.admit(isPersons: isPersons, at: now) else { return [] }
    return [
      .tell(
        Notice(
          number: number ?? told.next(), record: record, offersAllowOnce: offersAllowOnce, isPersons: isPersons,
          isLast: isLast))
    ]
  }
}
