import Foundation

/// A hand at the mouse (`mouse.py`).
final class Mouse: Talker {
  init(on desktop: Desktop) throws {
    super.init(
      try desktop.start("/usr/bin/python3", [Place.programs + "/mouse.py"]), alive: desktop.alive)
    try wait("ready", within: 20)
  }
}

/// Programs in which text is marked by dragging and pasted by the middle button.
enum MarkingKind: String, CaseIterable, Sendable {
  case gtk, qt, tk, xterm, vte

  /// Those that every other is paired with.
  static let paired: [MarkingKind] = [.gtk, .qt, .tk, .xterm]

  /// Where the first line of text begins.
  var start: (x: Int, y: Int) {
    switch self {
    case .gtk: (1, 9)
    case .qt: (5, 10)
    case .tk: (3, 9)
    case .xterm: (2, 8)
    case .vte: (1, 9)
    }
  }
}

/// One such program with its window in a place of its own.
final class MarkingProgram {
  /// Beyond the end of every text marked here, within every window.
  private static let end = 380
  /// Below every text.
  private static let below = (x: 200, y: 70)

  let kind: MarkingKind
  let talker: Talker
  let window: String
  private let desktop: Desktop
  private let mouse: Mouse
  private var marks = 0
  private var lastMark: UInt64 = 0

  /// `slot` counts the places for windows: eight fit without covering each other.
  init(_ kind: MarkingKind, on desktop: Desktop, mouse: Mouse, windowClass: String, slot: Int) throws {
    (self.kind, self.desktop, self.mouse) = (kind, desktop, mouse)
    let script = Place.programs + "/\(kind)_text." + (kind == .tk ? "tcl" : "py")
    let child =
      kind == .tk
      ? try desktop.start("/usr/bin/wish", [script, "-name", windowClass.lowercased()])
      : try desktop.start("/usr/bin/python3", [script, "--wm-class", windowClass])
    talker = Talker(child, alive: desktop.alive)
    try talker.wait("ready", within: 20)
    try talker.tell("show", within: 20)
    let found = try desktop.run(
      "/usr/bin/xdotool", ["search", "--sync", "--onlyvisible", "--class", "^\(windowClass)$"], within: 20)
    guard let id = String(decoding: found.output, as: UTF8.self).split(separator: "\n").last else {
      throw HarnessError(windowClass, expected: "a visible window", found: "none", alive: desktop.alive())
    }
    window = String(id)
    try move(toSlot: slot)
  }

  private func move(toSlot slot: Int) throws {
    let (x, y) = (slot % 2 * 640, slot / 2 * 240)
    _ = try desktop.run("/usr/bin/xdotool", ["windowmove", window, "\(x)", "\(y)"])
    let isThere = try waitUntil(within: 10) {
      let place = try mouse.tell("where \(window)")
      return abs((place.number("x") ?? -1_000) - x) < 60 && abs((place.number("y") ?? -1_000) - y) < 60
    }
    guard isThere else { throw HarnessError("\(kind)", expected: "a window at \(x),\(y)", found: "it elsewhere") }
  }

  /// Shows `text`, one short line, and marks it by dragging; returns when the program has it.
  func mark(_ text: String) throws {
    try load(text)
    try mouse.tell("drag " + way(steps: 4, milliseconds: 4))
    let first = String(text.prefix { $0 != "\n" })
    let isMarked = try waitUntil(within: 5) {
      guard try isOwner() else { return false }
      if kind == .xterm || kind == .vte { return true }
      return try talker.tell("bounds").text("text")?.trimmingCharacters(in: .whitespacesAndNewlines) == first
    }
    guard isMarked else { throw HarnessError("\(kind)", expected: "`\(first)` marked", found: "another mark or none") }
    // An owner deals with requests after what came before them: the release of the button, and its claim.
    _ = try desktop.probe.convert("TIMESTAMP", "selection=PRIMARY")
  }

  /// Whether PRIMARY is this program's.
  private func isOwner() throws -> Bool {
    let owner = try desktop.probe.ownerWindow(of: "PRIMARY")
    return owner & ~0x1f_ffff == (Int(window) ?? 0) & ~0x1f_ffff
  }

  /// The same with the button kept down; `mouse.tell("up 1")` ends it.
  func hold(_ text: String, steps: Int, milliseconds: Int) throws {
    try load(text)
    try mouse.tell("hold " + way(steps: steps, milliseconds: milliseconds))
  }

  func load(_ text: String) throws {
    let path = desktop.path("mark.txt")
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try talker.tell("load " + path)
  }

  /// To and fro, since a press where the last one was counts as a double click; in terminals every press soon after it.
  private func way(steps: Int, milliseconds: Int) -> String {
    marks += 1
    if kind == .xterm || kind == .vte {
      let since = (Deadline.now - lastMark) / 1_000
      if since < 350_000 { usleep(UInt32(350_000 - since)) }
      lastMark = Deadline.now
    }
    let (x, y) = kind.start
    let isBackwards = marks.isMultiple(of: 2) && kind != .xterm && kind != .vte
    let (from, to) = isBackwards ? (Self.end, x) : (x, Self.end)
    return "\(window) \(from) \(y) \(to) \(y) \(steps) \(milliseconds)"
  }

  /// Whether the program says that text is marked; xterm can't be asked, see ``picture()``.
  func isMarked() throws -> Bool { try talker.tell("bounds").flag("marked") }

  /// What the beginning of the first line looks like: a terminal's cursor stands behind it.
  func picture() throws -> String {
    try mouse.tell("pixels \(window) \(kind.start.x) 2 40 14").text("digest") ?? ""
  }

  /// The picture when it has come to rest, if that is another than `other`.
  func restingPicture(otherThan other: String = "") throws -> String? {
    var last = try picture()
    var equal = 0
    let rests = try waitUntil(within: 10) {
      // Longer than a toolkit's frame; and several times, since a busy machine draws a step late.
      usleep(100_000)
      let before = last
      last = try picture()
      equal = last == before ? equal + 1 : 0
      return equal >= 4 && last != other
    }
    return rests ? last : nil
  }

  /// Clicks with the middle button, below any text.
  func middleClick() throws { try click(2) }

  func click(_ button: Int) throws { try mouse.tell("click \(button) \(window) \(Self.below.x) \(Self.below.y)") }

  func clear() throws { try talker.tell("clear") }

  /// What it holds or was sent, without ends of lines: a drag over a whole line takes the end along in some.
  func content() throws -> String {
    let path = desktop.path("content.txt")
    try talker.tell("dump " + path)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
