import BridgeCore
@preconcurrency import Glibc
import Policy

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
    Hardening.apply()
    // The service manager's descriptors are numbered: they are taken before anything opens others.
    let continuity = Continuity()
    do throws(SystemFailure) {
      let daemon = try start(invocation, display, continuity)
      return try daemon?.run() ?? ExitStatus.failed
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
      audit.record(.failedStart("the policy has errors, so the daemon that guards the display isn't replaced"))
      Console.complain("the policy has errors, so the daemon that guards the display isn't replaced")
      return nil
    }
    let keeper = BoardArchive(loop: loop) { audit.say($0, .notice, $1) }
    var onBoardNotice: (BoardNotice) -> Void = { _ in }
    let notifier = Notifier { audit.say($0, .notice, .warning) }
    let actions = InstalledActions(given: invocation.all("actions"))
    let children = try ActionChildren(loop: loop, helper: actions.helper)
    let session: any DisplaySession
    do throws(DisplayFailure) {
      session = try DisplayOpener.open(
        DisplayRequest(
          name: display, policy: policy.effective, replaces: invocation.has("replace"),
          endsOnXError: invocation.has("fatal-x-errors"), continuity: continuity,
          children: children, boardKeeper: keeper, onBoardNotice: { onBoardNotice($0) },
          onNotice: { notifier.take($0) },
          say: { audit.say($0, .notice, $1) },
          audit: { audit.take($0) }))
    } catch {
      audit.record(.failedStart(error.line))
      if Journal.isPresent { Console.complain(error.line) }
      ServiceNotice.holdUp(error.line)
      return nil
    }
    let daemon = try Daemon(
      display: display, loop: loop, session: session, policy: policy, reader: reader, watchers: watchers, audit: audit,
      continuity: continuity, boardKeeper: keeper, actions: actions, notifier: notifier)
    notifier.onNotShown = { [session] in session.noticeNotShown($0) }
    onBoardNotice = { [unowned daemon] in daemon.announce($0) }
    try daemon.followSignals()
    daemon.serveControl()
    if !invocation.has("no-bus") { daemon.joinSessionBus(showingTray: !invocation.has("no-tray")) }
    return daemon
  }
}
