/// Every verb and option: parsing, help, completions and the manual page all come from this table.
enum CommandTable {
  private static let display = OptionSpecification(
    name: "display", letter: "d", value: "DISPLAY", kind: .display,
    summary: "the X display of the daemon (default: $DISPLAY)")
  private static let timeout = OptionSpecification(
    name: "timeout", letter: "t", value: "SECONDS", kind: .number,
    summary: "how long to wait for the daemon (default: 5)")
  static let json = OptionSpecification(name: "json", letter: "j", summary: "print JSON")
  private static let policy = OptionSpecification(
    name: "policy", letter: "p", value: "PATH", kind: .path, isRepeatable: true,
    summary: "read this policy file or directory instead of the installed ones; may be repeated")

  static func options(_ more: OptionSpecification...) -> [OptionSpecification] {
    [display, timeout] + more
  }

  /// All commands, in the order of the help text.
  static let commands: [CommandSpecification] =
    [
      run, status, doctor, sync, clients, identify, can, lockdown, allowOnce,
      policyFileVerdict, policyShow, policyExplain, policySimulate,
    ] + BoardCommandTable.commands + [actionList, actionRun, menu, audit, help, generate]

  private static let run = CommandSpecification(
    words: ["run"], summary: "guard the selections of a display, in the foreground",
    details: "Reloads the policy on SIGHUP and whenever a policy file changes; ends on SIGTERM and SIGINT. Closing its "
      + "terminal doesn't end it, since that sends SIGHUP.",
    options: [
      OptionSpecification(
        name: "display", letter: "d", value: "DISPLAY", kind: .display,
        summary: "the X display to guard (default: $DISPLAY)"),
      policy,
      OptionSpecification(
        name: "actions", value: "DIRECTORY", kind: .path, isRepeatable: true,
        summary: "read the edit menu's actions here instead of the installed ones; may be repeated"),
      OptionSpecification(
        name: "replace", letter: "r",
        summary: "take over from a daemon that guards the display; what it holds ends with it"),
      OptionSpecification(
        name: "audit", letter: "a", value: "WHICH", kind: .choice(["refusals", "all"]),
        summary: "which decisions are recorded: refusals (default) or all"),
      OptionSpecification(
        name: "audit-file", letter: "f", value: "FILE", kind: .path,
        summary: "also append records to this file, one JSON object a line"),
      OptionSpecification(name: "fatal-x-errors", summary: "end on an unexpected X error (for tests)"),
      OptionSpecification(name: "no-bus", summary: "stay off the session bus"),
      OptionSpecification(name: "no-tray", summary: "show no sign in the panel"),
    ])

  private static let status = CommandSpecification(
    words: ["status"], summary: "show how the daemon, its policy and the selections stand", options: options(json))

  private static let doctor = CommandSpecification(
    words: ["doctor"], summary: "say which guarantees hold here and now, and what to do about the others",
    details: "Works without a daemon, too, and then says what could hold. Fails when anything doesn't hold.",
    options: options(
      OptionSpecification(
        name: "policy", letter: "p", value: "PATH", kind: .path, isRepeatable: true,
        summary: "without a daemon, read this policy file or directory instead of the installed ones; may be repeated"),
      json))

  private static let sync = CommandSpecification(
    words: ["sync"], summary: "wait until the daemon has dealt with all that happened so far",
    details: "Fails when the daemon is still busy after two seconds.", options: options(json))

  private static let clients = CommandSpecification(
    words: ["clients"], summary: "list the X clients and what is known of each", options: options(json))

  private static let identify = CommandSpecification(
    words: ["identify"], summary: "say who is behind a window, and how a policy names it",
    details: """
      WINDOW is a window's number, as xwininfo and xdotool print it; without it the pointer becomes a cross and the window \
      that is clicked is meant.
      """,
    options: options(json), operands: OperandSpecification(name: "WINDOW", maximum: 1, kind: .text))

  private static let can = CommandSpecification(
    words: ["can"], summary: "say whether an app may copy, cut or paste at all",
    details: """
      ACTION is copy, cut or paste. WINDOW is a window's number, as xwininfo and xdotool print it; without it the active \
      window is meant. Prints yes or no, and fails for no. Yes means that it isn't refused for good: what is copied, or \
      who wants to read it, may still make a difference.
      """,
    options: options(json),
    operands: OperandSpecification(
      name: "ACTION", minimum: 1, maximum: 2, kind: .choice(["copy", "cut", "paste"])))

  private static let lockdown = CommandSpecification(
    words: ["lockdown"], summary: "refuse everything but same-app copy and paste, or no longer",
    details:
      "STATE is on or off. A lockdown stays on when the daemon is started anew. The policy may keep it from being "
      + "lifted (lift-lockdown).",
    options: options(),
    operands: OperandSpecification(name: "STATE", minimum: 1, maximum: 1, kind: .choice(["on", "off"])))

  private static let allowOnce = CommandSpecification(
    words: ["allow-once"], summary: "allow a paste once that a rule with ask refuses",
    details: """
      Allows the next paste of that app within 30 seconds, of what it was refused and of nothing else. Without NUMBER the \
      one asked for last is meant. A new copy, another policy and a lockdown end it. Fails when no paste waits for it.
      """,
    options: options(
      OptionSpecification(name: "list", letter: "l", summary: "list the pastes that wait, and allow none"), json),
    operands: OperandSpecification(name: "NUMBER", maximum: 1, kind: .text))

