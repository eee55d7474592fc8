/// One thing that a rule demands. A rule has at most one condition of each key, and all of them have to hold.
///
/// Everything that a condition means is said here, by switches without a default: a new one doesn't compile before it says
/// what it means everywhere.
public enum Condition: Hashable, Sendable {
  /// Who copies or cuts, or whose clip is pasted or dragged.
  case from(Matcher)
  /// Who pastes, or has something dragged over it.
  case to(Matcher)
  /// Who acts: `from` for copy, cut and drag, `to` for paste.
  case apps(Matcher)
  /// Which actions.
  case actions(Set<Action>)
  /// `clipboard`, `primary`, `secondary` or boards.
  case selection([String])
  /// Which targets.
  case targets([TargetPattern])
  /// Which sizes.
  case size(SizeRange)
  /// Whether the source marked the clip secret.
  case sensitive(Bool)
  /// An app's own clips, too. Without it a rule says nothing of these.
  case sameApp

  /// The key of a condition in policies, in the order in which conditions are read, tried and shown.
  public enum Key: String, CaseIterable, Hashable, Sendable {
    case from
    case to
    case apps
    case actions
    case selection
    case targets
    case size
    case sensitive
    case sameApp = "same-app"

    /// Its place in that order.
    var place: Int { Key.places[self] ?? 0 }
    private static let places = Dictionary(uniqueKeysWithValues: zip(allCases, 0...))
  }

  /// Its key.
  public var key: Key {
    switch self {
    case .from: .from
    case .to: .to
    case .apps: .apps
    case .actions: .actions
    case .selection: .selection
    case .targets: .targets
    case .size: .size
    case .sensitive: .sensitive
    case .sameApp: .sameApp
    }
  }

  /// Whether it can only be judged once the content is known.
  var needsContent: Bool {
    switch self {
    case .targets, .size, .sensitive: true
    case .from, .to, .apps, .actions, .selection, .sameApp: false
    }
  }

  /// What it demands of one of the two apps of `action`; `nil` for nothing.
  func demand(on side: Side, of action: Action) -> Matcher? {
    switch self {
    case .from(let matcher): side == .source ? matcher : nil
    case .to(let matcher): side == .destination ? matcher : nil
    case .apps(let matcher): side == (action == .paste ? .destination : .source) ? matcher : nil
    case .actions, .selection, .targets, .size, .sensitive, .sameApp: nil
    }
  }

  /// Whether it demands an app that isn't known for certain.
  var namesUnknown: Bool {
    switch self {
    case .from(let matcher), .to(let matcher), .apps(let matcher): matcher.namesUnknown()
    case .actions, .selection, .targets, .size, .sensitive, .sameApp: false
    }
  }

  /// Whether it demands an app that `subject` could be.
  public func couldBe(about subject: Subject, groups: [String: Matcher]) -> Bool {
    switch self {
    case .from(let matcher), .to(let matcher), .apps(let matcher):
      matcher.answer(for: subject, groups: groups) == .couldBe
    case .actions, .selection, .targets, .size, .sensitive, .sameApp: false
    }
  }

  /// One of the two apps of a request.
  enum Side {
    case source
    case destination
  }

  /// Whether it holds for everything that an app does on `selection` (`nil` for all of them), whatever the content and the
  /// other app: that what it demands of the app on `side` holds is known.
  func holdsAlways(for action: Action, by side: Side, on selection: String?) -> Bool {
    switch self {
    case .from, .to, .apps:
      let other: Side = side == .source ? .destination : .source
      if other == .destination, !action.hasDestination { return true }
      return (demand(on: other, of: action) ?? .any) == .any
    case .actions, .sameApp: return true
    case .selection: return selection.map(concerns(selection:)) ?? false
    case .targets, .size, .sensitive: return false
    }
  }

  /// Whether it may hold on the selection of this name.
  func concerns(selection name: String) -> Bool {
    switch self {
    case .selection(let names): names.contains(name)
    case .from, .to, .apps, .actions, .targets, .size, .sensitive, .sameApp: true
    }
  }

