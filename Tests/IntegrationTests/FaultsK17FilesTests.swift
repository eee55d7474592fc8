import Foundation
import Testing

extension IntegrationTests {
  /// What file managers offer passes byte for byte; cut stays cut.
  @Suite(.serialized) struct K17Files {
    @Test(
      "as each file manager offers it: B150 B151 B152 B155",
      arguments: [
        [
          "x-special/gnome-copied-files": "copy\nfile:///x/a", "text/uri-list": "file:///x/a\r\n", "text/plain": "/x/a",
        ],
        ["x-special/gnome-copied-files": "cut\nfile:///x/a", "UTF8_STRING": "/x/a"],
        ["application/x-kde-cutselection": "1", "text/uri-list": "file:///a\r\nfile:///b\r\n"],
        ["application/x-kde-cutselection": "0", "text/uri-list": "file:///a\r\n"],
        ["x-special/mate-copied-files": "cut\nfile:///a%20b", "text/uri-list": "file:///a;file:///b"],
        ["text/uri-list": "file:///a\nfile:///b", "text/x-moz-url": "h\u{0}t\u{0}"],
        ["application/vnd.portal.filetransfer": "1234567", "application/vnd.portal.files": "abc\u{0}"],
      ])
    func bytes(targets: [String: String]) throws {
      try Scene.run { scene in
        let owner = try scene.desktop.owner()
        for (target, text) in targets {
          try owner.tell("target \(target) hex:\(text.utf8.map { String(format: "%02x", $0) }.joined())")
        }
        try owner.claim()
        try scene.bridge.sync()
        owner.quit()
        let listed = Set(try scene.paster.targets() ?? []).filter(Exceptions.isContent)
        #expect(Set(targets.keys).isSubset(of: listed))
        for (target, text) in targets { expectSame(try scene.paster.paste(target), Data(text.utf8), target) }
      }
    }

    @Test("the list is whole from the moment of the copy on: B154")
    func listedAtOnce() throws {
      try Scene.run { scene in
        _ = try scene.copied("target UTF8_STRING text:older")
        let owner = try scene.desktop.owner(
          "target x-special/gnome-copied-files text:copy\\nfile:///a", "target text/uri-list text:file:///a",
          "target x/slow text:s delay=200")
        owner.order("claim")
        try owner.wait("claimed")
        for _ in 1...100 {
          let listed = try scene.paster.targets()
          #expect(listed?.contains("x-special/gnome-copied-files") == true, "\(listed ?? [])")
        }
        #expect(try scene.paster.summary("loop 50 TARGETS interval=5").number("answered") == 50)
        #expect(try scene.paster.targets()?.contains("x-special/gnome-copied-files") == true)
      }
    }

    @Test("rules about files leave the text alone: K17")
    func ruled() throws {
      let policy =
        "version: 1\nrules:\n  - {name: no files, to: {class: B}, targets: [files], decision: deny}\ndefault: allow\n"
      try Scene.run(policy: policy) { scene in
        let files = ["x-special/gnome-copied-files", "text/uri-list", "application/x-kde-cutselection"]
        let owner = try scene.desktop.owner("target UTF8_STRING text:/x/a")
        for target in files { try owner.tell("target \(target) text:file:///x/a") }
        try owner.claim()
        try scene.bridge.sync()
        let b = try scene.desktop.requestor("class b B")
        for target in files { #expect(try b.convert(target).text("state") == "refused", "\(target)") }
        #expect(try b.text() == "/x/a")
        #expect(Set(try b.targets() ?? []).isDisjoint(with: files))
        for target in files { #expect(try scene.paster.text(target) == "file:///x/a") }
      }
    }
  }
}
