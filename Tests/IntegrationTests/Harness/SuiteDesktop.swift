import Foundation
import Testing

/// A desktop under `policy/examples/suite.yaml`: two programs of the suite, of different classes, and one outside of it.
final class SuiteDesktop {
  static let board = "org.example.suite"
  /// `policy/examples/suite.yaml`, as it is installed.
  static let policy =
    (try? String(contentsOfFile: Place.source + "/policy/examples/suite.yaml", encoding: .utf8)) ?? ""

  /// What every member may paste and nobody else: four types, one of the suite's own making.
  static let forms: [String: Data] = [
    "UTF8_STRING": Data("figures of the suite".utf8),
    "text/html": Data("<b>figures</b>".utf8),
    "image/png": Data([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 255]),
    "application/x-suite-cells": Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }),
  ]

  let desktop: Desktop
  private(set) var bridge: Bridge
  let writer: WindowProgram
  let sheet: WindowProgram
  let outsider: WindowProgram
  /// A raw client of the outsider's class, which asks for the board's selection.
  let sneak: Requestor

  init(_ policy: String, options: [String] = []) throws {
    desktop = try Desktop()
    bridge = try Bridge(on: desktop, policy: policy, options: options)
    writer = try WindowProgram(desktop, .gtk, windowClass: "SuiteWriter")
    sheet = try WindowProgram(desktop, .gtk, windowClass: "SuiteSheet")
    outsider = try WindowProgram(desktop, .gtk, windowClass: "Browser")
    sneak = try desktop.requestor("class browser Browser", "selection \(Self.board)")
  }

  /// The socket of the boards.
  var socket: String { "\(desktop.environment["XDG_RUNTIME_DIR"] ?? "")/xpastebridge/\(desktop.display)/boards" }

  /// Ends the daemon by `signal` and starts the next one, under the same policy.
  func restart(_ signal: Int32) throws {
    bridge.child.signal(signal)
    _ = try bridge.child.exitStatus(within: 10)
    bridge = try Bridge(on: desktop, policy: String(contentsOfFile: bridge.policyPath, encoding: .utf8))
  }

  /// What stands in the status of boards.
  func boardStatus(_ key: String) throws -> Int? {
    let status = Event(try bridge.json("status") as? [String: Any] ?? [:])
    return status.object("boards")?.number(key)
  }

  /// The types of `forms` that a raw client gets by one MULTIPLE request, and whether it gets TIMESTAMP.
  func multiple(by client: Requestor) throws -> Set<String> {
    let pairs = (Self.forms.keys.sorted() + ["TIMESTAMP"]).enumerated().map { "\($1)=PART_\($0)" }
    try client.tell("multiple " + pairs.joined(separator: " "))
    // Pairs of target and property; those that are refused have none.
    let pair = try client.wait("answer") { $0.text("target") == "MULTIPLE" }.list("atoms")
    return Set(stride(from: 0, to: pair.count - 1, by: 2).filter { !pair[$0 + 1].isEmpty }.map { pair[$0] })
  }

  /// Nothing of the suite's, by no way.
  func expectNothingOutside(sourceLocation: SourceLocation = #_sourceLocation) throws {
    for type in Self.forms.keys.sorted() {
      #expect(try outsider.fetch(type, from: Self.board) == nil, "\(type) by X", sourceLocation: sourceLocation)
      #expect(try sneak.paste(type) == nil, "\(type) by raw X", sourceLocation: sourceLocation)
      let byBus = try outsider.readBoard(Self.board, type, at: socket)
      #expect(byBus == nil, "\(type) by D-Bus", sourceLocation: sourceLocation)
    }
    let metadata: Set = ["TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS"]
    let listed = Set(try sneak.targets() ?? [])
    #expect(listed.isSubset(of: metadata), "listed: \(listed)", sourceLocation: sourceLocation)
    // Since when it is ours the server tells everybody.
    #expect(try multiple(by: sneak) == ["TIMESTAMP"], sourceLocation: sourceLocation)
    let binary = try Bridge.binary()
    for words in ["read \(Self.board)", "list \(Self.board)", "copy \(Self.board) general"] {
      let done = try outsider.talker.tell("spawn \(binary) board \(words)", within: 20)
      #expect(done.number("status") == 1 && done.text("output") == "", "\(words)", sourceLocation: sourceLocation)
    }
    let list = try outsider.talker.tell("spawn \(binary) board list", within: 20)
    #expect(list.text("output")?.contains(Self.board) == false, sourceLocation: sourceLocation)
  }

  /// Every type from the board, byte for byte.
  func expectWhole(_ board: String = SuiteDesktop.board, sourceLocation: SourceLocation = #_sourceLocation) throws {
    for (type, bytes) in Self.forms {
      expectSame(try sheet.fetch(type, from: board), bytes, "\(type) of \(board)", sourceLocation: sourceLocation)
    }
  }

  func end() throws {
    for program in [writer, sheet, outsider] { program.exit() }
    sneak.quit()
    try bridge.stop()
    desktop.close()
  }
}
