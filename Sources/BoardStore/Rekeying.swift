import GuardedMemory

/// Changing the key: everything is sealed anew in one transaction. A key that isn't used any more goes only after it, a new
/// one is kept before it, so that at any moment one of those that can be found opens the store.
extension BoardDatabase {
  /// Seals everything with a new key, and says what to remark. What was sealed with the former stands in the log until
  /// ``empty()``.
  func rekey() throws(StoreFailure) -> [String] {
    var remarks: [String] = []
    let new = try chain.makeKey(except: key.key, remarks: &remarks)
    try reseal(with: new)
    return remarks
  }

  /// Seals everything with `new`, which is kept already.
  func reseal(with new: FoundKey) throws(StoreFailure) {
    let former = key
    try connection.transaction { () throws(StoreFailure) in
      let proof = try connection.statement("UPDATE store SET key_source=?, key_proof=?")
      proof.bind(1, new.source.rawValue)
      try proof.run(2, blob: Sealing.seal([], at: Place.keyProof(store: number), with: new.key))
      try resealBoards(with: new.key)
      try resealItems(with: new.key)
    }
    hasRemains = true
    key = new
    try chain.settle(new)
    // A key left over is in nobody's way, and no reason to call the change failed.
    try? chain.retire(former, for: new)
  }

  private func identifiers(_ sql: String, of row: ItemRow? = nil) throws(StoreFailure) -> [Int64] {
    let statement = try connection.statement(sql)
    if let row {
      statement.bind(1, row.board)
      statement.bind(2, row.serial)
    }
    defer { statement.reset() }
    var found: [Int64] = []
    while try statement.step() { found.append(statement.number(0)) }
    return found
  }

  private func resealBoards(with new: StoreKey) throws(StoreFailure) {
    for id in try identifiers("SELECT id FROM board") {
      let place = Place.board(id, store: number)
      let found = try connection.statement("SELECT header FROM board WHERE id=?")
      found.bind(1, id)
      guard try found.step(), let header = found.withBlob(0, { Sealing.open($0, at: place, with: key.key) }) else {
        throw .damaged(path: path, "a board isn't as it was written")
      }
      found.reset()
      let statement = try connection.statement("UPDATE board SET header=?2 WHERE id=?1")
      statement.bind(1, id)
      try statement.run(2, blob: Sealing.seal(header, at: place, with: new))
    }
  }

  private func resealItems(with new: StoreKey) throws(StoreFailure) {
    let scratch = GuardedPages(byteCount: StoreFormat.partBytes, wipedAtEnd: true)
    for id in try identifiers("SELECT id FROM item") {
      let found = try connection.statement("SELECT board, serial, position, expires, header FROM item WHERE id=?")
      found.bind(1, id)
      guard try found.step() else { throw damagedContent }
      let row = ItemRow(
        board: found.number(0), serial: found.number(1), position: found.number(2), expires: found.optionalNumber(3))
      guard let header = found.withBlob(4, { open($0, of: row) }) else {
        throw .damaged(path: path, "an item isn't as it was written")
      }
      found.reset()
      let statement = try connection.statement("UPDATE item SET header=?2 WHERE id=?1")
      statement.bind(1, id)
      try statement.run(2, blob: Sealing.seal(header.bytes, at: Place.item(row, store: number), with: new))
      for part in try identifiers("SELECT id FROM part WHERE board=? AND serial=?", of: row) {
        try resealPart(part, of: row, header, with: new, scratch)
      }
    }
  }

  private func resealPart(
    _ id: Int64, of row: ItemRow, _ header: ItemHeader, with new: StoreKey, _ scratch: GuardedPages
  ) throws(StoreFailure) {
    let found = try connection.statement("SELECT representation, number, sealed FROM part WHERE id=?")
    found.bind(1, id)
    guard try found.step(), header.representations.indices.contains(Int(found.number(0))) else { throw damagedContent }
    let place = Place.part(
      Int(found.number(1)), representation: Int(found.number(0)), of: row, header, store: number)
    let byteCount = try found.withBlob(2) { (sealed) throws(StoreFailure) in
      let byteCount = sealed.count - Sealing.overhead
      // Not more than the scratch pages hold, which is what a part has at most.
      guard (1...StoreFormat.partBytes).contains(byteCount),
        Sealing.open(sealed, at: place, with: key.key, into: scratch.base)
      else { throw damagedContent }
      return byteCount
    }
    found.reset()
    let statement = try connection.statement("UPDATE part SET sealed=?2 WHERE id=?1")
    statement.bind(1, id)
    let bytes = UnsafeRawBufferPointer(start: scratch.base, count: byteCount)
    try statement.run(2, blob: Sealing.seal(bytes, at: place, with: new))
  }
}
