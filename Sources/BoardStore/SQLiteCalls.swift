import CSQLite
import Glibc

/// One connection to an SQLite file. The only type of this module that calls SQLite; used by one thread.
final class SQLiteConnection {
  private let pointer: OpaquePointer
  private let path: String
  private var prepared: [String: SQLiteStatement] = [:]

  /// Opens the file at `path`, which is there.
  init(path: String) throws(StoreFailure) {
    var opened: OpaquePointer?
    // No lock of SQLite's own: one thread uses the connection.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
    let result = sqlite3_open_v2(path, &opened, flags, nil)
    guard let opened else { throw .database(code: result, "there is no memory for a connection") }
    guard result == SQLITE_OK else {
      defer { sqlite3_close_v2(opened) }
      throw Self.failure(result, opened, path)
    }
    (pointer, self.path) = (opened, path)
    xpb_sqlite_set_defensive(opened)
  }

  deinit {
    for statement in prepared.values { statement.finish() }
    sqlite3_close_v2(pointer)
  }

  /// Runs statements that give no rows.
  func execute(_ sql: String) throws(StoreFailure) {
    let result = sqlite3_exec(pointer, sql, nil, nil, nil)
    guard result == SQLITE_OK else { throw failure(result) }
  }

  /// The statement, prepared once and ready to be bound.
  func statement(_ sql: String) throws(StoreFailure) -> SQLiteStatement {
    if let known = prepared[sql] {
      known.reset()
      return known
    }
    var made: OpaquePointer?
    let result = sqlite3_prepare_v3(pointer, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil)
    guard result == SQLITE_OK, let made else { throw failure(result) }
    let statement = SQLiteStatement(made, of: self)
    prepared[sql] = statement
    return statement
  }

  /// Calls `body` between BEGIN and COMMIT; whatever fails undoes all of it.
  func transaction<R>(_ body: () throws(StoreFailure) -> R) throws(StoreFailure) -> R {
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      for statement in prepared.values { statement.reset() }
      // Some failures have rolled back already; then this one says so and there is nothing more to undo.
      if sqlite3_get_autocommit(pointer) == 0 { sqlite3_exec(pointer, "ROLLBACK", nil, nil, nil) }
      throw error
    }
  }

  /// How many rows the last statement changed.
  var changedRows: Int { Int(sqlite3_changes64(pointer)) }

  /// What `result` means for the store.
  func failure(_ result: Int32) -> StoreFailure { Self.failure(result, pointer, path) }

  private static func failure(_ result: Int32, _ pointer: OpaquePointer, _ path: String) -> StoreFailure {
    let words = String(cString: sqlite3_errmsg(pointer))
    switch result & 0xff {
    case SQLITE_FULL: return .full(path: path)
    case SQLITE_CORRUPT, SQLITE_NOTADB: return .damaged(path: path, words)
    case SQLITE_BUSY: return .inUse(path: path)
    case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY:
      let code = sqlite3_system_errno(pointer)
      if code == ENOSPC || code == EDQUOT { return .full(path: path) }
      return code == 0 ? .database(code: result, words) : .system(call: words, path: path, code: code)
    default: return .database(code: result, words)
    }
  }
}

/// A prepared statement, which lives as long as its connection.
final class SQLiteStatement {
  /// SQLITE_TRANSIENT, a cast that C writes as a macro: copy before the call ends.
  private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  private let pointer: OpaquePointer
  private unowned let connection: SQLiteConnection

  fileprivate init(_ pointer: OpaquePointer, of connection: SQLiteConnection) {
    (self.pointer, self.connection) = (pointer, connection)
  }

  fileprivate func finish() { sqlite3_finalize(pointer) }

  /// Ends a run, so that the next can be bound.
  func reset() {
    // What went wrong in the run was said when it did.
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  /// Binds parameter `index`, counted from 1.
  func bind(_ index: Int32, _ number: Int64?) {
    if let number { sqlite3_bind_int64(pointer, index, number) } else { sqlite3_bind_null(pointer, index) }
  }

  /// Binds text, of which SQLite takes a copy.
  func bind(_ index: Int32, _ text: String) {
    text.withCString { _ = sqlite3_bind_text(pointer, index, $0, -1, Self.copied) }
  }

  /// Binds bytes, of which SQLite takes a copy.
  func bind(_ index: Int32, copyOf bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { sqlite3_bind_blob64(pointer, index, $0.baseAddress, UInt64($0.count), Self.copied) }
  }

  /// Runs a statement that gives no rows, with `bytes` as parameter `index`, which are read during the call alone.
  func run(_ index: Int32, blob bytes: [UInt8]) throws(StoreFailure) {
    let result = bytes.withUnsafeBytes { bytes in
      sqlite3_bind_blob64(pointer, index, bytes.baseAddress, UInt64(bytes.count), nil)
      defer { reset() }
      return sqlite3_step(pointer)
    }
    guard result == SQLITE_DONE else { throw connection.failure(result) }
  }

  /// Runs a statement that gives no rows.
  func run() throws(StoreFailure) {
    defer { reset() }
    while try step() {}
  }

  /// Goes to the next row; false when there is none.
  func step() throws(StoreFailure) -> Bool {
    let result = sqlite3_step(pointer)
    guard result == SQLITE_ROW || result == SQLITE_DONE else { throw connection.failure(result) }
    return result == SQLITE_ROW
  }

  /// Column `index` of the row, counted from 0.
  func number(_ index: Int32) -> Int64 { sqlite3_column_int64(pointer, index) }

  /// The same, where there may be none.
  func optionalNumber(_ index: Int32) -> Int64? {
    sqlite3_column_type(pointer, index) == SQLITE_NULL ? nil : number(index)
  }

  /// Text, empty where there is none.
  func text(_ index: Int32) -> String {
    sqlite3_column_text(pointer, index).map { String(cString: $0) } ?? ""
  }

  /// Calls `body` with the bytes of column `index`, valid only inside the call.
  func withBlob<R, E: Error>(_ index: Int32, _ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let start = sqlite3_column_blob(pointer, index)
    return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, index))))
  }

  /// A copy of the bytes of column `index`.
  func blob(_ index: Int32) -> [UInt8] { withBlob(index) { Array($0) } }
}
