import Boards
import BridgeCore
@preconcurrency import Glibc
import Policy
import Selection
import Tray

/// How `run` ends; the manual page lists them.
enum ExitStatus {
  static let done: Int32 = 0
  static let failed: Int32 = 1
  static let usage: Int32 = 2
  /// The X server has ended the connection (EX_UNAVAILABLE of sysexits.h).
  static let displayLost: Int32 = 69
}

/// One display guarded: the loop, the X side, the policy, control and the audit trail, joined.
final class Daemon {
  /// Bytes after which free memory is given back (our choice: below that, keeping it costs nothing worth the call).
  private static let trimBytes = 64 << 20
  /// Quiet after which code that was needed is let go (our choice: nobody waits then, and it comes back in 0.1 ms).
  private static let quietMilliseconds = 500
  /// Whether X has had something for us since the wait for quiet began.
  private var hasWorked = false
  private var isQuietAwaited = false

  private let display: String
  private let loop: EventLoop
  let session: any DisplaySession
  private let policy: PolicyInForce
  private let audit: AuditSink
  private let continuity: Continuity?
  let actions: InstalledActions
  let notifier: Notifier
  private let boardKeeper: (any BoardKeeper)?
  private var storing: DeferredCall?
  private var service: ControlService!
  private var server: ControlServer?
  private var boards: BoardService!
  private let bus: SessionBus
  private var tray: TrayRunner?
  private let watcher: PolicyWatcher
  private var timer: EventTimer?
  private var auditTimer: EventTimer?
  private var quietTimer: EventTimer?
  private var sources: [EventSource] = []
  private var actionSource: EventSource?
  private var busySource: EventSource?
  private let started = Posix.monotonicNow()

  /// Joins what has been opened; nothing is served before the loop runs.
  ///
  /// `watcher` was made before `policy` was loaded, so no change falls between the two.
  init(
    display: String, loop: EventLoop, session: any DisplaySession, policy: PolicyInForce, watcher: PolicyWatcher,
    audit: AuditSink, continuity: Continuity? = nil, boardKeeper: (any BoardKeeper)? = nil,
    actions: InstalledActions = InstalledActions(given: []), notifier: Notifier = Notifier { _ in }
  ) throws(SystemFailure) {
    self.display = display
    self.loop = loop
    self.session = session
    self.policy = policy
    self.watcher = watcher
    self.audit = audit
    self.continuity = continuity
    self.actions = actions
    self.boardKeeper = boardKeeper
    self.notifier = notifier
    bus = SessionBus { [audit] in audit.say($0, .notice, .warning) }
    service = try ControlService(daemon: self, loop: loop)
    boards = try BoardService(host: self, loop: loop)
    timer = try loop.makeTimer { session.deadlineReached() }
    auditTimer = try loop.makeTimer { audit.flush() }
    quietTimer = try loop.makeTimer { [unowned self] in quietEnded() }
    storing = try loop.makeDeferredCall {}
    sources.append(
      try loop.addInput(session.connectionDescriptor, beforeWait: { [unowned self] in beforeWait() }) {
        [unowned self] in
        hasWorked = true
      })
    // It is drained with the other before each wait, and only has to wake the loop up.
    if let descriptor = session.actionDescriptor { actionSource = try loop.addInput(descriptor) {} }
    if let descriptor = session.pressDescriptor {
      sources.append(try loop.addInput(descriptor) { [unowned self] in hasWorked = true })
    }
    watcher.onSettled = { [unowned self] in
      reloadPolicy()
      // Ends the reload that the service manager was told of, if there is one.
      ServiceNotice.ready(summary)
    }
  }

  /// Serves the command line; where that isn't possible, the daemon guards without it and says so.
  func serveControl() {
    do throws(ControlFailure) {
      let address = try ControlAddress(display: display)
      server = try ControlServer(address: address, table: service.table, loop: loop)
      try boards.serve(at: address, loop: loop)
    } catch {
      audit.say("no control: \(error.line); guarding without it", .notice, .warning)
    }
  }

