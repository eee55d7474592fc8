@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

/// Other processes of ours, and waiting for several descriptors at once.
extension Posix {
  /// Two connected stream sockets.
  static func socketPair() throws(SystemFailure) -> (OwnedDescriptor, OwnedDescriptor) {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    try SystemFailure.unlessMinusOne(socketpair(AF_UNIX, type, 0, &ends), "socketpair")
    return (OwnedDescriptor(ends[0]), OwnedDescriptor(ends[1]))
  }

  /// Starts `program` with `arguments`, the first of which is its own name, in a session of its own, without environment.
  /// It gets `descriptors` as 3, 4 and so on, and the three standard streams.
  static func spawn(
    _ program: String, _ arguments: [String], descriptors: [Int32]
  ) throws(SystemFailure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    // POSIX_SPAWN_SETSID: what a terminal sends to its foreground, Ctrl+Z above all, isn't meant for it.
    posix_spawnattr_setflags(&attributes, 0x80)
    // Out of the way of the numbers that they get.
    var copies: [OwnedDescriptor] = []
    for descriptor in descriptors {
      copies.append(
        OwnedDescriptor(
          try SystemFailure.unlessMinusOne(fcntl(descriptor, F_DUPFD_CLOEXEC, 3 + Int32(descriptors.count)), "fcntl")))
    }
    for (index, copy) in copies.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, copy.number, 3 + Int32(index))
    }
    var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    var process: pid_t = 0
    // The copies are closed when they are released, which the last use of their numbers alone would allow.
    let code = withExtendedLifetime(copies) {
      posix_spawn(&process, program, &actions, &attributes, &words, &environment)
    }
    guard code == 0 else { throw SystemFailure(call: "posix_spawn", code: code) }
    return process
  }

  /// Ends a child of ours, whatever it does.
  static func end(_ process: pid_t) {
    kill(process, SIGKILL)
    // Nobody else waits for it, so this ends with its end.
    _ = wait(process, waits: true)
  }

  /// A set of descriptors to wait for, itself one that can be waited for.
  static func epollCreate() throws(SystemFailure) -> OwnedDescriptor {
    OwnedDescriptor(try SystemFailure.unlessMinusOne(epoll_create1(Int32(EPOLL_CLOEXEC)), "epoll_create1"))
  }

  /// Waits for what comes to `descriptor`, too; with `once` each arrival is told of once, whether it is read or not.
  static func epollAdd(_ set: OwnedDescriptor, _ descriptor: Int32, once: Bool = false) throws(SystemFailure) {
    var event = epoll_event()
    event.events = EPOLLIN.rawValue | (once ? EPOLLET.rawValue : 0)
    event.data.fd = descriptor
    try SystemFailure.unlessMinusOne(epoll_ctl(set.number, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl")
  }

  /// Waits no longer for `descriptor`: closing it isn't enough while another process has it.
  static func epollRemove(_ set: OwnedDescriptor, _ descriptor: Int32) {
    // Fails only for one that isn't in the set.
    epoll_ctl(set.number, EPOLL_CTL_DEL, descriptor, nil)
  }

  /// Those with something to read, or at their end, once there are any or at `deadline`; `nil` waits for ever.
  static func epollWait(_ set: OwnedDescriptor, until deadline: MonotonicTime?) -> [Int32] {
    var events = [epoll_event](repeating: epoll_event(), count: 4)
    var milliseconds: Int32 = -1
    if let deadline {
      let now = monotonicNow().nanoseconds
      milliseconds = Int32(clamping: (max(deadline.nanoseconds, now) - now + 999_999) / 1_000_000)
    }
    let count = epoll_wait(set.number, &events, Int32(events.count), milliseconds)
    return events.prefix(max(0, Int(count))).map(\.data.fd)
  }
}
