import Policy
import Selection

/// A paste that a rule refuses until the person allows it.
struct Ask: Sendable {
  /// How far it is.
  enum Standing: Sendable {
    /// The person has said nothing yet; then `granted`, or it is over.
    case open
    /// The person has allowed it: the next paste is served; then `used`, or it is over.
    case granted
    /// That paste is under way. A paste is up to 27 conversions, and all of them are served.
    case used
  }

  let number: UInt64
  let selection: NamedAtom
  /// The clip that it is about; with that it ends.
  let clip: UInt64
  let source: Subject
  let destination: Subject
  let decision: Decision
  let targets: [String]
  var standing = Standing.open
  /// When it ends, whatever has become of it.
  var until: MonotonicTime

  /// Whether what is allowed here is allowed to `subject`: the same app, and of the apps that share one process the same.
  func isOf(_ subject: Subject) -> Bool {
    destination.isSameApp(as: subject) && destination.windowClass?.value == subject.windowClass?.value
  }
}

/// A paste that waits for the person's word, for those who show it.
public struct OpenAsk: Hashable, Sendable {
  /// Its number, which `Bridge.allowOnce` takes.
  public var number: UInt64
  /// The selection, as policies call it.
  public var selection: String
  /// Who the clip came from.
  public var source: Subject
  /// Who wants to paste.
  public var destination: Subject
  /// The rule or default that asks.
  public var reason: Reason
  /// The rule's message.
  public var message: String?
  /// Whether the person has allowed it.
  public var isGranted: Bool
  /// When it ends.
  public var until: MonotonicTime

  init(_ ask: Ask, selection: String) {
    number = ask.number
    self.selection = selection
    source = ask.source
    destination = ask.destination
    reason = ask.decision.reason
    message = ask.decision.obligations.message
    isGranted = ask.standing != .open
    until = ask.until
  }
}

// `ask`: refused now; once the person has allowed it, the next paste of that app is served (product.md 2). What is allowed is
// one paste of one clip by one app. Only who asks over X for a clip that we hold can be told again, so only there it is
// offered.
extension Bridge {
  /// How long the person may take to allow it. Our choice: a notice is read or not in this time, and a word given later
  /// would be about something forgotten.
  public static let askMilliseconds = 60_000
  /// How long what was allowed waits for the paste (product.md 2).
  public static let allowedMilliseconds = 30_000
  /// Questions that are open at a time; the oldest gives way. Our choice: nobody has as many apps to paste into at once.
  static let mostAsks = 16

  /// Whether the person has allowed this paste.
  func isAllowedOnce(_ clip: Clip, on selection: NamedAtom, for subject: Subject, at now: MonotonicTime) -> Bool {
    !asks.isEmpty
      && asks.values.contains { ask in
        ask.standing != .open && now < ask.until && ask.clip == clip.number && ask.selection == selection
          && ask.isOf(subject)
      }
  }

  /// Content that was allowed once begins to move: what follows within a moment is the same paste, what comes later isn't.
  mutating func noteUse(
    _ decision: Decision, of clip: Clip?, on selection: NamedAtom, by subject: Subject, at now: MonotonicTime
  ) {
    guard decision.verdict == .ask, let clip else { return }
    for (number, ask) in asks
    where ask.standing == .granted && ask.clip == clip.number && ask.selection == selection && ask.isOf(subject) {
      asks[number]?.standing = .used
      asks[number]?.until = min(ask.until, now.advanced(byMilliseconds: Self.pasteMilliseconds))
    }
  }

  /// Whether a word of the person could be put into effect: the program can be told again, and there is one to tell.
  func mayBeAllowed(_ paste: RefusedPaste) -> Bool { paste.decision.isAwaitingPerson && paste.subject.isLocal }

