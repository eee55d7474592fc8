@preconcurrency import Glibc

/// The daemon and the command line in one program.
@main
struct Main {
  static func main() {
    Hardening.fillStandardStreams()
    exit(Program.run(Array(CommandLine.arguments.dropFirst())))
  }
}
