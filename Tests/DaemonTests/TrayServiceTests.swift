import BridgeCore
import Foundation
import Policy
import Selection
import Testing
import Tray

@testable import XPasteBridge

/// The tray on a session bus of its own, before a panel that only prints what it is told.
@Suite(
  .enabled(
    if: ["dbus-daemon", "gdbus", "python3"].allSatisfy {
      FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
    }))
struct TrayServiceTests {
  private static let item = "org.kde.StatusNotifierItem-\(getpid())-1"

  /// A daemon with a tray, and what is beside it on its bus.
  private final class Stage {
    let bus = SessionBusTests.PrivateBus()
    let served: ServedDaemon
    private(set) var host: ChildRun!

    init(
      _ reading: PolicyReading = PolicyReading(policy: .allowEverything), hosting options: [String]? = [],
      showingTray: Bool = true
    ) {
      served = ServedDaemon(reading)
      served.daemon.joinSessionBus(showingTray: showingTray)
      let served = served
      let state = { served.daemon.statusReport()["sessionBus"]?.text }
      #expect(run(served.loop, seconds: 20, until: { state() == "owned" }), "\(state() ?? "") \(served.messages)")
      if let options { startHost(options) }
    }

    func startHost(_ options: [String] = []) {
      host = ChildRun([Project.root + "/Tests/Programs/tray_host.py"] + options, program: "/usr/bin/python3")
    }

    /// What the host printed.
    func events(_ kind: String) -> [JSON] {
      host.output.split(separator: "\n").compactMap { try? JSON(reading: String($0)) }.filter {
        $0["event"]?.text == kind
      }
    }

    func signals(_ member: String? = nil) -> [JSON] {
      events("signal").filter { member == nil || $0["member"]?.text == member }
    }

    func awaitRegistration() -> JSON? {
      #expect(run(served.loop, seconds: 20, until: { !self.events("registered").isEmpty }), "\(self.host.complaint)")
      return events("registered").last
    }

    /// What other programs of the bus are answered, by GLib's caller.
    func call(_ words: String..., to item: String = TrayServiceTests.item) -> String {
      let place = ["call", "--session", "--dest", item, "--object-path", TrayModel.menuPath, "--method"]
      let caller = ChildRun(place + words, program: "/usr/bin/gdbus")
      _ = caller.wait(served.loop)
      return caller.output + caller.complaint
    }

    func layout(_ id: Int = 0, depth: Int = -1, _ names: String = "[]") -> String {
      // A bare minus would be an option.
      call("com.canonical.dbusmenu.GetLayout", "int32 \(id)", "int32 \(depth)", names)
    }

    func click(_ id: Int32, _ event: String = "clicked") -> String {
      call("com.canonical.dbusmenu.Event", "\(id)", event, "<''>", "0")
    }

    func end() {
      host?.end()
      bus.end()
    }
  }

  private func stuck() -> PolicySet {
    var ruleset = Ruleset()
    ruleset.liftsLockdown = false
    return PolicySet(managed: ruleset, user: Ruleset())
  }

  // MARK: registration

  @Test func watcherIsFollowedThroughItsRestarts() throws {
    let stage = Stage(hosting: nil)
    run(stage.served.loop, seconds: 0.2)
    for _ in 1...3 {
      stage.startHost()
      let registered = try #require(stage.awaitRegistration())
      #expect(registered["item"]?.text == Self.item)
      let properties = try #require(registered["properties"])
      #expect(properties["Id"]?.text == "xpastebridge")
      #expect(properties["Category"]?.text == "SystemServices")
      #expect(properties["Status"]?.text == "Active")
      #expect(properties["Menu"]?.text == TrayModel.menuPath)
      #expect(properties["IconName"]?.text == "", "the icons aren't installed beside a build")
      #expect("\(properties)".contains("Guarding :4711"))
      #expect("\(try #require(registered["pixmaps"]))" == "[[24,24,2304],[48,48,9216]]")
      stage.host.end()
    }
    stage.end()
  }

