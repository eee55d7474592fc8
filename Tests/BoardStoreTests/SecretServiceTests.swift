import Foundation
import Glibc
import Testing

@testable import BoardStore
@testable import StoreTrial

/// The conversation with a real Secret Service, GNOME's, on a bus of its own.
@Suite(
  .serialized,
  .enabled(
    if: ["dbus-daemon", "gnome-keyring-daemon"].allSatisfy {
      FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
    }))
struct SecretServiceTests {
  /// A bus and its keyring, which end with the test.
  final class Session {
    let folder: String
    var address: String { "unix:path=\(folder)/bus" }
    private var bus: Process?
    private var keyring: Process?

    init(_ folder: String) {
      self.folder = folder
      // Without services of its own: the bus would start a second keyring.
      let configuration = """
        <busconfig><type>session</type><listen>\(address)</listen><policy context="default"><allow send_destination="*"/>
        <allow eavesdrop="true"/><allow own="*"/><allow user="*"/></policy></busconfig>
        """
      try! Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/bus.conf"))
      bus = run("/usr/bin/dbus-daemon", ["--nofork", "--nopidfile", "--config-file=\(folder)/bus.conf"])
      wait { FileManager.default.fileExists(atPath: folder + "/bus") }
    }

    deinit {
      lock()
      end(bus)
    }

    /// Starts the keyring; with a password its collection is there and open, without it is as it was left, locked.
    func start(password: String?) {
      let arguments = ["--foreground", "--components=secrets"] + (password == nil ? [] : ["--unlock"])
      // The collection comes a moment after the service. A keyring so busy that we went before its answer has ended of it.
      wait {
        if keyring?.isRunning != true { keyring = run("/usr/bin/gnome-keyring-daemon", arguments, input: password) }
        return (try? SecretService(address: self.address).defaultCollection()) != nil
      }
    }

    func lock() {
      end(keyring)
      keyring = nil
    }

    private func end(_ process: Process?) {
      guard let process else { return }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }

    /// Its input is a file: a child of another test that runs beside could hold the other end of a pipe open, and the
    /// keyring reads its password to the end.
    private func run(_ program: String, _ arguments: [String], input: String? = nil) -> Process {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      process.environment = [
        "HOME": folder, "XDG_DATA_HOME": folder + "/data", "XDG_RUNTIME_DIR": folder, "PATH": "/usr/bin:/bin",
        "DBUS_SESSION_BUS_ADDRESS": address,
      ]
      let file = URL(fileURLWithPath: folder + "/input")
      try! Data((input ?? "").utf8).write(to: file)
      process.standardInput = try! FileHandle(forReadingFrom: file)
      let log = open(folder + "/log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      process.standardOutput = FileHandle(fileDescriptor: log)
      process.standardError = FileHandle(fileDescriptor: log, closeOnDealloc: true)
      try! process.run()
      return process
    }

    private func wait(_ condition: () -> Bool) {
      for _ in 0..<1_200 where !condition() { usleep(50_000) }
      if !condition() {
        let said = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
        Issue.record("the session didn't start within 60 s: \(said)")
      }
    }
  }

  let scratch = Scratch()
  let session: Session

  init() {
    session = Session(scratch.path)
    scratch.configuration.bus = session.address
  }

  @Test func keyOfTheSession() {
    session.start(password: "open")
    do {
      let talk = scratch.open()
      #expect(talk.contents == StoreContents(boards: [], keySource: .secretService, remarks: []))
      talk.fill("a", [1: "one"])
    }
    #expect(!scratch.names.contains("boards.key"))
    do {
      let talk = scratch.open()
      #expect(talk.text("a", 1) == "one")
      guard case .rekeyed(_, .secretService, remarks: []) = talk.ask(.rekey) else {
        Issue.record("no new key")
        return
      }
      #expect(talk.text("a", 1) == "one")
    }
    #expect(scratch.open().text("a", 1) == "one")
    let number = [UInt8](scratch.blobs("SELECT number FROM store")[0])
    #expect((try? SecretService(address: session.address).keys(of: number))?.count == 1, "the former key is removed")
    // Locked: the boards aren't there, and nothing is asked, made or changed.
    session.lock()
    session.start(password: nil)
    #expect(scratch.open().failure?.description.hasSuffix(" is locked") == true)
    session.lock()
    guard case .keyUnavailable(.secretService, let why)? = scratch.open().failure else {
      Issue.record("opened without its key")
      return
    }
    #expect(why == "there is no Secret Service on the session bus")
    session.start(password: "open")
    #expect(scratch.open().text("a", 1) == "one")
  }

  @Test func lockedFromTheStart() {
    session.start(password: "open")
    session.lock()
    session.start(password: nil)
    let talk = scratch.open()
    #expect(talk.contents?.keySource == .keyFile)
    #expect(talk.contents?.remarks.first?.contains("the default collection is locked") == true)
    talk.fill("a", [1: "one"])
    // Open later: the key moves there when that is asked for, and the file goes.
    session.lock()
    session.start(password: "open")
    guard case .rekeyed(_, .secretService, remarks: []) = talk.ask(.rekey) else {
      Issue.record("no new key")
      return
    }
    talk.store.end()
    #expect(!scratch.names.contains("boards.key"))
    #expect(scratch.open().text("a", 1) == "one")
  }

  @Test func noService() {
    let talk = scratch.open()
    #expect(talk.contents?.keySource == .keyFile)
    #expect(talk.contents?.remarks.first?.contains("there is no Secret Service on the session bus") == true)
  }
}
