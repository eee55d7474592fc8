@preconcurrency import Glibc
import Policy
import Selection

/// What the control methods ask of the daemon.
protocol ControlledDaemon: AnyObject {
  /// `status`, as `schemas/status.schema.json` has it.
  func statusReport() -> JSON
  /// The X clients, described.
  func clientsReport() -> JSON
  /// The policy in force.
  func policyReport() -> JSON
  /// Who is behind `window`, or the active one; `nil` when there is no such window.
  func identityReport(of window: Window?) -> JSON?
  /// Whether the app of `window`, or of the active one, may do `action`; `nil` when there is no such window.
  func canPerform(_ action: Action, in window: Window?) -> Bool?
  /// All actions, and whether each can be run now.
  func actionListReport() -> JSON
  /// What the edit menu of the active app has beside its own items.
  func menuReport() -> JSON
  /// Puts an item of a board on CLIPBOARD for the active app, and for all that may read the board.
  func offerItem(_ item: UInt64, of board: String) -> JSON
  /// Runs the action of this name; `onEnd` hears once how it ended.
  func runAction(_ name: String, onEnd: @escaping (JSON) -> Void)
  /// How the policy stands, in a word.
  var policyState: String { get }
  /// A round trip to the X server with all that follows from it.
  func synchronize()
  /// Whether nothing is under way.
  var isSettled: Bool { get }
  /// Pastes that wait for the person's word.
  func asksReport() -> JSON
  /// Allows one of them once, the latest where no number is given; throws why it isn't done.
  func allowOnce(_ number: UInt64?) throws(ControlFailure) -> JSON
  /// Refuses everything but same-app copy and paste, or no longer; throws why it isn't done.
  func setLockdown(_ isOn: Bool) throws(ControlFailure)
}

/// The interface `org.xpastebridge.Bridge1`, served on the private socket and on the session bus.
final class ControlService {
  /// How long `Sync` waits for things to settle (product.md 11).
  private static let syncMilliseconds = 2_000

  private unowned let daemon: any ControlledDaemon
  private let pending: SettleQueue

  /// The interface's table; one for all connections.
  private(set) var table: BusTable!

  init(daemon: any ControlledDaemon, loop: EventLoop) throws(SystemFailure) {
    self.daemon = daemon
    pending = try SettleQueue(loop: loop) { [unowned daemon] in daemon.isSettled }
    table = makeTable()
  }

  private func makeTable() -> BusTable {
    BusTable(
      interface: ControlAddress.interface,
      methods: [
        report("Status", "status") { [unowned self] in daemon.statusReport() },
        report("Clients", "clients") { [unowned self] in daemon.clientsReport() },
        report("PolicyShow", "policy") { [unowned self] in daemon.policyReport() },
        report("ActionList", "actions") { [unowned self] in daemon.actionListReport() },
        report("MenuItems", "items") { [unowned self] in daemon.menuReport() },
        BusTable.Method(name: "MenuOffer", takes: ("st", ["board", "item"]), gives: ("s", ["outcome"])) {
          [unowned self] call throws(SystemFailure) in
          let board = try call.readString()
          let outcome = daemon.offerItem(try call.readUInt64(), of: board)
          let answer = try call.makeReturn()
          try answer.append(outcome.description)
          try answer.send()
        },
        BusTable.Method(name: "ActionRun", takes: ("s", ["name"]), gives: ("s", ["outcome"])) {
          [unowned self] call throws(SystemFailure) in try run(call)
        },
        BusTable.Method(
          name: "CanPerformAction", takes: ("su", ["action", "window"]), gives: ("b", ["allowed"])
        ) { [unowned self] call throws(SystemFailure) in try answerCan(call) },
        BusTable.Method(name: "Identify", takes: ("u", ["window"]), gives: ("s", ["identity"])) {
          [unowned self] call throws(SystemFailure) in try answerIdentify(call)
        },
        BusTable.Method(name: "SetLockdown", takes: ("b", ["on"]), gives: ("", [])) {
          [unowned self] call throws(SystemFailure) in try answerLockdown(call)
        },
        report("Asks", "asks") { [unowned self] in daemon.asksReport() },
        BusTable.Method(name: "AllowOnce", takes: ("t", ["number"]), gives: ("s", ["ask"])) {
          [unowned self] call throws(SystemFailure) in try answerAllowOnce(call)
        },
        BusTable.Method(name: "Sync", gives: ("b", ["settled"])) { [unowned self] call throws(SystemFailure) in
          begin(call)
        },
      ],
      properties: [
        BusTable.Property(name: "Version", isConstant: true) { HelpText.version },
        BusTable.Property(name: "PolicyState", isConstant: false) { [unowned self] in daemon.policyState },
      ],
      signals: [BusTable.Signal(name: "PolicyChanged", parameters: ["state"])])
  }

