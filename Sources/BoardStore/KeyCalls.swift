import CSystemd
import Glibc
import GuardedMemory

/// The user's keyring in the kernel, which keeps a copy of the key file's key until the user's last process ends. What
/// fails here costs nothing but the copy.
enum KernelKeyring {
  private static let prefix = "xpastebridge:boards:"

  private static func name(_ folder: String) -> String { prefix + folder }

  /// The key that was left here for the store in `folder`.
  static func key(for folder: String) -> StoreKey? {
    let found = xpb_keyring_search(name(folder))
    guard found > 0 else { return nil }
    let pages = GuardedPages(byteCount: StoreKey.byteCount, wipedAtEnd: true)
    guard xpb_keyring_read(found, pages.base, UInt(StoreKey.byteCount)) == StoreKey.byteCount else { return nil }
    return StoreKey(UnsafeRawBufferPointer(start: pages.base, count: StoreKey.byteCount))
  }

  /// Leaves `key` here, in the place of the one that is.
  static func leave(_ key: StoreKey, for folder: String) {
    key.withBytes { _ = xpb_keyring_add(name(folder), $0, UInt(StoreKey.byteCount)) }
  }

  /// Takes the key away.
  static func forget(_ folder: String) {
    let found = xpb_keyring_search(name(folder))
    if found > 0 { xpb_keyring_unlink(found) }
  }
}
