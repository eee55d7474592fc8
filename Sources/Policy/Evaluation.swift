/// What one ruleset may say of a request.
private struct Findings {
  /// Outcomes that decide if the content is so, in order; of those with equal verdict and terms, the first.
  var possible: [Outcome] = []
  /// What is said when none of them does; `nil` when nothing is.
  var certain: Outcome?
}

/// The rules of one ruleset that both apps of a request meet, word by word.
private struct RulesMet {
  let ruleset: CompiledRuleset
  let source: RoleBits
  let destination: RoleBits?
  let action: Action

  private var sourceWords: [UInt64] { source.sure[action.sourceRole.rawValue].words }
  private var destinationWords: [UInt64]? {
    action.destinationRole.flatMap { destination?.sure[$0.rawValue].words }
  }

  /// Whether all is known of both apps.
  var isSure: Bool { source.doubtful == nil && destination?.doubtful == nil }

  /// Those that surely concern both, in words of 64.
  var sure: (source: [UInt64], destination: [UInt64]?) { (sourceWords, destinationWords) }

  /// Those that do or could.
  var met: (source: [UInt64], destination: [UInt64]?) {
    (source.met(action.sourceRole).words, action.destinationRole.flatMap { destination?.met($0).words })
  }

  /// Whether `rule`, one that is met, surely concerns both.
  func isSure(_ rule: Int) -> Bool {
    source.isSure(rule, action.sourceRole)
      && (action.destinationRole.flatMap { destination?.isSure(rule, $0) } ?? true)
  }
}

extension PolicySet {
  func evaluate(_ request: Request, isSameApp: Bool, table: inout MemoTable) -> Evaluation {
    let source = table.profile(of: request.source, make: makeProfile)
    let destination =
      request.action.hasDestination ? table.profile(of: request.destination ?? .unknown, make: makeProfile) : nil
    let masks = masks(for: request, table: &table)
    func findings(_ side: Int, _ source: RoleBits, _ destination: RoleBits?) -> Findings {
      let met = RulesMet(ruleset: rulesets[side], source: source, destination: destination, action: request.action)
      let masks = masks.map { $0[side] }
      return met.isSure
        ? find(request, isSameApp: isSameApp, met, masks: masks)
        : findInDoubt(request, isSameApp: isSameApp, met, masks: masks)
    }
    let managed = findings(0, source.managed, destination?.managed)
    let user = findings(1, source.user, destination?.user)
    if managed.possible.isEmpty, user.possible.isEmpty {
      return .decided(decision(of: managed.certain, user.certain, request, isSameApp: isSameApp, source))
    }
    return resolve(managed, user, request, isSameApp: isSameApp, source)
  }

  /// The rules that the selection, the target and the size leave, for both sides; nothing for what no rule mentions.
  private func masks(for request: Request, table: inout MemoTable) -> [[RuleBits]] {
    var masks: [[RuleBits]] = []
    if rulesets[0].namesSelections || rulesets[1].namesSelections {
      masks.append(
        table.bits(forSelection: request.selection) { name in rulesets.map { $0.bits(forSelection: name) } })
    }
    guard let content = request.content else { return masks }
    if rulesets[0].namesTargets || rulesets[1].namesTargets {
      masks.append(table.bits(forTarget: content.target) { name in rulesets.map { $0.bits(forTarget: name) } })
    }
    if !rulesets[0].sizeBounds.isEmpty || !rulesets[1].sizeBounds.isEmpty {
      let steps = MemoTable.SizeSteps(
        managed: rulesets[0].sizeStep(of: content.size), user: rulesets[1].sizeStep(of: content.size))
      masks.append(table.bits(forSize: steps) { rulesets.map { $0.bits(forSize: content.size) } })
    }
    return masks
  }

  /// The first rule whose conditions all hold, and before it, while the content isn't known, those that might.
  private func find(
    _ request: Request, isSameApp: Bool, _ met: RulesMet, masks: [RuleBits]
  ) -> Findings {
    let ruleset = met.ruleset
    let (first, second) = met.sure
    var findings = Findings()
    var seen: RuleBits?
    for index in first.indices {
      var word = first[index]
      if word == 0 { continue }
      if let second { word &= second[index] }
      for mask in masks { word &= mask.words[index] }
      while word != 0 {
        let number = index * 64 + word.trailingZeroBitCount
        word &= word - 1
        switch ruleset.rules[number].standing(towards: request.content, isSameApp: isSameApp) {
        case .decides:
          findings.certain = ruleset.outcomes[number]
          return findings
        case .mayDecide:
          let kind = ruleset.kinds[number]
          var kinds = seen ?? RuleBits(count: ruleset.rules.count)
          if !kinds.contains(kind) {
            kinds.insert(kind)
            findings.possible.append(ruleset.outcomes[number])
            seen = kinds
          }
        case .abstains: break
        }
      }
    }
    findings.certain = byDefault(of: ruleset, request, isSameApp: isSameApp)
    return findings
  }

