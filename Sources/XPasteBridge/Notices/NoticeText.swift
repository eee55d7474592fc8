import BridgeCore
import Policy

/// What is to be shown, or no longer.
enum NoticeOrder: Hashable {
  case show(Notice)
  case close(UInt64)
}

/// A notice in words: what, from where to where, why, what to do. Programs are called by their class, as people know them,
/// never by a window's title.
struct NoticeText: Hashable {
  /// One line of fixed words.
  var summary: String
  /// Sentences; without markup.
  var body: String
  /// Whether there is a button to allow it once.
  var offersAllowOnce = false

  /// The words for `notice`; a server without buttons has the command in their place.
  init(_ notice: Notice, serverHasActions: Bool) {
    let record = notice.record
    offersAllowOnce = notice.offersAllowOnce && serverHasActions
    summary = Self.summary(notice)
    var sentences = [Self.whatHappened(notice)]
    sentences += [record.message.map { Self.sentence($0) } ?? Self.why(record.reason)].compactMap(\.self)
    if notice.offersAllowOnce {
      let seconds = Bridge.allowedMilliseconds / 1_000
      sentences.append(
        "\(serverHasActions ? "Choose Allow once" : "Run `xpastebridge allow-once \(notice.number)`"), then paste again within "
          + "\(seconds) seconds.")
      if !notice.isPersons { sentences.append("It isn't the active app; perhaps nobody asked for this.") }
    } else {
      sentences += Self.whatToDo(record)
    }
    if notice.isLast { sentences.append("More refusals aren't shown for a minute; `xpastebridge audit` has them all.") }
    body = sentences.joined(separator: " ")
  }

  /// The words for a policy that can't be read.
  init(policyTrouble: String) {
    summary = "The clipboard's policy has errors"
    body = Self.sentence(policyTrouble) + " `xpastebridge status` shows them."
  }

