import Policy
import Selection

@testable import BridgeCore

/// What the core promises, watched from outside: by what goes in and what comes out, with no look at how it decides.
struct ScenePromises {
  /// Why the core was called.
  enum Cause {
    case request(ConversionRequest, Subject)
    case pairs(ConversionRequest, [AtomPair], Subject)
    case deletion(TransferKey)
    case rejection(TransferKey)
    case gone(Window)
    case deadline
    case other

    init(_ event: SelectionEvent, from subject: Subject?, asked askers: [ConversionRequest: Subject]) {
      switch event {
      case .conversionRequested(let request): self = .request(request, subject ?? .unknown)
      case .pairsRead(let request, let pairs): self = .pairs(request, pairs ?? [], askers[request] ?? .unknown)
      case .propertyDeleted(let window, let property):
        self = .deletion(TransferKey(window: window, property: property))
      case .storeRejected(let window, let property):
        self = .rejection(TransferKey(window: window, property: property))
      case .requestorGone(let window): self = .gone(window)
      case .deadlineReached: self = .deadline
      default: self = .other
      }
    }
  }

  /// An incremental transfer as its requestor sees it.
  private struct Transfer {
    let payload: Payload
    var nextChunk = 0
    /// Whether what was stored last has been taken.
    var isTaken = false
  }

  /// What the person has allowed: one paste of one clip by one app.
  private final class Allowance {
    let clip: SceneClip
    let subject: Subject
    let until: MonotonicTime
    var usedAt: MonotonicTime?

    init(_ clip: SceneClip, _ subject: Subject, until: MonotonicTime) {
      (self.clip, self.subject, self.until) = (clip, subject, until)
    }

    func covers(_ clip: SceneClip, _ subject: Subject, at now: MonotonicTime) -> Bool {
      self.clip === clip && self.subject.isSameApp(as: subject) && now < until
        && usedAt.map { now < $0.advanced(byMilliseconds: 1_000) } ?? true
    }
  }

  private let atoms: SceneAtoms
  private var allowances: [Allowance] = []
  /// When notices were shown.
  private var notices: [MonotonicTime] = []
  private var judge: PlainJudge
  private var largestTotal: Int
  /// The clip that may be served: of the newest copy the core has heard of, until it is cleared.
  private var newest: SceneClip?
  private var newestTime = ServerTime(0)
  private var conversions: Set<ConversionID> = []
  private var transfers: [TransferKey: Transfer] = [:]
  private var watched: Set<Window> = []
  private var unanswered: [ConversionRequest: Int] = [:]
  /// Who asked, for requests whose pairs are read.
  private(set) var askers: [ConversionRequest: Subject] = [:]
  /// What was answered last, for scenes that go on from there.
  private(set) var lastAnswer: (request: ConversionRequest, property: Atom)?
  private(set) var lastList: [Atom] = []

  init(policy: PolicySet, atoms: SceneAtoms) {
    self.atoms = atoms
    judge = PlainJudge(policy)
    largestTotal = policy.limits.totalBytes
  }

  // MARK: what happens

  mutating func copied(_ clip: SceneClip) {
    // What is offered again by another program stays its first source's; the one word is all that clips here share.
    clip.earlierSources = newest.map(\.sources) ?? []
    (newest, newestTime) = (clip, clip.time)
  }

  mutating func cleared(_ change: OwnerChange) {
    newestTime = change.selectionTime
    if change.cause == .set { newest = nil }
  }

  mutating func allowed(_ ask: OpenAsk, at now: MonotonicTime) throws(Finding) {
    guard let newest else { throw Finding("a paste is allowed of a clip that is gone") }
    allowances.append(Allowance(newest, ask.destination, until: now.advanced(byMilliseconds: 30_000)))
  }

  mutating func replaced(_ policy: PolicySet) {
    allowances = []
    judge = PlainJudge(policy)
    largestTotal = max(largestTotal, policy.limits.totalBytes)
  }

  /// A new process begins: all that was under way is over, and only a clip that was retained may still be served.
  mutating func restarted(_ policy: PolicySet, keepsClip: Bool) {
    // What was kept under a larger limit stays, as it does when the policy is replaced.
    replaced(policy)
    if !keepsClip { newest = nil }
    (conversions, transfers, watched, unanswered, askers, notices) = ([], [:], [], [:], [:], [])
  }