  private static let policyFileVerdict = CommandSpecification(
    words: ["policy", "check"], summary: "read policy files and report every error",
    details: """
      Without a path, the installed files are read; paths take the place of all of them. The path - is standard input. \
      Needs no X server and no daemon.
      """,
    options: [
      OptionSpecification(
        name: "user", letter: "u", value: "PATH", kind: .path, isRepeatable: true,
        summary: "read this file or directory as the user's, beside the paths or the installed managed files"),
      json,
    ],
    operands: OperandSpecification(name: "PATH"))

  private static let policyShow = CommandSpecification(
    words: ["policy", "show"], summary: "show the policy that the daemon has in force",
    details: "With --policy the files are read and merged here, without a daemon.",
    options: options(
      OptionSpecification(
        name: "policy", letter: "p", value: "PATH", kind: .path, isRepeatable: true,
        summary: "show what this policy file or directory says, in force or not; may be repeated"), json))

  private static let policySimulate = CommandSpecification(
    words: ["policy", "simulate"], summary: "say which recorded decisions another policy would change",
    details: """
      FILE holds audit records, one JSON object a line, as --audit-file writes them and audit --json prints them; - is \
      standard input. A decision that rests on what its record doesn't say is counted and never guessed. Fails when \
      anything would change. Needs no X server and no daemon.
      """,
    options: [policy, json],
    operands: OperandSpecification(name: "FILE", minimum: 1, maximum: 1))

  private static let policyExplain = CommandSpecification(
    words: ["policy", "explain"], summary: "say how a request would be decided, and by which rule",
    details: """
      An app is written as FACT=VALUE pairs joined by commas; the facts are class, instance, exe, script, unit, sandbox \
      and host, and the words remote and unknown stand alone. Needs no X server and no daemon.
      """,
    options: [
      OptionSpecification(
        name: "from", value: "APP", isRequired: true, summary: "the app that copies, or that the clip came from"),
      OptionSpecification(name: "to", value: "APP", summary: "the app that pastes"),
      OptionSpecification(
        name: "action", value: "ACTION", kind: .choice(["copy", "cut", "paste", "drag"]),
        summary: "copy, cut, paste or drag (default: paste with --to, else copy)"),
      OptionSpecification(name: "target", value: "TARGET", summary: "the target, for example text/html"),
      OptionSpecification(
        name: "size", value: "BYTES", kind: .number, summary: "the clip's size; K, M and G count 1024s"),
      OptionSpecification(name: "sensitive", summary: "the source marked the clip secret"),
      OptionSpecification(
        name: "selection", value: "NAME", summary: "clipboard (default), primary, secondary or a board"),
      policy, json,
    ])

  private static let patience = OptionSpecification(
    name: "timeout", letter: "t", value: "SECONDS", kind: .number,
    summary: "how long to wait for the daemon (default: 150)")

  private static let actionList = CommandSpecification(
    words: ["action", "list"], summary: "list the edit menu's actions and whether each fits what is on the clipboard",
    options: options(json))

  private static let actionRun = CommandSpecification(
    words: ["action", "run"], summary: "run an action on what is on the clipboard",
    details:
      "NAME is an action's name or title, as action list prints them. What the action makes takes the place of what "
      + "it was made of; if it makes nothing, nothing changes.",
    options: [display, patience, json],
    operands: OperandSpecification(name: "NAME", minimum: 1, maximum: 1, kind: .text))

  private static let menu = CommandSpecification(
    words: ["menu"], summary: "show what the active app may paste from boards and do with the clipboard, and do it",
    details:
      "The menu is shown by rofi, dmenu or fuzzel, whichever is there. What is chosen from a board is put on the "
      + "clipboard for those who may read the board, to be pasted as always. Fails when nothing is chosen.",
    options: [
      display, patience,
      OptionSpecification(
        name: "with", value: "PROGRAM", kind: .path, summary: "show the menu with this program, by name or path"),
      OptionSpecification(name: "json", letter: "j", summary: "print the items as JSON and show nothing"),
    ])

  private static let audit = CommandSpecification(
    words: ["audit"], summary: "print audit records from the journal or a file",
    options: [
      OptionSpecification(
        name: "display", letter: "d", value: "DISPLAY", kind: .display, summary: "only records of this display"),
      OptionSpecification(name: "follow", letter: "f", summary: "keep printing records as they are written"),
      OptionSpecification(
        name: "audit-file", value: "FILE", kind: .path, summary: "read this file, or - for standard input"),
      json,
    ])

  private static let help = CommandSpecification(
    words: ["help"], summary: "explain a command",
    operands: OperandSpecification(name: "COMMAND", maximum: 2, kind: .text))

  private static let generate = CommandSpecification(
    words: ["generate"], summary: "print what is made from this table: completions SHELL, or manual",
    operands: OperandSpecification(
      name: "WHAT", minimum: 1, maximum: 2, kind: .choice(["completions", "manual", "bash", "zsh", "fish"])),
    isHidden: true)

  /// The commands that help, completions and the manual page show.
  static var visible: [CommandSpecification] { commands.filter { !$0.isHidden } }
}
