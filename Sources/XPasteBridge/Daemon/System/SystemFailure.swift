@preconcurrency import Glibc

/// What the system refused: the call and its error code.
struct SystemFailure: Error, Hashable, CustomStringConvertible {
  /// The C function that failed.
  var call: String
  /// The `errno` value, positive.
  var code: Int32

  /// The code in words, without the call: for lines that already say what was attempted.
  var reason: String { String(cString: strerror(code)) }
  /// `call: reason`
  var description: String { "\(call): \(reason)" }

  /// Turns the negative errno that libsystemd's functions return into a failure.
  @discardableResult
  static func unlessNegative(_ result: Int32, _ call: String) throws(SystemFailure) -> Int32 {
    guard result >= 0 else { throw SystemFailure(call: call, code: -result) }
    return result
  }

  /// Turns a POSIX function's -1 and `errno` into a failure.
  @discardableResult
  static func unlessMinusOne<N: SignedInteger>(_ result: N, _ call: String) throws(SystemFailure) -> N {
    guard result != -1 else { throw SystemFailure(call: call, code: errno) }
    return result
  }
}
