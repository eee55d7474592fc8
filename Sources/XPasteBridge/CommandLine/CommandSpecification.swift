/// What an option's value is: completions offer the right words for it.
enum ValueKind: Hashable {
  /// A path of a file or directory.
  case path
  /// An X display.
  case display
  /// A number, perhaps with a unit.
  case number
  /// One of these words.
  case choice([String])
  /// Anything else.
  case text
}

/// One option of a command.
struct OptionSpecification: Hashable {
  /// The long name, without dashes.
  var name: String
  /// The one-letter name.
  var letter: Character?
  /// The value's name in help; `nil` for a switch.
  var value: String?
  /// What the value is.
  var kind: ValueKind = .text
  /// Whether it may be given more than once.
  var isRepeatable = false
  /// Whether the command can't do without it.
  var isRequired = false
  /// What it is for: one sentence, lower case, no full stop.
  var summary: String
}

/// The words after a command's options.
struct OperandSpecification: Hashable {
  /// The name in help.
  var name: String
  /// How many there must be at least.
  var minimum = 0
  /// How many there may be.
  var maximum = Int.max
  /// What they are.
  var kind: ValueKind = .path
}

/// One verb of the command line.
struct CommandSpecification: Hashable {
  /// Its words, for example `policy check`.
  var words: [String]
  /// What it is for: one sentence, lower case, no full stop.
  var summary: String
  /// What help and the manual page add.
  var details = ""
  /// Its options.
  var options: [OptionSpecification] = []
  /// The words after the options.
  var operands: OperandSpecification?
  /// Whether help and completions leave it out.
  var isHidden = false

  /// Its words, joined by spaces.
  var name: String { words.joined(separator: " ") }

  /// The option with that long name.
  func option(named name: String) -> OptionSpecification? { options.first { $0.name == name } }
}

/// A command line that was understood.
struct Invocation: Hashable {
  /// Which command.
  var command: CommandSpecification
  /// The values of the options given, in order; a switch has an empty one.
  var values: [String: [String]] = [:]
  /// The words after the options.
  var operands: [String] = []

  /// Whether the option was given.
  func has(_ option: String) -> Bool { values[option] != nil }
  /// The last value given.
  func value(_ option: String) -> String? { values[option]?.last }
  /// All values given.
  func all(_ option: String) -> [String] { values[option] ?? [] }
}

/// A command line that isn't understood: one line for standard error, exit status 2.
struct UsageFailure: Error, Hashable, CustomStringConvertible {
  /// What is wrong, in one line.
  var description: String
}