  /// The question about this paste that is open, or becomes so under `number`.
  mutating func openAsk(about paste: RefusedPaste, number: UInt64, at now: MonotonicTime) -> (Ask, over: [Effect]) {
    if let open = asks.values.first(where: {
      $0.standing == .open && $0.clip == paste.clip && $0.selection == paste.selection && $0.isOf(paste.subject)
    }) {
      return (open, [])
    }
    var over: [Effect] = []
    if asks.count >= Self.mostAsks {
      let isOlder = { (one: Ask, other: Ask) in one.number < other.number }
      // What the person has allowed isn't for others to push out.
      let oldest = asks.values.filter { $0.standing == .open }.min(by: isOlder) ?? asks.values.min(by: isOlder)
      over = oldest.map { end($0) } ?? []
    }
    let ask = Ask(
      number: number, selection: paste.selection, clip: paste.clip, source: paste.source, destination: paste.subject,
      decision: paste.decision, targets: paste.targets, until: now.advanced(byMilliseconds: Self.askMilliseconds))
    asks[number] = ask
    return (ask, over)
  }

  /// The questions that are open, and what is allowed, the latest last.
  public var openAsks: [OpenAsk] {
    asks.values.filter { $0.standing != .used }.sorted { $0.number < $1.number }
      .map { OpenAsk($0, selection: policyName(of: $0.selection)) }
  }

  /// The person allows the paste with this number, or the one asked for last: the next paste of that app within 30 s is
  /// served. `nil` when there is no such question any more.
  public mutating func allowOnce(_ number: UInt64?, at now: MonotonicTime) -> (allowed: OpenAsk?, effects: [Effect]) {
    var effects = settleAsks(at: now)
    let open = asks.values.filter { $0.standing == .open && (number ?? $0.number) == $0.number }
    guard var ask = open.max(by: { $0.number < $1.number }) else { return (nil, effects) }
    ask.standing = .granted
    ask.until = now.advanced(byMilliseconds: Self.allowedMilliseconds)
    asks[ask.number] = ask
    effects += [.closeNotice(ask.number), .audit(record(of: ask, .granted))]
    return (OpenAsk(ask, selection: policyName(of: ask.selection)), effects + showAnew(ask))
  }

  /// Ends what is over: its time is up, or its clip is no longer there.
  mutating func settleAsks(at now: MonotonicTime) -> [Effect] {
    guard !asks.isEmpty else { return [] }
    let over = asks.values.filter { now >= $0.until || clipNumber(on: $0.selection) != $0.clip }
    return over.sorted { $0.number < $1.number }.flatMap { end($0) + ($0.standing == .open ? [] : showAnew($0)) }
  }

  /// Ends all of them: under another policy nothing of them counts.
  mutating func endAsks() -> [Effect] { asks.values.sorted { $0.number < $1.number }.flatMap { end($0) } }

  private mutating func end(_ ask: Ask) -> [Effect] {
    asks[ask.number] = nil
    told.forget(AppLabel(ask.destination), on: ask.selection)
    switch ask.standing {
    case .open: return [.closeNotice(ask.number)]
    case .granted: return [.audit(record(of: ask, .dropped))]
    case .used: return []
    }
  }

  /// Programs that keep our list of targets have to ask anew: it differs from now on.
  private func showAnew(_ ask: Ask) -> [Effect] {
    guard case .held(let holding)? = phases[ask.selection], holding.clip?.number == ask.clip else { return [] }
    return [.reassert(selection: ask.selection, time: holding.time)]
  }

  private func clipNumber(on selection: NamedAtom) -> UInt64? {
    guard case .held(let holding)? = phases[selection] else { return nil }
    return holding.clip?.number
  }

  private func record(of ask: Ask, _ outcome: AuditRecord.Outcome) -> AuditRecord {
    AuditRecord(
      kind: .allowOnce, selection: policyName(of: ask.selection), source: ask.source, destination: ask.destination,
      targets: ask.targets, verdict: .ask, reason: ask.decision.reason, outcome: outcome, isAlwaysWritten: true)
  }
}
