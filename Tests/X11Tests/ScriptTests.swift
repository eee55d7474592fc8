import Foundation
import Policy
import Testing

@testable import XPasteBridge

/// What interpreters and their like were told to run.
@Suite(.serialized) struct ScriptTests {
  /// One command line and what is made of it.
  nonisolated struct Line: Sendable, CustomTestStringConvertible {
    var executable: String
    var words: [String]
    var told: ToldScript?

    init(_ executable: String, _ line: String, _ told: ToldScript?) {
      self.executable = executable
      words = line.split(separator: " ").map(String.init)
      self.told = told
    }

    var testDescription: String { words.joined(separator: " ") }
  }

  nonisolated static let lines = [
    Line("/usr/bin/python3.11", "python3 /opt/tool.py --x", .file("/opt/tool.py")),
    Line("/usr/bin/python3.11", "python3 -I tool.py", .file("tool.py")),
    Line("/usr/bin/python3.11", "python3 -W ignore -X dev -OO tool.py", .file("tool.py")),
    Line("/usr/bin/python3.11", "python3 -Wignore tool.py", .file("tool.py")),
    Line("/usr/bin/python3.11", "python3 -Im acme.tool arg", .name("acme.tool")),
    Line("/usr/bin/python3.11", "python3 -macme.tool", .name("acme.tool")),
    Line("/usr/bin/python3.11", "python3 -c pass /opt/tool.py", nil),
    Line("/usr/bin/python3.11", "python3 -Ic pass /opt/tool.py", nil),
    Line("/usr/bin/python3.11", "python3 - /opt/tool.py", nil),
    Line("/usr/bin/python3.11", "python3", nil),
    Line("/usr/bin/python3.11", "python3 -- -odd.py", .file("-odd.py")),
    Line("/usr/bin/perl", "perl -w -I lib -Mstrict /usr/bin/ack x", .file("/usr/bin/ack")),
    Line("/usr/bin/perl", "perl -we print /opt/x.pl", nil),
    Line("/usr/bin/bash", "bash -e /opt/run.sh", .file("/opt/run.sh")),
    Line("/usr/bin/bash", "bash --rcfile rc -o pipefail +o history /opt/run.sh", .file("/opt/run.sh")),
    Line("/usr/bin/bash", "bash -lc /opt/run.sh", nil),
    Line("/usr/bin/dash", "sh /opt/run.sh", .file("/opt/run.sh")),
    Line("/usr/bin/node", "node --require x --inspect=1 app.js", .file("app.js")),
    Line("/usr/bin/node", "node -e 1 app.js", nil),
    Line("/usr/lib/jvm/java-17/bin/java", "java -Xmx1g -cp a:b com.acme.Main x", .name("com.acme.Main")),
    Line("/usr/lib/jvm/java-17/bin/java", "java -Da=b -jar /opt/ledger.jar x", .file("/opt/ledger.jar")),
    Line("/usr/lib/jvm/java-17/bin/java", "java -p mods -m com.acme/com.acme.Main", .name("com.acme/com.acme.Main")),
    Line("/usr/lib/jvm/java-17/bin/java", "java @args", nil),
    Line("/usr/bin/wish8.6", "wish -encoding utf-8 tool.tcl", .file("tool.tcl")),
    Line("/usr/bin/wish8.6", "wish -name probe tool.tcl", nil),
    Line("/usr/bin/ruby3.1", "ruby -r json -Ilib tool.rb", .file("tool.rb")),
    Line("/usr/bin/php8.2", "php -d a=1 -f tool.php", .file("tool.php")),
    Line("/usr/bin/gjs-console", "gjs -m /opt/app.js", .file("/opt/app.js")),
    Line(
      "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "ld.so --library-path /x /opt/tool y", .file("/opt/tool")),
    // Parsers alone: no Wine runs in the tests.
    Line(
      "/usr/lib/wine/wine64-preloader", #"C:\windows\system32\notepad.exe"#, .name(#"C:\windows\system32\notepad.exe"#)),
    Line("/usr/bin/wine", #"wine C:\Ledger.EXE x"#, .name(#"C:\Ledger.EXE"#)),
    Line("/usr/lib/wine/wine64", "wine64", nil),
  ]

  @Test(arguments: lines)
  func commandLines(line: Line) throws {
    let kind = try #require(ScriptKind(executable: line.executable))
    #expect(kind.script(commandLine: line.words) == line.told)
  }

  @Test(arguments: ["/usr/bin/xterm", "/usr/bin/pythonic", "/opt/python3/tool", "/usr/lib/wine/wineserver", "/", ""])
  func otherProgramsAreWhatTheyAre(path: String) { #expect(ScriptKind(executable: path) == nil) }

  /// A program of the test's own, ended with it.
  private final class Program {
    let process = Process()

    init(_ path: String, _ arguments: [String], in folder: URL, adding: [String: String] = [:]) throws {
      process.executableURL = URL(fileURLWithPath: path)
      process.arguments = arguments
      process.currentDirectoryURL = folder
      process.environment = ProcessInfo.processInfo.environment.merging(adding) { $1 }
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
    }

    deinit { kill(process.processIdentifier, SIGKILL) }

    /// The record, once the program itself runs and not what starts it.
    func record(running name: String) throws -> ProcessRecord {
      try waitFor("\(name) to run") {
        guard let record = ProcessRecord(process.processIdentifier),
          record.executable?.value.split(separator: "/").last?.hasPrefix(name) ?? false,
          // The kernel has the new executable a moment before the new command line.
          !ProcessFile.words(AT_FDCWD, "/proc/\(process.processIdentifier)/cmdline").isEmpty, record.refresh()
        else { return nil }
        return record
      }
    }
  }

  private func folder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("xpb-script-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  private func write(_ text: String, to name: String, in folder: URL) throws -> String {
    let path = folder.appendingPathComponent(name)
    try text.write(to: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path.path)
    return path.path
  }

  @Test func aScriptThatTheKernelStartedIsFoundByItsPath() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    for (interpreter, line, text) in [
      ("python3", "#!/usr/bin/python3 -I", "import time; time.sleep(60)"),
      ("perl", "#!/usr/bin/perl -w", "sleep 60"),
      ("python3", "#!/usr/bin/env python3", "import time; time.sleep(60)"),
    ] {
      let path = try write("\(line)\n\(text)\n", to: "tool", in: folder)
      let link = folder.appendingPathComponent("link").path
      try? FileManager.default.removeItem(atPath: link)
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
      for start in [path, link] {
        let record = try Program(start, [], in: folder).record(running: interpreter)
        #expect(record.script == Fact(path, .declared), "\(line) by \(start)")
        #expect(record.executable?.evidence == .attested)
      }
    }
  }

  @Test func aRelativePathIsOfTheFolderInWhichItBegan() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = try write(
      "import sys, os\nsys.stdin.read()\nos.chdir('/')\nimport time; time.sleep(60)\n", to: "tool.py", in: folder)
    let process = Process()
    let input = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = ["tool.py"]
    process.currentDirectoryURL = folder
    process.standardInput = input
    try process.run()
    defer { kill(process.processIdentifier, SIGKILL) }
    let record = try waitFor("Python") {
      ProcessRecord(process.processIdentifier).flatMap { $0.script == nil ? nil : $0 }
    }
    #expect(record.script == Fact(path, .declared))
    try input.fileHandleForWriting.close()
    _ = try waitFor("the other folder") {
      ProcessFile.link(AT_FDCWD, "/proc/\(process.processIdentifier)/cwd") == "/" ? true : nil
    }
    // The command line is asked again after a second, and says the same.
    _ = try waitFor("a second look") { () -> Bool? in
      usleep(300_000)
      return record.refresh() && record.script?.value == path ? true : nil
    }
    // Who looks now for the first time can't know where it was, and doesn't guess.
    #expect(ProcessRecord(process.processIdentifier)?.script == nil)
  }

  @Test func anInterpreterThatRunsAnotherScriptIsAnotherProgram() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let second = try write("import time; time.sleep(60)\n", to: "second.py", in: folder)
    let first = try write(
      "import os, sys, time\ntime.sleep(0.2)\nos.execv(sys.executable, [sys.executable, '\(second)'])\n",
      to: "first.py", in: folder)
    let program = try Program("/usr/bin/python3", [first], in: folder)
    let record = try program.record(running: "python3")
    _ = try waitFor("the second script") { record.refresh() && record.script?.value == second ? true : nil }
  }

  /// The shape of an AppImage's mount, without FUSE: what is asked of the process is the same.
  @Test func anAppImageIsKnownByItsFile() throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let mount = folder.appendingPathComponent(".mount_LedgerA1b2C3/usr/bin")
    try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: true)
    let inside = mount.appendingPathComponent("ledger").path
    try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: inside)
    let image = try write("", to: "Ledger.AppImage", in: folder)
    let record = try Program(inside, ["60"], in: folder, adding: ["APPIMAGE": image]).record(running: "ledger")
    #expect(record.script == Fact(image, .declared))
    // Without the runtime's word nothing is known but the path in the mount.
    let bare = try Program(inside, ["60"], in: folder).record(running: "ledger")
    #expect(bare.script == nil)
  }

  /// A path on a file system that never answers would stop the daemon if it were looked up like any other.
  @Test func whatTheKernelDoesntKnowAtOnceIsTakenAsTold() {
    let own = open("/proc/self", O_RDONLY | O_DIRECTORY)
    defer { close(own) }
    #expect(ScriptFile.path(of: .file("/no/such/tool.py"), in: own) == "/no/such/tool.py")
    #expect(ScriptFile.path(of: .file("no-such-tool.py"), in: own) == nil)
    #expect(ScriptFile.path(of: .name("acme.tool"), in: own) == "acme.tool")
  }

  @Test func snapsAndFlatpaks() {
    #expect(
      Sandbox.name(cgroupPath: "/x.scope", flatpak: nil, label: "snap.firefox.geckodriver (enforce)\n")
        == "snap:firefox")
    #expect(Sandbox.name(cgroupPath: "/x.scope", flatpak: nil, label: "unconfined\n") == nil)
    #expect(Sandbox.name(cgroupPath: "/x.scope", flatpak: nil, label: "snap.\n") == nil)
    #expect(
      Sandbox.name(cgroupPath: "/u/snap.ledger_two.ledger-aa.scope", flatpak: nil) == "snap:ledger_two")
    // As snapd 2.63 and flatpak 1.14 name them, below a user's service manager.
    let user = "/user.slice/user-1000.slice/user@1000.service/app.slice/"
    #expect(
      Sandbox.name(
        cgroupPath: user + "snap.firefox.firefox-4f1d1c1e-0f0a-4d3c-8f3e-1f7a8f0e2b11.scope", flatpak: nil)
        == "snap:firefox")
    #expect(
      Sandbox.name(cgroupPath: user + "app-flatpak-org.gnome.Maps-2941.scope", flatpak: nil)
        == "flatpak:org.gnome.Maps")
  }

  @Test func forwardersAreKnownByWhatIsAttested() {
    #expect(Forwarder.isOne(Fact("/usr/bin/ssh", .attested)))
    #expect(Forwarder.isOne(Fact("/usr/sbin/sshd", .attested)))
    #expect(!Forwarder.isOne(Fact("/usr/bin/ssh", .declared)))
    #expect(!Forwarder.isOne(Fact("/usr/bin/ssh-askpass", .attested)))
    #expect(!Forwarder.isOne(nil))
  }
}
