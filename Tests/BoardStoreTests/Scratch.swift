import CSQLite
import Foundation

@testable import BoardStore
@testable import StoreTrial

/// A folder that goes with its last user, and a store in it.
final class Scratch {
  let path: String
  var configuration: StoreConfiguration

  init() {
    // In memory where there is such a folder: what is tested doesn't depend on the disk, and disks are slow to confirm.
    let memory = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm/" : NSTemporaryDirectory()
    path = memory + "boards-" + UUID().uuidString
    try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    configuration = StoreConfiguration(folder: path + "/store")
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func open() -> Talk { Talk(configuration) }

  func file(_ name: String) -> String { configuration.folder + "/" + name }

  var database: String { file("boards.sqlite") }

  func bytes(_ name: String) -> Data { FileManager.default.contents(atPath: file(name)) ?? Data() }

  func write(_ bytes: some Collection<UInt8>, to name: String) {
    try! Data(bytes).write(to: URL(fileURLWithPath: file(name)))
  }

  var names: [String] { try! FileManager.default.contentsOfDirectory(atPath: configuration.folder).sorted() }

  /// Runs SQL on the store's file, as another program of the user could.
  func alter(_ sql: String) {
    var connection: OpaquePointer?
    precondition(sqlite3_open(database, &connection) == SQLITE_OK)
    let result = sqlite3_exec(connection, sql, nil, nil, nil)
    precondition(result == SQLITE_OK, String(cString: sqlite3_errmsg(connection)))
    sqlite3_close(connection)
  }

  /// The bytes that SQL gives.
  func blobs(_ sql: String) -> [Data] {
    query(sql) { statement in
      var blobs: [Data] = []
      while sqlite3_step(statement) == SQLITE_ROW {
        let start = sqlite3_column_blob(statement, 0)!
        blobs.append(Data(bytes: start, count: Int(sqlite3_column_bytes(statement, 0))))
      }
      return blobs
    }
  }

  /// One number that SQL gives.
  func number(_ sql: String) -> Int {
    query(sql) { statement in
      precondition(sqlite3_step(statement) == SQLITE_ROW)
      return Int(sqlite3_column_int64(statement, 0))
    }
  }

  private func query<Result>(_ sql: String, _ read: (OpaquePointer?) -> Result) -> Result {
    var connection: OpaquePointer?
    var statement: OpaquePointer?
    precondition(sqlite3_open(database, &connection) == SQLITE_OK)
    precondition(sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK)
    defer {
      sqlite3_finalize(statement)
      sqlite3_close(connection)
    }
    return read(statement)
  }
}

extension Talk {
  /// Makes the board and keeps items of it, each with one text.
  func fill(_ board: String, _ texts: [UInt64: String]) {
    _ = ask(.saveBoard(BoardRecord(name: board)))
    for (serial, text) in texts.sorted(by: { $0.key < $1.key }) {
      guard case .done = ask(.keep(.text(serial, text), onBoard: board, changeCount: serial)) else {
        preconditionFailure("the item isn't kept")
      }
    }
  }

  /// The first representation as text.
  func text(_ board: String, _ serial: UInt64) -> String? {
    guard case .content(_, let content) = ask(.read(ItemPlace(board: board, serial: serial), representation: 0)) else {
      return nil
    }
    return content.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  var board: KeptBoard? { contents?.boards.first }

  /// Why it couldn't be opened.
  var failure: StoreFailure? {
    guard case .unavailable(let failure) = opening else { return nil }
    return failure
  }
}

extension NewItem {
  static func text(_ serial: UInt64, _ text: String, expires: Int64? = nil) -> NewItem {
    NewItem(
      ItemRecord(serial: serial, position: Int64(serial), created: 1_000, expires: expires, source: "source-\(serial)"),
      [.init(type: "text/plain", content: StoredContent(Array(text.utf8)))])
  }
}

extension StoreEvent {
  var isDone: Bool {
    guard case .done = self else { return false }
    return true
  }

  var rejection: StoreFailure? {
    guard case .rejected(_, let failure) = self else { return nil }
    return failure
  }
}
