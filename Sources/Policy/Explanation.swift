/// Why a request is decided as it is: every rule that was tried, in order, and what became of it.
public struct Explanation: Hashable, Sendable {
  /// What became of one rule.
  public enum Result: Hashable, Sendable {
    /// All its conditions hold: it decides, and no later rule is tried.
    case decides
    /// It could concern apps that aren't known for certain; the condition in words. Its decision counts if it is stricter than
    /// what decides at last.
    case couldDecide(String)
    /// It depends on the content, which the request doesn't say; the condition in words.
    case mayDecide(String)
    /// The first of its conditions that doesn't hold, in words.
    case failed(String)
  }

  /// One rule that was tried.
  public struct Step: Hashable, Sendable {
    /// Which one.
    public var reference: RuleReference
    /// What it would decide.
    public var verdict: Verdict
    /// What became of it.
    public var result: Result
  }

  /// What was asked.
  public var request: Request
  /// The managed ruleset's rules, up to the one that decides.
  public var managed: [Step]
  /// The user ruleset's rules, up to the one that decides.
  public var user: [Step]
  /// The answer to this request alone.
  public var evaluation: Evaluation
  /// For a paste, the copy that must come before it; else empty.
  public var before: [Explanation]
  /// The answer with the copy taken into account; equal to `evaluation` for a copy or cut.
  public var outcome: Evaluation
  /// What the answer leaves out: on which ways to this selection nothing is decided.
  public var note: String?
}

extension PolicySet {
  /// Explains how `request` is decided.
  public func explain(_ request: Request) -> Explanation {
    var before: [Explanation] = []
    if request.action == .paste {
      var copy = request
      copy.action = .copy
      copy.destination = nil
      before = [explain(copy)]
    }
    return Explanation(
      request: request, managed: steps(of: rulesets[0], for: request), user: steps(of: rulesets[1], for: request),
      evaluation: evaluate(request), before: before, outcome: outcome(of: request), note: note(on: request))
  }

  /// PRIMARY and SECONDARY stay with their source in most modes, and then not every paste comes by us (product.md 6).
  private func note(on request: Request) -> String? {
    switch (request.selection, request.selection == "primary" ? primary : secondary) {
    case ("primary", .off), ("secondary", .off):
      "`\(request.selection): off` is in force, so nothing is decided on this selection"
    case ("primary", .guard) where request.action == .paste:
      "`primary: guard` is in force: this is decided at the middle button and at Shift+Insert; what reads the selection in "
        + "another way asks the source itself, unless a rule about the source says `protect: true`"
    case ("secondary", .guard) where request.action == .paste:
      "`secondary: guard` is in force: only sources that may not copy lose the selection, pastes aren't decided"
    default: nil
    }
  }

  private func steps(of ruleset: CompiledRuleset, for request: Request) -> [Explanation.Step] {
    var steps: [Explanation.Step] = []
    for rule in ruleset.ruleset.rules {
      let result = rule.trial(of: request, groups: ruleset.groups)
      steps.append(Explanation.Step(reference: rule.reference, verdict: rule.verdict, result: result))
      if result == .decides { break }
    }
    return steps
  }
}

extension Rule {
  /// What becomes of it: of its parts the one counts that says most.
  func trial(of request: Request, groups: [String: Matcher]) -> Explanation.Result {
    let results = parts.map { $0.trialOfPart(request, groups) }
    if results.contains(.decides) { return .decides }
    if let doubt = results.first(where: { if case .couldDecide = $0 { true } else { false } }) { return doubt }
    if let content = results.first(where: { if case .mayDecide = $0 { true } else { false } }) { return content }
    return request.action == .drag ? results[results.endIndex - 1] : results[0]
  }

  /// Tries every condition in the order in which they are documented.
  private func trialOfPart(_ request: Request, _ groups: [String: Matcher]) -> Explanation.Result {
    if let failure = failureOfAction(request) { return .failed(failure) }
    var doubt: String?
    var content: String?
    for condition in conditions {
      let (answer, words) = condition.trial(of: request, groups: groups)
      switch answer {
      case .yes: continue
      case .no: return .failed("\(condition.key.rawValue): \(words)")
      case .couldBe where condition.needsContent: content = content ?? words
      case .couldBe: doubt = doubt ?? "\(condition.key.rawValue): \(words)"
      }
    }
    if let doubt { return .couldDecide(doubt) }
    return content.map { .mayDecide($0) } ?? .decides
  }

  private func failureOfAction(_ request: Request) -> String? {
    guard ownActionBits.contains(ActionBits(request.action)) else {
      if let actions, !actions.contains(request.action), request.action != .drag || !actions.contains(.paste) {
        return "actions: is \(request.action.rawValue), rule wants \(quoted(actions.map(\.rawValue).sorted()))"
      }
      if request.action == .drag, selections != nil { return "selection: a drag is on none, which a rule has to name" }
      if to != nil { return "actions: is \(request.action.rawValue), a rule with `to` matches pastes only" }
      return "actions: is \(request.action.rawValue), `\(verdict)` doesn't apply to it"
    }
    if request.isSameApp, request.action == .drag { return "same-app: a drag within one app is never decided" }
    if request.isSameApp, !includesSameApp { return "same-app: an app's own clip, rule doesn't say `same-app: true`" }
    return nil
  }
}

extension SizeRange: CustomStringConvertible {
  /// `over 64 up to 1024 bytes`
  public var description: String {
    let bounds = [over.map { "over \($0)" }, upTo.map { "up to \($0)" }].compactMap(\.self)
    return bounds.joined(separator: " ") + " bytes"
  }
}

extension Explanation: CustomStringConvertible {
  /// The answer, and then all steps that led to it, one a line; for a paste those of the copy before it, too.
  public var description: String {
    var lines = ["\(request.action.rawValue): \(outcome)"]
    if let note { lines.append("note: \(note)") }
    for copy in before { lines += ["", "The copy before it:"] + copy.lines }
    lines += ["", "The \(request.action.rawValue) itself:"] + self.lines
    return lines.joined(separator: "\n")
  }

  private var lines: [String] {
    var lines = [request.summary]
    for (title, steps) in [("managed", managed), ("user", user)] {
      lines.append("  \(title):" + (steps.isEmpty ? " no rules" : ""))
      lines += steps.map { "    \($0)" }
    }
    return lines + ["  decision: \(evaluation)"]
  }
}

extension Explanation.Step: CustomStringConvertible {
  /// `file:line:column `name`: deny, matches`
  public var description: String {
    let outcome =
      switch result {
      case .decides: "matches"
      case .couldDecide(let condition): "could match: \(condition)"
      case .mayDecide(let condition): "may match: \(condition)"
      case .failed(let condition): "doesn't match: \(condition)"
      }
    return "\(reference.position): `\(reference.name)` (\(verdict)) \(outcome)"
  }
}
