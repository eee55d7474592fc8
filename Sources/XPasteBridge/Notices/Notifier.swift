import BridgeCore
@preconcurrency import Glibc
import Selection

/// Shows notices by the desktop's notification server. Nothing waits for it: calls go out and answers come in by the loop,
/// and what a server can keep open has a limit. Without a bus or a server nothing is shown, and all else works.
final class Notifier {
  /// How it stands.
  enum State: String, CaseIterable {
    /// `--no-bus`, or no session bus.
    case off
    /// Nobody has been asked yet.
    case unknown
    /// A server has been asked what it can.
    case asking
    /// A server shows notices.
    case ready
    /// There is no server.
    case absent
    /// There is one, and it doesn't answer.
    case unresponsive
  }

  /// How long a server may take to answer (our choice: one that is started for this takes 1 s on a busy machine).
  static let answerMilliseconds = 10_000
  /// Calls without an answer at a time (our choice).
  static let mostOutstanding = 4
  /// Notices that wait for the server; the oldest gives way (our choice: the core lets 13 a minute pass).
  static let mostWaiting = 16
  /// After which time a server that is absent or doesn't answer is tried again (our choice).
  static let retryMilliseconds = 60_000

  /// The notice about a policy that can't be read; the core's numbers begin at 1.
  private static let policyNumber: UInt64 = 0

  private enum Item {
    case core(Notice)
    case policy(String)
  }

  private struct Server {
    /// Its own name on the bus, which nobody else can have.
    let name: String
    let capabilities: Set<String>
  }

  private let say: (String) -> Void
  private let answerMilliseconds: Int
  private weak var connection: BusConnection?
  private var server: Server?
  private var standing = State.off
  private var retryAt: MonotonicTime?
  /// Counts servers, so that an answer of one that is gone is none.
  private var generation = 0
  private var waiting: [(number: UInt64, item: Item)] = []
  private var outstanding = 0
  /// What stays until it is closed, whatever becomes of the server: questions, and trouble with the policy.
  private var lasting: [UInt64: Item] = [:]
  /// The server's numbers of what is lasting.
  private var shown: [UInt64: UInt32] = [:]
  /// Notices shown so far.
  private(set) var shownCount = 0
  /// Called with a notice that nobody could show.
  var onNotShown: (Notice) -> Void = { _ in }
  /// Called when the person allows something once, with its number.
  var onAllow: (UInt64) -> Void = { _ in }

  /// Shows nothing before ``join(_:)``. A server has `answerMilliseconds` to answer; `say` writes what it doesn't do.
  init(answerMilliseconds: Int = Notifier.answerMilliseconds, say: @escaping (String) -> Void) {
    self.answerMilliseconds = answerMilliseconds
    self.say = say
  }

  /// How it stands.
  var state: State { connection == nil ? .off : standing }

  /// Takes up the work on a session bus.
  func join(_ connection: BusConnection) throws(SystemFailure) {
    let from = "interface='\(NotificationCalls.interface)',path='\(NotificationCalls.path)'"
    try connection.addMatch("type='signal',\(from),member='ActionInvoked'") { [weak self] in self?.actionInvoked($0) }
    try connection.addMatch("type='signal',\(from),member='NotificationClosed'") { [weak self] in self?.closed($0) }
    try connection.addMatch(
      "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
        + "arg0='\(NotificationCalls.name)'"
    ) { [weak self] in self?.ownerChanged($0) }
    self.connection = connection
    standing = .unknown
    // What was to be said before there was a bus.
    renewLasting()
  }

  /// The bus is gone, with whoever shows notices there.
  func leave() {
    forgetServer()
    connection = nil
    dropWaiting()
  }

  // MARK: what is to be shown

  /// Shows a notice, or takes one away.
  func take(_ order: NoticeOrder) {
    switch order {
    case .show(let notice): show(.core(notice), number: notice.number, isLasting: notice.offersAllowOnce)
    case .close(let number): close(number)
    }
  }

  /// Says that the policy has errors, or no longer.
  func showPolicyTrouble(_ text: String?) {
    guard let text else { return close(Self.policyNumber) }
    show(.policy(text), number: Self.policyNumber, isLasting: true)
  }

  private func show(_ item: Item, number: UInt64, isLasting: Bool) {
    if isLasting { lasting[number] = item }
    guard connection != nil else { return noteNotShown(item) }
    waiting.removeAll { $0.number == number }
    waiting.append((number, item))
    if waiting.count > Self.mostWaiting { noteNotShown(waiting.removeFirst().item) }
    advance()
  }

  private func noteNotShown(_ item: Item) {
    if case .core(let notice) = item { onNotShown(notice) }
  }

  private func dropWaiting() {
    let dropped = waiting
    waiting = []
    for (_, item) in dropped { noteNotShown(item) }
  }

  private func close(_ number: UInt64) {
    lasting[number] = nil
    waiting.removeAll { $0.number == number }
    guard let id = shown.removeValue(forKey: number) else { return }
    closeAtServer(id)
  }

