import Foundation
import Glibc

/// The real programs that tests copy from and paste into.
enum ProgramKind: String, CaseIterable, Sendable {
  case xclip, xsel, xterm, tk, gtk, qt

  /// The class its windows say, where it has windows.
  var windowClass: String? {
    switch self {
    case .xclip, .xsel: nil
    case .xterm: "PairXterm"
    case .tk: "PairTk"
    case .gtk: "PairGtk"
    case .qt: "PairQt"
    }
  }

  /// What `/proc/PID/exe` shows, interpreters included.
  var executable: String {
    let path =
      switch self {
      case .xclip: "/usr/bin/xclip"
      case .xsel: "/usr/bin/xsel"
      case .xterm: "/usr/bin/xterm"
      case .tk: "/usr/bin/wish"
      case .gtk, .qt: "/usr/bin/python3"
      }
    return realpath(path, nil).map { p in
      defer { free(p) }
      return String(cString: p)
    } ?? path
  }

  func start(on desktop: Desktop, windowClass: String? = nil) throws -> any PasteProgram {
    switch self {
    case .xclip:
      CommandLineProgram(
        desktop, "/usr/bin/xclip", copy: ["-i", "-selection", "clipboard"],
        paste: ["-o", "-selection", "clipboard", "-t", "UTF8_STRING"])
    case .xsel: CommandLineProgram(desktop, "/usr/bin/xsel", copy: ["-i", "-b"], paste: ["-o", "-b"])
    case .xterm, .tk, .gtk, .qt: try WindowProgram(desktop, self, windowClass: windowClass ?? self.windowClass!)
    }
  }
}

/// A program that can copy and paste.
protocol PasteProgram: AnyObject {
  /// Copies; returns when it owns the selection.
  func copy(_ text: Data) throws
  /// Pastes and returns what arrived. With `expecting` it waits until that many bytes are there, else until the program is
  /// through with asking.
  func paste(expecting: Int?) throws -> Data
  /// The process that owns or asks.
  var pid: pid_t? { get }
  /// Ends the program, and with it what it owns.
  func exit()
}

/// xclip, xsel: one process a copy, one a paste.
final class CommandLineProgram: PasteProgram {
  private let desktop: Desktop
  private let path: String
  private let copyArguments: [String]
  private let pasteArguments: [String]
  private var owner: Child?

  init(_ desktop: Desktop, _ path: String, copy: [String], paste: [String]) {
    self.desktop = desktop
    self.path = path
    copyArguments = copy
    pasteArguments = paste
  }

  /// The child that was started has ended by then: both programs own the selection from a process forked off it.
  var pid: pid_t? {
    guard let group = owner?.pid else { return nil }
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return processes.compactMap(pid_t.init).first { $0 != group && getpgid($0) == group }
  }

  func copy(_ text: Data) throws {
    owner?.end()
    let child = try desktop.start(path, copyArguments, keepsOutput: false)
    owner = child
    try desktop.takingClipboard {
      child.send(text)
      child.closeInput()
    }
  }

  func paste(expecting: Int?) throws -> Data {
    try desktop.run(path, pasteArguments).output
  }

  func exit() {
    owner?.end()
    owner = nil
  }
}

/// A program with a window, worked by real keys.
final class WindowProgram: PasteProgram {
  private let desktop: Desktop
  private let kind: ProgramKind
  let talker: Talker
  private var window = ""
  private var pastes = 0
  private(set) var pid: pid_t?

  init(_ desktop: Desktop, _ kind: ProgramKind, windowClass: String) throws {
    self.desktop = desktop
    self.kind = kind
    let programs = Place.programs
    let child =
      switch kind {
      case .tk:
        // Tk makes the class from the name, with one capital letter.
        try desktop.start("/usr/bin/wish", [programs + "/tk_text.tcl", "-name", windowClass.lowercased()])
      case .gtk: try desktop.start("/usr/bin/python3", [programs + "/gtk_text.py", "--wm-class", windowClass])
      case .qt: try desktop.start("/usr/bin/python3", [programs + "/qt_text.py", "--wm-class", windowClass])
      default: try desktop.start("/usr/bin/python3", [programs + "/xterm_text.py", "--wm-class", windowClass])
      }
    talker = Talker(child, alive: desktop.alive)
    try talker.wait("ready", within: 20)
    pid = try talker.tell("show", within: 20).number("pid").map(pid_t.init)
    let name = kind == .tk ? windowClass.lowercased().capitalized : windowClass
    let found = try desktop.run(
      "/usr/bin/xdotool", ["search", "--sync", "--onlyvisible", "--class", "^\(name)$"], within: 10)
    guard let id = String(decoding: found.output, as: UTF8.self).split(separator: "\n").last else {
      throw HarnessError(name, expected: "a visible window", found: "none", alive: desktop.alive())
    }
    window = String(id)
  }

