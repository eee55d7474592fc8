import Boards
@preconcurrency import Glibc
import Selection

/// The verbs of boards. The daemon judges this process as any other: by its executable and its unit.
enum BoardCommands {
  private static let plainText = "UTF8_STRING"
  private static let pause = 1_000

  /// Runs one of them.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let client = try invocation.client()
    let verb = try verb(invocation, client)
    do throws(ControlFailure) {
      return try verb(try client.openBoards())
    } catch {
      Console.complain(error.line)
      let refusal = BoardRefusal.allCases.first { BoardService.error($0) == error.errorName }
      return refusal.flatMap(status) ?? ExitStatus.failed
    }
  }

  /// Three reasons why there is nothing to read; a script may want to wait for one and not for another.
  private static func status(of refusal: BoardRefusal) -> Int32? {
    switch refusal {
    case .unowned: 3
    case .unanswered: 4
    case .empty: 5
    default: nil
    }
  }

  private typealias Verb = (BusConnection) throws(ControlFailure) -> Int32

  /// What is to be done, after everything about it has been understood.
  private static func verb(_ invocation: Invocation, _ client: ControlClient) throws(UsageFailure) -> Verb {
    let names = invocation.operands
    let item = try number(invocation, "item")
    let type = invocation.value("type") ?? plainText
    switch invocation.command.words[1] {
    case "list": return { (bus) throws(ControlFailure) in try list(invocation, client, bus) }
    case "create":
      let isUnique = invocation.has("unique")
      guard isUnique == names.isEmpty else {
        throw UsageFailure(description: "`board create` wants a name, or `--unique`")
      }
      let members = invocation.value("members") ?? ""
      guard isUnique || !members.isEmpty else {
        throw UsageFailure(
          description:
            "`board create` needs `--members`: a board of this command's own would be nobody's when it ends; "
            + "`--unique` makes one for as long as it runs")
      }
      return { (bus) throws(ControlFailure) in
        try create(names.first ?? "", members: members, isUnique: isUnique, client, bus)
      }
    case "read": return { (bus) throws(ControlFailure) in try read(names[0], item ?? 0, type, client, bus) }
    case "write":
      let expires = try number(invocation, "expires") ?? 0
      guard let seconds = UInt32(exactly: expires) else {
        throw UsageFailure(description: "`--expires` is a number of seconds, not `\(expires)`")
      }
      return { (bus) throws(ControlFailure) in try write(invocation, type, expires: seconds, client, bus) }
    case "copy":
      return { (bus) throws(ControlFailure) in
        try done("CopyItem", client, bus) { (call) throws(SystemFailure) in
          try call.append(names[0])
          try call.append(item ?? 0)
          try call.append(names[1])
        }
      }
    case "watch": return { (bus) throws(ControlFailure) in try watch(invocation, client, bus) }
    case "pin":
      guard let item else { throw UsageFailure(description: "`board pin` needs the option `--item`") }
      return { (bus) throws(ControlFailure) in
        try done("PinItem", client, bus) { (call) throws(SystemFailure) in
          try call.append(names[0])
          try call.append(item)
          try call.append(!invocation.has("off"))
        }
      }
    case "remove":
      return { (bus) throws(ControlFailure) in
        try done(item == nil ? "RemoveBoard" : "RemoveItem", client, bus) { (call) throws(SystemFailure) in
          try call.append(names[0])
          if let item { try call.append(item) }
        }
      }
    default:
      return { (bus) throws(ControlFailure) in
        try done("WipeBoard", client, bus) { (call) throws(SystemFailure) in try call.append(names[0]) }
      }
    }
  }

  private static func number(_ invocation: Invocation, _ option: String) throws(UsageFailure) -> UInt64? {
    guard let text = invocation.value(option) else { return nil }
    guard let number = UInt64(text), number > 0 else {
      throw UsageFailure(description: "`--\(option)` is a number from 1, not `\(Label.plain(text))`")
    }
    return number
  }

  // MARK: what gives nothing but that it is done

  private static func done(
    _ member: String, _ client: ControlClient, _ bus: BusConnection,
    _ arguments: (BusMessage) throws(SystemFailure) -> Void
  ) throws(ControlFailure) -> Int32 {
    try client.callBoards(member, over: bus, arguments: arguments) { _ in }
    return ExitStatus.done
  }

  // MARK: list

  private static func list(
    _ invocation: Invocation, _ client: ControlClient, _ bus: BusConnection
  ) throws(ControlFailure) -> Int32 {
    let name = invocation.operands.first
    let answer = try client.callBoards(
      name == nil ? "ListBoards" : "DescribeBoard", over: bus,
      arguments: { (call) throws(SystemFailure) in if let name { try call.append(name) } },
      { (reply) throws(SystemFailure) in try reply.readString() })
    if invocation.has("json") { return Console.print(answer) }
    guard let json = try? JSON(reading: answer) else { return Console.failed("the daemon answered no JSON") }
    return Console.write(name == nil ? BoardText.boards(json) : BoardText.items(json))
  }

  // MARK: content

  private static func create(
    _ name: String, members: String, isUnique: Bool, _ client: ControlClient, _ bus: BusConnection
  ) throws(ControlFailure) -> Int32 {
    let made = try client.callBoards(
      "CreateBoard", over: bus,
      arguments: { (call) throws(SystemFailure) in
        try call.append(name)
        try call.append(members)
        try call.append(isUnique)
      }, { (reply) throws(SystemFailure) in try reply.readString() })
    guard isUnique else { return ExitStatus.done }
    let status = Console.print(made)
    // The board lasts as long as the connection.
    return status == ExitStatus.done ? serve(bus) : status
  }

  /// Stays until the daemon or somebody else ends it.
  private static func serve(_ bus: BusConnection) -> Int32 {
    do throws(SystemFailure) {
      while true {
        if try bus.step() { continue }
        try bus.wait(milliseconds: pause)
      }
    } catch {
      return Console.failed("the daemon has ended the connection")
    }
  }

  private static func read(
    _ name: String, _ item: UInt64, _ type: String, _ client: ControlClient, _ bus: BusConnection
  ) throws(ControlFailure) -> Int32 {
    let content = try client.callBoards(
      "ReadBoard", over: bus,
      arguments: { (call) throws(SystemFailure) in
        try call.append(name)
        try call.append(item)
        try call.append(type)
      }, { (reply) throws(SystemFailure) in try reply.readDescriptor() })
    do throws(SystemFailure) {
      guard let count = Posix.sealedByteCount(content, Posix.Seals.content) else {
        return Console.failed("the daemon sent something else than sealed content")
      }
      let payload = try Posix.payload(of: content, byteCount: count)
      for chunk in 0..<payload.chunkCount { try Posix.writeAll(payload, chunk: chunk, to: 1) }
      return ExitStatus.done
    } catch {
      return Console.failed("can't write to standard output: \(error.reason)")
    }
  }

  private static func write(
    _ invocation: Invocation, _ type: String, expires: UInt32, _ client: ControlClient, _ bus: BusConnection
  ) throws(ControlFailure) -> Int32 {
    let name = invocation.operands[0]
    let files = invocation.operands.count > 1 ? Array(invocation.operands.dropFirst()) : ["-"]
    var content: [(type: String, descriptor: OwnedDescriptor)] = []
    for file in files {
      let parts = Posix.lstat(file) == nil ? file.split(separator: "=", maxSplits: 1) : []
      let path = parts.count == 2 ? String(parts[1]) : file
      do throws(SystemFailure) {
        let source = path == "-" ? nil : try Posix.open(path, O_RDONLY)
        content.append(
          (parts.count == 2 ? String(parts[0]) : type, try Posix.memfd("board", from: source?.number ?? 0)))
      } catch {
        throw ControlFailure(line: "can't read `\(Label.plain(path))`: \(error.reason)")
      }
    }
    guard Set(content.map(\.type)).count == content.count else {
      throw ControlFailure(line: "an item has one content of each type; write TYPE=FILE for each")
    }
    return try done("WriteBoard", client, bus) { (call) throws(SystemFailure) in
      try call.append(name)
      try call.append(array: "(sh)", content) { (call, form) throws(SystemFailure) in
        try call.open("r", "sh")
        try call.append(form.type)
        try call.append(form.descriptor)
        try call.close()
      }
      try call.append(invocation.has("replace"))
      try call.append(expires)
      try call.append(invocation.has("local-only"))
    }
  }

  // MARK: watch

  private static func watch(
    _ invocation: Invocation, _ client: ControlClient, _ bus: BusConnection
  ) throws(ControlFailure) -> Int32 {
    let hasJSON = invocation.has("json")
    do throws(SystemFailure) {
      try bus.addFilter { message in
        guard let line = try? BoardText.notice(message, hasJSON: hasJSON) else { return }
        if Console.print(line) != ExitStatus.done { exit(ExitStatus.failed) }
      }
    } catch {
      throw ControlFailure(line: "can't watch: \(error)")
    }
    _ = try done("WatchBoard", client, bus) { (call) throws(SystemFailure) in
      try call.append(invocation.operands.first ?? "")
    }
    return serve(bus)
  }
}
