/// What one ruleset may say of a request.
private struct Findings {
  /// Rules, in order, that decide if the content is so; of those with equal verdict and terms, the first.
  var possible: [Int] = []
  /// What is said when none of them does; `nil` when nothing is.
  var certain: Outcome?
}

extension PolicySet {
  func evaluate(_ request: Request, isSameApp: Bool, table: inout MemoTable) -> Evaluation {
    let source = table.profile(of: request.source, make: makeProfile)
    let destination =
      request.action.hasDestination ? table.profile(of: request.destination ?? .unknown, make: makeProfile) : nil
    let masks = masks(for: request, table: &table)
    func findings(_ side: Int, _ source: [RuleBits], _ destination: [RuleBits]?) -> Findings {
      find(
        request, isSameApp: isSameApp, in: rulesets[side], source: source, destination: destination,
        masks: masks.map { $0[side] })
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
    _ request: Request, isSameApp: Bool, in ruleset: CompiledRuleset, source: [RuleBits], destination: [RuleBits]?,
    masks: [RuleBits]
  ) -> Findings {
    let first = source[request.action.sourceRole.rawValue].words
    let second = request.action.destinationRole.flatMap { destination?[$0.rawValue].words }
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
            findings.possible.append(number)
            seen = kinds
          }
        case .abstains: break
        }
      }
    }
    // A default is about the clipboard: drags are decided only where a rule names them.
    if !isSameApp, request.action != .drag, let byDefault = ruleset.defaultDecision {
      findings.certain = byDefault.outcome(for: request.action)
    }
    return findings
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
    let ofManaged = managed.possible.map { rulesets[0].outcomes[$0] as Outcome? } + [managed.certain]
    let ofUser = user.possible.map { rulesets[1].outcomes[$0] as Outcome? } + [user.certain]
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
    if !request.action.hasDestination {
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
    return Decision(
      verdict: outcome.verdict, reason: outcome.reason, obligations: outcome.obligations,
      grants: outcome.verdict == .allow || outcome.verdict == .private)
  }
}

extension Outcome {
  /// For a private copy without a board of its rule: the first board that the source is a member of, among the first
  /// `count` of `boards`, else the app alone.
  fileprivate mutating func settleAudience(of source: SubjectProfile, boards: [BoardPolicy], among count: Int) {
    guard verdict == .private, obligations.board == nil else { return }
    if let number = source.boards.first, number < count {
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
  /// Target and size aren't looked at: the rules that mean others are masked out before.
  func standing(towards content: ContentFacts?, isSameApp: Bool) -> Standing {
    if isSameApp, !includesSameApp { return .abstains }
    guard needsContent else { return .decides }
    guard let content else { return .mayDecide }
    if let isSensitive, isSensitive != content.isSensitive { return .abstains }
    return .decides
  }
}
