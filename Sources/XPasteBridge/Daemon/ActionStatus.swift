import Actions
import Policy
import Selection
import X11

extension EffectRunner {
  /// Who is behind `window`, and the window itself; `nil` when there is none. Without one the active window is meant.
  func identify(_ window: Window?) -> (window: Window, subject: Subject)? {
    guard !isLost else { return nil }
    let asked = window ?? display.answer(IdentityQuestion(display.root)).activeWindow
    guard asked != .none, display.answer(IdentityQuestion(asked)).windowExists else { return nil }
    return (asked, resolver.resolve(asked))
  }

  /// Whether the app of `window` may do `action`, as far as that doesn't depend on the content or the other app; `nil`
  /// when there is no such window. Without one the active window is meant.
  func canPerform(_ action: Action, in window: Window?) -> Bool? {
    identify(window).map { !bridge.policy.alwaysDenies(action, by: $0.subject) }
  }
}

/// How the keys stand.
struct ActionStatus: Hashable {
  /// Top-level windows on which the allowed actions are written.
  var windows = 0
  /// Windows with keys held back.
  var guardedWindows = 0
  /// Keys that somebody else has.
  var occupied: [OccupiedKeys] = []
  /// Whether keys are followed to tell cuts from copies.
  var followsCuts = false
  /// Whether keys are followed to know the person behind a paste.
  var followsPastes = false
  /// Whether the connection for it is gone.
  var isLost = false
  /// Whether the server can tell keys apart.
  var canHoldBack = true
  /// The priority lock.
  var lock = LockStatus()
}

/// How the priority lock stands.
struct LockStatus: Hashable {
  /// Whether it is wanted and to be had.
  enum Standing: String, Hashable {
    /// No rule protects anybody on CLIPBOARD.
    case unneeded
    /// Copy keys of protected apps are stopped.
    case ready
    /// The server has no priorities, or can't tell keys apart; or nobody watches over keys that stand still.
    case impossible
  }

  /// Whether it is wanted and to be had.
  var standing = Standing.unneeded
  /// Windows with copy keys stopped.
  var windows = 0
  /// Copies taken under it.
  var taken = 0
  /// Locks that ended without one: the key copied nothing, or too late.
  var lapsed = 0
  /// Keys that were swallowed, since others couldn't be kept waiting in time.
  var swallowed = 0
  /// Pastes that nobody but their reader could read.
  var pastes = 0
  /// Pastes that others could have read: they couldn't be kept waiting in time, or the reader was slow.
  var openPastes = 0
}
