import ContentActions
@preconcurrency import Glibc
import PolicyFile

/// Where actions are written, and where the program is that runs them.
struct InstalledActions {
  /// In the order in which later ones take the place of earlier ones.
  let folders: [String]
  /// The helper.
  let helper: String

  /// The folders given, or the installed ones when there are none: the vendor's, the administrator's, the user's.
  init(given: [String]) {
    let folder = Self.folderOfProgram
    helper = Self.helper(beside: folder)
    guard given.isEmpty else {
      folders = given
      return
    }
    // A program installed under another prefix has its files there too.
    let prefix = folder.hasSuffix("/bin") ? String(folder.dropLast(4)) : "/usr"
    let configuration =
      Posix.environment("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
      ?? Posix.environment("HOME").map { $0 + "/.config" }
    folders =
      ["\(prefix)/share/xpastebridge/actions.d", "/etc/xpastebridge/actions.d"]
      + [configuration.map { $0 + "/xpastebridge/actions.d" }].compactMap(\.self)
  }

  /// These folders and this helper. For tests.
  init(folders: [String], helper: String) {
    self.folders = folders
    self.helper = helper
  }

  /// All actions as they are written now: they are read anew whenever somebody asks, and never otherwise.
  func catalog() -> ActionCatalog { ActionCatalog(folders: folders) }

  /// The program that does the work, as rules name it with `exe:`.
  func program(of action: ContentAction) -> String {
    switch action.work {
    case .builtIn: helper
    case .command(let path, _): Posix.realpath(path) ?? path
    }
  }

  /// The folder that this program was started from.
  static var folderOfProgram: String {
    let program = Posix.readlink("/proc/self/exe") ?? ""
    return String(program.prefix(upTo: program.lastIndex(of: "/") ?? program.startIndex))
  }

  /// In the folder of the build, or where it is installed.
  private static func helper(beside folder: String) -> String {
    let installed = "\(folder)/../libexec/xpastebridge/\(HelperProtocol.program)"
    let built = "\(folder)/\(HelperProtocol.program)"
    return Posix.realpath(installed) ?? Posix.realpath(built) ?? installed
  }
}
