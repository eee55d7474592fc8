import BoardStore
import Glibc

/// Keeps clips and is killed at any moment; shows that none is lost that was confirmed.
///
///     StoreTrial kills COUNT FOLDER [SEED]     kills COUNT writers, closing with `N kills, N confirmed, N lost`
///     StoreTrial write FOLDER SEED             one writer: a line for each order before it is given and when it is confirmed
///     StoreTrial fill FOLDER BYTES             keeps one clip; prints how it ended
///     StoreTrial open FOLDER                   opens the store; prints how that ended
@main
struct StoreTrial {
  static func main() {
    let words = CommandLine.arguments.dropFirst()
    switch Array(words) {
    case let words where words.first == "kills" && words.count >= 3:
      guard let count = Int(words[1]) else { usage() }
      let seed = words.count > 3 ? UInt64(words[3]) : nil
      exit(KillTrial(folder: words[2], seed: seed ?? UInt64.random(in: 1...1 << 40)).run(count) ? 0 : 1)
    case let words where words.first == "write" && words.count == 3:
      guard let seed = UInt64(words[2]) else { usage() }
      Writer(folder: words[1], seed: seed).run()
    case let words where words.first == "fill" && words.count == 3:
      guard let count = Int(words[2]) else { usage() }
      fill(words[1], count)
    case let words where words.first == "open" && words.count == 2:
      print(Talk(StoreConfiguration(folder: words[1])).opening)
    default: usage()
    }
  }

  static func usage() -> Never {
    print("usage: StoreTrial kills COUNT FOLDER [SEED] | write FOLDER SEED | fill FOLDER BYTES | open FOLDER")
    exit(2)
  }

  static func fill(_ folder: String, _ count: Int) {
    let talk = Talk(StoreConfiguration(folder: folder))
    print(talk.opening)
    for board in ["small", "large"] {
      let size = board == "small" ? 100 : count
      print(talk.ask(.saveBoard(BoardRecord(name: board))))
      let item = NewItem(
        ItemRecord(serial: 1, position: 0, created: 0),
        [.init(type: "bytes", content: StoredContent([UInt8](repeating: 7, count: size)))])
      print(talk.ask(.keep(item, onBoard: board, changeCount: 1)))
    }
    print(talk.ask(.read(ItemPlace(board: "small", serial: 1), representation: 0)))
  }
}

/// A store whose answers are waited for.
final class Talk {
  let store: BoardStore
  private(set) var opening: StoreEvent
  private var waiting: [StoreEvent] = []

  init(_ configuration: StoreConfiguration) {
    guard let store = try? BoardStore(configuration) else { fatalError("the system has no thread for a store") }
    self.store = store
    opening = .unavailable(.noItem)
    opening = next()
  }

  /// What is in it, if it could be opened.
  var contents: StoreContents? {
    guard case .opened(let contents) = opening else { return nil }
    return contents
  }

  /// The next event, within a minute.
  func next() -> StoreEvent {
    while waiting.isEmpty {
      var entry = pollfd(fd: store.descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 60_000) > 0 else { fatalError("the store doesn't answer") }
      waiting = store.takeEvents()
    }
    return waiting.removeFirst()
  }

  /// The answer to an order.
  func ask(_ order: StoreOrder) -> StoreEvent {
    store.submit(order)
    return next()
  }
}

extension StoredContent {
  /// Whether these are the bytes.
  func isSame(as bytes: [UInt8]) -> Bool {
    guard byteCount == bytes.count else { return false }
    return withBytes { content in content.baseAddress.map { memcmp($0, bytes, bytes.count) == 0 } ?? bytes.isEmpty }
  }
}

/// Numbers that look random and are the same for a seed (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}

/// Content that follows from a seed and a size.
enum Sample {
  /// A prime, so that no two parts of large content are alike.
  private static let period = 1_021

  static func bytes(seed: UInt64, count: Int) -> [UInt8] {
    var numbers = SeededNumbers(state: seed)
    let block = (0..<min(count, period)).map { _ in UInt8.random(in: 0...255, using: &numbers) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + period)
    while bytes.count < count { bytes += block }
    return Array(bytes.prefix(count))
  }
}
