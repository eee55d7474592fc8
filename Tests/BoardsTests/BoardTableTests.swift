import Policy
import Selection
import Testing

@testable import Boards

/// The model of boards: what UIPasteboard's documents say of pasteboards, as far as X has it.
@Suite struct BoardTableTests {
  static let name = "com.acme.suite"
  static let now = MonotonicTime(nanoseconds: 1_000_000_000)

  static func app(_ pid: Int32) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: pid, startTime: 1)), windowClass: Fact("App\(pid)", .declared),
      executable: Fact("/opt/app\(pid)", .attested))
  }

  static func item(
    _ text: String, by pid: Int32 = 1, types: [String] = ["UTF8_STRING"], at time: MonotonicTime = now,
    expiry: MonotonicTime? = nil
  ) -> BoardItem {
    let forms = types.enumerated().map { index, type in
      let target = NamedAtom(Atom(UInt32(500 + type.utf8.reduce(0) { $0 + Int($1) })), type)
      return Representation(target: target, type: target, format: 8, payload: Payload(Array(text.utf8)))
    }
    return BoardItem(source: app(pid), origin: name, copiedAt: time, expiry: expiry, representations: forms)
  }

  static func table(_ change: (inout BoardSettings) -> Void = { _ in }) throws -> BoardTable {
    var table = BoardTable()
    var settings = BoardSettings()
    change(&settings)
    try table.open(Board(name: name, origin: .policy, members: .ofBoard(name), settings: settings))
    return table
  }

  private func texts(_ table: BoardTable) -> [String] {
    (table[Self.name]?.items ?? []).map { item in
      String(decoding: item.representations[0].payload.copiedBytes(), as: UTF8.self)
    }
  }

  @Test("the newest item is in front, the types of all items are told without content")
  func order() throws {
    var table = try Self.table()
    _ = try table.add(Self.item("one"), to: Self.name)
    _ = try table.add(Self.item("two", types: ["text/html", "UTF8_STRING"]), to: Self.name)
    #expect(texts(table) == ["two", "one"])
    let board = try #require(table[Self.name])
    #expect(board.types == ["text/html", "UTF8_STRING"])
    #expect(board.contains(["text/html"]) && !board.contains(["image/png"]))
    #expect(board.items(with: ["UTF8_STRING"]).count == 2)
    #expect(board.items(with: ["text/html"]) == [board.items[0].number])
  }

  @Test("a change says which types came and which went, and the count grows")
  func changes() throws {
    var table = try Self.table { $0.itemCount = 1 }
    let firstFound = try table.add(Self.item("one", types: ["UTF8_STRING", "text/html"]), to: Self.name)
    let first = try #require(firstFound)
    #expect(first.addedTypes == ["UTF8_STRING", "text/html"] && first.removedTypes == [])
    let secondFound = try table.add(Self.item("two", types: ["image/png"]), to: Self.name)
    let second = try #require(secondFound)
    #expect(second.addedTypes == ["image/png"] && second.removedTypes == ["UTF8_STRING", "text/html"])
    #expect(second.changeCount > first.changeCount)
    #expect(second.dropped == [first.kept?.number].compactMap(\.self))
    let third = try table.remove(try #require(second.kept?.number), from: Self.name)
    #expect(third.addedTypes == [] && third.removedTypes == ["image/png"] && third.changeCount > second.changeCount)
  }

  @Test("the count goes on growing when a board is made anew")
  func countOutlivesTheBoard() throws {
    var table = try Self.table()
    _ = try table.add(Self.item("one"), to: Self.name)
    let before = try #require(table[Self.name]).changeCount
    table.close(Self.name)
    #expect(table[Self.name] == nil && table.byteCount == 0)
    try table.open(
      Board(name: Self.name, origin: .created, members: .app(Self.app(1)), settings: BoardSettings()))
    #expect(try #require(table[Self.name]).changeCount > before)
  }

  @Test("one copy that comes twice is one item, and its time begins anew")
  func repetition() throws {
    var table = try Self.table { $0.expiresAfterSeconds = 10 }
    _ = try table.add(Self.item("one"), to: Self.name)
    let count = try #require(table[Self.name]).changeCount
    let later = Self.now.advanced(byMilliseconds: 5_000)
    let again = try table.add(Self.item("one", at: later), to: Self.name)
    #expect(again == nil)
    #expect(table[Self.name]?.items.count == 1 && table[Self.name]?.changeCount == count)
    #expect(table.expire(at: Self.now.advanced(byMilliseconds: 11_000)) == [])
    #expect(table.expire(at: later.advanced(byMilliseconds: 10_000)).count == 1)
    // Another app's is another item.
    _ = try table.add(Self.item("same"), to: Self.name)
    let others = try table.add(Self.item("same", by: 2), to: Self.name)
    #expect(others != nil)
  }

  @Test("writing in the place of all leaves what is pinned")
  func replacing() throws {
    var table = try Self.table()
    let pinnedFound = try table.add(Self.item("pinned"), to: Self.name)?.kept?.number
    let pinned = try #require(pinnedFound)
    _ = try table.pin(pinned, on: Self.name)
    _ = try table.add(Self.item("old"), to: Self.name)
    let changeFound = try table.add(Self.item("new"), to: Self.name, replacing: true)
    let change = try #require(changeFound)
    #expect(texts(table) == ["new", "pinned"] && change.dropped.count == 1)
  }

  @Test("items end in time, pinned or not, and only those whose time it is")
  func expiry() throws {
    var table = try Self.table()
    let soon = Self.now.advanced(byMilliseconds: 1_000)
    let numberFound = try table.add(Self.item("short", expiry: soon), to: Self.name)?.kept?.number
    let number = try #require(numberFound)
    _ = try table.pin(number, on: Self.name)
    _ = try table.add(Self.item("long"), to: Self.name)
    #expect(table.nextExpiry == soon)
    #expect(table.expire(at: Self.now) == [])
    #expect(table.expire(at: soon).map(\.dropped) == [[number]])
    #expect(texts(table) == ["long"] && table.nextExpiry == nil)
  }

  @Test("a board's own expiry and an item's: the sooner counts")
  func soonerExpiry() throws {
    var table = try Self.table { $0.expiresAfterSeconds = 60 }
    let soon = Self.now.advanced(byMilliseconds: 1_000)
    _ = try table.add(Self.item("a", expiry: soon), to: Self.name)
    _ = try table.add(Self.item("b", expiry: Self.now.advanced(byMilliseconds: 3_600_000)), to: Self.name)
    let expiries = try #require(table[Self.name]).items.map(\.expiry)
    #expect(expiries == [Self.now.advanced(byMilliseconds: 60_000), soon])
  }

  @Test("the oldest that isn't pinned makes room, by number and by bytes")
  func quota() throws {
    var table = try Self.table {
      $0.itemCount = 3
      $0.totalBytes = 10
    }
    let firstFound = try table.add(Self.item("aaa"), to: Self.name)?.kept?.number
    let first = try #require(firstFound)
    _ = try table.pin(first, on: Self.name)
    for text in ["bbb", "ccc", "ddd"] { _ = try table.add(Self.item(text), to: Self.name) }
    #expect(texts(table) == ["ddd", "ccc", "aaa"])
    // Seven bytes beside the pinned three: both others go.
    _ = try table.add(Self.item("eeeeeee"), to: Self.name)
    #expect(texts(table) == ["eeeeeee", "aaa"])
  }

  @Test("pinned items that fill the quota: a clear refusal, and nothing has changed")
  func pinnedFillTheQuota() throws {
    var table = try Self.table {
      $0.itemCount = 2
      $0.totalBytes = 10
      $0.itemBytes = 8
    }
    #expect(throws: BoardRefusal.itemTooLarge) { try table.add(Self.item("123456789"), to: Self.name) }
    let oneFound = try table.add(Self.item("12345"), to: Self.name)?.kept?.number
    let one = try #require(oneFound)
    _ = try table.pin(one, on: Self.name)
    let before = try #require(table[Self.name]).changeCount
    #expect(throws: BoardRefusal.pinnedFillBytes) { try table.add(Self.item("123456"), to: Self.name) }
    let twoFound = try table.add(Self.item("1"), to: Self.name)?.kept?.number
    let two = try #require(twoFound)
    _ = try table.pin(two, on: Self.name)
    #expect(throws: BoardRefusal.pinnedFillItems) { try table.add(Self.item("x"), to: Self.name) }
    #expect(texts(table) == ["1", "12345"])
    #expect(table[Self.name]?.changeCount == before + 2)
    _ = try table.pin(two, on: Self.name, false)
    let added = try table.add(Self.item("x"), to: Self.name)
    #expect(added != nil)
    #expect(texts(table) == ["x", "12345"])
  }

  @Test("a smaller quota takes effect at once")
  func smallerQuota() throws {
    var table = try Self.table()
    for text in ["a", "b", "c"] { _ = try table.add(Self.item(text), to: Self.name) }
    var settings = try #require(table[Self.name]).settings
    settings.itemCount = 1
    let change = table.replaceSettings(of: Self.name, by: settings)
    #expect(change?.dropped.count == 2)
    #expect(texts(table) == ["c"])
  }

  @Test("unique boards belong to their connection, and there is a bound to boards that programs make")
  func madeByPrograms() throws {
    var table = BoardTable()
    for number in 0..<BoardTable.createdBoards {
      try table.open(
        Board(
          name: "b.\(number)", origin: .unique(connection: UInt64(number % 2)), members: .app(Self.app(1)),
          settings: BoardSettings()))
    }
    let more = Board(name: "b.more", origin: .created, members: .app(Self.app(1)), settings: BoardSettings())
    #expect(throws: BoardRefusal.tooManyBoards) { try table.open(more) }
    #expect(table.boards(ofConnection: 1).count == BoardTable.createdBoards / 2)
    #expect(throws: BoardRefusal.nameTaken) {
      try table.open(Board(name: "b.1", origin: .policy, members: .ofBoard("b.1"), settings: BoardSettings()))
    }
  }

  @Test("stored items come back under their numbers, behind nothing and within the quota")
  func restoring() throws {
    var table = try Self.table { $0.itemCount = 2 }
    var items = ["new", "middle", "old"].map { Self.item($0) }
    for index in items.indices { items[index].number = UInt64(30 - index) }
    items[2].isPinned = true
    let restored = table.restore(items, to: Self.name, changeCount: 77)
    let change = try #require(restored)
    #expect(texts(table) == ["new", "old"] && change.dropped == [29] && change.changeCount > 77)
    let newer = try table.add(Self.item("newer"), to: Self.name)
    #expect(newer?.kept?.number == 31)
  }

  @Test(
    "names that programs may give their boards",
    arguments: [
      ("com.acme.suite.drafts", true), ("nodot", false), ("XdndSelection", false), ("_NET.x", false), ("a..b", true),
      (".a", false), ("a.", false), ("a.b c", false), ("org.xpastebridge.unique.x", false), ("", false),
      (String(repeating: "a.", count: 64) + "b", false),
    ])
  func names(name: String, isFree: Bool) { #expect(BoardName.isFree(name) == isFree) }
}

