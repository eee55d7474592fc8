@preconcurrency import Glibc

/// From words to an exit status.
enum Program {
  /// Reads the words and runs their command.
  static func run(_ words: [String]) -> Int32 {
    do throws(UsageFailure) {
      switch try CommandLineParser.read(words) {
      case .version: return Console.print(HelpText.versionLine)
      case .help(nil): return Console.write(HelpText.overview)
      case .help(let command?): return Console.write(HelpText.text(of: command))
      case .command(let invocation): return try run(invocation)
      }
    } catch {
      Console.complain(error.description)
      return ExitStatus.usage
    }
  }

  private static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    switch invocation.command.name {
    case "run": try RunCommand.run(invocation)
    case "status": try ReportCommands.status(invocation)
    case "sync": try ReportCommands.sync(invocation)
    case "clients": try ReportCommands.clients(invocation)
    case "identify": try IdentifyCommand.run(invocation)
    case "doctor": try DoctorCommand.run(invocation)
    case "can": try CanCommand.run(invocation)
    case "allow-once": try AllowOnceCommand.run(invocation)
    case "lockdown": try LockdownCommand.run(invocation)
    case let name where name.hasPrefix("board "): try BoardCommands.run(invocation)
    case "policy show": try ReportCommands.policyShow(invocation)
    case "policy check": PolicyCommands.verdict(invocation)
    case "policy explain": try PolicyCommands.explain(invocation)
    case "action list": try ActionCommands.list(invocation)
    case "action run": try ActionCommands.run(invocation)
    case "menu": try MenuCommand.run(invocation)
    case "policy simulate": SimulateCommand.run(invocation)
    case "audit": AuditCommand.run(invocation)
    case "help": try HelpCommands.help(invocation)
    case "generate": try HelpCommands.generate(invocation)
    default: fatalError("the command table has a verb without a function")
    }
  }
}

/// Standard output and standard error.
enum Console {
  /// Writes to standard output; the exit status says whether that went well.
  static func write(_ text: String) -> Int32 {
    do throws(SystemFailure) {
      try Posix.write(text, to: 1, waits: true)
      return ExitStatus.done
    } catch {
      complain("can't write to standard output: \(error.reason)")
      return ExitStatus.failed
    }
  }

  /// Writes a line to standard output.
  static func print(_ line: String) -> Int32 { write(line + "\n") }

  /// Writes one line to standard error, after the program's name.
  static func complain(_ line: String) {
    // There is no other place to say that standard error can't be written.
    try? Posix.write("xpastebridge: \(line)\n", to: 2)
  }

  /// Says why a verb failed; its exit status.
  static func failed(_ line: String) -> Int32 {
    complain(line)
    return ExitStatus.failed
  }

  /// Whether standard output shows colours: a terminal, unless NO_COLOR says otherwise (no-color.org).
  static let hasColour =
    isatty(1) == 1 && Posix.environment("NO_COLOR") == nil && Posix.environment("TERM") != "dumb"

  /// `text` in bold where colours are shown.
  static func bold(_ text: String) -> String { hasColour ? "\u{1b}[1m\(text)\u{1b}[0m" : text }

  /// `text` in red where colours are shown.
  static func alarming(_ text: String) -> String { hasColour ? "\u{1b}[31m\(text)\u{1b}[0m" : text }
}

/// What several commands read from their options.
extension Invocation {
  /// The display that is meant.
  func display() throws(UsageFailure) -> String {
    if let given = value("display"), !given.isEmpty { return given }
    if let set = Posix.environment("DISPLAY") { return set }
    throw UsageFailure(description: "no display: set DISPLAY or give --display")
  }

  /// A client for the display's daemon.
  func client(defaultMilliseconds: Int = 5_000) throws(UsageFailure) -> ControlClient {
    var milliseconds = defaultMilliseconds
    if let given = value("timeout") {
      guard let seconds = Double(given), seconds > 0, seconds <= 86_400 else {
        throw UsageFailure(description: "`--timeout` is a number of seconds, not `\(Label.plain(given))`")
      }
      milliseconds = max(1, Int(seconds * 1_000))
    }
    return ControlClient(display: try display(), timeoutMilliseconds: milliseconds)
  }
}

/// `help` and `generate`.
enum HelpCommands {
  /// The overview, or one command.
  static func help(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    guard !invocation.operands.isEmpty else { return Console.write(HelpText.overview) }
    let name = invocation.operands.joined(separator: " ")
    if let command = CommandTable.visible.first(where: { $0.name == name }) {
      return Console.write(HelpText.text(of: command))
    }
    let family = CommandTable.visible.filter { $0.words.first == name }
    guard !family.isEmpty else {
      let phrase = Suggestion.phrase(for: name, among: CommandTable.visible.map(\.name))
      throw UsageFailure(description: "unknown command `\(Label.plain(name))`\(phrase)")
    }
    return Console.write(family.map { HelpText.text(of: $0) }.joined(separator: "\n"))
  }

  /// Completions and manual sections, for the files that are shipped.
  static func generate(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    switch invocation.operands.first {
    case "manual" where invocation.operands.count == 1:
      return Console.write(ManualSections.synopsis + ManualSections.commands)
    case "completions" where invocation.operands.count == 2:
      if let script = CompletionScripts.script(for: invocation.operands[1]) { return Console.write(script) }
    default: break
    }
    throw UsageFailure(
      description: "`generate` makes `completions bash`, `completions zsh`, `completions fish` or `manual`")
  }
}
