import Foundation
import Glibc

/// Reads all memory of another process, as a core dump would have it and more. Needs root, since the daemon forbids being
/// inspected.
struct MemoryScan {
  /// One mapping, with the kernel's flags (`VmFlags` in proc(5)).
  struct Mapping: CustomStringConvertible {
    var range: Range<Int>
    var name: String
    var flags: Set<Substring> = []
    var description: String {
      "\(String(range.lowerBound, radix: 16)) \(name) [\(flags.sorted().joined(separator: " "))]"
    }
  }

  private let mappings: [Mapping]
  private let memory: FileHandle

  init(of pid: Int32) throws {
    var mappings: [Mapping] = []
    for line in try String(contentsOfFile: "/proc/\(pid)/smaps", encoding: .utf8).split(separator: "\n") {
      let words = line.split(separator: " ", omittingEmptySubsequences: true)
      if words[0] == "VmFlags:" {
        mappings[mappings.count - 1].flags = Set(words.dropFirst())
      } else if !words[0].hasSuffix(":") {
        let bounds = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
        // The kernel's own pages have addresses beyond what is ours.
        guard bounds.count == 2 else { break }
        mappings.append(Mapping(range: bounds[0]..<bounds[1], name: words.count > 5 ? String(words[5]) : "memory"))
      }
    }
    self.mappings = mappings
    memory = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/\(pid)/mem"))
  }

  /// The mappings in which `bytes` stand.
  func holders(of bytes: Data) throws -> [Mapping] {
    try mappings.filter { mapping in
      guard mapping.flags.contains("rd") else { return false }
      try memory.seek(toOffset: UInt64(mapping.range.lowerBound))
      // What can't be read, such as the kernel's pages, is no memory of ours.
      guard let found = try? memory.read(upToCount: mapping.range.count) else { return false }
      return found.range(of: bytes) != nil
    }
  }
}
