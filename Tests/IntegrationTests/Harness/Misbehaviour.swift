import Testing

/// One way to behave badly that the test clients can be told.
struct Misbehaviour: Sendable, CustomTestStringConvertible {
  enum Peer: String, Sendable, CaseIterable { case owner, requestor }

  let peer: Peer
  let family: String
  let commands: [String]

  init(_ peer: Peer, _ family: String, _ commands: String...) {
    self.peer = peer
    self.family = family
    self.commands = commands
  }

  var testDescription: String { "\(family): \(peer) \(commands.joined(separator: "; "))" }

  /// Goes on without end, so that what it keeps open is only looked at after it.
  var isEndless: Bool { commands.contains { $0.contains(" 100000") } }
  /// Takes the selection again and again: whose content a paste brings is then a matter of the moment.
  var keepsClaiming: Bool { commands.contains { ["fight", "repeat", "flap"].contains(Self.first(of: $0)) } }
  /// Clears what it has taken, so that a paste may rightly find nothing.
  var clears: Bool { commands.contains { ["flap", "clear"].contains(Self.first(of: $0)) } }
  /// Commands that are never answered: the client is stopped or gone.
  static func isAnswered(_ command: String) -> Bool { !["stop", "exit", "quit"].contains(first(of: command)) }

  private static func first(of command: String) -> String { String(command.prefix { $0 != " " }) }

  /// The words of the clients' help that these commands use.
  var words: Set<String> {
    var words: Set<String> = []
    for command in commands {
      let parts = command.split(separator: " ").map(String.init)
      words.insert(parts[0])
      if parts[0] == "forge" { words.insert("forge \(parts[1])") }
      for part in parts.dropFirst() {
        guard let match = part.prefixMatch(of: /([a-z][a-z-]*)=(.+)/) else { continue }
        words.insert(match.1 == "do" ? "do=\(match.2)" : "\(match.1)=")
      }
    }
    return words
  }

  /// The commands and options that a client's help lists, `do=` and `forge` with each of their values.
  static func words(ofHelp help: String) -> Set<String> {
    var words: Set<String> = []
    for line in help.split(separator: "\n") {
      let text = line.drop { $0 == " " }
      switch line.count - text.count {
      case 2:
        let synopsis = text.firstRange(of: "  ").map { text[..<$0.lowerBound] } ?? text
        for form in synopsis.split(separator: ", ") { words.insert(first(of: String(form))) }
      case 6...:
        let parts = text.split(separator: " ").map(String.init)
        if parts[0] == "do=" { words.formUnion(parts.dropFirst().map { "do=" + $0 }) }
        if parts[0] == "KIND" { words.formUnion(parts.dropFirst().map { "forge " + $0 }) }
        for match in text.matches(of: /([a-z][a-z-]*)=/) where match.1 != "do" { words.insert("\(match.1)=") }
      default: break
      }
    }
    return words
  }

  /// What isn't bad behaviour: asking, telling, waiting, and the right answer.
  static let harmless: [Peer: Set<String>] = [
    .owner: ["do=serve", "status", "windows", "watch", "owner", "sync", "quit", "focus", "drop", "reset", "root"],
    .requestor: [
      "status", "windows", "watch", "owner", "sync", "quit", "focus", "resources", "hex=", "out=", "each=", "deadline=",
      "targets", "root",
    ],
  ]

  static let all: [Misbehaviour] = owners + requestors

  private static let content = "target UTF8_STRING text:bad"
  /// The innocent owner's content, for owners that take the selection again and again.
  private static let same = "target UTF8_STRING size:600000"

