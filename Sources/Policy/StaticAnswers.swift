// What can be said of an app before it does anything: the ground for keys that are held back, and for menus.
extension PolicySet {
  /// The denial that `subject` meets whenever it tries `action` on CLIPBOARD, whatever the content and the other app;
  /// `nil` when some copy, cut or paste of its might pass.
  ///
  /// No key begins a drag, so there is none for it. An app may paste its own clips unless a rule says `same-app: true`; hence only such a rule denies every paste.
  public func staticDenial(of action: Action, by subject: Subject) -> Decision? {
    guard !isLocked, action != .drag else { return nil }
    let profile = profile(of: subject)
    let answers = [profile.managed, profile.user].enumerated().compactMap { side, bits in
      staticDenial(of: action, side, bits)
    }
    // Deny is the strictest verdict, so one ruleset suffices; of two the managed one speaks.
    return answers.first.map { outcome in
      Decision(verdict: .deny, reason: outcome.reason, obligations: outcome.obligations, grants: false)
    }
  }

  private func staticDenial(of action: Action, _ side: Int, _ bits: RoleBits) -> Outcome? {
    let ruleset = rulesets[side]
    let role = action == .paste ? Role.pastes : action.sourceRole
    let part: Condition.Side = action == .paste ? .destination : .source
    for number in bits.met(role) {
      let rule = ruleset.rules[number]
      guard rule.concerns("clipboard") else { continue }
      let outcome = ruleset.outcomes[number]
      let isAboutAll =
        rule.isUnconditional(for: action, by: part, on: "clipboard") && (action != .paste || rule.includesSameApp)
      if outcome.verdict == .deny {
        if isAboutAll { return outcome }
      } else if bits.isSure(number, role) {
        // It may let something pass; what only could be about the app doesn't.
        return nil
      }
    }
    guard action != .paste, let byDefault = ruleset.defaultDecision?.outcome(for: action), byDefault.verdict == .deny
    else { return nil }
    return byDefault
  }

  /// What `subject` may ever do on CLIPBOARD.
  public func possibleActions(of subject: Subject) -> Set<Action> {
    Set(Action.byCommand.filter { !alwaysDenies($0, by: subject) })
  }

  /// Whether any app at all can meet a static denial: else nobody's class or keys have to be looked at.
  public var hasStaticDenials: Bool {
    guard !isLocked else { return false }
    return rulesets.contains { ruleset in
      ruleset.ruleset.isEnforced && ruleset.defaultDecision?.verdict == .deny
        || ruleset.rules.contains { rule in
          guard rule.verdict == .deny, rule.isEnforced, !rule.needsContent else { return false }
          let decided = rule.decidedActions
          return !decided.isDisjoint(with: [.copy, .cut]) || rule.includesSameApp && decided.contains(.paste)
        }
    }
  }

  /// Whether any app at all is protected on CLIPBOARD: else nobody's copy keys have to be stopped.
  public var hasProtection: Bool {
    rulesets.contains { ruleset in
      ruleset.rules.contains { rule in
        rule.obligations.protect && (rule.selections?.contains("clipboard") ?? true)
          && !rule.decidedActions.isDisjoint(with: [.copy, .cut])
      }
    }
  }

  /// Whether a cut can be decided otherwise than a copy: else nobody has to know which of the two it is.
  public var distinguishesCuts: Bool {
    rulesets.contains { $0.rules.contains { $0.decidedActions.contains(.copy) != $0.decidedActions.contains(.cut) } }
  }

  /// Whether anybody at all can be refused a paste: else nobody has to know which keys paste.
  public var mayRefusePastes: Bool {
    isLocked
      || rulesets.contains { ruleset in
        guard ruleset.ruleset.isEnforced else { return false }
        let refusesByDefault = ruleset.defaultDecision.map { $0.verdict != .allow } ?? false
        return refusesByDefault
          || ruleset.rules.contains { rule in
            rule.isEnforced && (rule.verdict == .private || rule.verdict != .allow && rule.decides(.paste))
          }
      }
  }

  /// What `keys:` says of `subject`: the first assignment that fits, managed before user.
  public func keyAssignment(of subject: Subject) -> KeyAssignment? {
    for (ruleset, assignments) in zip(rulesets, [managed.keys, user.keys]) where !assignments.isEmpty {
      var context = MatchContext(subject, groups: ruleset.groups)
      for assignment in assignments where context.answer(assignment.apps) == .yes { return assignment }
    }
    return nil
  }
}