  /// Serves desktops, with a sign in their panel if they are to have one.
  func joinSessionBus(showingTray: Bool = false) {
    do throws(SystemFailure) {
      tray = showingTray ? try TrayRunner(host: self, loop: loop) : nil
    } catch {
      audit.say("no sign in the panel: \(error)", .notice, .warning)
    }
    audit.onRefusal = { [weak tray] in tray?.noteRefusal($0) }
    bus.onLost = { [notifier] in notifier.leave() }
    notifier.onAllow = { [session] in _ = session.allowOnce($0) }
    bus.open(table: service.table, loop: loop) { [tray, notifier] (connection) throws(SystemFailure) in
      try tray?.join(connection)
      try notifier.join(connection)
    }
  }

  /// Ends on SIGTERM and SIGINT, reloads on SIGHUP, pings the watchdog.
  func followSignals() throws(SystemFailure) {
    for signal in [SIGTERM, SIGINT] {
      sources.append(try loop.addSignal(signal) { [unowned self] in loop.exit(ExitStatus.done) })
    }
    sources.append(
      try loop.addSignal(SIGHUP) { [unowned self] in
        audit.reopenFile()
        ServiceNotice.reloading()
        watcher.reloadWhenSettled()
      })
    try loop.enableWatchdog()
  }

  /// Guards until a signal, the end of the X server, or another instance's `--replace`.
  func run() throws(SystemFailure) -> Int32 {
    reportPolicy()
    ServiceNotice.ready(summary)
    Hardening.returnCode()
    let status = try loop.run()
    close(status)
    return status
  }

  private func close(_ status: Int32) {
    switch status {
    case ExitStatus.displayLost: ServiceNotice.stopping("the X server of \(Label.plain(display)) is gone")
    default: ServiceNotice.stopping("no longer guarding \(Label.plain(display))")
    }
    sayWhatEnds()
    audit.flush()
    boardKeeper?.end()
    // What a successor has on the same display is none of this one's content.
    if !session.isReplaced { continuity?.leave() }
    // The new instance listens at the same place by now, so the socket is its own.
    if !session.isReplaced {
      boards.close()
      server?.close()
    }
    if !session.isLost { session.close() }
  }

  /// What nobody else has: a clip's app may have ended long ago.
  private func sayWhatEnds() {
    guard !session.isLost, session.isReplaced || continuity?.keepsContent != true else { return }
    for status in session.status where status.state == .held && status.bytes > 0 {
      audit.say("content of \(status.selection) ends with this daemon: \(status.bytes) bytes", .notice)
    }
  }

  private var summary: String { "guarding \(Label.plain(display)), \(policy.summary)" }

  /// Everything that has come in goes through the core here, before each wait; then what follows is armed.
  private func beforeWait() {
    session.drain()
    if session.isLost {
      audit.say("the X server of \(display) is gone", .notice, .error)
      return loop.exit(ExitStatus.displayLost)
    }
    if let breakdown = session.breakdown {
      audit.say("\(breakdown); ending, to be started anew", .notice, .error)
      return loop.exit(ExitStatus.failed)
    }
    if session.isReplaced {
      audit.say("another instance guards \(display) now")
      return loop.exit(ExitStatus.done)
    }
    // Content is moved a little at a time; pastes come in between.
    if continuity?.advance() == true { storing?.request() }
    if actionSource != nil, session.actionDescriptor == nil {
      actionSource = nil
      audit.say("the X server has ended the connection for keys and windows; keys aren't held back", .notice, .warning)
    }
    keepBusy()
    timer?.set(session.nextDeadline)
    auditTimer?.set(audit.unsaidDeadline)
    service.noteProgress()
    server?.begin()
    boards.begin()
    if boards.guardDescriptors() {
      audit.say("too many descriptors are open; boards can't be called any more, all else works", .notice, .warning)
    }
    if hasWorked && !isQuietAwaited {
      (hasWorked, isQuietAwaited) = (false, true)
      quietTimer?.set(MonotonicTime.now.advanced(byMilliseconds: Self.quietMilliseconds))
    }
    if session.isSettled && audit.takeBytesMoved(atLeast: Self.trimBytes) { Hardening.returnFreeMemory() }
  }

  /// The wait for quiet is over, unless something happened meanwhile: then it begins anew before the next wait.
  private func quietEnded() {
    isQuietAwaited = false
    if !hasWorked { Hardening.returnCode() }
  }

  /// Wakes up as soon as there is room in what has to be kept full; `drain` then fills it.
  private func keepBusy() {
    guard let descriptor = session.busyDescriptor else { return busySource = nil }
    guard busySource == nil else { return }
    do throws(SystemFailure) {
      busySource = try loop.addOutput(descriptor)
    } catch {
      audit.say("others can't be kept waiting: \(error)", .notice, .warning)
    }
  }

