import Selection

/// Calls that are answered when what has happened on the display before them is through, or when they have waited long
/// enough.
final class SettleQueue {
  /// Calls that wait at a time; further ones are answered as things stand. Our choice: more than a session's programs make.
  private static let limit = 64

  private struct Waiting {
    var deadline: MonotonicTime
    var answer: (_ isSettled: Bool) -> Void
  }

  private let isSettled: () -> Bool
  private var waiting: [Waiting] = []
  private var timer: EventTimer?
  private var answering: DeferredCall?

  /// - Parameters:
  ///   - loop: the loop in which calls are answered.
  ///   - isSettled: whether everything is through.
  init(loop: EventLoop, isSettled: @escaping () -> Bool) throws(SystemFailure) {
    self.isSettled = isSettled
    timer = try loop.makeTimer { [weak self] in self?.answerDue() }
    answering = try loop.makeDeferredCall { [weak self] in self?.answerDue() }
  }

  /// Calls `answer` once, in the next round or later, so that the effects of what has just been drained are flushed first.
  func add(milliseconds: Int, _ answer: @escaping (_ isSettled: Bool) -> Void) {
    let isOver = waiting.count >= Self.limit
    let deadline = Posix.monotonicNow().advanced(byMilliseconds: isOver ? 0 : milliseconds)
    waiting.append(Waiting(deadline: deadline, answer: answer))
    answering?.request()
  }

  /// To be called before every wait: what came in may have settled what is waited for.
  func noteProgress() {
    guard !waiting.isEmpty else { return }
    if isSettled() {
      answering?.request()
    } else {
      timer?.set(waiting.map(\.deadline).min())
    }
  }

  private func answerDue() {
    let isSettled = isSettled()
    let now = Posix.monotonicNow()
    let due = waiting.filter { isSettled || $0.deadline <= now }
    waiting.removeAll { isSettled || $0.deadline <= now }
    for call in due { call.answer(isSettled) }
    timer?.set(waiting.map(\.deadline).min())
  }
}
