import Boards
import BridgeCore
import ContentActions
import Foundation
import Policy
import Selection
import Testing

@testable import XPasteBridge

/// A directory of its own for one test, removed with it.
final class TemporaryDirectory {
  let path: String

  init() {
    // Short: socket paths have 107 bytes.
    var template = Array("/tmp/xpb-XXXXXX".utf8CString)
    path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ text: String, _ name: String) {
    try! Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
  }

  func read(_ name: String) -> String { (try? String(contentsOfFile: path + "/" + name, encoding: .utf8)) ?? "" }
}

/// The project's own files.
enum Project {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  static func text(_ path: String) throws -> String { try String(contentsOfFile: root + "/" + path, encoding: .utf8) }

  /// The program that was built with the tests.
  static let program: String = {
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    return tests.appendingPathComponent("xpastebridge").path
  }()
}

/// Runs `loop` until `condition` holds; false when it doesn't within `seconds`.
func run(_ loop: EventLoop, seconds: Double = 5, until condition: () -> Bool) -> Bool {
  let deadline = Date().addingTimeInterval(seconds)
  while !condition() {
    guard Date() < deadline else { return false }
    _ = try! loop.runOnce(milliseconds: 5)
  }
  return true
}

/// Runs `loop` for a time in which something must not happen.
func run(_ loop: EventLoop, seconds: Double) { _ = run(loop, seconds: seconds, until: { false }) }

/// One run of a program as a child, its output in files.
final class ChildRun {
  private let directory = TemporaryDirectory()
  private let pid: pid_t
  private(set) var status: Int32?

  init(_ arguments: [String], program: String = Project.program, environment: [String: String] = [:]) {
    // Threads of the test runner block signals, and children inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, directory.path + "/out", O_WRONLY | O_CREAT, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, directory.path + "/err", O_WRONLY | O_CREAT, 0o600)
    var variables = ProcessInfo.processInfo.environment
    variables["DISPLAY"] = nil
    variables.merge(environment) { $1 }
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (words + settings).forEach { free($0) } }
    var child: pid_t = 0
    let result = posix_spawn(&child, program, &actions, &attributes, &words, &settings)
    precondition(result == 0, "can't start \(program): \(result)")
    pid = child
  }

  isolated deinit { end() }

  /// Ends the child by its own number, if it still runs.
  func end() {
    guard !hasEnded() else { return }
    kill(pid, SIGKILL)
    var raw: Int32 = 0
    waitpid(pid, &raw, 0)
    status = -SIGKILL
  }

  var output: String { directory.read("out") }
  var complaint: String { directory.read("err") }

  /// Its number.
  var processID: pid_t { pid }

  /// Looks whether the child has ended.
  func hasEnded() -> Bool {
    var raw: Int32 = 0
    if status == nil, waitpid(pid, &raw, WNOHANG) == pid { status = raw & 0x7f == 0 ? raw >> 8 & 0xff : -(raw & 0x7f) }
    return status != nil
  }

  /// Waits for the child while `loop` serves it.
  func wait(_ loop: EventLoop? = nil, seconds: Double = 10) -> Int32? {
    let loop = loop ?? (try! EventLoop())
    guard run(loop, seconds: seconds, until: { self.hasEnded() }) else {
      end()
      return nil
    }
    return status
  }
}

/// A display without X: a pipe for its connection, and settable states.
final class FakeSession: DisplaySession {
  private let pipe = Pipe()
  var isLost = false
  var successor: Subject?
  var isServerThere = false
  private(set) var notShown: [Notice] = []
  func noticeNotShown(_ notice: Notice) { notShown.append(notice) }
  var breakdown: String?
  var nextDeadline: MonotonicTime?
  var isSettled = true
  var isClipboardSettled: Bool { isSettled }
  var status: [BridgeStatus] = []
  var described: [ClientDescription] = []
  private(set) var calls: [String] = []
  var actionStatus: ActionStatus?
  /// Windows there are, and what their apps may do.
  var allowed: [Window: Set<Policy.Action>] = [:]

  var hasPriority = true
  var namesPrograms = true
  var rivalClipboardManager: Subject?
  /// Who is behind which window.
  var identities: [Window: Subject] = [:]
  func identify(_ window: Window?) -> (window: Window, subject: Subject)? {
    let asked = window ?? .none
    return identities[asked].map { (asked, $0) }
  }

  var pressDescriptor: Int32? { nil }
  var pressStatus = PressStatus()
  var actionDescriptor: Int32? { nil }
  var busyDescriptor: Int32? { nil }
  func canPerform(_ action: Policy.Action, in window: Window?) -> Bool? {
    allowed[window ?? .none].map { $0.contains(action) }
  }

  /// The active app.
  var activeSubject = Subject.unknown
  /// What any action is told.
  var fit = ActionFit.unfit
  var outcome = ActionOutcome.unfit
  private(set) var programs: [String] = []
  func fit(of action: ContentAction, program: String, isForFocus: Bool) -> ActionFit { fit }
  func runAction(_ action: ContentAction, program: String, onEnd: @escaping (ActionOutcome) -> Void) {
    programs.append(program)
    onEnd(outcome)
  }