  mutating func forgetWatch(of window: Window) { watched.remove(window) }

  mutating func awaitAnswer(_ request: ConversionRequest, from subject: Subject) {
    unanswered[request, default: 0] += 1
    askers[request] = subject
  }

  // MARK: what has to come of it

  /// `mayWait` says that content is being taken in: a restricted source's readers wait for its end, as a hand-over does.
  mutating func checkAnswered(_ request: ConversionRequest, mayWait: Bool) throws(Finding) {
    guard !mayWait else { return }
    try Finding.unless(unanswered[request] == nil, "a request for \(request.target) is not answered")
  }

  func checkAllAnswered() throws(Finding) {
    try Finding.unless(unanswered.isEmpty, "never answered: \(unanswered.keys.map(\.target.name))")
  }

  func checkClaim(time: ServerTime) throws(Finding) {
    try Finding.unless(time == newestTime, "claims as of \(time); the newest change was at \(newestTime)")
  }

  mutating func check(_ effects: [Effect], because cause: Cause, at now: MonotonicTime) throws(Finding) {
    /// Properties in which something was stored for this cause.
    var stored: Set<TransferKey> = []
    for effect in effects {
      switch effect {
      case .convert(let id, _, let target, _):
        try Finding.unless(conversions.insert(id).inserted, "conversion \(id.number) is used twice")
        try Finding.unless(
          target == atoms.known.targets
            || !TargetList.metadata.contains(target.name)
              && !TargetList.sideEffects.contains(target.name),
          "asks an owner for \(target)")
      case .store(let content):
        let key = TransferKey(window: content.window, property: content.property)
        if transfers[key] != nil, !stored.contains(key), case .deletion(key) = cause {
          try checkChunk(content, of: key)
        } else {
          try Finding.unless(
            content.chunk == (content.payload.isEmpty ? nil : 0) && content.payload.chunkCount <= 1,
            "stores a part of a clip that isn't announced")
          try checkBegin(key, because: cause, at: now) { $0.hasSameBytes(as: content.payload) }
        }
        stored.insert(key)
      case .storeMetadata(let window, let property, let value):
        let key = TransferKey(window: window, property: property)
        try check(value, in: key, because: cause, at: now)
        stored.insert(key)
      case .notify(let request, let property): try checkNotice(request, property, stored: stored)
      case .watch(let window):
        try Finding.unless(watched.insert(window).inserted, "watches \(window) twice")
      case .unwatch(let window):
        // The shell has forgotten a window that is gone.
        if case .gone(window) = cause { break }
        try Finding.unless(watched.remove(window) != nil, "no longer watches \(window), which it didn't")
      case .retain(_, let held): if let held { try checkRetained(held) }
      case .giveUp, .readPointer, .guardPastes, .releasePointer, .releaseKeyboard, .clearCutBuffer, .retake, .standIn,
        .standDown:
        throw Finding(
          "does something to PRIMARY or to a drag, which nobody has touched, or to a forged claim that nobody made")
      case .runAction, .concludeAction: throw Finding("runs an action, which nobody asked for")
      case .seize, .answer, .announce, .loadBoards, .keepItem, .forgetItems, .forgetBoard:
        throw Finding("does something to boards, of which there are none")
      case .tell(let notice):
        notices = notices.filter { now < $0.advanced(byMilliseconds: 60_000) } + [now]
        try Finding.unless(notices.count <= 13, "\(notices.count) notices in a minute")
        try Finding.unless(
          !notice.offersAllowOnce || notice.record.verdict == .ask, "offers to allow what no rule asks about")
      case .readAnswer, .endConversion, .claim, .confirm, .reassert, .readPairs, .audit, .readPerson, .closeNotice:
        break
      }
    }
  }

  /// Only the newest clip outlives the process, and never a secret one.
  private func checkRetained(_ held: HeldClip) throws(Finding) {
    guard let newest else { throw Finding("a clip is retained after it was cleared") }
    try Finding.unless(!newest.isSensitive, "a secret is retained")
    for form in held.representations {
      let isNewest = newest.forms[form.target]?.contains { $0.hasSameBytes(as: form.payload) } ?? false
      try Finding.unless(isNewest, "what is retained isn't the newest clip")
      let isKept = judge.keeps(facts(form.target, form.payload, of: newest), of: newest.source)
      try Finding.unless(isKept, "\(form.target) is retained, which may not be kept")
    }
  }

