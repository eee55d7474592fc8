import Foundation
import Glibc

/// Where things are that a test starts.
enum Place {
  static let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path
  static let programs = source + "/Tests/Programs"
  /// The folder of the test bundle, beside which the debug product lies.
  static let products = (CommandLine.arguments[0] as NSString).deletingLastPathComponent

  /// The raw clients, built from Tests/Clients once per run.
  static let clients: Result<String, HarnessError> = {
    let folder = products + "/test-clients"
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/make")
    process.arguments = ["-s", "-C", source + "/Tests/Clients", "OUT=" + folder]
    do { try process.run() } catch { return .failure(HarnessError("make", expected: "a run", found: "\(error)")) }
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      return .failure(
        HarnessError(
          "Tests/Clients", expected: "clients that build", found: "make's status \(process.terminationStatus)"))
    }
    return .success(folder)
  }()
}

/// A private X server with a window manager, a home and a runtime folder.
final class Desktop {
  let folder: String
  private(set) var display = ""
  private var children: [Child] = []
  private var number = 0
  private(set) var environment: [String: String] = [:]
  /// Watches CLIPBOARD from the start and asks what the harness itself wants to know.
  private(set) var probe: Requestor!

  /// The X server.
  private(set) var server: Child!

  /// `user`: another desktop whose home and runtime folder this one has, too. `takesTCP`: also from programs of other
  /// machines that know the cookie. `lacking`: an extension that the server is started without.
  init(
    windowManager: Bool = true, screens: Int = 1, ofUserOf user: Desktop? = nil, takesTCP: Bool = false,
    lacking: String? = nil
  ) throws {
    var template = Array("/tmp/xpb-desktop-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw HarnessError("/tmp", expected: "a folder", found: String(cString: strerror(errno)))
    }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    for name in ["home", "run"] {
      mkdir("\(folder)/\(name)", 0o700)
    }
    environment = [
      "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder + "/home", "XDG_RUNTIME_DIR": folder + "/run",
      "LC_ALL": "C.UTF-8", "NO_AT_BRIDGE": "1", "GTK_IM_MODULE": "gtk-im-context-simple",
      "PYTHONDONTWRITEBYTECODE": "1",
      "GDK_BACKEND": "x11", "QT_QPA_PLATFORM": "xcb", "LIBGL_ALWAYS_SOFTWARE": "1", "NO_COLOR": "1",
    ]
    for key in ["HOME", "XDG_RUNTIME_DIR"] { environment[key] = user?.environment[key] ?? environment[key] }
    var transport = ["-nolisten", "tcp"]
    if takesTCP {
      let authority = "\(folder)/authority"
      try Self.cookie.write(to: URL(fileURLWithPath: authority))
      environment["XAUTHORITY"] = authority
      transport = ["-listen", "tcp", "-auth", authority]
    }
    let sizes = (0..<screens).flatMap { ["-screen", "\($0)", "1280x960x24"] }
    let without = lacking.map { ["-extension", $0] } ?? []
    server = try start("/usr/bin/Xvfb", ["-displayfd", "1"] + sizes + transport + without + ["-noreset"])
    guard let line = try server.line(by: Deadline(seconds: 20)) else {
      throw HarnessError("Xvfb", expected: "its display number", found: "the end of its output: \(log("Xvfb"))")
    }
    display = ":" + String(decoding: line, as: UTF8.self)
    environment["DISPLAY"] = display
    if windowManager { try startWindowManager() }
    probe = try requestor("watch CLIPBOARD")
  }

  deinit { close() }

  /// A cookie for every display of every machine, as an authority file (FamilyWild): the server picks its number later.
  private static var cookie: Data {
    var file = Data([0xff, 0xff, 0, 0, 0, 0])
    let name = Data("MIT-MAGIC-COOKIE-1".utf8)
    file.append(contentsOf: [0, UInt8(name.count)])
    file.append(name)
    file.append(contentsOf: [0, 16])
    file.append(contentsOf: (0..<16).map { _ in UInt8.random(in: 0...255) })
    return file
  }

  private func startWindowManager() throws {
    try start("/usr/bin/openbox", ["--sm-disable"])
    let ready = try waitUntil(within: 10) {
      // The list of clients is openbox's last property at its start; before, a window may wait to be mapped for long.
      let answer = try run("/usr/bin/xprop", ["-root", "_NET_SUPPORTING_WM_CHECK", "_NET_CLIENT_LIST"])
      let text = String(decoding: answer.output, as: UTF8.self)
      return text.contains("_NET_SUPPORTING_WM_CHECK(WINDOW)") && text.contains("_NET_CLIENT_LIST(WINDOW)")
    }
    guard ready else {
      throw HarnessError("openbox", expected: "a window manager within 10 s", found: "none", alive: alive())
    }
  }

  /// Who of ours lives, for messages.
  func alive() -> String {
    let all = children.filter(\.isAlive).map { "\($0.name) \($0.pid)" }
    return all.isEmpty ? "nobody" : all.joined(separator: ", ")
  }

  /// What a program wrote to its standard error, its last lines.
  func log(_ name: String) -> String {
    let text = (try? String(contentsOfFile: "\(folder)/\(name).log", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").suffix(5).joined(separator: " | ")
  }

  /// A path for something to be written.
  func path(_ name: String) -> String {
    number += 1
    return "\(folder)/\(number)-\(name)"
  }

  @discardableResult
  func start(
    _ program: String, _ arguments: [String] = [], keepsOutput: Bool = true, adding: [String: String] = [:],
    only environment: [String: String]? = nil
  ) throws -> Child {
    let log = "\(folder)/\((program as NSString).lastPathComponent).log"
    let child = try Child(
      program, arguments, environment: (environment ?? self.environment).merging(adding) { $1 }, log: log,
      keepsOutput: keepsOutput)
    children.append(child)
    return child
  }

  /// Runs a program to its end.
  func run(
    _ program: String, _ arguments: [String], input: Data? = nil, within seconds: Double = 20,
    only environment: [String: String]? = nil
  ) throws -> (status: Int32, output: Data) {
    let child = try Child(
      program, arguments, environment: environment ?? self.environment,
      log: "\(folder)/\((program as NSString).lastPathComponent).log")
    defer { child.end() }
    if let input { child.send(input) }
    child.closeInput()
    let output = try child.everything(by: Deadline(seconds: seconds))
    return (try child.exitStatus(within: seconds), output)
  }

  func owner(_ commands: String...) throws -> Owner {
    let folder = try Place.clients.get()
    let owner = Owner(try start(folder + "/xpb-owner", ["--display", display]), alive: alive)
    try owner.wait("windows")
    for command in commands { try owner.tell(command) }
    return owner
  }

  func requestor(_ commands: String...) throws -> Requestor {
    let folder = try Place.clients.get()
    let requestor = Requestor(try start(folder + "/xpb-requestor", ["--display", display]), alive: alive)
    try requestor.wait("windows")
    requestor.contentPath = path("content")
    for command in commands { try requestor.tell(command) }
    return requestor
  }

  /// Does something that takes CLIPBOARD, and waits until somebody has.
  @discardableResult
  func takingClipboard<T>(within seconds: Double = 10, _ body: () throws -> T) throws -> T {
    try probe.tell("sync")
    probe.forget()
    let result = try body()
    try probe.wait("owner-change", within: seconds) { $0.text("selection") == "CLIPBOARD" && $0.number("window") != 0 }
    return result
  }

  func close() {
    for child in children.reversed() { child.end() }
    children.removeAll()
    try? FileManager.default.removeItem(atPath: folder)
  }
}
