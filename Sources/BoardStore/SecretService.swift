/// The conversation with the session's Secret Service (freedesktop.org, Secret Service API 0.2): finds, makes and removes the
/// keys of a store. Nobody is ever asked to unlock something: what is locked isn't there.
///
/// Secrets travel over the bus in clear (the "plain" session). Whoever could listen to the bus could ask for them as well.
struct SecretService {
  /// 8 s for the whole conversation, our choice. A service that runs answers within milliseconds, one that unlocks its
  /// collections just now, at log-in on a busy machine, within seconds; GNOME's ends when the asker of a new session has
  /// gone before the answer (measured). Shorter than the unit's time to stop, which waits for this thread.
  static let limitMilliseconds: UInt64 = 8_000

  /// A key, and the object it is.
  struct Item {
    var path: String
    var key: StoreKey
  }

  private static let service = "org.freedesktop.Secret.Service"
  private static let locked = "the default collection is locked"
  private static let root = "/org/freedesktop/secrets"

  private let bus: SecretBus
  private let session: String

  /// Opens a session with the service on the bus at `address`.
  init(address: String) throws(SecretBus.Failure) {
    bus = try SecretBus(address: address, milliseconds: Self.limitMilliseconds)
    let answer = try bus.call(Self.root, Self.service, "OpenSession") { (call) throws(SecretBus.Failure) in
      try call.append("plain")
      try call.append("v", of: "s") { () throws(SecretBus.Failure) in try call.append("") }
    }
    try answer.read("v", of: "s") { () throws(SecretBus.Failure) in _ = try answer.readText() }
    session = try answer.readText("o") ?? "/"
  }

  /// What tells the keys of this store from all other secrets.
  private func append(attributesOf store: [UInt8], to call: SecretMessage) throws(SecretBus.Failure) {
    try call.append("a", of: "{ss}") { () throws(SecretBus.Failure) in
      for (name, value) in [("xdg:schema", "org.xpastebridge.BoardKey"), ("store", Self.hexadecimal(store))] {
        try call.append("e", of: "ss") { () throws(SecretBus.Failure) in
          try call.append(name)
          try call.append(value)
        }
      }
    }
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// The keys of the store that can be had; several only if a change of keys was cut short.
  func keys(of store: [UInt8]) throws(SecretBus.Failure) -> [Item] {
    let answer = try bus.call(Self.root, Self.service, "SearchItems") { (call) throws(SecretBus.Failure) in
      try append(attributesOf: store, to: call)
    }
    let unlocked = try answer.readPaths()
    let locked = try answer.readPaths()
    if unlocked.isEmpty {
      if !locked.isEmpty { throw SecretBus.Failure(words: "the collection with the key is locked") }
      // Some services don't look into what is locked.
      if try isLocked(defaultCollection()) { throw SecretBus.Failure(words: Self.locked) }
    }
    var items: [Item] = []
    for path in unlocked {
      if let key = try secret(at: path) { items.append(Item(path: path, key: key)) }
    }
    return items
  }

  private func secret(at path: String) throws(SecretBus.Failure) -> StoreKey? {
    let answer = try bus.call(path, "org.freedesktop.Secret.Item", "GetSecret") { (call) throws(SecretBus.Failure) in
      try call.append(session, as: "o")
    }
    return try answer.read("r", of: "oayays") { () throws(SecretBus.Failure) in
      _ = try answer.readText("o")
      try answer.readBytes { _ in }
      let key = try answer.readBytes { StoreKey($0) }
      _ = try answer.readText()
      return key
    }
  }

  /// Where new secrets are kept.
  func defaultCollection() throws(SecretBus.Failure) -> String {
    let answer = try bus.call(Self.root, Self.service, "ReadAlias") { (call) throws(SecretBus.Failure) in
      try call.append("default")
    }
    guard let collection = try answer.readText("o"), collection != "/" else {
      throw SecretBus.Failure(words: "there is no default collection")
    }
    return collection
  }

  /// Keeps a new key of the store in the default collection, beside those it may have.
  func makeKey(of store: [UInt8]) throws(SecretBus.Failure) -> Item {
    let collection = try defaultCollection()
    if try isLocked(collection) { throw SecretBus.Failure(words: Self.locked) }
    let key = StoreKey()
    let made = try bus.call(collection, "org.freedesktop.Secret.Collection", "CreateItem") {
      (call) throws(SecretBus.Failure) in
      try append(propertiesOf: store, to: call)
      try call.append("r", of: "oayays") { () throws(SecretBus.Failure) in
        try call.append(session, as: "o")
        try call.append(UnsafeRawBufferPointer(start: nil, count: 0))
        try key.withBytes { (bytes) throws(SecretBus.Failure) in
          try call.append(UnsafeRawBufferPointer(start: bytes, count: StoreKey.byteCount))
        }
        try call.append("application/octet-stream")
      }
      try call.append(false)
    }
    let path = try made.readText("o") ?? "/"
    try refusePrompt(made.readText("o"))
    guard path != "/" else { throw SecretBus.Failure(words: "the key wasn't taken") }
    return Item(path: path, key: key)
  }

  private func append(propertiesOf store: [UInt8], to call: SecretMessage) throws(SecretBus.Failure) {
    try call.append("a", of: "{sv}") { () throws(SecretBus.Failure) in
      try call.append("e", of: "sv") { () throws(SecretBus.Failure) in
        try call.append("org.freedesktop.Secret.Item.Label")
        try call.append("v", of: "s") { () throws(SecretBus.Failure) in
          try call.append("Key of XPasteBridge's boards")
        }
      }
      try call.append("e", of: "sv") { () throws(SecretBus.Failure) in
        try call.append("org.freedesktop.Secret.Item.Attributes")
        try call.append("v", of: "a{ss}") { () throws(SecretBus.Failure) in
          try append(attributesOf: store, to: call)
        }
      }
    }
  }

  private func isLocked(_ collection: String) throws(SecretBus.Failure) -> Bool {
    let answer = try bus.call(collection, "org.freedesktop.DBus.Properties", "Get") {
      (call) throws(SecretBus.Failure) in
      try call.append("org.freedesktop.Secret.Collection")
      try call.append("Locked")
    }
    return try answer.read("v", of: "b") { () throws(SecretBus.Failure) in try answer.readBool() }
  }

  /// Removes a key.
  func remove(_ path: String) throws(SecretBus.Failure) {
    let answer = try bus.call(path, "org.freedesktop.Secret.Item", "Delete") { (_) throws(SecretBus.Failure) in }
    try refusePrompt(answer.readText("o"))
  }

  /// A service that wants to ask the person first is told that nobody will.
  private func refusePrompt(_ prompt: String?) throws(SecretBus.Failure) {
    guard let prompt, prompt != "/" else { return }
    _ = try? bus.call(prompt, "org.freedesktop.Secret.Prompt", "Dismiss") { (_) throws(SecretBus.Failure) in }
    throw SecretBus.Failure(words: "it wants to ask the person first")
  }
}
