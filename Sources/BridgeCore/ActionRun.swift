import Boards
import ContentActions
import Policy
import Selection

/// What the shell has to run: it can't be made without a grant.
public struct ActionRun: Hashable, Sendable {
  /// Tells the runs apart.
  public var number: UInt64
  /// What is to be done.
  public var action: ContentAction
  /// The program that does it, by its path.
  public var program: String
  /// What it is given.
  public var input: Representation
  /// The most bytes that it may make.
  public var outputBytes: Int
  /// Why the content may move.
  public var grant: Grant
}

/// How a run ended, for whoever asked for it.
public enum ActionOutcome: Hashable, Sendable {
  /// The result is on the clipboard, or on this board, under these targets.
  case made(targets: [String], bytes: Int, board: String? = nil)
  /// The policy refused: the program may not have the content, or what it made may not be kept.
  case refused(Reason, message: String?)
  /// There is no clip that it fits.
  case unfit
  /// Too many run already, or too many were done one after the other.
  case busy
  /// Somebody copied, or the clip ended or had its one paste, while it ran: the result is dropped.
  case overtaken
  /// There is no board of this name, or neither the active app nor the action's program may write it.
  case noBoard(String)
  /// What it would be made of isn't put on boards: it is secret, may be pasted once, or is for fewer than the board's
  /// members.
  case notForBoard(String)
  /// The board has no room for the result.
  case noRoom(String, BoardRefusal)
  /// It gave nothing.
  case failed(ActionFailure)
}

/// Whether an action can be run now.
public enum ActionFit: Hashable, Sendable {
  /// It would be given this form of the clip.
  case fits(target: String)
  /// There is no clip, or nothing in it that the action takes.
  case unfit
  /// The policy refuses.
  case refused(Reason)
}

/// A run that hasn't ended.
struct OpenRun: Sendable {
  let action: ContentAction
  let program: Subject
  let input: Representation
  let inputFacts: ContentFacts
  /// The clip that it was given a part of.
  let clip: UInt64
  /// By whose right the result goes to its board; `nil` for one that goes to CLIPBOARD.
  let placer: Subject?
}

extension Bridge {
  /// Runs at a time. Our choice: two processors, and each run may use half a gigabyte.
  public static let mostRuns = 4

