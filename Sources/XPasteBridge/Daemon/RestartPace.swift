@preconcurrency import Glibc
import Selection
import X11

/// Slows restarts down when an X client ends our connection again and again: the service manager starts a new daemon
/// within 0.1 s each time. The ended one waits before it goes, and holds the selections empty meanwhile.
struct RestartPace {
  /// Ends that cost nothing: a single one is an accident.
  static let free = 2
  /// After so long without one they count from the beginning.
  static let memorySeconds = 60
  /// The longest wait, as after a start that came to nothing.
  static let longestMilliseconds = 3_000

  private let path: String

  /// Counts in the file `path`.
  init(path: String) { self.path = path }

  /// How long to wait after the `count`-th end in a row: 100 ms, then twice as long each time.
  static func milliseconds(after count: Int) -> Int {
    count <= free ? 0 : min(longestMilliseconds, 100 << min(count - free - 1, 10))
  }

  /// Counts one more end at `now`; how long to wait.
  func note(at now: MonotonicTime) -> Int {
    let second = Int(now.nanoseconds / 1_000_000_000)
    let words = read().split(separator: " ").compactMap { Int($0) }
    let isRecent = words.count == 2 && (0...Self.memorySeconds).contains(second - words[1])
    let count = isRecent ? min(max(0, words[0]), 1_000) + 1 : 1
    // Without the file each end is the first.
    if let file = try? Posix.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW) {
      try? Posix.write("\(count) \(second)", to: file.number)
    }
    return Self.milliseconds(after: count)
  }

  private func read() -> String {
    guard let file = try? Posix.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
      let bytes = try? Posix.read(file.number, limit: 64)
    else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }
}
