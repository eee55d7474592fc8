import Foundation
import Testing

extension IntegrationTests {
  /// No X error caused by other clients' windows or atoms ends the daemon or one of its loops. It runs with
  /// `--fatal-x-errors`: an error that nobody owns would end it.
  @Suite(.serialized) struct K08Errors {
    @Test("a thousand requestors that are gone right after asking: B077", arguments: [10, 2 << 20])
    func goneRequestors(size: Int) throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING size:\(size)")
        owner.quit()
        let descriptors = scene.bridge.openDescriptors()
        let hasty = try scene.desktop.requestor()
        hasty.order("many 1000 UTF8_STRING destroy=ask deadline=500 wait=no")
        try scene.expectOthersServed(countingBytes(size))
        try hasty.wait("summary", within: 30)
        try scene.expectOthersServed(countingBytes(size))
        #expect(scene.bridge.openDescriptors() == descriptors)
        #expect(try scene.bridge.status().number("transfers") == 0)
      }
    }

    @Test("a thousand owners that exit before they are read: B078")
    func goneOwners() throws {
      try Scene.run { scene in
        let script = """
          i=0
          while [ $i -lt 1000 ]; do
            "$0" --display "$1" 'target UTF8_STRING text:x' claim 'exit 0' >/dev/null
            i=$((i+1))
          done
          """
        let program = try Place.clients.get() + "/xpb-owner"
        let done = try scene.desktop.run("/bin/sh", ["-c", script, program, scene.desktop.display], within: 60)
        #expect(done.status == 0)
        try scene.expectNextCopy()
      }
    }

    @Test(
      "owner windows that are destroyed while they own",
      arguments: ["target TARGETS do=vanish", "target a/b do=vanish"])
    func vanishingOwners(command: String) throws {
      try Scene.run { scene in
        for _ in 1...20 {
          let owner = try scene.desktop.owner("target UTF8_STRING text:x", command)
          owner.order("claim")
          try owner.wait("claimed")
          try scene.bridge.sync()
          owner.quit()
        }
        try scene.expectNextCopy()
      }
    }

    @Test(
      "atoms and windows that don't exist: K08",
      arguments: [
        "convert #4000000000", "convert UTF8_STRING property=#4000000000", "multiple UTF8_STRING=#4000000000",
        "multiple #4000000000=P1 UTF8_STRING=P2", "forge request window=1 requestor=1",
        "forge request requestor=4000000000", "forge request target=#4000000000 property=#4000000001",
        "forge notify target=#4000000000", "forge property property=#4000000000", "forge request requestor=0",
        "convert MULTIPLE", "convert MULTIPLE property=none", "convert UTF8_STRING time=4294967295",
        "forge request times=1000", "forge notify times=1000", "forge clear times=1000",
      ])
    func bogus(command: String) throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:x")
        let odd = try scene.desktop.requestor()
        odd.order(command + (command.hasPrefix("forge") ? "" : " deadline=1000 wait=no"))
        try odd.tell("sync")
        try scene.bridge.sync()
        try scene.expectOthersServed(Data("x".utf8))
        try scene.expectNextCopy()
      }
    }

    @Test("copies, pastes and questions all at once: no wrong bytes: B083")
    func everythingAtOnce() throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner(
          "target UTF8_STRING size:100000", "target text/html size:600000", "report no")
        try owner.claim()
        try scene.bridge.sync()
        owner.order("repeat 100 20")
        let readers = try (1...3).map { _ in try scene.desktop.requestor() }
        for reader in readers { reader.order("loop 200 text/html interval=5 wait=no") }
        for _ in 1...40 {
          _ = try scene.bridge.status()
          expectSame(try scene.paster.paste(), countingBytes(100_000), "UTF8_STRING")
        }
        for reader in readers {
          let summary = try reader.wait("summary", within: 30)
          #expect(summary.number("answered") == 200, "\(summary)")
          #expect(summary.number("different") == 0)
          #expect(summary.number("bytes") == 200 * 600_000)
        }
      }
    }
  }
}