  /// A program that isn't started yet, as rules see it: its path is certain, since we start it. The run's number stands
  /// for the process's.
  static func subject(ofProgram path: String, run: UInt64) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: 0, startTime: run)), executable: Fact(path, .attested))
  }

  /// Whether `action` fits CLIPBOARD's clip, and may have it. With a `reader`, also whether that one may paste what the action
  /// would be given: a menu shows in an app what concerns it. `active` is the active app, by whose right a result may go to
  /// a board.
  public func fit(
    of action: ContentAction, program: String, reader: Subject?, active: Subject? = nil, at now: MonotonicTime
  ) -> ActionFit {
    guard let clip = currentClip, let entry = entry(for: action, of: clip) else { return .unfit }
    let subject = Self.subject(ofProgram: program, run: runCount + 1)
    if case .board(let name) = action.destination {
      guard !clip.isSensitive, placer(on: name, active: active, program: subject) != nil else { return .unfit }
    }
    for asking in [subject, reader].compactMap(\.self) {
      switch access(to: entry, of: clip, on: atoms.clipboard, for: asking, at: now) {
      case .granted: continue
      case .withheld: return .unfit
      case .refused(let decision): return .refused(decision.reason)
      }
    }
    return .fits(target: entry.representation.target.name)
  }

  /// Somebody wants `action` run on CLIPBOARD's clip. It is decided as a paste by the program that does it; the result is
  /// decided as a copy of that program's and of the clip's source together. `active` is the active app.
  ///
  /// `.runAction` asks for ``actionEnded(_:_:targets:ownedBy:time:at:)``; `.concludeAction` says how it ended.
  public mutating func actionRequested(
    _ action: ContentAction, program: String, number: UInt64, active: Subject? = nil, at now: MonotonicTime
  ) -> [Effect] {
    let effects = begin(action, program: program, number: number, active: active, at: now)
    return effects + attendPerson(effects, at: now)
  }

  private mutating func begin(
    _ action: ContentAction, program: String, number: UInt64, active: Subject?, at now: MonotonicTime
  ) -> [Effect] {
    let conclude = { (outcome: ActionOutcome) in [Effect.concludeAction(number, outcome)] }
    guard let clip = currentClip, let entry = entry(for: action, of: clip) else { return conclude(.unfit) }
    runCount += 1
    let subject = Self.subject(ofProgram: program, run: runCount)
    let form = entry.representation
    var placer: Subject?
    if case .board(let name) = action.destination {
      placer = self.placer(on: name, active: active, program: subject)
      if placer == nil || clip.isSensitive {
        return boardRefusal(of: action, for: subject, clip, form, on: name, isWritable: placer != nil, number: number)
      }
    }
    let decision: Decision
    let grant: Grant
    switch access(to: entry, of: clip, on: atoms.clipboard, for: subject, at: now) {
    case .withheld: return conclude(.unfit)
    case .refused(let denial):
      var refusal = record(
        .action, on: atoms.clipboard, source: clip.source, destination: subject, decision: denial, outcome: .refused,
        targets: [form.target.name], bytes: form.payload.count)
      refusal.actionName = action.name
      return [.audit(refusal)] + conclude(.refused(denial.reason, message: denial.obligations.message))
    case .granted(let granted, let permission): (decision, grant) = (granted, permission)
    }
    guard runs.count < Self.mostRuns, (clip.derivation?.steps.count ?? 0) < Derivation.mostSteps else {
      var record = record(
        .action, on: atoms.clipboard, source: clip.source, destination: subject, decision: decision, outcome: .refused,
        targets: [form.target.name], bytes: form.payload.count, limit: .actionCount)
      record.actionName = action.name
      return [.audit(record)] + conclude(.busy)
    }
    let facts = ContentFacts(
      target: form.target.name, size: form.payload.count, isSensitive: clip.isSensitive)
    runs[number] = OpenRun(
      action: action, program: subject, input: form, inputFacts: facts, clip: clip.number, placer: placer)
    return [
      .runAction(
        ActionRun(
          number: number, action: action, program: program, input: form, outputBytes: policy.limits.clipBytes,
          grant: grant))
    ]
  }

  /// A run has ended.
  ///
  /// - Parameters:
  ///   - result: what it made.
  ///   - targets: the server's numbers for the targets that it makes, in their order.
  ///   - owner: our own window, which owns CLIPBOARD unless somebody has copied.
  ///   - time: the server's time, for the new claim.
  public mutating func actionEnded(
    _ number: UInt64, _ result: Result<Payload, ActionFailure>, targets: [Target], ownedBy owner: Window,
    time: ServerTime, at now: MonotonicTime
  ) -> [Effect] {
    let effects = end(number, result, targets: targets, ownedBy: owner, time: time, at: now)
    return effects + attendPerson(effects, at: now)
  }

  private mutating func end(
    _ number: UInt64, _ result: Result<Payload, ActionFailure>, targets: [Target], ownedBy owner: Window,
    time: ServerTime, at now: MonotonicTime
  ) -> [Effect] {
    guard let run = runs.removeValue(forKey: number) else { return [] }
    // A clip that may be pasted once, and has been or is being, mustn't come back as a result.
    guard let clip = currentClip, clip.number == run.clip, usedUp[atoms.clipboard] == nil else {
      return concluded(number, run, clip: nil, .overtaken, .left)
    }
    let payload: Payload
    switch result {
    case .failure(let failure): return concluded(number, run, clip: clip, .failed(failure), .failed)
    case .success(let made) where made.isEmpty: return concluded(number, run, clip: clip, .failed(.empty), .failed)
    case .success(let made): payload = made
    }
    guard totalByteCount + payload.count <= policy.limits.totalBytes else {
      return concluded(number, run, clip: clip, .failed(.outputLimit), .failed)
    }
    let forms = forms(of: payload, targets, of: clip)
    if case .board(let name) = run.action.destination { return placed(number, run, of: clip, forms, on: name) }
    let judged = judge(derived(from: clip, by: run), forms, on: atoms.clipboard)
    guard judged.clip.entries.contains(where: { targets.contains($0.representation.target) }) else {
      let refusal = judged.refusals.first?.decision
      let reason = refusal?.reason ?? judged.withheldBy ?? .builtInDefault
      return concluded(
        number, run, clip: clip, .refused(reason, message: refusal?.obligations.message), .refused, refusal: refusal)
    }
    let names = judged.clip.entries.map(\.representation.target.name)
    var record = actionRecord(run, source: clip.source, outcome: .kept)
    record.verdict = judged.clip.entries[0].decision.verdict
    record.reason = judged.clip.entries[0].decision.reason
    (record.targets, record.bytes) = (names, payload.count)
    let holding = Holding(time: time, clip: judged.clip)
    return claim(
      Claim(holding, expecting: generalClip?.owner ?? owner, records: [record], run: number), on: atoms.clipboard)
  }

  /// What the outcome of a claim means for the run that made its clip.
  func conclusion(of claim: Claim, _ outcome: ClaimOutcome) -> [Effect] {
    guard let number = claim.run, let clip = claim.holding.clip else { return [] }
    switch outcome {
    case .superseded: return [.concludeAction(number, .overtaken)]
    case .held:
      let record = claim.records.first
      return [
        .concludeAction(
          number, .made(targets: record?.targets ?? [], bytes: record?.bytes ?? clip.byteCount))
      ]
    }
  }

  private var currentClip: Clip? { generalClip?.clip }

  /// What is on CLIPBOARD and who owns it, as far as we have it: ours, or left with its source; `nil` for nothing.
  var generalClip: (clip: Clip, owner: Window?)? {
    switch phases[atoms.clipboard] {
    case .held(let holding): holding.clip.map { ($0, nil) }
    case .guarded(let guarded): guarded.clip.map { ($0, guarded.owner) }
    default: nil
    }
  }

  private func entry(for action: ContentAction, of clip: Clip) -> Clip.Entry? {
    // Items of 16 or 32 bits are numbers of the server's, nothing that a program could read.
    let entries = clip.entries.filter { $0.representation.format == 8 && !$0.representation.payload.isEmpty }
    guard let name = action.input(among: entries.map(\.representation.target.name)) else { return nil }
    return entries.first { $0.representation.target.name == name }
  }

  /// The clip that the result becomes: the source's, cut or copied, as old and as secret as what it was made of.
  mutating func derived(from clip: Clip, by run: OpenRun) -> Clip {
    clipCount += 1
    var derivation = clip.derivation ?? Derivation()
    derivation.steps.append(Derivation.Step(program: run.program, input: run.inputFacts))
    return Clip(
      number: clipCount, source: clip.source, kind: clip.kind, copiedAt: clip.copiedAt, isSensitive: clip.isSensitive,
      listsSaveTargets: clip.listsSaveTargets, derivation: derivation, confinement: clip.confinement,
      repeated: clip.repeated, couldBeCut: clip.couldBeCut, isLocalOnly: clip.isLocalOnly, entries: [])
  }

  /// The result under all its targets, and what marks a secret one for others.
  private func forms(of payload: Payload, _ targets: [Target], of clip: Clip) -> [Representation] {
    let markers = TargetList.secretMarkers
    let marks = clip.entries.map(\.representation).filter {
      $0.target.name == markers.valued || markers.listed.contains($0.target.name)
    }
    return targets.map { Representation(target: $0, type: $0, format: 8, payload: payload) }
      + (clip.isSensitive ? marks : [])
  }

  func actionRecord(_ run: OpenRun, source: Subject?, outcome: AuditRecord.Outcome) -> AuditRecord {
    AuditRecord(
      kind: .action, selection: name(of: run.action.destination), source: source, destination: run.program,
      targets: [run.inputFacts.target], bytes: run.inputFacts.size, verdict: .allow, reason: .builtInDefault,
      outcome: outcome, actionName: run.action.name, isAlwaysWritten: true)
  }

  private func name(of destination: ContentAction.Destination) -> String {
    switch destination {
    case .clipboard: policyName(of: atoms.clipboard)
    case .board(let name): name
    }
  }

  func concluded(
    _ number: UInt64, _ run: OpenRun, clip: Clip?, _ outcome: ActionOutcome, _ recorded: AuditRecord.Outcome,
    refusal: Decision? = nil
  ) -> [Effect] {
    var record = actionRecord(run, source: clip?.source, outcome: recorded)
    if case .failed(let failure) = outcome {
      record.failure = failure
      record.notifies = true
    }
    if case .refused(let reason, let message) = outcome {
      (record.verdict, record.reason, record.message) = (refusal?.verdict ?? .deny, reason, message)
      record.notifies = refusal?.obligations.notify ?? true
    }
    return [.audit(record), .concludeAction(number, outcome)]
  }
}
