import Foundation
import Glibc
import Testing

@testable import BoardStore
@testable import StoreTrial

/// Where keys come from, and how they change.
struct StoreKeyTests {
  let scratch = Scratch()

  private func credential(_ text: String, _ name: String = "xpastebridge.key") {
    let folder = scratch.path + "/credentials"
    try! FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try! Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
    scratch.configuration.credentials = folder
  }

  private let first = "the first credential, of more than 32 bytes\n"
  private let second = "the second credential, of more than 32 bytes\n"

  @Test func credentialComesFirst() {
    credential(first)
    let talk = scratch.open()
    #expect(talk.contents?.keySource == .credential)
    talk.fill("a", [1: "one"])
    #expect(talk.ask(.rekey).rejection?.description.hasPrefix("no new key: the credential") == true)
    talk.store.end()
    #expect(scratch.names == ["boards.lock", "boards.sqlite"], "no key file")
    #expect(scratch.open().text("a", 1) == "one")
    credential(second)
    #expect(scratch.open().failure == .wrongKey(path: scratch.database, .credential))
    scratch.configuration.credentials = nil
    #expect(scratch.open().failure == .keyUnavailable(.credential, "there is none named xpastebridge.key"))
  }

  @Test func shortCredential() {
    credential("short")
    let reason = "expected at least 32 bytes in xpastebridge.key, found 5"
    #expect(scratch.open().failure == .keyUnavailable(.credential, reason), "no other source behind a wrong one")
    #expect(!scratch.names.contains("boards.sqlite"))
  }

  /// The administrator gives another credential, and the former one beside it for as long as it takes.
  @Test func credentialIsChanged() {
    credential(first)
    scratch.open().fill("a", [1: "one"])
    credential(first, "xpastebridge.key.old")
    credential(second)
    do {
      let talk = scratch.open()
      #expect(talk.contents?.remarks == ["the boards are sealed anew, with the service manager's credential"])
      #expect(talk.text("a", 1) == "one")
    }
    try! FileManager.default.removeItem(atPath: scratch.path + "/credentials/xpastebridge.key.old")
    #expect(scratch.open().text("a", 1) == "one")
  }

  @Test func keyFileGivesWayToACredential() {
    scratch.open().fill("a", [1: "one"])
    credential(first)
    let talk = scratch.open()
    #expect(talk.contents?.keySource == .credential && talk.contents?.remarks.count == 1)
    #expect(talk.text("a", 1) == "one")
    #expect(!scratch.names.contains("boards.key"), "the former key is removed")
  }

  @Test func rekeying() {
    let former = Scratch()
    let talk = scratch.open()
    talk.fill("a", [1: "one", 2: String(repeating: "two", count: 1_000_000)])
    let key = scratch.bytes("boards.key")
    let sealed = scratch.names.filter { $0.hasPrefix("boards.sqlite") }
    try! FileManager.default.createDirectory(atPath: former.configuration.folder, withIntermediateDirectories: true)
    for name in sealed { former.write(scratch.bytes(name), to: name) }
    guard case .rekeyed(_, .keyFile, remarks: []) = talk.ask(.rekey) else {
      Issue.record("no new key")
      return
    }
    #expect(talk.text("a", 1) == "one")
    talk.store.end()
    #expect(scratch.bytes("boards.key") != key)
    #expect(scratch.names == ["boards.key", "boards.lock", "boards.sqlite"])
    #expect(scratch.open().text("a", 2)?.utf8.count == 3_000_000)
    let now = Set(scratch.blobs("SELECT sealed FROM part") + scratch.blobs("SELECT header FROM item"))
    let then = Set(former.blobs("SELECT sealed FROM part") + former.blobs("SELECT header FROM item"))
    #expect(now.count == then.count && now.isDisjoint(with: then), "everything is sealed anew")
    scratch.write(key, to: "boards.key")
    #expect(scratch.open().failure == .wrongKey(path: scratch.database, .keyFile), "the former key is no key any more")
  }

