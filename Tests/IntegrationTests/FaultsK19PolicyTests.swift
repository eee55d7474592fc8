import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// Deny wins, a denial is visible, and nothing older is delivered in its place.
  @Suite(.serialized) struct K19Policy {
    private static let noPasteIntoB = """
      version: 1
      rules:
        - name: nothing into B
          to: {class: B}
          decision: deny
          message: "B may not read this."
      default: allow
      """

    @Test("a denied paste is refused, lists only metadata, and leaves one record with rule and line: B173")
    func deniedPaste() throws {
      try Scene.run(policy: Self.noPasteIntoB) { scene in
        _ = try scene.copied("class a A", "target UTF8_STRING text:s")
        let b = try scene.desktop.requestor("class b B")
        for _ in 1...5 { #expect(try b.convert("UTF8_STRING").text("state") == "refused") }
        #expect(try b.targets()?.filter(Exceptions.isContent) == [])
        let lines = try scene.bridge.audit().filter { $0.action == "paste" && $0.outcome == "refused" }
        #expect(lines.count <= 2, "repeated tries are merged: \(lines)")
        let line = try #require(lines.first)
        #expect(line.decision == "deny")
        #expect(line.rule == "nothing into B")
        #expect(line.file == scene.bridge.policyPath)
        #expect(line.line == 3)
        #expect(line.source?.windowClass == "A")
        #expect(line.destination?.windowClass == "B")
        #expect(line.selection == "clipboard")
      }
    }

    @Test(
      "a broken policy on reload leaves the last good one in force: B174 B197",
      arguments: ["version: 1\nrules: [\n", "version: 1\nrulez: []\n", ""])
    func brokenReload(policy: String) throws {
      try Scene.run(policy: Self.noPasteIntoB) { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        try scene.bridge.replacePolicy(policy)
        let b = try scene.desktop.requestor("class b B")
        #expect(try b.text() == nil)
        #expect(try scene.paster.text() == "s")
        if !policy.isEmpty {
          let status = String(describing: try scene.bridge.json("status"))
          #expect(status.contains("policy.yaml"), "status names the file: \(status.prefix(400))")
        }
      }
    }

    @Test("after a denied copy neither it nor an older clip is pasted: B175 B091")
    func deniedCopy() throws {
      let policy = """
        version: 1
        rules:
          - name: B copies nothing
            from: {class: B}
            actions: [copy, cut]
            decision: deny
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        _ = try scene.copied("class a A", "target UTF8_STRING text:X")
        let b = try scene.copied("class b B", "target UTF8_STRING text:Y")
        #expect(try scene.paster.text() == nil)
        #expect(try scene.paster.targets()?.filter(Exceptions.isContent) == [])
        #expect(try b.requests(for: "UTF8_STRING") == 0)
        #expect(try b.status().flag("owned") == false)
        #expect(try scene.paster.text("UTF8_STRING", "time=fresh") == nil)
        let line = try #require(try scene.bridge.audit().last { $0.action == "copy" })
        #expect(line.decision == "deny")
        #expect(line.rule == "B copies nothing")
        // What comes after is as free as ever.
        _ = try scene.copied("class a A", "target UTF8_STRING text:Z")
        #expect(try scene.paster.text() == "Z")
      }
    }

    private static let textOnlyIntoB = """
      version: 1
      rules:
        - name: text alone into B
          to: {class: B}
          targets: [image, files, html]
          decision: deny
      default: allow
      """

    @Test("targets denied to an app are in none of its answers, also not in MULTIPLE: B179 B187")
    func deniedTargets() throws {
      try Scene.run(policy: Self.textOnlyIntoB) { scene in
        _ = try scene.copied(
          "target UTF8_STRING text:s", "target image/png size:30", "target text/uri-list text:file:///a",
          "target text/html text:h")
        let b = try scene.desktop.requestor("class b B")
        let listed = Set(try b.targets() ?? []).filter(Exceptions.isContent)
        #expect(listed.isSubset(of: Exceptions.addedSpellings) && listed.contains("UTF8_STRING"), "\(listed)")
        for target in ["image/png", "text/uri-list", "text/html"] {
          #expect(try b.convert(target).text("state") == "refused", "\(target)")
        }
        try b.tell("multiple UTF8_STRING=P1 image/png=P2")
        let answer = try b.wait("answer") { $0.text("target") == "MULTIPLE" }
        #expect(answer.list("atoms") == ["UTF8_STRING", "P1", "image/png", ""])
        #expect(try b.text() == "s")
        #expect(try scene.paster.convert("image/png").number("bytes") == 30)
      }
    }

    @Test("an app reads its own clip back, others don't: B180")
    func sameApp() throws {
      let policy = """
        version: 1
        rules:
          - name: A stays in A
            from: {class: A}
            to: any
            decision: deny
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        let owner = try scene.copied("class a A", "target UTF8_STRING text:s")
        #expect(try scene.paster.text() == nil)
        #expect(owner.child.isAlive)
        // Its window has the class by which the next program's is looked for.
        owner.quit()
        // The same program and class is the same app.
        let gtk = try WindowProgram(scene.desktop, .gtk, windowClass: "A")
        try gtk.copy(Data("own".utf8))
        try scene.bridge.sync()
        #expect(try gtk.paste(expecting: 3) == Data("own".utf8))
        #expect(try scene.paster.text() == nil)
      }
    }

    @Test("the first rule that matches decides, and deny stays deny beside a later allow: B183")
    func bothLists() throws {
      let policy = """
        version: 1
        rules:
          - name: not B
            to: {class: B}
            decision: deny
          - name: B after all
            to: {class: B}
            decision: allow
        default: allow
        """
      try Scene.run(policy: policy) { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        #expect(try scene.desktop.requestor("class b B").text() == nil)
      }
    }

    @Test("PRIMARY that is off is left alone: B184")
    func primaryOff() throws {
      try Scene.run(policy: "version: 1\nprimary: off\ndefault: allow\n") { scene in
        let owner = try scene.desktop.owner("selection PRIMARY", "target UTF8_STRING text:p")
        try owner.claim()
        try scene.bridge.sync()
        let status = try owner.status(of: "PRIMARY")
        #expect(status.number("requests") == 0)
        #expect(status.flag("owned"))
      }
    }

    @Test("the requesting window decides, not the focus: B185")
    func focusElsewhere() throws {
      try Scene.run(policy: Self.noPasteIntoB) { scene in
        let a = try scene.copied("class a A", "target UTF8_STRING text:s")
        let b = try scene.desktop.requestor("class b B")
        try a.tell("focus")
        try a.tell("sync")
        #expect(try b.text() == nil)
      }
    }

    @Test("a new policy counts for the clip that is there: B188")
    func reloadedPolicy() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:s")
        let b = try scene.desktop.requestor("class b B")
        #expect(try b.text() == "s")
        try scene.bridge.replacePolicy(Self.noPasteIntoB)
        #expect(try b.text() == nil)
      }
    }

    @Test(
      "a runtime folder that can't be used is named, and the daemon guards without it: B186",
      arguments: ["file", "missing"])
    func unusableRuntimeFolder(kind: String) throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let folder = desktop.path("runtime")
      if kind == "file" { try Data().write(to: URL(fileURLWithPath: folder)) }
      let policy = desktop.path("policy.yaml")
      try Self.noPasteIntoB.write(toFile: policy, atomically: true, encoding: .utf8)
      let daemon = try desktop.start(
        try Bridge.binary(), ["run", "--display", desktop.display, "--policy", policy, "--fatal-x-errors", "--no-bus"],
        keepsOutput: false, adding: ["XDG_RUNTIME_DIR": folder])
      #expect(
        try waitUntil(within: 5) { try desktop.probe.ownerWindow(of: "_XPASTEBRIDGE_S0") != 0 || !daemon.isAlive })
      let isNamed = waitUntil(within: 5) { desktop.log("xpastebridge").contains(folder) }
      #expect(isNamed, "found \(desktop.log("xpastebridge"))")
      let owner = try desktop.owner("target UTF8_STRING text:s")
      try desktop.takingClipboard { try owner.claim() }
      #expect(try waitUntil(within: 5) { try owner.status().flag("owned") == false }, "it guards")
      #expect(try desktop.requestor("class b B").text() == nil)
      #expect(try desktop.probe.text() == "s")
      daemon.signal(SIGTERM)
      #expect(try daemon.exitStatus(within: 5) == 0)
    }

    @Test("an audit file that can't be written stops the start with its path, or is told in status: B186")
    func unusableAuditFile() throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let path = desktop.path("folder-in-its-place")
      mkdir(path, 0o700)
      let daemon = try desktop.start(
        try Bridge.binary(), ["run", "--display", desktop.display, "--audit-file", path, "--no-bus"], keepsOutput: false
      )
      _ = try waitUntil(within: 5) { try desktop.probe.ownerWindow(of: "_XPASTEBRIDGE_S0") != 0 || !daemon.isAlive }
      #expect(
        waitUntil(within: 2) { desktop.log("xpastebridge").contains(path) }, "found \(desktop.log("xpastebridge"))")
    }
  }
}
