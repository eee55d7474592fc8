import Foundation
import Testing

@testable import Policy
@testable import PolicyFile

/// Every message of the reader, word for word, with its place. `user-*.yaml` is read as a user's file, the others as
/// managed ones.
@Suite struct GoldenTests {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")

  static let names: [String] =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }.sorted()

  static func diagnostics(of name: String) throws -> (errors: [Diagnostic], warnings: [Diagnostic]) {
    let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(name + ".yaml")))
    let file = SourceFile(path: name + ".yaml", bytes: bytes)
    let isUser = name.hasPrefix("user-")
    switch PolicyLoader.load(managed: isUser ? [] : [file], user: isUser ? [file] : []) {
    case .success(let loaded): return ([], loaded.warnings)
    case .failure(let found): return (found.errors, found.warnings)
    }
  }

  @Test(arguments: names) func golden(_ name: String) throws {
    let found = try GoldenTests.diagnostics(of: name)
    let lines = found.errors.map(\.description) + found.warnings.map { "warning: \($0)" }
    let url = GoldenTests.folder.appendingPathComponent(name + ".expected")
    if ProcessInfo.processInfo.environment["WRITE_GOLDEN"] != nil {
      try (lines.joined(separator: "\n") + "\n").write(to: url, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map(String.init)
    #expect(lines == expected)
    for line in lines {
      #expect(line.unicodeScalars.allSatisfy { !$0.isControl }, "one line of printable characters")
    }
  }

  /// These come from reading folders; DirectoryTests has them.
  static let ofFiles: Set<Diagnostic.Kind> = [
    .unreadable, .notRegular, .changedWhileRead, .tooLarge, .ignoredFile, .pathIsLink, .pathIsScript, .pathIsMissing,
    .folderLimit, .openToChange,
  ]

  @Test func everyKindHasAGolden() throws {
    var seen = GoldenTests.ofFiles
    for name in GoldenTests.names {
      let found = try GoldenTests.diagnostics(of: name)
      seen.formUnion((found.errors + found.warnings).map(\.kind))
    }
    #expect(Set(Diagnostic.Kind.allCases).subtracting(seen) == [])
  }

  @Test func messagesFollowTheGrammar() throws {
    for name in GoldenTests.names {
      let found = try GoldenTests.diagnostics(of: name)
      for diagnostic in found.errors + found.warnings {
        let first = diagnostic.message.first ?? " "
        #expect(first.isLowercase || first == "`", "\(diagnostic)")
        #expect(!diagnostic.description.hasSuffix("."), "\(diagnostic)")
        #expect(diagnostic.position.line >= 1 && diagnostic.position.column >= 1)
      }
    }
  }
}
