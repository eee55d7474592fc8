/// `lockdown`: everything but same-app copy and paste is refused, or no longer.
enum LockdownCommand {
  /// Sets or lifts it.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let state = invocation.operands[0]
    guard ["on", "off"].contains(state) else {
      throw UsageFailure(description: "`lockdown` is `on` or `off`, not `\(Label.plain(state))`")
    }
    let client = try invocation.client()
    do throws(ControlFailure) {
      try client.setLockdown(state == "on")
      return ExitStatus.done
    } catch {
      return Console.failed(error.line)
    }
  }
}
