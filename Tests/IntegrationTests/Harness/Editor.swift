import Foundation

/// Programs in which people edit text, worked by real keys alone.
enum EditorKind: String, CaseIterable, Sendable {
  case gtk, qt, tk, emacs, writer, firefox

  /// What is in each at its start.
  static let text = "kept text"

  var windowClass: String {
    switch self {
    case .gtk: "EditorGtk"
    case .qt: "EditorQt"
    case .tk: "Editortk"
    case .emacs: "Emacs"
    case .writer: "libreoffice-writer"
    case .firefox: "firefox-esr"
    }
  }

  var selectsAll: [String] { self == .emacs ? ["ctrl+x", "h"] : ["ctrl+a"] }
  var copies: String { self == .emacs ? "alt+w" : "ctrl+c" }
  /// Every key that cuts there.
  var cuts: [String] {
    switch self {
    case .emacs: ["ctrl+w"]
    // Writer and Firefox know both; the toolkits, too.
    case .gtk, .qt, .tk, .writer, .firefox: ["ctrl+x", "shift+Delete"]
    }
  }
}

/// One of them, running.
final class Editor {
  let kind: EditorKind
  private let desktop: Desktop
  private var window = ""
  private var talker: Talker?

  init(_ kind: EditorKind, on desktop: Desktop) throws {
    self.kind = kind
    self.desktop = desktop
    let path = desktop.path("editor.txt")
    try EditorKind.text.write(toFile: path, atomically: true, encoding: .utf8)
    try start(path)
    let found = try waitUntil(within: 90) {
      let search = try desktop.run(
        "/usr/bin/xdotool", ["search", "--onlyvisible", "--all", "--class", "^\(kind.windowClass)$"])
      window = String(decoding: search.output, as: UTF8.self).split(separator: "\n").last.map(String.init) ?? ""
      return !window.isEmpty
    }
    guard found else {
      throw HarnessError(kind.rawValue, expected: "a window within 90 s", found: "none", alive: desktop.alive())
    }
  }

  private func start(_ path: String) throws {
    switch kind {
    case .gtk, .qt:
      try startToolkit(
        "/usr/bin/python3", ["\(Place.programs)/\(kind.rawValue)_text.py", "--wm-class", kind.windowClass])
    case .tk: try startToolkit("/usr/bin/wish", ["\(Place.programs)/tk_text.tcl", "-name", "editortk"])
    case .emacs: try desktop.start("/usr/bin/emacs", ["-Q", "--no-splash", path], keepsOutput: false)
    case .writer:
      let profile = desktop.path("office")
      try FileManager.default.createDirectory(atPath: profile + "/user", withIntermediateDirectories: true)
      try Self.officeSettings.write(
        toFile: profile + "/user/registrymodifications.xcu", atomically: true, encoding: .utf8)
      try desktop.start(
        "/usr/bin/soffice",
        ["-env:UserInstallation=file://\(profile)", "--norestore", "--nologo", "--nolockcheck", "--writer", path],
        keepsOutput: false, adding: ["SAL_USE_VCLPLUGIN": "gtk3", "DBUS_SESSION_BUS_ADDRESS": "disabled:"])
    case .firefox:
      let profile = desktop.path("profile")
      try FileManager.default.createDirectory(atPath: profile, withIntermediateDirectories: true)
      try Self.browserSettings.write(toFile: profile + "/user.js", atomically: true, encoding: .utf8)
      try desktop.start(
        "/usr/bin/firefox-esr", ["--no-remote", "--profile", profile, "file://\(Place.programs)/editor.html"],
        keepsOutput: false, adding: ["MOZ_CRASHREPORTER_DISABLE": "1", "DBUS_SESSION_BUS_ADDRESS": "disabled:"])
    }
    guard let talker else { return }
    try talker.wait("ready", within: 20)
    try talker.tell("show", within: 20)
    try talker.tell("load \(path)", within: 20)
  }

  private func startToolkit(_ program: String, _ arguments: [String]) throws {
    talker = Talker(try desktop.start(program, arguments), alive: desktop.alive)
  }

  /// Presses keys in its window.
  func press(_ keys: [String]) throws {
    _ = try desktop.run(
      "/usr/bin/xdotool", ["windowactivate", "--sync", window, "key", "--delay", "20"] + keys, within: 30)
  }

  /// Puts another text into a toolkit's editor.
  func load(_ text: String) throws {
    let path = desktop.path("editor.txt")
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try talker?.tell("load \(path)", within: 20)
    try FileManager.default.removeItem(atPath: path)
  }

  /// Tells a toolkit's editor to do something.
  func tell(_ command: String) throws { try talker?.tell(command, within: 20) }

  /// Selects all and copies; what then is on the clipboard. Waits until that is `wanted`: a program that has just
  /// started takes no keys yet, and some put a line's end behind the text.
  func copiedText(wanted: String, by reader: Requestor, within seconds: Double = 20) throws -> String? {
    var found: String?
    var presses = 0
    _ = try waitUntil(within: seconds) {
      try press(kind.selectsAll + [kind.copies])
      presses += 1
      return try waitUntil(within: 2) {
        found = try reader.text().map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        return found == wanted
      }
    }
    if presses > 1 { try awaitLastCopy() }
    return found
  }

  /// A busy program works off late what was pressed more than once: until no copy has come for a second.
  private func awaitLastCopy() throws {
    var seen = -1
    _ = try waitUntil(within: 20) {
      let before = seen
      try desktop.probe.tell("sync")
      seen = desktop.probe.count("owner-change")
      if seen != before { usleep(1_000_000) }
      return seen == before
    }
  }

  private static let officeSettings: String = {
    func item(_ path: String, _ name: String, _ type: String, _ value: String) -> String {
      "<item oor:path=\"\(path)\"><prop oor:name=\"\(name)\" oor:op=\"fuse\" oor:type=\"xs:\(type)\">"
        + "<value>\(value)</value></prop></item>"
    }
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<oor:items xmlns:oor=\"http://openoffice.org/2001/registry\" "
      + "xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">"
      + item("/org.openoffice.Office.Common/Misc", "ShowTipOfTheDay", "boolean", "false")
      + item("/org.openoffice.Office.Common/Misc", "FirstRun", "boolean", "false")
      + item("/org.openoffice.Setup/Product", "ooSetupLastVersion", "string", "99.0") + "</oor:items>"
  }()

  private static let browserSettings = """
    user_pref("browser.shell.checkDefaultBrowser", false);
    user_pref("browser.aboutwelcome.enabled", false);
    user_pref("browser.startup.homepage_override.mstone", "ignore");
    user_pref("datareporting.policy.dataSubmissionEnabled", false);
    user_pref("datareporting.policy.dataSubmissionPolicyBypassNotification", true);
    user_pref("app.update.enabled", false);
    user_pref("network.captive-portal-service.enabled", false);
    user_pref("network.connectivity-service.enabled", false);
    user_pref("termsofuse.bypassNotification", true);
    user_pref("layers.acceleration.disabled", true);

    """
}
