@preconcurrency import Glibc
import X11

/// Where the daemon of a display listens: `$XDG_RUNTIME_DIR/xpastebridge/<display>/control`.
struct ControlAddress: Hashable {
  /// The D-Bus object.
  static let object = "/org/xpastebridge/Bridge"
  /// The D-Bus interface.
  static let interface = "org.xpastebridge.Bridge1"
  /// The D-Bus interface of the boards, on a socket of its own.
  static let boardsInterface = "org.xpastebridge.Boards1"
  /// The name on the session bus.
  static let busName = "org.xpastebridge"

  /// The user's run-time directory.
  let runtime: String
  /// The directory of all displays.
  let parent: String
  /// This display's directory, mode 0700.
  let directory: String

  /// The socket, mode 0600.
  var socket: String { directory + "/control" }
  /// The socket of the boards, by which content travels, mode 0600.
  var boardsSocket: String { directory + "/boards" }
  /// Present while a lockdown is on, so that it outlives the daemon.
  var lockdownMark: String { directory + "/lockdown" }

  /// Counts how often an X client has ended the connection.
  var endsMark: String { directory + "/ends" }

  /// The address for `display`; a failure where there is no run-time directory.
  init(display: String) throws(ControlFailure) {
    guard let runtime = Self.runtimeDirectory else {
      throw ControlFailure(
        line: "XDG_RUNTIME_DIR is not set and /run/user/\(geteuid()) doesn't exist; set it to a directory of yours")
    }
    self.runtime = runtime
    parent = runtime + "/xpastebridge"
    directory = parent + "/" + Self.key(of: display)
  }

  private static var runtimeDirectory: String? {
    if let set = Posix.environment("XDG_RUNTIME_DIR"), set.hasPrefix("/") { return set }
    let usual = "/run/user/\(geteuid())"
    return Posix.stat(usual)?.isDirectory ?? false ? usual : nil
  }

  /// One name for all spellings of a display: `:4.0`, `:04`, `unix:4` and `:4` are the same, since selections belong to
  /// the display and not to a screen of it.
  static func key(of display: String) -> String {
    let name = DisplayName(display).map(\.description) ?? display
    // What is no display's name, as one that was given by mistake, must not become a path either.
    // By scalars: a slash with an accent on it is one character, and to the kernel still a slash.
    let escaped = name.unicodeScalars.map { $0 == "/" ? "%2F" : $0 == "%" ? "%25" : String($0) }.joined()
    return escaped == "." || escaped == ".." || escaped.isEmpty ? "%2E" + escaped : escaped
  }
}

/// Why a daemon can't be reached or control can't be served: one line for people.
struct ControlFailure: Error, Hashable {
  /// The line, without the program's name.
  var line: String
  /// The D-Bus error with which a daemon refused; `nil` where it is something else.
  var errorName: String?
}
