/// The open store: its file, its key, and the names of its boards. Used by one thread.
final class BoardDatabase {
  /// A board's row and what stands in it.
  struct Board {
    var id: Int64
    var record: BoardRecord
  }

  let connection: SQLiteConnection
  let path: String
  /// Random bytes that tell this store from all others.
  let number: [UInt8]
  let chain: KeyChain
  var key: FoundKey
  var boards: [String: Board] = [:]
  /// Whether something was removed of which copies may still stand in the log.
  var hasRemains = false
  // The lock ends with it.
  private let lock: StoreDescriptor

  /// Opens the store, or makes it where there is none. What can't be read as a whole is left as it is.
  static func open(_ configuration: StoreConfiguration) throws(StoreFailure) -> (BoardDatabase, StoreContents) {
    guard Sealing.start() else { throw .database(code: 0, "libsodium can't be used") }
    try StoreFiles.prepareFolder(configuration.folder)
    let lock = try StoreFiles.lockFolder(configuration.folder)
    try StoreFiles.closeAllToOthers(in: configuration.folder)
    let path = configuration.folder + "/" + StoreFiles.database
    var remarks: [String] = []
    if !StoreFiles.exists(path) { try make(configuration, &remarks) }
    try StoreFiles.closeToOthers(path)
    try StoreFormat.verifyHeader(of: path)
    let connection = try SQLiteConnection(path: path)
    try StoreFormat.prepare(connection)
    try StoreFormat.verifyTables(connection, path: path)
    let database = try BoardDatabase(configuration, connection, path, lock)
    database.moveToCredential(&remarks)
    let boards = try database.load(&remarks)
    return (database, StoreContents(boards: boards, keySource: database.key.source, remarks: remarks))
  }

  private static func make(_ configuration: StoreConfiguration, _ remarks: inout [String]) throws(StoreFailure) {
    let number = Sealing.random(16)
    let chain = KeyChain(configuration: configuration, store: number)
    let key = try chain.makeKey(except: nil, remarks: &remarks)
    try chain.settle(key)
    // What a start that was cut short has left.
    for suffix in ["", "-journal", "-wal"] {
      try StoreFiles.remove(configuration.folder + "/" + StoreFiles.newDatabase + suffix)
    }
    // A log without its file belongs to none that is made now.
    for suffix in ["-journal", "-wal"] {
      try StoreFiles.remove(configuration.folder + "/" + StoreFiles.database + suffix)
    }
    try StoreFormat.make(in: configuration.folder, number: number, key: key)
  }

  private init(
    _ configuration: StoreConfiguration, _ connection: SQLiteConnection, _ path: String, _ lock: StoreDescriptor
  ) throws(StoreFailure) {
    (self.connection, self.path, self.lock) = (connection, path, lock)
    let statement = try connection.statement("SELECT number, key_source, key_proof FROM store")
    defer { statement.reset() }
    guard try statement.step(), let recorded = KeySource(rawValue: statement.text(1)) else {
      throw .damaged(path: path, "it doesn't say how it is sealed")
    }
    number = statement.blob(0)
    chain = KeyChain(configuration: configuration, store: number)
    key = try Self.findKey(chain, recorded, proof: statement.blob(2), path: path)
    try chain.settle(key)
  }

  /// The key that opens `proof`: where it is said to lie, else wherever there are keys. So a store that was restored, or
  /// whose key was moved by hand, is still opened.
  private static func findKey(
    _ chain: KeyChain, _ recorded: KeySource, proof: [UInt8], path: String
  ) throws(StoreFailure) -> FoundKey {
    let place = Place.keyProof(store: chain.store)
    var failure: StoreFailure?
    for source in [recorded] + KeySource.allCases.filter({ $0 != recorded }) {
      do {
        for found in try chain.keys(from: source)
        where proof.withUnsafeBytes({ Sealing.open($0, at: place, with: found.key) }) != nil { return found }
      } catch {
        if source == recorded { failure = error }
      }
    }
    throw failure ?? .wrongKey(path: path, recorded)
  }

  /// A credential that the service manager gives us is what the administrator wants: what is sealed otherwise is sealed anew.
  private func moveToCredential(_ remarks: inout [String]) {
    do {
      guard let wanted = try chain.preferredCredential(), !wanted.key.isSame(as: key.key) else { return }
      try reseal(with: wanted)
      try empty()
      remarks.append("the boards are sealed anew, with \(wanted.source.words)")
    } catch {
      remarks.append("the boards couldn't be sealed anew: \(error)")
    }
  }

