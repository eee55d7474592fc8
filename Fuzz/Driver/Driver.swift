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
  static func main() {
    let words = CommandLine.arguments
    if words.count == 4, words[1] == "--seeds" { exit(FuzzRun.writeSeeds(of: words[2], to: words[3]) ? 0 : 2) }
    if words.count == 2, words[1] == "--list" {
      for name in FuzzRun.names { print(name) }
      exit(0)
    }
    guard words.count > 1, FuzzRun.choose(words[1]) else {
      print("usage: Fuzzer --list | --seeds TARGET FOLDER | TARGET [OPTION|FOLDER|FILE]...")
      exit(2)
    }
    // The name of the target is ours; libFuzzer gets the rest, which may overrule the length.
    var passed = ([words[0], "-max_len=\(FuzzRun.longestInput(of: words[1]))"] + words.dropFirst(2)).map { strdup($0) }
    passed.append(nil)
    var count = Int32(passed.count - 1)
    var start = passed.withUnsafeMutableBufferPointer { words in
      let kept = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: words.count)
      kept.initialize(from: words.baseAddress!, count: words.count)
      return kept
    }
    exit(
      runFuzzer(&count, &start) { bytes, length in
        MainActor.assumeIsolated { FuzzRun.attempt(UnsafeBufferPointer(start: bytes, count: length)) }
        return 0
      })
  }
}
