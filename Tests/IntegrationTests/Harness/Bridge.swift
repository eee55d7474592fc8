import Foundation
import Glibc

/// The daemon under test. XPB_STANDIN names a plain clipboard manager that takes its place where only transparency is
/// asked, so that the tests themselves can be tried without a daemon.
final class Bridge {
  private let desktop: Desktop
  private(set) var child: Child
  let auditPath: String
  let policyPath: String
  private var standInBase = 0

  static let allowAll = "version: 1\ndefault: allow\n"
  /// No rules and no default, as on a machine on which nobody has set anything up.
  static let withoutRules = "version: 1\n"
  /// Everything allowed, with one limit set to be reached soon.
  static func limiting(_ limits: String) -> String { "version: 1\nlimits: {\(limits)}\ndefault: allow\n" }
  static var standIn: String? { ProcessInfo.processInfo.environment["XPB_STANDIN"] }

  static func binary() throws -> String {
    let named = ProcessInfo.processInfo.environment["XPB_BINARY"]
    let places =
      named.map { [$0] } ?? [Place.source + "/.build/release/xpastebridge", Place.products + "/xpastebridge"]
    for path in places where access(path, X_OK) == 0 { return path }
    throw HarnessError("xpastebridge", expected: "a binary", found: "none at \(places.joined(separator: ", "))")
  }

  /// `spelling`: how the display is named to it; `environment`: the whole of its environment; `bus`: the address of a
  /// session bus that it joins.
  init(
    on desktop: Desktop, policy: String = Bridge.allowAll, options: [String] = [], spelling: String? = nil,
    environment: [String: String]? = nil, bus: String? = nil
  ) throws {
    self.desktop = desktop
    auditPath = desktop.path("audit.jsonl")
    policyPath = desktop.path("policy.yaml")
    try policy.write(toFile: policyPath, atomically: true, encoding: .utf8)
    if let standIn = Self.standIn {
      child = try desktop.start(standIn)
      try learnStandIn()
      return
    }
    let arguments = [
      "run", "--display", spelling ?? desktop.display, "--policy", policyPath, "--audit", "all", "--audit-file",
      auditPath, "--fatal-x-errors",
    ]
    child = try desktop.start(
      try Self.binary(), arguments + (bus == nil ? ["--no-bus"] : []) + options, keepsOutput: false,
      adding: bus.map { ["DBUS_SESSION_BUS_ADDRESS": $0] } ?? [:], only: environment)
    let ready = try waitUntil(within: 10) {
      guard child.isAlive else { return true }
      return try command("sync").status == 0
    }
    guard ready, child.isAlive else {
      throw HarnessError(
        "xpastebridge", expected: "to be ready within 10 s", found: desktop.log("xpastebridge"), alive: desktop.alive())
    }
  }

  /// Runs a verb against this daemon.
  func command(_ words: String..., input: Data? = nil) throws -> (status: Int32, output: Data) {
    try desktop.run(try Self.binary(), words + ["--display", desktop.display], input: input)
  }

  /// Returns when all that happened before has been dealt with.
  func sync() throws {
    if Self.standIn != nil {
      _ = try waitUntil(within: 2) { try desktop.probe.ownerWindow() & ~0x1f_ffff == standInBase }
      return
    }
    // One `sync` waits 2 s; a source may take longer to hand over what is large.
    guard try waitUntil(within: 10, { try command("sync").status == 0 }) else {
      throw HarnessError(
        "xpastebridge sync", expected: "status 0 within 10 s", found: desktop.log("xpastebridge"),
        alive: desktop.alive())
    }
  }

  private func learnStandIn() throws {
    let owner = try desktop.owner("target UTF8_STRING text:stand-in")
    // It may not watch yet: claim until it answers.
    let taken = try waitUntil(within: 10) {
      try owner.claim()
      return try waitUntil(within: 0.2) { try owner.status().number("losses") ?? 0 > 0 }
    }
    guard taken else { throw HarnessError("stand-in", expected: "a takeover", found: "none", alive: desktop.alive()) }
    standInBase = try desktop.probe.ownerWindow() & ~0x1f_ffff
    owner.quit()
  }

