import BridgeCore
import ContentActions
@preconcurrency import Glibc
import Selection

/// Runs actions beside the daemon: each in a process of its own that shuts itself in, and gets content only once it is known
/// that no other process of the user can reach it (docs/actions.md). Nothing here waits for one.
final class ActionChildren {
  /// How much content is taken at a time between two looks at the X connection. Our choice: 1 ms.
  private static let stepBytes = 2 << 20

  typealias Result = Swift.Result<Payload, ActionFailure>

  /// A run under way.
  private final class Running {
    let run: ActionRun
    let child: pid_t
    let channel: OwnedDescriptor
    let onEnd: (Result) -> Void
    let ending: OwnedDescriptor
    /// The channel once more, to be waited for in the other direction; `nil` when all content is sent.
    var sending: OwnedDescriptor?
    var door: OwnedDescriptor?
    var endSource: EventSource?
    var doorSource: EventSource?
    var receiveSource: EventSource?
    var sendSource: EventSource?
    var timer: EventTimer?
    var isShut = false
    var hasContent = false
    /// Why we ended it.
    var failure: ActionFailure?
    var made = Payload()
    private var chunk = 0
    private var offset = 0

    init(
      _ run: ActionRun, _ child: pid_t, channel: OwnedDescriptor, door: OwnedDescriptor, ending: OwnedDescriptor,
      onEnd: @escaping (Result) -> Void
    ) {
      (self.run, self.child, self.channel, self.door) = (run, child, channel, door)
      (self.ending, self.onEnd) = (ending, onEnd)
    }

    /// SIGKILL at once: it has nothing to put away, and no other signal is sure to end it.
    func end(_ why: ActionFailure) {
      failure = failure ?? why
      Posix.killGroup(child)
    }

    /// Sends what is taken. An end of it is one for the program, too: it may want no more than it has read.
    func send() {
      guard let sending else { return }
      let payload = run.input.payload
      let isTaken = Posix.send(payload, chunk: &chunk, offset: &offset, to: sending)
      guard !isTaken || chunk == payload.chunkCount else { return }
      Posix.endSending(sending)
      sendSource = nil
      self.sending = nil
    }

    /// Takes some of what it has made. One byte more than it may make is enough to know.
    func receive() {
      let limit = min(ActionChildren.stepBytes, run.outputBytes + 1 - made.count)
      guard Posix.receive(channel, into: &made, limit: limit) != nil else {
        receiveSource = nil
        return
      }
      guard made.count > run.outputBytes else { return }
      receiveSource = nil
      end(.outputLimit)
    }

    /// Takes the rest after its end, which is no more than lay in the socket.
    func receiveRest() {
      while made.count <= run.outputBytes {
        let limit = run.outputBytes + 1 - made.count
        guard let more = Posix.receive(channel, into: &made, limit: limit), more > 0 else { return }
      }
    }
  }

  private let loop: EventLoop
  private let helper: String
  private let isClosed: @MainActor (pid_t) -> Bool
  private var waiting: [(run: ActionRun, onEnd: (Result) -> Void)] = []
  private var running: [UInt64: Running] = [:]
  private var stepping: DeferredCall?

  /// Runs actions by the program `helper`. `isClosed` says whether no other process of the user reaches a child.
  init(
    loop: EventLoop, helper: String, isClosed: @escaping @MainActor (pid_t) -> Bool = Posix.isClosed
  ) throws(SystemFailure) {
    self.loop = loop
    self.helper = helper
    self.isClosed = isClosed
    stepping = try loop.makeDeferredCall { [weak self] in self?.step() }
  }

  /// Ends what is still running; nobody hears of it any more.
  func close() {
    waiting = []
    for run in running.values {
      Posix.killGroup(run.child)
      _ = Posix.wait(run.child, waits: true)
    }
    running = [:]
  }

  /// Runs that haven't ended.
  var count: Int { waiting.count + running.count }

  /// Begins a run; `onEnd` is called once, in a later round of the loop.
  func start(_ run: ActionRun, onEnd: @escaping (Result) -> Void) {
    waiting.append((run, onEnd))
    stepping?.request()
  }

