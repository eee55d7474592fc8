@preconcurrency import Glibc
import Selection

/// The command line's side of the private socket: one connection, every wait bounded.
struct ControlClient {
  /// Which display's daemon.
  let display: String
  /// How long everything together may take.
  let timeoutMilliseconds: Int

  /// Calls a method that gives one string.
  func string(_ member: String) throws(ControlFailure) -> String {
    try call(member) { (reply) throws(SystemFailure) in try reply.readString() }
  }

  /// Calls a method that takes one string and gives another.
  func string(_ member: String, of argument: String) throws(ControlFailure) -> String {
    let arguments = { (message: BusMessage) throws(SystemFailure) in try message.append(argument) }
    return try call(member, arguments: arguments) { (reply) throws(SystemFailure) in try reply.readString() }
  }

  /// Calls a method that gives one truth value.
  func truth(_ member: String) throws(ControlFailure) -> Bool {
    try call(member) { (reply) throws(SystemFailure) in try reply.readBool() }
  }

  /// Whether the app of a window may do something; 0 is the active window.
  func canPerform(_ action: String, window: UInt32) throws(ControlFailure) -> Bool {
    let arguments = { (message: BusMessage) throws(SystemFailure) in
      try message.append(action)
      try message.append(window)
    }
    return try call("CanPerformAction", arguments: arguments) { (reply) throws(SystemFailure) in try reply.readBool() }
  }

  /// Puts an item of a board on CLIPBOARD for the active app; what came of it, as JSON.
  func offer(_ item: UInt64, of board: String) throws(ControlFailure) -> String {
    let arguments = { (message: BusMessage) throws(SystemFailure) in
      try message.append(board)
      try message.append(item)
    }
    return try call("MenuOffer", arguments: arguments) { (reply) throws(SystemFailure) in try reply.readString() }
  }

  /// Who is behind a window, as JSON.
  func identify(_ window: UInt32) throws(ControlFailure) -> String {
    let arguments = { (message: BusMessage) throws(SystemFailure) in try message.append(window) }
    return try call("Identify", arguments: arguments) { (reply) throws(SystemFailure) in try reply.readString() }
  }

  /// Allows a paste once; 0 stands for the one asked for last.
  func allowOnce(_ number: UInt64) throws(ControlFailure) -> String {
    let arguments = { (message: BusMessage) throws(SystemFailure) in try message.append(number) }
    return try call("AllowOnce", arguments: arguments) { (reply) throws(SystemFailure) in try reply.readString() }
  }

  /// Begins or lifts a lockdown.
  func setLockdown(_ isOn: Bool) throws(ControlFailure) {
    try call("SetLockdown", arguments: { (message) throws(SystemFailure) in try message.append(isOn) }, { _ in })
  }

  private func call<Value>(
    _ member: String, arguments: (BusMessage) throws(SystemFailure) -> Void = { _ in },
    _ read: (BusMessage) throws(SystemFailure) -> Value
  ) throws(ControlFailure) -> Value {
    try call(member, of: ControlAddress.interface, over: nil, arguments: arguments, read)
  }

  /// A connection to the boards, which may be used for more than one call.
  func openBoards() throws(ControlFailure) -> BusConnection {
    let address = try ControlAddress(display: display)
    let deadline = Posix.monotonicNow().advanced(byMilliseconds: timeoutMilliseconds)
    do throws(SystemFailure) { return try connect(address.boardsSocket, until: deadline) } catch {
      throw failure(error)
    }
  }

  /// Calls a method of the boards.
  func callBoards<Value>(
    _ member: String, over connection: BusConnection,
    arguments: (BusMessage) throws(SystemFailure) -> Void = { _ in },
    _ read: (BusMessage) throws(SystemFailure) -> Value
  ) throws(ControlFailure) -> Value {
    try call(member, of: ControlAddress.boardsInterface, over: connection, arguments: arguments, read)
  }

  private func call<Value>(
    _ member: String, of interface: String, over given: BusConnection?,
    arguments: (BusMessage) throws(SystemFailure) -> Void, _ read: (BusMessage) throws(SystemFailure) -> Value
  ) throws(ControlFailure) -> Value {
    let address = try ControlAddress(display: display)
    let deadline = Posix.monotonicNow().advanced(byMilliseconds: timeoutMilliseconds)
    let answer: Result<BusMessage, BusFailure>
    do throws(SystemFailure) {
      let connection = if let given { given } else { try connect(address.socket, until: deadline) }
      let message = try connection.makeCall(path: ControlAddress.object, interface: interface, member: member)
      try arguments(message)
      answer = try connection.call(message, milliseconds: Posix.milliseconds(until: deadline))
    } catch {
      throw failure(error)
    }
    switch answer {
    case .failure(let error):
      // What libsystemd makes of the number says nothing of windows.
      let reason = error.name == "System.Error.ENXIO" ? "there is no such window" : Label.plain(error.message)
      throw ControlFailure(
        line: "the daemon of display \(shownDisplay) refused: \(reason)", errorName: error.name)
    case .success(let reply):
      do throws(SystemFailure) { return try read(reply) } catch {
        throw ControlFailure(line: "the daemon of display \(shownDisplay) answered something else: \(error.reason)")
      }
    }
  }

  private var shownDisplay: String { "`\(Label.plain(display))`" }

  private func failure(_ error: SystemFailure) -> ControlFailure {
    switch error.code {
    case ENOENT, ECONNREFUSED:
      ControlFailure(
        line:
          "no daemon guards display \(shownDisplay); start one with `xpastebridge run --display \(Label.plain(display))`"
      )
    case ETIMEDOUT, EAGAIN:
      ControlFailure(line: "the daemon of display \(shownDisplay) does not answer within \(timeoutMilliseconds) ms")
    case ECONNRESET, EPIPE, ENOTCONN:
      ControlFailure(line: "the daemon of display \(shownDisplay) ended the connection; is it running as this user?")
    default: ControlFailure(line: "can't reach the daemon of display \(shownDisplay): \(error)")
    }
  }

  private func connect(_ path: String, until deadline: MonotonicTime) throws(SystemFailure) -> BusConnection {
    let socket = try Posix.socket()
    while true {
      do throws(SystemFailure) {
        try Posix.connect(socket, path)
        break
      } catch {
        // The daemon's backlog is full, as after a burst of calls.
        guard error.code == EAGAIN, Posix.milliseconds(until: deadline) > 0 else { throw error }
        Posix.sleep(milliseconds: 5)
      }
    }
    let connection = try BusConnection()
    try connection.setSocket(socket)
    try connection.start()
    try connection.waitUntilReady(deadline: deadline)
    return connection
  }
}
