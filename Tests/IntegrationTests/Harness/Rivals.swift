import Foundation

/// Clipboard managers that people run, beside which the daemon has to live.
enum Rival: String, CaseIterable, Sendable {
  case clipman, copyq, diodon, gpaste, parcellite, qlipper
  /// Not in Scripts/install-packages: its package brings most of a Plasma desktop, 800 MB. Tried where it is installed.
  case klipper

  /// Those that have to be there, and the one that may be.
  static var tried: [Rival] { allCases.filter { $0 != .klipper || access($0.program, X_OK) == 0 } }

  var program: String {
    switch self {
    case .clipman: "/usr/bin/xfce4-clipman"
    case .copyq, .diodon, .klipper, .parcellite, .qlipper: "/usr/bin/\(rawValue)"
    case .gpaste: "/usr/libexec/gpaste/gpaste-daemon"
    }
  }

  var package: String {
    switch self {
    case .clipman: "xfce4-clipman"
    case .gpaste: "gpaste-2"
    case .klipper: "plasma-workspace"
    case .copyq, .diodon, .parcellite, .qlipper: rawValue
    }
  }

  /// Without it parcellite reads the clipboard's content from its standard input.
  var arguments: [String] { self == .parcellite ? ["-n"] : [] }
}

/// A rival on a desktop, with a session bus of its own.
final class RivalProgram {
  let kind: Rival
  let child: Child
  private let desktop: Desktop
  private let variables: [String: String]

  /// Starts it; with a daemon there, that is told apart from the rival among those who ask.
  init(_ kind: Rival, on desktop: Desktop) throws {
    guard access(kind.program, X_OK) == 0 else {
      throw HarnessError(
        kind.program, expected: "the Debian package \(kind.package), installed by `Scripts/install-packages test`",
        found: "none")
    }
    self.kind = kind
    self.desktop = desktop
    let bus = try desktop.start("/usr/bin/dbus-daemon", ["--session", "--nofork", "--print-address"])
    guard let address = try bus.line(by: Deadline(seconds: 10)) else {
      throw HarnessError("dbus-daemon", expected: "its address", found: desktop.log("dbus-daemon"))
    }
    // Qt programs know whether they run already by a socket in the folder for temporary files.
    variables = [
      "DBUS_SESSION_BUS_ADDRESS": String(decoding: address, as: UTF8.self), "TMPDIR": desktop.folder + "/run",
      "GSETTINGS_BACKEND": "memory",
    ]
    child = try desktop.start(kind.program, kind.arguments, keepsOutput: false, adding: variables)
  }

  /// Runs a program that speaks with the rival.
  @discardableResult
  func tell(_ program: String, _ arguments: [String]) throws -> Int32 {
    let speaker = try desktop.start(program, arguments, keepsOutput: false, adding: variables)
    defer { speaker.end() }
    return try speaker.exitStatus(within: 20)
  }

  /// Copies again and again until the rival is seen to read a copy; `hasRead` says whether it did.
  func awaitReading(_ hasRead: (Owner) throws -> Bool) throws {
    let owner = try desktop.owner("class early Early", "target UTF8_STRING text:early")
    for number in 1...40 {
      try owner.tell("target UTF8_STRING text:early\(number)")
      try owner.claim()
      if try waitUntil(within: 0.7, { try hasRead(owner) }) { return }
      guard child.isAlive else { break }
    }
    throw HarnessError(
      kind.program, expected: "a manager that reads copies",
      found: child.isAlive
        ? "none asked within 28 s" : "its end: \(desktop.log((kind.program as NSString).lastPathComponent))",
      alive: desktop.alive())
  }
}
