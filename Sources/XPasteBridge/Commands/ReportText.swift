import Policy

/// `status` for people.
enum StatusText {
  /// The report on a few lines.
  static func text(_ report: JSON) -> String {
    var lines = [
      line("version", field(report["version"])),
      line(
        "display", "\(field(report["display"])), pid \(field(report["pid"])), up \(field(report["uptimeSeconds"])) s"),
    ]
    if let policy = report["policy"] { lines += self.policy(policy) }
    if report["lockdown"]?.truth == true {
      lines.append(line("lockdown", Console.alarming("on: only same-app copy and paste is allowed")))
    }
    for selection in report["selections"]?.elements ?? [] { lines += self.selection(selection) }
    if let boards = report["boards"], boards["count"]?.number != 0 {
      lines.append(
        line("boards", "\(field(boards["count"])), \(field(boards["items"])) items, \(field(boards["bytes"])) bytes"))
    }
    if let freed = report["presses"]?["freed"]?.number, freed > 0 {
      lines.append(line("presses", Console.alarming("\(freed) lost, since the daemon stood still while they waited")))
    }
    if report["priority"]?.truth == false {
      lines.append(line("priority", Console.alarming("none: the X server has no SYNC; see `xpastebridge doctor`")))
    }
    if report["namesPrograms"]?.truth == false {
      let words = "none: the X server has no X-Resource 1.2; every program gets the strictest answer that it could get"
      lines.append(line("identity", Console.alarming(words)))
    }
    if let rival = report["rivalManager"] {
      lines.append(line("  rival", Console.alarming("\(subject(rival)) owns CLIPBOARD_MANAGER")))
    }
    if report["boardStore"]?["state"]?.text == "failed" {
      lines.append(
        line(
          "board store", Console.alarming("boards are kept in memory alone: \(field(report["boardStore"]?["reason"]))"))
      )
    }
    if let actions = report["actions"] { lines += self.actions(actions) }
    if let sandbox = report["sandbox"] { lines += self.sandbox(sandbox) }
    if report["settled"]?.truth == false { lines.append(line("settled", "no, something is under way")) }
    if let store = report["store"] { lines += self.store(store) }
    if let unlocked = report["memory"]?["unlockedBytes"]?.number, unlocked > 0 {
      lines.append(line("memory", "\(unlocked) bytes of content may be swapped out (see LimitMEMLOCK)"))
    }
    if let notices = report["notices"] { lines.append(self.notices(notices)) }
    if let audit = report["audit"] { lines += self.audit(audit) }
    lines.append(line("control", report["control"]?.text.map { Label.plain($0) } ?? Console.alarming("none")))
    lines.append(line("session bus", bus(report["sessionBus"]?.text ?? "")))
    return lines.joined(separator: "\n") + "\n"
  }

  /// A heading and its words, in two columns.
  static func line(_ heading: String, _ words: String) -> String {
    let padding = String(repeating: " ", count: max(1, 13 - heading.count))
    return Console.bold(heading) + padding + words
  }

  /// A string or number, safe to show; a dash for nothing.
  static func field(_ value: JSON?) -> String {
    value?.text.map { Label.plain($0) } ?? value?.number.map { String($0) } ?? "-"
  }

