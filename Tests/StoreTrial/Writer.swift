import BoardStore
import Glibc

/// One change that a writer announces, makes, and confirms.
enum Step: Equatable {
  case keep(serial: UInt64, seed: UInt64, count: Int)
  case remove(serial: UInt64)
  case replace(serial: UInt64, seed: UInt64, count: Int)
  case rekey

  /// `keep 3 12345 100`, as it goes over the pipe.
  var line: String {
    switch self {
    case .keep(let serial, let seed, let count): "keep \(serial) \(seed) \(count)"
    case .remove(let serial): "remove \(serial)"
    case .replace(let serial, let seed, let count): "replace \(serial) \(seed) \(count)"
    case .rekey: "rekey"
    }
  }

  init?(_ words: [Substring]) {
    let numbers = words.dropFirst().compactMap { UInt64($0) }
    switch (words.first, numbers.count) {
    case ("keep", 3): self = .keep(serial: numbers[0], seed: numbers[1], count: Int(numbers[2]))
    case ("remove", 1): self = .remove(serial: numbers[0])
    case ("replace", 3): self = .replace(serial: numbers[0], seed: numbers[1], count: Int(numbers[2]))
    case ("rekey", 0): self = .rekey
    default: return nil
    }
  }

  /// What is on the board after it: a serial's seed and size.
  func change(_ items: inout [UInt64: Clip]) {
    switch self {
    case .keep(let serial, let seed, let count): items[serial] = Clip(seed: seed, count: count)
    case .remove(let serial): items[serial] = nil
    case .replace(let serial, let seed, let count): items = [serial: Clip(seed: seed, count: count)]
    case .rekey: break
    }
  }

  var order: StoreOrder {
    func item(_ serial: UInt64, _ seed: UInt64, _ count: Int) -> NewItem {
      let record = ItemRecord(serial: serial, position: Int64(seed >> 20), created: Int64(seed >> 1))
      return NewItem(
        record,
        [
          .init(type: "text", content: StoredContent(Sample.bytes(seed: seed, count: count))),
          .init(type: "short", content: StoredContent(Sample.bytes(seed: seed &+ 1, count: 10))),
        ])
    }
    switch self {
    case .keep(let serial, let seed, let count):
      return .keep(item(serial, seed, count), onBoard: KillTrial.board, changeCount: 0)
    case .remove(let serial): return .removeItems([serial], fromBoard: KillTrial.board, changeCount: 0)
    case .replace(let serial, let seed, let count):
      return .replaceItems([item(serial, seed, count)], onBoard: KillTrial.board, changeCount: 0)
    case .rekey: return .rekey
    }
  }
}

/// What a clip has to hold.
struct Clip: Equatable {
  var seed: UInt64
  var count: Int
}

/// Makes changes without end, each announced before and confirmed after it.
final class Writer {
  private let talk: Talk
  private var numbers: SeededNumbers
  private var items: Set<UInt64>

  init(folder: String, seed: UInt64) {
    talk = Talk(StoreConfiguration(folder: folder))
    numbers = SeededNumbers(state: seed)
    guard let contents = talk.contents else {
      Self.say("unavailable \(talk.opening)")
      exit(1)
    }
    items = Set(contents.boards.flatMap { $0.items.map(\.record.serial) })
    if contents.boards.isEmpty { _ = talk.ask(.saveBoard(BoardRecord(name: KillTrial.board))) }
  }

  func run() -> Never {
    Self.say("open")
    while true {
      // One to three at once, so that orders also wait behind others.
      let steps = (0..<Int.random(in: 1...3, using: &numbers)).map { _ in step() }
      for step in steps {
        Self.say("begin \(step.line)")
        talk.store.submit(step.order)
      }
      for step in steps {
        let event = talk.next()
        switch event {
        case .done, .rekeyed: Self.say("done \(step.line)")
        default: Self.say("failed \(event)")
        }
      }
    }
  }

  private func step() -> Step {
    let seed = UInt64.random(in: 1 ... .max, using: &numbers)
    let kind = Int.random(in: 0..<100, using: &numbers)
    // Mostly small, some of more than a part, which spills into the log before the transaction ends.
    let most = kind < 4 ? 3_000_000 : kind < 20 ? 100_000 : 2_000
    let count = Int.random(in: 0...most, using: &numbers)
    if kind >= 98 { return .rekey }
    if kind >= 96 {
      items = [seed >> 1]
      return .replace(serial: seed >> 1, seed: seed, count: count)
    }
    if items.count > 12 || kind >= 80, let serial = items.min() {
      items.remove(serial)
      return .remove(serial: serial)
    }
    let serial = kind >= 70 ? items.max() ?? seed >> 1 : seed >> 1
    items.insert(serial)
    return .keep(serial: serial, seed: seed, count: count)
  }

  /// Written at once, in one piece.
  static func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    // The reader is gone only when this program is about to be.
    if write(1, bytes, bytes.count) != bytes.count { exit(0) }
  }
}
