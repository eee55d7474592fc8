/// A promise that doesn't hold for some input.
struct Finding: Error, Hashable, CustomStringConvertible {
  /// What was promised, and what was found.
  var description: String

  init(_ description: String) { self.description = description }

  /// Throws unless `holds`.
  static func unless(_ holds: Bool, _ description: @autoclosure () -> String) throws(Finding) {
    if !holds { throw Finding(description()) }
  }
}

/// Something that reads what others wrote, as a function of bytes.
///
/// The same function runs under libFuzzer and in the tests that replay seeds and findings. It has to give the same for
/// the same bytes, or a finding could not be repeated.
struct Surface {
  /// The name on the command line, and of the folder of its seeds.
  let name: String
  /// The longest input that is worth trying, in bytes.
  let longestInput: Int
  /// Inputs to begin with, by name.
  let seeds: @MainActor () -> [(name: String, bytes: [UInt8])]
  /// Tries one input; throws when a promise is broken.
  let attempt: @MainActor ([UInt8]) throws(Finding) -> Void

  /// All of them.
  static var all: [Surface] { SurfaceName.allCases.map(\.surface) }

  /// The surface of that name.
  static func named(_ name: String) -> Surface? { SurfaceName(rawValue: name)?.surface }
}

/// The names of all surfaces. A further one is a file with a `Surface`, and a case here.
nonisolated enum SurfaceName: String, CaseIterable, Sendable {
  case policy, core, properties, bus, texts, store

  /// The surface of this name.
  @MainActor var surface: Surface {
    switch self {
    case .policy: .policy
    case .core: .core
    case .properties: .properties
    case .bus: .bus
    case .texts: .texts
    case .store: .store
    }
  }
}

/// Takes an input apart, a number at a time; an input that has ended gives zeros.
struct InputReader {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether nothing is left.
  var isAtEnd: Bool { offset >= bytes.count }

  mutating func byte() -> UInt8 {
    guard offset < bytes.count else { return 0 }
    offset += 1
    return bytes[offset - 1]
  }

  /// A number from 0 up to `count`, without `count` itself; `count` is at most 256.
  mutating func below(_ count: Int) -> Int { Int(byte()) % count }
  mutating func truth() -> Bool { byte() & 1 == 1 }
  mutating func one<Item>(_ items: [Item]) -> Item { items[below(items.count)] }
  mutating func half() -> UInt16 { UInt16(byte()) | UInt16(byte()) << 8 }
  mutating func word() -> UInt32 { UInt32(half()) | UInt32(half()) << 16 }

  /// The next `count` bytes, or as many as there are.
  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(bytes.count, offset + count)
    defer { offset = end }
    return Array(bytes[offset..<end])
  }

  /// Everything that is left.
  mutating func rest() -> [UInt8] { take(bytes.count) }
}
