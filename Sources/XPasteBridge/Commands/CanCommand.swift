/// `can`: whether an app may do something at all.
enum CanCommand {
  /// Prints the answer; its exit status says the same.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let client = try invocation.client()
    let action = invocation.operands[0]
    guard ["copy", "cut", "paste"].contains(action) else {
      throw UsageFailure(description: "`can` knows `copy`, `cut` and `paste`, not `\(Label.plain(action))`")
    }
    var window: UInt32 = 0
    if invocation.operands.count > 1 {
      guard let number = Self.number(invocation.operands[1]), number > 0 else {
        throw UsageFailure(description: "a window is a number, not `\(Label.plain(invocation.operands[1]))`")
      }
      window = number
    }
    do throws(ControlFailure) {
      let isAllowed = try client.canPerform(action, window: window)
      let answer =
        invocation.has("json")
        ? JSON.object(["schema": .integer(1), "allowed": .bool(isAllowed)]).description : isAllowed ? "yes" : "no"
      let status = Console.print(answer)
      return isAllowed ? status : ExitStatus.failed
    } catch {
      return Console.failed(error.line)
    }
  }

  /// `12345` or `0x3039`.
  static func number(_ text: String) -> UInt32? {
    text.hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
  }
}
