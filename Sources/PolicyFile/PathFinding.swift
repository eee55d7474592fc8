/// What a path that a policy names literally is on this machine.
public enum PathFinding: Hashable, Sendable {
  /// Nothing.
  case missing
  /// A program, or anything else that isn't a script.
  case program
  /// A link, which leads to this file; the file is what the kernel shows of a running program.
  case link(to: String)
  /// A script: what runs is its interpreter, and what that starts. `file` is where the path leads to, `program` the last path
  /// that the script starts in its own place, where that can be seen.
  case script(file: String, interpreter: String, program: String?)

  /// Paths looked at in one load (our choice: no policy names more programs, and each look takes some microseconds).
  static let most = 1_024

  /// Looks at `path`.
  public static func look(at path: String) -> PathFinding {
    guard let real = SystemCalls.realPath(path) else { return .missing }
    guard let head = try? SystemCalls.head(of: real, limit: 8 << 10), head.starts(with: Array("#!".utf8)) else {
      return real == path ? .program : .link(to: real)
    }
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\n")
    let interpreter = lines.first?.dropFirst(2).split(separator: " ").first.map(String.init) ?? ""
    let started = lines.dropFirst().last { $0.split(separator: " ").first == "exec" }
    let program = started?.split(whereSeparator: { " \"'".contains($0) }).first { $0.hasPrefix("/") }.map(String.init)
    return .script(file: real, interpreter: interpreter, program: program)
  }
}
