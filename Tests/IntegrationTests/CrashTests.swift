import Foundation
import Glibc
import Testing

extension IntegrationTests {
  /// A crash without a service manager, and what a crash could show of content. With one: `Tests/ServiceTests`.
  @Suite(.serialized) struct CrashTests {
    @Test("without a service manager a crash loses the content, and that is said before and after")
    func nothingIsKept() throws {
      let desktop = try Desktop()
      defer { desktop.close() }
      let owner = try desktop.owner("target UTF8_STRING text:gone")
      let bridge = try Bridge(on: desktop)
      try owner.claim()
      try bridge.sync()
      owner.quit()
      #expect(try desktop.probe.text() == "gone")
      let store = Event(try bridge.json("status") as? [String: Any] ?? [:]).fields["store"] as? [String: Any]
      #expect(store?["state"] as? String == "none")
      #expect(store?["reason"] as? String == "no service manager keeps it")
      bridge.child.signal(SIGKILL)
      _ = try bridge.child.exitStatus(within: 5)
      let next = try Bridge(on: desktop)
      try next.sync()
      #expect(try desktop.probe.text() == nil)
      #expect(try next.status().text("state") != "held")
      #expect(desktop.log("xpastebridge").contains("content doesn't survive a crash: no service manager keeps it"))
      try next.stop()
    }

    /// Small content passes through libxcb's buffers on its way in and out, large content doesn't.
    @Test(
      "content stands in pages that no core dump has, and nowhere once it is replaced",
      .enabled(if: geteuid() == 0, "reading another process's memory needs root"), arguments: ["", ":5M"])
    func memory(size: String) throws {
      let token = "TOKEN-\(UInt64.random(in: 0...UInt64.max))"
      let content = size.isEmpty ? "text:\(token)" : "size\(size):\(token)"
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING \(content)", "target text/html \(content)")
        for target in ["UTF8_STRING", "text/html"] {
          #expect(try scene.paster.convert(target).text("state") == "answered")
        }
        try scene.bridge.sync()
        let pid = scene.bridge.child.pid
        let holders = try MemoryScan(of: pid).holders(of: Data(token.utf8))
        #expect(!holders.isEmpty, "the scan finds what is there")
        // What another process could get: a core dump leaves out `dd`.
        #expect(holders.allSatisfy { $0.flags.contains("dd") }, "\(holders)")
        let usage = Event(try scene.bridge.json("status") as? [String: Any] ?? [:]).fields["memory"] as? [String: Any]
        if usage?["unlockedBytes"] as? Int == 0 {
          #expect(holders.allSatisfy { $0.flags.contains("lo") }, "\(holders)")
        }
        for name in ["environ", "cmdline"] {
          let text = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(pid)/\(name)"))
          #expect(text.range(of: Data(token.utf8)) == nil)
        }
        owner.quit()
        try scene.expectNextCopy()
        #expect(try MemoryScan(of: pid).holders(of: Data(token.utf8)).isEmpty, "wiped when freed")
        #expect(!scene.desktop.log("xpastebridge").contains(token))
      }
    }
  }
}
