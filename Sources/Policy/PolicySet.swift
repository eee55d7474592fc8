/// The managed and the user ruleset together, compiled: everything that can be asked of a policy.
public struct PolicySet: Sendable {
  private let storage: Storage

  /// The ruleset of the vendor's and the administrator's files.
  public var managed: Ruleset { storage.managed }
  /// The ruleset of the user's files.
  public var user: Ruleset { storage.user }
  /// The limits in force: the managed ruleset's, then the user's, then the defaults.
  public var limits: Limits { storage.limits }
  var rulesets: [CompiledRuleset] { storage.rulesets }
  var isLocked: Bool { storage.lock != nil }
  var memo: PolicyMemo { storage.memo }

  /// Everything that never changes, in one place, so that a policy is handed around as one pointer.
  private final class Storage: Sendable {
    let managed: Ruleset
    let user: Ruleset
    let limits: Limits
    let rulesets: [CompiledRuleset]
    let lock: Reason?
    let decides: Bool
    let obligationsByRule: [RuleReference: Obligations]
    let boards: [BoardPolicy]
    let boardNumbers: [String: Int]
    let memo = PolicyMemo()

    init(managed: Ruleset, user: Ruleset, lock: Reason?) {
      self.managed = managed
      self.user = user
      self.lock = lock
      let compiled = CompiledRuleset(managed, isManaged: true)
      rulesets = [compiled, CompiledRuleset(user, outerGroups: compiled.groups, isManaged: false)]
      decides = !managed.rules.isEmpty || !user.rules.isEmpty || managed.defaultDecision != nil
      var limits = Limits()
      for (name, value) in user.limits { limits[keyPath: name.keyPath] = value }
      for (name, value) in managed.limits { limits[keyPath: name.keyPath] = value }
      self.limits = limits
      var obligations: [RuleReference: Obligations] = [:]
      // By their numbers, here and where rules are compiled: a copy of a rule counts a dozen references up and down, of all of them milliseconds.
      for rules in [managed.rules, user.rules] {
        for number in rules.indices where rules[number].verdict == .private {
          obligations[rules[number].reference] = rules[number].obligations
        }
      }
      obligationsByRule = obligations
      boards = managed.boards + user.boards
      var numbers: [String: Int] = [:]
      for (number, board) in boards.enumerated() where numbers[board.name] == nil { numbers[board.name] = number }
      boardNumbers = numbers
    }
  }

  /// Whether no policy file said anything: everything is allowed.
  public var isEmpty: Bool { managed.isEmpty && user.isEmpty && !isLocked }
  /// How CLIPBOARD is treated: taken over after every copy, or left with its source while no rule could refuse anything of it.
  public var clipboard: SelectionGuard {
    let hasRules = isLocked || storage.decides
    return [managed.clipboard, user.clipboard].compactMap(\.self).max() ?? (hasRules ? .own : .guard)
  }
  /// How PRIMARY is treated. A user can only tighten what managed files leave at `guard` or say.
  public var primary: SelectionGuard { stricter(\.primary, default: .guard) }
  /// How SECONDARY is treated.
  public var secondary: SelectionGuard { stricter(\.secondary, default: .off) }
  /// How copies in properties of the root window are treated (cut buffers and those of toolkits): guarded as soon as there is
  /// a rule or a default, unless `off` is written down. A user's `off` doesn't count against managed rules.
  public var cutBuffers: SelectionGuard {
    let managedDecides = isLocked || !managed.rules.isEmpty || managed.defaultDecision != nil
    guard let floor = managed.cutBuffers ?? (managedDecides ? .guard : nil) else {
      return user.cutBuffers ?? (user.rules.isEmpty ? .off : .guard)
    }
    return max(floor, user.cutBuffers ?? floor)
  }
  /// The boards of both rulesets, the managed ones first.
  public var boards: [BoardPolicy] { storage.boards }

  /// Allows everything: no policy files at all.
  public static let allowEverything = PolicySet(managed: Ruleset(), user: Ruleset())
  /// Allows same-app copy and paste only: the policy files can't be read (product.md 3).
  public static let locked = PolicySet(managed: Ruleset(), user: Ruleset(), lock: .locked)
  /// Whether it stands for files that can't be read: then nothing is known of boards and their members.
  public var isUnreadable: Bool { storage.lock == .locked }
  /// Whether the person may lift a lockdown; managed files decide. By default they may.
  public var liftsLockdown: Bool { managed.liftsLockdown ?? true }
  /// The same with everything but same-app copy and paste refused, until it is lifted. Boards and their members stay.
  public var lockedDown: PolicySet { PolicySet(managed: managed, user: user, lock: storage.lock ?? .lockdown) }

  /// Compiles two rulesets. A default in the user's is ignored: a user has none.
  public init(managed: Ruleset, user: Ruleset) {
    self.init(managed: managed, user: user, lock: nil)
  }

  private init(managed: Ruleset, user: Ruleset, lock: Reason?) {
    storage = Storage(managed: managed, user: user, lock: lock)
  }

