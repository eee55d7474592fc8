/// What changes the store. Each function is one transaction; the names of boards follow only when it is committed.
extension BoardDatabase {
  /// Makes the board or changes what is known of it.
  func save(_ record: BoardRecord) throws(StoreFailure) {
    if let known = boards[record.name] {
      try connection.transaction { () throws(StoreFailure) in try write(record, id: known.id) }
      boards[record.name] = Board(id: known.id, record: record)
    } else {
      // At random, so that rows of a board that was removed never belong to a later one.
      let id = Int64.random(in: 1 ... .max)
      try connection.transaction { () throws(StoreFailure) in
        let statement = try connection.statement("INSERT INTO board VALUES (?, ?)")
        statement.bind(1, id)
        try statement.run(2, blob: sealed(BoardHeader(record).bytes, at: Place.board(id, store: number)))
      }
      boards[record.name] = Board(id: id, record: record)
    }
  }

  private func write(_ record: BoardRecord, id: Int64) throws(StoreFailure) {
    let statement = try connection.statement("UPDATE board SET header=?2 WHERE id=?1")
    statement.bind(1, id)
    try statement.run(2, blob: sealed(BoardHeader(record).bytes, at: Place.board(id, store: number)))
  }

  private func sealed(_ bytes: [UInt8], at place: [UInt8]) -> [UInt8] { Sealing.seal(bytes, at: place, with: key.key) }

  /// Changes the board `name` by `body` and sets its change count, which never falls.
  private func change(
    _ name: String, to changeCount: UInt64, _ body: (Board) throws(StoreFailure) -> Void
  ) throws(StoreFailure) {
    var board = try board(name)
    board.record.changeCount = max(board.record.changeCount, changeCount)
    try connection.transaction { () throws(StoreFailure) in
      try body(board)
      try write(board.record, id: board.id)
    }
    boards[name] = board
  }

  /// Removes the board and all its items.
  func removeBoard(_ name: String) throws(StoreFailure) {
    let board = try board(name)
    try connection.transaction { () throws(StoreFailure) in
      try removeItems(of: board.id)
      let statement = try connection.statement("DELETE FROM board WHERE id=?")
      statement.bind(1, board.id)
      try statement.run()
    }
    boards[name] = nil
    hasRemains = true
  }

  /// Keeps an item.
  func keep(_ item: NewItem, on name: String, changeCount: UInt64) throws(StoreFailure) {
    try change(name, to: changeCount) { (board) throws(StoreFailure) in
      try removeItem(Int64(bitPattern: item.record.serial), of: board.id)
      try insert(item, into: board.id)
    }
  }

  /// Keeps items in the place of all others.
  func replaceItems(_ items: [NewItem], on name: String, changeCount: UInt64) throws(StoreFailure) {
    try change(name, to: changeCount) { (board) throws(StoreFailure) in
      try removeItems(of: board.id)
      for item in items { try insert(item, into: board.id) }
    }
  }

  /// Changes what is known of an item.
  func amend(_ record: ItemRecord, on name: String, changeCount: UInt64) throws(StoreFailure) {
    let (_, header) = try item(ItemPlace(board: name, serial: record.serial))
    try change(name, to: changeCount) { (board) throws(StoreFailure) in
      let row = ItemRow(record, board: board.id)
      let statement = try connection.statement(
        "UPDATE item SET position=?3, expires=?4, header=?5 WHERE board=?1 AND serial=?2")
      bind(row, to: statement)
      let amended = ItemHeader(record, mark: header.mark, header.representations)
      try statement.run(5, blob: sealed(amended.bytes, at: Place.item(row, store: number)))
    }
  }

  /// Removes items by their numbers.
  func removeItems(_ serials: [UInt64], from name: String, changeCount: UInt64) throws(StoreFailure) {
    try change(name, to: changeCount) { (board) throws(StoreFailure) in
      for serial in serials { try removeItem(Int64(bitPattern: serial), of: board.id) }
    }
  }