  private static func policy(_ policy: JSON) -> [String] {
    let files = policy["files"]?.elements ?? []
    let count = "\(files.count) file\(files.count == 1 ? "" : "s"), \(field(policy["rules"])) rules"
    let standing =
      switch policy["state"]?.text {
      case "in-force": files.isEmpty ? "in force: no files, everything is allowed" : "in force: \(count)"
      case "last-good" where policy["managed"]?["state"]?.text == "in-force":
        Console.alarming("the user's files have errors; the last good ones stay in force: \(count)")
      case "last-good": Console.alarming("the files have errors; the last good policy stays in force: \(count)")
      case "left-out": Console.alarming("the user's files have errors; none of them is in force: \(count)")
      case "locked": Console.alarming("LOCKED: the files have errors; only same-app copy and paste is allowed")
      default: field(policy["state"])
      }
    var lines = [line("policy", standing)]
    if policy["enforced"]?.truth == false {
      lines.append(line("", Console.alarming("NOT ENFORCED: what would be refused is allowed and recorded")))
    }
    if policy["source"]?.text == "named" {
      lines.append(line("", "named by --policy; the installed files aren't read"))
    }
    lines += files.map { line("", field($0)) }
    for path in policy["managed"]?["changeable"]?.elements ?? [] {
      lines.append(line("  error", Console.alarming("\(field(path)) can be changed by others than root")))
    }
    lines += (policy["errors"]?.elements ?? []).map { line("  error", field($0)) }
    lines += (policy["warnings"]?.elements ?? []).map { line("  warning", field($0)) }
    return lines
  }

  private static func selection(_ selection: JSON) -> [String] {
    var words = field(selection["state"])
    if let source = selection["source"] { words += ", from \(subject(source))" }
    let targets = (selection["targets"]?.elements ?? []).map { field($0) }
    if !targets.isEmpty { words += ", \(field(selection["bytes"])) bytes" }
    if selection["sensitive"]?.truth == true { words += ", secret" }
    var lines = [line(field(selection["selection"]), words)]
    if !targets.isEmpty { lines.append(line("", targets.joined(separator: " "))) }
    if let reason = selection["reason"] { lines.append(line("", "decided by \(self.reason(reason))")) }
    let transfers = selection["transfers"]?.number ?? 0
    let conversions = selection["conversions"]?.number ?? 0
    if transfers + conversions > 0 { lines.append(line("", "\(transfers) going out, \(conversions) coming in")) }
    switch selection["trigger"]?.text {
    case "middle-button": lines.append(line("", "taken or refused at the middle click of another app"))
    case "pointer-entry":
      lines.append(
        line("", Console.alarming("the middle button isn't to be had; taken when the pointer comes to another app")))
    default: break
    }
    if let rival = selection["rival"] {
      lines.append(line("  rival", Console.alarming("\(subject(rival)) keeps taking the selection")))
    }
    return lines
  }

  private static func sandbox(_ sandbox: JSON) -> [String] {
    if sandbox["helper"]?.truth == false {
      return [line("edit menu", Console.alarming("the program that runs actions isn't installed"))]
    }
    let version = sandbox["landlock"]?.number ?? 0
    guard version > 0 else {
      return [line("edit menu", Console.alarming("the kernel has no Landlock: an action can read what you can"))]
    }
    return [line("edit menu", "actions are shut in, Landlock version \(version)")]
  }

  private static func notices(_ notices: JSON) -> String {
    var words =
      switch notices["server"]?.text {
      case "ready", "asking", "unknown": "\(field(notices["shown"])) shown"
      case "absent": Console.alarming("not shown: there is no notification server")
      case "unresponsive": Console.alarming("not shown: the notification server doesn't answer")
      default: "not shown: no session bus"
      }
    if let leftOut = notices["leftOut"]?.number, leftOut > 0 { words += "; \(leftOut) left out, too many in a minute" }
    if let asks = notices["asks"]?.number, asks > 0 { words += "; \(asks) to be allowed by `xpastebridge allow-once`" }
    return line("notices", words)
  }

  private static func store(_ store: JSON) -> [String] {
    guard store["state"]?.text == "kept" else {
      return [line("after crash", Console.alarming("content is lost: \(field(store["reason"]))"))]
    }
    let selections = (store["selections"]?.elements ?? []).map { field($0) }
    let what = selections.isEmpty ? "nothing to keep" : "\(selections.joined(separator: " ")) comes back"
    return [line("after crash", "\(what), \(field(store["bytes"])) bytes with the service manager")]
  }

