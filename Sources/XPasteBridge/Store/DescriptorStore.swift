@preconcurrency import CSystemd
@preconcurrency import Glibc

/// The service manager's descriptor store (sd_notify(3), `FDSTORE=1`): what is handed over there comes back at the next
/// start of the service, however this process ends, and is closed when the service is stopped for good.
enum DescriptorStore {
  /// Whether a service manager has started us. Whether its unit allows any descriptors (`FileDescriptorStoreMax=`) can't
  /// be asked of systemd 252.
  static var isThere: Bool { Posix.environment("NOTIFY_SOCKET") != nil }

  /// What the service manager has kept from the run before, by name; what is taken is closed by its last user.
  static func inherited() -> [(name: String, descriptor: OwnedDescriptor)] {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = sd_listen_fds_with_names(1, &names)
    guard count > 0 else { return [] }
    // The list has `count` names and belongs to us, and so does each name.
    defer { free(names) }
    return (0..<Int(count)).map { index in
      let name = names?[index]
      defer { free(name) }
      // SD_LISTEN_FDS_START
      return (name.map { String(cString: $0) } ?? "", OwnedDescriptor(3 + Int32(index)))
    }
  }

  /// Hands `descriptor` over under `name`.
  static func keep(_ descriptor: OwnedDescriptor, as name: String) throws(SystemFailure) {
    var number = descriptor.number
    let result = sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=\(name)", &number, 1)
    try SystemFailure.unlessNegative(result, "sd_pid_notify_with_fds")
  }

  /// Has what is kept under `name` closed.
  static func drop(_ name: String) { ServiceNotice.send("FDSTOREREMOVE=1\nFDNAME=\(name)") }
}

/// Memory that can be handed over by a descriptor.
extension Posix {
  /// F_ADD_SEALS and its seals (fcntl(2)); the Glibc module hides them behind _GNU_SOURCE.
  enum Seals {
    static let add: Int32 = 1_033
    static let get: Int32 = 1_034
    /// F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW
    static let size: Int32 = 1 | 2 | 4
    /// F_SEAL_WRITE
    static let write: Int32 = 8
    /// F_SEAL_FUTURE_WRITE: nobody can write any more, but by mappings made before.
    static let futureWrite: Int32 = 16
    /// The size's and F_SEAL_WRITE: nobody can change anything any more, nor map it to do so.
    static let content: Int32 = size | 8
  }

  /// An empty file in memory, of `byteCount` zeros, whose name is for /proc alone. It can't be opened by that way either:
  /// all permission is taken away, which its descriptors don't need.
  static func memfd(_ name: String, byteCount: Int) throws(SystemFailure) -> OwnedDescriptor {
    // MFD_CLOEXEC, MFD_ALLOW_SEALING
    let made = OwnedDescriptor(try SystemFailure.unlessMinusOne(memfd_create(name, 1 | 2), "memfd_create"))
    try SystemFailure.unlessMinusOne(fchmod(made.number, 0), "fchmod")
    try SystemFailure.unlessMinusOne(ftruncate(made.number, byteCount), "ftruncate")
    return made
  }

  static func addSeals(_ descriptor: OwnedDescriptor, _ seals: Int32) throws(SystemFailure) {
    try SystemFailure.unlessMinusOne(fcntl(descriptor.number, Seals.add, seals), "fcntl")
  }

  /// The size of a file in memory that has at least `seals`; `nil` for anything else.
  static func sealedByteCount(_ descriptor: OwnedDescriptor, _ seals: Int32) -> Int? {
    let found = fcntl(descriptor.number, Seals.get)
    var state = Glibc.stat()
    guard found >= 0, found & seals == seals, fstat(descriptor.number, &state) == 0 else { return nil }
    return Int(state.st_size)
  }

  /// Has the kernel set memory aside for `range`, so that touching it can't end the process.
  static func allocate(_ descriptor: OwnedDescriptor, _ range: Range<Int>) throws(SystemFailure) {
    let code = posix_fallocate(descriptor.number, range.lowerBound, range.count)
    guard code == 0 else { throw SystemFailure(call: "posix_fallocate", code: code) }
  }

  /// The identity of this boot of the machine, 16 bytes; zeros where it isn't known.
  static func bootIdentity() -> [UInt8] {
    var id = sd_id128_t()
    guard sd_id128_get_boot(&id) >= 0 else { return [UInt8](repeating: 0, count: 16) }
    return withUnsafeBytes(of: &id) { Array($0) }
  }
}
