import Policy
import Selection

/// How a clip came to be that no program copied: by which actions, from what.
struct Derivation: Hashable, Sendable {
  /// One action.
  struct Step: Hashable, Sendable {
    /// The program that did it.
    let program: Subject
    /// What it was given.
    let input: ContentFacts
  }

  /// Actions on results of actions that are followed; another one is refused. Our choice: each costs two decisions more
  /// a paste, and nobody needs as many.
  static let mostSteps = 8

  var steps: [Step] = []
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
    var requests = [ask(action, source, facts)]
    for step in derivation?.steps ?? [] {
      requests += [ask(action, source, step.input), ask(made, step.program, facts)]
    }
    return requests
  }
}
