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
        !stable(before.barren).contains(target) && !HeavyExceptions.isLeftOut(target, beside: before.targets)
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
        let pair = "\(before.label) → \(requestor)"
        if HeavyExceptions.reason(before, requestor, in: HeavyExceptions.nothing) != nil {
          #expect(bytes.isEmpty, "\(pair): content without the daemon, so no exception is needed")
        } else {
          #expect(!bytes.isEmpty, "\(pair): expected content without the daemon, found none")
        }
        if HeavyExceptions.reason(before, requestor, in: HeavyExceptions.differences) != nil {
          #expect(after.pastes[requestor] != bytes, "\(pair): same, so no exception is needed")
        } else {
          expectSame(after.pastes[requestor], bytes, "\(pair), as without the daemon")
        }
      }
    }

    /// Nothing at all is different: who owns CLIPBOARD, how often it was taken, what is listed and what each target gives.
    private func compareOwners(_ before: PairRow, _ after: PairRow) {
      let label = before.label
      #expect(after.takers.count == before.takers.count, "\(label): taken \(after.takers), not \(before.takers)")
      let owners = Set((after.takers + [after.owner]).map { $0 & ~0x1f_ffff })
      #expect(owners.count == 1, "\(label): expected one client as the owner, found \(after.takers), \(after.owner)")
      #expect(after.listed == before.listed, "\(label): expected the same list of targets")
      let targets = Set(before.contents.keys).union(after.contents.keys).subtracting(HeavyExceptions.madeAnew)
      let different = targets.filter { before.contents[$0] != after.contents[$0] }
      #expect(different.isEmpty, "\(label): expected the same content of every target, not other \(different.sorted())")
    }

    /// One line a pair: `=` the same content in both worlds, `∅` nothing in both, `≠` other content, for a reason or not.
    private func show(_ before: PairRow, _ after: PairRow) {
      for (name, bytes) in before.pastes.sorted(by: { $0.key < $1.key }) {
        let isSame = bytes == after.pastes[name]
        print("table: \(before.source) | \(before.kind) | \(name) | \(!isSame ? "≠" : bytes.isEmpty ? "∅" : "=")")
        guard !isSame else { continue }
        let found = after.pastes[name].map { String(decoding: $0.prefix(600), as: UTF8.self) } ?? "no result"
        print("heavy: without: \(String(decoding: bytes.prefix(600), as: UTF8.self))")
        print("heavy: with: \(found)")
      }
      let left = stable(before.targets).subtracting(stable(after.targets)).sorted().joined(separator: " ")
      print(
        "targets: \(before.label): \(before.targets.count), with the daemon \(after.targets.count), left out: \(left)")
    }

    @Test(
      "every pair of real programs pastes what it pastes without the daemon, and after the exit",
      arguments: TableBlock.chosen)
    func everyPair(block: TableBlock) throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let began = Deadline.now
      let table = try PairTable(block, on: desktop)
      print("heavy: \(block.name): ready after \((Deadline.now - began) / 1_000_000) ms")
      let before = table.observe(nil)
      let daemon = try Bridge(on: desktop, policy: block.policy)
      let after = table.observe(daemon, known: before)
      for (old, new) in zip(before, after) {
        show(old, new)
        if block.isWithoutRules { compareOwners(old, new) } else { compareTargets(old, new) }
        comparePastes(old, new)
      }
      try table.surviveExits(daemon)
      try daemon.stop()
      print("heavy: \(block.name): done after \((Deadline.now - began) / 1_000_000) ms")
    }

    @Test("the blocks hold every pair of programs with a kind in common, and the quick ones every program")
    func blocksHoldEveryPair() {
      let small = ProgramKind.allCases.map(\.rawValue)
      let texts = ["Firefox", "Chromium", "Swing", "Writer", "Writer gen", "Calc", "KeePassXC"]
      let pictures = ["Firefox", "Chromium", "Swing", "Writer", "Writer gen", "GIMP", "Inkscape"]
      let files = ["PCManFM", "Thunar"]
      for (heavy, light) in [(texts, small), (pictures, ["gtk", "qt"]), (files, ["xclip"])] {
        for one in heavy {
          for other in heavy + light {
            let blocks = TableBlock.all.filter { !$0.isWithoutRules }
            #expect(blocks.contains { $0.holds(one, other) && $0.holds(other, one) }, "\(one), \(other)")
          }
        }
      }
      let quick = TableBlock.all.filter(\.isQuick)
      let seen = Set(quick.flatMap { ($0.subjects + $0.others).map(\.name) + $0.light.map(\.rawValue) })
      #expect(seen.isSuperset(of: texts + pictures + files + small))
      #expect(!TableBlock.chosen.isEmpty, "XPB_TABLE: expected `whole` or the name of a block")
    }
  }
}