  func json(_ verb: String) throws -> Any {
    let answer = try command(verb, "--json")
    guard answer.status == 0, let value = try? JSONSerialization.jsonObject(with: answer.output) else {
      let text = String(decoding: answer.output.prefix(200), as: UTF8.self)
      throw HarnessError("xpastebridge \(verb)", expected: "JSON and status 0", found: "\(answer.status): `\(text)`")
    }
    return value
  }

  func audit() throws -> [AuditLine] {
    try sync()
    let text = (try? Data(contentsOf: URL(fileURLWithPath: auditPath))) ?? Data()
    let lines = try text.split(separator: 10).map { try Event(line: Data($0), from: auditPath) }
    // What the daemon records of itself has an event in place of an action.
    return lines.filter { $0.text("event") == nil }.map(AuditLine.init)
  }

  /// Replaces the policy file by rename, as editors do, and has it loaded.
  func replacePolicy(_ policy: String) throws {
    let before = try policyLoads()
    try policy.write(toFile: policyPath, atomically: true, encoding: .utf8)
    child.signal(SIGHUP)
    // A reload waits until the files have settled.
    guard try waitUntil(within: 5, { try policyLoads() > before }) else {
      throw HarnessError("xpastebridge", expected: "a reload within 5 s", found: "none")
    }
    try sync()
  }

  private func policyLoads() throws -> Int {
    let status = try json("status") as? [String: Any]
    return (status?["policy"] as? [String: Any])?["loads"] as? Int ?? 0
  }

  /// Proves that it still answers and ends as it should.
  func stop() throws {
    if Self.standIn != nil { return child.end() }
    try sync()
    child.signal(SIGTERM)
    let status = try child.exitStatus(within: 5)
    guard status == 0 else {
      throw HarnessError("xpastebridge", expected: "exit status 0", found: "\(status): \(desktop.log("xpastebridge"))")
    }
  }

  /// How one selection stands, as `status` tells it.
  func status(of selection: String = "CLIPBOARD") throws -> Event {
    let status = Event(try json("status") as? [String: Any] ?? [:])
    let all = (status.fields["selections"] as? [[String: Any]] ?? []).map { Event($0) }
    guard let found = all.first(where: { $0.text("selection")?.uppercased() == selection }) else {
      throw HarnessError("xpastebridge status", expected: "the selection \(selection)", found: "\(status)")
    }
    return found
  }

  /// Whether a limit of this name was written down.
  func hasAudited(limit: String) throws -> Bool { try audit().contains { $0.limit == limit } }

  /// Resident memory in bytes.
  func residentBytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/\(child.pid)/statm", encoding: .utf8)) ?? ""
    return (Int(text.split(separator: " ").dropFirst().first ?? "0") ?? 0) * Int(getpagesize())
  }

  /// Processor time used so far.
  func processorMilliseconds() -> Int {
    let text = (try? String(contentsOfFile: "/proc/\(child.pid)/stat", encoding: .utf8)) ?? ""
    // The name before may hold blanks; user and system time are the 12th and 13th fields after it.
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12 else { return 0 }
    return ((Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)) * 1_000 / sysconf(Int32(_SC_CLK_TCK))
  }

  /// What its descriptors stand for, by number.
  func descriptors() -> [String] {
    let folder = "/proc/\(child.pid)/fd"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
  }

  /// Its open descriptors without those that hold a process it knows, of which there is one for each client of late.
  func openDescriptors() -> Int { descriptors().count { !$0.hasPrefix("/proc/") } }

  /// How many processes it holds by a descriptor.
  func heldProcesses() -> Int { descriptors().count { $0.hasPrefix("/proc/") } }
}
