import Selection
import X11

/// Keeps the connection on which presses are held back, and the process that watches over it, as long as anybody needs them;
/// where either ends, both are begun anew.
final class PressKeeper {
  /// What presses are held back for.
  enum Purpose: Hashable {
    /// Pastes from PRIMARY.
    case pastes
    /// Copies of protected apps.
    case copies
  }

  /// How often the watching process is started within ``startSeconds`` (our choice: a program that ends it again and
  /// again costs us no more than that).
  private static let startCount = 10
  private static let startSeconds = 60

  private let display: Display
  private let program: String?
  private let say: (String, Priority) -> Void
  private let arrivals: OwnedDescriptor?
  private var purposes: Set<Purpose> = []
  private var starts: [MonotonicTime] = []
  /// Both, once they have been begun; what was held back by one that was here before has ended with it.
  private(set) var hold: PressHold?
  /// How often the watchdog let the person's input go.
  private(set) var freed = 0

  /// `program` takes the role of ``InputWatchdog`` when it is started; without it no press is ever held back.
  init(display: Display, program: String?, say: @escaping (String, Priority) -> Void) {
    self.display = display
    self.program = program
    self.say = say
    arrivals = program == nil ? nil : try? Posix.epollCreate()
  }

  /// To be waited for: readable when ``takePresses()`` has something to do.
  var descriptor: Int32? { arrivals?.number }
  /// Whether it isn't known yet if presses are to be had.
  var isStarting: Bool { hold?.isStarting ?? false }
  /// Whether presses wait that ``takePresses()`` hasn't given yet, although nothing is readable.
  var hasWaitingPresses: Bool { hold?.hasWaitingPresses ?? false }
  /// Where presses can be held back now; `nil` while nobody watches over them.
  var watchedHold: PressHold? { hold.flatMap { $0.isWatching ? $0 : nil } }

  /// Presses are needed for this from now on, or no longer. What has been begun stays, for the next time.
  func set(_ purpose: Purpose, isWanted: Bool) {
    if isWanted { purposes.insert(purpose) } else { purposes.remove(purpose) }
    settle()
  }

  /// What has been pressed.
  func takePresses() -> [HeldPress] {
    let presses = hold?.takePresses() ?? []
    settle()
    return presses
  }

  /// Ends for good.
  func close() {
    purposes = []
    hold?.close(display)
    hold = nil
  }

  private func settle() {
    if let hold, hold.hasEnded { end(hold) }
    if hold == nil, !purposes.isEmpty { begin() }
  }

  private func begin() {
    let now = Posix.monotonicNow()
    starts.removeAll { $0.advanced(byMilliseconds: Self.startSeconds * 1_000) < now }
    guard let program, let arrivals, starts.count < Self.startCount, !display.isLost else { return }
    starts.append(now)
    do throws(SystemFailure) {
      hold = try PressHold(beside: display, program: program, arrivals: arrivals)
      if hold == nil { say("the X server takes no further connection; no press is held back", .warning) }
    } catch {
      say("no press is held back, since no process watches over it: \(error)", .warning)
    }
  }

  private func end(_ hold: PressHold) {
    if hold.wasFreed {
      freed += 1
      // Not the watchdog's fault.
      _ = starts.popLast()
      say("a press waited too long for us; the watchdog let keyboard and pointer go, and the press is lost", .error)
    } else if !display.isLost {
      say("the watchdog of held presses, or their connection, has ended; both are begun anew", .warning)
    }
    hold.close(display)
    self.hold = nil
  }
}
