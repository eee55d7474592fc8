@preconcurrency import CSystemd
@preconcurrency import Glibc

/// Threads beside the loop's, which end with what they were started for.
nonisolated enum DetachedThread {
  /// What a thread does.
  private final class Work: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
  }

  /// Runs `body` on a thread of this name (at most 15 bytes). Signals stay with the loop's.
  static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemFailure) {
    var all = sigset_t()
    var former = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    var thread = pthread_t()
    let pointer = Unmanaged.passRetained(Work(name, body))
    let code = pthread_create(
      &thread, nil,
      { pointer in
        guard let pointer else { return nil }
        let work = Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue()
        pthread_setname_np(pthread_self(), work.name)
        work.body()
        return nil
      }, pointer.toOpaque())
    guard code == 0 else {
      pointer.release()
      throw SystemFailure(call: "pthread_create", code: code)
    }
    pthread_detach(thread)
  }
}
