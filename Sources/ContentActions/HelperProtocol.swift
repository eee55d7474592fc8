/// What daemon and helper agree on: words in one direction, an exit status in the other. Content goes by standard input
/// and standard output alone, which are one socket, and only after the helper has said by another one, the *door*, that
/// everything is shut. The door closes when the work begins: a program that is executed gets it no more.
public enum HelperProtocol {
  /// The helper's file name.
  public static let program = "xpastebridge-action"

  /// The door's descriptor in the helper.
  public static let door: Int32 = 3
  /// What the helper writes there once it can't be reached and can reach nothing. Without it there is no content.
  public static let shut: UInt8 = 1

  /// The helper's words for a run. `program` is the path that was decided, without links: it is what is executed, while
  /// the path in the action's file is the name by which the program is called.
  public static func arguments(
    for work: ContentAction.Work, program: String, input: String, limits: ActionLimits
  ) -> [String] {
    let seconds = (limits.milliseconds + 999) / 1_000
    let bounds = ["\(limits.memoryBytes)", "\(seconds)"]
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
    guard words.count >= 4, let memory = Int(words[0]), let seconds = Int(words[1]), memory > 0, seconds > 0
    else { return nil }
    let work: Order.Work
    switch words[2] {
    case "built-in" where words.count == 5:
      guard let builtIn = BuiltIn(rawValue: words[3]) else { return nil }
      work = .builtIn(builtIn, input: words[4])
    case "exec" where words.count >= 5: work = .exec(path: words[3], words: Array(words[4...]))
    default: return nil
    }
    return Order(memoryBytes: memory, seconds: seconds, work: work)
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
    /// What to run.
    public var work: Work
  }

  /// Exit statuses of the helper's own. Those of what goes before the work are near to what shells use for programs that
  /// can't be started; a command that ends with one of them is taken to mean the same.
  public static func status(of failure: ActionFailure) -> Int32 {
    switch failure {
    case .notClosed: 124
    case .noSandbox: 125
    case .noProgram: 126
    case .notApplicable: 10
    case .undecodable: 11
    case .memoryLimit: 12
    case .timeLimit, .outputLimit, .empty, .notReady, .otherProgram, .failed: 1
    }
  }

  /// What an exit status of a run means; `nil` for success.
  public static func failure(status: Int32, of work: ContentAction.Work) -> ActionFailure? {
    guard status != 0 else { return nil }
    var known: [ActionFailure] = [.notClosed, .noSandbox, .noProgram]
    if case .builtIn = work { known += [.notApplicable, .undecodable, .memoryLimit] }
    return known.first { self.status(of: $0) == status } ?? .failed
  }
}
