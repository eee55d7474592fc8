import Foundation
import Glibc
import Testing

@testable import Policy
@testable import PolicyFile

@Suite final class DirectoryTests {
  let root: String

  init() throws {
    root = NSTemporaryDirectory() + "policy-files-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  @discardableResult func write(_ path: String, _ text: String) throws -> String {
    let whole = root + "/" + path
    let folder = (whole as NSString).deletingLastPathComponent
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try text.write(toFile: whole, atomically: false, encoding: .utf8)
    return whole
  }

  var directories: PolicyDirectories {
    PolicyDirectories(vendor: root + "/vendor", managed: root + "/etc", user: root + "/user")
  }

  func named(_ name: String) -> String {
    "version: 1\nrules: [{name: \(name), from: {exe: /\(name)}, decision: deny}]\n"
  }

  @Test func noFoldersAllowEverything() throws {
    let (files, result) = directories.load()
    #expect(try result.get().policy.isEmpty)
    #expect(files.errors == [] && files.watchedFiles == [])
    #expect(files.watchedDirectories == [root + "/vendor", root + "/etc", root + "/user"])
  }

  /// Other readers of YAML take this name, so somebody may believe that it is in force.
  @Test func anotherEndOfTheNameIsSaid() throws {
    try write("etc/10-ledger.yml", named("ledger"))
    try write("etc/.hidden.yml", "[")
    let loaded = try directories.load().result.get()
    #expect(loaded.policy.isEmpty)
    #expect(
      loaded.warnings.map(\.description) == [
        "\(root)/etc/10-ledger.yml:1:1: expected a name that ends in `.yaml` or `.json`, found `10-ledger.yml`, which isn't "
          + "read; rename it to `10-ledger.yaml`"
      ])
  }

  @Test func managedFilesThatOthersCanChangeAreSaid() throws {
    let file = try write("etc/10.yaml", named("a"))
    for path in [file, root + "/etc"] {
      try #require(chmod(path, 0o777) == 0)
      let said = directories.warningsOfChange(directories.read().managed)
      #expect(said.contains { $0.kind == .openToChange && $0.position.file.hasSuffix(path) }, "\(path)")
      try #require(chmod(path, 0o755) == 0)
    }
    try write("user/10.yaml", named("b"))
    try #require(chmod(root + "/user/10.yaml", 0o666) == 0)
    let said = directories.warningsOfChange(directories.read().managed)
    #expect(!said.contains { $0.position.file.contains("/user/") })
  }

  @Test func orderReplacementAndMask() throws {
    try write("vendor/10.yaml", named("vendor10"))
    try write("vendor/20.yaml", named("vendor20"))
    try write("vendor/30.yaml", named("vendor30"))
    try write("etc/20.yaml", named("etc20"))
    try write("etc/30.yaml", "")
    try write("etc/B.json", #"{"version": 1, "rules": [{"name": "B", "from": {"exe": "/B"}, "decision": "deny"}]}"#)
    try write("etc/a.yaml", named("a"))
    try write("etc/.hidden.yaml", "[")
    try write("etc/notes.txt", "[")
    try write("etc/50.yaml~", "[")
    try write("user/10.yaml", named("user10"))
    let (files, result) = directories.load()
    let policy = try result.get().policy
    #expect(policy.managed.rules.map(\.reference.name) == ["vendor10", "etc20", "B", "a"])
    #expect(policy.user.rules.map(\.reference.name) == ["user10"])
    #expect(
      files.managed.map(\.path)
        == ["vendor/10.yaml", "etc/20.yaml", "etc/B.json", "etc/a.yaml"].map { root + "/" + $0 })
    #expect(files.watchedFiles.contains(root + "/etc/30.yaml"), "a mask may get content again")
  }

  /// A file emptied before it is written anew is an error, not a policy without rules (B195); only a mask may be empty.
  @Test func emptyFilesAreErrors() throws {
    try write("etc/10.yaml", "")
    try write("user/10.yaml", "")
    guard case .failure(let found) = directories.load().result else {
      Issue.record("an empty file was taken")
      return
    }
    #expect(found.errors.map(\.kind) == [.emptyFile, .emptyFile])
  }

  @Test func whatCannotBeReadIsAnError() throws {
    try write("etc/10.yaml", named("a"))
    try FileManager.default.createSymbolicLink(atPath: root + "/etc/20.yaml", withDestinationPath: "/nowhere/at/all")
    try FileManager.default.createDirectory(atPath: root + "/etc/30.yaml", withIntermediateDirectories: true)
    #expect(mkfifo(root + "/etc/40.yaml", 0o600) == 0)
    try FileManager.default.createSymbolicLink(atPath: root + "/etc/50.yaml", withDestinationPath: "50.yaml")
    try write("user", "a file where a folder is meant")
    let (files, result) = directories.load()
    guard case .failure(let found) = result else {
      Issue.record("unreadable files were passed over")
      return
    }
    #expect(
      found.errors.map { $0.description.replacingOccurrences(of: root, with: "") } == [
        "/etc/20.yaml:1:1: expected a file that can be read, found: no such file or directory",
        "/etc/30.yaml:1:1: expected a regular file, found something else",
        "/etc/40.yaml:1:1: expected a regular file, found something else",
        "/etc/50.yaml:1:1: expected a file that can be read, found: too many levels of symbolic links",
        "/user:1:1: expected a folder that can be read, found: not a directory",
      ])
    #expect(files.watchedFiles.count == 5)
  }

  @Test func linksToFilesAndFoldersAreFollowed() throws {
    try write("real/policy/10.yaml", named("linked"))
    try FileManager.default.createSymbolicLink(atPath: root + "/etc", withDestinationPath: root + "/real/policy")
    #expect(try directories.load().result.get().policy.managed.rules.count == 1)
    try FileManager.default.createSymbolicLink(atPath: root + "/user", withDestinationPath: root + "/nowhere")
    guard case .failure(let found) = directories.load().result else {
      Issue.record("a link to nothing was taken for nothing")
      return
    }
    #expect(found.errors.map(\.kind) == [.unreadable])
  }

  @Test(.disabled(if: geteuid() == 0, "root may read everything")) func refusedByPermissions() throws {
    let path = try write("etc/10.yaml", named("a"))
    chmod(path, 0)
    guard case .failure(let found) = directories.load().result else {
      Issue.record("a file without permission was passed over")
      return
    }
    #expect(found.errors.map(\.kind) == [.unreadable])
  }

  @Test func explicitPathsReplaceTheFolders() throws {
    let file = try write("anything.conf", named("one"))
    try write("folder/20.yaml", named("three"))
    try write("folder/10.yaml", named("two"))
    let (files, result) = PolicyDirectories(explicit: [file, root + "/folder"]).load()
    #expect(try result.get().policy.managed.rules.map(\.reference.name) == ["one", "two", "three"])
    #expect(files.watchedDirectories == [root + "/folder"])
    guard case .failure(let found) = PolicyDirectories(explicit: [root + "/absent.yaml"]).load().result else {
      Issue.record("a path that was asked for may be missing")
      return
    }
    #expect(found.errors.map(\.kind) == [.unreadable])
  }

  @Test func aNamedFolderWithoutPolicyFilesIsAnError() throws {
    try write("folder/README.txt", "not a policy")
    guard case .failure(let found) = PolicyDirectories(explicit: [root + "/folder"]).load().result else {
      Issue.record("a folder that was asked for may be without files, which allows everything")
      return
    }
    #expect(found.errors.map(\.kind) == [.unreadable])
  }

  @Test func tooLargeAFile() throws {
    try write("etc/10.yaml", String(repeating: "#", count: DocumentLimits.bytes + 10))
    guard case .failure(let found) = directories.load().result else {
      Issue.record("too large a file was taken")
      return
    }
    #expect(found.errors.map(\.kind) == [.tooLarge])
  }

  /// A writer that never rests while we read: what is half old and half new must not be taken.
  @Test func changesWhileReading() throws {
    let path = try write("etc/10.yaml", "version: 1\n" + String(repeating: "# comment\n", count: 300_000))
    let writer = Thread {
      let descriptor = open(path, O_WRONLY | O_APPEND)
      while !Thread.current.isCancelled { _ = Glibc.write(descriptor, "#\n", 2) }
      close(descriptor)
    }
    writer.start()
    defer { writer.cancel() }
    var kinds: Set<Diagnostic.Kind> = []
    for _ in 0..<20 { kinds.formUnion(directories.read().errors.map(\.kind)) }
    #expect(kinds == [.changedWhileRead])
  }

  @Test func placesOfAnInstalledSystem() {
    let both = PolicyDirectories(environment: ["XDG_CONFIG_HOME": "/cfg", "HOME": "/home/a"])
    #expect(both.vendor == "/usr/share/xpastebridge/policy.d" && both.managed == "/etc/xpastebridge/policy.d")
    #expect(both.user == "/cfg/xpastebridge/policy.d")
    #expect(PolicyDirectories(environment: ["HOME": "/home/a"]).user == "/home/a/.config/xpastebridge/policy.d")
    #expect(
      PolicyDirectories(environment: ["XDG_CONFIG_HOME": "rel", "HOME": "/h"]).user
        == "/h/.config/xpastebridge/policy.d")
    #expect(PolicyDirectories(environment: [:]).user == nil)
  }
}
