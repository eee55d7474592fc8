import Foundation
import Testing

extension IntegrationTests {
  /// The transparency table of the programs that people work with, together with the small ones.
  @Suite(.serialized) struct HeavyTableTests {
    /// Some names carry measures of the document, which may be other ones at the next copy.
    private func stable(_ targets: Set<String>) -> Set<String> {
      Set(targets.map { $0.hasPrefix("application/x-openoffice-") ? String($0.prefix { $0 != ";" }) : $0 })
    }

    private func compareTargets(_ before: PairRow, _ after: PairRow) {
      let missing = stable(before.targets).subtracting(stable(after.targets)).filter { target in
        let isBarren = stable(before.barren).contains(target)
        return !isBarren && !HeavyExceptions.isEncodedAgain(target, beside: before.targets)
          && !HeavyExceptions.resources.contains(target)
      }
      #expect(missing.isEmpty, "\(before.label): expected every content target, missing \(missing.sorted())")
      let added = stable(after.targets).subtracting(stable(before.targets))
      #expect(added.isEmpty, "\(before.label): expected no invented target, found \(added.sorted())")
      #expect(
        after.barren.isEmpty,
        "\(before.label): expected each listed target to give content, not \(after.barren.sorted())"
      )
    }

    private func comparePastes(_ before: PairRow, _ after: PairRow) {
      for (requestor, bytes) in before.pastes.sorted(by: { $0.key < $1.key }) {
        let reason = HeavyExceptions.reason(before, requestor)
        #expect(!bytes.isEmpty, "\(before.label) → \(requestor): expected content without the daemon, found none")
        if reason != nil {
          #expect(after.pastes[requestor] != bytes, "\(before.label) → \(requestor): same, so no exception is needed")
        } else {
          expectSame(after.pastes[requestor], bytes, "\(before.label) → \(requestor), as without the daemon")
        }
      }
    }

    /// `=` the same content in both worlds, `∅` nothing in both, `≠` other content, for a reason or not; blank: not pasted.
    private func show(_ before: [PairRow], _ after: [PairRow], _ names: [String]) {
      print("| copied | " + names.joined(separator: " | ") + " |")
      print("|---|" + names.map { _ in "---|" }.joined())
      for (old, new) in zip(before, after) {
        let cells = names.map { name -> String in
          guard let bytes = old.pastes[name] else { return "" }
          return bytes != new.pastes[name] ? "≠" : bytes.isEmpty ? "∅" : "="
        }
        print("| \(old.label) | " + cells.joined(separator: " | ") + " |")
      }
      for (old, new) in zip(before, after) {
        let left = stable(old.targets).subtracting(stable(new.targets)).sorted().joined(separator: " ")
        print(
          "heavy: \(old.label): \(old.targets.count) content targets, \(new.targets.count) with the daemon, without: \(left)"
        )
        for (name, bytes) in old.pastes where bytes != new.pastes[name] {
          let found = new.pastes[name] ?? Data()
          print("heavy: \(old.label) → \(name): \(String(decoding: bytes.prefix(600), as: UTF8.self))")
          print("heavy: \(old.label) → \(name), with: \(String(decoding: found.prefix(600), as: UTF8.self))")
        }
      }
    }

    @Test("every pair of real programs under allow-all pastes what it pastes without the daemon, and after the exit")
    func everyPair() throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let began = Deadline.now
      let heavy = try HeavyKind.start(HeavyKind.all, on: desktop)
      let light = try ProgramKind.allCases.map { try LightProgram($0, on: desktop) }
      let programs: [any TableProgram] = light + heavy
      print("heavy: ready after \((Deadline.now - began) / 1_000_000) ms")
      let table = try PairTable(desktop, programs)
      let before = try table.observe(nil)
      let daemon = try Bridge(on: desktop)
      let after = try table.observe(daemon, known: before)
      show(before, after, programs.map(\.name))
      for (old, new) in zip(before, after) {
        compareTargets(old, new)
        comparePastes(old, new)
      }
      for (index, source) in programs.enumerated().reversed() {
        let survivors = programs[..<index]
        // The last one's content is read by a program that doesn't live long.
        try table.survivesExit(
          of: source, to: index == 0 ? [LightProgram(.xsel, on: desktop)] : Array(survivors), daemon)
      }
      try daemon.stop()
    }
  }
}