  private func stricter(
    _ setting: KeyPath<Ruleset, SelectionGuard?>, default builtIn: SelectionGuard
  ) -> SelectionGuard {
    let floor = managed[keyPath: setting] ?? (managed.isEmpty ? nil : builtIn)
    guard let floor else { return user[keyPath: setting] ?? builtIn }
    return max(floor, user[keyPath: setting] ?? floor)
  }

  /// Whether what both rulesets decide is put into effect.
  public var isEnforced: Bool { managed.isEnforced && user.isEnforced }
  /// The same policy with everything put into effect: what expectations and simulations are about.
  public var whenEnforced: PolicySet {
    isEnforced
      ? self : PolicySet(managed: managed.enforced(true), user: user.enforced(true), lock: storage.lock)
  }

  /// Decides a request: the first rule that matches within each ruleset, the stricter of the two.
  ///
  /// A paste of an app's own clip is allowed unless a rule that says `same-app: true` decides otherwise; a drag within an
  /// app always is.
  public func evaluate(_ request: Request) -> Evaluation {
    let isSameApp = request.isSameApp
    if let lock = storage.lock { return .decided(lockedDecision(request, lock, isSameApp: isSameApp)) }
    guard storage.decides, !(isSameApp && request.action == .drag) else {
      return .decided(Decision(verdict: .allow, reason: isSameApp ? .sameApp : .builtInDefault, grants: true))
    }
    return memo.use { table in evaluate(request, isSameApp: isSameApp, table: &table) }
  }

  private func lockedDecision(_ request: Request, _ lock: Reason, isSameApp: Bool) -> Decision {
    guard request.action.hasDestination else {
      var alone = Obligations()
      alone.isAppAlone = true
      return Decision(verdict: .private, reason: lock, obligations: alone, grants: true)
    }
    return isSameApp
      ? Decision(verdict: .allow, reason: .sameApp, grants: true)
      : Decision(verdict: .deny, reason: lock, grants: false)
  }

  /// The audience of a clip that `subject` copied under `decision`: for `private` the board the rule names, else the
  /// first board that `subject` is a member of, else the app alone.
  ///
  /// `evaluate` has settled which board it is: a board of the user's is never the audience of a managed rule.
  public func audience(of decision: Decision, copiedBy subject: Subject) -> Audience {
    guard decision.verdict == .private else { return .everyone }
    guard !decision.obligations.isAppAlone, let board = decision.obligations.board else { return .app }
    return .board(board)
  }

  /// Decides whether `destination` may read a clip of `source` kept for `audience`; `nil` when it may, as far as the
  /// audience goes, else the denial with its reason.
  ///
  /// The denial carries what the rule of the copy says for the person: message, notices, replacement.
  public func denial(
    byAudience audience: Audience, copiedUnder reason: Reason, from source: Subject, to destination: Subject
  ) -> Decision? {
    switch audience {
    case .everyone: return nil
    case .board(let board) where isMember(destination, of: board): return nil
    case .board, .app: if destination.isSameApp(as: source) { return nil }
    }
    var obligations = Obligations()
    if case .rule(let rule) = reason.certain, let ofCopy = storage.obligationsByRule[rule] {
      obligations.message = ofCopy.message
      obligations.notify = ofCopy.notify
      obligations.audit = ofCopy.audit
      obligations.replacement = ofCopy.replacement
    }
    return Decision(verdict: .deny, reason: .outsideAudience(reason), obligations: obligations, grants: false)
  }

  /// Whether `subject` is a member of the board of this name; nobody is of a board that no policy defines.
  public func isMember(_ subject: Subject, of board: String) -> Bool {
    guard let number = storage.boardNumbers[board] else { return false }
    return profile(of: subject).boards.contains(number)
  }

  /// What the policies say of the board of this name; `nil` when none names it.
  public func board(named name: String) -> BoardPolicy? { storage.boardNumbers[name].map { boards[$0] } }

  /// The boards that allowed copies of `subject` are also kept on: those with `mirror: true` that it is a member of.
  public func mirrors(of subject: Subject) -> [BoardPolicy] {
    guard !managed.boards.isEmpty || !user.boards.isEmpty else { return [] }
    let boards = boards
    return profile(of: subject).boards.map { boards[$0] }.filter(\.mirrors)
  }

  func profile(of subject: Subject) -> SubjectProfile {
    memo.use { table in table.profile(of: subject, make: makeProfile) }
  }

  func makeProfile(of subject: Subject) -> SubjectProfile {
    var managedContext = MatchContext(subject, groups: rulesets[0].groups)
    var userContext = MatchContext(subject, groups: rulesets[1].groups)
    var members: [Int] = []
    var doubtful: Int?
    for (number, board) in boards.enumerated() {
      let isManaged = number < managed.boards.count
      switch isManaged ? managedContext.answer(board.members) : userContext.answer(board.members) {
      case .no: break
      case .couldBe: doubtful = doubtful ?? number
      case .yes: members.append(number)
      }
    }
    return SubjectProfile(
      managed: rulesets[0].bits(for: &managedContext), user: rulesets[1].bits(for: &userContext), boards: members,
      doubtfulBoard: doubtful)
  }
}

extension Request {
  /// Whether it is an app's paste of its own clip, or a drag within it.
  var isSameApp: Bool { action.hasDestination && (destination?.isSameApp(as: source) ?? false) }
}
