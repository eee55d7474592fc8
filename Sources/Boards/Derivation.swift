import Policy

/// How content came to be that no program copied: by which actions, from what.
public struct Derivation: Hashable, Sendable {
  /// One action.
  public struct Step: Hashable, Sendable {
    /// The program that did it.
    public var program: Subject
    /// What it was given.
    public var input: ContentFacts

    /// States program and input.
    public init(program: Subject, input: ContentFacts) {
      self.program = program
      self.input = input
    }
  }

  /// Actions on results of actions that are followed; another one is refused. Our choice: each costs two decisions more
  /// a paste, and nobody needs as many.
  public static let mostSteps = 8

  /// The actions, the first one first.
  public var steps: [Step]

  /// Made by these actions.
  public init(steps: [Step] = []) { self.steps = steps }
}
