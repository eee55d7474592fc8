@preconcurrency import CSeccomp
@preconcurrency import Glibc

/// Which system calls a run may not make (seccomp). A list of what is forbidden and not of what is allowed: any program can
/// be an action's, and what reads, computes and writes its result needs nothing of this.
enum Filter {
  /// Connections of every kind, io_uring among them: it opens sockets past a filter. On the one socket that is there,
  /// nothing but bytes may go.
  private static let network = [
    "socket", "socketpair", "bind", "listen", "connect", "accept", "accept4", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "sendmsg", "sendmmsg", "setsockopt",
  ]
  /// What other processes could be reached by: their memory, common memory, queues, keys.
  private static let others = [
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_open",
    "pidfd_getfd", "pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "kcmp", "shmget", "shmat",
    "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "mq_open",
    "mq_unlink", "add_key", "request_key", "keyctl", "setpriority", "sched_setaffinity", "sched_setattr",
    "sched_setparam", "sched_setscheduler", "ioprio_set", "migrate_pages", "move_pages",
  ]
  /// Memory that no limit counts: it belongs to descriptors.
  private static let memory = ["memfd_create", "memfd_secret"]
  /// A process more: one is ended and bounded for sure, and the memory limit counts for one. Threads are free.
  private static let processes = ["fork", "vfork", "setsid", "setpgid"]
  /// Changes to any file, and what is told of files beside their content: Landlock bounds none of the latter. A lock or a
  /// watch would be seen, or felt, by other programs.
  private static let files = [
    "creat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat",
    "symlink", "symlinkat", "mknod", "mknodat", "truncate", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown",
    "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr",
    "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "getxattr", "lgetxattr", "fgetxattr",
    "getxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat", "file_getattr", "file_setattr",
    "name_to_handle_at", "open_by_handle_at", "flock", "inotify_init", "inotify_init1", "inotify_add_watch",
    "inotify_rm_watch", "fanotify_init", "fanotify_mark",
  ]
  /// The system itself, and large parts of the kernel that nothing here needs.
  private static let system = [
    "mount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "pivot_root", "chroot", "unshare", "setns", "bpf", "perf_event_open", "userfaultfd", "init_module",
    "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct",
    "quotactl", "quotactl_fd", "syslog", "personality", "modify_ldt", "iopl", "ioperm", "vhangup", "clock_settime",
    "clock_adjtime", "settimeofday", "adjtimex", "sethostname", "setdomainname", "setuid", "setgid", "setreuid",
    "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups", "capset",
    "lookup_dcookie",
  ]

  /// Flags with which a file is opened for more than reading.
  private static let writing = [O_WRONLY, O_RDWR, O_CREAT, O_TRUNC]
  private static let cloneThread: UInt64 = 0x10000
  /// Calls that a library older than the kernel doesn't know by name. The same numbers on every architecture.
  private static let numbers: [String: Int32] = [
    "memfd_secret": 447, "fchmodat2": 452, "setxattrat": 463, "getxattrat": 464, "listxattrat": 465,
    "removexattrat": 466, "file_getattr": 468, "file_setattr": 469,
  ]
  /// Commands of fcntl by which the kernel sends signals for a descriptor, to whomever it is told: where Landlock is
  /// missing or old, nothing else stands before that. The other ones hold up who writes to a file.
  private static let descriptorCommands: [Int32] = [
    F_SETOWN, xpb_f_setown_ex, xpb_f_setsig, xpb_f_notify, xpb_f_setlease, F_SETLK, F_SETLKW, xpb_f_ofd_setlk,
    xpb_f_ofd_setlkw,
  ]
  /// What changes a file by a descriptor that is open for reading alone.
  private static let fileCommands: [UInt32] = [
    xpb_fs_ioc_setflags, xpb_fs_ioc32_setflags, xpb_fs_ioc_fssetxattr, xpb_fs_ioc_enable_verity,
  ]

