import Foundation

/// A desktop with heavy programs on it, ready to be used, and the daemon when it is asked for.
final class HeavyDesktop {
  let desktop: Desktop
  private let programs: [HeavyProgram]
  private(set) var bridge: Bridge?

  private init(_ kinds: [HeavyKind]) throws {
    desktop = try Desktop()
    programs = try HeavyKind.start(kinds, on: desktop)
  }

  subscript(index: Int) -> HeavyProgram { programs[index] }

  @discardableResult
  func startBridge(policy: String = Bridge.allowAll) throws -> Bridge {
    let started = try Bridge(on: desktop, policy: policy)
    bridge = started
    return started
  }

  /// The top-level windows on the screen: a dialog is one more.
  func windows() throws -> Set<String> {
    let found = try desktop.run("/usr/bin/xdotool", ["search", "--onlyvisible", "--maxdepth", "1", ".*"])
    return Set(String(decoding: found.output, as: UTF8.self).split(separator: "\n").map(String.init))
  }

  /// The executable by which a policy names a program.
  static func executable(of program: HeavyProgram) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(program.pid)/exe")
  }

  static func run(_ kinds: [HeavyKind], _ body: (HeavyDesktop) throws -> Void) throws {
    let heavy = try HeavyDesktop(kinds)
    defer { heavy.desktop.close() }
    try body(heavy)
    try heavy.bridge?.stop()
    for program in heavy.programs { program.exit() }
  }
}

extension Desktop {
  /// The titles of all windows that people see, each as often as it is there: a dialog is one more.
  func windowTitles() throws -> [String] {
    let listed = String(decoding: try run("/usr/bin/xprop", ["-root", "_NET_CLIENT_LIST"]).output, as: UTF8.self)
    let windows = listed.split(separator: "#").last?.split(separator: ",") ?? []
    return try windows.map { window in
      let id = window.trimmingCharacters(in: .whitespacesAndNewlines)
      let name = try run("/usr/bin/xdotool", ["getwindowname", id]).output
      return String(decoding: name, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }.sorted()
  }

  /// The content targets that CLIPBOARD lists.
  func contentTargets() throws -> Set<String> { Set(try probe.targets() ?? []).filter(Exceptions.isContent) }

  /// Writes a file for a program to load.
  func file(_ name: String, _ content: Data) throws -> String {
    let path = path(name)
    try content.write(to: URL(fileURLWithPath: path))
    return path
  }
}
