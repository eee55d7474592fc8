/// What the daemon promises, each promise with what it rests on; `doctor` says which of them hold.
nonisolated enum Guarantee: String, CaseIterable, Hashable {
  /// The X server can be reached and has what is needed.
  case display
  /// A daemon guards the display and answers.
  case daemon
  /// The unit is started with the session.
  case unit
  /// The run-time folder, through which the command line reaches the daemon.
  case runtime
  /// What the policy files say is in force.
  case policy
  /// The daemon is told of a copy before any other program.
  case first
  /// The X server takes the daemon's requests before others'.
  case priority
  /// Nobody else takes the selections over.
  case rivals
  /// Denied copies, cuts and pastes are held back at their keys.
  case keys
  /// Nobody else can read a protected app's copy by key.
  case protection
  /// Pastes by the middle button are decided at the press.
  case presses
  /// Each program is told by what the kernel attests.
  case identity
  /// Content isn't written to swap.
  case memory
  /// Decisions are written down.
  case audit
  /// Content and waiting pastes outlive a crash of the daemon.
  case crash
  /// Persistent boards are kept, sealed with a key that doesn't lie beside them.
  case boards
  /// Desktops reach the daemon by D-Bus.
  case bus
  /// The person can be told of refusals.
  case notices
}

/// How far a guarantee holds.
nonisolated enum Holding: String, Hashable {
  /// It holds.
  case holds = "ok"
  /// It holds in part, or in most cases.
  case limited
  /// It doesn't hold.
  case broken
}

/// What was found about one guarantee.
struct Finding: Hashable {
  /// Which one.
  var guarantee: Guarantee
  /// How far it holds.
  var holding: Holding
  /// What was found, in words: lower case, no full stop.
  var found: String
  /// What to do about it; `nil` where it holds.
  var remedy: String?

  /// It holds, as far as `found` goes.
  static func holds(_ guarantee: Guarantee, _ found: String) -> Finding {
    Finding(guarantee: guarantee, holding: .holds, found: found)
  }

  /// It holds in part.
  static func limited(_ guarantee: Guarantee, _ found: String, _ remedy: String) -> Finding {
    Finding(guarantee: guarantee, holding: .limited, found: found, remedy: remedy)
  }

  /// It doesn't hold.
  static func broken(_ guarantee: Guarantee, _ found: String, _ remedy: String) -> Finding {
    Finding(guarantee: guarantee, holding: .broken, found: found, remedy: remedy)
  }
}
