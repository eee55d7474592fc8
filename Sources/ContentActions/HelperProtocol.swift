/// What daemon and helper agree on: words in one direction, an exit status in the other. Content goes by standard input
/// and standard output alone.
public enum HelperProtocol {
  /// The helper's file name.
  public static let program = "xpastebridge-action"

  /// The helper's words for a run. `program` is the path that was decided, without links: it is what is executed, while
  /// the path in the action's file is the name by which the program is called.
  public static func arguments(
    for work: ContentAction.Work, program: String, input: String, limits: ActionLimits, outputBytes: Int
  ) -> [String] {
    let seconds = (limits.milliseconds + 999) / 1_000
    let bounds = ["\(limits.memoryBytes)", "\(seconds)", "\(outputBytes)"]
    switch work {
    case .builtIn(let builtIn): return bounds + ["built-in", builtIn.rawValue, input]
    case .command(let path, let arguments): return bounds + ["exec", program, path] + arguments
    }
  }

  /// The variables that a run finds, and no others.
  public static func environment(input: String) -> [String] {
    ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent", "XPB_TARGET=\(input)"]
  }

  /// What the helper's words mean; `nil` when they aren't its.
  public static func order(_ words: [String]) -> Order? {
    guard words.count >= 5, let memory = Int(words[0]), let seconds = Int(words[1]), let output = Int(words[2]),
      memory > 0, seconds > 0, output > 0
    else { return nil }
    let work: Order.Work
    switch words[3] {
    case "built-in" where words.count == 6:
      guard let builtIn = BuiltIn(rawValue: words[4]) else { return nil }
      work = .builtIn(builtIn, input: words[5])
    case "exec" where words.count >= 6: work = .exec(path: words[4], words: Array(words[5...]))
    default: return nil
    }
    return Order(memoryBytes: memory, seconds: seconds, outputBytes: output, work: work)
  }

  /// What the helper is told to do.
  public struct Order: Hashable, Sendable {
    /// What to run when everything is shut.
    public enum Work: Hashable, Sendable {
      /// A part of the helper, on content of this target.
      case builtIn(BuiltIn, input: String)
      /// Another program in the helper's place; `words` begin with the name by which it is called.
      case exec(path: String, words: [String])
    }

    /// Address space.
    public var memoryBytes: Int
    /// Processor time.
    public var seconds: Int
    /// The most that may be written.
    public var outputBytes: Int
    /// What to run.
    public var work: Work
  }

  /// Exit statuses of the helper's own. Those of the sandbox are what shells use for programs that can't be started;
  /// a command that ends with one of them is taken to mean the same.
  public static func status(of failure: ActionFailure) -> Int32 {
    switch failure {
    case .noSandbox: 125
    case .noProgram: 126
    case .notApplicable: 10
    case .undecodable: 11
    case .memoryLimit: 12
    case .timeLimit, .outputLimit, .empty, .failed: 1
    }
  }

  /// What an exit status of a run means; `nil` for success.
  public static func failure(status: Int32, of work: ContentAction.Work) -> ActionFailure? {
    guard status != 0 else { return nil }
    var known: [ActionFailure] = [.noSandbox, .noProgram]
    if case .builtIn = work { known += [.notApplicable, .undecodable, .memoryLimit] }
    return known.first { self.status(of: $0) == status } ?? .failed
  }
}
