import Foundation
import Testing

@testable import BoardStore
@testable import StoreTrial

/// What can't be read as it was written is said, and left as it is.
struct StoreDamageTests {
  let scratch = Scratch()

  /// A store with two boards, each with two items.
  init() {
    let talk = scratch.open()
    talk.fill("a", [1: "one of a", 2: "two of a"])
    talk.fill("b", [1: "one of b", 2: "two of b"])
  }

  /// Opens it, which has to fail without a byte of it changing.
  private func failure() -> StoreFailure? {
    let before = scratch.bytes("boards.sqlite")
    let talk = scratch.open()
    #expect(talk.ask(.saveBoard(BoardRecord(name: "new"))).rejection == talk.failure, "orders are rejected likewise")
    talk.store.end()
    #expect(scratch.bytes("boards.sqlite") == before)
    return talk.failure
  }

  @Test func wrongKey() {
    let key = scratch.bytes("boards.key")
    scratch.write([UInt8](repeating: 1, count: 32), to: "boards.key")
    #expect(failure() == .wrongKey(path: scratch.database, .keyFile))
    scratch.write([1, 2, 3], to: "boards.key")
    #expect(failure() == .keyUnavailable(.keyFile, "there is no key in \(scratch.file("boards.key"))"))
    scratch.write(key, to: "boards.key")
    #expect(scratch.open().text("b", 2) == "two of b", "with the right key all is there")
  }

  @Test func lostKey() throws {
    try FileManager.default.removeItem(atPath: scratch.file("boards.key"))
    #expect(failure() == .keyUnavailable(.keyFile, "there is no key in \(scratch.file("boards.key"))"))
    #expect(!scratch.names.contains("boards.key"), "no new key for what is sealed with another")
    // The person gives it up.
    let aside = try BoardStore.setAside(folder: scratch.configuration.folder)
    #expect(aside == scratch.file("boards.sqlite.aside-1") && scratch.names.contains("boards.sqlite.aside-1"))
    #expect(scratch.open().contents?.boards == [])
  }

  @Test func setAsideAndBack() throws {
    let aside = try BoardStore.setAside(folder: scratch.configuration.folder)
    let talk = scratch.open()
    talk.fill("c", [1: "later"])
    guard case .rekeyed = talk.ask(.rekey) else {
      Issue.record("no new key")
      return
    }
    talk.store.end()
    for (from, to) in [(aside, scratch.database), (aside + ".key", scratch.file("boards.key"))] {
      try FileManager.default.removeItem(atPath: to)
      try FileManager.default.moveItem(atPath: from, toPath: to)
    }
    #expect(scratch.open().text("a", 1) == "one of a", "the key was set aside with it")
  }

  @Test(arguments: [
    // Another item's content, another board's, another part's row, another item's header, a later end, another place.
    "UPDATE part SET sealed=(SELECT sealed FROM part p WHERE p.board=part.board AND p.serial=2) WHERE serial=1",
    "UPDATE part SET sealed=(SELECT sealed FROM part p WHERE p.board<>part.board AND p.serial=1) WHERE serial=1",
    "UPDATE part SET serial=3 WHERE serial=1; UPDATE part SET serial=1 WHERE serial=2; UPDATE part SET serial=2 WHERE serial=3",
    "UPDATE part SET sealed=zeroblob(length(sealed))",
    "UPDATE part SET sealed=substr(sealed, 1, length(sealed) - 1)",
    "UPDATE part SET representation=1",
    "DELETE FROM part",
  ])
  func swappedContent(_ sql: String) {
    scratch.alter(sql)
    let talk = scratch.open()
    #expect(talk.contents?.remarks == [])
    let answer = talk.ask(.read(ItemPlace(board: "a", serial: 1), representation: 0))
    #expect(answer.rejection == .damaged(path: scratch.database, "content isn't as it was written"))
    #expect(talk.ask(.removeItems([1], fromBoard: "a", changeCount: 1)).isDone, "it can be removed")
    #expect(talk.ask(.keep(.text(9, "new"), onBoard: "a", changeCount: 1)).isDone && talk.text("a", 9) == "new")
  }

  @Test(arguments: [
    "UPDATE item SET header=(SELECT header FROM item i WHERE i.board=item.board AND i.serial=2) WHERE serial=1",
    "CREATE TEMP TABLE i AS SELECT * FROM item; UPDATE item SET header=(SELECT header FROM i WHERE i.board<>item.board AND i.serial=1) WHERE serial=1",
    "UPDATE item SET expires=99 WHERE serial=1", "UPDATE item SET position=99 WHERE serial=1",
    "UPDATE item SET header=x'00' WHERE serial=1",
  ])
  func swappedHeaders(_ sql: String) {
    scratch.alter(sql)
    let talk = scratch.open()
    #expect(talk.contents?.boards.map { $0.items.map(\.record.serial) } == [[2], [2]])
    #expect(talk.contents?.remarks.first?.contains("2 entries aren't as they were written") == true)
    talk.store.end()
    #expect(scratch.number("SELECT count(*) FROM item") == 4, "left as they are")
  }

