import Boards
import BridgeCore
@preconcurrency import Glibc
import Policy
import PolicyFile
import Selection
import Tray

/// How `run` ends; the manual page lists them.
nonisolated enum ExitStatus {
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
  /// Errors of one side that are written to the journal at each load (our choice: whoever changes a file with thousands of
  /// them ten times a second stays below the journal's limit, which would cut records too).
  private static let saidErrors = 8
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
  private let reader: PolicyReader
  private let watchers: PolicyWatchers
  private var markWatcher: PolicyWatcher?
  /// Whether the service manager waits to hear that the policy has been read.
  private var owesReady = false
  private var timer: EventTimer?
  private var auditTimer: EventTimer?
  private var quietTimer: EventTimer?
  private var sources: [EventSource] = []
  private var actionSource: EventSource?
  private var busySource: EventSource?
  private let started = Posix.monotonicNow()

  /// Joins what has been opened; nothing is served before the loop runs.
  ///
  /// The watcher of managed files was made before `policy` was loaded, so no change falls between the two; the user's files
  /// are read when the loop runs.
  init(
    display: String, loop: EventLoop, session: any DisplaySession, policy: PolicyInForce, reader: PolicyReader,
    watchers: PolicyWatchers, audit: AuditSink, continuity: Continuity? = nil, boardKeeper: (any BoardKeeper)? = nil,
    actions: InstalledActions = InstalledActions(given: []), notifier: Notifier = Notifier { _ in }
  ) throws(SystemFailure) {
    self.display = display
    self.loop = loop
    self.session = session
    self.policy = policy
    self.reader = reader
    self.watchers = watchers
    self.audit = audit
    self.continuity = continuity
    self.actions = actions
    self.boardKeeper = boardKeeper
    self.notifier = notifier
    notifier.onNotShown = { [session] in session.noticeNotShown($0) }
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
    reader.combination = { [policy] in policy.combination }
    reader.onRead = { [unowned self] in take($1, of: $0, compiled: $2) }
    for side in PolicySide.allCases {
      watchers[side].onSettled = { [unowned self] in reloadPolicy(side) }
    }
    markWatcher = try policy.lockdown.path.map { (path) throws(SystemFailure) in
      try PolicyWatcher(paths: [path], loop: loop)
    }
    markWatcher?.onSettled = { [unowned self] in keepLockdown() }
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
        owesReady = true
        for side in PolicySide.allCases { watchers[side].reloadWhenSettled() }
      })
    try loop.enableWatchdog()
  }

  /// Guards until a signal, the end of the X server, or another instance's `--replace`.
  func run() throws(SystemFailure) -> Int32 {
    begin()
    Hardening.returnCode()
    let status = try loop.run()
    close(status)
    return status
  }

  /// Says how it begins, and takes up the user's files: the display is guarded by the managed ones already.
  func begin() {
    audit.record(
      .start(isNamed: policy.isNamed, isEnforced: policy.policy.isEnforced, isLockedDown: policy.isLockedDown))
    if let finding = policy.lockdown.finding { audit.say(finding, .notice, .warning, fields: [lockdownField]) }
    reportPolicy(.managed)
    owesReady = true
    if watchers.user.hasFiles { reader.read(.user) }
    sayReady()
  }

  /// Tells the service manager that the policy is read, once it is.
  private func sayReady() {
    guard owesReady, !reader.isReading else { return }
    owesReady = false
    ServiceNotice.ready(summary)
  }

  private func close(_ status: Int32) {
    audit.record(endRecord(status))
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

  /// Whether an X client has ended our connection, with rules in force that nobody keeps now.
  var wasCutOff: Bool { session.isLost && session.isServerThere && !policy.effective.isEmpty }
  /// Whether the rules are about PRIMARY too.
  var guardsPrimary: Bool { policy.effective.primary != .off }

  private func endRecord(_ status: Int32) -> DaemonRecord {
    let (ending, words): (DaemonRecord.Ending, String) =
      if session.isLost {
        session.isServerThere
          ? (
            .connectionEnded,
            "our connection was ended and the X server is there: an X client has done that (XKillClient), or the server began again"
          )
          : (.serverGone, "the X server of \(Label.plain(display)) is gone")
      } else if let breakdown = session.breakdown {
        (.failed, breakdown)
      } else if session.isReplaced {
        (.replaced, "replaced")
      } else {
        status == ExitStatus.done ? (.stopped, "stopped by a signal") : (.failed, "exit status \(status)")
      }
    return .end(ending, words, successor: session.successor, isLockedDown: policy.isLockedDown)
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
    if session.isLost { return loop.exit(ExitStatus.displayLost) }
    if session.breakdown != nil { return loop.exit(ExitStatus.failed) }
    if session.isReplaced { return loop.exit(ExitStatus.done) }
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

  /// Reads the policy files of one side again; a good set is put in force when that is done.
  func reloadPolicy(_ side: PolicySide) { reader.read(side) }

  private func take(_ reading: SideReading, of side: PolicySide, compiled: CompiledPolicy?) {
    if policy.take(reading, of: side, compiled: compiled) { session.replacePolicy(policy.effective) }
    reportPolicy(side)
    // The user's rules may use groups of the managed files.
    if side == .managed, watchers.user.hasFiles || !policy.user.files.isEmpty { reader.read(.user) }
    tellStanding()
    // Ends the start or the reload that the service manager waits for, if there is one.
    sayReady()
  }

  private func tellStanding() {
    tray?.noteChange()
    ServiceNotice.send("STATUS=\(summary)")
    server?.broadcast { [service] (connection) throws(SystemFailure) in try service!.announcePolicy(on: connection) }
    bus.send { [service] (connection) throws(SystemFailure) in try service!.announcePolicy(on: connection) }
  }

  /// One record for the standing of a side, and one line for each error.
  private func reportPolicy(_ side: PolicySide) {
    let load = policy[side].lastLoad
    let field = [(name: "XPB_SIDE", value: side.rawValue)]
    for (lines, priority) in [(load.errors, Priority.error), (load.warnings, .warning)] {
      for line in lines.prefix(Self.saidErrors) { audit.say(line, .policyError, priority, fields: field) }
      guard lines.count > Self.saidErrors else { continue }
      audit.say(
        "and \(lines.count - Self.saidErrors) more; `xpastebridge policy check` shows all", .policyError, priority,
        fields: field)
    }
    for path in load.changeable.prefix(Self.saidErrors) {
      audit.say("\(Label.plain(path)) can be changed by others than root", .policyError, .error, fields: field)
    }
    audit.record(.policy(policy, side))
    notifier.showPolicyTrouble(policy.standing == .inForce ? nil : policy.summary)
  }

  private var lockdownField: JournalEntry.Field { ("XPB_LOCKDOWN", policy.isLockedDown ? "yes" : "no") }

  /// Somebody may have removed the lockdown's mark, so that the next start would know nothing of it.
  private func keepLockdown() {
    guard policy.lockdown.restoreMark() else { return }
    audit.say(
      "the lockdown's mark was removed by hand; it is set again, and the lockdown stays on", .notice, .warning,
      fields: [lockdownField])
  }
}

/// Watches the files of either side, each apart: one that never comes to rest mustn't keep the other waiting.
struct PolicyWatchers {
  /// Of the managed files.
  let managed: PolicyWatcher
  /// Of the user's.
  let user: PolicyWatcher

  /// Begins to watch what `source` reads.
  init(_ source: any PolicySource, loop: EventLoop) throws(SystemFailure) {
    func watcher(_ side: PolicySide) throws(SystemFailure) -> PolicyWatcher {
      // One more than are read tells that there are too many.
      let limit = side == .managed ? FolderLimits.managed.files : FolderLimits.user.files
      return try PolicyWatcher(paths: source.paths(of: side), atMost: limit + 1, loop: loop)
    }
    managed = try watcher(.managed)
    user = try watcher(.user)
  }

  /// That of this side.
  subscript(side: PolicySide) -> PolicyWatcher { side == .managed ? managed : user }
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
    // Looked at also if it is removed before the watcher has seen that it is there.
    if isOn { markWatcher?.reloadWhenSettled() }
    audit.say(
      isOn ? "lockdown: only same-app copy and paste is allowed" : "lockdown lifted", .notice, .notice,
      fields: [lockdownField])
    tellStanding()
  }

  var policyState: String { policy.standing.rawValue }
  var isSettled: Bool { session.isSettled && !reader.isReading }

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
      "settled": .bool(isSettled),
      "selections": .array(session.status.map(StatusReport.selection)),
      "boards": BoardReport.summary(session.boards, boardKeeper),
      "priority": .bool(session.hasPriority),
      "namesPrograms": .bool(session.namesPrograms),
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
