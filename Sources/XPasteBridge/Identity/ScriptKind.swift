/// What an executable was told to run, as its command line says it.
nonisolated enum ToldScript: Hashable {
  /// A file, by a path that may be relative to the folder in which the program was started.
  case file(String)
  /// A module, a class or a Windows program: no path of ours.
  case name(String)
}

/// A kind of executable that runs what it is told to: its path alone doesn't say which program it is.
///
/// What is found is the program's own word. The kernel hands over a command line when a program starts and lets the
/// program rewrite it afterwards, and it keeps no other record of which file an interpreter has read.
nonisolated enum ScriptKind: Hashable {
  /// An interpreter or a loader with this way of writing its options.
  case interpreter(InterpreterOptions)
  /// Wine, which runs Windows programs.
  case wine
  /// A program inside an AppImage's mount, which has another name each time.
  case image

  /// The kind of the executable at `path`; `nil` for a program that is what it is.
  init?(executable path: String) {
    if path.utf8.split(separator: UInt8(ascii: "/")).contains(where: { Substring($0).hasPrefix(".mount_") }) {
      self = .image
      return
    }
    // By bytes: a name may begin with a mark that makes one character with the slash.
    let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { Substring($0) } ?? ""
    if name.hasPrefix("wine"), !name.hasPrefix("wineserver") {
      self = .wine
    } else if let options = InterpreterOptions.of(name) {
      self = .interpreter(options)
    } else {
      return nil
    }
  }

  /// What `commandLine`, the program's own name first, tells it to run; `nil` where that is no file, as a line of code.
  func script(commandLine: [String], environment: [String] = []) -> ToldScript? {
    switch self {
    case .interpreter(let options): return options.script(in: commandLine.dropFirst())
    case .wine:
      // Wine puts the Windows program's own command line in place of the one it was started with.
      return commandLine.prefix(2).first { $0.lowercased().hasSuffix(".exe") }.map { .name($0) }
    case .image:
      // The runtime in an AppImage says whose mount it made, and the kernel only that there is one.
      return environment.last { $0.hasPrefix("APPIMAGE=/") }.map { .file(String($0.dropFirst("APPIMAGE=".count))) }
    }
  }
}

