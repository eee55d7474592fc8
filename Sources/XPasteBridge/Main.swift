@preconcurrency import Glibc

/// The daemon, its watchdog and the command line in one program.
@main
struct Main {
  static func main() {
    Hardening.fillStandardStreams()
    let words = CommandLine.arguments
    if words.first == InputWatchdog.name { exit(InputWatchdog.run(display: words.last ?? "")) }
    exit(Program.run(Array(words.dropFirst())))
  }
}