  private func closeAtServer(_ id: UInt32) {
    guard let connection, let server else { return }
    do throws(SystemFailure) { try NotificationCalls.close(id, to: server.name, on: connection) } catch {
      // It ends by itself.
      return
    }
  }

  private func renewLasting() {
    for (number, item) in lasting.sorted(by: { $0.key < $1.key })
    where !waiting.contains(where: { $0.number == number }) {
      waiting.append((number, item))
    }
    advance()
  }

  // MARK: the server

  private func advance() {
    switch standing {
    case .off, .asking: return
    case .unknown: if !waiting.isEmpty { askServer() }
    case .absent, .unresponsive:
      guard let retryAt, Posix.monotonicNow() >= retryAt else { return dropWaiting() }
      standing = .unknown
      if !waiting.isEmpty { askServer() }
    case .ready:
      while !waiting.isEmpty, outstanding < Self.mostOutstanding, standing == .ready {
        let (number, item) = waiting.removeFirst()
        send(item, number)
      }
    }
  }

  private func askServer() {
    guard let connection else { return }
    standing = .asking
    let asked = generation
    do throws(SystemFailure) {
      try connection.send(NotificationCalls.capabilities(on: connection), milliseconds: answerMilliseconds) {
        [weak self] reply in
        guard let self, generation == asked, standing == .asking else { return }
        guard !reply.isError, let words = try? reply.readStrings(), let name = reply.sender else {
          return failed(reply)
        }
        server = Server(name: name, capabilities: Set(words))
        standing = .ready
        advance()
      }
    } catch { fail(.absent, "\(error)") }
  }

  private func send(_ item: Item, _ number: UInt64) {
    guard let connection, let server else { return }
    let text: NoticeText
    var milliseconds: Int32 = -1
    switch item {
    case .core(let notice):
      text = NoticeText(notice, serverHasActions: server.capabilities.contains("actions"))
      if notice.offersAllowOnce { milliseconds = Int32(Bridge.askMilliseconds) }
    case .policy(let trouble): text = NoticeText(policyTrouble: trouble)
    }
    outstanding += 1
    let asked = generation
    do throws(SystemFailure) {
      let call = try NotificationCalls.notify(
        text, replacing: shown[number] ?? 0, with: server.capabilities, to: server.name, milliseconds: milliseconds,
        on: connection)
      try connection.send(call, milliseconds: answerMilliseconds) { [weak self] reply in
        guard let self, generation == asked else { return }
        outstanding -= 1
        guard !reply.isError, let id = try? reply.readUInt32() else {
          noteNotShown(item)
          return failed(reply)
        }
        shownCount += 1
        if lasting[number] != nil {
          shown[number] = id
        } else if case .core(let notice) = item, notice.offersAllowOnce {
          // It is over before it could be shown.
          closeAtServer(id)
        }
        advance()
      }
    } catch {
      noteNotShown(item)
      fail(.absent, "\(error)")
    }
  }

  private func failed(_ reply: BusMessage) {
    let isSlow = reply.errorName == "org.freedesktop.DBus.Error.NoReply" || reply.errorName == "System.Error.ETIMEDOUT"
    fail(isSlow ? .unresponsive : .absent, reply.errorName ?? "another answer")
  }

  private func fail(_ state: State, _ cause: String) {
    forgetServer()
    standing = state
    dropWaiting()
    retryAt = Posix.monotonicNow().advanced(byMilliseconds: Self.retryMilliseconds)
    let what = state == .unresponsive ? "the notification server doesn't answer" : "there is no notification server"
    say("\(what) (\(Label.plain(cause, to: 128))): refusals are written down and not shown")
  }

  private func forgetServer() {
    generation += 1
    (server, outstanding, shown) = (nil, 0, [:])
    standing = .unknown
  }

  /// A server has come or gone. Its name is the bus's word, which no program can forge.
  private func ownerChanged(_ signal: BusMessage) {
    guard let _ = try? signal.readString(), let old = try? signal.readString(), let new = try? signal.readString()
    else { return }
    // One that is started because we have asked it comes while we wait for its answer, or while we have it already.
    guard !(old.isEmpty && (standing == .asking || server?.name == new)) else { return }
    forgetServer()
    guard !new.isEmpty else { return }
    renewLasting()
  }

  /// The person has chosen a button. Any program on the bus may send such a signal; it counts only if it comes from the server
  /// that showed the notice, by the bus's word.
  private func actionInvoked(_ signal: BusMessage) {
    guard let server, signal.sender == server.name, let id = try? signal.readUInt32(),
      let key = try? signal.readString(), key == NotificationCalls.allowKey,
      let number = shown.first(where: { $0.value == id })?.key, number != Self.policyNumber
    else { return }
    onAllow(number)
  }

  private func closed(_ signal: BusMessage) {
    guard let server, signal.sender == server.name, let id = try? signal.readUInt32(),
      let number = shown.first(where: { $0.value == id })?.key
    else { return }
    // The question stays open for the command.
    shown[number] = nil
  }
}
