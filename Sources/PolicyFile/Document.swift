@preconcurrency import CYaml
import Policy

/// Bounds on what a policy file may be made of. Our choice: a file of 10,000 rules is about 1 MiB, nests 8 deep and has
/// no aliases.
enum DocumentLimits {
  static let bytes = 4 << 20
  static let depth = 64
  static let aliases = 1_000
  /// Nodes that aliases may add.
  static let aliasedNodes = 100_000
}

/// Turns the bytes of one file into nodes, or says why not.
struct DocumentReader {
  private let path: String
  private let report: Report
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let text: ArraySlice<UInt8>
  private var anchors: [String: Node?] = [:]
  private var aliases = 0
  private var aliasedNodes = 0

  /// Thrown after the report has been told.
  struct Unreadable: Error {}

  /// What a file holds.
  struct Content {
    var root: Node
    /// Where `...` would have to stand; `nil` where it does.
    var missingEnd: SourcePosition?
  }

  /// The content of `bytes`; `nil` when an error was reported.
  static func read(_ bytes: [UInt8], path: String, report: Report) -> Content? {
    guard let text = text(of: bytes, path: path, report: report) else { return nil }
    // libyaml keeps the pointer until the parser is deleted, which happens inside this closure.
    return text.withUnsafeBufferPointer { bytes in
      let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
      defer { parser.deallocate() }
      precondition(yaml_parser_initialize(parser) == 1, "libyaml has no memory for a parser")
      defer { yaml_parser_delete(parser) }
      yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
      yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
      var reader = DocumentReader(path: path, report: report, parser: parser, text: text)
      return try? reader.stream()
    }
  }

  private init(
    path: String, report: Report, parser: UnsafeMutablePointer<yaml_parser_t>, text: ArraySlice<UInt8>
  ) {
    self.path = path
    self.report = report
    self.parser = parser
    self.text = text
  }

  /// The bytes without a leading byte order mark, if they are UTF-8, not too many and not none.
  private static func text(of bytes: [UInt8], path: String, report: Report) -> ArraySlice<UInt8>? {
    let start = SourcePosition(file: path, line: 1, column: 1)
    guard bytes.count <= DocumentLimits.bytes else {
      report.error(.tooLarge, at: start, "expected at most 4 MiB, found \(bytes.count) bytes", hint: "split the file")
      return nil
    }
    guard !bytes.isEmpty else {
      report.error(
        .emptyFile, at: start, "expected `version: 1`, found an empty file",
        hint: "delete the file; an empty one only masks a vendor's file of the same name")
      return nil
    }
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    if let offset = Encoding.firstFlaw(in: text) {
      let place = Encoding.place(of: offset, in: text)
      let position = SourcePosition(file: path, line: place.line, column: place.column)
      let digits = String(text[offset], radix: 16, uppercase: true)
      let byte = "0x" + (digits.count == 1 ? "0" : "") + digits
      if text[offset] < 0x80 {
        report.error(.encoding, at: position, "expected text without control characters, found byte \(byte)")
      } else {
        report.error(.encoding, at: position, "expected UTF-8, found byte \(byte)", hint: "save the file as UTF-8")
      }
      return nil
    }
    return text
  }

  // MARK: - Events

  private mutating func stream() throws(Unreadable) -> Content {
    var root: Node?
    var missingEnd: SourcePosition?
    while true {
      var event = try next()
      defer { yaml_event_delete(&event) }
      switch event.type {
      case YAML_STREAM_END_EVENT:
        guard let root else {
          throw fail(.emptyFile, at: position(event), "expected `version: 1`, found nothing but comments")
        }
        return Content(root: root, missingEnd: missingEnd)
      case YAML_DOCUMENT_END_EVENT:
        if event.data.document_end.implicit != 0 { missingEnd = position(event) }
      case YAML_DOCUMENT_START_EVENT:
        guard root == nil else {
          throw fail(
            .severalDocuments, at: position(event), "expected one document, found a second one",
            hint: "put each into a file of its own")
        }
        var first = try next()
        defer { yaml_event_delete(&first) }
        root = try node(from: first, depth: 0)
      default: break
      }
    }
  }

