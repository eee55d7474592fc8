import GuardedMemory

/// A key that a store may be sealed with, and where it was found.
struct FoundKey {
  /// Where exactly it lies.
  enum Spot: Equatable {
    case credential
    /// An item of the Secret Service, by its object path.
    case item(String)
    /// A file in the store's folder, by its name.
    case file(String)
    /// The kernel's copy of a key file.
    case keyring
  }

  var key: StoreKey
  var spot: Spot

  var source: KeySource {
    switch spot {
    case .credential: .credential
    case .item: .secretService
    case .file, .keyring: .keyFile
    }
  }
}

/// The sources of keys, in their order. No key is removed before another has taken its place in the store.
struct KeyChain {
  /// Names of the credential and, while a store is still sealed with it, of the one before.
  private static let credential = "xpastebridge.key"
  private static let formerCredential = "xpastebridge.key.old"
  /// The largest credential, systemd's own limit is 1 MiB; ours is enough for any key in text.
  private static let credentialLimit = 4_096

  let configuration: StoreConfiguration
  /// The number of the store, by which the Secret Service tells its key.
  let store: [UInt8]

  private func path(_ name: String) -> String { configuration.folder + "/" + name }

  /// The keys that `source` has for the store.
  func keys(from source: KeySource) throws(StoreFailure) -> [FoundKey] {
    switch source {
    case .credential:
      let found = [try credential(Self.credential), try credential(Self.formerCredential)].compactMap { $0 }
      guard !found.isEmpty else { throw .keyUnavailable(.credential, "there is none named \(Self.credential)") }
      return found
    case .secretService:
      let found = try conversation { (service) throws(SecretBus.Failure) in try service.keys(of: store) }
      guard !found.isEmpty else { throw .keyUnavailable(.secretService, "it has no key of this store") }
      return found.map { FoundKey(key: $0.key, spot: .item($0.path)) }
    case .keyFile:
      var found: [FoundKey] = []
      // The file first: a copy that has grown old is then written over.
      for name in [StoreFiles.key, StoreFiles.newKey] {
        if let key = try keyFile(name) { found.append(FoundKey(key: key, spot: .file(name))) }
      }
      if configuration.usesKeyring, let key = KernelKeyring.key(for: configuration.folder) {
        found.append(FoundKey(key: key, spot: .keyring))
      }
      guard !found.isEmpty else { throw .keyUnavailable(.keyFile, "there is no key in \(path(StoreFiles.key))") }
      return found
    }
  }

  /// The credential that a store should be sealed with, if there is one.
  func preferredCredential() throws(StoreFailure) -> FoundKey? { try credential(Self.credential) }

  private func credential(_ name: String) throws(StoreFailure) -> FoundKey? {
    guard let folder = configuration.credentials, StoreFiles.exists(folder + "/" + name) else { return nil }
    let (pages, count) = try StoreFiles.read(folder + "/" + name, limit: Self.credentialLimit)
    guard let key = StoreKey(digestOf: UnsafeRawBufferPointer(start: pages.base, count: count)) else {
      throw .keyUnavailable(.credential, "expected at least \(StoreKey.byteCount) bytes in \(name), found \(count)")
    }
    return FoundKey(key: key, spot: .credential)
  }

  private func keyFile(_ name: String) throws(StoreFailure) -> StoreKey? {
    guard StoreFiles.exists(path(name)) else { return nil }
    try StoreFiles.closeToOthers(path(name))
    let (pages, count) = try StoreFiles.read(path(name), limit: StoreKey.byteCount + 1)
    return StoreKey(UnsafeRawBufferPointer(start: pages.base, count: count))
  }

  private func conversation<R>(_ body: (SecretService) throws(SecretBus.Failure) -> R) throws(StoreFailure) -> R {
    guard let bus = configuration.bus else { throw .keyUnavailable(.secretService, "there is no session bus") }
    do {
      return try body(SecretService(address: bus))
    } catch {
      throw .keyUnavailable(.secretService, error.words)
    }
  }

  /// A key for a new store, or a new one in the place of `current`: from the first source that has or makes one. Adds to
  /// `remarks` why sources before it were passed over.
  func makeKey(except current: StoreKey?, remarks: inout [String]) throws(StoreFailure) -> FoundKey {
    if let found = try preferredCredential() {
      guard let current, found.key.isSame(as: current) else { return found }
      throw .noNewKey("the credential \(Self.credential) is the one in use; give the service manager another")
    }
    if configuration.bus != nil {
      do {
        return try conversation { (service) throws(SecretBus.Failure) in
          let made = try service.makeKey(of: store)
          return FoundKey(key: made.key, spot: .item(made.path))
        }
      } catch {
        remarks.append("\(error); the key lies in a file beside the store instead")
      }
    }
    // A key file without a store is still the key of one that was set aside.
    if current == nil, let key = try keyFile(StoreFiles.key) { return FoundKey(key: key, spot: .file(StoreFiles.key)) }
    let key = StoreKey()
    try write(key)
    return FoundKey(key: key, spot: .file(StoreFiles.newKey))
  }

  private func write(_ key: StoreKey) throws(StoreFailure) {
    try key.withBytes { (bytes) throws(StoreFailure) in
      try StoreFiles.write(UnsafeRawBufferPointer(start: bytes, count: StoreKey.byteCount), to: path(StoreFiles.newKey))
    }
    try StoreFiles.synchronise(configuration.folder)
  }

  /// Called when the store opens with `found` or has been sealed with it: gives it its lasting place and copy.
  func settle(_ found: FoundKey) throws(StoreFailure) {
    switch found.spot {
    case .credential, .item: break
    case .file(let name):
      if name == StoreFiles.key {
        // Left over from a change of keys that was cut short before anything was sealed with it.
        try StoreFiles.remove(path(StoreFiles.newKey))
      } else {
        try StoreFiles.rename(name, to: StoreFiles.key, in: configuration.folder)
      }
      if configuration.usesKeyring { KernelKeyring.leave(found.key, for: configuration.folder) }
    case .keyring:
      // The file was lost; while the kernel still knows the key, it is written again.
      try write(found.key)
      try StoreFiles.rename(StoreFiles.newKey, to: StoreFiles.key, in: configuration.folder)
    }
  }

  /// Removes a key that the store is no longer sealed with, where it isn't in the way of `successor`.
  func retire(_ former: FoundKey, for successor: FoundKey) throws(StoreFailure) {
    switch former.spot {
    case .credential: break
    case .item(let path):
      try conversation { (service) throws(SecretBus.Failure) in try service.remove(path) }
    case .file, .keyring:
      guard successor.source != .keyFile else { break }
      if configuration.usesKeyring { KernelKeyring.forget(configuration.folder) }
      try StoreFiles.remove(path(StoreFiles.key))
      try StoreFiles.remove(path(StoreFiles.newKey))
    }
  }
}
