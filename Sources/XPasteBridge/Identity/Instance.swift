import Glibc
import Policy

/// Processes of this very program.
enum Instance {
  /// Whether `subject` is one that is about to take our place: it runs the file that we run, or the one at the path that
  /// ours has or had before an upgrade, as we see it, and was started to replace us.
  ///
  /// The name of a file proves nothing, and a process that forbids being inspected can't be told from another: a successor
  /// stays open to inspection until its predecessor has let go. The command line is the process's own word, and here it is
  /// this program's word; without it a window of any other command of ours could be used to end the daemon.
  static func isSuccessor(_ subject: Subject) -> Bool {
    guard case .local(let process) = subject.origin, isSameFile(subject) else { return false }
    let words = ProcessFile.words(AT_FDCWD, "/proc/\(process.id)/cmdline")
    guard ProcessFile.startTime(ofProcess: process.id) == process.startTime else { return false }
    return words.contains("run") && words.contains("--replace")
  }

  /// Whether `subject` seems to be one at work, which is enough for a second start to leave it alone. A guarding instance
  /// forbids being inspected, so it is known by the name that it was started under and by being closed to us as it should
  /// be. A program that borrows both could as well start this one.
  static func isLikely(_ subject: Subject) -> Bool {
    guard case .local(let process) = subject.origin else { return false }
    if subject.executable != nil { return isSameFile(subject) }
    guard let mine = ProcessRecord(getpid())?.executable?.value.split(separator: "/").last else { return false }
    return ProcessFile.name(of: process.id) == mine.prefix(15)
  }

  private static func isSameFile(_ subject: Subject) -> Bool {
    guard case .local(let process) = subject.origin, let executable = subject.executable,
      executable.evidence == .attested
    else { return false }
    if let mine = ProcessRecord(getpid())?.executable, mine == executable { return true }
    var ours = stat()
    var theirs = stat()
    return stat("/proc/self/exe", &ours) == 0 && stat("/proc/\(process.id)/exe", &theirs) == 0
      && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino
  }
}
