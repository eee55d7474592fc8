/// The parts of xpastebridge(1) that come from the table, in mdoc; a test finds them in `man/xpastebridge.1`.
enum ManualSections {
  /// The synopsis: one `.Nm` line for each command.
  static var synopsis: String {
    var lines: [String] = []
    for command in CommandTable.visible {
      lines.append(".Nm")
      lines.append(".Cm " + command.name)
      for option in command.options {
        let spelled = "Fl -" + option.name + (option.value.map { " Ar " + $0 } ?? "")
        if option.isRequired {
          lines.append("." + spelled)
        } else {
          lines.append(".Op " + spelled + (option.isRepeatable ? " ..." : ""))
        }
      }
      if let operands = command.operands {
        lines.append(".Op Ar " + operands.name + (operands.maximum > 1 ? " ..." : ""))
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// What each command is for and what its options mean.
  static var commands: String {
    var lines: [String] = [".Bl -tag -width Ds"]
    for command in CommandTable.visible {
      lines.append(".It Cm " + command.name)
      lines += sentences(HelpText.sentence(command.summary))
      if !command.details.isEmpty { lines += sentences(command.details) }
      guard !command.options.isEmpty else { continue }
      lines.append(".Bl -tag -width Ds -compact")
      for option in command.options {
        let short = option.letter.map { "Fl \($0) , " } ?? ""
        lines.append(".It " + short + "Fl -" + option.name + (option.value.map { " Ar " + $0 } ?? ""))
        lines += sentences(HelpText.sentence(option.summary))
      }
      lines.append(".El")
    }
    lines.append(".El")
    return lines.joined(separator: "\n") + "\n"
  }

  /// New sentence, new line, at most 78 characters a line; hyphens of options stay hyphens when they are copied from the
  /// page.
  private static func sentences(_ text: String) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
      let spelled = word.map { $0 == "-" ? "\\-" : String($0) }.joined()
      if !line.isEmpty && (line.hasSuffix(".") || line.count + 1 + spelled.count > 78) {
        lines.append(line)
        line = ""
      }
      line += line.isEmpty ? spelled : " " + spelled
    }
    return lines + [line]
  }
}