/// Any order of changes keeps what the model promises.
@Suite struct BoardPropertyTests {
  @Test("quota, pins, counts and sums hold after every change", arguments: 0..<40)
  func anyOrder(seed: Int) throws {
    var random = Lottery(seed: UInt64(seed) &* 0x9e37_79b9 &+ 1)
    var table = try BoardTableTests.table {
      $0.itemCount = 1 + Int(random.next() % 6)
      $0.totalBytes = 8 + Int(random.next() % 40)
      $0.itemBytes = 4 + Int(random.next() % 20)
    }
    let name = BoardTableTests.name
    var now = BoardTableTests.now
    var count = try #require(table[name]).changeCount
    for _ in 0..<300 {
      let before = try #require(table[name])
      let change: BoardChange?
      switch random.next() % 7 {
      case 0, 1, 2:
        let text = String(
          repeating: "abcdefgh".randomElement(using: &random) ?? "x", count: Int(random.next() % 24) + 1)
        let expiry = random.next() % 3 == 0 ? now.advanced(byMilliseconds: Int(random.next() % 500)) : nil
        change = try? table.add(
          BoardTableTests.item(text, by: Int32(random.next() % 3), at: now, expiry: expiry), to: name,
          replacing: random.next() % 9 == 0)
      case 3:
        change = try? table.pin(
          before.items.randomElement(using: &random)?.number ?? 0, on: name, random.next() % 3 > 0)
      case 4: change = try? table.remove(before.items.randomElement(using: &random)?.number ?? 0, from: name)
      case 5:
        now = now.advanced(byMilliseconds: Int(random.next() % 300))
        change = table.expire(at: now).first
        #expect(table[name]?.items.contains { $0.expiry.map { $0 <= now } ?? false } == false)
      default:
        var settings = before.settings
        settings.itemCount = 1 + Int(random.next() % 6)
        change = table.replaceSettings(of: name, by: settings)
      }
      let after = try #require(table[name])
      // The count only grows, and grows exactly when something has changed.
      #expect(after.changeCount >= count && (after.changeCount > count) == (change != nil))
      count = after.changeCount
      // Within the quota, as far as pins leave room; nothing pinned is dropped by it.
      let loose = after.items.filter { !$0.isPinned }
      #expect(after.items.count <= after.settings.itemCount || loose.isEmpty)
      #expect(after.byteCount <= after.settings.totalBytes || loose.isEmpty)
      #expect(table.byteCount == after.byteCount)
      #expect(Set(after.items.map(\.number)).count == after.items.count)
      let gone = Set(before.items.map(\.number)).subtracting(after.items.map(\.number))
      #expect(Set(change?.dropped ?? []) == gone)
    }
  }

