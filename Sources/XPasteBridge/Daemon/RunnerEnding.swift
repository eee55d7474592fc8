import Policy
import Selection
import X11

/// Why the daemon has to stop.
enum RunnerEnding: Hashable {
  /// A successor took our manager selection (`--replace`): an attested instance of ours.
  case replaced(by: Subject)
  /// Another client destroyed a window without which nothing is heard or guarded. A fresh start has new ones.
  case windowTaken(Window)
}

/// Why the daemon can't take up its work; each describes itself in one line.
enum RunnerError: Error, CustomStringConvertible {
  /// Another instance is at work on this display and screen.
  case alreadyRunning(display: DisplayName, screen: Int, owner: Subject)
  /// Another instance started at the same moment and was first.
  case overtaken(display: DisplayName, screen: Int)
  /// Who guards the display took the mark back: it can't be sure that we are its successor.
  case refused(display: DisplayName, screen: Int, owner: Subject)
  /// The X server went away.
  case serverLost

  var description: String {
    switch self {
    case .alreadyRunning(let display, let screen, let owner):
      "display `\(display)`, screen \(screen) is guarded already by \(Self.name(owner)); use --replace to take over"
    case .overtaken(let display, let screen):
      "display `\(display)`, screen \(screen): another instance started at the same moment"
    case .refused(let display, let screen, let owner):
      "display `\(display)`, screen \(screen): \(Self.name(owner)) guards it and doesn't let go; stop it first"
    case .serverLost: "the X server went away"
    }
  }

  /// The app of `subject` in words.
  static func name(_ subject: Subject) -> String {
    let path = subject.executable.map { "`\($0.value)`" } ?? "another instance"
    guard case .local(let process) = subject.origin else { return path }
    return "\(path) (pid \(process.id))"
  }
}
