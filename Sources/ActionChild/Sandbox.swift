@preconcurrency import CSeccomp
import ContentActions
@preconcurrency import Glibc

/// Shuts this process in before it touches any content, for good: nothing of it can be undone by what runs later.
enum Sandbox {
  /// Something that should have shut didn't.
  struct Failure: Error {}

  /// Open files a run may have. Our choice: programs that load plug-ins have some twenty.
  static let openFiles = 64

  /// What may be read and executed: programs and what they are made of. Nothing of anybody's home, of `/etc` only what
  /// the dynamic linker reads.
  private static let programFolders = ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt"]
  private static let programFiles = ["/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom"]

  /// Whether this process was closed to other processes of the user before it did anything. What it executes is closed in
  /// the same way, or isn't: where the kernel's settings (fs.suid_dumpable) or the user's rights leave it open, nobody sees
  /// from outside when that begins. To root nothing is closed.
  static var wasClosed: Bool { geteuid() == 0 || xpb_prctl(PR_GET_DUMPABLE, 0) != 1 }

  /// Closes this process's memory and descriptors to other processes of the user (PR_SET_DUMPABLE in prctl(2)), until it
  /// executes another program. It is closed from its first instruction on, since the daemon executes nothing that can be
  /// read; but the kernel's settings may still let core dumps be made of such a process, and this doesn't.
  static func hide() throws(Failure) {
    try require(xpb_prctl(PR_SET_DUMPABLE, 0))
    try require(xpb_prctl(PR_GET_DUMPABLE, 0) == 0 ? 0 : -1)
  }

  /// Shuts everything. `program` may be read and executed wherever it lies. The door stays open, and so does what
  /// ``ClosedProgram`` has opened.
  static func enter(_ order: HelperProtocol.Order, program: String?) throws(Failure) {
    // The daemon's end is this process's end.
    try require(xpb_prctl(PR_SET_PDEATHSIG, UInt(SIGKILL)))
    try require(xpb_prctl(PR_SET_NO_NEW_PRIVS, 1))
    try require(xpb_close_range(UInt32(HelperProtocol.door) + 1, UInt32(ClosedProgram.number) - 1))
    try require(xpb_close_range(UInt32(ClosedProgram.number) + 1, .max))
    try require(chdir("/"))
    umask(0o077)
    try limit(order)
    try restrictFiles(program: program)
    try Filter.load()
  }

  private static func limit(_ order: HelperProtocol.Order) throws(Failure) {
    // Less than any core file has. Where a program takes cores by a pipe, the kernel heeds no limit but this one; it can't be had
    // where the service manager has set a lower one (LimitCORE=0).
    let cores = Int32(RLIMIT_CORE.rawValue)
    if xpb_setrlimit(cores, 1, 1) < 0 { try require(xpb_setrlimit(cores, 0, 0)) }
    let limits: [(Int32, Int)] = [
      (Int32(RLIMIT_AS.rawValue), order.memoryBytes),
      (Int32(RLIMIT_NOFILE.rawValue), openFiles),
      // No file can be written, and the daemon counts what comes by the socket.
      (Int32(RLIMIT_FSIZE.rawValue), 0),
    ]
    for (resource, value) in limits { try require(xpb_setrlimit(resource, UInt(value), UInt(value))) }
    // SIGXCPU, which tells why, and a second later SIGKILL.
    try require(xpb_setrlimit(Int32(RLIMIT_CPU.rawValue), UInt(order.seconds), UInt(order.seconds + 1)))
  }

  // MARK: Landlock

  /// The rights of linux/landlock.h by the version of the interface that brought them.
  private enum Right {
    static let execute: UInt64 = 1
    static let readFile: UInt64 = 4
    static let readDirectory: UInt64 = 8
    static let firstVersion: UInt64 = (1 << 13) - 1
    static let refer: UInt64 = 1 << 13
    static let truncate: UInt64 = 1 << 14
    static let deviceControl: UInt64 = 1 << 15
    /// bind and connect by TCP
    static let network: UInt64 = 3
    /// abstract sockets and signals
    static let scopes: UInt64 = 3
  }

  /// Where the kernel has no Landlock the filter alone stands: it forbids every change, and what the user may read can be
  /// read. `status` says which it is.
  private static func restrictFiles(program: String?) throws(Failure) {
    let version = xpb_landlock_version()
    guard version > 0 else { return }
    var rules = xpb_landlock_ruleset()
    rules.handled_access_fs = Right.firstVersion
    if version >= 2 { rules.handled_access_fs |= Right.refer }
    if version >= 3 { rules.handled_access_fs |= Right.truncate }
    if version >= 4 { rules.handled_access_net = Right.network }
    if version >= 5 { rules.handled_access_fs |= Right.deviceControl }
    if version >= 6 { rules.scoped = Right.scopes }
    // An older kernel takes a longer structure as long as what it doesn't know is zero.
    let ruleset = xpb_landlock_create(&rules, UInt(MemoryLayout<xpb_landlock_ruleset>.size))
    try require(ruleset)
    defer { close(ruleset) }
    for path in programFolders { try allow(Right.execute | Right.readFile | Right.readDirectory, path, ruleset) }
    for path in programFiles { try allow(Right.readFile, path, ruleset) }
    if let program { try allow(Right.execute | Right.readFile, program, ruleset) }
    try require(xpb_landlock_restrict_self(ruleset))
  }

  /// What isn't there needs no rule.
  private static func allow(_ rights: UInt64, _ path: String, _ ruleset: Int32) throws(Failure) {
    // O_PATH, hidden by the Glibc module.
    let place = open(path, 0o10000000 | O_CLOEXEC)
    guard place >= 0 else { return }
    defer { close(place) }
    var rule = xpb_landlock_beneath(allowed_access: rights, parent_fd: place)
    try require(xpb_landlock_add_beneath(ruleset, &rule))
  }

  /// Tells the daemon that everything is shut: from here on content may come.
  static func tellDoor() throws(Failure) {
    var word = HelperProtocol.shut
    guard write(HelperProtocol.door, &word, 1) == 1 else { throw Failure() }
    // Whatever is executed gets it no more, which the daemon sees.
    try require(fcntl(HelperProtocol.door, F_SETFD, FD_CLOEXEC))
  }

  private static func require(_ result: Int32) throws(Failure) {
    guard result >= 0 else { throw Failure() }
  }
}