  private mutating func next() throws(Unreadable) -> yaml_event_t {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw syntaxError() }
    return event
  }

  private mutating func node(from event: yaml_event_t, depth: Int) throws(Unreadable) -> Node {
    guard depth <= DocumentLimits.depth else {
      throw fail(.tooDeep, at: position(event), "expected at most \(DocumentLimits.depth) levels, found more")
    }
    switch event.type {
    case YAML_ALIAS_EVENT: return try alias(event, depth: depth)
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      try rejectTag(scalar.tag, event)
      let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
      let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
      let node = Node(.scalar(text, isPlain: isPlain), at: position(event))
      if let anchor = scalar.anchor { anchors[name(anchor)] = .some(node) }
      return node
    case YAML_SEQUENCE_START_EVENT:
      try rejectTag(event.data.sequence_start.tag, event)
      return try anchored(event.data.sequence_start.anchor) { reader throws(Unreadable) in
        try reader.sequence(event, depth: depth)
      }
    default:
      try rejectTag(event.data.mapping_start.tag, event)
      return try anchored(event.data.mapping_start.anchor) { reader throws(Unreadable) in
        try reader.mapping(event, depth: depth)
      }
    }
  }

  private mutating func sequence(_ start: yaml_event_t, depth: Int) throws(Unreadable) -> Node {
    var items: [Node] = []
    while true {
      var event = try next()
      defer { yaml_event_delete(&event) }
      if event.type == YAML_SEQUENCE_END_EVENT { break }
      items.append(try node(from: event, depth: depth + 1))
    }
    return Node(.sequence(items), at: position(start))
  }

  private mutating func mapping(_ start: yaml_event_t, depth: Int) throws(Unreadable) -> Node {
    var entries: [Node.Entry] = []
    entries.reserveCapacity(4)
    while true {
      var event = try next()
      defer { yaml_event_delete(&event) }
      if event.type == YAML_MAPPING_END_EVENT { break }
      let key = try node(from: event, depth: depth + 1)
      var second = try next()
      defer { yaml_event_delete(&second) }
      entries.append(Node.Entry(key: key, value: try node(from: second, depth: depth + 1)))
    }
    return Node(.mapping(entries), at: position(start))
  }

  private mutating func anchored(
    _ anchor: UnsafeMutablePointer<yaml_char_t>?, _ build: (inout DocumentReader) throws(Unreadable) -> Node
  ) throws(Unreadable) -> Node {
    guard let anchor else { return try build(&self) }
    let name = name(anchor)
    // Present without a node: being read, so an alias to it would contain itself.
    anchors[name] = .some(nil)
    let node = try build(&self)
    anchors[name] = .some(node)
    return node
  }

  private mutating func alias(_ event: yaml_event_t, depth: Int) throws(Unreadable) -> Node {
    let name = name(event.data.alias.anchor)
    guard let known = anchors[name] else {
      throw fail(.badAlias, at: position(event), "expected an anchor before its alias, found `*\(name)`")
    }
    guard let node = known else {
      throw fail(.badAlias, at: position(event), "expected a value that ends, found `*\(name)` inside itself")
    }
    aliases += 1 + node.aliases
    aliasedNodes += node.weight
    guard aliases <= DocumentLimits.aliases, aliasedNodes <= DocumentLimits.aliasedNodes else {
      throw fail(
        .tooManyAliases, at: position(event),
        "expected at most \(DocumentLimits.aliases) aliases and \(DocumentLimits.aliasedNodes) values by them, found more",
        hint: "use groups")
    }
    guard depth + node.depth <= DocumentLimits.depth else {
      throw fail(.tooDeep, at: position(event), "expected at most \(DocumentLimits.depth) levels, found more")
    }
    return Node(alias: node)
  }

  // MARK: - Errors

  private func rejectTag(_ tag: UnsafeMutablePointer<yaml_char_t>?, _ event: yaml_event_t) throws(Unreadable) {
    guard let tag else { return }
    throw fail(
      .tag, at: position(event), "expected a value without a tag, found `\(name(tag))`", hint: "remove the tag")
  }

  private func fail(_ kind: Diagnostic.Kind, at position: SourcePosition, _ message: String, hint: String? = nil)
    -> Unreadable
  {
    report.error(kind, at: position, message, hint: hint)
    return Unreadable()
  }

  private func syntaxError() -> Unreadable {
    let problem = parser.pointee.problem.map { String(cString: $0) } ?? "can't be read"
    let mark = parser.pointee.error == YAML_READER_ERROR ? parser.pointee.mark : parser.pointee.problem_mark
    let position = SourcePosition(file: path, line: mark.line + 1, column: mark.column + 1)
    let isTab = Encoding.character(atLine: position.line, column: position.column, in: text) == UInt8(ascii: "\t")
    let hint: String? =
      if isTab || problem.contains("tab character") {
        "indent with spaces; YAML takes no tabs there"
      } else if problem.hasPrefix("mapping values are not allowed") {
        "quote text that has `: ` in it"
      } else { nil }
    return fail(.syntax, at: position, "expected YAML, \(problem)", hint: hint)
  }

  private func position(_ event: yaml_event_t) -> SourcePosition {
    SourcePosition(file: path, line: event.start_mark.line + 1, column: event.start_mark.column + 1)
  }

  private func name(_ characters: UnsafeMutablePointer<yaml_char_t>) -> String { String(cString: characters) }
}
