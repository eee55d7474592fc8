import Foundation
import Glibc

/// A real heavy program behind its driver in Tests/Programs/heavy, worked by real keys.
final class DrivenProgram {
  let name: String
  let windowClass: String
  private(set) var pid: pid_t
  let talker: Talker
  private let desktop: Desktop

  init(_ name: String, on desktop: Desktop, _ options: String...) throws {
    self.name = name
    self.desktop = desktop
    let driver = "\(Place.programs)/heavy/\(name).py"
    talker = Talker(try desktop.start("/usr/bin/python3", [driver] + options), alive: desktop.alive)
    let ready: Event
    do { ready = try talker.wait("ready", within: 150) } catch {
      throw HarnessError(name, expected: "to be ready", found: "\(error); \(desktop.log("python3"))")
    }
    windowClass = ready.text("class") ?? ""
    pid = pid_t(ready.number("pid") ?? 0)
  }

  /// Makes the file, or the folder of files, what its own document holds.
  func load(_ kind: String, from path: String) throws {
    let done = try talker.tell("load \(kind) \(path)", within: 120)
    if let other = done.number("pid") { pid = pid_t(other) }
  }

  /// Presses the keys for copying; returns when somebody has taken CLIPBOARD.
  func copy(_ command: String = "copy") throws {
    try desktop.takingClipboard(within: 30) { try talker.tell(command, within: 60) }
  }

  /// What its document holds after a paste, in the driver's comparable form; it waits so long for something to come.
  func paste(_ kind: String, waiting seconds: Int = 20) throws -> Data {
    let path = desktop.path("paste")
    try talker.tell("paste \(kind) \(path) \(seconds)", within: 120)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  /// Ends the program at once, as a crash would, and leaves its driver with the documents.
  func crash() throws {
    kill(pid, SIGKILL)
    guard waitUntil(within: 10, { kill(pid, 0) != 0 || isZombie() }) else {
      throw HarnessError(name, expected: "its end", found: "process \(pid) alive")
    }
  }

  /// Its driver is its parent and may not have looked after it yet.
  private func isZombie() -> Bool {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    return text.split(separator: ")").last?.split(separator: " ").first == "Z"
  }

  func exit() {
    talker.order("quit")
    _ = try? talker.child.exitStatus(within: 30)
    talker.quit()
  }
}

extension Desktop {
  /// The titles of all windows that people see, each as often as it is there: a dialog is one more.
  func windowTitles() throws -> [String] {
    let listed = String(decoding: try run("/usr/bin/xprop", ["-root", "_NET_CLIENT_LIST"]).output, as: UTF8.self)
    let windows = listed.split(separator: "#").last?.split(separator: ",") ?? []
    return try windows.map { window in
      let id = window.trimmingCharacters(in: .whitespacesAndNewlines)
      let name = try run("/usr/bin/xdotool", ["getwindowname", id]).output
      return String(decoding: name, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }.sorted()
  }

  /// The content targets that CLIPBOARD lists.
  func contentTargets() throws -> Set<String> { Set(try probe.targets() ?? []).filter(Exceptions.isContent) }

  /// Writes a file for a program to load.
  func file(_ name: String, _ content: Data) throws -> String {
    let path = path(name)
    try content.write(to: URL(fileURLWithPath: path))
    return path
  }
}

/// Contents that heavy programs copy.
enum HeavySample {
  /// A picture with many colours, made by the library that the programs read it with.
  static func picture(on desktop: Desktop) throws -> String {
    let path = desktop.path("picture.png")
    let script = """
      import sys, gi
      gi.require_version("GdkPixbuf", "2.0")
      from gi.repository import GdkPixbuf, GLib
      w, h = 160, 120
      pixels = bytes(v % 256 for y in range(h) for x in range(w) for v in (x * 5, y * 7, x * y))
      picture = GdkPixbuf.Pixbuf.new_from_bytes(GLib.Bytes.new(pixels), GdkPixbuf.Colorspace.RGB, False, 8, w, h, w * 3)
      picture.savev(sys.argv[1], "png", [], [])
      """
    let made = try desktop.run("/usr/bin/python3", ["-c", script, path])
    guard made.status == 0 else {
      throw HarnessError("python3", expected: "a picture", found: desktop.log("python3"))
    }
    return path
  }

  static let drawing = Data(
    """
    <svg xmlns="http://www.w3.org/2000/svg" width="200" height="150" viewBox="0 0 200 150">
    <rect x="20" y="10" width="60" height="40" style="fill:#ff8800"/></svg>
    """.utf8)
  static let text = Data("za\u{17c}\u{f3}\u{142}\u{107} \u{6f22}\u{5b57} \u{1f642}\nsecond line".utf8)
  static let rich = Data("<html><body><p>plain <b>bold</b> <i>italic</i></p></body></html>".utf8)

  /// A folder with a few files, one of them with a name that a URI has to escape.
  static func files(on desktop: Desktop) throws -> String {
    let folder = desktop.path("files")
    mkdir(folder, 0o700)
    for (name, content) in ["a file.txt": Data("hello\n".utf8), "b.bin": countingBytes(3000), "\u{17c}.txt": Data()] {
      try content.write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    return folder
  }
}