  /// The body for servers that read markup: nothing of it is markup.
  var escapedBody: String {
    var text = ""
    for character in body.unicodeScalars {
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      default: text.unicodeScalars.append(character)
      }
    }
    return text
  }

  // MARK: words

  /// What people call a program: its class, else the name of its file or of its sandbox.
  static func name(of subject: Subject) -> String {
    let file = subject.executable?.value.split(separator: "/").last.map(String.init)
    guard let name = subject.windowClass?.value ?? subject.instance?.value ?? file ?? subject.sandbox?.value else {
      return subject.origin == .remote ? "a program of another machine" : "an unknown program"
    }
    return Label.plain(name, to: 48)
  }

  /// The same with the file, which a program can't choose as it likes: for what the person is asked to allow.
  private static func fullName(of subject: Subject) -> String {
    let name = name(of: subject)
    guard let file = subject.executable?.value else { return name }
    return "\(name) (\(Label.plain(file, to: 128)))"
  }

  private static func summary(_ notice: Notice) -> String {
    let word =
      switch notice.record.kind {
      case .copy: "Copy"
      case .cut: "Cut"
      case .paste, .list: "Paste"
      case .drag: "Drag"
      case .action: "Action"
      case .clear, .expire, .allowOnce: "Clipboard"
      }
    if notice.offersAllowOnce { return "Allow this paste?" }
    switch notice.record.outcome {
    case .refused, .refusedByKey, .emptied, .replaced: return "\(word) refused"
    case .left, .incomplete, .failed, .keptInPart: return "\(word) not complete"
    case .kept, .served, .dropped, .granted: return word
    }
  }

  private static func whatHappened(_ notice: Notice) -> String {
    let record = notice.record
    let source = record.source.map(name) ?? "Nobody"
    let destination = record.destination.map(notice.offersAllowOnce ? fullName : name)
    if let limit = record.limit { return limited(limit, record, source) }
    let isRefused = [.refused, .refusedByKey, .emptied, .replaced].contains(record.outcome)
    switch (record.kind, destination) {
    case (.paste, let destination?), (.list, let destination?):
      let from = record.source.map { " what \(name(of: $0)) copied" } ?? ""
      if notice.offersAllowOnce { return capital("\(destination) wants to paste\(from).") }
      return capital("\(destination) \(isRefused ? "may not paste" : "pasted")\(from)\(place(record, "from")).")
    case (.drag, let destination?): return "What is dragged from \(source) may not go to \(destination)."
    case (.action, let program?):
      let name = Label.plain(record.actionName ?? program, to: 64)
      return record.outcome == .failed ? "`\(name)` gave no result." : "`\(name)` may not have what \(source) copied."
    case (.cut, _): return capital("\(source) \(isRefused ? "may not cut" : "cut")\(place(record, "to")).")
    default: return capital("\(source) \(isRefused ? "may not copy" : "copied")\(place(record, "to")).")
    }
  }

  private static func place(_ record: AuditRecord, _ word: String) -> String {
    switch record.selection {
    case "clipboard", "drag": ""
    case "primary": " \(word) the marked text"
    default: " \(word) `\(Label.plain(record.selection, to: 64))`"
    }
  }

  private static func limited(_ limit: AuditRecord.Limit, _ record: AuditRecord, _ source: String) -> String {
    let what =
      switch limit {
      case .targetsTimeout: "\(source) doesn't answer, so that what it copied can't be kept."
      case .captureTimeout, .idleTimeout, .afterLoss: "\(source) didn't hand over all that it copied in time."
      case .clipSize, .totalSize: "What \(source) copied is larger than the limit."
      case .targetCount: "\(source) offers more forms than the limit."
      case .boardQuota: "There is no room on `\(Label.plain(record.selection, to: 64))` for what \(source) copied."
      case .rival: "\(source) takes the clipboard back again and again."
      case .flood:
        "\(record.destination.map(name) ?? "a program") was refused \(record.count) times within a short time."
      case .pressTimeout: "\(source) didn't show in time what is marked, so that the click was held back."
      case .lockTimeout: "\(source) copied too late after the key."
      case .actionCount: "Too many actions run."
      case .pairCount, .transfersPerClient, .transferCount:
        "\(record.destination.map(name) ?? "a program") asks for too much at once."
      }
    return capital(what)
  }

  /// Why, where the rule has no words of its own for the person.
  private static func why(_ reason: Reason) -> String? {
    switch reason {
    case .rule(let rule): "By the rule “\(Label.plain(rule.name, to: 96))”."
    case .fileDefault: "By the policy's default."
    case .outsideAudience(let copied): why(copied)
    case .couldBe(let reason): why(reason).map { "\($0.dropLast()), since it isn't certain which program that is." }
    case .locked, .lockdown, .builtInDefault, .sameApp: nil
    }
  }

  private static func whatToDo(_ record: AuditRecord) -> [String] {
    var advice: [String] = []
    if record.outcome == .emptied, record.selection == "clipboard", record.kind == .cut || record.kind == .copy {
      // From a menu nobody can tell a cut from a copy, and by now the program has deleted what it cut.
      advice.append(
        record.kind == .cut ? "Undo brings the text back." : "If it was a cut, undo brings the text back.")
    }
    if record.outcome == .refusedByKey { advice.append("The key didn't reach it: its text is as it was.") }
    if record.kind == .drag { advice.append("If it was a move, undo brings it back.") }
    guard record.limit == nil else { return advice }
    return advice + [whom(record.reason)].compactMap(\.self)
  }

  private static func whom(_ reason: Reason) -> String? {
    switch reason {
    case .lockdown: return "A lockdown is on; `xpastebridge lockdown off` lifts it."
    case .locked: return "The policy can't be read; `xpastebridge status` says why."
    case .outsideAudience(let copied):
      if copied == .lockdown || copied == .locked { return whom(copied) }
      return "It may be pasted where it was copied, and in the members of its board. " + (whom(copied) ?? "")
    case .couldBe(let reason): return whom(reason)
    case .rule(let rule): return whom(rule.position.file)
    case .fileDefault(let position): return whom(position.file)
    case .builtInDefault, .sameApp: return nil
    }
  }

  private static func whom(_ file: String) -> String {
    file.hasPrefix("/etc/") || file.hasPrefix("/usr/")
      ? "If that is wrong, ask whoever looks after this computer." : "The rule is in \(Label.plain(file, to: 128))."
  }

  private static func sentence(_ text: String) -> String {
    let words = Label.plain(text)
    return words.hasSuffix(".") || words.hasSuffix("!") || words.hasSuffix("?") ? words : words + "."
  }

  private static func capital(_ text: String) -> String {
    // Names of programs stay as they are; only our own words begin a sentence.
    ["a program", "an unknown"].contains { text.hasPrefix($0) } ? "A" + text.dropFirst() : text
  }
}
