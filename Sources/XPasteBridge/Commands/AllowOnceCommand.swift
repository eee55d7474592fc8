/// `allow-once`: the next paste of an app that waits for the person's word.
enum AllowOnceCommand {
  /// Allows the paste with the number given, or the one asked for last; or lists what waits.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    if invocation.has("list") { return try ReportCommands.report(invocation, "Asks", list) }
    var number: UInt64 = 0
    if let given = invocation.operands.first {
      guard let read = UInt64(given), read > 0 else {
        throw UsageFailure(description: "`allow-once` takes a number that --list prints, not `\(Label.plain(given))`")
      }
      number = read
    }
    let client = try invocation.client()
    do throws(ControlFailure) {
      let answer = try client.allowOnce(number)
      if invocation.has("json") { return Console.print(answer) }
      guard let ask = try? JSON(reading: answer) else { return Console.print("allowed") }
      return Console.print("\(parties(ask)) once: paste again within \(seconds(ask))")
    } catch {
      return Console.failed(error.line)
    }
  }

  private static func list(_ report: JSON) -> String {
    let asks = report["asks"]?.elements ?? []
    guard !asks.isEmpty else { return "no paste waits for being allowed\n" }
    return asks.map { ask in
      let isAllowed = ask["allowed"]?.truth == true
      let number = ask["number"]?.number ?? 0
      return "\(number)  \(parties(ask))\(isAllowed ? " once, as allowed," : " if you allow it,") for \(seconds(ask))\n"
    }.joined()
  }

  private static func parties(_ ask: JSON) -> String {
    "\(name(ask["destination"])) may paste what \(name(ask["source"])) copied"
  }

  private static func seconds(_ ask: JSON) -> String {
    let count = ask["seconds"]?.number ?? 0
    return "\(count) second\(count == 1 ? "" : "s")"
  }

  private static func name(_ subject: JSON?) -> String {
    subject.flatMap { RecordJSON.subject(reading: $0) }.map { AuditSentence.name(of: $0) } ?? "an unknown program"
  }
}
