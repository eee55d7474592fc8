import Policy
import Selection
import X11

/// Why the daemon has to stop.
enum RunnerEnding: Hashable {
  /// A successor took our manager selection (`--replace`).
  case replaced
  /// Another client destroyed a window without which nothing is heard or guarded. A fresh start has new ones.
  case windowTaken(Window)
}

/// Why the daemon can't take up its work; each describes itself in one line.
enum RunnerError: Error, CustomStringConvertible {
  /// Another instance is at work on this display and screen.
  case alreadyRunning(display: DisplayName, screen: Int, owner: Subject)
  /// Another instance started at the same moment and was first.
  case overtaken(display: DisplayName, screen: Int)
  /// The X server went away.
  case serverLost

  var description: String {
    switch self {
    case .alreadyRunning(let display, let screen, let owner):
      "display `\(display)`, screen \(screen) is guarded already by \(Self.name(owner)); use --replace to take over"
    case .overtaken(let display, let screen):
      "display `\(display)`, screen \(screen): another instance started at the same moment"
    case .serverLost: "the X server went away"
    }
  }

  private static func name(_ subject: Subject) -> String {
    let path = subject.executable.map { "`\($0.value)`" } ?? "another instance"
    guard case .local(let process) = subject.origin else { return path }
    return "\(path) (pid \(process.id))"
  }
}
