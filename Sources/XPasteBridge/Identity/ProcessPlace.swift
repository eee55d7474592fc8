/// Control groups as systemd lays them out. A program may name groups below its own as it likes, also with marks that
/// make one character with the slash before them; so paths are taken apart by bytes.
nonisolated enum Cgroup {
  private static let unitSuffixes = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"]

  /// The path in `/proc/PID/cgroup`: of the unified hierarchy, else of systemd's own.
  static func path(in text: String) -> String {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
    let line = lines.first { $0.hasPrefix("0::") && $0 != "0::/" } ?? lines.first { $0.contains(":name=systemd:") }
    guard let fields = line?.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false), fields.count == 3
    else { return "" }
    return String(fields[2])
  }

  /// The last part of the path that names a unit.
  static func innermostUnit(of path: String) -> String? {
    parts(of: path).last { part in unitSuffixes.contains { part.hasSuffix($0) } }.map { String($0) }
  }

  /// The names between the slashes.
  static func parts(of path: String) -> [Substring] {
    path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
  }
}

/// Sandboxes that can be told from outside.
nonisolated enum Sandbox {
  /// The sandbox's name: `snap:NAME` by the label under which the kernel confines it, by snapd's scope or service;
  /// `flatpak:ID` by the file that flatpak puts into the sandbox or by its scope's name.
  ///
  /// - Parameter label: AppArmor's, `snap.NAME.APP (enforce)` for snaps.
  static func name(cgroupPath path: String, flatpak: String?, label: String = "") -> String? {
    if label.hasPrefix("snap."), let name = snapName(label[...]) { return "snap:" + name }
    if let flatpak, let id = applicationName(inFlatpak: flatpak) { return "flatpak:" + id }
    for part in Cgroup.parts(of: path).reversed() {
      if part.hasPrefix("app-flatpak-"), part.hasSuffix(".scope") {
        // app-flatpak-ID-PID.scope
        let id = part.dropFirst("app-flatpak-".count).dropLast(".scope".count)
        if let dash = id.lastIndex(of: "-") { return "flatpak:" + unescaped(id[..<dash]) }
      }
      if part.hasPrefix("snap."), let name = snapName(part) { return "snap:" + name }
    }
    return nil
  }

  /// NAME of `snap.NAME.APP…`.
  private static func snapName(_ text: Substring) -> String? {
    let name = text.dropFirst("snap.".count).prefix { $0 != "." && !$0.isWhitespace }
    return name.isEmpty ? nil : String(name)
  }

  /// `name=` of the section `[Application]`.
  static func applicationName(inFlatpak text: String) -> String? {
    var isApplication = false
    for line in text.split(separator: "\n") {
      if line.hasPrefix("[") {
        isApplication = line == "[Application]"
      } else if isApplication, line.hasPrefix("name=") {
        return String(line.dropFirst("name=".count))
      }
    }
    return nil
  }

  /// systemd writes a dash inside a name as `\x2d`.
  private static func unescaped(_ name: Substring) -> String {
    var parts = ""
    var rest = name
    while let next = rest.first {
      if rest.hasPrefix("\\x2d") {
        parts.append("-")
        rest = rest.dropFirst(4)
      } else {
        parts.append(next)
        rest = rest.dropFirst()
      }
    }
    return parts
  }
}
