import Foundation

/// A small generator with a seed, so that a failure can be repeated.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

/// A JSON document, so that it is YAML, too.
indirect enum Sample {
  case text(String)
  case number(Int)
  case truth(Bool)
  case null
  case list([Sample])
  case object([(String, Sample)])

  var json: String {
    switch self {
    case .text(let text): "\"\(text)\""
    case .number(let number): "\(number)"
    case .truth(let truth): "\(truth)"
    case .null: "null"
    case .list(let items): "[" + items.map(\.json).joined(separator: ", ") + "]"
    case .object(let members): "{" + members.map { "\"\($0)\": \($1.json)" }.joined(separator: ", ") + "}"
    }
  }
}

/// Makes policy files by the language's description, and breaks them in one place.
struct SampleMaker {
  var random: Seeded

  init(seed: UInt64) { random = Seeded(state: seed) }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
  mutating func one(_ words: [String]) -> String { words.randomElement(using: &random)! }

  mutating func file() -> Sample {
    var members: [(String, Sample)] = [("version", .number(1))]
    if chance(20) { members.append(("enforce", .truth(chance(50)))) }
    members.append(("groups", .object([("g", .list([who(2)])), ("h.1", .list([.text("g"), facts(1)]))])))
    members.append(("boards", .object([("b", board())])))
    let rules = (0..<Int.random(in: 0...4, using: &random)).map { rule($0) }
    members.append(("rules", .list(rules)))
    if chance(30) { members.append(("default", .text(one(["allow", "deny"])))) }
    if chance(30) { members.append(("primary", .text(one(["off", "guard", "own"])))) }
    if chance(20) { members.append(("secondary", .text(one(["off", "guard"])))) }
    if chance(20) { members.append(("cut-buffers", .text(one(["off", "guard"])))) }
    if chance(20) { members.append(("lift-lockdown", .truth(chance(50)))) }
    if chance(40) { members.append(("limits", limits())) }
    if chance(40) { members.append(("keys", .object([(one(["g", "any", "h.1"]), keys())]))) }
    if chance(50) { members.append(("expect", .list([expectation()]))) }
    return .object(members)
  }

  mutating func who(_ depth: Int) -> Sample {
    switch Int.random(in: 0..<(depth > 0 ? 5 : 3), using: &random) {
    case 0: .text(one(["any", "remote", "unknown"]))
    case 1, 2: facts(depth)
    case 3: .list([facts(depth - 1), .text("remote")])
    default: .object([("not", facts(depth - 1)), ("class", .text("Z"))])
    }
  }

  mutating func facts(_ depth: Int) -> Sample {
    var members: [(String, Sample)] = [("exe", .text("/usr/bin/" + one(["a", "b*", "**"])))]
    if chance(40) { members.append(("class", chance(50) ? .text("C*") : .list([.text("C"), .number(7)]))) }
    if chance(20) { members.append(("unit", .text("u-*.service"))) }
    if chance(15) { members.append(("remote", .truth(false))) }
    return .object(members)
  }

  mutating func board() -> Sample {
    var members: [(String, Sample)] = [("members", .list([.text("g")]))]
    if chance(30) { members.append(("mirror", .truth(true))) }
    if chance(30) { members.append(("expires", .text("8h"))) }
    if chance(30) { members.append(("max-size", chance(50) ? .text("64M") : .number(4_096))) }
    if chance(30) { members.append(("max-items", .number(50))) }
    if chance(30) { members.append(("max-total", .text("1G"))) }
    return .object(members)
  }

  mutating func rule(_ number: Int) -> Sample {
    var members: [(String, Sample)] = [("name", .text("rule-\(number)"))]
    let verdict = one(["allow", "deny", "private", "ask"])
    if chance(50) { members.append(("from", who(2))) }
    if chance(40), verdict != "private" { members.append(("to", who(1))) }
    if chance(40) { members.append(("targets", .list([.text("image/x-\(number)"), .text("text")]))) }
    if chance(30) {
      members.append(("size", .object([("over", .number(number)), ("up-to", .text("\(number + 1)K"))])))
    }
    if chance(20) { members.append(("sensitive", .truth(chance(50)))) }
    if chance(20) { members.append(("selection", .text(one(["clipboard", "primary"])))) }
    if verdict == "allow" || verdict == "private" {
      if chance(20) { members.append(("expires", .text(one(["20s", "5m", "7d"])))) }
      if chance(20) { members.append(("one-shot", .truth(true))) }
      if chance(20) { members.append(("only-targets", .text("text"))) }
      if chance(20) { members.append(("max-size", .text("1M"))) }
    }
    if chance(20) { members.append(("audit", .truth(true))) }
    if chance(30) { members.append(("message", .text("words"))) }
    members.append(("decision", .text(verdict)))
    return .object(members)
  }

  mutating func limits() -> Sample {
    .object([("max-clip", .text("1M")), ("flood", .number(7)), ("idle-timeout", .text("500ms"))])
  }

  mutating func keys() -> Sample {
    chance(50)
      ? .text("terminal")
      : .object([("set", .text("vim")), ("copy", .list([.text("Ctrl+C")])), ("cut", .text("none"))])
  }

  mutating func expectation() -> Sample {
    var members: [(String, Sample)] = [("from", .object([("class", .text("A"))])), ("decision", .text("allow"))]
    if chance(60) { members.append(("to", .text("unknown"))) }
    if chance(50) { members += [("target", .text("text/html")), ("size", .text("1K"))] }
    return .object(members)
  }

  // MARK: faults

  /// The same with one value, key or list spoilt, wherever that happens to be.
  mutating func spoilt(_ sample: Sample) -> Sample {
    switch sample {
    case .object(var members) where !members.isEmpty && !chance(20):
      let index = Int.random(in: 0..<members.count, using: &random)
      members[index].1 = spoilt(members[index].1)
      return .object(members)
    case .list(var items) where !items.isEmpty && !chance(20):
      let index = Int.random(in: 0..<items.count, using: &random)
      items[index] = spoilt(items[index])
      return .list(items)
    case .object(var members):
      switch Int.random(in: 0..<4, using: &random) {
      case 0 where !members.isEmpty: members.remove(at: Int.random(in: 0..<members.count, using: &random))
      case 1: members.append((one(["frm", "decison", "to", "size", "apps", "notify"]), .text("x")))
      case 2: return .object([])
      default: return other()
      }
      // The key may have been there before, and two of a name are no matter of the schema.
      return Set(members.map(\.0)).count == members.count ? .object(members) : .object([])
    case .list: return chance(50) ? .list([]) : other()
    default: return other()
    }
  }

  private mutating func other() -> Sample {
    switch Int.random(in: 0..<9, using: &random) {
    case 0: .number(Int.random(in: -2...70_000, using: &random))
    case 1: .truth(chance(50))
    case 2: .null
    case 3: .list([.text("any")])
    case 4: .object([("class", .text("A"))])
    case 5: .text("true")
    case 6: .text("")
    case 7: .text(one(["10", "5x", "1T", "3s", "64K"]))
    default: .text(one(["allow", "deny", "own", "copy", "Nothing", "vim"]))
    }
  }
}
