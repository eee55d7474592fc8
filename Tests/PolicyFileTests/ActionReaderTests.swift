import ContentActions
import Foundation
import Testing

@testable import Policy
@testable import PolicyFile

@Suite final class ActionReaderTests {
  let root = NSTemporaryDirectory() + "action-files-" + UUID().uuidString

  deinit { try? FileManager.default.removeItem(atPath: root) }

  private func write(_ path: String, _ text: String) throws {
    let whole = root + "/" + path
    try FileManager.default.createDirectory(
      atPath: (whole as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try text.write(toFile: whole, atomically: false, encoding: .utf8)
  }

  private var catalog: ActionCatalog { ActionCatalog(folders: ["\(root)/vendor", "\(root)/user"]) }

  private static let whole = """
    version: 1
    title: Upper case
    accepts: [text, "image/*"]
    command: [/usr/bin/tr, a-z, A-Z, "", 7]
    makes: [same, UTF8_STRING]
    to: clipboard
    time-limit: 1500ms
    memory-limit: 128M
    """

  @Test func everyKey() throws {
    try write("vendor/upper.yaml", Self.whole)
    #expect(catalog.errors == [] && catalog.warnings == [])
    let action = try #require(catalog.actions.first)
    #expect(action.name == "upper" && action.title == "Upper case" && action.position.line == 1)
    #expect(action.accepts == [.kind(.text), .glob("image/*")])
    #expect(action.work == .command(path: "/usr/bin/tr", arguments: ["a-z", "A-Z", "", "7"]))
    #expect(action.makes == ["same", "UTF8_STRING"] && action.destination == .clipboard)
    #expect(action.limits.milliseconds == 1_500 && action.limits.memoryBytes == 128 << 20)
  }

  /// Each wrong file with its one message, word for word.
  static let wrong: [(String, String)] = [
    ("title: a\naccepts: text\nbuilt-in: plain-text\nmakes: x\n", "1:1: expected `version: 1`, found no `version`"),
    ("version: 1\naccepts: text\nbuilt-in: plain-text\nmakes: x\n", "1:1: expected `title` in an action, found none"),
    ("version: 1\ntitle: a\nbuilt-in: plain-text\nmakes: x\n", "1:1: expected `accepts` in an action, found none"),
    ("version: 1\ntitle: a\naccepts: text\nbuilt-in: plain-text\n", "1:1: expected `makes` in an action, found none"),
    (
      "version: 1\ntitle: a\naccepts: text\nmakes: x\n",
      "1:1: expected `built-in` or `command` in an action, found none"
    ),
    (
      "version: 1\ntitle: a\naccepts: text\nmakes: x\nbuilt-in: thumbnail\ncommand: /bin/cat\n",
      "6:10: expected `built-in` or `command`, found both; write two actions"
    ),
    (
      "version: 1\ntitle: a\naccepts: text\nmakes: x\nbuilt-in: thumbnails\n",
      "5:11: expected a built-in action, found `thumbnails`; did you mean `thumbnail`?"
    ),
    (
      "version: 1\ntitle: a\naccepts: text\nmakes: x\ncommand: cat\n",
      "5:10: expected the absolute path of a program for `command`, found `cat`; there is no shell and no search path"
    ),
    (
      "version: 1\ntitle: a\naccepts: text\nmakes: image/*\ncommand: /bin/cat\n",
      "4:8: expected the name of a target for `makes`, found `image/*`; `same` stands for the target that was taken"
    ),
    (
      "version: 1\ntitle: a\naccepts: text\ncommand: /bin/cat\nmakes:\n" + (0...64).map { "- x\($0)\n" }.joined(),
      "6:1: expected at most 64 targets for `makes`, found 65"
    ),
    (
      "version: 1\ntitle: a\naccepts: text\nmakes: x\ncommand: /bin/cat\ntime-limit: 10\n",
      "6:13: expected a duration for `time-limit`, found `10`; write a unit: `500ms`, `20s`, `5m`, `8h`, `7d`"
    ),
    (
      "version: 1\ntitle: a\naccepts: text\nmakes: x\ncommand: /bin/cat\nmemory-limit: 1M\n",
      "6:15: expected `64M` to `8G` for `memory-limit`, found `1M`"
    ),
    (
      "version: 1\ntitel: a\ntitle: a\naccepts: text\nmakes: x\ncommand: /bin/cat\n",
      "2:1: expected a key of an action, found `titel`; did you mean `title`?"
    ),
    (
      "version: 1\ntitle: \"a\\nb\"\naccepts: text\nmakes: x\ncommand: /bin/cat\n",
      "2:8: expected a text for `title` without control characters, found `a\\nb`"
    ),
    ("version: 1\ntitle: [\n", "3:1: expected YAML, did not find expected node content"),
  ]

  @Test(arguments: wrong) func everyMessage(_ row: (String, String)) throws {
    try write("vendor/wrong.yaml", row.0)
    try write("vendor/right.yaml", Self.whole)
    #expect(catalog.errors.map(\.description) == ["\(root)/vendor/wrong.yaml:\(row.1)"])
    #expect(catalog.actions.map(\.name) == ["right"], "an error in one file leaves the others alone")
  }

  @Test func laterFoldersReplaceAndMask() throws {
    try write("vendor/a.yaml", Self.whole)
    try write("vendor/b.yaml", Self.whole.replacingOccurrences(of: "Upper case", with: "B"))
    try write("user/a.yaml", Self.whole.replacingOccurrences(of: "Upper case", with: "Mine"))
    try write("user/b.yaml", "")
    try write("user/.hidden.yaml", "[")
    try write("user/notes.txt", "[")
    #expect(catalog.actions.map(\.title) == ["Mine"] && catalog.errors == [])
  }

  @Test func twoActionsHaveTwoNames() throws {
    try write("vendor/a.yaml", Self.whole)
    try write("user/b.yaml", Self.whole)
    #expect(catalog.actions.map(\.name) == ["a"])
    #expect(
      catalog.errors.map(\.description) == [
        "\(root)/user/b.yaml:1:1: expected a name and a title of its own, found those of another action; "
          + "the other is \(root)/vendor/a.yaml"
      ])
  }

  @Test func boards() throws {
    try write("vendor/a.yaml", Self.whole.replacingOccurrences(of: "to: clipboard", with: "to: com.acme"))
    #expect(catalog.actions.map(\.destination) == [.board("com.acme")])
    #expect(catalog.warnings == [] && catalog.errors == [])
    try write("vendor/a.yaml", Self.whole.replacingOccurrences(of: "to: clipboard", with: "to: general"))
    #expect(catalog.actions == [])
    #expect(
      catalog.errors.first?.description.contains("expected `clipboard` or a board for `to`, found `general`") == true)
  }

  @Test func shippedFilesAreRight() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("actions").path
    let shipped = ActionCatalog(folders: [folder])
    #expect(shipped.errors == [] && shipped.warnings == [])
    #expect(
      shipped.actions.map(\.title) == ["Copy thumbnail", "Plain text", "Remove metadata", "Strip tracking from link"])
  }
}
