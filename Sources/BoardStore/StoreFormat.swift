/// The form of the store's file: an SQLite database that says by its header whose it is.
enum StoreFormat {
  /// "XPBb", so that other programs know the file, and we know that it is ours.
  static let application: Int32 = 0x5850_4262
  /// Raised with every change of the tables or of what is sealed in them.
  static let version: Int32 = 1

  /// 1 MiB, our choice: content is sealed and read in parts of this size, so that a large one needs no second copy of itself
  /// in memory; with 10 MB neither half nor double the size was faster.
  static let partBytes = 1 << 20

  /// What stands in clear: numbers, positions, ends and sizes. Everything that is text, and all content, is sealed.
  static let tables = [
    """
    CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), number BLOB NOT NULL, key_source TEXT NOT NULL,
      key_proof BLOB NOT NULL) STRICT
    """,
    "CREATE TABLE board (id INTEGER PRIMARY KEY, header BLOB NOT NULL) STRICT",
    """
    CREATE TABLE item (id INTEGER PRIMARY KEY, board INTEGER NOT NULL, serial INTEGER NOT NULL, position INTEGER NOT NULL,
      expires INTEGER, header BLOB NOT NULL) STRICT
    """,
    "CREATE UNIQUE INDEX item_place ON item (board, serial)",
    """
    CREATE TABLE part (id INTEGER PRIMARY KEY, board INTEGER NOT NULL, serial INTEGER NOT NULL,
      representation INTEGER NOT NULL, number INTEGER NOT NULL, sealed BLOB NOT NULL) STRICT
    """,
    "CREATE UNIQUE INDEX part_place ON part (board, serial, representation, number)",
  ]

  /// Looks at the header of the file at `path`, which is not opened as a database before we know that it is ours.
  static func verifyHeader(of path: String) throws(StoreFailure) {
    let (pages, count) = try StoreFiles.read(path, limit: 100)
    let header = UnsafeRawBufferPointer(start: pages.base, count: count)
    guard header.starts(with: Array("SQLite format 3\0".utf8).prefix(count)) else { throw .foreign(path: path) }
    guard count == 100 else { throw .damaged(path: path, "expected a header of 100 bytes, found \(count)") }
    // Numbers of the header are big endian (SQLite's file format, 1.3).
    func number(at offset: Int) -> Int32 {
      Int32(bigEndian: header.loadUnaligned(fromByteOffset: offset, as: Int32.self))
    }
    guard number(at: 68) == application else { throw .foreign(path: path) }
    guard number(at: 60) == version else {
      throw .otherVersion(path: path, found: number(at: 60), expected: version)
    }
  }

  /// Sets what holds for every connection. FULL waits for the disk with each confirmed order: on a thread of its own that
  /// costs nobody's paste anything. Zeros are written over what is removed.
  static func prepare(_ connection: SQLiteConnection) throws(StoreFailure) {
    try connection.execute(
      """
      PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY;
      PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA journal_size_limit=4194304
      """)
  }

  /// Makes an empty store as `StoreFiles.newDatabase`, sealed with `key`. It gets its name only when it is whole.
  static func make(in folder: String, number: [UInt8], key: FoundKey) throws(StoreFailure) {
    let path = folder + "/" + StoreFiles.newDatabase
    try StoreFiles.write(UnsafeRawBufferPointer(start: nil, count: 0), to: path)
    do {
      let connection = try SQLiteConnection(path: path)
      try prepare(connection)
      try connection.execute("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA application_id=\(application)")
      try connection.transaction { () throws(StoreFailure) in
        for table in tables { try connection.execute(table) }
        let statement = try connection.statement("INSERT INTO store VALUES (1, ?, ?, ?)")
        statement.bind(1, copyOf: number)
        statement.bind(2, key.source.rawValue)
        try statement.run(3, blob: Sealing.seal([], at: Place.keyProof(store: number), with: key.key))
        try connection.execute("PRAGMA user_version=\(version)")
      }
      try connection.execute("PRAGMA journal_mode=WAL")
    }
    try StoreFiles.rename(StoreFiles.newDatabase, to: StoreFiles.database, in: folder)
  }

  /// Whether the tables are ours and nothing is beside them: views and triggers of somebody else would run with our
  /// statements.
  static func verifyTables(_ connection: SQLiteConnection, path: String) throws(StoreFailure) {
    let statement = try connection.statement("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
    defer { statement.reset() }
    var found: Set<String> = []
    while try statement.step() { found.insert(statement.text(0)) }
    guard found == Set(tables) else { throw .foreign(path: path) }
  }
}
