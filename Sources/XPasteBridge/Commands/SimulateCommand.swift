import Policy

/// `policy simulate`: which recorded decisions another policy would change.
enum SimulateCommand {
  /// Changes that people are shown of each kind; JSON has up to `listed` in all.
  private static let shown = 5
  private static let listed = 1_000

  /// Replays the file; exit status 1 when anything would change.
  static func run(_ invocation: Invocation) -> Int32 {
    guard let policy = PolicyCommands.policy(of: invocation) else { return ExitStatus.failed }
    let path = invocation.operands[0]
    let baseline = InstalledPolicy(given: invocation.all("policy")).read().files.map { Label.shortened($0) }
    var simulation = Simulation(policy)
    do throws(SystemFailure) {
      try JSONLines.read(path) { simulation.take($0) }
    } catch {
      return Console.failed("can't read `\(Label.plain(path))`: \(error.reason)")
    }
    guard simulation.holdsRecords else {
      return Console.failed(
        "`\(Label.plain(path))` holds no audit records; expected one JSON object a line, as `--audit-file` and "
          + "`xpastebridge audit --json` write them")
    }
    let status = Console.write(
      invocation.has("json") ? json(simulation, baseline).description + "\n" : text(simulation, baseline))
    return simulation.changes.isEmpty ? status : ExitStatus.failed
  }

  // MARK: for people

  private static func text(_ simulation: Simulation, _ baseline: [String]) -> String {
    let ranked = simulation.ranked
    let changed = ranked.map(\.count).reduce(0, +)
    var lines = [
      "put to \(baseline.isEmpty ? "no policy files, which allow everything" : baseline.joined(separator: ", "))",
      "\(simulation.replayed) decisions replayed, \(changed) would change",
    ]
    for (from, to) in transitions(ranked) {
      let some = ranked.filter { $0.change.from == from && $0.change.to == to }
      lines.append("\(from) → \(to): \(some.map(\.count).reduce(0, +))")
      for (change, count) in some.prefix(shown) { lines += example(change, count, simulation) }
      if some.count > shown { lines.append("  and \(some.count - shown) more of this kind") }
    }
    for omission in Simulation.Omission.allCases {
      guard let count = simulation.omissions[omission] else { continue }
      lines.append("not replayed: \(count) \(omission.phrase)")
    }
    return lines.map { Label.plain($0, to: 4_096) + "\n" }.joined()
  }

  private static func transitions(_ ranked: [(change: Simulation.Change, count: Int)]) -> [(Verdict, Verdict)] {
    Verdict.allCases.flatMap { from in
      Verdict.allCases.compactMap { to in
        ranked.contains { $0.change.from == from && $0.change.to == to } ? (from, to) : nil
      }
    }
  }

  private static func example(_ change: Simulation.Change, _ count: Int, _ simulation: Simulation) -> [String] {
    let target = simulation.examples[change].map { " of \($0)" } ?? ""
    let destination = change.destination.map { " to \($0)" } ?? ""
    return [
      "  \(count) × \(change.kind.rawValue)\(target) on \(change.selection) from \(change.source)\(destination)",
      "    then \(change.from), by \(change.recorded)", "    now \(change.to), by \(change.reason)",
    ]
  }

  // MARK: for programs

  private static func json(_ simulation: Simulation, _ baseline: [String]) -> JSON {
    let ranked = simulation.ranked
    return .object([
      "schema": .integer(StatusReport.schemaVersion), "files": .strings(baseline),
      "replayed": .integer(simulation.replayed),
      "changed": .integer(ranked.map(\.count).reduce(0, +)),
      "changes": .array(ranked.prefix(listed).map { json($0.change, $0.count, simulation) }),
      "changesOmitted": .integer(max(0, ranked.count - listed)),
      "notReplayed": .object(
        Simulation.Omission.allCases.map { JSON.Member($0.rawValue, .integer(simulation.omissions[$0] ?? 0)) }),
    ])
  }

  private static func json(_ change: Simulation.Change, _ count: Int, _ simulation: Simulation) -> JSON {
    .object([
      "count": .integer(count), "action": .string(change.kind.rawValue),
      "selection": .string(Label.shortened(change.selection)), "source": .string(Label.shortened(change.source)),
      "destination": change.destination.map { .string(Label.shortened($0)) } ?? .null,
      "target": simulation.examples[change].map { .string(Label.shortened($0)) } ?? .null,
      "from": .string(change.from.rawValue), "to": .string(change.to.rawValue),
      "recordedReason": RecordJSON.reason(change.recorded), "reason": RecordJSON.reason(change.reason),
    ])
  }
}