  private static let owners: [Misbehaviour] =
    [
      "do=silent", "do=stop", "delay=60000", "chunk=1000 stop-after=2", "chunk=1000 closes=no",
      "chunk=1000 pause=60000",
    ].map { Misbehaviour(.owner, "hung", content, "target x/bad size:9000 \($0)", "claim") } + [
      Misbehaviour(.owner, "hung", content, "target TARGETS do=silent", "claim"),
      Misbehaviour(.owner, "hung", content, "target TARGETS do=stop", "claim"),
      Misbehaviour(.owner, "hung", content, "claim", "stop"),
      Misbehaviour(.owner, "hung", content, "after-loss silent", "save exit", "claim", "stop"),
    ]
    + ["do=die", "do=vanish", "chunk=1000 die-after=1", "chunk=1000 die-after=5"].map {
      Misbehaviour(.owner, "dead half-way", content, "target x/bad size:9000 \($0)", "claim")
    } + [
      Misbehaviour(.owner, "dead half-way", content, "target TARGETS do=die", "claim"),
      Misbehaviour(.owner, "dead half-way", content, "target TARGETS do=vanish", "claim"),
      Misbehaviour(.owner, "dead half-way", content, "fill 20 x/ size:1000", "exit-after 3", "claim"),
      Misbehaviour(.owner, "dead half-way", content, "claim", "destroy helper"),
      Misbehaviour(.owner, "dead half-way", "top", "own-by top", content, "claim", "destroy top"),
      Misbehaviour(.owner, "dead half-way", content, "claim", "exit 3"),
      Misbehaviour(
        .owner, "dead half-way", content, "target x/late size:900 delay=300", "claim", "save exit x/late x/no"),
    ]
    + [
      "chunk=1000 hint=0", "chunk=1000 hint=1", "chunk=1000 hint=4000000000", "chunk=1000 hint=-1", "type=INCR",
      "type=none", "type=#4000000000", "type=ATOM", "format=16", "format=32", "chunk=1000 chunk-type=INCR",
      "chunk=1000 chunk-type=#4000000000", "chunk=1000 chunk-format=16", "chunk=1000 chunk-format=32", "do=unstored",
      "do=twice", "do=refuse", "do=empty-all", "once=yes", "answers-as=STRING", "listed=no", "listed=2000",
    ].map { Misbehaviour(.owner, "lying", content, "target x/bad size:9000 \($0)", "claim") } + [
      Misbehaviour(.owner, "lying", content, "target TARGETS format=8", "claim"),
      Misbehaviour(.owner, "lying", content, "target TARGETS format=16", "claim"),
      Misbehaviour(.owner, "lying", content, "target TARGETS type=INTEGER", "claim"),
      Misbehaviour(.owner, "lying", content, "target TARGETS type=INCR", "claim"),
      Misbehaviour(.owner, "lying", content, "target TARGETS do=unstored", "claim"),
      Misbehaviour(.owner, "lying", content, "target TARGETS do=twice", "claim"),
      Misbehaviour(.owner, "lying", content, "target #4000000000 text:x", "target #4000000001 text:x", "claim"),
      Misbehaviour(.owner, "lying", "class k KeePassXC", "title Other", "pid 1", "machine elsewhere", content, "claim"),
      Misbehaviour(.owner, "lying", content, "claim current", "claim fresh-60000", "claim 4294967295", "clear 1"),
      Misbehaviour(.owner, "lying", content, "selection CLIPBOARD_MANAGER", "claim", "selection CLIPBOARD", "claim"),
      Misbehaviour(.owner, "endless", "target x/bad size:64K chunk=64K endless=yes", content, "claim"),
      Misbehaviour(.owner, "endless", "target x/bad size:64K chunk=10 endless=yes", content, "claim"),
      Misbehaviour(.owner, "endless", "target x/bad size:1K chunk=1K endless=yes pause=100", content, "claim"),
      Misbehaviour(
        .owner, "endless", content, "incremental-above 1", "chunk-size 1", "target x/bad size:20000", "claim"),
      Misbehaviour(.owner, "flapping", same, "report no", "flap 300 1"),
      Misbehaviour(.owner, "flapping", same, "flap 40 20"),
      Misbehaviour(.owner, "flapping", same, "report no", "repeat 100000 1"),
      Misbehaviour(.owner, "fighting back", same, "report no", "fight 100000", "claim"),
      Misbehaviour(.owner, "fighting back", same, "after-loss refuse", "fight 3", "claim"),
      Misbehaviour(.owner, "a flood", content, "fill 5000 x/ text:x", "claim"),
      Misbehaviour(
        .owner, "a flood", content, "fill 200 x/ size:9000", "incremental-above 1", "chunk-size 100", "claim"),
    ]

