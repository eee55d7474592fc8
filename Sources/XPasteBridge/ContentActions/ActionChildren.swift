import BridgeCore
import ContentActions
@preconcurrency import Glibc
import GuardedMemory
import Selection

/// Runs actions beside the daemon: each in a process of its own that shuts itself in before it sees content
/// (docs/actions.md). Nothing here waits for one.
final class ActionChildren {
  /// How much content is moved at a time between two looks at the X connection. Our choice: 1 ms.
  private static let stepBytes = 2 << 20

  typealias Result = Swift.Result<Payload, ActionFailure>

  /// A run whose content is on its way into a file in memory.
  private struct Loading {
    let run: ActionRun
    let onEnd: (Result) -> Void
    var input: OwnedDescriptor?
    var chunk = 0
    var offset = 0
  }

  /// A run under way.
  private final class Running {
    let run: ActionRun
    let child: pid_t
    let output: OwnedDescriptor
    let onEnd: (Result) -> Void
    let ending: OwnedDescriptor
    var source: EventSource?
    var timer: EventTimer?
    var isLate = false

    init(
      _ run: ActionRun, _ child: pid_t, output: OwnedDescriptor, ending: OwnedDescriptor,
      onEnd: @escaping (Result) -> Void
    ) {
      (self.run, self.child, self.output, self.ending, self.onEnd) = (run, child, output, ending, onEnd)
    }
  }

  private let loop: EventLoop
  private let helper: String
  private var loading: [Loading] = []
  private var running: [UInt64: Running] = [:]
  private var stepping: DeferredCall?

  /// Runs actions by the program `helper`.
  init(loop: EventLoop, helper: String) throws(SystemFailure) {
    self.loop = loop
    self.helper = helper
    stepping = try loop.makeDeferredCall { [weak self] in self?.step() }
  }

  /// Ends what is still running; nobody hears of it any more.
  func close() {
    loading = []
    for run in running.values {
      Posix.killGroup(run.child)
      _ = Posix.wait(run.child, waits: true)
    }
    running = [:]
  }

  /// Runs that haven't ended.
  var count: Int { loading.count + running.count }

  /// Begins a run; `onEnd` is called once, in a later round of the loop.
  func start(_ run: ActionRun, onEnd: @escaping (Result) -> Void) {
    loading.append(Loading(run: run, onEnd: onEnd))
    stepping?.request()
  }

  /// Moves some content, and starts what has all of its own.
  private func step() {
    guard var next = loading.first else { return }
    do throws(SystemFailure) {
      if try !load(&next) {
        loading[0] = next
      } else {
        loading.removeFirst()
        try launch(next)
      }
    } catch {
      if loading.first?.run.number == next.run.number { loading.removeFirst() }
      next.onEnd(.failure(error.call == "posix_spawn" ? .noProgram : .failed))
    }
    if !loading.isEmpty { stepping?.request() }
  }

  /// Whether all content is there.
  private func load(_ next: inout Loading) throws(SystemFailure) -> Bool {
    let payload = next.run.input.payload
    let input: OwnedDescriptor
    if let begun = next.input {
      input = begun
    } else {
      input = try Posix.memfd("action-input", byteCount: payload.count)
      next.input = input
    }
    let end = next.offset + Self.stepBytes
    while next.chunk < payload.chunkCount, next.offset < end {
      let offset = next.offset
      // Files in memory take all that there is room for, so that fewer bytes mean that there is none.
      let written = payload.withChunk(next.chunk) { pwrite(input.number, $0.baseAddress, $0.count, offset) }
      guard written == payload.byteCount(ofChunk: next.chunk) else {
        throw SystemFailure(call: "pwrite", code: written < 0 ? errno : ENOSPC)
      }
      next.offset += written
      next.chunk += 1
    }
    return next.chunk == payload.chunkCount
  }

  private func launch(_ next: Loading) throws(SystemFailure) {
    guard let input = next.input else { return }
    let run = next.run
    try Posix.addSeals(input, Posix.Seals.size | Posix.Seals.write)
    let output = try Posix.memfd("action-output", byteCount: 0)
    let target = run.input.target.name
    let child = try Posix.spawn(
      helper,
      HelperProtocol.arguments(
        for: run.action.work, program: run.program, input: target, limits: run.action.limits,
        outputBytes: run.outputBytes),
      environment: HelperProtocol.environment(input: target), input: input.number, output: output.number)
    do throws(SystemFailure) {
      let ending = try Posix.pidfd(child)
      let begun = Running(run, child, output: output, ending: ending, onEnd: next.onEnd)
      begun.source = try loop.addInput(ending.number) { [weak self] in self?.ended(run.number) }
      begun.timer = try loop.makeTimer { [weak begun] in
        // SIGKILL at once: it has nothing to put away, and no other signal is sure to end it.
        begun?.isLate = true
        Posix.killGroup(child)
      }
      begun.timer?.set(Posix.monotonicNow().advanced(byMilliseconds: run.action.limits.milliseconds))
      running[run.number] = begun
    } catch {
      Posix.killGroup(child)
      _ = Posix.wait(child, waits: true)
      throw error
    }
  }

  private func ended(_ number: UInt64) {
    guard let run = running[number], let ending = Posix.wait(run.child, waits: false) else { return }
    running[number] = nil
    run.onEnd(result(of: run, ending))
  }

  private func result(of run: Running, _ ending: Posix.Ending) -> Result {
    guard !run.isLate else { return .failure(.timeLimit) }
    switch ending {
    case .exited(let status):
      if let failure = HelperProtocol.failure(status: status, of: run.run.action.work) { return .failure(failure) }
    case .signalled(SIGXFSZ): return .failure(.outputLimit)
    case .signalled(SIGXCPU): return .failure(.timeLimit)
    case .signalled: return .failure(.failed)
    }
    return output(of: run)
  }

  /// What it wrote, where it lies: its only other user has ended.
  private func output(of run: Running) -> Result {
    var state = stat()
    guard fstat(run.output.number, &state) == 0, state.st_size <= run.run.outputBytes else { return .failure(.failed) }
    guard state.st_size > 0 else { return .failure(.empty) }
    do throws(SystemFailure) {
      // Sealed before it is mapped, so that its size is right for as long as it is mapped.
      try Posix.addSeals(run.output, Posix.Seals.size)
      guard let pages = GuardedPages(descriptor: run.output.number, byteCount: state.st_size, isWritable: true) else {
        throw SystemFailure(call: "mmap", code: errno)
      }
      try Posix.allocate(run.output, 0..<state.st_size)
      pages.lock()
      return .success(Payload(0..<state.st_size, of: pages))
    } catch {
      return .failure(.failed)
    }
  }
}
