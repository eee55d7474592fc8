import Policy

/// Puts the files of one side together and judges what no single file shows.
struct Assembly {
  let report: Report
  /// The managed side's names, for the user's files.
  let outer: Ruleset
  let outerBoards: [BoardPolicy]

  func ruleset(of files: [FileContent]) -> Ruleset {
    var ruleset = Ruleset()
    var limits: [LimitName: LimitSetting] = [:]
    for file in files {
      ruleset.files.append(file.path)
      ruleset.rules += file.rules
      ruleset.groups += file.groups
      ruleset.boards += file.boards
      ruleset.keys += file.keys
      ruleset.expectations += file.expectations
      ruleset.clipboard = stricter(ruleset.clipboard, file.clipboard)
      ruleset.primary = stricter(ruleset.primary, file.primary)
      ruleset.secondary = stricter(ruleset.secondary, file.secondary)
      ruleset.cutBuffers = stricter(ruleset.cutBuffers, file.cutBuffers)
      // Of several the stricter: that nobody may.
      if let lifts = file.liftsLockdown { ruleset.liftsLockdown = lifts && ruleset.liftsLockdown ?? true }
      if let found = file.defaultDecision,
        found.verdict > ruleset.defaultDecision?.verdict ?? .allow
          || ruleset.defaultDecision == nil
      {
        ruleset.defaultDecision = found
      }
      for limit in file.limits { add(limit, to: &limits) }
    }
    ruleset.limits = limits.mapValues(\.value)
    compareSizes(limits)
    rejectDoubles(ruleset, rules: files.flatMap(\.ruleNames))
    let hasUnknownGroups = resolveNames(files)
    rejectCycles(ruleset)
    judgeRules(ruleset)
    // With a name misspelt somewhere, a group that seems unused may be the one that was meant.
    if !hasUnknownGroups { warnAboutUnused(ruleset, Set(files.flatMap(\.groupUses).map(\.name))) }
    return isEnforced(files) ? ruleset : ruleset.enforced(false)
  }

  /// A side is enforced or it isn't: a rule that is only recorded would otherwise keep a later one from deciding.
  private func isEnforced(_ files: [FileContent]) -> Bool {
    guard let position = files.compactMap(\.notEnforced).first else { return true }
    for file in files where file.notEnforced == nil {
      report.error(
        .conflictingKeys, at: position,
        "expected `enforce: false` in all files of one side, found `\(file.path)` without",
        hint: "rules that are only recorded can't stand before rules that decide")
    }
    return false
  }

  private func stricter(_ lhs: SelectionGuard?, _ rhs: SelectionGuard?) -> SelectionGuard? {
    guard let lhs, let rhs else { return lhs ?? rhs }
    return max(lhs, rhs)
  }

  // MARK: - Names given twice

  private func add(_ limit: LimitSetting, to limits: inout [LimitName: LimitSetting]) {
    if let first = limits[limit.name] {
      report.error(
        .duplicateName, at: limit.position, "expected `\(limit.name.rawValue)` to be set once, found it again",
        hint: "it is first set at \(first.position)")
    } else {
      limits[limit.name] = limit
    }
  }

  private func compareSizes(_ limits: [LimitName: LimitSetting]) {
    let clip = limits[.maxClip]?.value ?? Limits().clipBytes
    let total = limits[.maxTotal]?.value ?? Limits().totalBytes
    guard clip > total, let setting = limits[.maxTotal] ?? limits[.maxClip] else { return }
    report.error(
      .outOfRange, at: setting.position,
      "expected `max-total` of at least `max-clip`, found \(Quantity.shown(bytes: total)) and \(Quantity.shown(bytes: clip))"
    )
  }

  private func rejectDoubles(_ ruleset: Ruleset, rules: [NameUse]) {
    rejectDoubles("group", ruleset.groups.map { NameUse(name: $0.name, position: $0.position) })
    let boards = outerBoards + ruleset.boards
    rejectDoubles("board", boards.map { NameUse(name: $0.name, position: $0.position) })
    rejectDoubles("rule", rules)
    rejectDoubles("`keys`", ruleset.keys.map { NameUse(name: "\($0.apps)", position: $0.position) })
  }

