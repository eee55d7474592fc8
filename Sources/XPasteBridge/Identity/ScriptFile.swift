@preconcurrency import CSystemd
import Glibc

/// Where the file is that a program was told to run.
nonisolated enum ScriptFile {
  /// The whole path of `script`, told to the process whose directory in `/proc` is `directory`, without links; `nil` for a
  /// relative path where no file is.
  ///
  /// The file is only looked for, as the process itself would find it, and never read. Whoever wrote the command line may
  /// have named a place on a file system of his own that never answers, so nothing is asked that the kernel doesn't know
  /// at once. What isn't found then is taken as it was told, unless it is relative: the folder may be another by now.
  static func path(of script: ToldScript, in directory: Int32) -> String? {
    let told: String
    switch script {
    case .name(let name): return name
    case .file(let path): told = path
    }
    let isWhole = told.utf8.first == UInt8(ascii: "/")
    return place(of: told, below: isWhole ? "root" : "cwd", isRoot: isWhole, in: directory) ?? (isWhole ? told : nil)
  }

  /// Where the kernel finds `path` without asking a disk or anybody else.
  private static func place(of path: String, below link: String, isRoot: Bool, in directory: Int32) -> String? {
    let base = xpb_hold_folder(directory, link)
    guard base >= 0 else { return nil }
    defer { Glibc.close(base) }
    let file = path.withCString { xpb_find_cached(base, $0, isRoot ? 1 : 0) }
    guard file >= 0 else { return nil }
    defer { Glibc.close(file) }
    return ProcessFile.link(AT_FDCWD, "/proc/self/fd/\(file)")
  }
}
