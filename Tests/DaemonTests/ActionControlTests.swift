import Boards
import BridgeCore
import Foundation
import Policy
import Selection
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
      (.busy, 1, "too many actions"), (.unfit, 1, "nothing on the clipboard"),
      (.noBoard("b"), 1, "there is no board `b`"),
      (.made(targets: ["UTF8_STRING"], bytes: 7, board: "b"), 0, "UTF8_STRING, 7 bytes, on b"),
      (.notForBoard("b"), 1, "isn't put on `b`"),
      (.noRoom("b", .pinnedFillItems), 1, "all items of the board are pinned"),
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

  /// What stands in a menu of boards, and what choosing does: for a member, and for one who isn't.
  @Test func menuOfBoards() throws {
    let served = served()
    let board = "org.example.board"
    var ruleset = Ruleset()
    ruleset.boards = [
      BoardPolicy(
        name: board, position: SourcePosition(file: "test.yaml", line: 1, column: 1),
        members: .windowClass(Glob(literally: "Ledger")))
    ]
    served.session.core = Bridge(
      atoms: KnownAtoms { served.session.atom($0) }, policy: PolicySet(managed: ruleset, user: Ruleset()))
    served.session.run(served.session.core.reviseBoards([served.session.atom(board)]))
    let ledger = Example.subject("Ledger")
    for (types, text) in [
      (["text/html", "UTF8_STRING", "STRING", "application/x-cells"], "https://a.example/private"),
      (["UTF8_STRING", "x-kde-passwordManagerHint"], "secret"),
    ] {
      let forms = types.map { name in
        let target = served.session.atom(name)
        return Representation(target: target, type: target, format: 8, payload: Payload(Array(text.utf8)))
      }
      _ = served.session.callBoard(.write(BoardWriting(board: board, representations: forms)), from: ledger)
    }
    served.session.activeSubject = ledger
    let menu = served.call("menu", "--json")
    #expect(menu.wait(served.loop) == 0)
    #expect(!menu.output.contains("private"), "content")
    let items = try JSON(reading: menu.output.trimmingCharacters(in: .newlines))["items"]?.elements ?? []
    #expect(
      items.map { $0["title"]?.text } == [
        "Paste secret, text, x-kde-passwordManagerHint, 6 bytes (1 of \(board))",
        "Paste web-url, html, text, application/x-cells, 25 bytes (2 of \(board))",
      ])
    // What is chosen is put on CLIPBOARD, for members.
    let script = TemporaryDirectory()
    script.write("#!/bin/sh\ngrep '(2 of'\n", "choose")
    #expect(chmod(script.path + "/choose", 0o700) == 0)
    let choose = served.call("menu", "--with", script.path + "/choose")
    #expect(choose.wait(served.loop) == 0, "\(choose.complaint)")
    #expect(choose.output == "\(board): on the clipboard for those who may read the board; paste it as always\n")
    let clip = BoardCall.read("general", item: nil, type: "UTF8_STRING")
    guard case .content? = served.session.callBoard(clip, from: ledger) else {
      Issue.record("a member doesn't get it")
      return
    }
    var outsider = Example.subject("Browser")
    outsider.origin = .local(ProcessIdentity(id: 43, startTime: 99))
    #expect(served.session.callBoard(clip, from: outsider) == .refused(.denied))
    // In another app's menu none of it stands, nor can it be chosen.
    served.session.activeSubject = outsider
    let other = served.call("menu", "--json")
    #expect(other.wait(served.loop) == 0 && other.output == "{\"schema\":1,\"items\":[]}\n")
    let number = UInt64(items.last?["item"]?.number ?? 0)
    #expect(served.daemon.offerItem(number, of: board)["outcome"] == .string("refused"))
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
