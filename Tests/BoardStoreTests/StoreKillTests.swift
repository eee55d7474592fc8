import Foundation
import Testing

/// The store under `kill -9`, and on disks that are full or can't be written. The programs run by themselves, so that they
/// may be killed; `make store-kills` does it 10,000 times.
struct StoreKillTests {
  let scratch = Scratch()

  private static let trial = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()
    .appendingPathComponent("StoreTrial").path

  private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  /// In memory, since the end of a process is no end of the system: what it has written stays, however slow the disk.
  @Test func noConfirmedClipIsLost() throws {
    let memory = "/dev/shm/boards-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: memory) }
    let (status, output) = try run(Self.trial, ["kills", "200", memory])
    let last = output.split(separator: "\n").last ?? ""
    #expect(status == 0 && last.hasPrefix("200 kills, ") && last.hasSuffix(", 0 lost"), "\(output)")
    // Something was at stake.
    #expect(last.split(separator: " ").compactMap { Int($0) }.dropFirst().first ?? 0 > 200, "\(output)")
  }

  /// Runs `script` where it may mount, with the trial program as `$0` and a folder as `$1`; `nil` where that is forbidden.
  private func runMounting(_ script: String) throws -> String? {
    let unshare = "/usr/bin/unshare"
    let arguments = ["--map-root-user", "--mount"]
    guard try run(unshare, arguments + ["mount", "-t", "tmpfs", "tmpfs", scratch.path]).status == 0 else { return nil }
    return try run(unshare, arguments + ["sh", "-ec", script, Self.trial, scratch.path]).output
  }

  @Test func fullDisk() throws {
    let script = """
      mount -t tmpfs -o size=600k tmpfs "$1"
      "$0" fill "$1/store" 4000000
      "$0" fill "$1/store" 1000
      """
    guard let output = try runMounting(script) else { return }
    let lines = output.split(separator: "\n")
    #expect(lines.count == 12, "\(output)")
    let ends = lines.map { $0.prefix { $0 != "(" } }
    #expect(
      ends == [
        "opened", "done", "done", "done", "rejected", "content", "opened", "done", "done", "done", "done", "content",
      ], "\(output)")
    #expect(lines[4].contains("boards.sqlite: the disk is full; nothing was changed"), "\(output)")
  }

  @Test func readOnlyFolder() throws {
    let script = """
      mount -t tmpfs tmpfs "$1"
      "$0" fill "$1/store" 1000 >/dev/null
      mount -o remount,ro "$1"
      "$0" open "$1/store"
      "$0" open "$1/other"
      """
    guard let output = try runMounting(script) else { return }
    let lines = output.split(separator: "\n")
    #expect(lines.count == 2, "\(output)")
    for line in lines { #expect(line.contains("unavailable") && line.contains("Read-only file system"), "\(output)") }
  }
}
