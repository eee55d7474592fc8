import Policy
import Selection

/// What `status` shows of the core: states and counts, no content.
public struct BridgeStatus: Hashable, Sendable {
  /// How one selection stands.
  public enum SelectionState: String, Hashable, Sendable {
    /// Nobody owns it.
    case unowned
    /// Left with its owner: it didn't answer, is too large, or a rival insists.
    case foreign
    /// Its owner is being asked for its content.
    case capturing
    /// We hold a clip.
    case held
    /// We hold it empty: it was cleared, or the copy was denied.
    case empty
    /// It was cleared a moment ago; we take it after 100 ms of quiet.
    case settling
    /// PRIMARY or SECONDARY while it is being made, or right after.
    case selecting
    /// PRIMARY or SECONDARY, read and left with its owner; served when the owner has ended.
    case left
  }

  /// What tells that a paste from PRIMARY is about to happen, where a rule could refuse one.
  public enum Trigger: String, Hashable, Sendable {
    /// Every press of the middle button is decided before anybody gets it.
    case middleButton = "middle-button"
    /// Another client has the middle button, so the selection is taken when the pointer comes to an app that may not have
    /// it.
    case pointerEntry = "pointer-entry"
  }

  /// The selection's name.
  public var selection: String
  /// Its state.
  public var state: SelectionState
  /// Who the clip came from, or who owns it.
  public var source: Subject?
  /// Names of the targets held.
  public var targets: [String]
  /// Bytes held.
  public var bytes: Int
  /// Whether the clip is marked secret.
  public var isSensitive: Bool
  /// The rule or default that let it be kept.
  public var reason: Reason?
  /// Outgoing transfers under way.
  public var transfers: Int
  /// Conversions under way that we asked an owner for.
  public var conversions: Int
  /// A rival that keeps taking the selection back: it has it, or is answered each time.
  public var rival: Subject?
  /// How pastes are met while the selection stays with its owner; `nil` when no rule could refuse one.
  public var trigger: Trigger?

  /// Describes a selection's state.
  public init(
    selection: String, state: SelectionState, source: Subject? = nil, targets: [String] = [], bytes: Int = 0,
    isSensitive: Bool = false, reason: Reason? = nil, transfers: Int = 0, conversions: Int = 0, rival: Subject? = nil
  ) {
    self.selection = selection
    self.state = state
    self.source = source
    self.targets = targets
    self.bytes = bytes
    self.isSensitive = isSensitive
    self.reason = reason
    self.transfers = transfers
    self.conversions = conversions
    self.rival = rival
  }
}

extension Bridge {
  /// How the selections stand.
  public var status: [BridgeStatus] {
    // CLIPBOARD first: it is what most who look ask for.
    let shown = phases.keys.filter { !isBoard($0) }.sorted {
      ($0 == atoms.clipboard ? 0 : 1, $0.atom.id) < ($1 == atoms.clipboard ? 0 : 1, $1.atom.id)
    }
    return shown.map { selection in
      var status = BridgeStatus(selection: policyName(of: selection), state: .unowned)
      status.transfers = transfers.values.reduce(0) { $0 + ($1.selection == selection ? 1 : 0) }
      status.conversions = conversions.values.reduce(0) { $0 + ($1.selection == selection ? 1 : 0) }
      if selection == atoms.primary, pointer.isGuarded {
        status.trigger = pointer.hasButton ? .middleButton : .pointerEntry
      }
      status.rival = contender(on: selection)
      switch phases[selection]! {
      case .unowned: break
      case .settling: status.state = .settling
      case .lingering(let lingering):
        status.state = .selecting
        status.source = lingering.source
      case .guarded(let guarded):
        status.state = .left
        status.source = guarded.source
        status.targets = guarded.clip?.entries.map(\.representation.target.name) ?? []
        status.bytes = guarded.clip?.byteCount ?? 0
        status.isSensitive = guarded.clip?.isSensitive ?? false
        status.reason = guarded.clip?.entries.first?.decision.reason
      case .foreign(_, let source, let isRival):
        status.state = .foreign
        status.source = source
        if isRival { status.rival = source }
      case .deferred(_, let source, _):
        status.state = .capturing
        status.source = source
      case .capturing(let capture):
        status.state = capture.isOverdue ? .foreign : .capturing
        status.source = capture.source
      case .claiming, .overtaken: status.state = .capturing
      case .held(let holding):
        guard let clip = holding.clip else {
          status.state = .empty
          break
        }
        status.state = clip.entries.isEmpty ? .empty : .held
        status.source = clip.source
        status.targets = clip.entries.map(\.representation.target.name)
        status.bytes = clip.byteCount
        status.isSensitive = clip.isSensitive
        status.reason = clip.entries.first?.decision.reason
      }
      return status
    }
  }
}