  private mutating func checkNotice(
    _ request: ConversionRequest, _ property: Atom, stored: Set<TransferKey>
  ) throws(Finding) {
    guard let count = unanswered[request] else { throw Finding("a request for \(request.target) is answered again") }
    unanswered[request] = count > 1 ? count - 1 : nil
    lastAnswer = (request, property)
    let key = TransferKey(window: request.requestor, property: property)
    if property == .none {
      let own = request.property == .none ? request.target.atom : request.property
      try Finding.unless(
        !stored.contains(TransferKey(window: request.requestor, property: own)), "refuses and stores all the same")
    } else {
      try Finding.unless(
        property == (request.property == .none ? request.target.atom : request.property), "answers in another property")
      try Finding.unless(stored.contains(key), "says that \(request.target) is stored, and it isn't")
    }
  }

  private mutating func checkChunk(_ content: ContentStore, of key: TransferKey) throws(Finding) {
    let transfer = transfers[key]!
    try Finding.unless(
      content.payload.hasSameBytes(as: transfer.payload), "the clip changes in the middle of a transfer")
    let isLast = transfer.nextChunk == transfer.payload.chunkCount
    try Finding.unless(content.chunk == (isLast ? nil : transfer.nextChunk), "chunks out of order")
    transfers[key]!.nextChunk += 1
    if isLast { transfers[key] = nil }
  }

  /// Content begins to move. Only a request may cause that, only the newest clip may, and only where the policy lets it.
  private func checkBegin(
    _ key: TransferKey, because cause: Cause, at now: MonotonicTime, _ isPayload: (Payload) -> Bool
  ) throws(Finding) {
    let subject: Subject
    let targets: [Target]
    switch cause {
    case .request(let request, let from) where request.requestor == key.window:
      (subject, targets) = (from, [request.target])
    case .pairs(let request, let pairs, let from) where request.requestor == key.window:
      (subject, targets) = (from, pairs.filter { $0.property == key.property }.map(\.target))
    default:
      // Who asked while the content of a restricted source was taken in has waited.
      let waiting = askers.first { request, _ in
        unanswered[request] != nil && request.requestor == key.window
          && (request.property == .none ? request.target.atom : request.property) == key.property
      }
      guard let waiting else { throw Finding("content is stored that nobody asked for") }
      (subject, targets) = (waiting.value, [waiting.key.target])
    }
    guard let newest else { throw Finding("content is served after it was cleared") }
    let found = targets.filter { target in newest.payloads(as: target).contains(where: isPayload) }
    try Finding.unless(!found.isEmpty, "what is served isn't the newest clip")
    try Finding.unless(
      found.contains { mayHave($0, of: newest, subject, at: now, isPayload) }, "content goes to one who may not have it"
    )
    if newest.isSensitive {
      // 60 s, and what a capture takes that is answered late.
      let latest = newest.takenAt.advanced(byMilliseconds: 200_000)
      try Finding.unless(now < latest, "a secret is served long after its time")
    }
    try checkOneShot(newest, subject, found, isPayload)
  }

  private func mayHave(
    _ target: Target, of clip: SceneClip, _ subject: Subject, at now: MonotonicTime, _ isPayload: (Payload) -> Bool
  ) -> Bool {
    let allowance = allowances.first { $0.covers(clip, subject, at: now) }
    return clip.payloads(as: target).filter(isPayload).contains { payload in
      clip.sources.contains { source in
        let facts = facts(target, payload, of: clip)
        if judge.permits(facts, of: source, to: subject) { return true }
        guard let allowance, judge.permits(facts, of: source, to: subject, allowedOnce: true) else { return false }
        allowance.usedAt = allowance.usedAt ?? now
        return true
      }
    }
  }

  private func facts(_ target: Target, _ payload: Payload, of clip: SceneClip) -> ContentFacts {
    ContentFacts(target: target.name, size: payload.count, isSensitive: clip.isSensitive)
  }

  private func checkOneShot(
    _ clip: SceneClip, _ subject: Subject, _ found: [Target], _ isPayload: (Payload) -> Bool
  ) throws(Finding) {
    if let used = clip.usedBy { try Finding.unless(used == subject, "a one-shot clip is served to a second program") }
    guard !clip.hasSharedWord else { return }
    let isOneShot = found.contains { target in
      clip.payloads(as: target).filter(isPayload).contains { payload in
        payload.chunkCount <= 1
          && judge.isOneShot(facts(target, payload, of: clip), of: clip.source, to: subject)
      }
    }
    if isOneShot, !subject.isSameApp(as: clip.source) { clip.usedBy = clip.usedBy ?? subject }
  }