  var openAsks: [OpenAsk] { core.openAsks }
  var noticesLeftOut: Int { core.noticesLeftOut }
  /// Numbers that the person has allowed.
  private(set) var allowances: [UInt64] = []
  func allowOnce(_ number: UInt64?) -> OpenAsk? {
    allowances.append(number ?? 0)
    return core.allowOnce(number, at: Posix.monotonicNow()).allowed
  }

  var connectionDescriptor: Int32 { pipe.fileHandleForReading.fileDescriptor }
  func drain() {}
  func deadlineReached() { calls.append("deadline") }
  func replacePolicy(_ policy: PolicySet) { calls.append("policy") }
  func synchronize() { calls.append("sync") }
  func clients() -> [ClientDescription] { described }
  func close() { calls.append("close") }

  /// Boards of a core without a display.
  lazy var core = Bridge(atoms: KnownAtoms { self.atom($0) }, policy: .allowEverything)
  private var atoms: [String: NamedAtom] = [:]
  /// Who calls, in the place of the process.
  var caller: Subject?
  var boards: BoardTable { core.boards }
  var contentLimit = 1 << 20

  func atom(_ name: String) -> NamedAtom {
    let atom = atoms[name] ?? NamedAtom(Atom(UInt32(100 + atoms.count)), name)
    atoms[name] = atom
    return atom
  }

  func intern(_ names: [String]) -> [NamedAtom] { names.map { atom($0) } }
  func subject(of process: ProcessRecord) -> Subject {
    caller ?? Subject(origin: .local(process.identity), executable: process.executable)
  }
  func mayUse(_ subject: Subject, _ board: String) -> Bool { board == "general" || core.mayUse(subject, board) }
  func callBoard(_ call: BoardCall, from subject: Subject) -> BoardAnswer? {
    var answer: BoardAnswer?
    run(core.handle(call, from: subject, at: Posix.monotonicNow())) { answer = $0 }
    return answer
  }

  /// What the daemon is told of boards.
  var onBoardNotice: (BoardNotice) -> Void = { _ in }

  func run(_ effects: [Effect], _ answered: (BoardAnswer) -> Void = { _ in }) {
    for effect in effects {
      switch effect {
      case .answer(let answer): answered(answer)
      case .announce(let notice): onBoardNotice(notice)
      case .seize(let selections):
        for selection in selections {
          run(core.handle(.seized(selection, time: ServerTime(1)), from: nil, at: Posix.monotonicNow()), answered)
        }
      default: break
      }
    }
  }
}

/// A policy source whose answer the test sets: a set stands for both sides, an error for the managed one, unless the user's
/// side has an answer of its own. Tests change it only while nothing is read.
nonisolated final class FakePolicySource: PolicySource, @unchecked Sendable {
  var answer: PolicyReading
  var userAnswer: SideReading?
  var isNamed = false

  init(_ answer: PolicyReading) { self.answer = answer }

  func paths(of side: PolicyOverview.Side) -> [String] { [] }

  func load(_ side: PolicyOverview.Side, over managed: Ruleset) -> SideReading {
    guard side == .managed else { return userAnswer ?? SideReading(ruleset: answer.policy?.user ?? Ruleset()) }
    return SideReading(
      ruleset: answer.policy?.managed, files: answer.files.map { ReadPolicyFile(path: $0, digest: "00") },
      errors: answer.errors, warnings: answer.warnings)
  }
}

/// Records and subjects for tests.
nonisolated enum Example {
  static let hostile = "a\"b\\c\nd\re\tf\u{0}g\u{1b}[31mh\u{7f}i\u{85}j\u{2028}k\u{202e}l\u{fffd}m😀n"
  static let huge = String(repeating: "x", count: 100_000)

  static func subject(_ name: String) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: 42, startTime: 99)), windowClass: Fact(name, .declared),
      instance: Fact(name, .inferred), executable: Fact("/opt/" + name, .attested), unit: Fact("app.scope", .attested),
      sandbox: Fact("flatpak:" + name, .attested), host: Fact(name, .declared))
  }

  static func record(
    _ name: String = "App", kind: AuditRecord.Kind = .paste, verdict: Verdict = .deny, reason: Reason? = nil,
    limit: AuditRecord.Limit? = nil, outcome: AuditRecord.Outcome = .refused, targets: [String] = ["text/html"],
    isAlwaysWritten: Bool = true
  ) -> AuditRecord {
    let rule = Reason.rule(
      RuleReference(name: name, position: SourcePosition(file: "/etc/" + name, line: 3, column: 5)))
    return AuditRecord(
      kind: kind, selection: "CLIPBOARD", source: subject(name), destination: Subject(origin: .remote),
      targets: targets, bytes: 12, verdict: verdict, reason: reason ?? rule, outcome: outcome, limit: limit, count: 2,
      message: name, isAlwaysWritten: isAlwaysWritten)
  }
}
