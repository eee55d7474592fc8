import Foundation

/// A program that obeys commands on standard input and tells events, one JSON object a line.
class Talker {
  let child: Child
  /// All events so far, for whoever counts.
  private(set) var events: [Event] = []
  /// Events that nobody has waited for yet.
  private var unread: [Event] = []
  private let alive: () -> String

  init(_ child: Child, alive: @escaping () -> String) {
    self.child = child
    self.alive = alive
  }

  /// Waits for the first event of this name not yet waited for.
  @discardableResult
  func wait(_ name: String, within seconds: Double = 10, where fits: (Event) -> Bool = { _ in true }) throws -> Event {
    let deadline = Deadline(seconds: seconds)
    while true {
      if let index = unread.firstIndex(where: { $0.name == name && fits($0) }) { return unread.remove(at: index) }
      do { try readOne(by: deadline) } catch {
        let last = unread.suffix(3).map(\.description).joined(separator: " ")
        throw HarnessError(
          child.name, expected: "`\(name)` within \(seconds) s", found: last.isEmpty ? "nothing" : last, alive: alive())
      }
    }
  }

  private func readOne(by deadline: Deadline) throws {
    guard let line = try child.line(by: deadline) else {
      throw HarnessError(child.name, expected: "an event", found: "the end of its output")
    }
    let event = try Event(line: line, from: child.name)
    events.append(event)
    unread.append(event)
  }

  /// Sends one command and waits until it is done.
  @discardableResult
  func tell(_ line: String, within seconds: Double = 10) throws -> Event {
    child.send(Data((line + "\n").utf8))
    let name = line.prefix { $0 != " " }
    let answer = try waitForAnswer(to: String(name), within: seconds)
    if answer.name == "error" {
      throw HarnessError(child.name, expected: "`\(line.prefix(80))` done", found: answer.text("message") ?? "an error")
    }
    return answer
  }

  private func waitForAnswer(to name: String, within seconds: Double) throws -> Event {
    let deadline = Deadline(seconds: seconds)
    while true {
      let isAnswer = { (e: Event) in (e.name == "done" || e.name == "error") && e.text("command") == name }
      if let index = unread.firstIndex(where: isAnswer) { return unread.remove(at: index) }
      do { try readOne(by: deadline) } catch {
        throw HarnessError(
          child.name, expected: "`\(name)` done within \(seconds) s", found: "\(error)", alive: alive())
      }
    }
  }

  /// Sends a command that never answers: the program stops or ends.
  func order(_ line: String) { child.send(Data((line + "\n").utf8)) }

  /// Forgets the events nobody waited for, so that the next wait is for what happens from now on.
  func forget() { unread.removeAll() }

  func count(_ name: String, where fits: (Event) -> Bool = { _ in true }) -> Int {
    events.count { $0.name == name && fits($0) }
  }

  func quit() {
    order("quit")
    child.closeInput()
    _ = try? child.exitStatus(within: 3)
    child.end()
  }
}

/// The scriptable owner of any selection (`xpb-owner --help`).
final class Owner: Talker {
  func status(of selection: String = "CLIPBOARD") throws -> Event {
    try tell("status")
    return try wait("status") { $0.text("selection") == selection }
  }

  /// How often a target was asked for.
  func requests(for target: String, on selection: String = "CLIPBOARD") throws -> Int {
    for text in try status(of: selection).list("counts") {
      let parts = text.split(separator: " ")
      if parts.count == 3, parts[0] == target { return Int(parts[1]) ?? 0 }
    }
    return 0
  }

  @discardableResult
  func claim(_ time: String = "fresh") throws -> Event {
    try tell("claim \(time)")
    return try wait("claimed")
  }
}

/// The scriptable requestor (`xpb-requestor --help`).
final class Requestor: Talker {
  @discardableResult
  func convert(_ target: String, _ options: String = "", within seconds: Double = 15) throws -> Event {
    let word = target.replacing(" ", with: "\\_")
    try tell("convert \(word) \(options)", within: seconds)
    return try wait("answer", within: seconds) { $0.text("target") == target }
  }

  /// The names that TARGETS lists; `nil` when it is refused.
  func targets(_ options: String = "") throws -> [String]? {
    try tell("targets \(options)")
    let answer = try wait("answer", within: 15) { $0.text("target") == "TARGETS" }
    return answer.text("state") == "answered" ? answer.list("atoms") : nil
  }

  /// Where it writes what it is asked to show; content in its lines of JSON costs more than all else with megabytes.
  var contentPath = ""

  /// The content of a target; `nil` when it is refused.
  func paste(_ target: String = "UTF8_STRING", _ options: String = "") throws -> Data? {
    try content(of: convert(target, "out=\(contentPath) \(options)"))
  }

  /// What came with an answer to a conversion that had `out=` ``contentPath``; `nil` when it is refused.
  func content(of answer: Event) throws -> Data? {
    guard answer.text("state") == "answered" else { return nil }
    return try Data(contentsOf: URL(fileURLWithPath: contentPath))
  }

  /// The same as text, for small things.
  func text(_ target: String = "UTF8_STRING", _ options: String = "") throws -> String? {
    try paste(target, options).map { String(decoding: $0, as: UTF8.self) }
  }

  /// A `many` or `loop` command's summary.
  func summary(_ command: String, within seconds: Double = 60) throws -> Event {
    try tell(command, within: seconds)
    return try wait("summary", within: seconds)
  }

  func ownerWindow(of selection: String = "CLIPBOARD") throws -> Int {
    try tell("owner \(selection)")
    return try wait("owner").number("window") ?? 0
  }
}
