/// Reads a command line by the table.
struct CommandLineParser {
  /// What the words mean.
  enum Reading: Hashable {
    /// A command is to be run.
    case command(Invocation)
    /// `--version`
    case version
    /// `--help`, of one command or of all.
    case help(CommandSpecification?)
  }

  private let commands: [CommandSpecification]
  private var words: ArraySlice<String>

  private init(_ words: [String], _ commands: [CommandSpecification]) {
    self.commands = commands
    self.words = words[...]
  }

  /// Reads `words`, which don't contain the program's own name.
  static func read(
    _ words: [String], commands: [CommandSpecification] = CommandTable.commands
  ) throws(UsageFailure) -> Reading {
    var parser = CommandLineParser(words, commands)
    return try parser.read()
  }

  private mutating func read() throws(UsageFailure) -> Reading {
    guard let first = words.first else {
      throw UsageFailure(description: "a command is missing; `xpastebridge help` lists them")
    }
    switch first {
    case "--version", "-V": return .version
    case "--help", "-h": return .help(nil)
    case _ where first.hasPrefix("-"):
      throw UsageFailure(description: "a command has to come before the option `\(Label.plain(first))`")
    default: return try read(try takeCommand())
    }
  }

  private mutating func takeCommand() throws(UsageFailure) -> CommandSpecification {
    for count in [2, 1] {
      guard words.count >= count, let found = commands.first(where: { $0.words == Array(words.prefix(count)) })
      else { continue }
      words = words.dropFirst(count)
      return found
    }
    let first = words.removeFirst()
    let second = commands.filter { $0.words.count == 2 && $0.words[0] == first }.map { $0.words[1] }
    guard !second.isEmpty else {
      let known = commands.filter { !$0.isHidden }.map { $0.words[0] }
      throw UsageFailure(
        description: "unknown command `\(Label.plain(first))`\(Suggestion.phrase(for: first, among: known))")
    }
    guard let word = words.first, !word.hasPrefix("-") else {
      throw UsageFailure(
        description:
          "`\(first)` needs one of: \(second.joined(separator: ", ")); `xpastebridge help \(first)` explains them")
    }
    let phrase = Suggestion.phrase(for: word, among: second)
    throw UsageFailure(description: "unknown command `\(first) \(Label.plain(word))`\(phrase)")
  }

  private mutating func read(_ command: CommandSpecification) throws(UsageFailure) -> Reading {
    var invocation = Invocation(command: command)
    while let word = words.popFirst() {
      if word == "--" {
        invocation.operands += words
        words = []
      } else if word == "--help" || word == "-h" {
        return .help(command)
      } else if word.hasPrefix("--") {
        try readLong(word.dropFirst(2), into: &invocation)
      } else if word.hasPrefix("-") && word != "-" {
        try readShort(word.dropFirst(), into: &invocation)
      } else {
        invocation.operands.append(word)
      }
    }
    try judge(invocation)
    return .command(invocation)
  }

  private mutating func readLong(_ word: Substring, into invocation: inout Invocation) throws(UsageFailure) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = invocation.command.option(named: name) else {
      let phrase = Suggestion.phrase(for: name, among: invocation.command.options.map(\.name), prefix: "--")
      throw UsageFailure(
        description: "unknown option `--\(Label.plain(name))` for `\(invocation.command.name)`\(phrase)")
    }
    try add(option, parts.count == 2 ? String(parts[1]) : nil, into: &invocation)
  }

  /// `-abc` is three switches, `-dVALUE` and `-d VALUE` an option with its value.
  private mutating func readShort(_ word: Substring, into invocation: inout Invocation) throws(UsageFailure) {
    var letters = word
    while let letter = letters.popFirst() {
      guard let option = invocation.command.options.first(where: { $0.letter == letter }) else {
        throw UsageFailure(
          description: "unknown option `-\(Label.plain(String(letter)))` for `\(invocation.command.name)`")
      }
      let rest = option.value != nil && !letters.isEmpty ? String(letters) : nil
      if rest != nil { letters = "" }
      try add(option, rest, into: &invocation)
    }
  }

  private mutating func add(
    _ option: OptionSpecification, _ attached: String?, into invocation: inout Invocation
  ) throws(UsageFailure) {
    var value = attached ?? ""
    if let name = option.value {
      guard let given = attached ?? words.popFirst() else {
        throw UsageFailure(description: "the option `--\(option.name)` needs a value: \(name)")
      }
      value = given
    } else if attached != nil {
      throw UsageFailure(description: "the option `--\(option.name)` takes no value")
    }
    if case .choice(let choices) = option.kind, !choices.contains(value) {
      throw UsageFailure(
        description: "`--\(option.name)` is one of \(choices.joined(separator: ", ")), not `\(Label.plain(value))`")
    }
    guard option.isRepeatable || !invocation.has(option.name) else {
      throw UsageFailure(description: "the option `--\(option.name)` is given twice")
    }
    invocation.values[option.name, default: []].append(value)
  }

  private func judge(_ invocation: Invocation) throws(UsageFailure) {
    let name = invocation.command.name
    let allowed = invocation.command.operands?.maximum ?? 0
    if invocation.operands.count > allowed {
      throw UsageFailure(description: "unexpected word `\(Label.plain(invocation.operands[allowed]))` after `\(name)`")
    }
    if let operands = invocation.command.operands, invocation.operands.count < operands.minimum {
      throw UsageFailure(description: "`\(name)` needs \(operands.name)")
    }
    for option in invocation.command.options where option.isRequired && !invocation.has(option.name) {
      throw UsageFailure(description: "`\(name)` needs --\(option.name)=\(option.value ?? "")")
    }
  }
}

/// "Did you mean".
enum Suggestion {
  /// `; did you mean …?`, or nothing when no candidate is near.
  static func phrase(for word: String, among candidates: [String], prefix: String = "") -> String {
    let near = candidates.map { ($0, distance(word, $0)) }.filter { $0.1 <= max(1, word.count / 3) }
    guard let best = near.min(by: { $0.1 < $1.1 }) else { return "" }
    return "; did you mean `\(prefix)\(best.0)`?"
  }

  /// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
  static func distance(_ one: String, _ other: String) -> Int {
    // Long words can't be near our short names, and the table grows with both.
    let left = Array(one.prefix(64))
    let right = Array(other.prefix(64))
    guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
    var table = [[Int]](repeating: Array(0...right.count), count: left.count + 1)
    for row in 1...left.count {
      table[row][0] = row
      for column in 1...right.count {
        let same = left[row - 1] == right[column - 1]
        var best = min(table[row - 1][column] + 1, table[row][column - 1] + 1)
        best = min(best, table[row - 1][column - 1] + (same ? 0 : 1))
        if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
          best = min(best, table[row - 2][column - 2] + 1)
        }
        table[row][column] = best
      }
    }
    return table[left.count][right.count]
  }
}
