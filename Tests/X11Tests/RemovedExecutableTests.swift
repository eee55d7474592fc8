import Foundation
import Policy
import Testing

@testable import XPasteBridge

/// Programs whose file was removed while they run.
@Suite(.serialized) struct RemovedExecutableTests {
  /// A file at an allowed path of somebody's own mount name space, opened from outside, removed, and executed by its
  /// descriptor outside: the path that the kernel shows leads nowhere that we see.
  @Test func deletedExecutableOfAnotherMountSpace() throws {
    let program = Process()
    program.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    program.arguments = [
      "-c",
      """
      import os, subprocess
      child = subprocess.Popen(
          ["unshare", "-Urm", "sh", "-c", "mount -t tmpfs t /srv && cp /bin/sleep /srv/allowed && echo && exec sleep 60"],
          stdout=subprocess.PIPE)
      child.stdout.read(1)
      path = "/proc/%d/root/srv/allowed" % child.pid
      file = os.open(path, os.O_RDONLY)
      os.unlink(path)
      os.execve(file, ["allowed", "60"], os.environ)
      """,
    ]
    try program.run()
    defer { kill(program.processIdentifier, SIGKILL) }
    let record = try #require(ProcessRecord(program.processIdentifier))
    _ = try waitFor("exec") { record.refresh() && record.executable?.value == "/srv/allowed" ? true : nil }
    #expect(record.executable == Fact("/srv/allowed", .declared))
    #expect(ProcessRecord(program.processIdentifier)?.executable == Fact("/srv/allowed", .declared))
  }

  /// Without ever having been seen before its file was removed, as after an upgrade.
  @Test func deletedExecutableMetForTheFirstTime() throws {
    let path = NSTemporaryDirectory() + "xpb-old-\(getpid())"
    try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: path)
    let program = Process()
    program.executableURL = URL(fileURLWithPath: path)
    program.arguments = ["60"]
    try program.run()
    defer { kill(program.processIdentifier, SIGKILL) }
    unlink(path)
    #expect(ProcessRecord(program.processIdentifier)?.executable == Fact(path, .attested))
  }
}
