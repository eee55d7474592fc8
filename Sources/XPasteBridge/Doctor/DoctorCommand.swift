import Glibc
import Policy
import PolicyFile
import Selection
import X11

/// `doctor`: which guarantees hold here and now, and what to do about those that don't.
enum DoctorCommand {
  /// How long the session bus may take (our choice: it is on this machine and has nothing to think about).
  private static let busMilliseconds = 1_000
  /// How long the X server may take, so that all of it is over in 5 s.
  private static let displayMilliseconds = 3_000

  /// Gathers, judges and prints. The exit status says whether all guarantees hold.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    // The display comes last: one that never answers ends the program, with what was found about the rest.
    var facts = try gather(invocation)
    let display = invocation.value("display") ?? Posix.environment("DISPLAY") ?? ""
    facts.server = .unreachable(
      "\(DisplaySilence.line(display)) within \(displayMilliseconds / 1_000) s; it accepts the connection")
    let watch = OpeningWatch(
      milliseconds: displayMilliseconds, output: 1, text: report(Findings.all(facts), display, invocation))
    facts.server = server(invocation)
    watch.end()
    let findings = Findings.all(facts)
    let status = Console.write(report(findings, display, invocation))
    return findings.allSatisfy { $0.holding == .holds } ? status : ExitStatus.failed
  }

  private static func report(_ findings: [Finding], _ display: String, _ invocation: Invocation) -> String {
    invocation.has("json")
      ? DoctorReport.json(findings, display: display).description + "\n" : DoctorReport.text(findings)
  }

  private static func gather(_ invocation: Invocation) throws(UsageFailure) -> DoctorFacts {
    let source = InstalledPolicy(given: invocation.all("policy"))
    let found = source.read()
    return DoctorFacts(
      server: .unreachable(""), unit: UserUnit.facts(milliseconds: busMilliseconds), runtimeProblem: runtimeProblem(),
      notices: noticeServer(),
      files: DoctorFacts.Files(
        count: found.files.count, errors: found.errors.map(\.description),
        changeable: source.load(.managed, over: Ruleset()).changeable),
      running: try running(invocation), version: HelpText.version)
  }

  private static func server(_ invocation: Invocation) -> DoctorFacts.Server {
    do throws(DisplayError) {
      let display = try Display.open(invocation.value("display"))
      defer { display.close() }
      return .reachable(missing: display.missingExtensions, copying: display.copyingExtension)
    } catch {
      guard case .extensionMissing = error else { return .unreachable("\(error)") }
      return .unfit("\(error)")
    }
  }

  private static func running(_ invocation: Invocation) throws(UsageFailure) -> DoctorFacts.Running {
    // Without a display there is nobody to be asked, which is told of the display.
    guard (invocation.value("display") ?? Posix.environment("DISPLAY")) != nil else {
      return .absent("no daemon can be asked without a display")
    }
    let client = try invocation.client()
    do throws(ControlFailure) {
      let (status, clients) = (try client.string("Status"), try client.string("Clients"))
      guard let status = try? JSON(reading: status), let clients = try? JSON(reading: clients) else {
        return .absent("the daemon answered no JSON; is it of another version?")
      }
      return .answering(status: status, clients: clients)
    } catch {
      return .absent(error.line)
    }
  }

  private static func runtimeProblem() -> String? {
    do throws(ControlFailure) {
      let folder = try ControlAddress(display: ":0").runtime
      guard let state = Posix.stat(folder) else { return "the run-time directory `\(folder)` doesn't exist" }
      guard state.isDirectory, Posix.canWrite(folder) else {
        return "the run-time directory `\(folder)` is none that we may write to"
      }
      return nil
    } catch {
      return error.line
    }
  }

  private static func noticeServer() -> DoctorFacts.NoticeServer {
    do throws(SystemFailure) {
      let bus = try BusConnection.openUser()
      try bus.waitUntilReady(deadline: Posix.monotonicNow().advanced(byMilliseconds: busMilliseconds))
      let isRunning = try ask(
        bus, "NameHasOwner", { (call) throws(SystemFailure) in try call.append(noticeName) },
        { (reply) throws(SystemFailure) in try reply.readBool() })
      if isRunning { return .running }
      let names = try ask(
        bus, "ListActivatableNames", { _ in }, { (reply) throws(SystemFailure) in try reply.readStrings() })
      return names.contains(noticeName) ? .startable : .absent
    } catch {
      return .unasked(error.reason)
    }
  }

  private static let noticeName = "org.freedesktop.Notifications"

  private static func ask<Value>(
    _ bus: BusConnection, _ member: String, _ arguments: (BusMessage) throws(SystemFailure) -> Void,
    _ read: (BusMessage) throws(SystemFailure) -> Value
  ) throws(SystemFailure) -> Value {
    let name = "org.freedesktop.DBus"
    let call = try bus.makeCall(to: name, path: "/org/freedesktop/DBus", interface: name, member: member)
    try arguments(call)
    switch try bus.call(call, milliseconds: busMilliseconds) {
    case .success(let reply): return try read(reply)
    case .failure: throw SystemFailure(call: member, code: EPROTO)
    }
  }
}

/// What `doctor` prints.
enum DoctorReport {
  /// The version of the JSON shape (`schemas/doctor.schema.json`).
  static let schemaVersion = 1

  /// The findings as JSON.
  static func json(_ findings: [Finding], display: String) -> JSON {
    .object([
      "schema": .integer(schemaVersion),
      "display": .string(Label.shortened(display)),
      "holds": .bool(findings.allSatisfy { $0.holding == .holds }),
      "findings": .array(
        findings.map { finding in
          .object([
            "guarantee": .string(finding.guarantee.rawValue),
            "standing": .string(finding.holding.rawValue),
            "found": .string(Label.shortened(finding.found, to: 4_096)),
            "remedy": finding.remedy.map { .string(Label.shortened($0, to: 4_096)) },
          ])
        }),
    ])
  }

  /// A line for each guarantee, with what to do below it.
  static func text(_ findings: [Finding]) -> String {
    var lines = findings.flatMap { finding in
      let standing = finding.holding == .holds ? finding.holding.rawValue : Console.alarming(finding.holding.rawValue)
      let padding = String(repeating: " ", count: 9 - finding.holding.rawValue.count)
      let name = finding.guarantee.rawValue
      let line =
        standing + padding + name + String(repeating: " ", count: 12 - name.count)
        + Label.plain(finding.found, to: 4_096)
      return [line]
        + (finding.remedy.map { [String(repeating: " ", count: 21) + "→ " + Label.plain($0, to: 4_096)] } ?? [])
    }
    let count = { (holding: Holding) in findings.count { $0.holding == holding } }
    lines.append(
      "\(findings.count) guarantees: \(count(.holds)) hold, \(count(.limited)) limited, \(count(.broken)) broken")
    return lines.joined(separator: "\n") + "\n"
  }
}
