import BridgeCore
import Foundation
import Policy
import Testing

@testable import XPasteBridge

/// Notices on a real bus, with a notification server that does as it is told.
@Suite(
  .enabled(
    if: ["dbus-daemon", "gdbus", "python3"].allSatisfy {
      FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
    }))
struct NotifierTests {
  /// The server, whose calls can be read.
  private final class Server {
    private let child: ChildRun

    init(_ words: String..., loop: EventLoop) {
      child = ChildRun([Project.root + "/Tests/Programs/notification_server.py"] + words, program: "/usr/bin/python3")
      #expect(run(loop, seconds: 30, until: { self.calls("ready").count == 1 }), "\(child.complaint)")
    }

    func calls(_ name: String) -> [JSON] {
      child.output.split(separator: "\n").compactMap { try? JSON(reading: String($0)) }
        .filter { $0["call"]?.text == name }
    }

    var notices: [JSON] { calls("Notify") }
    func hasEnded() -> Bool { child.hasEnded() }
    func end() { child.end() }
  }

  private func notice(_ number: UInt64, offers: Bool = false, name: String = "Browser") -> Notice {
    var record = Example.record(name, verdict: offers ? .ask : .deny)
    record.message = "No <b>way</b> & out."
    var notice = Notice(number: number, record: record, isPersons: true, isLast: false)
    notice.offersAllowOnce = offers
    return notice
  }

  private func joined(answersWithin milliseconds: Int = 30_000) -> (SessionBusTests.PrivateBus, ServedDaemon) {
    let bus = SessionBusTests.PrivateBus()
    let served = ServedDaemon(noticesWithin: milliseconds)
    served.daemon.joinSessionBus()
    return (bus, served)
  }

  @Test func noticeIsShown() throws {
    let (bus, served) = joined()
    let server = Server(loop: served.loop)
    served.daemon.notifier.take(.show(notice(1)))
    #expect(run(served.loop, seconds: 30, until: { server.notices.count == 1 }))
    let shown = try #require(server.notices.first)
    #expect(shown["app"]?.text == "XPasteBridge" && shown["summary"]?.text == "Paste refused")
    #expect(shown["body"]?.text?.contains("No &lt;b&gt;way&lt;/b&gt; &amp; out.") == true)
    #expect(shown["actions"]?.elements.count == 0 && shown["timeout"]?.number == -1)
    let hints = shown["hints"]
    #expect(hints?["urgency"]?.number == 1 && hints?["desktop-entry"]?.text == "xpastebridge")
    #expect(hints?["category"]?.text == "transfer.error")
    #expect(run(served.loop, until: { served.daemon.notifier.shownCount == 1 }))
    #expect(served.daemon.notifier.state == .ready)
    bus.end()
    #expect(run(served.loop, until: { served.daemon.notifier.state == .off }))
    served.daemon.notifier.take(.show(notice(2)))
  }

  /// The button counts if the server that showed the notice says so, and from nobody else.
  @Test func buttonAllowsOnce() throws {
    let (bus, served) = joined()
    var server = Server(loop: served.loop)
    served.daemon.notifier.take(.show(notice(7, offers: true)))
    #expect(run(served.loop, seconds: 30, until: { served.daemon.notifier.shownCount == 1 }))
    #expect(server.notices.first?["actions"]?.elements.compactMap(\.text) == ["allow-once", "Allow once"])
    #expect(server.notices.first?["timeout"]?.number == 60_000)
    let forgery = """
      for id in 1 2 7; do
        /usr/bin/gdbus emit --session --object-path /org/freedesktop/Notifications \
          --signal org.freedesktop.Notifications.ActionInvoked $id allow-once
      done
      """
    let forger = ChildRun(["-c", forgery], program: "/bin/sh")
    #expect(forger.wait(served.loop, seconds: 20) == 0)
    // What was sent before this is here when it is answered.
    #expect(served.call("status").wait(served.loop) == 0)
    run(served.loop, seconds: 0.2)
    #expect(served.session.allowances == [])
    server.end()
    server = Server("click", loop: served.loop)
    #expect(run(served.loop, seconds: 30, until: { served.session.allowances == [7] }), "shown again, and clicked")
    bus.end()
  }

  /// What is over is taken away; what is shown under a number takes the place of what was.
  @Test func noticesEnd() throws {
    let (bus, served) = joined()
    let server = Server(loop: served.loop)
    let notifier = served.daemon.notifier
    notifier.take(.show(notice(3, offers: true)))
    #expect(run(served.loop, seconds: 30, until: { notifier.shownCount == 1 }))
    notifier.take(.show(notice(3, offers: true)))
    #expect(run(served.loop, seconds: 30, until: { notifier.shownCount == 2 }))
    #expect(server.notices.map { $0["replaces"]?.number } == [0, 1])
    notifier.take(.close(3))
    #expect(run(served.loop, seconds: 30, until: { server.calls("CloseNotification").count == 1 }))
    #expect(server.calls("CloseNotification").first?["id"]?.number == 1)
    // One that is over before the server has answered goes as soon as it is there.
    notifier.take(.show(notice(4, offers: true)))
    notifier.take(.show(notice(5, offers: true)))
    notifier.take(.close(5))
    notifier.take(.close(4))
    #expect(run(served.loop, seconds: 30, until: { server.calls("CloseNotification").count == 3 }))
    bus.end()
  }

