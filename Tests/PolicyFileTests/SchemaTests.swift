import Foundation
import Testing

@testable import Policy
@testable import PolicyFile

/// `schemas/policy.schema.json`, which editors use, and the loader agree on what a file is made of.
@Suite struct SchemaTests {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// What the loader alone finds: what lies below values, and what names and rules mean (docs/policy.md).
  static let loaderAlone: Set<Diagnostic.Kind> = [
    .unreadable, .notRegular, .changedWhileRead, .tooLarge, .folderLimit, .emptyFile, .encoding, .syntax, .tooDeep,
    .tooManyAliases,
    .badAlias, .tag, .mergeKey, .severalDocuments, .duplicateKey, .duplicateName, .unknownGroup, .unknownBoard,
    .groupCycle, .conflictingKeys, .neverMatches, .covered, .managedOnly, .cutOff,
  ]
  /// What the schema finds in part: patterns, names, bounds of what has a unit, words that look like targets.
  static let inPart: Set<Diagnostic.Kind> = [.badValue, .outOfRange, .reservedName]
  /// What both find.
  static let both: Set<Diagnostic.Kind> = [.version, .unknownKey, .missingKey, .wrongType, .unknownWord, .emptyList]

  /// The schema's word on each document.
  static func verdicts(on documents: [String]) throws -> [String] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: root + "/Tests/PolicyFileTests/Schema/validate")
    process.arguments = [root + "/schemas/policy.schema.json"]
    // A file rather than a pipe: neither side can then wait for the other.
    let input = FileManager.default.temporaryDirectory.appendingPathComponent("schema-" + UUID().uuidString)
    try documents.joined(separator: "\n").write(to: input, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: input) }
    process.standardInput = try FileHandle(forReadingFrom: input)
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return text.split(separator: "\n").map(String.init)
  }

  static func findings(in document: String) -> [Diagnostic] {
    let file = SourceFile(path: "a.json", bytes: Array(document.utf8))
    guard case .failure(let found) = PolicyLoader.load(managed: [file], user: []) else { return [] }
    return found.errors
  }

  @Test func everyKindIsSomebodys() {
    let warnings: Set<Diagnostic.Kind> = [
      .declaredGrant, .anyFolder, .unsureApps, .unusedGroup, .protectsPrimary, .ignoredFile, .leftOpen,
      .emptyIntersection, .pathIsLink, .pathIsScript, .pathIsMissing, .dragsCovered,
      .openToChange,
    ]
    let all = Self.loaderAlone.union(Self.inPart).union(Self.both).union(warnings)
    #expect(all == Set(Diagnostic.Kind.allCases))
  }

  @Test func theSchemaAndTheLoaderAgree() throws {
    var maker = SampleMaker(seed: 20_261_130)
    var documents = (0..<400).map { _ in maker.file().json }
    documents += (0..<1_600).map { _ in
      let whole = maker.file()
      return maker.spoilt(whole).json
    }
    let verdicts = try Self.verdicts(on: documents)
    try #require(verdicts.count == documents.count)
    var agreed = (valid: 0, invalid: 0)
    for (document, verdict) in zip(documents, verdicts) {
      let found = Self.findings(in: document)
      let kinds = Set(found.map(\.kind))
      let isValid = verdict == "valid"
      if !kinds.isDisjoint(with: Self.both) {
        if isValid { Issue.record("only the loader refuses \(document): \(found)") }
        agreed.invalid += 1
      } else if kinds.isDisjoint(with: Self.inPart) {
        if !isValid { Issue.record("only the schema refuses \(document): \(verdict)") }
        agreed.valid += 1
      }
    }
    // A generator that makes only one sort would prove nothing.
    #expect(agreed.valid > 300 && agreed.invalid > 300, "\(agreed)")
  }

  /// What is shipped is valid; YAML is read by the validator's own reader.
  @Test func policiesThatLoadAreValid() throws {
    let golden = GoldenTests.names.filter { name in
      (try? GoldenTests.diagnostics(of: name))?.errors.isEmpty == true
    }.map { GoldenTests.folder.path + "/\($0).yaml" }
    let shipped = ExamplesTests.names.map { Self.root + "/policy/examples/\($0).yaml" }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", Self.yamlToJSON] + shipped + [Self.root + "/policy/example.yaml"] + golden
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let documents = text.split(separator: "\n").map(String.init)
    try #require(documents.count == shipped.count + 1 + golden.count)
    for (document, verdict) in zip(documents, try Self.verdicts(on: documents)) {
      #expect(verdict == "valid", "\(document)")
    }
  }

  private static let yamlToJSON = """
    import json, sys, yaml
    # YAML 1.1 takes `off` for a boolean; editors and the loader don't.
    words = yaml.SafeLoader.yaml_implicit_resolvers
    for letter in "yYnNoO":
        words[letter] = [rule for rule in words.get(letter, []) if not rule[0].endswith(":bool")]
    for name in sys.argv[1:]:
        print(json.dumps(yaml.load(open(name, encoding="utf-8"), Loader=yaml.SafeLoader)))
    """
}