  /// Rules without a name are called `rule N` in each file, so equal ones of different files are no doubles.
  private func rejectDoubles(_ what: String, _ uses: [NameUse]) {
    var first: [String: SourcePosition] = [:]
    first.reserveCapacity(uses.count)
    for use in uses {
      guard let earlier = first[use.name] else {
        first[use.name] = use.position
        continue
      }
      if what == "rule", use.name.hasPrefix("rule "), earlier.file != use.position.file { continue }
      report.error(
        .duplicateName, at: use.position, "expected a \(what) name that is free, found `\(use.name)` again",
        hint: "it is first used at \(earlier)")
    }
  }

  // MARK: - Names that must exist

  /// Whether any group was unknown.
  private func resolveNames(_ files: [FileContent]) -> Bool {
    var hasUnknownGroups = false
    let groups = Set(files.flatMap(\.groupNames) + outer.groups.map(\.name))
    let boards = Set(files.flatMap(\.boardNames) + outerBoards.map(\.name))
    for file in files {
      for use in file.groupUses where !groups.contains(use.name) {
        hasUnknownGroups = true
        report.error(
          .unknownGroup, at: use.position, "expected a group, `any`, `remote` or `unknown`, found `\(use.name)`",
          hint: hint(for: use.name, groups, MatcherReader.words, literally: "class"))
      }
      for use in file.boardUses where !boards.contains(use.name) {
        report.error(
          .unknownBoard, at: use.position, "expected a board that `boards` defines, found `\(use.name)`",
          hint: Suggestion.hint(for: use.name, among: boards.sorted() + BoardReader.selections))
      }
    }
    return hasUnknownGroups
  }

  private func hint(for name: String, _ groups: Set<String>, _ words: [String], literally key: String) -> String {
    if let near = Suggestion.nearest(to: name, among: groups.sorted() + words) { return "did you mean `\(near)`?" }
    return "write `{\(key): \(name)}` for an app of that \(key)"
  }

  private func rejectCycles(_ ruleset: Ruleset) {
    let groups = Dictionary(ruleset.groups.map { ($0.name, $0) }) { first, _ in first }
    var isClosed: [String: Bool] = [:]
    var open: [String] = []
    /// `false` while a group is open; meeting an open one closes a circle.
    func visit(_ name: String) -> Bool {
      guard let group = groups[name] else { return true }
      if let closed = isClosed[name] { return closed }
      isClosed[name] = false
      open.append(name)
      defer { open.removeLast() }
      for inner in group.matcher.groupNames.sorted() where !visit(inner) {
        isClosed[name] = true
        report.error(
          .groupCycle, at: group.position,
          "expected a group that doesn't contain itself, found \(circle(from: name, to: inner, open))")
        return true
      }
      isClosed[name] = true
      return true
    }
    for group in ruleset.groups { _ = visit(group.name) }
  }

  /// `` `a` in `b` in `a` ``: how the open groups lead back to `name`, eight of them at most.
  private func circle(from name: String, to inner: String, _ open: [String]) -> String {
    let others = open[(open.firstIndex(of: inner) ?? open.startIndex)...].dropLast()
    let names = ([name] + others.reversed()).map { "`\($0)`" }
    let shown = names.count > 8 ? names.prefix(8) + ["…"] : names
    return (shown + ["`\(name)`"]).joined(separator: " in ")
  }

  // MARK: - What rules mean

  private func judgeRules(_ ruleset: Ruleset) {
    var groups = Dictionary(outer.groups.map { ($0.name, $0.matcher) }) { first, _ in first }
    for group in ruleset.groups { groups[group.name] = group.matcher }
    for (rule, earlier) in ruleset.coveredRules(outerGroups: groups) {
      reportCovered(ruleset.rules[rule], by: ruleset.rules[earlier], ruleset)
    }
    for number in ruleset.rules.indices where ruleset.rules[number].verdict == .allow {
      warn(about: ruleset.rules[number], groups)
    }
    warnAboutPrimary(ruleset)
    warnAboutEmptiness(ruleset, groups)
    warnAboutWhatStaysOpen(ruleset)
    warnAboutUnsureApps(ruleset, groups)
    for board in ruleset.boards where board.members.namesAnyFolder(groups: groups) {
      warnAboutAnyFolder("board `\(board.name)`", at: board.position)
    }
  }

