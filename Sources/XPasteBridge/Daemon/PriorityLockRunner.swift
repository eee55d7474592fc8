import Actions
import Policy
import Selection
import X11

/// Carries out the priority lock on one display.
final class PriorityLockRunner {
  /// How often the socket is filled up. The kernel tells of room only when three quarters are empty, and on a busy machine
  /// we may not have the processor when it does. Our choice: a few pieces' time.
  private static let fillingMilliseconds = 2

  private let presses: PressKeeper
  private let precedence: Precedence
  private let finishCopy: () -> Void
  private var lock = PriorityLock()
  private var pressedAt = ServerTime.current

  /// `nil` where the server can't put anybody in order, or doesn't list its clients.
  init?(display: ActionDisplay, questions: Display, presses: PressKeeper, finishCopy: @escaping () -> Void) {
    guard questions.namesPrograms,
      let precedence = Precedence(display, name: questions.name, others: [questions.ownerWindow])
    else { return nil }
    self.presses = presses
    self.precedence = precedence
    self.finishCopy = finishCopy
  }

  /// A key that begins a copy of `source` stands still; `false` when it was swallowed.
  func keyPressed(by source: Subject, on window: Window, at time: ServerTime) -> Bool {
    let swallowed = lock.swallowedCount
    pressedAt = time
    carryOut(lock.keyPressed(by: source, on: window, time: time, at: .now))
    return lock.swallowedCount == swallowed
  }

  /// Puts the reader of a protected paste before everybody else; `false` when that can't be done now.
  func begin(pasteInto reader: Window) -> Bool {
    // A key's own lock keeps others waiting until its copy is taken, the reader too.
    guard !lock.isHeld else { return false }
    let deadline = MonotonicTime.now.advanced(byMilliseconds: PasteLock.lockingMilliseconds)
    guard precedence.enclose(reader, sparing: presses.hold?.connection, until: deadline) else {
      precedence.release()
      return false
    }
    precedence.encloseAgain()
    return true
  }

  /// Keeps the others waiting a moment longer.
  func continuePaste() { precedence.keepBusy() }

  /// Lets everybody go on.
  func endPaste() { precedence.release() }

  /// CLIPBOARD has a new owner.
  func ownerChanged(to owner: Subject) -> CopyLock { lock.ownerChanged(to: owner, at: .now) }

  /// After each round: keeps the server busy while others have to wait, and lets them go when the copy is ours.
  func settle(isCopyTaken: Bool) {
    guard lock.isHeld else { return }
    if isCopyTaken { carryOut(lock.copyTaken()) } else { precedence.keepBusy() }
  }

  /// The descriptor that has to be kept full; `nil` while nobody waits.
  var busyDescriptor: Int32? { lock.isHeld ? precedence.loadDescriptor : nil }
  /// When ``deadlineReached()`` has to be called.
  var deadline: MonotonicTime? {
    lock.deadline.map { min($0, .now.advanced(byMilliseconds: Self.fillingMilliseconds)) }
  }
  /// Lets the others go when their time is over.
  func deadlineReached() { carryOut(lock.deadlineReached(at: .now)) }

  /// Ends whatever is going on.
  func close() { carryOut(lock.abandon()) }

  /// What became of the locks so far.
  var status: LockStatus {
    LockStatus(
      standing: .ready, taken: lock.takenCount, lapsed: lock.lapsedCount, swallowed: lock.swallowedCount)
  }

  private func carryOut(_ effects: [PriorityLockEffect]) {
    for effect in effects {
      switch effect {
      case .enclose(let source):
        let deadline = MonotonicTime.now.advanced(byMilliseconds: PriorityLock.lockingMilliseconds)
        let isComplete = precedence.enclose(source, sparing: presses.hold?.connection, until: deadline)
        carryOut(lock.enclosed(isComplete, at: .now))
      case .encloseAgain: precedence.encloseAgain()
      case .replay: presses.hold?.releaseKeyboard()
      case .swallow: presses.hold?.swallowKey(pressedAt)
      case .finishCopy: finishCopy()
      case .release: precedence.release()
      }
    }
  }
}