  /// Reads the policy files anew, puts a good set in force, and says how it went.
  func reloadPolicy() {
    if policy.load() { session.replacePolicy(policy.effective) }
    reportPolicy()
    tellStanding()
  }

  private func tellStanding() {
    tray?.noteChange()
    ServiceNotice.send("STATUS=\(summary)")
    server?.broadcast { [service] (connection) throws(SystemFailure) in try service!.announcePolicy(on: connection) }
    bus.send { [service] (connection) throws(SystemFailure) in try service!.announcePolicy(on: connection) }
  }

  /// One journal line for the standing, and one for each error.
  private func reportPolicy() {
    for error in policy.lastLoad.errors { audit.say(error, .policyError, .error) }
    for warning in policy.lastLoad.warnings { audit.say(warning, .policyError, .warning) }
    let priority: Priority = policy.standing == .inForce ? .information : .warning
    audit.say("policy: \(policy.summary)", .policyLoaded, priority)
    notifier.showPolicyTrouble(policy.standing == .inForce ? nil : policy.summary)
  }
}

extension Daemon: BoardHost {
  /// Passes on what those who watch boards are told.
  func announce(_ notice: BoardNotice) {
    boards.announce(notice)
    tray?.noteChange()
  }
}

extension Daemon: TrayHost {
  func trayState(refusals: RefusalMemory) -> TrayState {
    TrayFacts.state(display: display, policy: policy, boards: session.boards, refusals: refusals)
  }

  var isLockedDown: Bool { policy.isLockedDown }
}

extension Daemon: ControlledDaemon {
  func setLockdown(_ isOn: Bool) throws(ControlFailure) {
    guard isOn != policy.isLockedDown else { return }
    if !isOn, !policy.policy.liftsLockdown {
      throw ControlFailure(line: "the policy doesn't let a lockdown be lifted (`lift-lockdown: false`)")
    }
    do throws(SystemFailure) { try policy.lockdown.set(isOn) } catch {
      throw ControlFailure(line: "can't keep the lockdown for the next start: \(error)")
    }
    session.replacePolicy(policy.effective)
    audit.say(isOn ? "lockdown: only same-app copy and paste is allowed" : "lockdown lifted", .notice, .notice)
    tellStanding()
  }

  var policyState: String { policy.standing.rawValue }
  var isSettled: Bool { session.isSettled }

  func synchronize() { session.synchronize() }

  func canPerform(_ action: Action, in window: Window?) -> Bool? { session.canPerform(action, in: window) }

  func identityReport(of window: Window?) -> JSON? {
    session.identify(window).map { window, subject in
      StatusReport.identity(of: window, subject) { session.canPerform($0, in: window) ?? false }
    }
  }

  func clientsReport() -> JSON { StatusReport.clients(session.clients()) }

  func policyReport() -> JSON { StatusReport.overview(policy) }

  func statusReport() -> JSON {
    .object([
      "schema": .integer(StatusReport.schemaVersion),
      "version": .string(HelpText.version),
      "display": .string(Label.shortened(display)),
      "pid": .integer(Int(getpid())),
      "uptimeSeconds": .integer(Int((Posix.monotonicNow().nanoseconds - started.nanoseconds) / 1_000_000_000)),
      "policy": StatusReport.policy(policy),
      "lockdown": .bool(policy.isLockedDown),
      "settled": .bool(session.isSettled),
      "selections": .array(session.status.map(StatusReport.selection)),
      "boards": BoardReport.summary(session.boards, boardKeeper),
      "priority": .bool(session.hasPriority),
      "rivalManager": session.rivalClipboardManager.map(RecordJSON.subject),
      "boardStore": boardKeeper.map { StatusReport.boardStore($0.standing) },
      "store": continuity.map(\.report),
      "memory": Continuity.memoryReport,
      "presses": StatusReport.presses(session.pressStatus),
      "actions": session.actionStatus.map(StatusReport.actions),
      "sandbox": sandboxReport,
      "notices": noticesReport,
      "audit": StatusReport.audit(audit),
      "control": server.map { .string(Label.shortened($0.address.socket)) },
      "controlConnections": .integer(server?.connectionCount ?? 0),
      "sessionBus": .string(bus.state.rawValue),
    ])
  }
}
