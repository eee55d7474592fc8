import Foundation
import Testing

/// An input of the fuzzer that stays: its surface and its name are its folder and its file.
struct KeptInput: CustomTestStringConvertible, Sendable {
  let surface: String
  let name: String
  let bytes: [UInt8]

  var testDescription: String { "\(surface): \(name)" }

  /// All files below a folder of Fuzz, sorted.
  nonisolated static func all(in folder: String) -> [KeptInput] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent(folder)
    let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey])!
      .compactMap { $0 as? URL }
      .filter { (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true }
    return files.sorted { $0.path < $1.path }.map { file in
      KeptInput(
        surface: file.deletingLastPathComponent().lastPathComponent, name: file.lastPathComponent,
        bytes: Array(try! Data(contentsOf: file)))
    }
  }
}

/// What the fuzzer found once stays found: every kept input keeps its promises. One after another, since surfaces have a
/// server of their own.
@Suite(.serialized) struct ReplayTests {
  /// Each was a fault; the file is named after it.
  @Test(arguments: KeptInput.all(in: "findings"))
  func finding(_ input: KeptInput) throws {
    let surface = try #require(Surface.named(input.surface), "no surface \(input.surface)")
    #expect(throws: Never.self) { try surface.attempt(input.bytes) }
  }

  /// The generated seeds, and inputs that reach what those don't.
  @Test(arguments: SurfaceName.allCases)
  func seeds(_ name: SurfaceName) {
    let surface = name.surface
    #expect(surface.name == name.rawValue)
    let seeds = surface.seeds().map { KeptInput(surface: surface.name, name: $0.name, bytes: $0.bytes) }
    let kept = KeptInput.all(in: "corpus").filter { $0.surface == surface.name }
    #expect(seeds.count >= 4, "a surface without seeds is fuzzed blindly")
    for input in seeds + kept {
      do {
        try surface.attempt(input.bytes)
      } catch {
        Issue.record("\(input.testDescription): \(error)")
      }
    }
  }
}
