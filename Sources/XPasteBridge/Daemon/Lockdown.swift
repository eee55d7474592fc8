@preconcurrency import Glibc

/// Whether the person has locked everything but same-app copy and paste down. It outlives the daemon, whose restart would
/// else lift it, and ends with the session's run-time directory.
///
/// It is kept twice: by a file in the run-time directory, and with the service manager, if there is one. Any process of
/// the user can remove the file; what the service manager has lasts until the unit is stopped. Either alone keeps it on,
/// and what is missing is said.
final class Lockdown {
  /// The name under which the service manager keeps it.
  static let descriptorName = "lockdown"

  private let mark: String?
  /// The file that keeps it; `nil` for none.
  var path: String? { mark }
  /// Hands it to the service manager, or takes it back.
  private let keep: (Bool) -> Void
  /// Whether it is on.
  private(set) var isOn: Bool
  /// What was found at the start that doesn't fit, in words; `nil` for nothing.
  let finding: String?

  /// Takes up what the run before has left at `mark` and, if `wasKept`, with the service manager; without either nothing is
  /// kept.
  init(mark: String?, wasKept: Bool = false, keep: @escaping (Bool) -> Void = { _ in }) {
    self.mark = mark
    self.keep = keep
    let isMarked = mark.map { Posix.lstat($0) != nil } ?? false
    isOn = isMarked || wasKept
    finding =
      wasKept && !isMarked
      ? "the lockdown's mark was removed while no daemon ran; the lockdown stays on, as the service manager has kept it"
      : nil
    guard isOn else { return }
    try? setMark()
    if !wasKept { keep(true) }
  }

  /// Sets or lifts it. What can't be kept isn't set.
  func set(_ isOn: Bool) throws(SystemFailure) {
    if isOn {
      try setMark()
    } else if let mark, Posix.lstat(mark) != nil {
      try Posix.unlink(mark)
    }
    if isOn != self.isOn { keep(isOn) }
    self.isOn = isOn
  }

  private func setMark() throws(SystemFailure) {
    if let mark { _ = try Posix.open(mark, O_WRONLY | O_CREAT | O_NOFOLLOW) }
  }

  /// Sets the mark again if somebody has removed it while the lockdown is on; whether somebody had.
  func restoreMark() -> Bool {
    guard isOn, let mark, Posix.lstat(mark) == nil else { return false }
    return (try? setMark()) != nil
  }
}