  /// The same where it isn't known for certain who is concerned: what only could concern them counts beside what surely does,
  /// and the strictest of all is the answer.
  private func findInDoubt(
    _ request: Request, isSameApp: Bool, _ met: RulesMet, masks: [RuleBits]
  ) -> Findings {
    let ruleset = met.ruleset
    let (first, second) = met.met
    var findings = Findings()
    // What surely could be, whatever the content, and what could be if the content is so.
    var doubt: Outcome?
    var doubts: [Outcome] = []
    func add(_ ending: Outcome?) -> [Outcome?] {
      // Of equal ones what is sure names the reason.
      let sure = doubt == nil && doubts.isEmpty ? ending : ending ?? Outcome(verdict: .allow, reason: .builtInDefault)
      let certain = Outcome.stricter(managed: sure, user: doubt)
      return [certain] + doubts.map { Outcome.stricter(managed: certain, user: $0) }
    }
    var endings: [Outcome?] = []
    search: for index in first.indices {
      var word = first[index]
      if let second { word &= second[index] }
      for mask in masks { word &= mask.words[index] }
      while word != 0 {
        let number = index * 64 + word.trailingZeroBitCount
        word &= word - 1
        let outcome = ruleset.outcomes[number]
        let standing = ruleset.rules[number].standing(towards: request.content, isSameApp: isSameApp)
        switch (standing, met.isSure(number)) {
        case (.abstains, _): continue
        case (.decides, true):
          endings += add(outcome)
          break search
        case (.mayDecide, true): endings += add(outcome)
        case (.decides, false): doubt = .stricter(managed: doubt, user: outcome.inDoubt)
        case (.mayDecide, false): doubts.append(outcome.inDoubt)
        }
      }
      if index == first.indices.last { endings += add(byDefault(of: ruleset, request, isSameApp: isSameApp)) }
    }
    if first.isEmpty { endings = add(byDefault(of: ruleset, request, isSameApp: isSameApp)) }
    // Of one ending the first is the one without doubts about the content.
    findings.certain = endings.last ?? nil
    findings.possible = endings.dropLast().map { $0 ?? Outcome(verdict: .allow, reason: .builtInDefault) }
    return findings
  }

  private func byDefault(of ruleset: CompiledRuleset, _ request: Request, isSameApp: Bool) -> Outcome? {
    isSameApp ? nil : ruleset.defaultDecision?.outcome(for: request.action)
  }

  /// Decides without the content if every content would give the same verdict on the same terms.
  private func resolve(
    _ managed: Findings, _ user: Findings, _ request: Request, isSameApp: Bool, _ source: SubjectProfile
  ) -> Evaluation {
    func answer(_ managed: Outcome?, _ user: Outcome?) -> Decision {
      decision(of: managed, user, request, isSameApp: isSameApp, source)
    }
    let answerAtLast = answer(managed.certain, user.certain)
    // A refusal that one ruleset is sure of stays one, whatever the other may say.
    let isRefusedAnyway =
      managed.possible.isEmpty && managed.certain?.verdict == .deny
      || user.possible.isEmpty && user.certain?.verdict == .deny
    if isRefusedAnyway { return .decided(answerAtLast) }
    let ofManaged = managed.possible.map { $0 as Outcome? } + [managed.certain]
    let ofUser = user.possible.map { $0 as Outcome? } + [user.certain]
    for one in ofManaged {
      for other in ofUser {
        let decision = answer(one, other)
        if decision.verdict != answerAtLast.verdict || decision.obligations != answerAtLast.obligations {
          return .needsContent
        }
      }
    }
    return .decided(answerAtLast)
  }

  /// Joins what both rulesets say and settles the audience of a private copy.
  func decision(
    of managed: Outcome?, _ user: Outcome?, _ request: Request, isSameApp: Bool, _ source: SubjectProfile
  ) -> Decision {
    var managed = managed
    var user = user
    if request.action != .paste {
      managed?.settleAudience(of: source, boards: boards, among: self.managed.boards.count)
      user?.settleAudience(of: source, boards: boards, among: .max)
    }
    guard var outcome = Outcome.stricter(managed: managed, user: user) else {
      return Decision(verdict: .allow, reason: isSameApp ? .sameApp : .builtInDefault, grants: true)
    }
    if outcome.verdict == .private, let managed, let user, managed.verdict == .private, user.verdict == .private,
      managed.obligations.board != user.obligations.board
    {
      outcome.obligations.board = nil
      outcome.obligations.isAppAlone = true
    }
    if request.action == .drag { return decision(ofDrag: outcome, request) }
    return Decision(
      verdict: outcome.verdict, reason: outcome.reason, obligations: outcome.obligations,
      grants: outcome.verdict == .allow || outcome.verdict == .private)
  }
}

extension Outcome {
  /// The same, known to be only possible.
  fileprivate var inDoubt: Outcome { Outcome(verdict: verdict, reason: .couldBe(reason), obligations: obligations) }

  /// For a private copy without a board of its rule: the first board that the source is a member of, among the first
  /// `count` of `boards`, else the app alone; also where it could be a member of an earlier one.
  fileprivate mutating func settleAudience(of source: SubjectProfile, boards: [BoardPolicy], among count: Int) {
    guard verdict == .private, obligations.board == nil else { return }
    if let number = source.boards.first, number < count, source.doubtfulBoard.map({ $0 > number }) ?? true {
      obligations.board = boards[number].name
    } else {
      obligations.isAppAlone = true
    }
  }
}

/// What a rule whose other conditions hold says of the content.
enum Standing {
  case decides
  case mayDecide
  case abstains
}

extension Rule {
  /// Apps, selection, target and size aren't looked at: the rules that mean others are masked out before.
  func standing(towards content: ContentFacts?, isSameApp: Bool) -> Standing {
    if isSameApp, !includesSameApp { return .abstains }
    guard needsContent else { return .decides }
    guard let content else { return .mayDecide }
    return conditions.allSatisfy { $0.concerns(isSensitive: content.isSensitive) } ? .decides : .abstains
  }
}