  /// Builds the filter and puts it in force. Calls by another architecture's numbers end the process.
  static func load() throws(Sandbox.Failure) {
    guard let context = seccomp_init(xpb_seccomp_allow()) else { throw Sandbox.Failure() }
    defer { seccomp_release(context) }
    for name in network + others + memory + processes + files + system { try forbid(name, in: context) }
    // These carry their flags in memory, where no filter looks; programs fall back to the older calls.
    for name in ["clone3", "openat2"] { try forbid(name, code: ENOSYS, in: context) }
    try forbid("clone", where: masked(0, cloneThread, equals: 0), in: context)
    for flag in writing {
      try forbid("open", where: masked(1, UInt64(flag), equals: UInt64(flag)), in: context)
      try forbid("openat", where: masked(2, UInt64(flag), equals: UInt64(flag)), in: context)
    }
    for command in descriptorCommands {
      for name in ["fcntl", "fcntl64"] { try forbid(name, where: word(1, equals: UInt32(command)), in: context) }
    }
    for command in fileCommands { try forbid("ioctl", where: word(1, equals: command), in: context) }
    // What is asked of any socket: whom to send signals to, and the machine's addresses (linux/sockios.h, 0x8900 to 0x8BFF).
    try forbid("ioctl", where: masked(1, 0xFFFF_FC00, equals: 0x8800), in: context)
    // It ends with the daemon, whether it wants to or not, and stays closed to other processes.
    for option in [PR_SET_PDEATHSIG, PR_SET_DUMPABLE] {
      try forbid("prctl", where: word(0, equals: UInt32(option)), in: context)
    }
    // The one program that was opened may be executed, once: its descriptor's number is beyond what this process may
    // have, so nothing else ever gets it. Any other would be as open to other processes as its file is. It ends here,
    // so that the reason can be told.
    let kill = xpb_seccomp_kill()
    try add(kill, "execve", in: context)
    try add(kill, "execveat", where: differs(0, from: UInt64(ClosedProgram.number)), in: context)
    try add(kill, "execveat", where: differs(4, from: UInt64(xpb_at_empty_path)), in: context)
    // A program may end itself, and set its own limits lower.
    let own = UInt64(getpid())
    for name in ["kill", "tgkill"] { try forbid(name, where: differs(0, from: own), in: context) }
    try forbid("prlimit64", where: differs(0, from: 0), in: context)
    guard seccomp_load(context) == 0 else { throw Sandbox.Failure() }
  }

  private static func masked(_ argument: UInt32, _ mask: UInt64, equals value: UInt64) -> scmp_arg_cmp {
    scmp_arg_cmp(arg: argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value)
  }

  /// The kernel looks at the lower half of such an argument alone; the upper one may hold anything.
  private static func word(_ argument: UInt32, equals value: UInt32) -> scmp_arg_cmp {
    masked(argument, 0xFFFF_FFFF, equals: UInt64(value))
  }

  private static func differs(_ argument: UInt32, from value: UInt64) -> scmp_arg_cmp {
    scmp_arg_cmp(arg: argument, op: SCMP_CMP_NE, datum_a: value, datum_b: 0)
  }

  private static func forbid(
    _ name: String, where comparison: scmp_arg_cmp? = nil, code: Int32 = EPERM, in context: scmp_filter_ctx
  ) throws(Sandbox.Failure) {
    try add(xpb_seccomp_errno(UInt32(code)), name, where: comparison, in: context)
  }

  /// A name that this architecture or library doesn't know is no call that could be made by it.
  private static func add(
    _ action: UInt32, _ name: String, where comparison: scmp_arg_cmp? = nil, in context: scmp_filter_ctx
  ) throws(Sandbox.Failure) {
    var number = seccomp_syscall_resolve_name(name)
    // __NR_SCMP_ERROR
    if number == -1, let known = numbers[name] { number = known }
    guard number != -1 else { return }
    var comparisons = comparison.map { [$0] } ?? []
    let result = seccomp_rule_add_array(context, action, number, UInt32(comparisons.count), &comparisons)
    // Calls that the architecture doesn't have are refused by name (EDOM) or turned into pseudo numbers and ignored.
    guard result == 0 || result == -EDOM else { throw Sandbox.Failure() }
  }
}
