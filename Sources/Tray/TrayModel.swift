import Selection

/// What is to be done for the tray.
public enum TrayEffect: Hashable, Sendable {
  /// Ask the bus for the item's name; ``TrayModel/nameAnswered(isOurs:)`` hears the answer.
  case requestName
  /// Show the watcher with this bus name an item: a bus name, or a path of this connection.
  case register(item: String, watcher: String)
  /// Call ``TrayModel/show(_:at:)`` with the state as it is now.
  case look
  /// Tell hosts.
  case signal(TraySignal)
}

/// What hosts are told: that something changed, and they read it when they like. Menus say what changed, too.
public enum TraySignal: Hashable, Sendable {
  /// The sign is another.
  case newIcon
  /// So is the one that asks for attention, which is the same.
  case newAttentionIcon
  /// The tool tip is another.
  case newToolTip
  /// The status is this now.
  case newStatus(String)
  /// The menu has other items.
  case layoutUpdated(revision: UInt32)
  /// Items that stay have other properties.
  case itemsUpdated([MenuChange.Update], [MenuChange.Removal])
}

/// The item on the session bus, as far as it can be thought of without a bus: whether a watcher is there that shows it,
/// what hosts know, and when they are told more.
public struct TrayModel: Sendable {
  /// At least so long between two times that hosts are told something (our choice: faster than people look, and a flood
  /// of refusals costs the bus two messages a second).
  public static let paceMilliseconds = 500
  /// Where the item is.
  public static let itemPath = "/StatusNotifierItem"
  /// Where its menu is.
  public static let menuPath = "/StatusNotifierItem/Menu"

  /// Waits before the item is registered again after a watcher refused it or didn't answer. Our choice: panels own the
  /// watcher's name up to some seconds before they serve it. After the last the next host or watcher is waited for.
  public static let retryMilliseconds = [1_000, 2_000, 4_000, 8_000, 16_000]

  private enum Name { case unasked, asked, ours, taken }

  private let busName: String
  private var name = Name.unasked
  private var watcher: String?
  private var isRegistered = false
  private var isRead = false
  private var isDirty = false
  private var lastTold: MonotonicTime?
  private var failures = 0
  private var retryAt: MonotonicTime?

  /// What hosts know, or would if there were any.
  public private(set) var face: TrayFace
  /// The menu they know.
  public private(set) var menu: MenuItem
  /// The number of its layout, which only grows.
  public private(set) var revision: UInt32 = 1

  /// Begins without a watcher, knowing `state`; `busName` is what the item is to be called on the bus.
  public init(_ state: TrayState, busName: String) {
    self.busName = busName
    face = TrayFace(state)
    menu = TrayMenu.menu(of: state)
  }

  /// Whether a watcher has been told of the item.
  public var isShown: Bool { isRegistered }

  /// When ``deadlineReached(at:)`` has to be called; `nil` while nothing is to be told.
  public var deadline: MonotonicTime? {
    if let retryAt { return retryAt }
    guard isShown, isDirty else { return nil }
    return lastTold?.advanced(byMilliseconds: Self.paceMilliseconds) ?? MonotonicTime(nanoseconds: 0)
  }

  /// The watcher is this connection now; `nil` when there is none.
  public mutating func watcherChanged(to owner: String?) -> [TrayEffect] {
    guard owner != watcher else { return [] }
    watcher = owner
    isRegistered = false
    (failures, retryAt) = (0, nil)
    guard owner != nil else {
      // Nobody is told anything, so nothing is due.
      isDirty = false
      return []
    }
    switch name {
    case .unasked:
      name = .asked
      return [.requestName]
    case .asked: return []
    case .ours, .taken: return register()
    }
  }

  /// The bus has given the item's name, or it is somebody else's; then the item goes by its connection.
  public mutating func nameAnswered(isOurs: Bool) -> [TrayEffect] {
    name = isOurs ? .ours : .taken
    return register()
  }

  /// The watcher doesn't take the item; it is asked again later.
  public mutating func registrationFailed(at refusing: String, at now: MonotonicTime) {
    guard refusing == watcher else { return }
    isRegistered = false
    isDirty = false
    guard failures < Self.retryMilliseconds.count else { return }
    retryAt = now.advanced(byMilliseconds: Self.retryMilliseconds[failures])
    failures += 1
  }

  /// A host has come to the watcher. An item that isn't registered, or that nobody has looked at yet, is registered
  /// again: not every watcher keeps what came before its first host.
  /// Others can send that signal, too; `sender` is who did.
  public mutating func hostRegistered(by sender: String?) -> [TrayEffect] {
    guard sender != nil, sender == watcher, name == .ours || name == .taken, !(isRegistered && isRead) else {
      return []
    }
    failures = 0
    return register()
  }

  private mutating func register() -> [TrayEffect] {
    guard let watcher else { return [] }
    retryAt = nil
    // Hosts read everything first: until then there is nothing to tell them.
    (isRegistered, isRead, isDirty) = (true, false, false)
    return [.register(item: name == .ours ? busName : Self.itemPath, watcher: watcher)]
  }

  /// Something may have changed. Nothing but a mark is made of it.
  public mutating func noteChange() { if isShown, isRead { isDirty = true } }

  /// The deadline has come.
  public mutating func deadlineReached(at now: MonotonicTime) -> [TrayEffect] {
    guard isDue(at: now) else { return [] }
    return retryAt == nil ? [.look] : register()
  }

  private func isDue(at now: MonotonicTime) -> Bool { deadline.map { $0 <= now } ?? false }

  /// Somebody reads. What they get is what hosts know, which is current but for what the pace keeps back; so a reader
  /// can't make the bus busier than that.
  public mutating func beRead(at now: MonotonicTime) -> [TrayEffect] {
    isShown && isRead && (retryAt != nil || !isDue(at: now)) ? [] : [.look]
  }

  /// Makes `state` the one that is known, and says what hosts have to be told of it.
  public mutating func show(_ state: TrayState, at now: MonotonicTime) -> [TrayEffect] {
    isDirty = false
    let isKnown = isShown && isRead
    isRead = isShown
    let before = face
    let change = MenuChange(from: menu, to: TrayMenu.menu(of: state))
    face = TrayFace(state)
    menu = TrayMenu.menu(of: state)
    if change.isLayoutNew { revision &+= 1 }
    guard isKnown else { return [] }
    var signals: [TraySignal] = []
    if face.sign != before.sign { signals += [.newIcon, .newAttentionIcon] }
    if face.status != before.status { signals.append(.newStatus(face.status)) }
    if (face.headline, face.description) != (before.headline, before.description) { signals.append(.newToolTip) }
    if change.isLayoutNew { signals.append(.layoutUpdated(revision: revision)) }
    if !change.updates.isEmpty || !change.removals.isEmpty {
      signals.append(.itemsUpdated(change.updates, change.removals))
    }
    if !signals.isEmpty { lastTold = now }
    return signals.map { .signal($0) }
  }
}
