import Foundation
import GuardedMemory
import Testing

@testable import BoardStore
@testable import StoreTrial

/// What is kept comes back, and what was removed doesn't.
struct StoreTests {
  let scratch = Scratch()

  @Test func everythingComesBack() throws {
    let large = Sample.bytes(seed: 1, count: 3_000_001)
    let record = ItemRecord(
      serial: .max, position: -3, created: 1_700_000_000_123, expires: 1_800_000_000_456, isPinned: true,
      source: "Ledger — /opt/ledger")
    do {
      let talk = scratch.open()
      #expect(talk.contents == StoreContents(boards: [], keySource: .keyFile, remarks: []))
      let board = BoardRecord(name: "com.acme.finance", changeCount: 7, flags: [.persistent, .localOnly])
      #expect(talk.ask(.saveBoard(board)).isDone)
      let item = NewItem(
        record,
        [
          .init(type: "text/html", content: StoredContent(large)),
          .init(type: "empty", content: StoredContent([])),
          .init(type: "part", content: StoredContent(large.prefix(StoreFormat.partBytes))),
        ])
      #expect(talk.ask(.keep(item, onBoard: board.name, changeCount: 8)).isDone)
      talk.fill("other", [1: "one", 2: "two"])
    }
    let talk = scratch.open()
    let boards = try #require(talk.contents?.boards)
    #expect(boards.map(\.record.name) == ["com.acme.finance", "other"])
    #expect(
      boards[0].record == BoardRecord(name: "com.acme.finance", changeCount: 8, flags: [.persistent, .localOnly]))
    #expect(boards[0].items.map(\.record) == [record])
    let sizes = [("text/html", 3_000_001), ("empty", 0), ("part", StoreFormat.partBytes)]
    #expect(
      boards[0].items[0].representations == sizes.map { RepresentationRecord(type: $0.0, byteCount: $0.1) })
    for (index, size) in sizes.enumerated() {
      let answer = talk.ask(.read(ItemPlace(board: "com.acme.finance", serial: .max), representation: index))
      guard case .content(_, let content) = answer else {
        Issue.record("\(answer)")
        continue
      }
      #expect(content.isSame(as: Array(large.prefix(size.1))))
    }
    #expect(boards[1].items.map(\.record.serial) == [1, 2] && boards[1].record.changeCount == 2)
    #expect(talk.text("other", 2) == "two")
  }

  @Test func changesOfItems() throws {
    do {
      let talk = scratch.open()
      talk.fill("a", [1: "one", 2: "two", 3: "three"])
      #expect(talk.ask(.keep(.text(2, "deux"), onBoard: "a", changeCount: 2)).isDone, "in the place of the former")
      let moved = ItemRecord(serial: 3, position: -1, created: 5, isPinned: true, source: "elsewhere")
      #expect(talk.ask(.amend(moved, onBoard: "a", changeCount: 10)).isDone)
      #expect(talk.ask(.removeItems([1, 99], fromBoard: "a", changeCount: 4)).isDone)
    }
    do {
      let talk = scratch.open()
      #expect(talk.board?.record.changeCount == 10, "it never falls")
      #expect(talk.board?.items.map(\.record.serial) == [3, 2])
      #expect(talk.board?.items.first?.record.source == "elsewhere")
      #expect(talk.text("a", 2) == "deux")
      #expect(talk.text("a", 3) == "three")
      #expect(talk.text("a", 1) == nil)
      #expect(talk.ask(.replaceItems([.text(7, "seven")], onBoard: "a", changeCount: 11)).isDone)
    }
    let talk = scratch.open()
    #expect(talk.board?.items.map(\.record.serial) == [7])
    #expect(talk.ask(.removeBoard("a")).isDone)
    #expect(scratch.open().failure == .inUse(path: scratch.database))
    talk.store.end()
    #expect(scratch.open().contents?.boards == [])
  }

  @Test func whatIsNotThere() {
    let talk = scratch.open()
    talk.fill("a", [1: "one"])
    #expect(talk.ask(.keep(.text(1, "x"), onBoard: "b", changeCount: 1)).rejection == .noBoard("b"))
    #expect(talk.ask(.removeBoard("b")).rejection == .noBoard("b"))
    #expect(talk.ask(.read(ItemPlace(board: "a", serial: 2), representation: 0)).rejection == .noItem)
    #expect(talk.ask(.read(ItemPlace(board: "a", serial: 1), representation: 1)).rejection == .noItem)
    #expect(talk.ask(.read(ItemPlace(board: "a", serial: 1), representation: -1)).rejection == .noItem)
    #expect(talk.text("a", 1) == "one")
  }

  @Test func expiredRowsAreRemoved() {
    do {
      let talk = scratch.open()
      _ = talk.ask(.saveBoard(BoardRecord(name: "a")))
      for (serial, expires) in [(UInt64(1), Int64(1_000)), (2, 1_001), (3, 999)] {
        _ = talk.ask(.keep(.text(serial, "text", expires: expires), onBoard: "a", changeCount: serial))
      }
      _ = talk.ask(.keep(.text(4, "text"), onBoard: "a", changeCount: 4))
      guard case .expired(_, let ended) = talk.ask(.removeExpired(now: 1_000)) else {
        Issue.record("no answer")
        return
      }
      #expect(Set(ended) == [ItemPlace(board: "a", serial: 1), ItemPlace(board: "a", serial: 3)])
    }
    #expect(scratch.number("SELECT count(*) FROM item") == 2)
    #expect(scratch.number("SELECT count(*) FROM part") == 2)
    #expect(scratch.open().board?.items.map(\.record.serial) == [2, 4])
  }

  @Test func filesAreForTheUserAlone() throws {
    scratch.open().fill("a", [1: "one"])
    func mode(_ path: String) throws -> Int {
      try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }
    #expect(scratch.names == ["boards.key", "boards.lock", "boards.sqlite"])
    for name in scratch.names { #expect(try mode(scratch.file(name)) == 0o600) }
    #expect(try mode(scratch.configuration.folder) == 0o700)
    // What somebody has opened to others is closed again.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: scratch.configuration.folder)
    for name in scratch.names {
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scratch.file(name))
    }
    #expect(scratch.open().text("a", 1) == "one")
    #expect(try mode(scratch.configuration.folder) == 0o700)
    #expect(try mode(scratch.database) == 0o600 && mode(scratch.file("boards.key")) == 0o600)
    // C10: also what SQLite makes beside it, and what an earlier run has left of that.
    for name in ["boards.sqlite-wal", "boards.sqlite-shm", "boards.lock"] {
      _ = FileManager.default.createFile(atPath: scratch.file(name), contents: Data())
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scratch.file(name))
    }
    let opened = scratch.open()
    #expect(opened.text("a", 1) == "one")
    #expect(scratch.names.count >= 4, "\(scratch.names)")
    for name in scratch.names { #expect(try mode(scratch.file(name)) == 0o600, "\(name)") }
    withExtendedLifetime(opened) {}
  }

  @Test func contentNeverPrints() {
    let content = StoredContent(Array("a secret".utf8))
    let item = NewItem.text(1, "a secret")
    for text in [
      "\(content)", "\(item)", String(reflecting: content), "\(StoreOrder.keep(item, onBoard: "a", changeCount: 1))",
    ] {
      #expect(!text.contains("a secret") && text.contains("8 bytes"))
    }
    var dumped = ""
    dump(item, to: &dumped)
    #expect(!dumped.contains("a secret"))
  }

  /// Nobody waits for the disk: whoever hands over 64 MiB is free at once, and pastes go on while they are written.
  @Test func largeContentBlocksNobody() {
    let talk = scratch.open()
    _ = talk.ask(.saveBoard(BoardRecord(name: "a")))
    let content = StoredContent(Sample.bytes(seed: 3, count: 64 << 20))
    let item = NewItem(ItemRecord(serial: 1, position: 0, created: 0), [.init(type: "t", content: content)])
    let clock = ContinuousClock()
    let handedOver = clock.measure { talk.store.submit(.keep(item, onBoard: "a", changeCount: 1)) }
    #expect(talk.store.takeEvents().isEmpty, "written by the time it was handed over")
    let written = clock.measure { #expect(talk.next().isDone) }
    #expect(handedOver < written / 10, "\(handedOver) to hand over, \(written) to write")
    guard case .content(_, let read) = talk.ask(.read(ItemPlace(board: "a", serial: 1), representation: 0)) else {
      Issue.record("not read")
      return
    }
    #expect(read.withBytes { one in content.withBytes { memcmp(one.baseAddress!, $0.baseAddress!, $0.count) } } == 0)
  }

  @Test func ordersOfAnEndedStoreAreCarriedOut() {
    let talk = scratch.open()
    talk.store.submit(.saveBoard(BoardRecord(name: "a")))
    for serial in 1...50 { talk.store.submit(.keep(.text(UInt64(serial), "text"), onBoard: "a", changeCount: 1)) }
    talk.store.end()
    #expect(talk.store.takeEvents().count == 51)
    #expect(scratch.open().board?.items.count == 50)
  }

  @Test func headersFromAnyBytes() {
    let record = ItemRecord(serial: 1, position: 2, created: 3, source: "s")
    let bytes = ItemHeader(record, mark: 4, [RepresentationRecord(type: "t", byteCount: 5)]).bytes
    #expect(ItemHeader(bytes)?.bytes == bytes)
    for count in 0..<bytes.count { #expect(ItemHeader(Array(bytes.prefix(count))) == nil) }
    #expect(ItemHeader(bytes + [0]) == nil)
    var numbers = SeededNumbers(state: 9)
    for _ in 0..<2_000 {
      let noise = (0..<Int.random(in: 0...80, using: &numbers)).map { _ in UInt8.random(in: 0...255, using: &numbers) }
      _ = ItemHeader(noise)
      _ = BoardHeader(noise)
    }
  }
}
