import Boards
import Policy
import Selection

/// One copied item (product.md 1).
struct Clip: Sendable {
  /// One representation and who may have it.
  struct Entry: Sendable {
    let representation: Representation
    let decision: Decision
    let audience: Audience
    /// Whose audiences count as well: those of the apps whose clip this one repeats.
    var further: [FurtherAudience] = []
  }

  /// The audience of a clip with the same text that another app has copied a moment before.
  struct FurtherAudience: Sendable {
    let source: Subject
    let audience: Audience
    /// What set it.
    let reason: Reason
  }

  /// Tells this clip's transfers and verdicts from those of later ones.
  let number: UInt64
  let source: Subject
  let kind: AuditRecord.Kind
  /// When its copy began: expiry counts from here.
  let copiedAt: MonotonicTime
  let isSensitive: Bool
  /// Whether the source listed SAVE_TARGETS.
  let listsSaveTargets: Bool
  /// How it was made, where no program copied it.
  var derivation: Derivation?
  /// What it brings from the board it was taken from; `nil` for what comes from none.
  var confinement: Confinement?
  /// Apps beside the source whose rules count, too: the same text was theirs a moment before, or they offer what was the
  /// source's. No app's rules loosen another's.
  var repeated: [Subject] = []
  /// Whether it is called a copy and could be a cut: then the rules about both count.
  var couldBeCut = false
  /// Whether it is for programs of this machine alone.
  var isLocalOnly = false
  /// In the owner's own order.
  var entries: [Entry]

  var byteCount: Int { entries.reduce(0) { $0 + $1.representation.payload.count } }

  /// Whether it may lie on the boards of its source: whose items know of no other app's rules, and of no doubt.
  var isForItsAppsBoards: Bool {
    !couldBeCut && entries.allSatisfy { $0.further.allSatisfy { $0.audience == .everyone } }
  }

  func entry(for target: Target) -> Entry? { entries.first { $0.representation.target == target } }

  /// Secret clips end after 60 s at the latest, unless a rule says otherwise (product.md 5.8).
  static let sensitiveSeconds = 60

  /// When the clip is dropped, if ever: the soonest of what its rules and its board say.
  var expiry: MonotonicTime? {
    let ruled = entries.compactMap(\.decision.obligations.expiresAfterSeconds).min()
    let seconds = ruled ?? (isSensitive ? Self.sensitiveSeconds : nil)
    return [seconds.map { copiedAt.advanced(byMilliseconds: $0 * 1_000) }, confinement?.expiry].compactMap(\.self).min()
  }

  /// Whether the source marked the content as secret, by what it offers.
  static func isMarkedSecret(_ representations: [Representation]) -> Bool {
    representations.contains { form in
      let name = form.target.name
      if TargetList.secretMarkers.listed.contains(name) { return true }
      return name == TargetList.secretMarkers.valued && form.payload.count <= 16
        && form.payload.copiedBytes().elementsEqual("secret".utf8)
    }
  }
}

/// What stays with an item of a board that is offered on CLIPBOARD: it is for those who may read the board, and ends with
/// its time there.
struct Confinement: Hashable, Sendable {
  /// Who may have it.
  let members: BoardMembers
  /// The selection on which its copy was decided.
  let origin: String
  /// When it ends.
  let expiry: MonotonicTime?
}

extension Clip {
  /// The questions that have to be answered for one form of this clip. For a copied clip that is one. What an action made
  /// is the source's as it was given to the action, the source's as it is now, and the action's: so a rule about the
  /// source, about the size or kind of what was copied, or about the program counts as it did before.
  func requests(
    _ action: Action, _ facts: ContentFacts, by destination: Subject? = nil, on selection: String
  ) -> [Request] {
    func ask(_ action: Action, _ source: Subject, _ facts: ContentFacts) -> Request {
      Request(action: action, source: source, destination: destination, selection: selection, content: facts)
    }
    // Whoever cut was the source: the program brings what it made as with a copy.
    let made = action == .cut ? .copy : action
    let asked: [Action] = couldBeCut && action == .copy ? [.copy, .cut] : [action]
    var requests = asked.map { ask($0, source, facts) }
    // An app always has its own copy.
    if destination.map({ !$0.isSameApp(as: source) }) ?? true { requests += repeated.map { ask(action, $0, facts) } }
    for step in derivation?.steps ?? [] {
      requests += asked.map { ask($0, source, step.input) } + [ask(made, step.program, facts)]
    }
    return requests
  }
}

