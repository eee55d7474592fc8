import FuzzTargets
import Glibc

/// libFuzzer's own entry for programs that have a main function.
@_silgen_name("LLVMFuzzerRunDriver")
nonisolated func runFuzzer(
  _ count: UnsafeMutablePointer<Int32>,
  _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ attempt: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// `Fuzzer TARGET [libFuzzer's options and folders]`, or `Fuzzer --seeds TARGET FOLDER` to write the generated seeds.
@main struct Driver {
  /// libFuzzer starts this program again with its own words alone, to shrink what it has; those find the target here.
  private static let inherited = "XPB_FUZZ_TARGET"

  static func main() {
    let words = CommandLine.arguments
    if words.count == 4, words[1] == "--seeds" { exit(FuzzRun.writeSeeds(of: words[2], to: words[3]) ? 0 : 2) }
    if words.count == 2, words[1] == "--list" {
      for name in FuzzRun.names { print(name) }
      exit(0)
    }
    if let name = getenv(inherited).map({ String(cString: $0) }), FuzzRun.choose(name) {
      run(words)
    }
    guard words.count > 1, FuzzRun.choose(words[1]) else {
      print("usage: Fuzzer --list | --seeds TARGET FOLDER | TARGET [OPTION|FOLDER|FILE]...")
      exit(2)
    }
    setenv(inherited, words[1], 1)
    // What is given may overrule the length.
    run([words[0], "-max_len=\(FuzzRun.longestInput(of: words[1]))"] + words.dropFirst(2))
  }

  /// Hands over to libFuzzer, which keeps the words as long as it runs.
  private static func run(_ words: [String]) -> Never {
    var count = Int32(words.count)
    var start = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: words.count + 1)
    start.initialize(repeating: nil, count: words.count + 1)
    for (index, word) in words.enumerated() { start[index] = strdup(word) }
    exit(
      runFuzzer(&count, &start) { bytes, length in
        MainActor.assumeIsolated { FuzzRun.attempt(UnsafeBufferPointer(start: bytes, count: length)) }
        return 0
      })
  }
}
