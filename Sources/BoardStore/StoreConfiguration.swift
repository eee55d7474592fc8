import Glibc

/// Where a store lies and where its key may come from.
public struct StoreConfiguration: Hashable, Sendable {
  /// The folder of the store's files, an absolute path; it is made when it is missing.
  public var folder: String
  /// The folder of the service manager's credentials (`$CREDENTIALS_DIRECTORY`).
  public var credentials: String?
  /// The D-Bus address of the session's bus, on which the Secret Service is asked; `nil` asks nobody.
  public var bus: String?
  /// Whether the key file's content is also kept in the user's keyring in the kernel.
  public var usesKeyring: Bool

  /// A store in `folder`, with the sources of the key that are named.
  public init(folder: String, credentials: String? = nil, bus: String? = nil, usesKeyring: Bool = false) {
    (self.folder, self.credentials, self.bus, self.usesKeyring) = (folder, credentials, bus, usesKeyring)
  }

  /// The store of the user whose environment this is: below `$XDG_STATE_HOME`, which is `~/.local/state` by default. State,
  /// not data: what was copied belongs to this machine, and the key file mustn't travel with it. `nil` when the environment
  /// names no home.
  public static func ofThisUser() -> StoreConfiguration? {
    guard let state = absolute("XDG_STATE_HOME") ?? absolute("HOME").map({ $0 + "/.local/state" }) else { return nil }
    let bus = variable("DBUS_SESSION_BUS_ADDRESS") ?? absolute("XDG_RUNTIME_DIR").map { "unix:path=\($0)/bus" }
    return StoreConfiguration(
      folder: state + "/xpastebridge", credentials: absolute("CREDENTIALS_DIRECTORY"), bus: bus, usesKeyring: true)
  }

  private static func variable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// Relative paths are to be ignored (XDG Base Directory Specification).
  private static func absolute(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
}
