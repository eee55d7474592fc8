import Foundation
import Testing

extension IntegrationTests {
  /// Order is decided by server time; the gap between capture and takeover is never visible as a false empty.
  @Suite(.serialized) struct K05Order {
    @Test("a copy during our capture wins over it: B044 B056")
    func copyDuringCapture() throws {
      try Scene.run { scene in
        let slow = try scene.desktop.owner("target UTF8_STRING text:one", "target TARGETS delay=600")
        try slow.claim()
        try slow.wait("request") { $0.text("target") == "TARGETS" }
        let quick = try scene.copied("target UTF8_STRING text:two", "target text/html text:<b>two</b>")
        #expect(try scene.paster.text() == "two")
        // The late answer must change nothing either.
        try slow.wait("request") { $0.text("outcome") == "served" }
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "two")
        #expect(try scene.paster.targets()?.contains("text/html") == true)
        _ = quick
      }
    }

    @Test("our claim carries the owner's own time, never CurrentTime: B045")
    func claimTime() throws {
      try Scene.run { scene in
        let owner = try scene.copied("target UTF8_STRING text:x")
        try scene.desktop.probe.tell("sync")
        let changes = scene.desktop.probe.events.filter { $0.name == "owner-change" && $0.number("window") != 0 }
        let mine = owner.events.last { $0.name == "claimed" }?.number("time")
        #expect(changes.count == 2, "the copy and our claim: \(changes)")
        #expect(changes.last?.number("claimed") == mine)
      }
    }

    @Test("we don't read ourselves: B048")
    func noSelfReading() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:x")
        try scene.desktop.probe.tell("sync")
        let before = scene.desktop.probe.count("owner-change")
        for _ in 1...5 { try scene.bridge.sync() }
        try scene.desktop.probe.tell("sync")
        #expect(scene.desktop.probe.count("owner-change") == before)
      }
    }

    @Test("read right after a copy, it is always the new value: B050")
    func readAtOnce() throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner()
        for round in 1...300 {
          try owner.tell("target UTF8_STRING text:value-\(round)")
          try owner.claim()
          #expect(try scene.paster.text() == "value-\(round)")
        }
      }
    }

    @Test("of several short-lived writers the last stays: B052")
    func shortLivedWriters() throws {
      try Scene.run { scene in
        for number in 0...4 {
          let owner = try scene.desktop.owner("target UTF8_STRING text:thread\\_#\(number)")
          try owner.claim()
          try scene.bridge.sync()
          owner.quit()
        }
        #expect(try scene.paster.text() == "thread #4")
      }
    }

    @Test("a second copy by a Tk program arrives like the first: B053")
    func secondTkCopy() throws {
      try Scene.run { scene in
        let tk = try ProgramKind.tk.start(on: scene.desktop)
        for text in ["A", "B"] {
          try tk.copy(Data(text.utf8))
          try scene.bridge.sync()
          #expect(try scene.paster.text() == text)
        }
      }
    }

    @Test("an owner that drops and takes again within moments keeps its content: B044 B050")
    func flapping() throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner("target UTF8_STRING text:steady")
        try owner.tell("flap 20 1")
        try owner.wait("series-end")
        try owner.claim()
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "steady")
      }
    }

    @Test("a claim with an old time is no copy, since the server ignores it: B044")
    func oldTime() throws {
      try Scene.run { scene in
        let first = try scene.copied("target UTF8_STRING text:first")
        let late = try scene.desktop.owner("target UTF8_STRING text:late")
        let claimed = try late.claim("fresh-60000")
        #expect(!claimed.flag("owned"))
        try scene.bridge.sync()
        #expect(try scene.paster.text() == "first")
        _ = first
      }
    }

    @Test("a copy with CurrentTime counts like any other: B045")
    func currentTime() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:now", time: "current")
        #expect(try scene.paster.text() == "now")
        _ = try scene.copied("target UTF8_STRING text:then", time: "current")
        #expect(try scene.paster.text() == "then")
      }
    }
  }
}
