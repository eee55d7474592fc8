import Foundation
import Glibc
import Testing

/// The heavy programs: name in the table, driver in Tests/Programs/heavy with its options, and what has to be installed.
struct HeavyKind: Sendable, Hashable, CustomTestStringConvertible {
  let name: String
  let driver: [String]
  let executable: String

  init(_ name: String, _ executable: String, _ driver: String...) {
    (self.name, self.executable, self.driver) = (name, executable, driver)
  }

  var testDescription: String { name }

  static let firefox = HeavyKind("Firefox", "/usr/bin/firefox-esr", "firefox.py")
  static let chromium = HeavyKind("Chromium", "/usr/bin/chromium", "chromium.py")
  static let writer = HeavyKind("Writer", "/usr/bin/soffice", "writer.py")
  static let writerGen = HeavyKind("Writer gen", "/usr/bin/soffice", "writer.py", "--vcl", "gen")
  static let calc = HeavyKind("Calc", "/usr/bin/soffice", "calc.py")
  static let gimp = HeavyKind("GIMP", "/usr/bin/gimp", "gimp.py")
  static let inkscape = HeavyKind("Inkscape", "/usr/bin/inkscape", "inkscape.py")
  static let swing = HeavyKind("Swing", "/usr/bin/javac", "swing.py")
  static let gtk4 = HeavyKind("GTK 4", "/usr/bin/python3", "gtk4.py")
  static let qt6 = HeavyKind("Qt 6", "/usr/bin/python3", "qt6.py")
  static let emacs = HeavyKind("Emacs", "/usr/bin/emacs", "emacs.py")
  static let pcmanfm = HeavyKind("PCManFM", "/usr/bin/pcmanfm", "pcmanfm.py")
  static let thunar = HeavyKind("Thunar", "/usr/bin/thunar", "thunar.py")
  /// Its own timer doesn't clear what it copied while a table is made.
  static let keepassxc = keepassxc(clearingAfter: 3600)

  static func keepassxc(clearingAfter seconds: Int) -> HeavyKind {
    HeavyKind("KeePassXC", "/usr/bin/keepassxc", "keepassxc.py", "--clear", "\(seconds)")
  }

  /// Starts some of them, two side by side: more would only wait for each other, and some give up when that takes long.
  static func start(_ kinds: [HeavyKind], on desktop: Desktop) throws -> [HeavyProgram] {
    var started: [HeavyProgram] = []
    for first in stride(from: 0, to: kinds.count, by: 2) {
      let few = try kinds[first..<min(first + 2, kinds.count)].map { try $0.begin(on: desktop) }
      for program in few { try program.ready() }
      started += few
    }
    return started
  }

  /// Starts it and waits until it is usable.
  func start(on desktop: Desktop) throws -> HeavyProgram {
    let program = try begin(on: desktop)
    try program.ready()
    return program
  }

  private func begin(on desktop: Desktop) throws -> HeavyProgram {
    guard access(executable, X_OK) == 0 else {
      throw HarnessError(
        name, expected: executable, found: "none; `Scripts/install-packages test` installs it", alive: "")
    }
    return try HeavyProgram(self, desktop)
  }
}

/// A real program behind its driver, worked by real keys.
final class HeavyProgram: TableProgram {
  let name: String
  let talker: Talker
  private let desktop: Desktop
  private(set) var copies: [ContentKind] = []
  private(set) var pastes: [ContentKind] = []
  private(set) var pid: pid_t = 0
  private(set) var windowClass = ""

  fileprivate init(_ kind: HeavyKind, _ desktop: Desktop) throws {
    name = kind.name
    self.desktop = desktop
    let folder = Place.programs + "/heavy/"
    let child = try desktop.start("/usr/bin/python3", [folder + kind.driver[0]] + kind.driver.dropFirst())
    talker = Talker(child, alive: desktop.alive)
  }

  /// Waits until it is usable; a first start on a loaded machine takes its time.
  fileprivate func ready() throws {
    let event: Event
    do { event = try talker.wait("ready", within: 150) } catch {
      throw HarnessError(name, expected: "to be ready within 150 s", found: "\(error); \(desktop.log("python3"))")
    }
    copies = event.list("copies").compactMap(ContentKind.init)
    pastes = event.list("pastes").compactMap(ContentKind.init)
    pid = pid_t(event.number("pid") ?? 0)
    windowClass = event.text("class") ?? ""
  }

  /// Makes the file, or the folder of files, what its own document holds.
  func load(_ kind: ContentKind, from path: String) throws {
    let done = try talker.tell("load \(kind) \(path)", within: 120)
    if let other = done.number("pid") { pid = pid_t(other) }
  }

  /// Presses the copy keys for what was loaded; returns when somebody has taken CLIPBOARD.
  func pressCopy(_ command: String = "copy", within seconds: Double = 60) throws {
    try desktop.takingClipboard(within: seconds) { try talker.tell(command, within: seconds) }
  }

  func copy(_ kind: ContentKind, from path: String) throws {
    try load(kind, from: path)
    try pressCopy()
  }

  func paste(_ kind: ContentKind, expecting: Int?) throws -> Data {
    try paste(kind, waiting: expecting == 0 ? nil : Self.patience)
  }

  /// How long something that is to come may take, in seconds.
  static let patience = 20

  /// What its document holds after a paste, in the driver's comparable form. It waits so long for something to come, or as
  /// long as is enough for this program, and has to be through `within` some seconds.
  func paste(_ kind: ContentKind, waiting seconds: Int? = nil, within limit: Double = 120) throws -> Data {
    let path = desktop.path("paste")
    try talker.tell("paste \(kind) \(path) " + (seconds.map(String.init) ?? ""), within: limit)
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