  /// Without buttons the command is named in their place; without markup nothing is escaped.
  @Test func simpleServers() throws {
    let (bus, served) = joined()
    var server = Server("without=actions", "without=body-markup", loop: served.loop)
    served.daemon.notifier.take(.show(notice(1, offers: true)))
    #expect(run(served.loop, seconds: 30, until: { server.notices.count == 1 }))
    #expect(server.notices.first?["actions"]?.elements.count == 0)
    let body = server.notices.first?["body"]?.text ?? ""
    #expect(body.contains("Run `xpastebridge allow-once 1`, then paste again") && body.contains("No <b>way</b> & out."))
    server.end()
    server = Server("without=body", loop: served.loop)
    #expect(run(served.loop, seconds: 30, until: { server.notices.count == 1 }))
    #expect(server.notices.first?["summary"]?.text?.hasPrefix("Allow this paste?: ") == true)
    bus.end()
  }

  /// Nobody waits for a server that is silent or deaf, and what it may keep open has a limit.
  @Test(arguments: ["silent", "deaf"]) func hangingServer(_ how: String) throws {
    let (bus, served) = joined(answersWithin: 500)
    let server = Server(how, loop: served.loop)
    let notifier = served.daemon.notifier
    for number in 1...200 as ClosedRange<UInt64> { notifier.take(.show(notice(number))) }
    #expect(served.call("status").wait(served.loop) == 0, "all else is served")
    #expect(run(served.loop, seconds: 30, until: { notifier.state == .unresponsive }))
    #expect(server.notices.count <= Notifier.mostOutstanding)
    #expect(served.messages.count { $0.contains("the notification server doesn't answer") } == 1)
    for number in 201...400 as ClosedRange<UInt64> { notifier.take(.show(notice(number))) }
    run(served.loop, seconds: 0.2)
    #expect(server.notices.count <= Notifier.mostOutstanding, "and isn't asked again at once")
    // A minute later it is, and also as soon as there is another one.
    server.end()
    let next = Server(loop: served.loop)
    notifier.take(.show(notice(500)))
    #expect(run(served.loop, seconds: 30, until: { next.notices.count == 1 }))
    bus.end()
  }

  /// A bus that stands still is no reason to wait, either.
  @Test func hangingBus() {
    let (bus, served) = joined()
    let server = Server(loop: served.loop)
    served.daemon.notifier.take(.show(notice(1)))
    #expect(run(served.loop, seconds: 30, until: { server.notices.count == 1 }))
    kill(bus.processID, SIGSTOP)
    let begun = Date()
    for number in 2...2_000 as ClosedRange<UInt64> { served.daemon.notifier.take(.show(notice(number))) }
    #expect(served.call("status").wait(served.loop) == 0)
    #expect(Date().timeIntervalSince(begun) < 10)
    kill(bus.processID, SIGCONT)
    #expect(run(served.loop, seconds: 30, until: { server.notices.count > Notifier.mostOutstanding }))
    #expect(server.notices.count < 2 + Notifier.mostOutstanding + Notifier.mostWaiting)
    bus.end()
  }

  /// One that dies is asked anew when it is there again; questions that are still open are shown once more.
  @Test func serverComesBack() throws {
    let (bus, served) = joined()
    let server = Server("quit-after=2", loop: served.loop)
    let notifier = served.daemon.notifier
    notifier.take(.show(notice(1, offers: true)))
    notifier.take(.show(notice(2)))
    #expect(run(served.loop, seconds: 30, until: { server.hasEnded() }), "\(notifier.state), \(served.messages)")
    #expect(run(served.loop, until: { notifier.state != .ready }))
    notifier.take(.show(notice(3)))
    #expect(run(served.loop, until: { notifier.state == .absent }), "nobody is there, and the bus says so")
    #expect(served.messages.count { $0.contains("there is no notification server") } == 1)
    let next = Server(loop: served.loop)
    #expect(run(served.loop, seconds: 30, until: { next.notices.count == 1 }))
    #expect(next.notices.first?["summary"]?.text == "Allow this paste?")
    notifier.take(.show(notice(4)))
    #expect(run(served.loop, seconds: 30, until: { next.notices.count == 2 }))
    bus.end()
  }

  /// No server and no bus: one line, and nothing else.
  @Test func nobodyThere() {
    let (bus, served) = joined()
    for number in 1...3 as ClosedRange<UInt64> { served.daemon.notifier.take(.show(notice(number))) }
    #expect(run(served.loop, until: { served.daemon.notifier.state == .absent }))
    served.daemon.notifier.take(.show(notice(4)))
    run(served.loop, seconds: 0.1)
    #expect(served.messages.count { $0.contains("there is no notification server") } == 1)
    #expect(Set(served.session.notShown.map(\.number)) == [1, 2, 3, 4], "none of them takes room in its minute")
    #expect(served.session.notShown.count == 4, "each is given back once")
    bus.end()
    let alone = ServedDaemon()
    alone.daemon.notifier.take(.show(notice(1)))
    #expect(alone.daemon.notifier.state == .off && alone.messages == [])
    #expect(alone.session.notShown.map(\.number) == [1])
  }

  /// A policy that can't be read is told when there is a bus, and the notice goes when it can be read again.
  @Test func policyTrouble() {
    let bus = SessionBusTests.PrivateBus()
    let served = ServedDaemon(PolicyReading(policy: nil, errors: ["/etc/a.yaml:3:7: unknown key `x`"]))
    served.reload()
    served.daemon.joinSessionBus()
    let server = Server(loop: served.loop)
    #expect(run(served.loop, seconds: 30, until: { server.notices.count == 1 }))
    #expect(server.notices.first?["summary"]?.text == "The clipboard's policy has errors")
    #expect(run(served.loop, seconds: 30, until: { served.daemon.notifier.shownCount == 1 }))
    served.source.answer = PolicyReading(policy: .allowEverything)
    served.reload()
    #expect(run(served.loop, seconds: 30, until: { server.calls("CloseNotification").count == 1 }))
    bus.end()
  }
}