  private static func actions(_ actions: JSON) -> [String] {
    var words = "held back on \(field(actions["guarded"])) of \(field(actions["windows"])) windows"
    if actions["holdsBackKeys"]?.truth == false { words = Console.alarming("not held back: the X server has no XKB") }
    let reasons = [("followsCuts", "to tell cuts from copies"), ("followsPastes", "to know the person behind a paste")]
      .filter { actions[$0.0]?.truth == true }.map(\.1)
    if !reasons.isEmpty { words += "; followed, \(reasons.joined(separator: " and "))" }
    let occupied = (actions["occupied"]?.elements ?? []).map { keys in
      let names = (keys["keys"]?.elements ?? []).map { field($0) }.joined(separator: " ")
      let app = keys["app"].map { subject($0) } ?? "-"
      return line("  occupied", Console.alarming("another client has \(names) of \(app)"))
    }
    return [line("keys", words)] + lock(actions["lock"]) + occupied
  }

  private static func lock(_ lock: JSON?) -> [String] {
    guard let lock, let standing = lock["standing"]?.text, standing != "unneeded" else { return [] }
    guard standing == "ready" else {
      let words = "copies can be read by others: the X server lacks priorities, XKB or X-Resource, or no watchdog runs"
      return [line("protection", Console.alarming(words))]
    }
    let words =
      "copy keys of \(field(lock["windows"])) windows; \(field(lock["taken"])) copies taken, "
      + "\(field(lock["lapsed"])) keys without one, \(field(lock["swallowed"])) swallowed; "
      + "\(field(lock["pastes"])) pastes locked, \(field(lock["openPastes"])) not"
    return [line("protection", words)]
  }

  private static func audit(_ audit: JSON) -> [String] {
    let place = audit["journal"]?.truth == true ? "journal" : "standard error"
    var words = "\(place), \(field(audit["written"])) records, \(field(audit["refused"])) refusals"
    if let suppressed = audit["suppressed"]?.number, suppressed > 0 { words += ", \(suppressed) left out" }
    var lines = [line("audit", words)]
    if let file = audit["file"] {
      let failure = file["failure"]?.text.map { Console.alarming(", not written: \(Label.plain($0))") } ?? ""
      lines.append(line("", field(file["path"]) + failure))
    }
    return lines
  }

  private static func bus(_ state: String) -> String {
    switch state {
    case "owned": "reachable as \(ControlAddress.busName)"
    case "queued": "\(ControlAddress.busName) belongs to a daemon of another display"
    case "absent": "none"
    case "off": "off"
    default: Label.plain(state)
    }
  }

  /// An app by the most telling facts.
  static func subject(_ subject: JSON) -> String {
    let labels = ["class", "instance", "sandbox", "unit", "host"]
    let label = labels.lazy.compactMap { subject[$0]?["value"]?.text }.first
    let place = subject["pid"]?.number.map { "pid \($0)" } ?? field(subject["origin"])
    // Of an interpreter, what it runs says more.
    let executable = (subject["script"] ?? subject["exe"])?["value"]?.text.map { Label.plain($0, to: 256) }
    let candidates = subject["candidates"]?.elements ?? []
    let names = Set(candidates.compactMap { ($0["script"] ?? $0["exe"])?["value"]?.text })
    if !names.isEmpty {
      let choice = "one of " + names.sorted().map { Label.plain($0, to: 256) }.joined(separator: ", ")
      return label.map { "\(Label.plain($0, to: 64)) (\(choice))" } ?? choice
    }
    guard let label else { return executable.map { "\($0) (\(place))" } ?? place }
    return "\(Label.plain(label, to: 64)) (\(executable.map { "\($0), " } ?? "")\(place))"
  }