  /// A method that gives one JSON text.
  private func report(_ name: String, _ result: String, _ make: @escaping () -> JSON) -> BusTable.Method {
    BusTable.Method(name: name, gives: ("s", [result])) { call throws(SystemFailure) in
      let answer = try call.makeReturn()
      try answer.append(make().description)
      try answer.send()
    }
  }

  private func answerCan(_ call: BusMessage) throws(SystemFailure) {
    // A drag begins by no command, so there is nothing to ask before.
    guard let action = Action(rawValue: try call.readString()), Action.byCommand.contains(action) else {
      throw SystemFailure(call: "CanPerformAction", code: EINVAL)
    }
    // 0 is no window's number: it stands for the active one.
    let number = try call.readUInt32()
    guard let isAllowed = daemon.canPerform(action, in: number == 0 ? nil : Window(number)) else {
      throw SystemFailure(call: "CanPerformAction", code: ENXIO)
    }
    let answer = try call.makeReturn()
    try answer.append(isAllowed)
    try answer.send()
  }

  private func answerIdentify(_ call: BusMessage) throws(SystemFailure) {
    // 0 is no window's number: it stands for the active one.
    let number = try call.readUInt32()
    guard let report = daemon.identityReport(of: number == 0 ? nil : Window(number)) else {
      throw SystemFailure(call: "Identify", code: ENXIO)
    }
    let answer = try call.makeReturn()
    try answer.append(report.description)
    try answer.send()
  }

  private func run(_ call: BusMessage) throws(SystemFailure) {
    daemon.runAction(try call.readString()) { outcome in
      do throws(SystemFailure) {
        let answer = try call.makeReturn()
        try answer.append(outcome.description)
        try answer.send()
      } catch {
        // The peer has gone while it waited; what was made is on the clipboard all the same.
        return
      }
    }
  }

  private func answerLockdown(_ call: BusMessage) throws(SystemFailure) {
    let isOn = try call.readBool()
    do throws(ControlFailure) { try daemon.setLockdown(isOn) } catch {
      return try call.refuse("org.xpastebridge.Error.LockdownRefused", error.line)
    }
    try call.makeReturn().send()
  }

  private func answerAllowOnce(_ call: BusMessage) throws(SystemFailure) {
    // 0 is no question's number: it stands for the latest.
    let number = try call.readUInt64()
    let allowed: JSON
    do throws(ControlFailure) { allowed = try daemon.allowOnce(number == 0 ? nil : number) } catch {
      return try call.refuse("org.xpastebridge.Error.NoQuestion", error.line)
    }
    let answer = try call.makeReturn()
    try answer.append(allowed.description)
    try answer.send()
  }

  private func begin(_ call: BusMessage) {
    daemon.synchronize()
    pending.add(milliseconds: Self.syncMilliseconds) { isSettled in
      do throws(SystemFailure) {
        let answer = try call.makeReturn()
        try answer.append(isSettled)
        try answer.send()
      } catch {
        // The peer has gone while it waited.
        return
      }
    }
  }

  /// To be called before every wait.
  func noteProgress() { pending.noteProgress() }

  /// Tells subscribers on `connection` how the policy stands now.
  func announcePolicy(on connection: BusConnection) throws(SystemFailure) {
    try connection.emitSignal(
      path: ControlAddress.object, interface: ControlAddress.interface, member: "PolicyChanged", daemon.policyState)
    try connection.emitPropertiesChanged(
      path: ControlAddress.object, interface: ControlAddress.interface, property: "PolicyState")
  }
}
