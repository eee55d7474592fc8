import BridgeCore
import Foundation
import Testing

@testable import XPasteBridge

/// `action` and `menu` over the control socket.
struct ActionControlTests {
  private func served() -> ServedDaemon {
    ServedDaemon(actions: InstalledActions(folders: [Project.root + "/actions"], helper: "/usr/libexec/helper"))
  }

  @Test func listSaysWhatFits() throws {
    let served = served()
    served.session.fit = .fits(target: "UTF8_STRING")
    let list = served.call("action", "list")
    #expect(list.wait(served.loop) == 0)
    #expect(list.output.contains("copy-thumbnail   Copy thumbnail            fits UTF8_STRING\n"))
    let json = served.call("action", "list", "--json")
    #expect(json.wait(served.loop) == 0)
    let report = try JSON(reading: json.output.trimmingCharacters(in: .newlines))
    #expect(
      report["actions"]?.elements.count == 4
        && report["actions"]?.elements[0]["program"] == .string("/usr/libexec/helper"))
  }

  @Test func runSaysHowItEnded() {
    let served = served()
    for (outcome, status, text) in [
      (ActionOutcome.made(targets: ["image/png"], bytes: 7), Int32(0), "image/png, 7 bytes"),
      (.failed(.memoryLimit), 1, "the content needs more memory than its limit"),
      (.refused(.locked, message: "No."), 1, "refused: "), (.overtaken, 1, "the clipboard changed meanwhile"),
      (.busy, 1, "too many actions"), (.unfit, 1, "nothing on the clipboard"), (.noBoard("b"), 1, "nor on `b`"),
    ] {
      served.session.outcome = outcome
      let run = served.call("action", "run", "copy-thumbnail")
      #expect(run.wait(served.loop) == status)
      #expect((run.output + run.complaint).contains("copy-thumbnail: ") && (run.output + run.complaint).contains(text))
    }
    let unknown = served.call("action", "run", "copy-thumbnails")
    #expect(unknown.wait(served.loop) == 1)
    #expect(unknown.complaint.contains("did you mean `copy-thumbnail`?"))
    #expect(served.session.programs.allSatisfy { $0 == "/usr/libexec/helper" })
  }

  @Test func menuWithoutItemsFails() {
    let served = served()
    let menu = served.call("menu")
    #expect(menu.wait(served.loop) == 1)
    #expect(menu.complaint.contains("nothing that the active app may do"))
    let json = served.call("menu", "--json")
    #expect(json.wait(served.loop) == 0 && json.output == "{\"schema\":1,\"items\":[]}\n")
    served.session.fit = .fits(target: "x")
    let without = served.call("menu", "--with", "no-such-menu")
    #expect(without.wait(served.loop) == 1 && without.complaint.contains("install rofi, dmenu or fuzzel"))
  }
}