  /// A rule or default with its place.
  static func reason(_ reason: JSON) -> String {
    let place = "\(field(reason["file"])):\(field(reason["line"])):\(field(reason["column"]))"
    switch reason["kind"]?.text {
    case "rule": return "rule `\(field(reason["rule"]))` at \(place)"
    case "file-default": return "the default at \(place)"
    case "built-in-default": return "nothing that says otherwise"
    case "same-app": return "an app's right to its own clip"
    case "outside-audience":
      return "the clip's audience, set by \(reason["copied"].map { self.reason($0) } ?? "-")"
    case "could-be":
      let certain = reason["reason"].map { self.reason($0) } ?? "-"
      return "\(certain), which could be about an app that isn't known for certain"
    case "locked": return "the lock, since the policy files have errors"
    case "lockdown": return "the lockdown that somebody has set"
    default: return "-"
    }
  }
}

/// `clients` for people: a table.
enum ClientsText {
  private static let facts = FactName.allCases.map(\.rawValue)
  private static let columns = ["pid"] + facts + ["evidence"]

  /// One row for each X client.
  static func text(_ report: JSON) -> String {
    let rows = [columns.map { $0.uppercased() }] + (report["clients"]?.elements ?? []).map(row)
    let widths = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    let lines = rows.enumerated().map { index, row in
      let cells = row.enumerated().map { column, cell in
        column == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count + 2)
      }
      return index == 0 ? Console.bold(cells.joined()) : cells.joined()
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func row(_ client: JSON) -> [String] {
    let values = facts.map { client[$0]?["value"]?.text.map { Label.plain($0, to: 64) } ?? "-" }
    let evidence = facts.compactMap { name in
      client[name]?["evidence"]?.text.map { "\(name)=\(Label.plain($0, to: 16))" }
    }
    let pid = client["pid"]?.number.map { String($0) } ?? StatusText.field(client["origin"])
    let notes = [doubt(of: client)].compactMap { $0 } + evidence
    return [pid] + values + [notes.isEmpty ? "-" : notes.joined(separator: " ")]
  }

  /// Which apps it may be, or else which facts aren't known.
  private static func doubt(of client: JSON) -> String? {
    let candidates = client["candidates"]?.elements ?? []
    if !candidates.isEmpty {
      let names = candidates.map { candidate in
        let path = candidate["exe"]?["value"]?.text.map { Label.plain($0, to: 64) } ?? "?"
        return candidate["pid"]?.number.map { "\(path) (pid \($0))" } ?? path
      }
      return "one of " + names.joined(separator: ", ")
    }
    let unsure = (client["unsure"]?.elements ?? []).compactMap(\.text).map { Label.plain($0, to: 16) }
    return unsure.isEmpty ? nil : "not known: " + unsure.joined(separator: ", ")
  }
}

/// `policy show` for people.
enum PolicyText {
  /// The files, then each part with its place.
  static func text(_ report: JSON) -> String {
    var lines = [StatusText.line("state", StatusText.field(report["state"]))]
    lines += (report["files"]?.elements ?? []).map { StatusText.line("file", StatusText.field($0)) }
    for (title, key) in [("group", "groups"), ("board", "boards"), ("rule", "rules"), ("setting", "settings")] {
      lines += (report[key]?.elements ?? []).map { StatusText.line(title, entry($0)) }
    }
    lines += (report["limits"]?.members ?? [])
      .map { StatusText.line("limit", "\(Label.plain($0.name)): \(StatusText.field($0.value))") }
    lines += (report["errors"]?.elements ?? []).map { StatusText.line("error", StatusText.field($0)) }
    lines += (report["warnings"]?.elements ?? []).map { StatusText.line("warning", StatusText.field($0)) }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func entry(_ entry: JSON) -> String {
    let text = "`\(StatusText.field(entry["name"]))`: \(StatusText.field(entry["text"]))"
    guard entry["line"]?.number != nil else { return text }
    let place =
      "\(StatusText.field(entry["file"])):\(StatusText.field(entry["line"])):\(StatusText.field(entry["column"]))"
    return "\(text) (\(StatusText.field(entry["ruleset"])), \(place))"
  }
}
