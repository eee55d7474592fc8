import Policy
import Selection
import X11

/// `identify`: who is behind a window, and how a policy names it.
enum IdentifyCommand {
  /// How long a click is waited for (our choice: long enough to find the window, and then the pointer is free again).
  private static let clickMilliseconds = 60_000

  /// Prints what is known of the window that is named or clicked.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let client = try invocation.client()
    let window: UInt32
    if let word = invocation.operands.first {
      guard let number = CanCommand.number(word), number > 0 else {
        throw UsageFailure(description: "a window is a number, not `\(Label.plain(word))`")
      }
      window = number
    } else {
      do throws(ClickFailure) {
        window = try click(on: client.display)
      } catch {
        return Console.failed(error.line)
      }
    }
    do throws(ControlFailure) {
      let answer = try client.identify(window)
      if invocation.has("json") { return Console.print(answer) }
      guard let json = try? JSON(reading: answer) else {
        return Console.failed("the daemon answered no JSON; is it of another version?")
      }
      return Console.write(IdentifyText.text(json))
    } catch {
      return Console.failed(error.line)
    }
  }

  /// Why no window was clicked, in one line.
  private struct ClickFailure: Error {
    var line: String
  }

  private static func click(on name: String) throws(ClickFailure) -> UInt32 {
    let display: Display
    do throws(DisplayError) { display = try Display.open(name) } catch {
      throw ClickFailure(line: Label.plain("\(error)", to: 1_024))
    }
    defer { display.close() }
    do throws(PickFailure) {
      return try display.pickWindow(until: .now.advanced(byMilliseconds: clickMilliseconds)) {
        Console.complain("click the window to be identified")
      }.id
    } catch {
      switch error {
      case .pointerTaken: throw ClickFailure(line: "another program has the pointer; close its menu and try again")
      case .timedOut: throw ClickFailure(line: "no window was clicked within \(clickMilliseconds / 1_000) s")
      case .rootWindow: throw ClickFailure(line: "the root window belongs to no program")
      }
    }
  }
}

/// `identify` for people.
enum IdentifyText {
  /// Each fact with its evidence, and the words by which a policy means this program.
  static func text(_ report: JSON) -> String {
    var lines = [StatusText.line("window", number(report["window"]))]
    let pid = report["pid"]?.number.map { ", pid \($0)" } ?? ""
    lines.append(StatusText.line("origin", StatusText.field(report["origin"]) + pid))
    for name in FactName.allCases {
      guard let fact = report[name.rawValue] else { continue }
      lines.append(
        StatusText.line(name.rawValue, "\(StatusText.field(fact["value"])) (\(StatusText.field(fact["evidence"])))"))
    }
    for action in ["copy", "cut", "paste"] {
      guard let isAllowed = report["may"]?[action]?.truth else { continue }
      lines.append(StatusText.line(action, isAllowed ? "not refused for good" : Console.alarming("refused for good")))
    }
    lines.append(StatusText.line("in a policy", StatusText.field(report["matcher"])))
    return lines.joined(separator: "\n") + "\n"
  }

  private static func number(_ value: JSON?) -> String {
    value?.number.map { "0x" + String($0, radix: 16) } ?? "-"
  }
}

extension Subject {
  /// How a policy means this program, on the best evidence there is, as a flow mapping of YAML.
  var matcherText: String {
    let attested = facts.filter { $0.fact.evidence == .attested }.map(\.name)
    // A unit of a login session or a desktop holds many programs, so the executable comes before it.
    var names: [FactName] = []
    if let best = [FactName.sandbox, .executable, .unit].first(where: attested.contains) { names.append(best) }
    // Of an interpreter, and of what says no more of itself, the label is needed too.
    if script != nil { names.append(.script) } else if names.isEmpty, windowClass != nil { names.append(.windowClass) }
    guard !names.isEmpty else { return isRemote ? "remote" : "unknown" }
    let pairs = names.map { "\($0.rawValue): \(Self.quoted(self[$0]?.value ?? ""))" }
    return "{" + (isRemote ? ["remote: true"] + pairs : pairs).joined(separator: ", ") + "}"
  }

  /// A text in double quotes, with what patterns take for signs made literal.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "*", "?", "[", "\\": quoted += "\\\\" + (scalar == "\\" ? "\\\\" : String(scalar))
      case "\"": quoted += "\\\""
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