/// How an interpreter tells its options from what it runs.
nonisolated struct InterpreterOptions: Hashable {
  /// Letters of options that are followed by code, or make standard input the code: then there is no file.
  private var code = ""
  /// Letters that take a value, in the same word or the next.
  private var valued = ""
  /// Letters whose value, if any, is in the same word.
  private var attached = ""
  /// Letters whose value names a module.
  private var modules = ""
  /// Letters whose value is the file.
  private var files = ""
  /// Whole words that are followed by code.
  private var codeWords: Set<String> = []
  /// Whole words that take the next word as their value.
  private var valuedWords: Set<String> = []
  /// Whole words whose next word names a module.
  private var moduleWords: Set<String> = []
  /// Whole words whose next word is the file.
  private var fileWords: Set<String> = []
  /// Whether a word with one dash is letters run together.
  private var hasLetters = true
  /// Whether what comes first without a dash is a name, not a file.
  private var runsNames = false
  /// Whether an option that isn't known means that no file is run.
  private var isStrict = false

  private init() {}

  private init(_ fill: (inout InterpreterOptions) -> Void) { fill(&self) }

  /// The options of the interpreter whose executable has this name; `nil` for any other program.
  static func of(_ name: Substring) -> InterpreterOptions? {
    if ["ld-linux", "ld-musl", "ld.so", "ld64.so"].contains(where: { name.hasPrefix($0) }) { return loader }
    // python3.11, wish8.6, ruby3.1, gjs-console
    var bare = name
    while let last = bare.utf8.last, (0x30...0x39).contains(last) || last == 0x2e || last == 0x2d {
      bare = bare.dropLast()
    }
    return table[String(bare)]
  }

  private static let python = Self {
    ($0.code, $0.valued, $0.modules) = ("c", "WX", "m")
    $0.valuedWords = ["--check-hash-based-pycs"]
  }
  private static let perl = Self { ($0.code, $0.valued, $0.attached) = ("eE", "I", "CDFMilmx0V") }
  private static let ruby = Self { ($0.code, $0.valued, $0.attached) = ("e", "CEIr", "FKTWix0") }
  private static let node = Self {
    ($0.code, $0.valued) = ("ep", "Cr")
    $0.codeWords = ["--eval", "--print"]
    $0.valuedWords = ["--require", "--import", "--loader", "--experimental-loader", "--conditions", "--env-file"]
  }
  private static let shell = Self {
    ($0.code, $0.valued) = ("cs", "oO")
    $0.valuedWords = ["--rcfile", "--init-file"]
  }
  private static let tcl = Self {
    ($0.hasLetters, $0.isStrict) = (false, true)
    $0.valuedWords = ["-encoding"]
  }
  private static let lua = Self { ($0.code, $0.valued) = ("e", "l") }
  private static let php = Self { ($0.code, $0.valued, $0.files) = ("BERr", "Scdtz", "Ff") }
  private static let gjs = Self { ($0.code, $0.valued) = ("c", "CI") }
  private static let java = Self {
    ($0.hasLetters, $0.runsNames) = (false, true)
    $0.fileWords = ["-jar"]
    $0.moduleWords = ["-m", "--module"]
    $0.valuedWords = [
      "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
      "--limit-modules", "--add-opens", "--add-exports", "--add-reads", "--source",
    ]
  }
  private static let dotnet = Self { $0.hasLetters = false }
  private static let loader = Self {
    $0.hasLetters = false
    $0.valuedWords = ["--library-path", "--preload", "--argv0", "--audit", "--inhibit-rpath", "--glibc-hwcaps-prepend"]
  }

  private static let table: [String: InterpreterOptions] = [
    "python": python, "pypy": python, "perl": perl, "ruby": ruby, "node": node, "nodejs": node, "electron": dotnet,
    "sh": shell, "bash": shell, "dash": shell, "zsh": shell, "ksh": shell, "mksh": shell, "ash": shell, "fish": shell,
    "wish": tcl, "tclsh": tcl, "expect": tcl, "lua": lua, "luajit": lua, "texlua": lua, "php": php, "gjs": gjs,
    "gjs-console": gjs, "cjs": gjs, "java": java, "mono": dotnet, "mono-sgen": dotnet, "dotnet": dotnet,
  ]

  /// What `words` tell the interpreter to run.
  func script(in words: ArraySlice<String>) -> ToldScript? {
    var rest = words
    while let word = rest.popFirst() {
      if word == "--" { return rest.first.map(operand) }
      // A dash alone is standard input.
      if word == "-" || word.isEmpty { return nil }
      guard word.hasPrefix("-") || word.hasPrefix("+") else { return word.hasPrefix("@") ? nil : operand(word) }
      switch meaning(of: word, next: rest.first) {
      case .flag: if isStrict { return nil }
      case .valued: _ = rest.popFirst()
      case .end(let script): return script
      }
    }
    return nil
  }

  private func operand(_ word: String) -> ToldScript { runsNames ? .name(word) : .file(word) }

  private enum Meaning {
    /// It stands alone.
    case flag
    /// The next word is its value.
    case valued
    /// What is run is known, or that it is no file.
    case end(ToldScript?)
  }

  private func meaning(of word: String, next: String?) -> Meaning {
    if codeWords.contains(word) { return .end(nil) }
    if valuedWords.contains(word) { return .valued }
    if moduleWords.contains(word) { return .end(next.map { .name($0) }) }
    if fileWords.contains(word) { return .end(next.map { .file($0) }) }
    guard hasLetters, !word.hasPrefix("--") else { return .flag }
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      if code.contains(letter) { return .end(nil) }
      if attached.contains(letter) { return .flag }
      let value = letters.isEmpty ? next : String(letters)
      if modules.contains(letter) { return .end(value.map { .name($0) }) }
      if files.contains(letter) { return .end(value.map { .file($0) }) }
      if valued.contains(letter) { return letters.isEmpty ? .valued : .flag }
    }
    return .flag
  }
}
