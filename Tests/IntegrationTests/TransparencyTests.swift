import Foundation
import Testing

/// What one source showed every requestor in one world.
private struct Observation {
  var targets: [Sample: [String]] = [:]
  var pastes: [Sample: [ProgramKind: Data]] = [:]
  var afterExit: [ProgramKind: Data] = [:]
}

extension IntegrationTests {
  /// Every source and requestor, first without the daemon, then with it under allow-all.
  @Suite(.serialized) struct TransparencyTests {
    /// What the requestor made of the sample in a world without the daemon. Each difference has its reason.
    private func expected(_ sample: Sample, from source: ProgramKind, in requestor: ProgramKind) -> Data {
      var bytes = sample.bytes
      // Tk 8.6 sends a character beyond the BMP as two surrogates of three bytes each, and readers differ in what they
      // make of that: what the daemonless world shows is the measure, see `isMeasuredOnly`.
      if requestor == .xterm { bytes = Data(bytes.map { $0 == 10 ? 13 : $0 }) }
      return bytes
    }

    private func isMeasuredOnly(_ sample: Sample, from source: ProgramKind) -> Bool {
      source == .tk && sample == .unicode
    }

    private func observe(_ source: ProgramKind, bridge: Bool) throws -> Observation {
      let desktop = try Desktop()
      defer { desktop.close() }
      let daemon = bridge ? try Bridge(on: desktop) : nil
      var requestors: [ProgramKind: any PasteProgram] = [:]
      for kind in ProgramKind.allCases { requestors[kind] = try kind.start(on: desktop) }
      let program = try source.start(on: desktop, windowClass: "PairSource")
      let previous = try desktop.owner("target UTF8_STRING text:previous")
      var seen = Observation()
      for sample in Sample.allCases where sample.canCopy(source) {
        // Another owner in between: xterm doesn't claim again while it still owns.
        try desktop.takingClipboard { try previous.claim() }
        try daemon?.sync()
        try program.copy(sample.bytes)
        try daemon?.sync()
        seen.targets[sample] = try desktop.probe.targets() ?? []
        seen.pastes[sample] = [:]
        for kind in ProgramKind.allCases where sample.canPaste(kind) {
          let count = expected(sample, from: source, in: kind).count
          let measures = isMeasuredOnly(sample, from: source) || count == 0
          seen.pastes[sample]![kind] = try requestors[kind]!.paste(expecting: measures ? nil : count)
        }
      }
      guard let daemon else { return seen }
      try desktop.takingClipboard { try previous.claim() }
      try daemon.sync()
      try program.copy(Sample.ascii.bytes)
      try daemon.sync()
      program.exit()
      try daemon.sync()
      for kind in ProgramKind.allCases {
        let count = expected(.ascii, from: source, in: kind).count
        seen.afterExit[kind] = try requestors[kind]!.paste(expecting: count)
      }
      try daemon.stop()
      return seen
    }

    private func compare(_ world: Observation, _ source: ProgramKind, _ label: String) {
      for (sample, pastes) in world.pastes where !isMeasuredOnly(sample, from: source) {
        for (kind, bytes) in pastes {
          let wanted = expected(sample, from: source, in: kind)
          expectSame(bytes, wanted, "\(source) → \(kind), \(sample), \(label)")
        }
      }
    }

    private func head(_ bytes: Data) -> String {
      bytes.prefix(40).map { String(format: "%02x", $0) }.joined(separator: " ")
    }

    @Test("every pair without the daemon: the world that is to stay as it is", arguments: ProgramKind.allCases)
    func baseline(source: ProgramKind) throws {
      let world = try observe(source, bridge: false)
      compare(world, source, "without the daemon")
      for (sample, targets) in world.targets.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        print("baseline \(source) \(sample): \(targets.joined(separator: " "))")
        #expect(!targets.isEmpty, "\(source), \(sample): expected a list of targets, found none")
      }
      for (kind, bytes) in world.pastes[.unicode] ?? [:] where isMeasuredOnly(.unicode, from: source) {
        print("baseline \(source) → \(kind) unicode: \(head(bytes))")
      }
    }

    @Test(
      "every pair under allow-all: same bytes, same content targets, still there after the source's exit",
      arguments: ProgramKind.allCases)
    func allowAll(source: ProgramKind) throws {
      let before = try observe(source, bridge: false)
      let after = try observe(source, bridge: true)
      compare(after, source, "under allow-all")
      for (sample, targets) in before.targets {
        let old = Set(targets.filter(Exceptions.isContent))
        let new = Set((after.targets[sample] ?? []).filter(Exceptions.isContent))
        #expect(
          old.subtracting(new).isEmpty,
          "\(source), \(sample): expected every content target, missing \(old.subtracting(new))")
        let added = new.subtracting(old).subtracting(Exceptions.addedSpellings)
        #expect(added.isEmpty, "\(source), \(sample): expected no invented target, found \(added)")
        for (kind, bytes) in before.pastes[sample] ?? [:] {
          expectSame(after.pastes[sample]?[kind], bytes, "\(source) → \(kind), \(sample), as without the daemon")
        }
      }
      for (kind, bytes) in after.afterExit {
        expectSame(bytes, expected(.ascii, from: source, in: kind), "\(source) → \(kind) after the exit")
      }
    }

    private static let png =
      Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
      + Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    private static let html = Data("<p>za\u{17c}\u{f3}\u{142}\u{107} <b>\u{1f642}</b></p>\n".utf8)

    private func rich(_ source: ProgramKind, _ requestor: ProgramKind, bridge: Bool) throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let daemon = bridge ? try Bridge(on: desktop) : nil
      let from = try WindowProgram(desktop, source, windowClass: "RichSource")
      let into = try WindowProgram(desktop, requestor, windowClass: "RichTarget")
      let custom = Data([0, 1, 2, 0xff, 0])
      let offered = ["text/html": Self.html, "image/png": Self.png, "application/x-xpb;v=1": custom]
      try from.offer(offered)
      try daemon?.sync()
      let listed = try desktop.probe.targets() ?? []
      for (target, bytes) in offered {
        #expect(listed.contains(target), "expected \(target) to be listed, found \(listed)")
        expectSame(try into.fetch(target), bytes, "\(source) → \(requestor), \(target)")
      }
      guard let daemon else { return }
      from.exit()
      try daemon.sync()
      for (target, bytes) in offered {
        expectSame(try into.fetch(target), bytes, "\(target) after the exit of \(source)")
      }
      try daemon.stop()
    }

    @Test("HTML, PNG and a custom type between GTK and Qt without the daemon")
    func richBaseline() throws {
      try rich(.gtk, .qt, bridge: false)
      try rich(.qt, .gtk, bridge: false)
    }

    @Test("HTML, PNG and a custom type between GTK and Qt under allow-all")
    func richAllowAll() throws {
      try rich(.gtk, .qt, bridge: true)
      try rich(.qt, .gtk, bridge: true)
    }
  }
}
