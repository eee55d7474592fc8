import BridgeCore
@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

/// The program's second role: a process that lets the person's keyboard and pointer go when the daemon stands still while
/// a press waits for it.
///
/// It has the daemon's connection for presses and shuts it down, upon which the X server lets go of everything that stood
/// still for it. It sleeps in the kernel until something comes from the server on that connection, or the
/// daemon reads there, knows no X, and ends with the daemon, however that ends.
enum InputWatchdog {
  /// Under this name, as its first argument, the program takes the role.
  static let name = "xpastebridge-watchdog"

  /// The descriptors it is given, from ``PressHold``.
  private enum Given {
    static let control: Int32 = 3
    static let page: Int32 = 4
    static let connection: Int32 = 5
  }

  /// Watches until the daemon ends or input was let go; an exit status.
  static func run(display: String) -> Int32 {
    do throws(SystemFailure) {
      try watch(display: display)
      return ExitStatus.done
    } catch {
      return Console.failed("watchdog: \(error)")
    }
  }

  private static func watch(display: String) throws(SystemFailure) {
    _ = xpb_prctl_set_name("xpb-watchdog")
    // Of what the service manager sends to the whole unit, the daemon's end is what counts.
    for number in [SIGTERM, SIGINT, SIGHUP] { signal(number, SIG_IGN) }
    xpb_prctl_set_pdeathsig(SIGKILL)
    let daemon = getppid()
    let control = OwnedDescriptor(Given.control)
    let connection = OwnedDescriptor(Given.connection)
    let page = try PressPage(OwnedDescriptor(Given.page))
    let arrivals = try Posix.epollCreate()
    try Posix.epollAdd(arrivals, control.number)
    try Posix.epollAdd(arrivals, connection.number, once: true)
    try Posix.write(".", to: control.number)
    Hardening.returnCode()

    var stall = StallWatch()
    var verdict = look(&stall, page, connection)
    while true {
      var deadline: MonotonicTime?
      switch verdict {
      case .rest: break
      case .lookAgain(let due): deadline = due
      case .free: return free(connection, page, daemon, display)
      }
      let woken = Posix.epollWait(arrivals, until: deadline)
      // A byte says that the daemon begins to read, and the end that it has ended.
      if woken.contains(control.number), try Posix.read(control.number, limit: 64).isEmpty { return }
      verdict = look(&stall, page, connection)
    }
  }

  private static func look(_ stall: inout StallWatch, _ page: PressPage, _ connection: OwnedDescriptor)
    -> StallWatch.Verdict
  {
    let isUnread = Posix.poll(connection.number, POLLIN, milliseconds: 0)
    return stall.look(page.sight(isUnread: isUnread), at: Posix.monotonicNow())
  }

  private static func free(
    _ connection: OwnedDescriptor, _ page: PressPage, _ daemon: pid_t, _ display: String
  ) {
    page.wasFreed = true
    shutdown(connection.number, Int32(SHUT_RDWR))
    var line = "the daemon stood still while a press waited for it; keyboard and pointer are let go"
    // While the daemon holds the server, that looks at no other connection, not even at the end of one.
    if page.holdsServer, getppid() == daemon {
      kill(daemon, SIGKILL)
      line += ", and the daemon is ended, since it held the X server"
    }
    AuditSink.journalOrStandardError(
      AuditSink.fields(line, .inputFreed, .error) + [("XPB_DISPLAY", Label.shortened(display))])
  }
}
