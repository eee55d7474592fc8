import BoardStore
import Glibc

/// Starts writers on one store, kills each at a random moment, and looks each time at what the store has.
final class KillTrial {
  static let board = "trial"

  private let folder: String
  private let seed: UInt64
  private var numbers: SeededNumbers
  /// What the board has to hold, by all that was confirmed.
  private var items: [UInt64: Clip] = [:]
  private var confirmed = 0
  private var lost = 0
  private var rekeyed = 0
  private var cutShort = 0

  init(folder: String, seed: UInt64) {
    (self.folder, self.seed) = (folder, seed)
    numbers = SeededNumbers(state: seed)
  }

  /// Whether nothing was lost.
  func run(_ count: Int) -> Bool {
    print("seed \(seed)")
    for round in 0..<count {
      guard let lines = killedWriter(round) else { return false }
      guard verify(lines, round) else { return false }
      if (round + 1).isMultiple(of: 100) {
        print("\(round + 1) kills, \(confirmed) confirmed, \(lost) lost")
        // Output to a file would else be seen at the end alone.
        fflush(nil)
      }
    }
    print("\(cutShort) kills cut an order short, \(rekeyed) changes of the key were confirmed")
    print("\(count) kills, \(confirmed) confirmed, \(lost) lost")
    return lost == 0
  }

  /// What a writer had said when it was killed.
  private func killedWriter(_ round: Int) -> [[Substring]]? {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    defer { posix_spawn_file_actions_destroy(&actions) }
    let words = ["StoreTrial", "write", folder, "\(numbers.next() >> 1)"]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    guard posix_spawn(&child, "/proc/self/exe", &actions, nil, &arguments, environ) == 0 else { return nil }
    close(ends[1])
    defer { close(ends[0]) }
    // A moment after a line of its own choice: of the first some are spoken while the store is being opened or made.
    let wanted = Int.random(in: 0..<24, using: &numbers)
    let delay = Int.random(in: 0..<4_000, using: &numbers) * 1_000
    var said: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 4_096)
    while said.count(where: { $0 == 10 }) < wanted {
      let count = read(ends[0], &room, room.count)
      if count <= 0 { break }
      said += room[..<count]
    }
    var moment = timespec(tv_sec: 0, tv_nsec: delay)
    nanosleep(&moment, nil)
    kill(child, SIGKILL)
    var status: Int32 = 0
    waitpid(child, &status, 0)
    while true {
      let count = read(ends[0], &room, room.count)
      if count <= 0 { break }
      said += room[..<count]
    }
    guard status & 0x7f == SIGKILL else {
      print("round \(round): the writer ended by itself: \(String(decoding: said, as: UTF8.self))")
      return nil
    }
    return String(decoding: said, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ") }
  }

  private func verify(_ lines: [[Substring]], _ round: Int) -> Bool {
    // Orders that were given and not confirmed: a first part of them may have been carried out.
    var open: [Step] = []
    for words in lines {
      guard words.first != "open" else { continue }
      guard let step = Step(Array(words.dropFirst())), words.first == "begin" || open.first == step else {
        print("round \(round): the writer said \(words.joined(separator: " "))")
        return false
      }
      if words.first == "begin" {
        open.append(step)
      } else {
        open.removeFirst()
        step.change(&items)
        confirmed += 1
        if step == .rekey { rekeyed += 1 }
      }
    }
    if !open.isEmpty { cutShort += 1 }
    let talk = Talk(StoreConfiguration(folder: folder))
    guard let contents = talk.contents, contents.remarks.isEmpty else {
      print("round \(round): \(talk.opening)")
      return false
    }
    var possible = [items]
    for step in open {
      var next = possible[possible.count - 1]
      step.change(&next)
      possible.append(next)
    }
    let found = contents.boards.first { $0.record.name == Self.board }?.items ?? []
    guard let items = possible.first(where: { holds(found, $0, talk) }) else {
      lost += 1
      print("round \(round): the board holds \(found.map(\.record.serial)), expected one of \(possible)")
      return false
    }
    self.items = items
    return true
  }

  /// Whether `found` are just these clips, byte for byte.
  private func holds(_ found: [KeptItem], _ expected: [UInt64: Clip], _ talk: Talk) -> Bool {
    guard Set(found.map(\.record.serial)) == Set(expected.keys) else { return false }
    for item in found {
      guard let clip = expected[item.record.serial] else { return false }
      guard item.representations.map(\.byteCount) == [clip.count, 10] else { return false }
      for (index, wanted) in [(clip.seed, clip.count), (clip.seed &+ 1, 10)].enumerated() {
        let place = ItemPlace(board: Self.board, serial: item.record.serial)
        guard case .content(_, let content) = talk.ask(.read(place, representation: index)),
          content.isSame(as: Sample.bytes(seed: wanted.0, count: wanted.1))
        else { return false }
      }
    }
    return true
  }
}