  /// Removes the items that have ended, and says which of them belong to a board that can be read.
  func removeExpired(now: Int64) throws(StoreFailure) -> [ItemPlace] {
    let names = Dictionary(uniqueKeysWithValues: boards.map { ($0.value.id, $0.key) })
    var rows: [(board: Int64, serial: Int64)] = []
    try connection.transaction { () throws(StoreFailure) in
      let ended = try connection.statement("SELECT board, serial FROM item WHERE expires <= ?")
      ended.bind(1, now)
      while try ended.step() { rows.append((ended.number(0), ended.number(1))) }
      ended.reset()
      for row in rows { try removeItem(row.serial, of: row.board) }
    }
    return rows.compactMap { row in
      names[row.board].map { ItemPlace(board: $0, serial: UInt64(bitPattern: row.serial)) }
    }
  }

  private func removeItem(_ serial: Int64, of board: Int64) throws(StoreFailure) {
    for sql in ["DELETE FROM part WHERE board=? AND serial=?", "DELETE FROM item WHERE board=? AND serial=?"] {
      let statement = try connection.statement(sql)
      statement.bind(1, board)
      statement.bind(2, serial)
      try statement.run()
      if connection.changedRows > 0 { hasRemains = true }
    }
  }

  private func removeItems(of board: Int64) throws(StoreFailure) {
    for sql in ["DELETE FROM part WHERE board=?", "DELETE FROM item WHERE board=?"] {
      let statement = try connection.statement(sql)
      statement.bind(1, board)
      try statement.run()
      if connection.changedRows > 0 { hasRemains = true }
    }
  }

  private func bind(_ row: ItemRow, to statement: SQLiteStatement) {
    statement.bind(1, row.board)
    statement.bind(2, row.serial)
    statement.bind(3, row.position)
    statement.bind(4, row.expires)
  }

  private func insert(_ item: NewItem, into board: Int64) throws(StoreFailure) {
    let row = ItemRow(item.record, board: board)
    let representations = item.representations.map {
      RepresentationRecord(type: $0.type, byteCount: $0.content.byteCount)
    }
    let header = ItemHeader(item.record, mark: .random(in: 0 ... .max), representations)
    let statement = try connection.statement(
      "INSERT INTO item (board, serial, position, expires, header) VALUES (?, ?, ?, ?, ?)")
    bind(row, to: statement)
    try statement.run(5, blob: sealed(header.bytes, at: Place.item(row, store: number)))
    for (index, representation) in item.representations.enumerated() {
      try representation.content.withBytes { (bytes) throws(StoreFailure) in
        try insert(bytes, representation: index, of: row, header)
      }
    }
  }

  private func insert(
    _ bytes: UnsafeRawBufferPointer, representation: Int, of row: ItemRow, _ header: ItemHeader
  ) throws(StoreFailure) {
    var rest = bytes
    var part = 0
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(StoreFormat.partBytes))
      let place = Place.part(part, representation: representation, of: row, header, store: number)
      let statement = try connection.statement(
        "INSERT INTO part (board, serial, representation, number, sealed) VALUES (?, ?, ?, ?, ?)")
      statement.bind(1, row.board)
      statement.bind(2, row.serial)
      statement.bind(3, Int64(representation))
      statement.bind(4, Int64(part))
      try statement.run(5, blob: Sealing.seal(piece, at: place, with: key.key))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
      part += 1
    }
  }

  /// Sees to it that nothing that was removed is left in the files: SQLite has written zeros over it, but the log still has
  /// the pages as they were.
  func empty() throws(StoreFailure) {
    let vacuum = try connection.statement("PRAGMA incremental_vacuum")
    try vacuum.run()
    let statement = try connection.statement("PRAGMA wal_checkpoint(TRUNCATE)")
    defer { statement.reset() }
    guard try statement.step(), statement.number(0) == 0 else { throw .inUse(path: path) }
    hasRemains = false
  }
}

extension ItemRow {
  init(_ record: ItemRecord, board: Int64) {
    self.board = board
    (serial, position, expires) = (Int64(bitPattern: record.serial), record.position, record.expires)
  }
}
