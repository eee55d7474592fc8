import Glibc

/// What the driver of the fuzzer calls.
public enum FuzzRun {
  private static var chosen: Surface?

  /// The names of all targets.
  public static var names: [String] { Surface.all.map(\.name) }

  /// Chooses the target that is fuzzed; false when there is none of that name.
  public static func choose(_ name: String) -> Bool {
    chosen = Surface.named(name)
    return chosen != nil
  }

  /// Tries one input, and ends the program when a promise is broken: libFuzzer then keeps the input.
  public static func attempt(_ bytes: UnsafeBufferPointer<UInt8>) {
    do throws(Finding) {
      try chosen!.attempt(Array(bytes))
    } catch {
      fatalError("finding: \(error)")
    }
  }

  /// Writes the generated seeds of a target, and the longest input that makes sense as `longest`; false when that fails.
  public static func writeSeeds(of name: String, to folder: String) -> Bool {
    guard let surface = Surface.named(name) else { return false }
    return surface.seeds().allSatisfy { write($0.bytes, to: "\(folder)/\($0.name)") }
  }

  /// The longest input that is worth trying for the target of that name.
  public static func longestInput(of name: String) -> Int { Surface.named(name)?.longestInput ?? 0 }

  private static func write(_ bytes: [UInt8], to path: String) -> Bool {
    guard let file = fopen(path, "wb") else { return false }
    let written = fwrite(bytes, 1, bytes.count, file)
    return fclose(file) == 0 && written == bytes.count
  }
}
