@preconcurrency import Glibc

/// Whether the person has locked everything but same-app copy and paste down. It outlives the daemon, whose restart would
/// else lift it, and ends with the session's run-time directory.
final class Lockdown {
  private let mark: String?
  /// Whether it is on.
  private(set) var isOn: Bool

  /// Takes up what the run before has left at `mark`; without one nothing is kept.
  init(mark: String?) {
    self.mark = mark
    isOn = mark.map { Posix.lstat($0) != nil } ?? false
  }

  /// Sets or lifts it. What can't be kept isn't set.
  func set(_ isOn: Bool) throws(SystemFailure) {
    if let mark {
      if isOn {
        _ = try Posix.open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW)
      } else if Posix.lstat(mark) != nil {
        try Posix.unlink(mark)
      }
    }
    self.isOn = isOn
  }
}
