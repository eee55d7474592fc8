/// The judgement of `doctor`: facts in, one finding for each guarantee that can be judged out.
enum Findings {
  /// Clipboard managers by the names of their executables: such a program reads every copy and may put old ones back.
  static let managers: Set<String> = [
    "autocutsel", "clipcatd", "clipit", "clipmenud", "clipper", "copyq", "diodon", "gpaste-daemon", "greenclip",
    "klipper", "parcellite", "qlipper", "xfce4-clipman",
  ]
  /// Programs named in one finding (our choice: a line that can be read).
  private static let named = 5

  /// All findings, in the order of ``Guarantee``.
  static func all(_ facts: DoctorFacts) -> [Finding] {
    var findings = [server(facts.server)]
    switch facts.running {
    case .answering(let status, let clients):
      findings += [daemon(status, facts)] + ofDaemon(status, clients).map { limited($0, by: facts.server) }
    case .absent(let reason):
      findings += [
        .broken(.daemon, reason, "start it with `systemctl --user start xpastebridge`, or run `xpastebridge run`"),
        installedPolicy(facts.files),
      ]
    }
    findings += [unit(facts.unit), runtime(facts.runtimeProblem), notices(facts.notices)]
    let order = Dictionary(uniqueKeysWithValues: Guarantee.allCases.enumerated().map { ($1, $0) })
    return findings.sorted { order[$0.guarantee, default: 0] < order[$1.guarantee, default: 0] }
  }

  // MARK: without a daemon

  private static func server(_ server: DoctorFacts.Server) -> Finding {
    switch server {
    case .reachable(missing: [], _): return .holds(.display, "reachable, with all extensions that are used")
    case .reachable(let missing, _):
      return .limited(
        .display, "the X server lacks \(missing.joined(separator: ", "))",
        "start the X server with these extensions; what rests on them doesn't work")
    case .unreachable(let reason):
      return .broken(.display, reason, "set DISPLAY and XAUTHORITY to those of the session, or give --display")
    case .unfit(let reason):
      return .broken(.display, reason, "start the X server with that extension; no rule holds on this display")
    }
  }

  private static func unit(_ unit: DoctorFacts.Unit) -> Finding {
    switch unit {
    case .enabled(let target, .byTarget): .holds(.unit, "started with \(target)")
    case .enabled(let target, .byOther):
      .holds(.unit, "the service manager runs it; \(target) isn't active, so something else has started it")
    case .enabled(let target, .never):
      .broken(
        .unit, "enabled for \(target), which isn't active in this session, so nothing starts it",
        "start it from the X session's start-up file: `systemctl --user start xpastebridge`")
    case .enabled(let target, .unasked(let reason)):
      .broken(
        .unit, "enabled for \(target), and there is no service manager of this user that starts it: \(reason)",
        "log in by way of pam_systemd, or start `xpastebridge run` from the X session's start-up file")
    case .masked(let path):
      .broken(
        .unit, "masked\(path.map { " by `\($0)`" } ?? ""), so nothing can start it",
        "run `systemctl --user unmask xpastebridge`, or remove that link")
    case .disabled:
      .limited(
        .unit, "the unit is installed and isn't started with the session",
        "run `systemctl --user enable xpastebridge`; where the desktop starts no graphical-session.target, start it from "
          + "the X session's start-up file")
    case .absent:
      .limited(
        .unit, "no unit is installed, so nothing starts the daemon with the session or after a crash",
        "run `make install`, or start `xpastebridge run` from the X session's start-up file")
    }
  }

  /// What no rule can promise where the X server itself gives copies away.
  private static func limited(_ finding: Finding, by server: DoctorFacts.Server) -> Finding {
    guard case .reachable(_, let copying?) = server, [.priority, .protection].contains(finding.guarantee) else {
      return finding
    }
    return .broken(
      finding.guarantee,
      "the X server hands copies to its viewers itself (\(copying)), before any rule is asked",
      "switch its clipboard off (Xvnc: -SendCutText=0 -AcceptCutText=0), or don't show this display to viewers")
  }

  private static func runtime(_ problem: String?) -> Finding {
    guard let problem else { return .holds(.runtime, "there, and can be written") }
    return .broken(.runtime, problem, "log in by way of pam_systemd, or set XDG_RUNTIME_DIR to a directory of yours")
  }

