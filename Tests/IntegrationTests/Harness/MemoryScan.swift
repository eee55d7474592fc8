import Foundation
import Glibc

/// Reads all memory of another process, as a core dump would have it and more. Needs root, since the daemon forbids being
/// inspected.
final class MemoryScan {
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
  private let memory: Int32

  init(of pid: Int32) throws {
    var mappings: [Mapping] = []
    for line in try Self.lines(of: "/proc/\(pid)/smaps") {
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
    memory = open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else {
      throw HarnessError("/proc/\(pid)/mem", expected: "to be readable", found: String(cString: strerror(errno)))
    }
  }

  deinit { close(memory) }

  /// Foundation reads the first 4 KiB alone of a file that says its size is 0.
  private static func lines(of path: String) throws -> [Substring] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = read(file, &part, part.count), count > 0 { bytes += part.prefix(count) }
    guard !bytes.isEmpty else {
      throw HarnessError(path, expected: "to be readable", found: String(cString: strerror(errno)))
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  }

  /// The mappings in which `bytes` stand.
  func holders(of bytes: Data) -> [Mapping] {
    mappings.filter { mapping in
      guard mapping.flags.contains("rd") else { return false }
      var found = Data(count: mapping.range.count)
      // What can't be read, such as the kernel's pages, is no memory of ours.
      let count = found.withUnsafeMutableBytes { pread(memory, $0.baseAddress, $0.count, mapping.range.lowerBound) }
      return count > 0 && found.prefix(count).range(of: bytes) != nil
    }
  }
}
