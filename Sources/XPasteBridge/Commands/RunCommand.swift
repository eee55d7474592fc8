import BridgeCore
@preconcurrency import Glibc
import Policy
import X11

/// `run`: guards a display until it is told to stop.
enum RunCommand {
  /// Opens everything in the order in which it is needed and runs the loop.
  static func run(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    do throws(UsageFailure) {
      return try serve(invocation)
    } catch {
      ServiceNotice.holdUp(error.description)
      throw error
    }
  }

  private static func serve(_ invocation: Invocation) throws(UsageFailure) -> Int32 {
    let display = try invocation.display()
    Hardening.apply(isOpen: invocation.has("replace"))
    // The service manager's descriptors are numbered: they are taken before anything opens others.
    let continuity = Continuity()
    do throws(SystemFailure) {
      guard let daemon = try start(invocation, display, continuity) else { return ExitStatus.failed }
      let status = try daemon.run()
      if daemon.wasCutOff { holdEmpty(display, guardsPrimary: daemon.guardsPrimary) }
      return status
    } catch {
      let status = Console.failed("can't run on display `\(Label.plain(display))`: \(error)")
      ServiceNotice.holdUp("\(error)")
      return status
    }
  }

  /// `nil` when the display can't be guarded, which has been said.
  private static func start(
    _ invocation: Invocation, _ display: String, _ continuity: Continuity
  ) throws(SystemFailure) -> Daemon? {
    let choice = invocation.value("audit").flatMap(AuditSink.Choice.init) ?? .refusals
    let file = invocation.value("audit-file").map { path in
      AuditFile(path: path) { line in
        AuditSink.journalOrStandardError(AuditSink.fields(line, .notice, .error))
      }
    }
    let audit = AuditSink(display: ControlAddress.key(of: display), choice: choice, file: file)
    continuity.say = { audit.say($0, .notice, $1) }
    let loop = try EventLoop()
    let source = InstalledPolicy(given: invocation.all("policy"))
    let watchers = try PolicyWatchers(source, loop: loop)
    let lockdown = Lockdown(
      mark: (try? ControlAddress(display: display))?.lockdownMark, wasKept: continuity.keptLockdown,
      keep: continuity.keepLockdown)
    let policy = PolicyInForce(source: source, lockdown: lockdown, readsUser: false)
    let reader = PolicyReader(source: source, loop: loop)
    if invocation.has("replace"), policy.standing == .locked {
      // The one that guards now does so by a policy that was good.
      for error in policy.errors { Console.complain(Label.plain(error, to: 4_096)) }
      let line = "the policy has errors, so the daemon that guards the display isn't replaced"
      audit.record(.failedStart(line), isOnStandardError: true)
      Console.complain(line)
      return nil
    }
    let keeper = BoardArchive(loop: loop) { audit.say($0, .notice, $1) }
    var onBoardNotice: (BoardNotice) -> Void = { _ in }
    let notifier = Notifier { audit.say($0, .notice, .warning) }
    let actions = InstalledActions(given: invocation.all("actions"))
    let children = try ActionChildren(loop: loop, helper: actions.helper)
    let session: any DisplaySession
    let watch = openingWatch(display)
    do throws(DisplayFailure) {
      session = try DisplayOpener.open(
        DisplayRequest(
          name: display, policy: policy.effective, replaces: invocation.has("replace"),
          endsOnXError: invocation.has("fatal-x-errors"), continuity: continuity,
          children: children, boardKeeper: keeper, onBoardNotice: { onBoardNotice($0) },
          onNotice: { notifier.take($0) }, onConnected: { watch.end() },
          say: { audit.say($0, .notice, $1) },
          audit: { audit.take($0) }))
    } catch {
      audit.record(.failedStart(error.line), isOnStandardError: true)
      Console.complain(error.line)
      ServiceNotice.holdUp(error.line)
      return nil
    }
    let daemon = try Daemon(
      display: display, loop: loop, session: session, policy: policy, reader: reader, watchers: watchers, audit: audit,
      continuity: continuity, boardKeeper: keeper, actions: actions, notifier: notifier)
    onBoardNotice = { [unowned daemon] in daemon.announce($0) }
    try daemon.followSignals()
    daemon.serveControl()
    if !invocation.has("no-bus") { daemon.joinSessionBus(showingTray: !invocation.has("no-tray")) }
    return daemon
  }

  /// An X client has ended our connection. If that happens again and again under a service manager, the next start waits,
  /// and nobody reads anything meanwhile.
  private static func holdEmpty(_ display: String, guardsPrimary: Bool) {
    guard DescriptorStore.isThere, let address = try? ControlAddress(display: display) else { return }
    let milliseconds = RestartPace(path: address.endsMark).note(at: Posix.monotonicNow())
    guard milliseconds > 0 else { return }
    ServiceNotice.send("STATUS=the connection was ended again; starting again in \(milliseconds) ms")
    EmptyHold.hold(
      ["CLIPBOARD"] + (guardsPrimary ? ["PRIMARY"] : []), on: display,
      until: Posix.monotonicNow().advanced(byMilliseconds: milliseconds))
  }

  /// Ends a start that the display doesn't answer, with its record.
  private static func openingWatch(_ display: String) -> OpeningWatch {
    let line = "\(DisplaySilence.line(display)) within \(OpeningWatch.milliseconds / 1_000) s"
    let record = DaemonRecord.failedStart(line).journalFields(
      milliseconds: Posix.wallClockMilliseconds(), display: ControlAddress.key(of: display))
    return OpeningWatch(
      text: "xpastebridge: \(line)\n",
      journalFields: Journal.isPresent ? record.map { "\($0.name)=\($0.value)" } : [])
  }
}

/// What is said of a display that takes connections and says nothing.
enum DisplaySilence {
  /// Without the time that was waited.
  static func line(_ display: String) -> String { "display `\(Label.plain(display, to: 256))` doesn't answer" }
}
