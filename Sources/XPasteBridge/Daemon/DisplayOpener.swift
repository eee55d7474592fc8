import BridgeCore
import Policy
import Selection
import X11

/// Opens displays: the one place where the daemon meets the X side.
enum DisplayOpener {
  /// Connects, becomes the display's one instance and adopts its selections.
  static func open(_ request: DisplayRequest) throws(DisplayFailure) -> any DisplaySession {
    do {
      var options = EffectRunner.Options()
      options.replaces = request.replaces
      options.treatsErrorsAsFatal = request.endsOnXError
      options.continuity = request.continuity
      options.children = request.children
      // This very program, also where its file has been replaced since.
      options.watchdogProgram = "/proc/self/exe"
      options.say = request.say
      options.lockFolder = (try? ControlAddress(display: request.name))?.runtime
      options.onMarked = { Hardening.close() }
      options.boardKeeper = request.boardKeeper
      options.onBoardNotice = request.onBoardNotice
      options.onNotice = request.onNotice
      let display = try Display.open(request.name)
      request.onConnected()
      if !display.namesPrograms {
        request.say(
          "the X server has no X-Resource extension (version 1.2 or later), so no program can be told from another: each "
            + "gets the strictest answer that it could get; see `xpastebridge doctor`", .warning)
      }
      let runner = EffectRunner(
        display: display, policy: request.policy, options: options, onAudit: request.audit)
      try runner.start()
      return runner
    } catch {
      throw DisplayFailure(line: Label.plain("\(error)", to: 1_024))
    }
  }
}

extension EffectRunner: DisplaySession {
  var connectionDescriptor: Int32 { display.fileDescriptor }
  var namesPrograms: Bool { display.namesPrograms }
  var successor: Subject? {
    guard case .replaced(let subject) = ending else { return nil }
    return subject
  }
  var breakdown: String? {
    guard case .windowTaken(let window) = ending else { return nil }
    return "another X client destroyed our window \(window), so nothing is guarded"
  }
  var isSettled: Bool { bridge.isSettled && !presses.isStarting }
  var pressDescriptor: Int32? { presses.descriptor }
  var pressStatus: PressStatus { pointer.status }
  var status: [BridgeStatus] { bridge.status }
  var actionDescriptor: Int32? { actions?.connectionDescriptor }
  var busyDescriptor: Int32? { actions?.busyDescriptor }
  var actionStatus: ActionStatus? { actions?.status }
  func clients() -> [ClientDescription] { resolver.clients(earlier: earlier) }
  var openAsks: [OpenAsk] { bridge.openAsks }
  var noticesLeftOut: Int { bridge.noticesLeftOut }
  var isServerThere: Bool { display.isServerThere }
  func noticeNotShown(_ notice: Notice) { bridge.noticeNotShown(notice) }
  func allowOnce(_ number: UInt64?) -> OpenAsk? {
    guard !isLost else { return nil }
    let (allowed, effects) = bridge.allowOnce(number, at: .now)
    carryOut(effects)
    display.flush()
    return allowed
  }
  func close() { shutDown() }
}