  @Test func daemonThatComesLaterRegistersAtOnce() throws {
    let stage = Stage()
    #expect(stage.awaitRegistration() != nil)
    stage.end()
  }

  /// Somebody who has the name already would else be shown in our place.
  @Test func takenNameIsNotUsed() throws {
    let stage = Stage(hosting: nil)
    let thief = ChildRun(
      [
        "-c",
        "from gi.repository import Gio, GLib\n"
          + "Gio.bus_own_name(Gio.BusType.SESSION, '\(Self.item)', 0, None, lambda *_: print('has', flush=True), None)\n"
          + "GLib.MainLoop().run()",
      ], program: "/usr/bin/python3")
    #expect(run(stage.served.loop, seconds: 20, until: { thief.output.contains("has") }))
    stage.startHost()
    #expect(stage.awaitRegistration()?["item"]?.text == TrayModel.itemPath)
    thief.end()
    stage.end()
  }

  @Test func refusingWatcherIsToldNothing() {
    let stage = Stage(hosting: ["--refuse"])
    #expect(run(stage.served.loop, seconds: 20, until: { !stage.events("refused").isEmpty }))
    stage.served.audit.take(Example.record())
    run(stage.served.loop, seconds: 0.5)
    #expect(stage.signals().isEmpty)
    #expect(stage.layout().contains("Last refusals"), "whoever asks is told all the same")
    stage.end()
  }

  @Test func withoutATrayThereIsNothing() {
    let stage = Stage(showingTray: false)
    #expect(run(stage.served.loop, seconds: 20, until: { !stage.events("ready").isEmpty }))
    run(stage.served.loop, seconds: 0.5)
    #expect(stage.events("registered").isEmpty)
    #expect(stage.layout().contains("ServiceUnknown"))
    stage.end()
  }

  // MARK: what is shown

  @Test func refusalIsShownWithItsRule() throws {
    let stage = Stage()
    #expect(stage.awaitRegistration() != nil)
    stage.served.audit.take(Example.record("Ledger"))
    #expect(run(stage.served.loop, until: { !stage.signals("LayoutUpdated").isEmpty }))
    let layout = stage.layout()
    #expect(layout.contains("paste  Ledger → a remote program: Ledger (2 times)"), "\(layout)")
    #expect(layout.contains("Written in: /etc/Ledger:3"))
    // The same once more, as a list of formats: one line, and the layout is as it was.
    stage.served.audit.take(Example.record("Ledger", kind: .list))
    #expect(run(stage.served.loop, until: { stage.layout().contains("(4 times)") }))
    #expect(stage.signals("LayoutUpdated").count == 1)
    // Whatever a program calls itself, a line stays a line.
    stage.served.audit.take(Example.record(Example.hostile))
    stage.served.audit.take(Example.record("served", verdict: .allow, outcome: .served))
    stage.served.audit.take(Example.record(Example.huge))
    #expect(run(stage.served.loop, until: { stage.layout().contains("xxxx") }))
    let hostile = stage.layout()
    #expect(hostile.contains("a\"b") && !hostile.contains("\u{1b}") && !hostile.contains("\u{202e}"))
    #expect(hostile.count < 8_000)
    #expect(!hostile.contains("served"), "what was allowed isn't there")
    stage.end()
  }

  @Test func policyStatesAreShown() throws {
    let stage = Stage(PolicyReading(policy: nil, errors: ["/etc/a.yaml:3:7: unknown key `x`"]))
    let locked = try #require(stage.awaitRegistration())
    #expect(locked["properties"]?["Status"]?.text == "NeedsAttention")
    #expect("\(locked)".contains("Locked on :4711"))
    #expect("\(locked)".contains("/etc/a.yaml:3:7: unknown key `x`"))
    stage.served.source.answer = PolicyReading(policy: .allowEverything, files: ["/etc/a.yaml"])
    stage.served.reload()
    #expect(run(stage.served.loop, until: { stage.signals("NewStatus").count == 1 }))
    #expect("\(stage.signals("NewStatus")[0])".contains("Active"))
    #expect(run(stage.served.loop, until: { stage.signals("NewToolTip").count == 1 }))
    #expect(stage.signals("NewIcon").count == 1 && stage.signals("NewStatus").count == 1)
    #expect(stage.layout().contains("1 policy file in force"))
    stage.served.source.answer = PolicyReading(policy: nil, errors: ["/etc/a.yaml:1:1: wrong"])
    stage.served.reload()
    #expect(run(stage.served.loop, until: { stage.signals("NewStatus").count == 2 }))
    #expect(stage.layout().contains("the last good policy stays in force"))
    stage.end()
  }

