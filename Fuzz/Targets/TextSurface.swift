import Policy

@testable import X11
@testable import XPasteBridge

extension Surface {
  /// Texts that programs, files and people give us: JSON, audit records, reports, command lines, names, process files.
  static let texts = Surface(name: "texts", longestInput: 4_096, seeds: { TextTrial.seeds() }) {
    bytes throws(Finding) in
    try TextTrial.attempt(bytes)
  }
}

/// One of many readers, by the first byte; the rest is its text.
enum TextTrial {
  static func attempt(_ bytes: [UInt8]) throws(Finding) {
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    let text = String(decoding: rest, as: UTF8.self)
    switch first {
    case UInt8(ascii: "c"): try readCommandLine(text)
    case UInt8(ascii: "a"): try readApp(text)
    case UInt8(ascii: "d"): try readDisplay(text)
    case UInt8(ascii: "x"): for number in [0, 4, 17] { _ = AuthorityFile.hasEntry(forDisplay: number, in: rest) }
    case UInt8(ascii: "p"): try readProcess(text)
    case UInt8(ascii: "k"): rest.withUnsafeBytes { bytes in _ = try? SocketDiagnosis.read(bytes) { _ in } }
    default: try readJSON(text)
    }
  }

  private static func checkLine(_ line: String, _ what: String) throws(Finding) {
    let bad = line.unicodeScalars.first { Label.isUnprintable($0) }
    try Finding.unless(bad == nil, "\(what) has U+\(String(bad?.value ?? 0, radix: 16))")
  }

  private static func checkLines(_ text: String, _ what: String) throws(Finding) {
    for line in text.split(separator: "\n") where !Console.hasColour { try checkLine(String(line), what) }
  }

  // MARK: JSON

  private static func readJSON(_ text: String) throws(Finding) {
    guard let json = try? JSON(reading: text) else { return }
    let line = json.description
    try checkLine(line, "JSON")
    guard let again = try? JSON(reading: line) else { throw Finding("JSON that is written can't be read: \(line)") }
    try Finding.unless(again == finite(json), "JSON changes when it is written: \(line)")
    try checkLines(StatusText.text(json) + ClientsText.text(json) + PolicyText.text(json), "a report")
    guard let entry = AuditEntry(json: json) else { return }
    try checkLine(AuditSentence.text(of: entry.record), "an audit sentence")
    guard let written = AuditEntry(json: entry.json) else { throw Finding("a record that is written can't be read") }
    guard let twice = AuditEntry(json: written.json) else { throw Finding("a record that was read can't be read") }
    // What is too long is cut once.
    try Finding.unless(twice.record == written.record, "a record changes: \(written.json)")
  }

  /// JSON has no infinity; a number that is too large is written as null.
  private static func finite(_ json: JSON) -> JSON {
    switch json {
    case .decimal(let number): number.isFinite ? whole(number) : .null
    case .array(let elements): .array(elements.map(finite))
    case .object(let members): .object(members.map { JSON.Member($0.name, finite($0.value)) })
    default: json
    }
  }

  private static func whole(_ number: Double) -> JSON { .decimal(number) }

  // MARK: words

  private static func readCommandLine(_ text: String) throws(Finding) {
    let words = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    do throws(UsageFailure) {
      guard case .command(let invocation) = try CommandLineParser.read(words) else { return }
      if invocation.command.words == ["policy", "explain"] { _ = try RequestReader.request(invocation) }
    } catch {
      try checkLine(error.description, "a usage failure")
    }
  }

  private static func readApp(_ text: String) throws(Finding) {
    do throws(UsageFailure) {
      _ = try RequestReader.subject(text, pid: 1)
      _ = try RequestReader.bytes(text)
      try RequestReader.judgeSelection(text, boards: ["com.acme.finance"])
    } catch {
      try checkLine(error.description, "a usage failure")
    }
  }

