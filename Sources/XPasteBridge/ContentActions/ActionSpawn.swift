@preconcurrency import CSystemd
@preconcurrency import Glibc

/// Starting a program, and learning of its end.
extension Posix {
  /// How a process ended.
  enum Ending: Hashable {
    case exited(Int32)
    case signalled(Int32)
  }

  /// Starts `path` with `words` and exactly these variables, in a process group of its own, with `input` and `output` as
  /// standard streams and nothing else of ours: no descriptor, no blocked or ignored signal.
  ///
  /// `complaints` is its standard error; without one it has `/dev/null`. `further` becomes its descriptor 3. What is
  /// executed is `image` if there is one, under the name `path`.
  static func spawn(
    _ path: String, _ words: [String], environment: [String], input: Int32, output: Int32, complaints: Int32? = nil,
    further: Int32? = nil, image: OwnedDescriptor? = nil
  ) throws(SystemFailure) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    if let complaints {
      posix_spawn_file_actions_adddup2(&actions, complaints, 2)
    } else {
      posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    }
    // The last, since 3 may be the number of one of the others.
    if let further { posix_spawn_file_actions_adddup2(&actions, further, 3) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var arguments = ([path] + words).map { strdup($0) } + [nil]
    var variables = environment.map { strdup($0) } + [nil]
    defer { (arguments + variables).forEach { free($0) } }
    var child: pid_t = 0
    // The number counts in the child, which has the same descriptors until it executes.
    let file = image.map { "/proc/self/fd/\($0.number)" } ?? path
    let code = withExtendedLifetime(image) {
      posix_spawn(&child, file, &actions, &attributes, &arguments, &variables)
    }
    guard code == 0 else { throw SystemFailure(call: "posix_spawn", code: code) }
    return child
  }

  /// The same with a pipe from its standard output.
  static func spawnReading(
    _ path: String, _ words: [String], environment: [String], input: Int32, complaints: Int32
  ) throws(SystemFailure) -> (output: OwnedDescriptor, child: pid_t) {
    var ends: [Int32] = [-1, -1]
    try SystemFailure.unlessMinusOne(pipe(&ends), "pipe")
    let (reading, writing) = (OwnedDescriptor(ends[0]), OwnedDescriptor(ends[1]))
    for end in ends { try SystemFailure.unlessMinusOne(fcntl(end, F_SETFD, FD_CLOEXEC), "fcntl") }
    let child = try spawn(
      path, words, environment: environment, input: input, output: writing.number, complaints: complaints)
    return (reading, child)
  }

  /// The variables of this process, as `NAME=value`.
  static var allVariables: [String] {
    var variables: [String] = []
    var next = environ
    while let variable = next.pointee {
      variables.append(String(cString: variable))
      next += 1
    }
    return variables
  }

  /// A descriptor that can be read when the process has ended.
  static func pidfd(_ process: pid_t) throws(SystemFailure) -> OwnedDescriptor {
    OwnedDescriptor(try SystemFailure.unlessMinusOne(xpb_pidfd_open(process), "pidfd_open"))
  }

  /// Ends the process group of a child that hasn't been waited for.
  static func killGroup(_ leader: pid_t) { kill(-leader, SIGKILL) }

  /// Waits for a child's end; `nil` when it hasn't ended and `waits` is false.
  static func wait(_ child: pid_t, waits: Bool) -> Ending? {
    var status: Int32 = 0
    while true {
      let found = waitpid(child, &status, waits ? 0 : WNOHANG)
      if found == -1, errno == EINTR { continue }
      guard found == child else { return found == -1 ? .signalled(SIGKILL) : nil }
      let signal = status & 0x7F
      return signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
    }
  }

  /// The version of the kernel's Landlock interface; 0 without it.
  static var landlockVersion: Int { max(0, Int(xpb_landlock_version())) }

  /// The path without links, as `/proc/PID/exe` has it; `nil` when there is nothing.
  static func realpath(_ path: String) -> String? {
    guard let found = Glibc.realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }
}