  @Test func swappedBoards() {
    scratch.alter(
      """
      CREATE TEMP TABLE h AS SELECT id, header FROM board;
      UPDATE board SET header=(SELECT header FROM h WHERE h.id<>board.id)
      """)
    let talk = scratch.open()
    #expect(talk.contents?.boards == [] && talk.contents?.remarks.count == 1)
    #expect(talk.ask(.saveBoard(BoardRecord(name: "a"))).isDone, "a board of that name begins anew")
  }

  @Test func contentOfTheItemBefore() {
    scratch.alter("CREATE TABLE kept AS SELECT * FROM part")
    #expect(failure() == .foreign(path: scratch.database), "tables that aren't ours")
    scratch.alter("DROP TABLE kept")
    // The same serial with the content it had before.
    let former = scratch.bytes("boards.sqlite")
    let talk = scratch.open()
    #expect(talk.ask(.keep(.text(1, "ONE OF A"), onBoard: "a", changeCount: 5)).isDone)
    talk.store.end()
    try! former.write(to: URL(fileURLWithPath: scratch.path + "/former"))
    scratch.alter(
      """
      ATTACH '\(scratch.path)/former' AS f; UPDATE part SET sealed=(SELECT sealed FROM f.part p WHERE p.board=part.board
      AND p.serial=part.serial) WHERE serial=1
      """)
    #expect(scratch.open().text("a", 1) == nil)
  }

  @Test func truncated() {
    let whole = scratch.bytes("boards.sqlite")
    for count in [whole.count - 4_096, whole.count / 2, 4_096, 100] {
      scratch.write(whole.prefix(count), to: "boards.sqlite")
      guard case .damaged? = failure() else {
        Issue.record("\(count) bytes of \(whole.count): \(scratch.open().opening)")
        continue
      }
    }
    for count in [0, 15, 50] {
      scratch.write(whole.prefix(count), to: "boards.sqlite")
      #expect(failure() == .damaged(path: scratch.database, "expected a header of 100 bytes, found \(count)"))
    }
    scratch.write(whole, to: "boards.sqlite")
    #expect(scratch.open().text("a", 2) == "two of a")
  }

  /// Bytes changed anywhere: nothing wrong is ever read, and nothing traps.
  @Test func changedBytes() {
    let whole = scratch.bytes("boards.sqlite")
    var numbers = SeededNumbers(state: 5)
    for round in 0..<150 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &numbers) {
        bytes[Int.random(in: 100..<bytes.count, using: &numbers)] = UInt8.random(in: 0...255, using: &numbers)
      }
      scratch.write(bytes, to: "boards.sqlite")
      let talk = scratch.open()
      for board in ["a", "b"] {
        for serial in UInt64(1)...2 {
          let right = (serial == 1 ? "one of " : "two of ") + board
          let text = talk.text(board, serial)
          #expect(text == nil || text == right, "round \(round)")
        }
      }
    }
  }

  @Test func foreignFiles() {
    scratch.write(
      Array("not a database at all, but quite long enough for one to be thought of, if you ask me".utf8),
      to: "boards.sqlite")
    #expect(failure() == .foreign(path: scratch.database))
    try! FileManager.default.removeItem(atPath: scratch.database)
    scratch.alter("CREATE TABLE board (id INTEGER)")
    #expect(failure() == .foreign(path: scratch.database))
    try! FileManager.default.removeItem(atPath: scratch.database)
    try! FileManager.default.createSymbolicLink(atPath: scratch.database, withDestinationPath: "/etc/passwd")
    #expect(scratch.open().failure == .foreign(path: scratch.database))
  }

  @Test func otherVersion() {
    scratch.alter("PRAGMA user_version=2")
    #expect(failure() == .otherVersion(path: scratch.database, found: 2, expected: 1))
    #expect("\(failure()!)".hasSuffix("expected a store of version 1, found version 2; it is left as it is"))
  }

  @Test func foreignTriggersDoNotRun() {
    scratch.alter("CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM part; END")
    #expect(failure() == .foreign(path: scratch.database))
  }

  @Test func noFolder() {
    let scratch = Scratch()
    scratch.configuration.folder = scratch.path + "/file/below"
    #expect(FileManager.default.createFile(atPath: scratch.path + "/file", contents: nil))
    #expect(scratch.open().failure == .system(call: "mkdir", path: scratch.path + "/file/below", code: ENOTDIR))
  }
}
