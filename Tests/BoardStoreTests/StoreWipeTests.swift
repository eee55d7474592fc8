import Foundation
import Testing

@testable import BoardStore
@testable import StoreTrial

/// Content stands nowhere in clear, and nothing of what was removed stands anywhere once that is confirmed.
struct StoreWipeTests {
  let scratch = Scratch()

  /// All bytes of all files of the store, and of the process's open log.
  private func allBytes() -> Data { scratch.names.reduce(into: Data()) { $0 += scratch.bytes($1) } }

  /// The sealed bytes that stand in the rows of a store.
  private func sealedRows() -> [Data] {
    // Read from a copy, since the store has its file to itself.
    let copy = Scratch()
    try! FileManager.default.createDirectory(atPath: copy.configuration.folder, withIntermediateDirectories: true)
    for name in scratch.names where name.hasPrefix("boards.sqlite") { copy.write(scratch.bytes(name), to: name) }
    var rows: [Data] = []
    for table in [("part", "sealed"), ("item", "header"), ("board", "header")] {
      rows += copy.blobs("SELECT \(table.1) FROM \(table.0)")
    }
    return rows
  }

  @Test func nothingStandsInClear() {
    let talk = scratch.open()
    let words = ["com.acme.finance", "application/x-payroll", "Ledger-Quarter", "the-salary-of-everybody"]
    _ = talk.ask(.saveBoard(BoardRecord(name: words[0])))
    let content = StoredContent(Array(words[3].utf8))
    let item = NewItem(
      ItemRecord(serial: 1, position: 0, created: 0, source: words[2]), [.init(type: words[1], content: content)])
    #expect(talk.ask(.keep(item, onBoard: words[0], changeCount: 1)).isDone)
    for _ in 0..<2 {
      let bytes = allBytes()
      #expect(bytes.range(of: Data("SQLite format 3".utf8)) != nil, "the scan finds what is there")
      for word in words { #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word) stands in clear") }
      talk.store.end()
    }
  }

  /// Many small items, so that rows move between pages, and some large ones.
  @Test(arguments: ["board", "items", "replaced", "expired"]) func nothingIsLeft(_ kind: String) {
    let talk = scratch.open()
    talk.fill("kept", [1: String(repeating: "kept", count: 100)])
    _ = talk.ask(.saveBoard(BoardRecord(name: "wiped")))
    var numbers = SeededNumbers(state: 11)
    for serial in UInt64(1)...300 {
      let count = serial.isMultiple(of: 20) ? 40_000 : Int.random(in: 1...900, using: &numbers)
      let content = StoredContent(Sample.bytes(seed: serial, count: count))
      let record = ItemRecord(serial: serial * 7_919 % 1_000, position: 0, created: 0, expires: 1_000)
      talk.store.submit(.keep(NewItem(record, [.init(type: "t", content: content)]), onBoard: "wiped", changeCount: 1))
      if serial == 150 {
        talk.store.submit(.keep(.text(2, "kept, too"), onBoard: "kept", changeCount: 1))
        #expect(talk.next().isDone)
      }
      #expect(talk.next().isDone)
    }
    let kept = Set(sealedRows())
    #expect(kept.count == 2 * 302 + 2)
    switch kind {
    case "board": #expect(talk.ask(.removeBoard("wiped")).isDone)
    case "items": #expect(talk.ask(.removeItems(Array(0..<1_000), fromBoard: "wiped", changeCount: 2)).isDone)
    case "replaced": #expect(talk.ask(.replaceItems([.text(1, "new")], onBoard: "wiped", changeCount: 2)).isDone)
    default:
      guard case .expired(_, let places) = talk.ask(.removeExpired(now: 1_000)) else {
        Issue.record("nothing expired")
        return
      }
      #expect(places.count == 300)
    }
    let bytes = allBytes()
    let left = Set(sealedRows())
    let gone = kept.subtracting(left)
    #expect(gone.count >= 600)
    // A stretch of each that no other row has: nonces are random.
    let remains = gone.filter { bytes.range(of: $0.prefix(24)) != nil || bytes.range(of: $0.suffix(24)) != nil }
    #expect(remains.isEmpty, "\(remains.count) of \(gone.count) rows still stand in the files")
    #expect(talk.text("kept", 2) == "kept, too")
    #expect(left.allSatisfy { bytes.range(of: $0.prefix(24)) != nil }, "the scan finds what is there")
  }
}
