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
  /// All that was listed, metadata too.
  var listed: Set<String> = []
  /// The hash of what each content target gave; of one that gave nothing, how it was refused.
  var contents: [String: String] = [:]
  /// The windows that took CLIPBOARD for this copy, in their order, and the one that owns it when all have pasted.
  var takers: [Int] = []
  var owner = 0
  var pastes: [String: Data] = [:]

  var label: String { "\(source) \(kind)" }
}

/// The world as it was and the world with the daemon, for the programs of a block on one desktop.
final class PairTable {
  private let block: TableBlock
  private let desktop: Desktop
  /// The subjects come last and Writer on its gen toolkit after the others: it learns of a new owner late, and the others
  /// paste meanwhile.
  private let programs: [any TableProgram]
  private let samples: [ContentKind: String]
  private let previous: Owner

  init(_ block: TableBlock, on desktop: Desktop) throws {
    self.block = block
    self.desktop = desktop
    let heavy = try HeavyKind.start(block.others + block.subjects, on: desktop)
    let light = try block.light.map { try LightProgram($0, on: desktop) }
    programs = light + heavy
    samples = try Dictionary(uniqueKeysWithValues: ContentKind.allCases.map { ($0, try $0.write(on: desktop)) })
    previous = try desktop.owner("target UTF8_STRING text:previous")
  }

  /// As which kind a program pastes what was copied: cells are text to those who know no cells, and xclip, which is quick,
  /// shows the text of everything that has one. What is a program's own is nobody else's.
  private func kind(
    _ copied: ContentKind, of source: any TableProgram, in requestor: any TableProgram
  ) -> ContentKind? {
    let isOwn = copied == .object || copied == .styled
    if requestor.pastes.contains(copied), !isOwn || source === requestor { return copied }
    let hasText = copied != .image && copied != .object
    let isText = copied == .cells || copied == .styled || (requestor.name == "xclip" && hasText)
    return isText && requestor.pastes.contains(.text) ? .text : nil
  }

  private func requestors(of kind: ContentKind, from source: any TableProgram) -> [any TableProgram] {
    programs.filter { block.holds(source.name, $0.name) && self.kind(kind, of: source, in: $0) != nil }
  }

  /// Every source copies every kind, and every requestor of the block pastes it. `known` is what came in a world seen
  /// before. What goes wrong with one pair is told, and the others are tried all the same.
  func observe(_ daemon: Bridge?, known: [PairRow] = []) -> [PairRow] {
    var rows: [PairRow] = []
    for source in programs {
      for kind in source.copies where !requestors(of: kind, from: source).isEmpty {
        let began = Deadline.now
        var row = PairRow(source: source.name, kind: kind)
        do {
          row.takers = try copy(kind, from: source, daemon)
          try list(into: &row)
          let before = known.first { $0.label == row.label }
          for requestor in requestors(of: kind, from: source) {
            paste(into: requestor, from: source, before, &row)
          }
          row.owner = try desktop.probe.ownerWindow()
        } catch { Issue.record("\(row.label), \(daemon == nil ? "without" : "with"): \(error)") }
        let milliseconds = (Deadline.now - began) / 1_000_000
        print("heavy: \(block.name): \(row.label) \(daemon == nil ? "without" : "with"), \(milliseconds) ms")
        rows.append(row)
      }
    }
    return rows
  }

  private func paste(
    into requestor: any TableProgram, from source: any TableProgram, _ before: PairRow?, _ row: inout PairRow
  ) {
    guard let pasted = kind(row.kind, of: source, in: requestor) else { return }
    do {
      row.pastes[requestor.name] = try requestor.paste(pasted, expecting: before?.pastes[requestor.name]?.count)
    } catch { Issue.record("\(row.label) → \(requestor.name): \(error)") }
  }

  /// Copies, and returns the windows that have taken CLIPBOARD since.
  @discardableResult
  private func copy(_ kind: ContentKind, from source: any TableProgram, _ daemon: Bridge?) throws -> [Int] {
    // Another owner in between: xterm doesn't claim again while it still owns.
    try desktop.takingClipboard { try previous.claim() }
    try daemon?.sync()
    let earlier = try takers().count
    try source.copy(kind, from: samples[kind]!)
    try daemon?.sync()
    return Array(try takers().dropFirst(earlier))
  }

  private func takers() throws -> [Int] {
    try desktop.probe.tell("sync")
    return desktop.probe.events.filter { $0.name == "owner-change" && $0.text("selection") == "CLIPBOARD" }
      .compactMap { $0.number("window") }
  }

  private func list(into row: inout PairRow) throws {
    row.listed = Set(try desktop.probe.targets() ?? [])
    row.targets = row.listed.filter(Exceptions.isContent)
    // What the daemon leaves out isn't asked for in the world without it either: it would only take its time.
    for target in row.targets.sorted() where !HeavyExceptions.isLeftOut(target, beside: row.targets) {
      let answer = try desktop.probe.convert(target, "deadline=10000")
      row.contents[target] = answer.text("sha256") ?? answer.text("state")
      let isEmptyPicture = HeavyExceptions.isPicture(target) && answer.number("bytes") == 0
      if answer.text("state") != "answered" || isEmptyPicture { row.barren.insert(target) }
    }
  }

  /// Each subject copies again and ends, the last first; somebody else who pastes the kind does so before and after.
  func surviveExits(_ daemon: Bridge) throws {
    for (index, source) in programs.enumerated().reversed() where block.subjects.map(\.name).contains(source.name) {
      let kind = source.copies[0]
      guard let requestor = programs[..<index].last(where: { self.kind(kind, of: source, in: $0) != nil }) else {
        Issue.record("\(source.name): expected somebody left who pastes \(kind), found nobody")
        continue
      }
      let pasted = self.kind(kind, of: source, in: requestor)!
      try copy(kind, from: source, daemon)
      let before = try requestor.paste(pasted, expecting: nil)
      // The driver of a file manager takes the files along at its end; the program alone leaves them.
      if kind == .files, let program = source as? HeavyProgram { try program.crash() } else { source.exit() }
      try daemon.sync()
      let label = "\(source.name) → \(requestor.name), \(kind)"
      let isCleared = HeavyExceptions.clearing.contains(source.name)
      let after = try requestor.paste(pasted, expecting: isCleared ? nil : before.count)
      #expect(!before.isEmpty, "\(label): expected content, found none")
      expectSame(after, isCleared ? Data() : before, "\(label), after the exit")
    }
  }
}
