import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// Programs as they run on people's machines: behind ssh, in name spaces, by an interpreter.
  @Suite(.serialized) struct FleetIdentityTests {
    private static func denying(_ who: String) -> String {
      """
      version: 1
      rules:
        - {name: meant, from: \(who), actions: [copy, cut], decision: deny}
      default: allow
      """
    }

    /// `unshare` with what it takes to make name spaces here.
    private static let unshare = getuid() == 0 ? [] : ["--user", "--map-root-user"]

    /// An owner that is started in another way than by its path.
    private func owner(
      _ program: String, _ arguments: [String], on desktop: Desktop, _ commands: String...
    ) throws -> Owner {
      let owner = Owner(try desktop.start(program, arguments), alive: desktop.alive)
      try owner.wait("windows")
      for command in commands { try owner.tell(command) }
      return owner
    }

    private func lastCopy(_ scene: Scene) throws -> AuditLine {
      try #require(try scene.bridge.audit().last { $0.action == "copy" }, "a record of the copy")
    }

    @Test("in a pid name space of its own a program is the process that we see")
    func pidNamespace() throws {
      let path = try Place.clients.get() + "/xpb-owner"
      try Scene.run(policy: Self.denying("{exe: \(path)}")) { scene in
        let owner = try owner(
          "/usr/bin/unshare",
          Self.unshare + ["--pid", "--fork", "--kill-child", path, "--display", scene.desktop.display],
          on: scene.desktop, "class boxed Boxed", "target UTF8_STRING text:s")
        try owner.claim()
        try scene.bridge.sync()
        let line = try lastCopy(scene)
        #expect(line.decision == "deny")
        #expect(line.rule == "meant")
        #expect(line.source?.executable == path)
        #expect(line.source?.windowClass == "Boxed")
        let status = try String(contentsOfFile: "/proc/\(line.source?.pid ?? 0)/status", encoding: .utf8)
        let numbers = status.split(separator: "\n").first { $0.hasPrefix("NSpid:") }?.split(
          whereSeparator: \.isWhitespace)
        #expect(numbers?.count == 3 && numbers?.last == "1", "two numbers, the inner one 1: \(numbers ?? [])")
      }
    }

    /// A root of the test's own with flatpak's file in it, as flatpak's bubblewrap makes one.
    private static let boxed = """
      set -e
      mount -t tmpfs none "$1"
      for name in bin etc lib lib64 proc dev sbin tmp usr; do
        [ -e "/$name" ] || continue
        if [ -L "/$name" ]; then cp -P "/$name" "$1/$name"; continue; fi
        mkdir "$1/$name"
        mount --rbind "/$name" "$1/$name"
      done
      mkdir -p "$1$2"
      mount --rbind "$2" "$1$2"
      printf '[Application]\\nname=org.example.Ledger\\n' >"$1/.flatpak-info"
      exec /usr/sbin/chroot "$1" "$3" --display "$4"
      """

    @Test("a program in flatpak's sandbox is known by its id, and its path only by its word")
    func flatpak() throws {
      let folder = try Place.clients.get()
      try Scene.run(policy: Self.denying("{sandbox: \"flatpak:org.example.*\"}")) { scene in
        let root = scene.desktop.path("root")
        mkdir(root, 0o700)
        let owner = try owner(
          "/usr/bin/unshare",
          Self.unshare + [
            "--mount", "/bin/sh", "-c", Self.boxed, "box", root, folder, folder + "/xpb-owner", scene.desktop.display,
          ],
          on: scene.desktop, "class boxed Boxed", "target UTF8_STRING text:s")
        try owner.claim()
        try scene.bridge.sync()
        let line = try lastCopy(scene)
        #expect(line.rule == "meant")
        #expect(line.source?.sandbox == "flatpak:org.example.Ledger")
        let clients = String(decoding: try scene.bridge.command("clients").output, as: UTF8.self)
        #expect(clients.contains("flatpak:org.example.Ledger"))
      }
    }

    @Test("a program that comes by TCP is remote, whatever it says")
    func overTCP() throws {
      let desktop = try Desktop(takesTCP: true)
      defer { desktop.close() }
      let bridge = try Bridge(on: desktop, policy: Self.denying("{remote: true, class: Ledger}"))
      let path = try Place.clients.get() + "/xpb-owner"
      let owner = try owner(
        path, ["--display", "127.0.0.1" + desktop.display], on: desktop, "class ledger Ledger", "pid \(getpid())",
        "target UTF8_STRING text:s")
      try owner.claim()
      try bridge.sync()
      let line = try #require(try bridge.audit().last { $0.action == "copy" })
      #expect(line.rule == "meant")
      #expect(line.source?.origin == "remote")
      #expect(line.source?.pid == nil)
      #expect(line.source?.executable == nil)
      // The same program by the socket is of this machine.
      let local = try desktop.owner("class ledger Ledger", "target UTF8_STRING text:s")
      try local.claim()
      try bridge.sync()
      let second = try #require(try bridge.audit().last { $0.action == "copy" })
      #expect(second.decision == "allow")
      #expect(second.source?.origin == "local")
      #expect(second.source?.executable == path)
      try bridge.stop()
    }

    /// Not ssh itself: a relay whose executable has its name. The X server sees the same, a local process that connects.
    @Test("what ssh -X brings is remote: it is neither ssh nor another program behind the same ssh")
    func behindSSH() throws {
      try Scene.run(policy: Self.denying("remote")) { scene in
        let ssh = scene.desktop.path("bin") + "/ssh"
        try FileManager.default.createDirectory(
          atPath: (ssh as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        let python = URL(fileURLWithPath: "/usr/bin/python3").resolvingSymlinksInPath().path
        try FileManager.default.copyItem(atPath: python, toPath: ssh)
        let relay = try scene.desktop.start(ssh, [Place.programs + "/relay.py"])
        let number = try #require(try relay.line(by: Deadline(seconds: 10)), "the relay's display")
        let display = "127.0.0.1:" + String(decoding: number, as: UTF8.self)
        let path = try Place.clients.get() + "/xpb-owner"
        let first = try owner(
          path, ["--display", display], on: scene.desktop, "class ledger Ledger", "target UTF8_STRING text:s")
        try first.claim()
        try scene.bridge.sync()
        let line = try lastCopy(scene)
        #expect(line.rule == "meant")
        #expect(line.source?.origin == "remote")
        #expect(line.source?.executable == nil)
        #expect(line.source?.windowClass == "Ledger")
        let second = try owner(path, ["--display", display], on: scene.desktop, "target UTF8_STRING text:t")
        try second.claim()
        try scene.bridge.sync()
        let next = try lastCopy(scene)
        #expect(next.source?.windowClass == nil, "no class, and not the other program's")
      }
    }

    @Test("a script is known before its window has a class")
    func classlessCopy() throws {
      let path = Place.programs + "/classless_owner.py"
      try Scene.run(policy: Self.denying("[{class: Ledger}, {script: \(path)}]")) { scene in
        let owner = try scene.desktop.start("/usr/bin/python3", [path])
        #expect(try owner.line(by: Deadline(seconds: 10)) == Data("owner".utf8))
        try scene.bridge.sync()
        let line = try lastCopy(scene)
        #expect(line.decision == "deny")
        #expect(line.source?.script == path)
        #expect(line.source?.evidence(of: "script") == "declared")
        #expect(line.source?.windowClass == nil)
        #expect(line.source?.evidence(of: "exe") == "attested")
        let clients = String(decoding: try scene.bridge.command("clients").output, as: UTF8.self)
        #expect(clients.contains(path))
        owner.end()
      }
    }

    @Test(
      "a window is identified by its number, and by a click on it or its frame",
      arguments: ["number", "click", "frame"])
    func identify(way: String) throws {
      try Scene.run(policy: Self.denying("{class: Shown}")) { scene in
        let owner = try scene.desktop.owner("class shown Shown", "top", "focus")
        let path = try Place.clients.get() + "/xpb-owner"
        let search = try scene.desktop.run("/usr/bin/xdotool", ["search", "--class", "Shown"])
        let window = try #require(
          String(decoding: search.output, as: UTF8.self).split(separator: "\n").last.map(String.init))
        let answer: Data
        if way == "number" {
          answer = try scene.bridge.command("identify", window, "--json").output
        } else {
          let child = try scene.desktop.start(
            try Bridge.binary(), ["identify", "--json", "--display", scene.desktop.display])
          #expect(waitUntil(within: 10) { scene.desktop.log("xpastebridge").contains("click the window") })
          // The title lies above the window.
          let place = way == "click" ? ["3", "3"] : ["3", "-8"]
          let clicked = try scene.desktop.run(
            "/usr/bin/xdotool", ["mousemove", "--window", window] + place + ["click", "1"])
          #expect(clicked.status == 0)
          answer = try child.everything(by: Deadline(seconds: 10))
          #expect(try child.exitStatus(within: 5) == 0)
        }
        let report = Event(try #require(try JSONSerialization.jsonObject(with: answer) as? [String: Any]))
        #expect(report.object("class")?.text("value") == "Shown")
        #expect(report.object("exe")?.text("value") == path)
        #expect(report.object("may")?.flag("copy") == false)
        #expect(report.object("may")?.flag("paste") == true)
        #expect(report.text("matcher") == "{exe: \"\(path)\"}")
        #expect(try scene.bridge.command("identify", "1").status == 1, "no such window")
        owner.quit()
      }
    }
  }
}
