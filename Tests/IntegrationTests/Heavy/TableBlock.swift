import Foundation
import Testing

/// Programs that share one desktop while their part of the table is made. More than five heavy ones at once are too slow.
///
/// The blocks together hold each pair of programs that have a kind of content in common.
struct TableBlock: Sendable, CustomTestStringConvertible {
  let name: String
  /// Those whose pairs belong to this block: with each other, with themselves and with the others.
  let subjects: [HeavyKind]
  let others: [HeavyKind]
  let light: [ProgramKind]
  /// Whether every test run makes it; the rest is `make table`.
  let isQuick: Bool
  /// Whether the daemon has no rules at all. Sources then keep CLIPBOARD, with what only they can give.
  let isWithoutRules: Bool

  init(
    _ name: String, of subjects: [HeavyKind], among others: [HeavyKind] = [], light: [ProgramKind] = [],
    quick isQuick: Bool = false, withoutRules isWithoutRules: Bool = false
  ) {
    (self.name, self.subjects, self.others, self.light) = (name, subjects, others, light)
    (self.isQuick, self.isWithoutRules) = (isQuick, isWithoutRules)
  }

  var policy: String { isWithoutRules ? Bridge.withoutRules : Bridge.allowAll }

  var testDescription: String { name }

  static let all: [TableBlock] = [
    TableBlock("browsers", of: [.firefox, .chromium, .swing], light: ProgramKind.allCases),
    TableBlock(
      "writer", of: [.writer, .writerGen], among: [.firefox, .chromium, .swing], light: ProgramKind.allCases),
    TableBlock(
      "calc", of: [.calc, .keepassxc], among: [.firefox, .chromium], light: ProgramKind.allCases, quick: true),
    TableBlock("calc-writer", of: [.calc, .keepassxc], among: [.swing, .writer, .writerGen]),
    TableBlock("pictures", of: [.gimp, .inkscape], among: [.firefox, .chromium], light: [.gtk, .qt]),
    TableBlock("pictures-writer", of: [.gimp, .inkscape], among: [.swing, .writer, .writerGen], quick: true),
    TableBlock("files", of: [.thunar, .pcmanfm], light: [.xclip], quick: true),
    TableBlock(
      "without-rules", of: [.swing, .gtk4, .qt6, .emacs], light: [.xclip, .tk, .gtk], quick: true, withoutRules: true),
  ]

  /// Which of them this run makes: `XPB_TABLE` is `whole`, the name of one, or not there.
  static var chosen: [TableBlock] {
    switch ProcessInfo.processInfo.environment["XPB_TABLE"] {
    case nil: all.filter(\.isQuick)
    case "whole": all
    case let name: all.filter { $0.name == name }
    }
  }

  /// Whether a pair is tried here: small programs among themselves are in `TransparencyTests`.
  func holds(_ source: String, _ requestor: String) -> Bool {
    let names = Set(subjects.map(\.name))
    let everybody = names.union(others.map(\.name)).union(light.map(\.rawValue))
    return everybody.isSuperset(of: [source, requestor]) && (names.contains(source) || names.contains(requestor))
  }
}
