/// The daemon and the command line in one program.
@main
struct Main {
  static func main() {}
}
