import BoardStore
import CSQLite
import Glibc

/// Measures what keeping and reading a clip costs from the order to its answer, beside plain SQLite with the same settings
/// on the same disk, in turns. Prints one line a figure: `keep 1024 sealed 310.5 us`.
///
///     StoreBench FOLDER [ROUNDS]       the folder is made, and removed at the end
@main
struct StoreBench {
  static func main() throws {
    let words = CommandLine.arguments
    guard words.count >= 2, let rounds = words.count > 2 ? Int(words[2]) : 200 else {
      print("usage: StoreBench FOLDER [ROUNDS]")
      exit(2)
    }
    let folder = words[1]
    mkdir(folder, 0o700)
    let sealed = try SealedStore(folder + "/sealed")
    let plain = PlainStore(folder + "/plain.sqlite")
    for (size, count) in [(1_024, rounds), (10 << 20, max(3, rounds / 20))] {
      var times: [String: [Duration]] = [:]
      let bytes = [UInt8](unsafeUninitializedCapacity: size) { room, made in
        getentropy(room.baseAddress!, min(size, 256))
        made = size
      }
      for serial in 1...Int64(count) {
        times["keep sealed", default: []].append(sealed.keep(serial, bytes))
        times["keep plain", default: []].append(plain.keep(serial, bytes))
      }
      for serial in 1...Int64(count) {
        times["read sealed", default: []].append(sealed.read(serial))
        times["read plain", default: []].append(plain.read(serial))
      }
      for (name, all) in times.sorted(by: { $0.key < $1.key }) {
        let words = name.split(separator: " ")
        print("\(words[0]) \(size) \(words[1]) \(microseconds(all.sorted()[all.count / 2])) us")
      }
      sealed.remove(count)
      plain.remove()
    }
    sealed.end()
    plain.end()
    for name in ["sealed/boards.sqlite", "sealed/boards.key", "sealed/boards.lock", "plain.sqlite"] {
      unlink(folder + "/" + name)
    }
    rmdir(folder + "/sealed")
    rmdir(folder)
  }

  static func microseconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) * 1e6 + Double(duration.components.attoseconds) / 1e12
  }
}

/// The store as the daemon uses it.
struct SealedStore {
  private let store: BoardStore
  private let clock = ContinuousClock()

  init(_ folder: String) throws {
    store = try BoardStore(StoreConfiguration(folder: folder))
    answer()
    store.submit(.saveBoard(BoardRecord(name: "bench")))
    answer()
  }

  /// Waits for one event; a bench whose orders fail has nothing to say.
  private func answer() {
    while true {
      var entry = pollfd(fd: store.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&entry, 1, -1)
      for event in store.takeEvents() {
        if case .unavailable(let failure) = event { fatalError("\(failure)") }
        if case .rejected(_, let failure) = event { fatalError("\(failure)") }
        return
      }
    }
  }

  func keep(_ serial: Int64, _ bytes: [UInt8]) -> Duration {
    let record = ItemRecord(serial: UInt64(serial), position: serial, created: 0)
    let item = NewItem(record, [.init(type: "text/plain", content: StoredContent(bytes))])
    return clock.measure {
      store.submit(.keep(item, onBoard: "bench", changeCount: 1))
      answer()
    }
  }

  func read(_ serial: Int64) -> Duration {
    clock.measure {
      store.submit(.read(ItemPlace(board: "bench", serial: UInt64(serial)), representation: 0))
      answer()
    }
  }

  func remove(_ count: Int) {
    store.submit(.removeItems((1...UInt64(count)).map { $0 }, fromBoard: "bench", changeCount: 1))
    answer()
  }

  func end() { store.end() }
}

/// One table of blobs, on the thread that asks.
struct PlainStore {
  private let connection: OpaquePointer
  private let insert: OpaquePointer
  private let select: OpaquePointer
  private let clock = ContinuousClock()

  init(_ path: String) {
    var opened: OpaquePointer?
    var prepared: [OpaquePointer] = []
    guard sqlite3_open(path, &opened) == SQLITE_OK, let connection = opened else {
      fatalError("\(path) can't be opened")
    }
    sqlite3_exec(
      connection,
      """
      PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;
      CREATE TABLE clip (serial INTEGER PRIMARY KEY, content BLOB NOT NULL)
      """, nil, nil, nil)
    for sql in ["INSERT INTO clip VALUES (?, ?)", "SELECT content FROM clip WHERE serial=?"] {
      var made: OpaquePointer?
      guard sqlite3_prepare_v2(connection, sql, -1, &made, nil) == SQLITE_OK, let made else { fatalError(sql) }
      prepared.append(made)
    }
    (self.connection, insert, select) = (connection, prepared[0], prepared[1])
  }

  func keep(_ serial: Int64, _ bytes: [UInt8]) -> Duration {
    clock.measure {
      bytes.withUnsafeBytes {
        sqlite3_bind_int64(insert, 1, serial)
        sqlite3_bind_blob64(insert, 2, $0.baseAddress, UInt64($0.count), nil)
        guard sqlite3_step(insert) == SQLITE_DONE else { fatalError("plain SQLite can't write") }
        sqlite3_reset(insert)
      }
    }
  }

  func read(_ serial: Int64) -> Duration {
    clock.measure {
      sqlite3_bind_int64(select, 1, serial)
      guard sqlite3_step(select) == SQLITE_ROW else { fatalError("plain SQLite can't read") }
      let count = Int(sqlite3_column_bytes(select, 0))
      // Copied out, as whoever wants the content has to.
      let copy = UnsafeMutableRawPointer.allocate(byteCount: max(1, count), alignment: 16)
      if let start = sqlite3_column_blob(select, 0) { copy.copyMemory(from: start, byteCount: count) }
      copy.deallocate()
      sqlite3_reset(select)
    }
  }

  func remove() { sqlite3_exec(connection, "DELETE FROM clip; PRAGMA wal_checkpoint(TRUNCATE)", nil, nil, nil) }

  func end() {
    sqlite3_finalize(insert)
    sqlite3_finalize(select)
    sqlite3_close(connection)
  }
}