  private static let requestors: [Misbehaviour] =
    ["stall-after=0", "stall-after=1", "stall-after=2", "slow=60000", "keep=yes"].map {
      Misbehaviour(.requestor, "hung", "convert UTF8_STRING \($0) wait=no")
    } + [
      Misbehaviour(.requestor, "hung", "convert UTF8_STRING wait=no slow=300", "stop"),
      Misbehaviour(.requestor, "hung", "multiple UTF8_STRING=P1 UTF8_STRING=P2 wait=no", "stop"),
    ]
    + ["exit-after=0", "exit-after=1", "destroy-after=0", "destroy-after=1", "destroy=ask"].map {
      Misbehaviour(.requestor, "dead half-way", "convert UTF8_STRING \($0) from=fresh wait=no")
    } + [
      Misbehaviour(.requestor, "dead half-way", "convert UTF8_STRING wait=no", "destroy helper"),
      Misbehaviour(.requestor, "dead half-way", "top", "convert UTF8_STRING from=top wait=no", "destroy top"),
      Misbehaviour(.requestor, "dead half-way", "many 60 UTF8_STRING from=fresh wait=no", "exit 9"),
      Misbehaviour(.requestor, "dead half-way", "many 1000 UTF8_STRING destroy=ask wait=no deadline=500"),
    ]
    + [
      "convert UTF8_STRING property=none", "convert UTF8_STRING property=#4000000000", "convert #4000000000",
      "convert UTF8_STRING time=4294967295", "convert MULTIPLE", "convert MULTIPLE property=none",
      "multiple UTF8_STRING=#4000000000 #4000000000=P1 MULTIPLE=P2 TARGETS=none",
      "multiple UTF8_STRING=SAME UTF8_STRING=SAME UTF8_STRING=SAME",
      "convert UTF8_STRING selection=CLIPBOARD_MANAGER", "convert SAVE_TARGETS selection=CLIPBOARD_MANAGER",
      "convert UTF8_STRING selection=_XPASTEBRIDGE_S0", "convert DELETE", "convert INSERT_SELECTION",
      "many 50 UTF8_STRING property=SAME from=helper",
    ].map { Misbehaviour(.requestor, "lying", $0 + " wait=no") } + [
      Misbehaviour(
        .requestor, "lying", "class k KeePassXC", "title Other", "pid 1", "machine elsewhere",
        "convert UTF8_STRING wait=no"),
      Misbehaviour(.requestor, "lying", "selection CLIPBOARD_MANAGER", "convert TARGETS property=none wait=no"),
      Misbehaviour(.requestor, "a hundred at once", "many 100 UTF8_STRING from=fresh stall-after=0 wait=no"),
      Misbehaviour(.requestor, "a hundred at once", "many 100 UTF8_STRING from=fresh stall-after=1 wait=no"),
      Misbehaviour(.requestor, "a hundred at once", "many 100 UTF8_STRING from=fresh slow=20 wait=no"),
      Misbehaviour(.requestor, "never deleting", "many 100 UTF8_STRING from=fresh keep=yes wait=no"),
      Misbehaviour(.requestor, "never deleting", "many 100 TARGETS from=fresh keep=yes wait=no"),
      Misbehaviour(.requestor, "a flood", "loop 100000 TARGETS wait=no"),
      Misbehaviour(.requestor, "a flood", "loop 100000 x/none wait=no interval=0"),
      Misbehaviour(.requestor, "a flood", "many 2000 x/none wait=no"),
      Misbehaviour(.requestor, "a flood", "many 2000 TIMESTAMP from=fresh wait=no"),
    ]
    + ["request", "notify", "property", "clear", "destroy", "owner"].flatMap { kind in
      ["", " times=3000", " window=owner requestor=owner target=TARGETS property=XPB_X time=1 times=5"].map {
        Misbehaviour(.requestor, "forged events", "forge \(kind)\($0)")
      }
    } + [
      Misbehaviour(.requestor, "forged events", "forge request requestor=1"),
      Misbehaviour(.requestor, "forged events", "forge request requestor=0 target=#4000000000 property=#4000000001"),
      Misbehaviour(.requestor, "forged events", "forge request requestor=4000000000 target=MULTIPLE"),
      Misbehaviour(.requestor, "forged events", "forge request requestor=owner property=none times=200"),
    ]
}