  private static func installedPolicy(_ files: DoctorFacts.Files) -> Finding {
    if let error = files.errors.first {
      let more = files.errors.count > 1 ? " (and \(files.errors.count - 1) more)" : ""
      return .broken(
        .policy, "a daemon that starts now would be locked: \(error)\(more)",
        "repair the files; `xpastebridge policy check` shows every error")
    }
    if let path = files.changeable.first { return changeable(path, files.changeable.count - 1) }
    guard files.count > 0 else { return .holds(.policy, "no files, so everything would be allowed") }
    return .holds(.policy, "\(counted(files.count, "file")) without errors")
  }

  private static func changeable(_ path: String, _ more: Int) -> Finding {
    .broken(
      .policy,
      "`\(path)`\(more > 0 ? " and \(counted(more, "other path"))" : "") can be changed by others than root, so anybody may write the managed policy",
      "`chown root:root` and `chmod go-w` it")
  }

  private static func notices(_ server: DoctorFacts.NoticeServer) -> Finding {
    let remedy = "install and start a notification daemon, for example dunst"
    switch server {
    case .running: return .holds(.notices, "a notification server is running")
    case .startable: return .holds(.notices, "a notification server is started when it is needed")
    case .absent: return .limited(.notices, "nobody shows notifications", remedy)
    case .unasked(let reason):
      return .limited(
        .notices, "the session bus can't be asked: \(reason)", "start the session with a D-Bus session bus")
    }
  }

  // MARK: with one

  private static func daemon(_ status: JSON, _ facts: DoctorFacts) -> Finding {
    let version = text(status["version"])
    guard version == facts.version else {
      return .limited(
        .daemon, "the daemon is of version \(version), this command of \(facts.version)",
        "run `systemctl --user restart xpastebridge`")
    }
    if status["lockdown"]?.truth == true {
      return .limited(
        .daemon, "a lockdown is on: only same-app copy and paste is allowed", "run `xpastebridge lockdown off`")
    }
    return .holds(.daemon, "guards \(text(status["display"])), pid \(text(status["pid"]))")
  }

  private static func ofDaemon(_ status: JSON, _ clients: JSON) -> [Finding] {
    let others = (clients["clients"]?.elements ?? []).filter { $0["self"]?.truth != true }
    return [
      policy(status["policy"]), first(status, others), priority(status), rivals(status, others),
      identity(status, others),
      memory(status["memory"]), audit(status["audit"]), crash(status["store"]), bus(status["sessionBus"]?.text),
      boards(status["boardStore"]),
    ] + keys(status) + presses(status)
  }

  private static func policy(_ policy: JSON?) -> Finding {
    let error = policy?["errors"]?.elements.first?.text ?? ""
    let remedy = "repair the files; `xpastebridge policy check` shows every error"
    switch policy?["state"]?.text {
    case "locked": return .broken(.policy, "locked, since the files have errors: \(error)", remedy)
    case "last-good":
      return .limited(.policy, "the last good policy is in force; the files have errors: \(error)", remedy)
    case "left-out":
      return .limited(.policy, "none of the user's files is in force, since they have errors: \(error)", remedy)
    default: break
    }
    if let path = policy?["managed"]?["changeable"]?.elements.first {
      let more = (policy?["managed"]?["changeable"]?.elements.count ?? 1) - 1
      return changeable(text(path), more)
    }
    if policy?["enforced"]?.truth == false {
      return .limited(
        .policy, "not enforced: what would be refused is allowed and recorded", "remove `enforce: false` from the files"
      )
    }
    let files = policy?["files"]?.elements.count ?? 0
    guard files > 0 else { return .holds(.policy, "no files, everything is allowed") }
    return .holds(.policy, "in force: \(counted(files, "file")), \(counted(policy?["rules"]?.number ?? 0, "rule"))")
  }

  private static func first(_ status: JSON, _ others: [JSON]) -> Finding {
    let earlier = others.filter { $0["earlier"]?.truth == true }
    guard !isBlind(status) else {
      return .limited(
        .first, "the X server doesn't list its clients, so it isn't known who was there before the daemon",
        "start the X server with X-Resource, and the daemon before other programs")
    }
    guard !earlier.isEmpty else {
      return .holds(.first, "every other program connected after the daemon had begun to listen")
    }
    return .limited(
      .first, "connected before the daemon, and told of copies before it if they listen: \(names(earlier))",
      "start the daemon before other programs (the unit does), or end these and start them again")
  }