  /// A change of keys that was cut short before its commit, and one after it.
  @Test func rekeyingCutShort() {
    scratch.open().fill("a", [1: "one"])
    let key = scratch.bytes("boards.key")
    scratch.write([UInt8](repeating: 9, count: 32), to: "boards.key.new")
    #expect(scratch.open().text("a", 1) == "one")
    #expect(!scratch.names.contains("boards.key.new"))
    scratch.write(key, to: "boards.key.new")
    scratch.write([UInt8](repeating: 9, count: 32), to: "boards.key")
    #expect(scratch.open().text("a", 1) == "one")
    #expect(scratch.bytes("boards.key") == key && !scratch.names.contains("boards.key.new"))
  }

  @Test func rekeyingOfDamagedRowsChangesNothing() {
    scratch.open().fill("a", [1: "one", 2: "two"])
    scratch.alter("UPDATE part SET sealed=zeroblob(44) WHERE serial=1")
    let talk = scratch.open()
    #expect(talk.ask(.rekey).rejection == .damaged(path: scratch.database, "content isn't as it was written"))
    #expect(talk.text("a", 2) == "two")
    talk.store.end()
    #expect(scratch.open().text("a", 2) == "two")
  }

  /// The kernel keeps a copy, with which a lost file is written anew.
  @Test(.enabled(if: KernelKeyring.isThere)) func kernelKeyring() {
    scratch.configuration.usesKeyring = true
    defer { KernelKeyring.forget(scratch.configuration.folder) }
    scratch.open().fill("a", [1: "one"])
    let key = scratch.bytes("boards.key")
    try! FileManager.default.removeItem(atPath: scratch.file("boards.key"))
    #expect(scratch.open().text("a", 1) == "one")
    #expect(scratch.bytes("boards.key") == key, "written again")
    // A copy that has grown old.
    KernelKeyring.leave(StoreKey(), for: scratch.configuration.folder)
    #expect(scratch.open().text("a", 1) == "one")
    try! FileManager.default.removeItem(atPath: scratch.file("boards.key"))
    #expect(scratch.open().text("a", 1) == "one", "the copy was renewed")
  }

  /// A bus that takes the connection and says nothing costs 2 s on the store's own thread, then the key file serves.
  @Test func silentBus() {
    let path = scratch.path + "/bus"
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(bound == 0 && listen(socket, 5) == 0)
    scratch.configuration.bus = "unix:path=" + path
    let talk = scratch.open()
    #expect(talk.contents?.keySource == .keyFile)
    #expect(talk.contents?.remarks.first?.contains("the session bus doesn't answer; the key lies in a file") == true)
    talk.fill("a", [1: "one"])
    talk.store.end()
    // With a store that is there, nobody is asked who isn't said to have the key.
    let again = ContinuousClock().measure { #expect(scratch.open().text("a", 1) == "one") }
    #expect(again < .milliseconds(SecretService.limitMilliseconds))
  }

  @Test func placesFromTheEnvironment() {
    let names = ["XDG_STATE_HOME", "HOME", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "CREDENTIALS_DIRECTORY"]
    let former = names.map { ($0, getenv($0).map { String(cString: $0) }) }
    defer { for (name, value) in former { if let value { setenv(name, value, 1) } else { unsetenv(name) } } }
    for name in names { unsetenv(name) }
    #expect(StoreConfiguration.ofThisUser() == nil)
    setenv("HOME", "/home/alice", 1)
    setenv("XDG_STATE_HOME", "relative", 1)
    let folder = "/home/alice/.local/state/xpastebridge"
    #expect(StoreConfiguration.ofThisUser() == StoreConfiguration(folder: folder, usesKeyring: true))
    setenv("XDG_STATE_HOME", "/state", 1)
    setenv("XDG_RUNTIME_DIR", "/run/user/1", 1)
    setenv("CREDENTIALS_DIRECTORY", "/run/c", 1)
    #expect(
      StoreConfiguration.ofThisUser()
        == StoreConfiguration(
          folder: "/state/xpastebridge", credentials: "/run/c", bus: "unix:path=/run/user/1/bus", usesKeyring: true))
  }
}

extension KernelKeyring {
  /// Whether the kernel and the sandbox this runs in allow it at all.
  static var isThere: Bool {
    let key = StoreKey()
    leave(key, for: "probe")
    defer { forget("probe") }
    return self.key(for: "probe")?.isSame(as: key) == true
  }
}
