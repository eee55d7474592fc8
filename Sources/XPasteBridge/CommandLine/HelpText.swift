/// Help, made from the table.
enum HelpText {
  /// The version of this program.
  static let version = "0.1.0"

  /// What `--version` prints.
  static let versionLine = "xpastebridge \(version)"

  /// What `xpastebridge help` prints.
  static var overview: String {
    let commands = CommandTable.visible.map { ($0.name, $0.summary) }
    return """
      Usage: xpastebridge COMMAND [OPTION]… [OPERAND]…

      Guards copy, cut and paste between the applications of an X display.

      Commands:
      \(columns(commands))

      `xpastebridge help COMMAND` explains one command; `xpastebridge --version` prints the version.
      Exit status: 0 done, 1 refused or failed, 2 wrong usage; `run` has more, see xpastebridge(1).

      """
  }

  /// What `help COMMAND` and `COMMAND --help` print.
  static func text(of command: CommandSpecification) -> String {
    var text = "Usage: xpastebridge \(synopsis(of: command))\n\n\(sentence(command.summary))\n"
    if !command.details.isEmpty { text += command.details + "\n" }
    let options = command.options.map { (spelling(of: $0), $0.summary) } + [("-h, --help", "explain this command")]
    return text + "\nOptions:\n" + columns(options) + "\n"
  }

  /// The command with its options and operands, on one line.
  static func synopsis(of command: CommandSpecification) -> String {
    var parts = [command.name]
    for option in command.options {
      let spelled = "--" + option.name + (option.value.map { " " + $0 } ?? "")
      parts.append(option.isRequired ? spelled : "[\(spelled)]" + (option.isRepeatable ? "…" : ""))
    }
    if let operands = command.operands {
      let spelled = operands.name + (operands.maximum > 1 ? "…" : "")
      parts.append(operands.minimum == 0 ? "[\(spelled)]" : spelled)
    }
    return parts.joined(separator: " ")
  }

  private static func spelling(of option: OptionSpecification) -> String {
    let short = option.letter.map { "-\($0), " } ?? "    "
    return short + "--" + option.name + (option.value.map { "=" + $0 } ?? "")
  }

  private static func columns(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { left, right in
      "  " + left + String(repeating: " ", count: width - left.count + 2) + right
    }.joined(separator: "\n")
  }

  /// A summary as a sentence.
  static func sentence(_ summary: String) -> String { summary.prefix(1).uppercased() + summary.dropFirst() + "." }
}
