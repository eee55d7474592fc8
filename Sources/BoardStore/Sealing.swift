import CSodium
import Glibc
import GuardedMemory

/// A key: 32 bytes that never print and are wiped with their last user.
@safe struct StoreKey {
  static let byteCount = 32
  private let pages = GuardedPages(byteCount: byteCount, wipedAtEnd: true)

  /// The key that `bytes` are.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount, let start = bytes.baseAddress else { return nil }
    pages.base.copyMemory(from: start, byteCount: Self.byteCount)
  }

  /// A key from the system's random numbers.
  init() { randombytes_buf(pages.base, Self.byteCount) }

  /// The key that text or bytes of any form, at least as many as a key has, stand for: their BLAKE2b digest.
  init?(digestOf secret: UnsafeRawBufferPointer) {
    guard secret.count >= Self.byteCount, let start = secret.baseAddress else { return nil }
    crypto_generichash(
      pages.base.assumingMemoryBound(to: UInt8.self), Self.byteCount, start.assumingMemoryBound(to: UInt8.self),
      UInt64(secret.count), nil, 0)
  }

  /// Calls `body` with the bytes, valid only inside the call.
  func withBytes<R, E: Error>(_ body: (UnsafePointer<UInt8>) throws(E) -> R) throws(E) -> R {
    try body(UnsafePointer(pages.base.assumingMemoryBound(to: UInt8.self)))
  }

  /// Compares in a time that says nothing about the keys.
  func isSame(as other: StoreKey) -> Bool { sodium_memcmp(pages.base, other.pages.base, Self.byteCount) == 0 }
}

/// Seals with XChaCha20-Poly1305 and a random nonce, which stands before what is sealed. Its 24 bytes are enough for random
/// ones never to meet.
enum Sealing {
  private static let nonceBytes = 24
  private static let tagBytes = 16
  /// What a sealed piece is longer by.
  static let overhead = nonceBytes + tagBytes

  /// Whether the library can be used. To be asked once before anything else, from any thread.
  static func start() -> Bool {
    sodium_init() >= 0 && crypto_aead_xchacha20poly1305_ietf_npubbytes() == nonceBytes
      && crypto_aead_xchacha20poly1305_ietf_abytes() == tagBytes
      && crypto_aead_xchacha20poly1305_ietf_keybytes() == StoreKey.byteCount
  }

  /// `bytes` sealed; only with the same `place` they open again.
  static func seal(_ bytes: UnsafeRawBufferPointer, at place: [UInt8], with key: StoreKey) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: bytes.count + overhead) { room, count in
      guard let nonce = room.baseAddress else { return }
      randombytes_buf(nonce, nonceBytes)
      // The room is longer than the content by just what the call adds; it fails only beyond 2^38 bytes.
      key.withBytes {
        _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
          nonce + nonceBytes, nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count), place,
          UInt64(place.count), nil, nonce, $0)
      }
      count = bytes.count + overhead
    }
  }

  /// The same for what is told in an array.
  static func seal(_ bytes: [UInt8], at place: [UInt8], with key: StoreKey) -> [UInt8] {
    bytes.withUnsafeBytes { seal($0, at: place, with: key) }
  }

  /// Opens `sealed` into `room`, which has ``overhead`` bytes less. False when it isn't what was sealed for this place with
  /// this key; nothing is then in the room.
  static func open(
    _ sealed: UnsafeRawBufferPointer, at place: [UInt8], with key: StoreKey, into room: UnsafeMutableRawPointer
  ) -> Bool {
    guard sealed.count >= overhead, let nonce = sealed.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
      return false
    }
    return key.withBytes {
      crypto_aead_xchacha20poly1305_ietf_decrypt(
        room.assumingMemoryBound(to: UInt8.self), nil, nil, nonce + nonceBytes, UInt64(sealed.count - nonceBytes),
        place,
        UInt64(place.count), nonce, $0) == 0
    }
  }

  /// The same for what is told in an array; `nil` when it doesn't open.
  static func open(_ sealed: UnsafeRawBufferPointer, at place: [UInt8], with key: StoreKey) -> [UInt8]? {
    guard sealed.count >= overhead else { return nil }
    var isOpen = false
    let bytes = [UInt8](unsafeUninitializedCapacity: sealed.count - overhead) { room, count in
      // A buffer of no bytes may have no address; any will do then.
      guard let start = UnsafeMutableRawPointer(room.baseAddress) else { return }
      isOpen = open(sealed, at: place, with: key, into: start)
      count = isOpen ? sealed.count - overhead : 0
    }
    return isOpen ? bytes : nil
  }

  /// `count` random bytes.
  static func random(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { room, made in
      guard let start = room.baseAddress else { return }
      randombytes_buf(start, count)
      made = count
    }
  }
}
