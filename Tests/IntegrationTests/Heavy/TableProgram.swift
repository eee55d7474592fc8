import Foundation
import Glibc
import Testing

/// A program of the transparency table: copies and pastes kinds of content.
protocol TableProgram: AnyObject {
  var name: String { get }
  var copies: [ContentKind] { get }
  var pastes: [ContentKind] { get }
  /// Copies the sample at `path`; returns when somebody has taken CLIPBOARD.
  func copy(_ kind: ContentKind, from path: String) throws
  /// Pastes and returns what the document then holds, in a form that can be compared. `expecting` many bytes may be waited
  /// for.
  func paste(_ kind: ContentKind, expecting: Int?) throws -> Data
  /// Ends the program, and with it what it owns.
  func exit()
}

/// The heavy programs: name in the table, driver in Tests/Programs/heavy with its options, and what has to be installed.
struct HeavyKind: Sendable, CustomTestStringConvertible {
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

  /// Writer on its gen toolkit comes last: it learns of a new owner late, and the others paste meanwhile.
  static let all: [HeavyKind] = [firefox, chromium, writer, calc, writerGen]

  /// Starts some of them, three side by side: more would only wait for each other, and some give up when that takes long.
  static func start(_ kinds: [HeavyKind], on desktop: Desktop) throws -> [HeavyProgram] {
    var started: [HeavyProgram] = []
    for first in stride(from: 0, to: kinds.count, by: 3) {
      let few = try kinds[first..<min(first + 3, kinds.count)].map { try $0.start(on: desktop) }
      for program in few { try program.ready() }
      started += few
    }
    return started
  }

  /// Starts it; `HeavyProgram.ready` waits until it is usable, so that several can start side by side.
  private func start(on desktop: Desktop) throws -> HeavyProgram {
    guard access(executable, X_OK) == 0 else {
      throw HarnessError(
        name, expected: executable, found: "none; `Scripts/install-packages test` installs it", alive: "")
    }
    return try HeavyProgram(self, desktop)
  }
}

/// A real program behind its driver.
final class HeavyProgram: TableProgram {
  let name: String
  private let desktop: Desktop
  private let talker: Talker
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
  func ready() throws {
    let event: Event
    do { event = try talker.wait("ready", within: 150) } catch {
      throw HarnessError(name, expected: "to be ready within 150 s", found: "\(error); \(desktop.log("python3"))")
    }
    copies = event.list("copies").compactMap(ContentKind.init)
    pastes = event.list("pastes").compactMap(ContentKind.init)
    pid = pid_t(event.number("pid") ?? 0)
    windowClass = event.text("class") ?? ""
  }

  func load(_ kind: ContentKind, from path: String) throws { try talker.tell("load \(kind) \(path)", within: 60) }

  /// Presses the copy keys for what was loaded.
  func pressCopy(within seconds: Double = 20) throws {
    try desktop.takingClipboard(within: seconds) { try talker.tell("copy", within: seconds) }
  }

  func copy(_ kind: ContentKind, from path: String) throws {
    try load(kind, from: path)
    try pressCopy()
  }

  func paste(_ kind: ContentKind, expecting: Int?) throws -> Data { try paste(kind, within: 60) }

  func paste(_ kind: ContentKind, within seconds: Double) throws -> Data {
    let path = desktop.path("paste")
    try talker.tell("paste \(kind) \(path)", within: seconds)
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  func exit() {
    talker.order("quit")
    _ = try? talker.child.exitStatus(within: 15)
    talker.quit()
  }
}

/// One of the small programs in the same table. GTK and Qt also give and take HTML and PNG by their toolkit's functions.
final class LightProgram: TableProgram {
  let name: String
  let copies: [ContentKind]
  let pastes: [ContentKind]
  private let program: any PasteProgram

  init(_ kind: ProgramKind, on desktop: Desktop) throws {
    name = kind.rawValue
    program = try kind.start(on: desktop)
    copies = program is WindowProgram && kind == .gtk ? [.text, .rich, .image] : [.text]
    pastes = kind == .gtk || kind == .qt ? [.text, .rich, .image] : [.text]
  }

  func copy(_ kind: ContentKind, from path: String) throws {
    let content = try Data(contentsOf: URL(fileURLWithPath: path))
    switch kind {
    case .rich:
      try window.offer(["text/html": content, "UTF8_STRING": Data("first bold and italic".utf8)])
    case .image: try window.offer(["image/png": content])
    default: try program.copy(content)
    }
  }

  private var window: WindowProgram {
    guard let window = program as? WindowProgram else { preconditionFailure("\(name) has no window") }
    return window
  }

  func paste(_ kind: ContentKind, expecting: Int?) throws -> Data {
    switch kind {
    case .rich: try window.fetch("text/html") ?? Data()
    case .image: try window.fetch("image/png") ?? Data()
    default: try program.paste(expecting: expecting == 0 ? nil : expecting)
    }
  }

  func exit() { program.exit() }
}
