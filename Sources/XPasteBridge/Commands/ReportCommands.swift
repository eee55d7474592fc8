/// The verbs that ask the daemon: `status`, `sync`, `clients` and `policy show`.
enum ReportCommands {
  /// How everything stands.
  static func status(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    try report(invocation, "Status", StatusText.text)
  }

  /// The X clients.
  static func clients(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    try report(invocation, "Clients", ClientsText.text)
  }

  /// The policy in force.
  static func policyShow(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    // Files that are named are read here: nobody need have them in force.
    if invocation.has("policy") { return PolicyCommands.show(invocation) }
    return try report(invocation, "PolicyShow", PolicyText.text)
  }

  /// Waits until what happened so far is dealt with.
  static func sync(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let client = try invocation.client()
    do throws(ControlFailure) {
      let isSettled = try client.truth("Sync")
      if invocation.has("json") {
        let status = Console.print(JSON.object(["schema": .integer(1), "settled": .bool(isSettled)]).description)
        return isSettled ? status : ExitStatus.failed
      }
      guard isSettled else {
        return Console.failed("the daemon of display `\(Label.plain(client.display))` is still busy after 2 s")
      }
      return ExitStatus.done
    } catch {
      return Console.failed(error.line)
    }
  }

  /// Asks for a report and prints it.
  static func report(
    _ invocation: Invocation, _ member: String, _ text: (JSON) -> String
  ) throws(UsageFailure) -> Int32 {
    let client = try invocation.client()
    do throws(ControlFailure) {
      let answer = try client.string(member)
      if invocation.has("json") { return Console.print(answer) }
      guard let json = try? JSON(reading: answer) else {
        return Console.failed(
          "the daemon of display `\(Label.plain(client.display))` answered no JSON; is it of another version?")
      }
      return Console.write(text(json))
    } catch {
      return Console.failed(error.line)
    }
  }
}
