import Policy
import Selection

/// The atoms that the core knows by heart, numbered by the server the daemon is connected to.
public struct KnownAtoms: Hashable, Sendable {
  /// CLIPBOARD
  public var clipboard: NamedAtom
  /// CLIPBOARD_MANAGER
  public var clipboardManager: NamedAtom
  /// TARGETS
  public var targets: NamedAtom
  /// TIMESTAMP
  public var timestamp: NamedAtom
  /// MULTIPLE
  public var multiple: NamedAtom
  /// SAVE_TARGETS
  public var saveTargets: NamedAtom
  /// ATOM_PAIR
  public var atomPair: NamedAtom
  /// INCR
  public var incremental: NamedAtom

  /// Numbers every name by asking `intern`.
  public init(intern: (String) -> NamedAtom) {
    clipboard = intern("CLIPBOARD")
    clipboardManager = intern("CLIPBOARD_MANAGER")
    targets = intern("TARGETS")
    timestamp = intern("TIMESTAMP")
    multiple = intern("MULTIPLE")
    saveTargets = intern("SAVE_TARGETS")
    atomPair = intern("ATOM_PAIR")
    incremental = intern("INCR")
  }
}

/// The pure core: every event and the subject behind it go in, effects come out (architecture.md).
public struct Bridge: Sendable {
  private let atoms: KnownAtoms

  /// A core with nothing on its selections.
  public init(atoms: KnownAtoms, policy: PolicySet) {
    self.atoms = atoms
  }

  /// The policy in force. Replacing it forgets all verdicts given under the old one and returns what follows from that.
  public mutating func replacePolicy(_ policy: PolicySet, at now: MonotonicTime) -> [Effect] { [] }

  /// Takes one event through request, decision, transfer and audit.
  ///
  /// - Parameters:
  ///   - event: what happened.
  ///   - subject: who is behind it: the owner for `.ownerChanged`, the requestor for `.conversionRequested`, else `nil`.
  ///   - now: the monotonic time.
  /// - Returns: what has to be done, in order.
  public mutating func handle(
    _ event: SelectionEvent, from subject: Subject?, at now: MonotonicTime
  ) -> [Effect] { [] }

  /// When `.deadlineReached` has to be handed in, if nothing happens before; `nil` when nothing waits.
  public var nextDeadline: MonotonicTime? { nil }

  /// Whether no capture, claim or settling is under way: what `sync` waits for.
  public var isSettled: Bool { true }

  /// How the selections stand.
  public var status: [BridgeStatus] { [] }
}
