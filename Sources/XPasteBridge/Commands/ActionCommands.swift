/// `action list` and `action run`.
enum ActionCommands {
  /// A run takes as long as its action's limit says; the bus adds its own.
  static let runMilliseconds = 150_000

  /// All actions, and whether each can be run now.
  static func list(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    try ReportCommands.report(invocation, "ActionList", text)
  }

  /// Runs one.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let client = try invocation.client(defaultMilliseconds: runMilliseconds)
    return run(invocation.operands[0], by: client, asJSON: invocation.has("json"))
  }

  /// Runs the action of that name and says how it ended.
  static func run(_ name: String, by client: ControlClient, asJSON: Bool) -> Int32 {
    let answer: String
    do throws(ControlFailure) { answer = try client.string("ActionRun", of: name) } catch {
      return Console.failed(error.line)
    }
    let outcome = try? JSON(reading: answer)
    let isMade = outcome?["outcome"]?.text == "made"
    if asJSON {
      let status = Console.print(answer)
      return isMade ? status : ExitStatus.failed
    }
    let line = "\(Label.plain(name)): \(outcome?["text"]?.text.map { Label.plain($0, to: 2_048) } ?? "no answer")"
    return isMade ? Console.print(line) : Console.failed(line)
  }

  private static func text(_ report: JSON) -> String {
    let actions = report["actions"]?.elements ?? []
    let rows = actions.map { action in
      [
        StatusText.field(action["name"]), StatusText.field(action["title"]), state(action),
      ]
    }
    let widths = (0..<2).map { column in rows.map { $0[column].count }.max() ?? 0 }
    var lines = rows.map { row in
      (0..<2).map { row[$0] + String(repeating: " ", count: widths[$0] - row[$0].count + 2) }.joined() + row[2]
    }
    if rows.isEmpty { lines.append("no actions") }
    lines += (report["errors"]?.elements ?? []).map { Console.alarming("error ") + StatusText.field($0) }
    lines += (report["warnings"]?.elements ?? []).map { "warning " + StatusText.field($0) }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func state(_ action: JSON) -> String {
    switch action["state"]?.text {
    case "fits": "fits \(StatusText.field(action["target"]))"
    case "refused": "refused: \(action["reason"].map(StatusText.reason) ?? "-")"
    default: "-"
    }
  }
}