  private mutating func check(
    _ value: MetadataValue, in key: TransferKey, because cause: Cause, at now: MonotonicTime
  ) throws(Finding) {
    switch value {
    case .incremental(let bytes):
      var begun: Payload?
      try checkBegin(key, because: cause, at: now) { payload in
        if payload.count == bytes { begun = payload }
        return payload.count == bytes
      }
      try checkLimits(key)
      transfers[key] = Transfer(payload: begun!)
    case .targets(let list): try checkList(list, because: cause, at: now)
    case .replacement(_, let bytes):
      try Finding.unless(bytes == Array(ScenePolicy.replacement.utf8), "words that no rule has")
    case .pairs(let list):
      guard case .pairs(_, let pairs, _) = cause, list.count == pairs.count * 2 else {
        throw Finding("a pair list of another length")
      }
    case .time, .null: break
    }
  }

  private func checkLimits(_ key: TransferKey) throws(Finding) {
    let others = transfers.keys.filter { $0 != key }
    let limits = judge.policy.limits
    try Finding.unless(others.count < limits.transfers, "more transfers than the limit")
    let mine = others.count { $0.window.id >> 21 == key.window.id >> 21 }
    try Finding.unless(mine < limits.transfersPerClient, "more transfers to one client than the limit")
  }

  private mutating func checkList(
    _ list: [Atom], because cause: Cause, at now: MonotonicTime
  ) throws(Finding) {
    lastList = list.filter { atom in atoms.content.contains { $0.atom == atom } }
    let subject: Subject
    switch cause {
    case .request(_, let from), .pairs(_, _, let from): subject = from
    default: throw Finding("a list that nobody asked for")
    }
    for target in atoms.content where list.contains(target.atom) {
      guard let newest else { throw Finding("\(target) is listed after it was cleared") }
      let isAllowed = newest.forms[target].map { forms in
        forms.contains { form in
          let isAllowed = allowances.contains { $0.covers(newest, subject, at: now) }
          return newest.sources.contains {
            judge.permits(facts(target, form, of: newest), of: $0, to: subject, allowedOnce: isAllowed)
          }
        }
      }
      let hasReplacement = (judge.policy.managed.rules).contains { $0.obligations.replacement != nil }
      try Finding.unless(
        isAllowed ?? false || hasReplacement && TargetList.isPlainText(target.name),
        "\(target) is listed to one who may not have it")
    }
  }

  // MARK: after each call

  /// Transfers end for a reason, each with a record, and a window is watched exactly as long as one goes to it.
  mutating func checkTransfers(of bridge: Bridge, after effects: [Effect], because cause: Cause) throws(Finding) {
    let ended = transfers.keys.filter { bridge.transfers[$0] == nil }
    for key in ended {
      transfers[key] = nil
      switch cause {
      case .request(let request, _), .pairs(let request, _, _):
        try Finding.unless(request.requestor == key.window, "another's request ends a transfer")
      case .rejection(key), .gone(key.window), .deadline: break
      default: throw Finding("a transfer ends without a reason")
      }
    }
    let written = effects.count { if case .audit(let record) = $0 { record.outcome == .incomplete } else { false } }
    try Finding.unless(written >= ended.count, "a transfer ends without a record")
    try Finding.unless(Set(bridge.transfers.keys) == Set(transfers.keys), "a transfer that nothing announced")
    try Finding.unless(watched == Set(transfers.keys.map(\.window)), "watched windows and transfers differ")
  }

  /// Counts that a peer could drive up.
  func settle(_ bridge: Bridge, at now: MonotonicTime) throws(Finding) {
    try Finding.unless(bridge.totalByteCount >= 0, "less than nothing is held")
    try Finding.unless(
      bridge.totalByteCount <= largestTotal, "\(bridge.totalByteCount) bytes are held, \(largestTotal) is the limit")
    try Finding.unless(bridge.asks.count <= Bridge.mostAsks, "questions to the person pile up")
    try Finding.unless(bridge.floods.count <= Bridge.floodClients + 1, "counts of refusals pile up")
  }
}
