@preconcurrency import Glibc

/// `menu`: shows what the active app may have of the clipboard, and does what is chosen.
enum MenuCommand {
  /// Programs that show lines and print the one chosen, in the order in which they are looked for.
  private static let choosers: [(name: String, words: [String])] = [
    ("rofi", ["-dmenu", "-i", "-p", "edit"]), ("dmenu", ["-i", "-p", "edit"]),
    ("fuzzel", ["--dmenu", "--prompt", "edit "]),
  ]

  /// One line of the menu.
  private struct Item {
    /// What choosing it does.
    enum Choice {
      /// Runs the action of this name.
      case action(String)
      /// Puts an item of a board on CLIPBOARD.
      case offer(board: String, item: UInt64)
    }

    let title: String
    let choice: Choice
  }

  /// Shows the menu; nothing chosen is no success and no error.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let client = try invocation.client(defaultMilliseconds: ActionCommands.runMilliseconds)
    let items: [Item]
    do throws(ControlFailure) {
      let answer = try client.string("MenuItems")
      if invocation.has("json") { return Console.print(answer) }
      items = Self.items((try? JSON(reading: answer)) ?? .null)
    } catch {
      return Console.failed(error.line)
    }
    guard !items.isEmpty else {
      return Console.failed("there is nothing that the active app may do with what is on the clipboard or its boards")
    }
    guard let chooser = chooser(invocation.value("with")) else {
      return Console.failed("no program to show a menu with: install rofi, dmenu or fuzzel, or name one by --with")
    }
    do throws(SystemFailure) {
      let chosen = try choose(among: items.map(\.title), by: chooser, on: client.display)
      guard let item = items.first(where: { $0.title == chosen }) else { return ExitStatus.failed }
      switch item.choice {
      case .action(let name): return ActionCommands.run(name, by: client, asJSON: false)
      case .offer(let board, let number): return offer(number, of: board, by: client)
      }
    } catch {
      return Console.failed("can't show a menu with \(Label.plain(chooser.path)): \(error)")
    }
  }

  private static func items(_ report: JSON) -> [Item] {
    (report["items"]?.elements ?? []).compactMap { item in
      guard let title = item["title"]?.text else { return nil }
      switch item["kind"]?.text {
      case "action": return item["name"]?.text.map { Item(title: title, choice: .action($0)) }
      case "paste":
        guard let board = item["board"]?.text, let number = item["item"]?.number else { return nil }
        return Item(title: title, choice: .offer(board: board, item: UInt64(clamping: number)))
      default: return nil
      }
    }
  }

  /// The active app pastes it by its own key afterwards: that is the paste that is decided.
  private static func offer(_ item: UInt64, of board: String, by client: ControlClient) -> Int32 {
    let answer: String
    do throws(ControlFailure) { answer = try client.offer(item, of: board) } catch {
      return Console.failed(error.line)
    }
    let outcome = try? JSON(reading: answer)
    let line = "\(Label.plain(board)): \(outcome?["text"]?.text.map { Label.plain($0) } ?? "no answer")"
    return outcome?["outcome"]?.text == "offered" ? Console.print(line) : Console.failed(line)
  }

  private static func chooser(_ given: String?) -> (path: String, words: [String])? {
    if let given {
      let name = given.split(separator: "/").last.map(String.init) ?? given
      let words = choosers.first { $0.name == name }?.words ?? []
      return (given.contains("/") ? given : found(given)).map { ($0, words) }
    }
    for chooser in choosers {
      if let path = found(chooser.name) { return (path, chooser.words) }
    }
    return nil
  }

  private static func found(_ name: String) -> String? {
    (Posix.environment("PATH") ?? "/usr/bin:/bin").split(separator: ":").map { "\($0)/\(name)" }
      .first { access($0, X_OK) == 0 }
  }

  /// The line that was chosen; an empty text when none was.
  private static func choose(
    among lines: [String], by chooser: (path: String, words: [String]), on display: String
  ) throws(SystemFailure) -> String {
    // A file in memory and a pipe: the chooser's end of the pipe is closed here, so that its end is seen.
    let question = try Posix.memfd("menu", byteCount: 0)
    try Posix.write(lines.joined(separator: "\n") + "\n", to: question.number)
    lseek(question.number, 0, SEEK_SET)
    var variables = Posix.allVariables.filter { !$0.hasPrefix("DISPLAY=") }
    variables.append("DISPLAY=\(display)")
    let (answer, child) = try Posix.spawnReading(
      chooser.path, chooser.words, environment: variables, input: question.number, complaints: 2)
    defer { _ = Posix.wait(child, waits: true) }
    var chosen: [UInt8] = []
    while true {
      let more = try Posix.read(answer.number, limit: 4_096)
      guard !more.isEmpty, chosen.count < 64 << 10 else { break }
      chosen += more
    }
    return String(decoding: chosen.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}
