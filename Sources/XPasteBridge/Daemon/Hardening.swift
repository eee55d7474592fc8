@preconcurrency import CSystemd
@preconcurrency import Glibc

/// What the process sets for itself before it holds any content.
enum Hardening {
  /// The threshold above which memory comes from the kernel in a piece of its own and goes back at once when freed. Fixed,
  /// since glibc otherwise raises it with the first big clip and keeps everything below.
  private static let mapThreshold: Int32 = 128 << 10

  /// Memory that isn't read by a debugger of the same user or dumped, files that only this user reads, writes to ended
  /// pipes as errors, and big clips given back to the kernel when they go.
  static func apply() {
    mallopt(M_MMAP_THRESHOLD, mapThreshold)
    // Fails for no value of 0 or 1.
    _ = xpb_prctl_set_dumpable(0)
    signal(SIGPIPE, SIG_IGN)
    umask(0o077)
  }

  /// Opens `/dev/null` where a standard stream was closed by the caller: else the next descriptor, for example the X
  /// connection, would be standard error and get our lines.
  static func fillStandardStreams() {
    for stream in Int32(0)...2 where fcntl(stream, F_GETFD) == -1 && errno == EBADF {
      // The lowest free number is taken, which is `stream`.
      _ = open("/dev/null", stream == 0 ? O_RDONLY : O_WRONLY)
    }
  }

  /// Gives free memory below the threshold back, after much has been moved.
  static func returnFreeMemory() { malloc_trim(0) }
}