/// A selection of ours.
struct Holding: Sendable {
  /// The time of our claim, which is the source's own.
  let time: ServerTime
  /// What it is held with; `nil` when it is held empty: cleared, denied or expired.
  let clip: Clip?
}

/// How one selection stands.
enum Phase: Sendable {
  /// Nobody owns it, and nothing is to be done about it.
  case unowned
  /// Left with its owner, of which no rule could refuse anything: it doesn't answer, is too large, has nothing to keep, or
  /// is a rival that insists. No restricted source is ever left so.
  case foreign(owner: Window, source: Subject, isRival: Bool)
  /// Taken from us again and again, each time right upon our claim: met when `until` comes, with what is the newest claim
  /// then. Then `capturing` or `claiming`.
  case deferred(OwnerChange, by: Subject, until: MonotonicTime)
  /// A change of owner came before our claim; its event says which. If the owner only ended, its content is ours to keep
  /// and is claimed again; a newer copy or a clear goes first.
  case overtaken(Claim)
  /// Its owner is making a selection, or has just made one, and is left alone (PRIMARY and SECONDARY).
  case lingering(Lingering)
  /// Read, and left with its owner: PRIMARY and SECONDARY until somebody who may not have it is about to paste, CLIPBOARD
  /// while no rule could refuse anything of it.
  case guarded(Guarded)
  /// Its owner is being asked; then `claiming`, `foreign` or `settling`.
  case capturing(Capture)
  /// Claimed, not yet confirmed; then `held`, or `overtaken` until the event of who was first comes.
  case claiming(Claim)
  /// Ours.
  case held(Holding)
  /// Without owner; claimed empty when `until` comes and nothing has happened.
  case settling(until: MonotonicTime, time: ServerTime)

  /// Whether nothing is under way that ends by itself.
  var isSettled: Bool {
    switch self {
    // The event that overtook a claim came with the claim's outcome, so it is taken before anybody asks this.
    case .unowned, .foreign, .overtaken, .held, .guarded: true
    case .capturing(let capture): capture.isOverdue
    // As long as a button is down, the person is at work and not we.
    case .lingering(let lingering): lingering.isBusy
    case .claiming, .settling, .deferred: false
    }
  }
}

/// A hand-over (SAVE_TARGETS) that is answered when the content is ours.
struct SaveRequest: Hashable, Sendable {
  let request: ConversionRequest
  let property: Atom
}

/// A claim on its way to the server.
struct Claim: Sendable {
  /// What the selection will be held with.
  let holding: Holding
  /// Who must still own it.
  let owner: Window
  /// Hand-overs to answer when it is ours.
  let saves: [SaveRequest]
  /// What is written down when it is ours: no copy is called kept before.
  let records: [AuditRecord]
  /// Whether it takes up what the process before this one held.
  let isRestored: Bool
  /// The run of an action that made the clip.
  let run: UInt64?
  /// Pastes to answer when it is ours.
  private(set) var waiting: [WaitingPaste] = []
  /// Whether it is a new copy, which boards may keep.
  let isCopy: Bool

  init(
    _ holding: Holding, expecting owner: Window, saves: [SaveRequest] = [], records: [AuditRecord] = [],
    isRestored: Bool = false, run: UInt64? = nil, isCopy: Bool = false
  ) {
    self.isRestored = isRestored
    self.run = run
    self.isCopy = isCopy
    self.holding = holding
    self.owner = owner
    self.saves = saves
    self.records = records
  }

  /// The same claim when the selection has no owner any more.
  var ofAbandonedSelection: Claim {
    Claim(holding, expecting: .none, records: records, isCopy: isCopy)
  }

  /// The same claim with pastes that wait for it.
  func answering(_ waiting: [WaitingPaste]) -> Claim {
    var claim = self
    claim.waiting = waiting
    return claim
  }

  /// What is written down when somebody else was first: decided, and yet without effect.
  var recordsWithoutEffect: [Effect] {
    records.map { record in
      var record = record
      // What was missing doesn't matter any more.
      (record.outcome, record.limit) = (.left, nil)
      record.notifies = false
      return .audit(record)
    }
  }
}
