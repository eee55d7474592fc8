import BridgeCore
import Glibc
import Selection
import Tray

/// What the tray asks of the daemon.
protocol TrayHost: AnyObject {
  /// All that is to be shown.
  func trayState(refusals: RefusalMemory) -> TrayState
  /// Whether a lockdown is on.
  var isLockedDown: Bool { get }
  /// Sets or lifts it; throws why it isn't done.
  func setLockdown(_ isOn: Bool) throws(ControlFailure)
}

/// The sign in the panel, by D-Bus alone (StatusNotifierItem and com.canonical.dbusmenu). What is told when is the
/// ``TrayModel``'s; nothing here waits for anybody.
final class TrayRunner {
  private static let watcherName = "org.kde.StatusNotifierWatcher"
  private static let watcherPath = "/StatusNotifierWatcher"
  private static let bus = "org.freedesktop.DBus"
  /// Messages that the bus may leave unread before we say nothing more to it (our choice: minutes of our pace).
  private static let unreadLimit: UInt64 = 64

  private unowned let host: any TrayHost
  private let iconFolder: String?
  private let busName = "org.kde.StatusNotifierItem-\(getpid())-1"
  private var model: TrayModel
  private var refusals = RefusalMemory()
  private var timer: EventTimer?
  private var connection: BusConnection?
  private var tables: [BusTable] = []
  private var drawn: [TraySign: [[UInt8]]] = [:]

  /// Prepares what is shown; ``join(_:)`` shows it. `iconFolder` holds icon themes with our icons, if there is one.
  init(
    host: any TrayHost, loop: EventLoop,
    iconFolder: String? = InstalledIcons.folder(beside: InstalledActions.folderOfProgram)
  ) throws(SystemFailure) {
    self.host = host
    self.iconFolder = iconFolder
    model = TrayModel(host.trayState(refusals: refusals), busName: busName)
    timer = try loop.makeTimer { [weak self] in self?.deadlineReached() }
  }

  /// Serves the item on a connection to the session bus, and shows it to the panel as soon as there is one.
  func join(_ connection: BusConnection) throws(SystemFailure) {
    self.connection = connection
    tables = [itemTable(), menuTable()]
    try connection.add(tables[0], path: TrayModel.itemPath)
    try connection.add(tables[1], path: TrayModel.menuPath)
    let change = "sender='\(Self.bus)',path='/org/freedesktop/DBus',interface='\(Self.bus)',member='NameOwnerChanged'"
    try connection.addMatch("type='signal',\(change),arg0='\(Self.watcherName)'") { [weak self] signal in
      self?.watcherChanged(signal)
    }
    let host = "path='\(Self.watcherPath)',interface='\(Self.watcherName)',member='StatusNotifierHostRegistered'"
    try connection.addMatch("type='signal',\(host)") { [weak self] signal in
      self?.carryOut { $0.hostRegistered(by: signal.sender) }
    }
    // The rule of the watcher comes first, so that a watcher that appears in between isn't missed.
    try connection.call("GetNameOwner", of: Self.bus, at: "/org/freedesktop/DBus", on: Self.bus, [Self.watcherName]) {
      [weak self] reply in
      guard !reply.isError, let owner = try? reply.readString() else { return }
      self?.carryOut { $0.watcherChanged(to: owner) }
    }
  }

  /// Takes note of a refusal.
  func noteRefusal(_ record: AuditRecord) {
    refusals.note(record, milliseconds: Posix.wallClockMilliseconds())
    noteChange()
  }

  /// Something that is shown may have changed.
  func noteChange() {
    model.noteChange()
    timer?.set(model.deadline)
  }

  private func watcherChanged(_ signal: BusMessage) {
    guard (try? signal.readString()) != nil, (try? signal.readString()) != nil, let owner = try? signal.readString()
    else { return }
    carryOut { $0.watcherChanged(to: owner.isEmpty ? nil : owner) }
  }

  private func deadlineReached() {
    guard let connection, connection.queuedAnswers <= Self.unreadLimit else {
      // The bus stands still: hosts will learn of it when something changes after it goes on.
      return
    }
    carryOut { $0.deadlineReached(at: .now) }
  }

  private func carryOut(_ step: (inout TrayModel) -> [TrayEffect]) {
    var effects = step(&model)
    while !effects.isEmpty {
      // A bus that takes nothing has ended, which is reported by itself.
      if let more = try? carryOut(effects.removeFirst()) { effects += more }
    }
    timer?.set(model.deadline)
  }

  private func carryOut(_ effect: TrayEffect) throws(SystemFailure) -> [TrayEffect] {
    guard let connection else { return [] }
    switch effect {
    case .look: return model.show(host.trayState(refusals: refusals), at: .now)
    case .requestName:
      try connection.requestName(busName) { [weak self] reply in
        // DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER is 1.
        let isOurs = !reply.isError && (try? reply.readUInt32()) == 1
        self?.carryOut { $0.nameAnswered(isOurs: isOurs) }
      }
    case .register(let item, let watcher):
      try connection.call(
        "RegisterStatusNotifierItem", of: Self.watcherName, at: Self.watcherPath, on: watcher, [item]
      ) { [weak self] reply in
        guard reply.isError else { return }
        self?.carryOut {
          $0.registrationFailed(at: watcher, at: .now)
          return []
        }
      }
    case .signal(let signal): try send(signal, on: connection)
    }
    return []
  }

  private func send(_ signal: TraySignal, on connection: BusConnection) throws(SystemFailure) {
    switch signal {
    case .newIcon: try sendItem("NewIcon", on: connection)
    case .newAttentionIcon: try sendItem("NewAttentionIcon", on: connection)
    case .newToolTip: try sendItem("NewToolTip", on: connection)
    case .newStatus(let status):
      try connection.emitSignal(
        path: TrayModel.itemPath, interface: Self.itemInterface, member: "NewStatus", status)
    case .layoutUpdated(let revision): try sendLayout(revision, on: connection)
    case .itemsUpdated(let updates, let removals): try sendItems(updates, removals, on: connection)
    }
  }

  private func sendItem(_ member: String, on connection: BusConnection) throws(SystemFailure) {
    try connection.emitSignal(path: TrayModel.itemPath, interface: Self.itemInterface, member: member) {
      _ throws(SystemFailure) in
    }
  }

  // MARK: what callers are told

  /// Brings what hosts know up to date, as far as that is due; whether the menu is another by that.
  func refresh() -> Bool {
    let before = model.menu
    carryOut { $0.beRead(at: .now) }
    return model.menu != before
  }

  /// What hosts know, brought up to date as far as that is due.
  func read() -> (face: TrayFace, menu: MenuItem, revision: UInt32) {
    carryOut { $0.beRead(at: .now) }
    return (model.face, model.menu, model.revision)
  }

  /// The icon's name in a theme; empty where no theme has it.
  func iconName(_ face: TrayFace) -> String { iconFolder == nil ? "" : face.sign.iconName }

  /// Where the theme is; empty where there is none.
  var themePath: String { iconFolder ?? "" }

  /// The sign in its sizes.
  func pixels(_ sign: TraySign) -> [[UInt8]] {
    if let pixels = drawn[sign] { return pixels }
    let pixels = TrayIcon.sides.map { TrayIcon.pixels(sign, side: $0) }
    drawn[sign] = pixels
    return pixels
  }

  /// An item of the menu was clicked; throws why what it stands for isn't done.
  func clicked(_ id: Int32) throws(ControlFailure) {
    guard id == TrayMenu.lockdown else { return }
    try host.setLockdown(!host.isLockedDown)
  }
}
