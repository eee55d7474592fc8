import Boards
import BridgeCore
import ContentActions
import Policy
import Selection

/// The daemon's side of one X display: what the loop, the control methods and the policy need of it.
protocol DisplaySession: AnyObject {
  /// The X connection's descriptor.
  var connectionDescriptor: Int32 { get }
  /// Whether the X server is gone.
  var isLost: Bool { get }
  /// Why nothing is guarded any more although server and connection are there, in words; `nil` while all is well.
  var breakdown: String? { get }
  /// The instance that has taken over with `--replace`, as the X server and the kernel know it; `nil` while none has.
  var successor: Subject? { get }
  /// Whether an X server still listens at the display; asked after the connection was lost.
  var isServerThere: Bool { get }
  /// When `deadlineReached` has to be called.
  var nextDeadline: MonotonicTime? { get }
  /// Whether no capture, claim or settling is under way.
  var isSettled: Bool { get }
  /// The descriptor of the connection for keys and windows; `nil` when there is none.
  var actionDescriptor: Int32? { get }
  /// What is to be waited for beside the X connection's descriptor for the sake of held presses; `nil` for nothing.
  var pressDescriptor: Int32? { get }
  /// How held presses stand.
  var pressStatus: PressStatus { get }
  /// The descriptor that the loop has to keep full for a while, through ``drain()``; `nil` otherwise.
  var busyDescriptor: Int32? { get }
  /// How keys and windows stand; `nil` without a connection for them.
  var actionStatus: ActionStatus? { get }
  /// Whether the server takes our requests first.
  var hasPriority: Bool { get }
  /// Whether the server says which program each client is; where it doesn't, each is unsure.
  var namesPrograms: Bool { get }
  /// Who owns CLIPBOARD_MANAGER in our place; `nil` for nobody.
  var rivalClipboardManager: Subject? { get }
  /// Who is behind `window`, or the active one; `nil` when there is no such window.
  func identify(_ window: Window?) -> (window: Window, subject: Subject)?
  /// Whether the app of `window`, or of the active one, may do `action`; `nil` when there is no such window.
  func canPerform(_ action: Action, in window: Window?) -> Bool?
  /// The active app; one of which nothing is known where there is none.
  var activeSubject: Subject { get }
  /// Whether an action that `program` does fits the clip on CLIPBOARD and may have it, and, with `isForFocus`, whether the
  /// active app may have what the action would be given.
  func fit(of action: ContentAction, program: String, isForFocus: Bool) -> ActionFit
  /// Runs an action; `onEnd` hears once how it ended.
  func runAction(_ action: ContentAction, program: String, onEnd: @escaping (ActionOutcome) -> Void)
  /// How the selections stand.
  var status: [BridgeStatus] { get }
  /// Takes in everything that X has for us and flushes; called before every wait.
  func drain()
  /// Hands the core its deadline.
  func deadlineReached()
  /// Puts a new policy in force.
  func replacePolicy(_ policy: PolicySet)
  /// A round trip to the server, then `drain`.
  func synchronize()
  /// Whether nothing of the newest copy on CLIPBOARD is under way any more.
  var isClipboardSettled: Bool { get }
  /// The X clients, described.
  func clients() -> [ClientDescription]
  /// Numbers names.
  func intern(_ names: [String]) -> [NamedAtom]
  /// Who a process is that came another way than by X.
  func subject(of process: ProcessRecord) -> Subject
  /// Bytes of one clip at most.
  var contentLimit: Int { get }
  /// The boards.
  var boards: BoardTable { get }
  /// Whether `subject` may use the board of this name; `general` is everybody's to ask for.
  func mayUse(_ subject: Subject, _ board: String) -> Bool
  /// Takes a call to the boards; `nil` when the server is gone.
  func callBoard(_ call: BoardCall, from subject: Subject) -> BoardAnswer?
  /// Pastes that wait for the person's word, or have it.
  var openAsks: [OpenAsk] { get }
  /// Notices that were due and not shown, since there were too many.
  var noticesLeftOut: Int { get }
  /// A notice was due and nobody could show it, so it doesn't count.
  func noticeNotShown(_ notice: Notice)
  /// The person allows one of them, the latest where no number is given; `nil` when it isn't there any more.
  func allowOnce(_ number: UInt64?) -> OpenAsk?
  /// Gives the selections back and leaves the display.
  func close()
}

extension DisplaySession {
  /// Whether another instance has taken over.
  var isReplaced: Bool { successor != nil }
}

/// How a display is to be guarded.
struct DisplayRequest {
  /// Its name.
  var name: String
  /// The policy to start with.
  var policy: PolicySet
  /// Whether to take over from another instance.
  var replaces: Bool
  /// Whether an unexpected X error ends the program.
  var endsOnXError: Bool
  /// What lets content and requests outlive the process.
  var continuity: Continuity?
  /// What runs actions.
  var children: ActionChildren?
  /// What keeps the content of persistent boards.
  var boardKeeper: (any BoardKeeper)?
  /// Takes what those who watch boards are told.
  var onBoardNotice: (BoardNotice) -> Void = { _ in }
  /// Takes what the person is to be told.
  var onNotice: (NoticeOrder) -> Void = { _ in }
  /// Called when the display has answered for the first time.
  var onConnected: () -> Void = {}
  /// Says something to the journal.
  var say: (String, Priority) -> Void = { _, _ in }
  /// Takes every audit record.
  var audit: (AuditRecord) -> Void
}

/// Why a display can't be guarded, in one line: not reachable, not permitted, or guarded by another instance.
struct DisplayFailure: Error, Hashable {
  /// The line, without the program's name.
  var line: String
}