  /// SplitMix64: the same numbers for the same seed.
  struct Lottery: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var z = state
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return z ^ (z >> 31)
    }
  }
}

@Suite struct PatternLabelTests {
  @Test(
    "what a text looks like",
    arguments: [
      ("https://example.org/a?b=c", [PatternLabel.webURL]), ("www.example.org", [.webURL]), ("ftp://x.org/f", [.link]),
      ("mailto:ada@example.org", [.link]), ("ada@example.org", [.emailAddress]), ("ada@example", [.searchTerm]),
      ("42", [.number]), ("-3.14", [.number]), ("1'000", [.number]), ("3..4", [.searchTerm]),
      ("+49 30 1234567", [.phoneNumber]), ("030/123 45 67", [.phoneNumber]), ("$ 12.50", [.moneyAmount]),
      ("12 €", [.moneyAmount]), ("#ff8800", [.color]), ("/etc/hosts", [.filePath]), ("  42\n", [.number]),
      ("two words", [.searchTerm]), ("", []), ("   ", []), ("two\nlines", []), ("https://", [.searchTerm]),
      ("https://a b", [.searchTerm]),
    ])
  func labels(text: String, labels: [PatternLabel]) {
    #expect(PatternLabel.labels(of: Array(text.utf8)) == labels, "\(text)")
  }

  @Test("only plain text has labels, and only short text")
  func ofItems() {
    #expect(PatternLabel.labels(of: BoardTableTests.item("42", types: ["text/html"])) == [])
    #expect(PatternLabel.labels(of: BoardTableTests.item("42", types: ["STRING"])) == [.number])
    #expect(PatternLabel.labels(of: BoardTableTests.item(String(repeating: "4", count: 3_000))) == [])
  }

  @Test("any bytes are looked at without a trap", arguments: 0..<20)
  func anyBytes(seed: Int) {
    var random = BoardPropertyTests.Lottery(seed: UInt64(seed))
    for _ in 0..<200 {
      let marks = Array("+-@:/.#$ %a9é€\n".utf8)
      let bytes = (0..<Int(random.next() % 12)).map { _ in marks.randomElement(using: &random) ?? 0 }
      _ = PatternLabel.labels(of: bytes)
    }
  }
}
