import Foundation
import Testing

/// One source with one kind of content: what it offered, and what every requestor made of it.
struct PairRow {
  let source: String
  let kind: ContentKind
  /// The content targets that were listed.
  var targets: Set<String> = []
  /// Those that gave nothing when they were asked: refused, without a property, or a picture of no bytes.
  var barren: Set<String> = []
  var pastes: [String: Data] = [:]
  var milliseconds: [String: Int] = [:]

  var label: String { "\(source) \(kind)" }
}

/// The world as it was and the world with the daemon, for all programs on one desktop.
final class PairTable {
  private let desktop: Desktop
  private let programs: [any TableProgram]
  private let samples: [ContentKind: String]
  private let previous: Owner

  init(_ desktop: Desktop, _ programs: [any TableProgram]) throws {
    self.desktop = desktop
    self.programs = programs
    samples = try Dictionary(uniqueKeysWithValues: ContentKind.allCases.map { ($0, try $0.write(on: desktop)) })
    previous = try desktop.owner("target UTF8_STRING text:previous")
  }

  /// As which kind a program pastes what was copied: cells are text to those who know no cells, and xclip, which is quick,
  /// shows the text of everything that has one.
  private func kind(_ copied: ContentKind, in requestor: any TableProgram) -> ContentKind? {
    if requestor.pastes.contains(copied) { return copied }
    let isText = copied == .cells || (requestor.name == "xclip" && copied != .image)
    return isText && requestor.pastes.contains(.text) ? .text : nil
  }

  /// Every source copies every kind, and every requestor pastes it. `known` is what came in a world seen before.
  func observe(_ daemon: Bridge?, known: [PairRow] = []) throws -> [PairRow] {
    var rows: [PairRow] = []
    for source in programs {
      for kind in source.copies {
        let began = Deadline.now
        try copy(kind, from: source, daemon)
        var row = PairRow(source: source.name, kind: kind)
        try list(into: &row)
        let before = known.first { $0.source == row.source && $0.kind == kind }
        for requestor in programs {
          guard let pasted = self.kind(kind, in: requestor) else { continue }
          let started = Deadline.now
          row.pastes[requestor.name] = try requestor.paste(pasted, expecting: before?.pastes[requestor.name]?.count)
          row.milliseconds[requestor.name] = Int((Deadline.now - started) / 1_000_000)
        }
        print(
          "heavy: \(daemon == nil ? "without" : "with") \(row.label), \((Deadline.now - began) / 1_000_000) ms \(row.milliseconds)"
        )
        rows.append(row)
      }
    }
    return rows
  }

  private func copy(_ kind: ContentKind, from source: any TableProgram, _ daemon: Bridge?) throws {
    // Another owner in between: xterm doesn't claim again while it still owns.
    try desktop.takingClipboard { try previous.claim() }
    try daemon?.sync()
    try source.copy(kind, from: samples[kind]!)
    try daemon?.sync()
  }

  private func list(into row: inout PairRow) throws {
    for target in try desktop.probe.targets() ?? [] where Exceptions.isContent(target) {
      row.targets.insert(target)
      let answer = try desktop.probe.convert(target, "deadline=10000")
      let isEmptyPicture = HeavyExceptions.isPicture(target) && answer.number("bytes") == 0
      if answer.text("state") != "answered" || isEmptyPicture { row.barren.insert(target) }
    }
  }

  /// The source copies again and ends; somebody else who pastes the kind does so before and after.
  func survivesExit(of source: any TableProgram, to survivors: [any TableProgram], _ daemon: Bridge) throws {
    for kind in source.copies.prefix(1) {
      guard let requestor = survivors.first(where: { self.kind(kind, in: $0) != nil }) else {
        Issue.record("\(source.name): expected somebody left who pastes \(kind), found nobody")
        return
      }
      let pasted = self.kind(kind, in: requestor)!
      try copy(kind, from: source, daemon)
      let before = try requestor.paste(pasted, expecting: nil)
      source.exit()
      try daemon.sync()
      let after = try requestor.paste(pasted, expecting: before.count)
      #expect(!before.isEmpty, "\(source.name) → \(requestor.name), \(kind): expected content, found none")
      expectSame(after, before, "\(source.name) → \(requestor.name), \(kind), after the exit")
    }
  }
}

/// What may differ between the worlds, with the reason; docs/icccm.md has the same list.
enum HeavyExceptions {
  struct Difference {
    let source: String
    let kind: ContentKind
    let requestor: String
    let reason: String
  }

  static let differences: [Difference] = []

  static func reason(_ row: PairRow, _ requestor: String) -> String? {
    differences.first { $0.source == row.source && $0.kind == row.kind && $0.requestor == requestor }?.reason
  }

  /// Targets that hold a picture, so that no bytes are no content.
  static func isPicture(_ target: String) -> Bool {
    let name = target.prefix { $0 != ";" }
    return name.hasPrefix("image/") || ["application/ico", "text/ico"].contains(name)
      || ["bitmap", "gdimetafile", "emf", "wmf", "svxb"].map { "application/x-openoffice-" + $0 }.contains(name)
  }

  /// The owner's other encodings of the pixels that it also offers as PNG.
  static func isEncodedAgain(_ target: String, beside targets: Set<String>) -> Bool {
    let kept: Set<String> = ["image/png", "image/svg+xml", "image/svg", "image/svg+xml-compressed"]
    guard targets.contains("image/png") else { return false }
    if target.hasPrefix("application/x-openoffice-") { return target == "application/x-openoffice-bitmap" }
    return isPicture(target) && !kept.contains(target)
  }

  /// Resources of the owner, which end with it (docs/icccm.md).
  static let resources: Set<String> = ["PIXMAP", "BITMAP", "DRAWABLE", "COLORMAP"]
}
