import Foundation
import Policy
import Selection
import Testing

@testable import X11
@testable import XPasteBridge

/// A program under test.
nonisolated struct ProbeCase: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var path: String
  var arguments: [String]
  var input: String?
  var executable: String
  var windowClass: String?
}

nonisolated enum Programs {
  static let gtk = """
    import gi
    gi.require_version('Gtk', '3.0')
    from gi.repository import Gtk, Gdk, GLib
    import sys
    win = Gtk.Window(); win.show_all()
    clip = Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD)
    if sys.argv[1] == 'own':
        GLib.timeout_add(50, lambda: clip.set_text('x', -1))
    else:
        GLib.timeout_add(50, lambda: clip.request_text(lambda c, t: None) or True)
    Gtk.main()
    """
  static let qt = """
    import sys
    from PyQt5 import QtWidgets, QtCore
    app = QtWidgets.QApplication(['qtprobe'])
    win = QtWidgets.QLabel('x'); win.show()
    clip = app.clipboard()
    timer = QtCore.QTimer()
    if sys.argv[1] == 'own':
        timer.timeout.connect(lambda: clip.setText('x')); timer.setSingleShot(True)
    else:
        timer.timeout.connect(lambda: clip.text())
    timer.start(50)
    app.exec_()
    """
  static let python = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/usr/bin/python3")) ?? "python3"

  static let owners = [
    ProbeCase(
      testDescription: "xclip", path: "/usr/bin/xclip", arguments: ["-selection", "clipboard", "-quiet"], input: "x",
      executable: "/usr/bin/xclip"),
    ProbeCase(
      testDescription: "xsel", path: "/usr/bin/xsel", arguments: ["-i", "-b", "--nodetach"], input: "x",
      executable: "/usr/bin/xsel"),
    ProbeCase(
      testDescription: "wish", path: "/usr/bin/wish", arguments: ["-name", "probe"],
      input: "clipboard clear; clipboard append x\n", executable: "/usr/bin/wish8.6", windowClass: "Probe"),
    ProbeCase(
      testDescription: "GTK 3", path: "/usr/bin/python3", arguments: ["-c", gtk, "own"],
      executable: "/usr/bin/\(python)", windowClass: "-c"),
    ProbeCase(
      testDescription: "Qt 5", path: "/usr/bin/python3", arguments: ["-c", qt, "own"],
      executable: "/usr/bin/\(python)", windowClass: "qtprobe"),
  ]

  static let requestors = [
    ProbeCase(
      testDescription: "xclip", path: "/usr/bin/xclip", arguments: ["-o", "-selection", "clipboard"],
      executable: "/usr/bin/xclip"),
    ProbeCase(testDescription: "xsel", path: "/usr/bin/xsel", arguments: ["-o", "-b"], executable: "/usr/bin/xsel"),
    ProbeCase(
      testDescription: "wish", path: "/usr/bin/wish", arguments: ["-name", "probe"],
      input: "update; catch {clipboard get}\n", executable: "/usr/bin/wish8.6", windowClass: "Probe"),
    ProbeCase(
      testDescription: "GTK 3", path: "/usr/bin/python3", arguments: ["-c", gtk, "ask"],
      executable: "/usr/bin/\(python)", windowClass: "-c"),
    ProbeCase(
      testDescription: "Qt 5", path: "/usr/bin/python3", arguments: ["-c", qt, "ask"],
      executable: "/usr/bin/\(python)", windowClass: "qtprobe"),
  ]
}

/// Real programs, as owner and as requestor.
@Suite(.serialized) struct ProgramTests {
  let server: PrivateServer
  let display: Display
  let resolver: SubjectResolver
  let clipboard: NamedAtom

  init() throws {
    server = try PrivateServer()
    display = try server.connect()
    resolver = SubjectResolver(display: display)
    clipboard = display.atoms.intern("CLIPBOARD")
  }

  private func expect(_ subject: Subject, _ program: Process, _ probe: ProbeCase) {
    guard case .local(let process) = subject.origin else {
      Issue.record("\(probe.testDescription): \(subject)")
      return
    }
    #expect(process.id == program.processIdentifier)
    #expect(subject.executable == Fact(probe.executable, .attested))
    #expect(subject.windowClass?.value.lowercased() == probe.windowClass?.lowercased())
  }

  @Test(arguments: Programs.owners) func owner(_ probe: ProbeCase) throws {
    try server.start("/usr/bin/openbox", [])
    let program = try server.start(probe.path, probe.arguments, input: probe.input)
    let window = try waitFor("\(probe.testDescription) as owner") {
      let owner = display.selectionOwner(clipboard.atom)
      return owner == .none ? nil : owner
    }
    // Tk takes the selection before its top-level has a class.
    if probe.windowClass != nil {
      _ = try waitFor("the class") { resolver.resolve(display.selectionOwner(clipboard.atom)).windowClass }
    }
    let now = display.selectionOwner(clipboard.atom)
    #expect(now == window)
    expect(resolver.resolve(now), program, probe)
    expect(resolver.resolve(now), program, probe)
  }

  @Test(arguments: Programs.requestors) func requestor(_ probe: ProbeCase) throws {
    #expect(display.claim(clipboard.atom, time: display.serverTime(), expecting: .none) == .held)
    let program = try server.start(probe.path, probe.arguments, input: probe.input)
    let subject = try waitFor("\(probe.testDescription) as requestor") { () -> Subject? in
      while let next = display.nextSelectionEvent(isServed: { _ in true }) {
        guard case .selection(.conversionRequested(let request)) = next else { continue }
        let subject = resolver.resolve(request.requestor)
        display.notify(request, property: .none)
        display.flush()
        return subject
      }
      return nil
    }
    expect(subject, program, probe)
  }
}
