@preconcurrency import Glibc
import Selection

/// How the user's unit stands: what its files say, and what the user's service manager makes of them.
enum UserUnit {
  private static let name = "xpastebridge.service"
  private static let targets = ["graphical-session.target", "default.target", "xsession.target"]

  /// Looks at the files and asks the service manager, which may take that long.
  static func facts(milliseconds: Int) -> DoctorFacts.Unit {
    let folders = folders()
    guard let path = folders.map({ "\($0)/\(name)" }).first(where: { Posix.lstat($0) != nil }) else { return .absent }
    let manager = UnitBus.open(milliseconds: milliseconds)
    if case .success(let manager) = manager, manager.isMasked(name) { return .masked(nil) }
    // Masked is a link to /dev/null, or an empty file, in the folder that counts (systemd.unit(5)).
    if Posix.readlink(path) == "/dev/null" || Posix.stat(path)?.size == 0 { return .masked(path) }
    for folder in folders {
      for target in targets where Posix.lstat("\(folder)/\(target).wants/\(name)") != nil {
        return .enabled(target, start(target, manager))
      }
    }
    return .disabled
  }

  private static func start(_ target: String, _ manager: Result<UnitBus, SystemFailure>) -> DoctorFacts.Start {
    switch manager {
    case .failure(let failure): .unasked(failure.reason)
    case .success(let manager): manager.isActive(target) ? .byTarget : manager.isActive(name) ? .byOther : .never
    }
  }

  /// Where units of users are looked for, in the order of systemd.unit(5).
  private static func folders() -> [String] {
    let home = Posix.environment("HOME")
    let configuration = Posix.environment("XDG_CONFIG_HOME") ?? home.map { $0 + "/.config" }
    let data = Posix.environment("XDG_DATA_HOME") ?? home.map { $0 + "/.local/share" }
    return [
      configuration.map { $0 + "/systemd/user" }, "/etc/systemd/user",
      Posix.environment("XDG_RUNTIME_DIR").map { $0 + "/systemd/user" }, "/run/systemd/user",
      data.map { $0 + "/systemd/user" }, "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
    ].compactMap(\.self)
  }

  /// Questions to the user's service manager, by its own socket: the session bus needn't be the one that it is on.
  private final class UnitBus {
    private let connection: BusConnection
    private let milliseconds: Int

    private init(_ connection: BusConnection, _ milliseconds: Int) {
      (self.connection, self.milliseconds) = (connection, milliseconds)
    }

    static func open(milliseconds: Int) -> Result<UnitBus, SystemFailure> {
      do throws(SystemFailure) {
        let runtime = Posix.environment("XDG_RUNTIME_DIR") ?? "/run/user/\(geteuid())"
        let socket = try Posix.socket()
        try Posix.connect(socket, runtime + "/systemd/private")
        let connection = try BusConnection()
        try connection.setSocket(socket)
        try connection.start()
        try connection.waitUntilReady(deadline: Posix.monotonicNow().advanced(byMilliseconds: milliseconds))
        return .success(UnitBus(connection, milliseconds))
      } catch {
        return .failure(error)
      }
    }

    func isMasked(_ unit: String) -> Bool {
      ["masked", "masked-runtime"].contains(
        answer("GetUnitFileState", of: "org.freedesktop.systemd1.Manager", at: "/org/freedesktop/systemd1", [unit]) {
          (reply) throws(SystemFailure) in try reply.readString()
        } ?? "")
    }

    func isActive(_ unit: String) -> Bool {
      // A unit's path is its name with what isn't a letter or digit escaped (sd_bus_path_encode(3)).
      let escaped = unit.utf8.map { byte in
        let isPlain = (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        let digits = String(byte, radix: 16)
        return isPlain ? String(UnicodeScalar(byte)) : "_" + (digits.count == 1 ? "0" : "") + digits
      }.joined()
      return answer(
        "Get", of: "org.freedesktop.DBus.Properties", at: "/org/freedesktop/systemd1/unit/" + escaped,
        ["org.freedesktop.systemd1.Unit", "ActiveState"]
      ) { (reply) throws(SystemFailure) in try reply.readVariantString() } == "active"
    }

    private func answer(
      _ member: String, of interface: String, at path: String, _ arguments: [String],
      _ read: (BusMessage) throws(SystemFailure) -> String
    ) -> String? {
      do throws(SystemFailure) {
        let call = try connection.makeCall(
          to: "org.freedesktop.systemd1", path: path, interface: interface, member: member)
        for argument in arguments { try call.append(argument) }
        guard case .success(let reply) = try connection.call(call, milliseconds: milliseconds) else { return nil }
        return try read(reply)
      } catch {
        return nil
      }
    }
  }
}