  /// A rule that is limited to single selections says nothing of the others, nor of drags, which are on none.
  private func warnAboutWhatStaysOpen(_ ruleset: Ruleset) {
    guard report.errors.isEmpty else { return }
    if let byDefault = outer.defaultDecision ?? ruleset.defaultDecision, byDefault.verdict != .allow {
      guard ruleset.defaultDecision != nil, ruleset.secondary == nil else { return }
      return report.warn(
        .leftOpen, at: byDefault.position,
        "the default decides nothing on SECONDARY, nor on selections that programs make up: two that agree can pass content there",
        hint: "`secondary: guard` empties SECONDARY where copies are refused; of other names see docs/threats.md")
    }
    // By their numbers: copies of ten thousand rules take milliseconds.
    let suspects = ruleset.rules.indices.filter { mayLeaveOpen(ruleset.rules[$0]) }
    guard !suspects.isEmpty else { return }
    let refusing = (outer.rules + ruleset.rules).filter { $0.verdict != .allow }
    for rule in suspects.map({ ruleset.rules[$0] }) {
      guard let names = rule.selections else {
        warnAboutCopiesAlone(rule, refusing)
        continue
      }
      let others = refusing.filter { $0.reference != rule.reference && $0.from == rule.from && $0.apps == rule.apps }
      var open: [String] = []
      let isOfPrimary = names.contains("primary") || others.contains { $0.selections?.contains("primary") ?? true }
      if !isOfPrimary { open.append("PRIMARY") }
      if !rule.decides(.drag), !others.contains(where: { $0.decides(.drag) }) { open.append("drags") }
      guard !open.isEmpty else { continue }
      report.warn(
        .leftOpen, at: rule.reference.position,
        "`\(rule.reference.name)` says nothing of \(open.joined(separator: " and ")): what it keeps back on \(names.joined(separator: " and ")) passes there",
        hint: "leave `selection` out, or write a rule about them")
    }
  }

  /// Whether it is worth asking what else a rule should say.
  private func mayLeaveOpen(_ rule: Rule) -> Bool {
    guard rule.verdict != .allow || rule.obligations.protect else { return false }
    return rule.selections != nil || rule.verdict == .deny && rule.actions != nil
  }

  /// A rule that denies copies and doesn't say a word of pastes and drags leaves open that the same is dragged out.
  private func warnAboutCopiesAlone(_ rule: Rule, _ refusing: [Rule]) {
    guard rule.verdict == .deny, rule.decides(.copy), !rule.decides(.drag),
      !refusing.contains(where: { $0.decides(.drag) && ($0.from ?? $0.apps) == (rule.from ?? rule.apps) })
    else { return }
    report.warn(
      .leftOpen, at: rule.reference.position,
      "`\(rule.reference.name)` says nothing of drags: what may not be copied can be dragged to another app",
      hint: "add `drag` to `actions`")
  }

  /// Which rules count for an app that isn't known for certain, unless a rule about `unknown` comes first.
  private func warnAboutUnsureApps(_ ruleset: Ruleset, _ groups: [String: Matcher]) {
    guard report.errors.isEmpty, !outer.rules.contains(where: \.namesUnknown),
      !ruleset.rules.contains(where: \.namesUnknown)
    else { return }
    // By their numbers: copies of ten thousand rules take milliseconds.
    let concerned = ruleset.rules.indices.filter { number in
      ruleset.rules[number].verdict != .allow
        && ruleset.rules[number].conditions.contains { $0.couldBe(about: .unknown, groups: groups) }
    }
    guard let first = concerned.first else { return }
    let names = concerned.prefix(3).map { "`\(ruleset.rules[$0].reference.name)`" }.joined(separator: ", ")
    let rest = concerned.count > 3 ? " and \(concerned.count - 3) more" : ""
    report.warn(
      .unsureApps, at: ruleset.rules[first].reference.position,
      "an app that isn't known for certain meets the strictest of what it could be: here \(names)\(rest)",
      hint: "a first rule with `from: unknown` or `to: unknown` decides otherwise")
  }

  private func warnAboutAnyFolder(_ what: String, at position: SourcePosition) {
    report.warn(
      .anyFolder, at: position,
      "\(what) trusts a file name in any folder: everybody can give a program of their own that name",
      hint: "write the whole path")
  }

  private func reportCovered(_ rule: Rule, by earlier: Rule, _ ruleset: Ruleset) {
    guard !isNeedlessDenialOfDrags(rule, after: earlier, ruleset) else {
      return report.warn(
        .dragsCovered, at: rule.reference.position,
        "`\(rule.reference.name)` decides nothing: \(earlier.reference) already refuses these drags, as it does pastes",
        hint: "remove it")
    }
    reportCovered(rule.reference, by: earlier.reference)
  }