  // MARK: lockdown

  @Test func lockdownIsSetAndLiftedByAClick() throws {
    let stage = Stage()
    #expect(stage.awaitRegistration() != nil)
    #expect(stage.click(TrayMenu.lockdown, "hovered").contains("()"))
    #expect(!stage.served.daemon.isLockedDown, "only a click is a click")
    #expect(stage.click(TrayMenu.lockdown).contains("()"))
    #expect(stage.served.daemon.isLockedDown)
    #expect(run(stage.served.loop, until: { stage.signals("NewIcon").count == 1 }))
    #expect(stage.call("com.canonical.dbusmenu.GetProperty", "\(TrayMenu.lockdown)", "toggle-state") == "(<1>,)\n")
    #expect(stage.layout(1).contains("Lockdown on :4711"))
    #expect(
      stage.call("com.canonical.dbusmenu.EventGroup", "[(9, 'clicked', <''>, 0), (77, 'clicked', <''>, 0)]")
        == "([77],)\n")
    #expect(!stage.served.daemon.isLockedDown)
    stage.end()
  }

  @Test func lockdownStaysWherePolicySaysSo() throws {
    let stage = Stage(PolicyReading(policy: stuck()))
    #expect(stage.awaitRegistration() != nil)
    #expect(stage.click(TrayMenu.lockdown).contains("()"))
    #expect(stage.served.daemon.isLockedDown)
    #expect(stage.call("com.canonical.dbusmenu.GetProperty", "9", "enabled") == "(<false>,)\n")
    // Grey or not, whoever sends the click all the same is refused.
    #expect(stage.click(TrayMenu.lockdown).contains("org.xpastebridge.Error.LockdownRefused"))
    #expect(stage.call("com.canonical.dbusmenu.EventGroup", "[(9, 'clicked', <''>, 0)]") == "(@ai [],)\n")
    #expect(stage.served.daemon.isLockedDown)
    stage.end()
  }

  // MARK: the menu's methods

  @Test func menuIsReadInParts() throws {
    let stage = Stage()
    #expect(stage.awaitRegistration() != nil)
    stage.served.audit.take(Example.record("Ledger"))
    #expect(run(stage.served.loop, until: { !stage.signals("LayoutUpdated").isEmpty }))
    #expect(stage.layout(0, depth: 0) == "(uint32 2, (0, {'children-display': <'submenu'>}, @av []))\n")
    let level = stage.layout(0, depth: 1, "['label']")
    #expect(level.contains("'Lockdown'") && !level.contains("Written in") && !level.contains("toggle-type"))
    #expect(stage.layout(6, depth: 1).contains("'children-display': <'submenu'>"))
    #expect(
      stage.call("com.canonical.dbusmenu.GetGroupProperties", "[9, 77]", "['toggle-type']")
        == "([(9, {'toggle-type': <'checkmark'>})],)\n")
    let all = stage.call("com.canonical.dbusmenu.GetGroupProperties", "[]", "[]")
    #expect(all.contains("(0, {'children-display'") && all.contains("(100, {"), "\(all)")
    #expect(stage.call("com.canonical.dbusmenu.GetProperty", "9", "visible") == "(<true>,)\n", "by default")
    #expect(stage.call("com.canonical.dbusmenu.AboutToShow", "0") == "(false,)\n")
    #expect(stage.call("com.canonical.dbusmenu.AboutToShowGroup", "[0, 77]") == "(@ai [], [77])\n")
    let tip = stage.call("org.freedesktop.DBus.Properties.GetAll", "com.canonical.dbusmenu")
    #expect(tip.contains("'Version': <uint32 3>") && tip.contains("'TextDirection': <'ltr'>"))
    stage.end()
  }

  @Test func wrongNumbersAreErrors() throws {
    let stage = Stage()
    #expect(stage.awaitRegistration() != nil)
    for answer in [
      stage.layout(77), stage.layout(-1), stage.click(77),
      stage.call("com.canonical.dbusmenu.GetProperty", "77", "label"),
      stage.call("com.canonical.dbusmenu.GetProperty", "9", "colour"),
      stage.call("com.canonical.dbusmenu.AboutToShow", "77"),
      stage.call("com.canonical.dbusmenu.AboutToShowGroup", "[77, 78]"),
      stage.call("com.canonical.dbusmenu.EventGroup", "[(77, 'clicked', <''>, 0)]"),
    ] {
      #expect(answer.contains("org.freedesktop.DBus.Error.InvalidArgs"), "\(answer)")
    }
    #expect(stage.call("com.canonical.dbusmenu.EventGroup", "@a(isvu) []") == "(@ai [],)\n")
    stage.end()
  }

  // MARK: what it costs

  @Test func nothingIsSaidWhileNothingHappens() throws {
    let stage = Stage()
    #expect(stage.awaitRegistration() != nil)
    let finder = ChildRun(
      [
        "call", "--session", "--dest", "org.freedesktop.DBus", "--object-path", "/org/freedesktop/DBus", "--method",
        "org.freedesktop.DBus.GetNameOwner", Self.item,
      ], program: "/usr/bin/gdbus")
    #expect(finder.wait(stage.served.loop) == 0)
    let ours = try #require(finder.output.split(separator: "'").first { $0.hasPrefix(":") })
    let monitor = ChildRun(["--session"], program: "/usr/bin/dbus-monitor")
    #expect(run(stage.served.loop, until: { monitor.output.contains("NameLost") }), "it listens now")
    run(stage.served.loop, seconds: 2)
    #expect(!monitor.output.contains("sender=\(ours) "), "\(monitor.output)")
    // The monitor sees what is said.
    stage.served.audit.take(Example.record())
    #expect(run(stage.served.loop, until: { monitor.output.contains("member=LayoutUpdated") }))
    #expect(monitor.output.contains("sender=\(ours) "))
    monitor.end()
    stage.end()
  }

  @Test func floodOfRefusalsIsAFewMessages() throws {
    let stage = Stage()
    #expect(stage.awaitRegistration() != nil)
    let start = Date()
    for number in 0..<200 {
      for other in 0..<20 { stage.served.audit.take(Example.record("App\(number)-\(other)")) }
      run(stage.served.loop, seconds: 0.01)
    }
    let last = "App199-19"
    #expect(run(stage.served.loop, until: { "\(stage.signals())".contains(last) || stage.layout().contains(last) }))
    run(stage.served.loop, seconds: 0.6)
    let count = stage.signals().count
    // Two kinds of signal at each time that hosts are told something.
    let most = 2 * (Int(Date().timeIntervalSince(start) * 1_000) / TrayModel.paceMilliseconds + 2)
    #expect((2...most).contains(count), "\(count) signals, \(most) at most")
    stage.end()
  }

  /// A panel that stands still: nothing waits for it, and it gets all when it goes on.
  @Test func stoppedHostHoldsNothingUp() throws {
    let stage = Stage()
    #expect(stage.awaitRegistration() != nil)
    kill(stage.host.processID, SIGSTOP)
    for number in 0..<20 {
      stage.served.audit.take(Example.record("App\(number)"))
      let start = Date()
      _ = try stage.served.loop.runOnce(milliseconds: 5)
      #expect(Date().timeIntervalSince(start) < 1)
      #expect(stage.served.call("status").wait(stage.served.loop) == 0)
    }
    kill(stage.host.processID, SIGCONT)
    #expect(run(stage.served.loop, until: { stage.layout().contains("App19") && !stage.signals().isEmpty }))
    stage.end()
  }
}
