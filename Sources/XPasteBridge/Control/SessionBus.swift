@preconcurrency import Glibc

/// The same interface on the session bus, where desktops look for it; everything works without it.
final class SessionBus {
  /// How it stands.
  enum State: String {
    /// `--no-bus`.
    case off
    /// There is no session bus.
    case absent
    /// The bus hasn't answered yet.
    case connecting
    /// We own the name.
    case owned
    /// A daemon of another display owns the name; we get it after that one.
    case queued
    /// The bus has ended the connection.
    case lost
  }

  private var connection: BusConnection?
  private let say: (String) -> Void
  /// Called when the bus has ended the connection.
  var onLost: () -> Void = {}
  /// How it stands.
  private(set) var state: State = .off

  /// Stays off the bus, until `open`.
  init(say: @escaping (String) -> Void) { self.say = say }

  /// Connects without waiting; every trouble is one line and nothing else. `more` adds what else is done on the bus.
  func open(
    table: BusTable, loop: EventLoop, _ more: (BusConnection) throws(SystemFailure) -> Void = { _ in }
  ) {
    do throws(SystemFailure) {
      let connection = try BusConnection.openUser()
      state = .connecting
      try connection.add(table, path: ControlAddress.object)
      try connection.addMatch(
        "type='signal',sender='org.freedesktop.DBus.Local',interface='org.freedesktop.DBus.Local',member='Disconnected'"
      ) { [weak self] _ in self?.disconnected() }
      let acquired = "sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameAcquired'"
      try connection.addMatch("type='signal',\(acquired),arg0='\(ControlAddress.busName)'") { [weak self] _ in
        self?.state = .owned
      }
      try connection.requestName(ControlAddress.busName) { [weak self] reply in self?.named(reply) }
      try connection.attach(to: loop)
      try more(connection)
      self.connection = connection
    } catch {
      state = .absent
      connection = nil
      say("no session bus (\(error.reason)): desktops can't reach this daemon by D-Bus, all else works")
    }
  }

  /// Sends on the bus, if there is one.
  func send(_ send: (BusConnection) throws(SystemFailure) -> Void) {
    guard let connection, state == .owned || state == .queued else { return }
    // A bus that can't be told has ended, which is reported by itself.
    try? send(connection)
  }

  private func named(_ reply: BusMessage) {
    // DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER is 1, _IN_QUEUE 2.
    switch reply.isError ? nil : try? reply.readUInt32() {
    case 1: state = .owned
    case 2:
      if state != .owned { state = .queued }
      say(
        "the name \(ControlAddress.busName) on the session bus belongs to a daemon of another display; going on without it"
      )
    default:
      state = .lost
      say("the session bus doesn't give the name \(ControlAddress.busName); going on without it")
    }
  }

  private func disconnected() {
    if state != .absent { say("the session bus is gone; going on without it") }
    state = .lost
    onLost()
  }
}
