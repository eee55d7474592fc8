import CSodium

/// Digests of what isn't secret, as other programs compute them too.
public enum Digest {
  /// SHA-256 (FIPS 180-4) in hexadecimal digits, as `sha256sum` prints it.
  public static func sha256(_ bytes: [UInt8]) -> String {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return digest.map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }.joined()
  }
}