  /// Whether it may hold for content under this target, of class `kind`.
  func concerns(target name: String) -> Bool {
    switch self {
    case .targets(let patterns): patterns.contains { $0.matches(name) }
    case .from, .to, .apps, .actions, .selection, .size, .sensitive, .sameApp: true
    }
  }

  /// Whether it may hold for content of this many bytes.
  func concerns(size bytes: Int) -> Bool {
    switch self {
    case .size(let range): range.contains(bytes)
    case .from, .to, .apps, .actions, .selection, .targets, .sensitive, .sameApp: true
    }
  }

  /// Whether it may hold for content that is secret or isn't.
  func concerns(isSensitive: Bool) -> Bool {
    switch self {
    case .sensitive(let wanted): wanted == isSensitive
    case .from, .to, .apps, .actions, .selection, .targets, .size, .sameApp: true
    }
  }

  /// Whether it is known that it holds wherever `other`, the condition of the same key of a later rule, does; `nil` where that
  /// rule has none. What is demanded of apps and actions is compared by action.
  func covers(_ other: Condition?) -> Bool {
    switch (self, other) {
    case (.from, _), (.to, _), (.apps, _), (.actions, _): true
    case (.selection(let mine), .selection(let theirs)?): Set(mine).isSuperset(of: theirs)
    case (.targets(let mine), .targets(let theirs)?):
      theirs.allSatisfy { theirs in mine.contains { $0.covers(theirs) } }
    case (.size(let mine), .size(let theirs)?): mine.covers(theirs)
    case (.sensitive(let mine), .sensitive(let theirs)?): mine == theirs
    case (.sameApp, _): true
    case (.selection, _), (.targets, _), (.size, _), (.sensitive, _): false
    }
  }

  /// What it finds in `request`, by the rule's `action`; no words where it surely holds.
  func trial(of request: Request, groups: [String: Matcher]) -> (answer: Answer, words: String) {
    switch self {
    case .from(let matcher): return matcher.trial(for: request.source, groups: groups)
    case .to(let matcher):
      return request.action.hasDestination
        ? matcher.trial(for: request.destination ?? .unknown, groups: groups) : (.yes, "")
    case .apps(let matcher):
      let acting = request.action == .paste ? request.destination ?? .unknown : request.source
      return matcher.trial(for: acting, groups: groups)
    // Which actions a rule decides its verdict says, too: the rule itself is asked.
    case .actions, .sameApp: return (.yes, "")
    case .selection(let names):
      return concerns(selection: request.selection)
        ? (.yes, "") : (.no, "is `\(request.selection)`, rule wants \(quoted(names))")
    case .sensitive(let wanted):
      guard let content = request.content else { return (.couldBe, "depends on the content") }
      return concerns(isSensitive: content.isSensitive)
        ? (.yes, "") : (.no, "is \(content.isSensitive), rule wants \(wanted)")
    case .size(let range):
      guard let content = request.content else { return (.couldBe, "depends on the content") }
      return concerns(size: content.size)
        ? (.yes, "") : (.no, "is \(content.size) bytes, rule wants \(range)")
    case .targets(let patterns):
      guard let content = request.content else { return (.couldBe, "depends on the content") }
      return concerns(target: content.target)
        ? (.yes, "") : (.no, "is `\(content.target)`, rule wants \(quoted(patterns.map(\.description)))")
    }
  }
}

extension Condition: CustomStringConvertible {
  /// As in a policy: `from: Ledger`.
  public var description: String {
    let value =
      switch self {
      case .from(let matcher), .to(let matcher), .apps(let matcher): "\(matcher)"
      case .actions(let actions): actions.map(\.rawValue).sorted().joined(separator: ", ")
      case .selection(let names): names.joined(separator: ", ")
      case .targets(let patterns): patterns.map(\.description).joined(separator: ", ")
      case .size(let range): "\(range)"
      case .sensitive(let wanted): "\(wanted)"
      case .sameApp: "true"
      }
    return "\(key.rawValue): \(value)"
  }
}

/// Words in backticks, joined by `or`.
func quoted(_ words: [String]) -> String { words.map { "`\($0)`" }.joined(separator: " or ") }
