import Foundation
import Selection
import Testing

@testable import XPasteBridge

/// The session bus, with a daemon of its own and GLib's caller.
@Suite(
  .enabled(
    if: ["dbus-daemon", "gdbus"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0) }))
struct SessionBusTests {
  /// A private bus that ends with the test.
  final class PrivateBus {
    let directory = TemporaryDirectory()
    private let child: ChildRun

    init() {
      // Not the session's own settings, by which it would start what is installed on this machine.
      directory.write(
        """
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(directory.path)/bus</listen>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
          </policy>
        </busconfig>
        """, "bus.conf")
      child = ChildRun(["--nofork", "--config-file=\(directory.path)/bus.conf"], program: "/usr/bin/dbus-daemon")
      let loop = try! EventLoop()
      // A socket that is there may not be listened at yet.
      precondition(
        run(loop, seconds: 20) { (try? Posix.connect(Posix.socket(), directory.path + "/bus")) != nil })
      setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=\(directory.path)/bus", 1)
    }

    var processID: pid_t { child.processID }
    func end() { child.end() }
  }

  private func sessionBus(_ served: ServedDaemon) -> String? { served.daemon.statusReport()["sessionBus"]?.text }

  @Test func otherCallersAreAnswered() throws {
    let bus = PrivateBus()
    let served = ServedDaemon()
    served.daemon.joinSessionBus()
    served.session.allowed[Window(0x40_0001)] = [.copy]
    #expect(run(served.loop, until: { sessionBus(served) == "owned" }))
    let place = "--session --dest \(ControlAddress.busName) --object-path \(ControlAddress.object)"
    let script = """
      exec 2>&1
      call="/usr/bin/gdbus call \(place) --method"
      $call \(ControlAddress.interface).Nothing
      $call \(ControlAddress.interface).Status x
      $call \(ControlAddress.interface).CanPerformAction copy 4194305
      $call \(ControlAddress.interface).CanPerformAction cut 4194305
      $call \(ControlAddress.interface).CanPerformAction drag 4194305
      $call \(ControlAddress.interface).CanPerformAction cut 0
      $call \(ControlAddress.interface).Sync
      $call org.freedesktop.DBus.Properties.Get \(ControlAddress.interface) PolicyState
      /usr/bin/gdbus introspect \(place)
      """
    let callers = ChildRun(["-c", script], program: "/bin/sh")
    #expect(callers.wait(served.loop, seconds: 20) == 0)
    let answers = callers.output
    #expect(answers.contains("org.freedesktop.DBus.Error.UnknownMethod"))
    #expect(answers.contains("org.freedesktop.DBus.Error.InvalidArgs"))
    #expect(answers.contains("(true,)\n(false,)\n"), "may copy, may not cut: \(answers)")
    #expect(answers.contains("Invalid argument") && answers.contains("System.Error.ENXIO"), "no action, no window")
    #expect(answers.contains("(<'in-force'>,)"))
    #expect(answers.contains("Status(out s status);"))
    #expect(answers.contains("PolicyChanged(s state);"))
    bus.end()
    #expect(run(served.loop, until: { sessionBus(served) == "lost" }))
    #expect(served.messages.last == "the session bus is gone; going on without it")
    #expect(served.call("status").wait(served.loop) == 0)
  }

  @Test func secondDaemonQueuesForTheName() throws {
    let bus = PrivateBus()
    var first: ServedDaemon? = ServedDaemon()
    first!.daemon.joinSessionBus()
    #expect(run(first!.loop, until: { sessionBus(first!) == "owned" }))
    let second = ServedDaemon()
    second.daemon.joinSessionBus()
    #expect(run(second.loop, until: { sessionBus(second) == "queued" }))
    #expect(second.messages.contains { $0.contains("belongs to a daemon of another display") })
    first = nil
    #expect(run(second.loop, until: { sessionBus(second) == "owned" }))
    bus.end()
  }

  /// B207
  @Test func missingBusIsOneWarning() {
    setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1)
    let served = ServedDaemon()
    served.daemon.joinSessionBus()
    #expect(run(served.loop, until: { ["absent", "lost"].contains(sessionBus(served)) }))
    #expect(served.messages.count == 1)
    #expect(served.call("status").wait(served.loop) == 0)
  }

  @Test func policyChangesAreAnnounced() throws {
    let bus = PrivateBus()
    let served = ServedDaemon()
    served.daemon.joinSessionBus()
    #expect(run(served.loop, until: { sessionBus(served) == "owned" }))
    let monitor = ChildRun(["monitor", "--session", "--dest", ControlAddress.busName], program: "/usr/bin/gdbus")
    // It subscribes before it prints who owns the name.
    #expect(run(served.loop, until: { monitor.output.contains("is owned by") }))
    run(served.loop, seconds: 0.2)
    served.source.answer = PolicyReading(policy: nil, errors: ["a:1:1: wrong"])
    served.reload()
    #expect(run(served.loop, until: { monitor.output.contains("PolicyChanged ('last-good',)") }))
    #expect(run(served.loop, until: { monitor.output.contains("PropertiesChanged") }))
    monitor.end()
    bus.end()
  }
}