  private static func readDisplay(_ text: String) throws(Finding) {
    let key = ControlAddress.key(of: text)
    try Finding.unless(!key.isEmpty && key != "." && key != "..", "a display's folder is `\(key)`")
    try Finding.unless(!key.utf8.contains(UInt8(ascii: "/")), "a display's folder is below another: \(key)")
    if let name = DisplayName(text) {
      try Finding.unless(name.number >= 0 && name.screen ?? 0 >= 0, "a negative display")
      try Finding.unless(DisplayName(name.description) == DisplayName("\(name)"), "two names of one display")
    }
    try checkLine(Label.plain(text), "a label")
    let short = Label.shortened(text, to: 16)
    try Finding.unless(short.utf8.count <= 16 + 3, "a label of \(short.utf8.count) bytes")
  }

  private static func readProcess(_ text: String) throws(Finding) {
    // Field 22 by the letter: the twentieth word behind the last parenthesis.
    let behind = Array(text.utf8).split(separator: UInt8(ascii: ")"), omittingEmptySubsequences: false).dropFirst().last
    let words = behind.map { $0.split { $0 == 0x20 || $0 == 0x0a } } ?? []
    let wanted = words.count > 19 ? UInt64(String(decoding: words[19], as: UTF8.self)) : nil
    try Finding.unless(ProcessFile.startTime(inStat: text) == wanted, "another field is taken for the start time")
    let path = Cgroup.path(in: text)
    for unit in [Cgroup.innermostUnit(of: path), Cgroup.innermostUnit(of: text)] {
      try Finding.unless(!(unit ?? "").utf8.contains(UInt8(ascii: "/")), "a unit with a slash: \(unit ?? "")")
    }
    _ = (Sandbox.name(cgroupPath: text, flatpak: nil), Sandbox.name(cgroupPath: path, flatpak: text))
  }

  // MARK: seeds

  static func seeds() -> [(name: String, bytes: [UInt8])] {
    let record =
      #"{"schema":1,"time":"2026-01-01T00:00:00.000Z","display":":4","action":"paste","selection":"clipboard","source":{"origin":"local","pid":7,"startTime":9,"class":{"value":"A","evidence":"declared"},"exe":{"value":"/a","evidence":"attested"}},"destination":{"origin":"remote"},"targets":["text/html"],"bytes":3,"decision":"deny","reason":{"kind":"outside-audience","copied":{"kind":"rule","rule":"r","file":"/etc/a.yaml","line":3,"column":5}},"outcome":"refused","limit":"flood","count":2,"message":"No."}"#
    let status =
      #"{"schema":1,"version":"0","display":":4","pid":3,"uptimeSeconds":1,"policy":{"state":"locked","files":["a"],"rules":1,"errors":["e"],"warnings":[]},"selections":[{"selection":"clipboard","state":"held","source":{"origin":"unknown"},"targets":["x"],"bytes":1,"sensitive":true,"reason":{"kind":"locked"},"transfers":1,"conversions":0,"rival":{"origin":"remote"}}],"settled":false,"audit":{},"clients":[{}],"sessionBus":"owned"}"#
    let texts = [
      ("record", "j" + record), ("status", "j" + status),
      ("values", "j[null,true,-1,2.5e3,\"\\ud83d\\ude00\\u0000\",{}]"),
      ("explain", "cpolicy\nexplain\n--from\nclass=A,exe=/a\n--to=unknown\n--target\nx\n--size=4K"),
      ("run", "crun\n-d:4\n--policy=a\n--audit\nall\n--replace"), ("app", "aclass=A,b,exe=/opt/a,remote"),
      ("display", "dunix/:4.0"), ("stat", "p1 (a) b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"),
      ("cgroup", "p0::/user.slice/app-flatpak-org.gnome\\x2dMaps-12.scope\n1:name=systemd:/a"),
      ("flatpak", "p[Application]\nname=org.a.B\n"),
    ]
    return texts.map { ($0, Array($1.utf8)) } + [
      ("authority", Array("x".utf8) + [1, 0, 0, 1, 97, 0, 1, 52, 0, 1, 77, 0, 1, 9]),
      ("diagnosis", Array("k".utf8) + [40, 0, 0, 0, 20, 0, 2, 0] + [UInt8](repeating: 0, count: 32)),
    ]
  }
}
