extension Matcher {
  /// A part of which it is known that no app can match it, in words; `nil` when none is found.
  ///
  /// What is found is certain: of conditions that must all hold, one excludes by `not` whatever another one matches, or
  /// two want the same fact to be two different texts.
  public func emptyPart(groups: [String: Matcher] = [:]) -> String? {
    switch self {
    case .any, .unknown, .remote, .group, .windowClass, .instance, .executable, .script, .unit, .sandbox, .host:
      return nil
    case .not(let inner): return inner.emptyPart(groups: groups)
    case .anyOf(let alternatives):
      for alternative in alternatives {
        if let part = alternative.emptyPart(groups: groups) { return part }
      }
      return nil
    case .allOf(let conditions):
      for (number, condition) in conditions.enumerated() {
        for other in conditions[..<number] where condition.excludes(other, groups) || other.excludes(condition, groups)
        {
          return "\(self)"
        }
        if let part = condition.emptyPart(groups: groups) { return part }
      }
      return nil
    }
  }

  private func excludes(_ other: Matcher, _ groups: [String: Matcher]) -> Bool {
    if case .not(let inner) = self { return inner.covers(other, groups: groups) }
    guard let mine = keyAndGlob, let theirs = other.keyAndGlob, mine.key == theirs.key else { return false }
    guard let literal = mine.glob.literal else { return false }
    return !theirs.glob.matches(literal)
  }
}

extension Rule {
  /// Terms that leave out everything that the conditions let in, in words; `nil` when none are found.
  ///
  /// What is found is certain: classes of targets exclude each other, and so do a size above some bound and a smaller one.
  public var termsThatLeaveNothing: String? {
    if let over = size?.over, let most = obligations.maxSize, over >= most {
      return "nothing of more than \(over) bytes has at most \(most)"
    }
    guard let matched = targets?.asClasses else { return nil }
    if obligations.plainText, !matched.contains(.text) { return "`plain-text` of what isn't text" }
    if let kept = obligations.targets?.asClasses, kept.isDisjoint(with: matched) {
      return "`only-targets` without any of `targets`"
    }
    return nil
  }
}

extension [TargetPattern] {
  /// The classes that the patterns may mean targets of; `nil` where a pattern may mean any.
  fileprivate var asClasses: Set<TargetClass>? {
    var classes: Set<TargetClass> = []
    for pattern in self {
      switch pattern {
      case .kind(let kind): classes.insert(kind)
      case .glob(let text):
        guard !Glob.hasSpecial(text) else { return nil }
        classes.insert(TargetClass(targetNamed: text))
      case .all: return nil
      }
    }
    return classes
  }
}