  private func step() {
    guard !waiting.isEmpty else { return }
    let next = waiting.removeFirst()
    do throws(SystemFailure) { try launch(next.run, onEnd: next.onEnd) } catch {
      next.onEnd(.failure(Self.failure(of: error)))
    }
    if !waiting.isEmpty { stepping?.request() }
  }

  private static func failure(of error: SystemFailure) -> ActionFailure {
    switch error.call {
    case "posix_spawn", "open": .noProgram
    case "memfd_create": .notClosed
    default: .failed
    }
  }

  private func launch(_ run: ActionRun, onEnd: @escaping (Result) -> Void) throws(SystemFailure) {
    let image = try Posix.closedCopy(of: helper)
    let channel = try Posix.channel()
    let door = try Posix.channel()
    let target = run.input.target.name
    let child = try Posix.spawn(
      helper,
      HelperProtocol.arguments(
        for: run.action.work, program: run.program, input: target, limits: run.action.limits),
      environment: HelperProtocol.environment(input: target), input: channel.theirs.number,
      output: channel.theirs.number, further: door.theirs.number, image: image)
    do throws(SystemFailure) {
      let begun = Running(
        run, child, channel: channel.ours, door: door.ours, ending: try Posix.pidfd(child), onEnd: onEnd)
      begun.endSource = try loop.addInput(begun.ending.number) { [weak self] in self?.ended(run.number) }
      begun.doorSource = try loop.addInput(door.ours.number) { [weak self, weak begun] in
        if let begun { self?.lookAtDoor(of: begun) }
      }
      begun.timer = try loop.makeTimer { [weak begun] in
        if let begun { begun.end(begun.hasContent ? .timeLimit : .notReady) }
      }
      begun.timer?.set(Posix.monotonicNow().advanced(byMilliseconds: run.action.limits.milliseconds))
      running[run.number] = begun
    } catch {
      Posix.killGroup(child)
      _ = Posix.wait(child, waits: true)
      throw error
    }
  }

  /// The helper says that everything is shut, and then the door closes: the work is about to begin, in the process as it is
  /// from here on. Content goes to none but that.
  private func lookAtDoor(of run: Running) {
    guard let door = run.door else { return }
    while true {
      let said: [UInt8]
      do throws(SystemFailure) { said = try Posix.read(door.number, limit: 1) } catch {
        guard error.code != EAGAIN else { return }
        said = []
      }
      guard !said.isEmpty else { break }
      run.isShut = said == [HelperProtocol.shut]
    }
    run.doorSource = nil
    run.door = nil
    // Without its word it has failed, and its exit status says why.
    guard run.isShut else { return }
    guard isClosed(run.child) else { return run.end(.notClosed) }
    do throws(SystemFailure) { try handOver(run) } catch { run.end(.failed) }
  }

  private func handOver(_ run: Running) throws(SystemFailure) {
    run.hasContent = true
    let sending = OwnedDescriptor(
      try SystemFailure.unlessMinusOne(Posix.duplicate(run.channel.number), "fcntl"))
    run.sending = sending
    run.receiveSource = try loop.addInput(run.channel.number) { [weak run] in run?.receive() }
    run.sendSource = try loop.addOutput(sending.number) { [weak run] in run?.send() }
  }

  private func ended(_ number: UInt64) {
    guard let run = running[number] else { return }
    // A quick one has ended before we have seen its door close.
    lookAtDoor(of: run)
    guard let ending = Posix.wait(run.child, waits: false) else { return }
    running[number] = nil
    run.receiveRest()
    run.onEnd(result(of: run, ending))
  }

  private func result(of run: Running, _ ending: Posix.Ending) -> Result {
    if let failure = run.failure { return .failure(failure) }
    switch ending {
    case .exited(let status):
      if let failure = HelperProtocol.failure(status: status, of: run.run.action.work) { return .failure(failure) }
    case .signalled(SIGXCPU): return .failure(.timeLimit)
    case .signalled(SIGSYS): return .failure(.otherProgram)
    case .signalled: return .failure(.failed)
    }
    guard run.hasContent else { return .failure(.failed) }
    guard run.made.count <= run.run.outputBytes else { return .failure(.outputLimit) }
    return run.made.isEmpty ? .failure(.empty) : .success(run.made)
  }
}