  private func keys(_ names: String...) throws {
    let done = try desktop.run(
      "/usr/bin/xdotool", ["windowactivate", "--sync", window, "key", "--delay", "5"] + names, within: 60)
    guard done.status == 0 else {
      throw HarnessError("xdotool", expected: "keys sent", found: desktop.log("xdotool"), alive: desktop.alive())
    }
  }

  func copy(_ text: Data) throws {
    let path = desktop.path("copy.txt")
    try text.write(to: URL(fileURLWithPath: path))
    try talker.tell("load " + path, within: 60)
    try desktop.takingClipboard(within: 60) {
      guard kind == .xterm else { return try keys("ctrl+a", "ctrl+c") }
      let arguments = ["windowactivate", "--sync", window, "mousemove", "--window", window, "20", "8"]
      _ = try desktop.run("/usr/bin/xdotool", arguments + ["click", "--repeat", "3", "--delay", "20", "1"], within: 10)
      try keys("ctrl+shift+c")
    }
  }

  func paste(expecting: Int?) throws -> Data {
    try talker.tell("clear", within: 60)
    talker.forget()
    pastes += 1
    try keys(kind == .xterm ? "ctrl+shift+v" : "ctrl+v")
    if kind == .gtk {
      // With content to come its length is the measure: large content arrives after the requests that GTK was seen making.
      if expecting == nil { try talker.wait("pasted", within: 20) { $0.number("number") == pastes } }
    } else if kind != .xterm {
      try talker.wait("pasted", within: 60)
    } else if expecting == nil {
      return try pasteFenced()
    }
    if let expecting {
      // Too little at the deadline is a result, which the caller compares.
      _ = try waitUntil(within: 60) { try talker.tell("length", within: 60).number("bytes") ?? 0 >= expecting }
    }
    let bytes = try content()
    // A text widget lays out all that it holds, for seconds: not while others are tried.
    try talker.tell("clear", within: 60)
    return bytes
  }

  private func content() throws -> Data {
    let path = desktop.path("paste.txt")
    try talker.tell("dump " + path, within: 60)
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  /// xterm doesn't tell when it is through: a typed mark shows that it has dealt with all before it, and requests of ours
  /// to the same owner are answered after its own. It asks for four text targets one after another.
  private func pasteFenced() throws -> Data {
    let mark = UInt8(ascii: "~")
    for count in 1...6 {
      try keys("asciitilde")
      let seen = try waitUntil(within: 10) { try content().count { $0 == mark } >= count }
      guard seen else { throw HarnessError("xterm", expected: "a typed mark", found: "none", alive: desktop.alive()) }
      _ = try desktop.probe.summary("loop 2 TARGETS deadline=2000")
    }
    return try content().filter { $0 != mark }
  }

  /// Takes CLIPBOARD by the toolkit's own functions, with any targets (GTK and Qt).
  func offer(_ targets: [String: Data], on selection: String? = nil) throws {
    let pairs = try targets.sorted { $0.key < $1.key }.map { target, bytes in
      let path = desktop.path("offer")
      try bytes.write(to: URL(fileURLWithPath: path))
      return "\(target)=\(path)"
    }
    guard let selection else {
      return try desktop.takingClipboard { try talker.tell("offer " + pairs.joined(separator: " ")) }
    }
    try talker.tell("offer on:\(selection) " + pairs.joined(separator: " "))
  }

  /// Reads CLIPBOARD, or another selection, by the toolkit's own functions; `nil` when refused.
  func fetch(_ target: String, from selection: String = "") throws -> Data? {
    let path = desktop.path("fetch")
    let answer = try talker.tell("fetch \(target) \(path) \(selection)", within: 20)
    return answer.flag("refused") ? nil : try Data(contentsOf: URL(fileURLWithPath: path))
  }

  /// Presses Ctrl+V in a program that takes everything that is on offer, and gives what came (GTK).
  func pasteAll() throws -> [String: Data] {
    let folder = desktop.path("rich")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try talker.tell("rich " + folder)
    talker.forget()
    pastes += 1
    try keys("ctrl+v")
    let files = try talker.wait("taken", within: 20).fields["files"] as? [String: String] ?? [:]
    return try files.mapValues { try Data(contentsOf: URL(fileURLWithPath: $0)) }
  }

  /// Reads a board by D-Bus, as the program's own process (GTK); `nil` when refused.
  func readBoard(_ name: String, _ target: String, at socket: String) throws -> Data? {
    let path = desktop.path("board")
    let answer = try talker.tell("board \(socket) \(name) \(target) \(path)", within: 20)
    return answer.flag("refused") ? nil : try Data(contentsOf: URL(fileURLWithPath: path))
  }

  func exit() { talker.quit() }
}