  private static func priority(_ status: JSON) -> Finding {
    guard status["priority"]?.truth == true else {
      return .limited(
        .priority,
        "the X server has no SYNC extension, so other programs' requests are taken in turn with the daemon's",
        "start the X server with SYNC")
    }
    return .holds(.priority, "the X server takes the daemon's requests first")
  }

  private static func rivals(_ status: JSON, _ others: [JSON]) -> Finding {
    let takers = (status["selections"]?.elements ?? []).compactMap { $0["rival"] }
    let rivals = takers + [status["rivalManager"]].compactMap(\.self)
    if !rivals.isEmpty {
      return .broken(
        .rivals, "takes our place: \(names(rivals))",
        "end that program; two can't hold one selection")
    }
    let managers = others.filter { client in
      let path = client["exe"]?["value"]?.text ?? ""
      return path.split(separator: "/").last.map { Self.managers.contains(String($0)) } ?? false
    }
    guard managers.isEmpty else {
      return .limited(
        .rivals, "another clipboard manager runs: \(names(managers))",
        "end it and keep it from being started: it reads what it is allowed to, and keeps it by its own rules")
    }
    return .holds(.rivals, "no other clipboard manager is known to run")
  }

  private static func keys(_ status: JSON) -> [Finding] {
    guard let actions = status["actions"] else {
      return [
        .broken(
          .keys, "the X server has ended the connection for keys and windows",
          "run `systemctl --user restart xpastebridge`")
      ]
    }
    return [keys(actions), protection(actions["lock"]?["standing"]?.text)]
  }

  private static func keys(_ actions: JSON) -> Finding {
    if actions["holdsBackKeys"]?.truth == false {
      return .broken(.keys, "the X server has no XKB, so no key is held back", "start the X server with XKB")
    }
    let occupied = actions["occupied"]?.elements ?? []
    guard !occupied.isEmpty else { return .holds(.keys, "held back where the policy denies for good") }
    let words = occupied.prefix(named).map { keys in
      let chords = (keys["keys"]?.elements ?? []).map { text($0) }.joined(separator: " ")
      return "\(chords) of \(keys["app"].map { StatusText.subject($0) } ?? "-")"
    }
    return .limited(
      .keys, "another program has \(words.joined(separator: ", "))",
      "take the shortcut out of that program's settings, mostly the window manager's or a hotkey tool's")
  }

  private static func protection(_ standing: String?) -> Finding {
    switch standing {
    case "ready": .holds(.protection, "copy keys of protected apps are stopped for the moment of the copy")
    case "impossible":
      .broken(
        .protection,
        "copies of protected apps can be read by others: no SYNC, no XKB, no X-Resource, or no input watchdog",
        "start the X server with SYNC, XKB and X-Resource; see the journal for the watchdog")
    default: .holds(.protection, "no rule asks for it")
    }
  }

  private static func presses(_ status: JSON) -> [Finding] {
    let primary = (status["selections"]?.elements ?? []).compactMap { $0["trigger"]?.text }
    let freed = status["presses"]?["freed"]?.number ?? 0
    if primary.contains("pointer-entry") {
      let hasWatchdog = status["presses"]?["watchdog"]?.number != nil
      return [
        .limited(
          .presses, hasWatchdog ? "another program has the middle button" : "no input watchdog is running",
          hasWatchdog
            ? "take the middle button on the root window out of that program's settings"
            : "see the journal for why it doesn't start; until then PRIMARY is taken when the pointer comes to another app"
        )
      ]
    }
    if freed > 0 {
      return [
        .limited(
          .presses, "the watchdog let keyboard and pointer go \(counted(freed, "time")), since the daemon stood still",
          "see the journal for what else kept the machine busy then")
      ]
    }
    let words = primary.isEmpty ? "no rule needs it now" : "decided at the press, and a watchdog lets the pointer go"
    return [.holds(.presses, words)]
  }

  /// Whether the X server doesn't say which programs its clients are.
  private static func isBlind(_ status: JSON) -> Bool { status["namesPrograms"]?.truth == false }