  /// Whether a rule that denies drags alone is covered by one that refuses them just so. It was needed when rules about pastes said
  /// nothing of drags, and a policy that has it isn't wrong.
  private func isNeedlessDenialOfDrags(_ rule: Rule, after earlier: Rule, _ ruleset: Ruleset) -> Bool {
    guard rule.actions == [.drag], rule.verdict == .deny else { return false }
    switch earlier.verdict {
    case .allow: return false
    case .ask, .deny: return true
    // With a board its members may receive what is dragged.
    case .private: return outerBoards.isEmpty && ruleset.boards.isEmpty
    }
  }

  private func reportCovered(_ rule: RuleReference, by earlier: RuleReference) {
    let file = rule.position.file
    let isElsewhere = earlier.position.file != file
    // Rules without a name are numbered in each file.
    let place = isElsewhere && rule.name.hasPrefix("rule ") ? " of `\(file)`" : ""
    report.error(
      .covered, at: rule.position, "expected a rule that can decide something, found `\(rule.name)`\(place)",
      hint: "\(earlier) always decides before it" + (isElsewhere ? ", since that file is read first" : ""))
  }

  private func warnAboutUnused(_ ruleset: Ruleset, _ used: Set<String>) {
    for group in ruleset.groups where !used.contains(group.name) {
      report.warn(.unusedGroup, at: group.position, "group `\(group.name)` is used nowhere")
    }
  }

  private func warnAboutEmptiness(_ ruleset: Ruleset, _ groups: [String: Matcher]) {
    func warn(_ matcher: Matcher?, _ what: @autoclosure () -> String, _ position: SourcePosition) {
      guard let matcher, let nobody = matcher.emptyPart(groups: groups) else { return }
      report.warn(
        .emptyIntersection, at: position, "\(what()) can never match: nobody is \(nobody)",
        hint: "what stands beside `not` is all excluded by it")
    }
    for group in ruleset.groups { warn(group.matcher, "a part of group `\(group.name)`", group.position) }
    for rule in ruleset.rules {
      let position = rule.reference.position
      warn(rule.from, "`from` of `\(rule.reference.name)`", position)
      warn(rule.to, "`to` of `\(rule.reference.name)`", position)
      warn(rule.apps, "`apps` of `\(rule.reference.name)`", position)
      guard let terms = rule.termsThatLeaveNothing else { continue }
      report.warn(
        .emptyIntersection, at: position,
        "`\(rule.reference.name)` leaves nothing of what it matches: \(terms)", hint: "`deny` says the same plainly")
    }
  }

  private func warnAboutPrimary(_ ruleset: Ruleset) {
    let hint = "add `selection: clipboard`, and say in a rule of its own what PRIMARY and drags may carry"
    func concernsPrimary(_ rule: Rule) -> Bool { rule.selections?.contains("primary") ?? true }
    for number in ruleset.rules.indices where ruleset.rules[number].obligations.protect {
      let rule = ruleset.rules[number]
      guard concernsPrimary(rule) else { continue }
      report.warn(
        .protectsPrimary, at: rule.reference.position,
        "`\(rule.reference.name)` takes what is marked from its app as soon as it has been read, and most programs then drop "
          + "the highlight",
        hint: hint)
    }
    guard report.errors.isEmpty,
      let first = ruleset.rules.first(where: { $0.verdict == .deny && $0.decides(.copy) && concernsPrimary($0) })
    else { return }
    report.warn(
      .protectsPrimary, at: first.reference.position,
      "`\(first.reference.name)` empties PRIMARY at each marking: in many programs what is marked then can't be typed over",
      hint: hint)
  }

  private func warn(about rule: Rule, _ groups: [String: Matcher]) {
    for (key, matcher) in [("from", rule.from), ("to", rule.to), ("apps", rule.apps)] {
      guard let matcher else { continue }
      let namesScript = matcher.namesScript(groups: groups)
      if matcher.restsOnDeclaredFacts(groups: groups) {
        report.warn(
          .declaredGrant, at: rule.reference.position,
          "`\(rule.reference.name)` allows what any program can claim to be: `\(key)` rests on a \(namesScript ? "script" : "class") alone",
          hint: namesScript
            ? "add `unit:` or `sandbox:`: anybody can start an interpreter and say that it runs this script"
            : "add `exe:`")
      }
      if matcher.namesAnyFolder(groups: groups) {
        warnAboutAnyFolder("`\(rule.reference.name)`", at: rule.reference.position)
      }
    }
  }
}
