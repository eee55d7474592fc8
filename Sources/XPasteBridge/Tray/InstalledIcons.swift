/// Where our icons are, if they are installed.
enum InstalledIcons {
  /// The folder of icon themes beside the program; `nil` where our icons aren't in it, as in the folder of a build. Hosts
  /// are then given pixels alone: a name that they don't find would be shown as a broken picture by some.
  static func folder(beside program: String) -> String? {
    let share = "\(program)/../share/icons"
    guard Posix.stat("\(share)/hicolor/scalable/status/xpastebridge-guarding.svg")?.isRegular == true else {
      return nil
    }
    return Posix.realpath(share)
  }
}