  /// Reads names and types; content stays where it is. What doesn't open is left out and said.
  private func load(_ remarks: inout [String]) throws(StoreFailure) -> [KeptBoard] {
    var kept: [Int64: KeptBoard] = [:]
    var unread = 0
    let rows = try connection.statement("SELECT id, header FROM board")
    while try rows.step() {
      let id = rows.number(0)
      let place = Place.board(id, store: number)
      let bytes = rows.withBlob(1) { Sealing.open($0, at: place, with: key.key) }
      guard let record = bytes.flatMap({ BoardHeader($0) })?.record, boards[record.name] == nil else {
        unread += 1
        continue
      }
      boards[record.name] = Board(id: id, record: record)
      kept[id] = KeptBoard(record: record, items: [])
    }
    rows.reset()
    let items = try connection.statement(
      "SELECT board, serial, position, expires, header FROM item ORDER BY board, position, serial")
    while try items.step() {
      let row = ItemRow(
        board: items.number(0), serial: items.number(1), position: items.number(2), expires: items.optionalNumber(3))
      guard let header = items.withBlob(4, { open($0, of: row) }), kept[row.board] != nil else {
        unread += 1
        continue
      }
      kept[row.board]?.items.append(KeptItem(row, header))
    }
    items.reset()
    if unread > 0 {
      remarks.append("\(path): \(unread) entries aren't as they were written; they are left out, and left as they are")
    }
    return kept.values.sorted { $0.record.name < $1.record.name }
  }

  /// The header of an item's row, if it is what was sealed for this row.
  func open(_ sealed: UnsafeRawBufferPointer, of row: ItemRow) -> ItemHeader? {
    Sealing.open(sealed, at: Place.item(row, store: number), with: key.key).flatMap { ItemHeader($0) }
  }

  /// The row and header of one item.
  func item(_ place: ItemPlace) throws(StoreFailure) -> (row: ItemRow, header: ItemHeader) {
    let board = try board(place.board)
    let statement = try connection.statement("SELECT position, expires, header FROM item WHERE board=? AND serial=?")
    statement.bind(1, board.id)
    statement.bind(2, Int64(bitPattern: place.serial))
    defer { statement.reset() }
    guard try statement.step() else { throw .noItem }
    let row = ItemRow(
      board: board.id, serial: Int64(bitPattern: place.serial), position: statement.number(0),
      expires: statement.optionalNumber(1))
    guard let header = statement.withBlob(2, { open($0, of: row) }) else {
      throw .damaged(path: path, "an item isn't as it was written")
    }
    return (row, header)
  }

  func board(_ name: String) throws(StoreFailure) -> Board {
    guard let board = boards[name] else { throw .noBoard(name) }
    return board
  }

  /// Reads one representation.
  func read(_ place: ItemPlace, representation: Int) throws(StoreFailure) -> StoredContent {
    let (row, header) = try item(place)
    guard header.representations.indices.contains(representation) else { throw .noItem }
    let statement = try connection.statement(
      "SELECT number, sealed FROM part WHERE board=? AND serial=? AND representation=? ORDER BY number")
    statement.bind(1, row.board)
    statement.bind(2, row.serial)
    statement.bind(3, Int64(representation))
    defer { statement.reset() }
    var draft = ContentDraft(byteCount: header.representations[representation].byteCount)
    var next = 0
    while try statement.step() {
      let place = Place.part(next, representation: representation, of: row, header, store: number)
      let byteCount = min(draft.missing, StoreFormat.partBytes)
      try statement.withBlob(1) { (sealed) throws(StoreFailure) in
        guard byteCount > 0, sealed.count == byteCount + Sealing.overhead else { throw damagedContent }
        try draft.fill(byteCount) { (room) throws(StoreFailure) in
          guard Sealing.open(sealed, at: place, with: key.key, into: room) else { throw damagedContent }
        }
      }
      next += 1
    }
    guard draft.missing == 0 else { throw damagedContent }
    return draft.finished()
  }

  var damagedContent: StoreFailure { .damaged(path: path, "content isn't as it was written") }
}

extension KeptItem {
  init(_ row: ItemRow, _ header: ItemHeader) {
    record = ItemRecord(
      serial: UInt64(bitPattern: row.serial), position: row.position, created: header.created, expires: row.expires,
      isPinned: header.isPinned, source: header.source)
    representations = header.representations
  }
}