  private static func identity(_ status: JSON, _ others: [JSON]) -> Finding {
    guard !isBlind(status) else {
      return .broken(
        .identity,
        "the X server has no X-Resource 1.2, so no program can be told from another: each gets the strictest answer that "
          + "it could get, and none its own private copy",
        "start the X server with X-Resource (Xvfb, Xorg: without `-extension X-Resource`)")
    }
    let doubtful = others.filter { !($0["candidates"]?.elements ?? []).isEmpty }
    let unattested = others.filter { client in
      (client["candidates"]?.elements ?? []).isEmpty
        && !["exe", "unit", "sandbox"].contains { client[$0]?["evidence"]?.text == "attested" }
        && client["origin"]?.text != "remote"
    }
    guard doubtful.isEmpty else {
      let rest = unattested.isEmpty ? "" : "; not attested: \(names(unattested))"
      return .limited(
        .identity,
        "\(counted(doubtful.count, "program")) can't be told apart, as the processes that connected have ended: "
          + names(doubtful) + rest,
        "each gets the strictest of what the programs named would get; end or start anew one of them")
    }
    guard !unattested.isEmpty else {
      return .holds(.identity, "\(counted(others.count, "program")), each local one attested by the kernel")
    }
    return .limited(
      .identity, "not attested: \(names(unattested))",
      "name such a program by `class:` in rules that restrict it, and never in rules that grant")
  }

  private static func memory(_ memory: JSON?) -> Finding {
    let unlocked = memory?["unlockedBytes"]?.number ?? 0
    guard unlocked > 0 else { return .holds(.memory, "all pages with content are locked") }
    return .limited(
      .memory, "\(unlocked) bytes of content may be swapped out",
      "raise LimitMEMLOCK= in a drop-in of the unit, or encrypt the swap")
  }

  private static func audit(_ audit: JSON?) -> Finding {
    if let failure = audit?["file"]?["failure"]?.text {
      return .broken(
        .audit, "\(text(audit?["file"]?["path"])) is not written: \(failure)", "see to that file's folder and disk")
    }
    if audit?["journal"]?.truth == true { return .holds(.audit, "records go to the journal") }
    if audit?["file"] != nil { return .holds(.audit, "records go to \(text(audit?["file"]?["path"]))") }
    return .limited(
      .audit, "no journal: records go to standard error alone",
      "start the daemon with --audit-file, or run it under systemd")
  }

  private static func crash(_ store: JSON?) -> Finding {
    guard store?["state"]?.text == "kept" else {
      return .limited(
        .crash, "content is lost with the daemon: \(text(store?["reason"]))",
        "run the daemon by its unit, which has FileDescriptorStoreMax=")
    }
    return .holds(.crash, "content and waiting pastes lie with the service manager")
  }

  private static func bus(_ state: String?) -> Finding {
    switch state {
    case "owned": .holds(.bus, "reachable as \(ControlAddress.busName)")
    case "off": .holds(.bus, "off, as asked for (--no-bus)")
    case "connecting": .limited(.bus, "the session bus hasn't answered yet", "ask again in a moment")
    case "queued":
      .limited(
        .bus, "\(ControlAddress.busName) belongs to a daemon of another display",
        "desktops reach that one; the command line reaches each by --display")
    default:
      .limited(.bus, "there is no session bus", "start the session with a D-Bus session bus; all else works without")
    }
  }

  private static func boards(_ store: JSON?) -> Finding {
    switch store?["state"]?.text {
    case "failed":
      .broken(
        .boards, "boards are kept in memory alone: \(text(store?["reason"]))",
        "see to what is named, and restart the daemon")
    case "open" where store?["key"]?.text == "key-file":
      .limited(
        .boards, "the key lies in a file beside the store, so a copy of the folder can be read",
        "run a Secret Service (GNOME Keyring, KeePassXC), or give the unit a credential; see docs/boards.md")
    case "open": .holds(.boards, "stored, with the key from \(text(store?["key"]))")
    default: .holds(.boards, "no board is persistent")
    }
  }

  // MARK: words

  private static func text(_ value: JSON?) -> String { StatusText.field(value) }

  private static func counted(_ count: Int, _ what: String) -> String { "\(count) \(what)\(count == 1 ? "" : "s")" }

  private static func names(_ subjects: [JSON]) -> String {
    let all = Set(subjects.map { StatusText.subject($0) }).sorted()
    let more = all.count > named ? " and \(all.count - named) more" : ""
    return all.prefix(named).joined(separator: ", ") + more
  }
}
