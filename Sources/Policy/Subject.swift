/// A process, told apart from a later one with the same number by the time it started.
public struct ProcessIdentity: Hashable, Sendable {
  /// The process number in the daemon's own pid namespace.
  public var id: Int32
  /// Clock ticks after boot at which the process started (`/proc/PID/stat`, field 22).
  public var startTime: UInt64

  /// Names the process `id` that started `startTime` clock ticks after boot.
  public init(id: Int32, startTime: UInt64) {
    self.id = id
    self.startTime = startTime
  }
}

/// How sure a fact about a subject is.
public enum Evidence: String, Hashable, Sendable {
  /// Vouched for by the X server's pid and the kernel's `/proc`.
  case attested
  /// Written by the program itself (WM_CLASS, WM_CLIENT_MACHINE, its command line): a label, not a proof.
  case declared
  /// Concluded from the active window, because the X client itself has no window that says it.
  case inferred
}

/// One thing known about a subject, and how.
public struct Fact: Hashable, Sendable {
  /// The fact itself: a class, a path, a unit name.
  public var value: String
  /// How sure it is.
  public var evidence: Evidence

  /// States `value` on the strength of `evidence`.
  public init(_ value: String, _ evidence: Evidence) {
    self.value = value
    self.evidence = evidence
  }
}

/// The facts that policies, records and the command line name, by their keys there.
public enum FactName: String, CaseIterable, Hashable, Sendable {
  case windowClass = "class"
  case instance
  case executable = "exe"
  case script
  case unit
  case sandbox
  case host

  /// The best evidence that there can be for it, which is the one that a person who writes it down means.
  public var bestEvidence: Evidence {
    switch self {
    case .executable, .unit, .sandbox: .attested
    case .windowClass, .instance, .script, .host: .declared
    }
  }
}

/// What is known of a fact.
enum Knowledge {
  /// This.
  case known(String)
  /// That there is none.
  case absent
  /// Not whether there is one, or not which.
  case unknown
}

/// Where a subject's process runs.
public enum Origin: Hashable, Sendable {
  /// On this machine, as the server's pid of the X client says.
  case local(ProcessIdentity)
  /// The server knows no local pid: another host, or ssh forwarding.
  case remote
  /// Nothing could be asked, for example because the window is already gone.
  case unknown
}

/// An app as the policy sees it (product.md 1 and 4): who copies, cuts or pastes.
public struct Subject: Hashable, Sendable {
  /// Where it runs, and as which process.
  public var origin: Origin
  /// The class half of WM_CLASS.
  public var windowClass: Fact?
  /// The instance half of WM_CLASS.
  public var instance: Fact?
  /// The executable's path (`/proc/PID/exe`).
  public var executable: Fact?
  /// What the executable was told to run: the script of an interpreter, the jar or class of Java, the Windows program of
  /// Wine, the image of an AppImage. A process can rewrite its own command line, so it is never attested.
  public var script: Fact?
  /// The innermost systemd unit of the process's cgroup.
  public var unit: Fact?
  /// The sandbox's name, for example `flatpak:org.gnome.Maps`.
  public var sandbox: Fact?
  /// WM_CLIENT_MACHINE, where the window has one.
  public var host: Fact?
  /// Facts that it has and that aren't known: a class beyond the limit, an executable that can't be read. A matcher on one
  /// of these could hold. Whatever is neither here nor above is known to be absent.
  public var unsure: Set<FactName> = []
  /// The apps one of which it is, where it can't be told which; empty for a subject that is one app. Exactly these are
  /// asked, and the strictest answer counts.
  public var candidates: [Subject] = []

  /// A subject with the facts given; all others are unknown.
  public init(
    origin: Origin, windowClass: Fact? = nil, instance: Fact? = nil, executable: Fact? = nil, script: Fact? = nil,
    unit: Fact? = nil, sandbox: Fact? = nil, host: Fact? = nil
  ) {
    self.origin = origin
    self.windowClass = windowClass
    self.instance = instance
    self.executable = executable
    self.script = script
    self.unit = unit
    self.sandbox = sandbox
    self.host = host
  }

  /// One fact by its name.
  public subscript(_ name: FactName) -> Fact? {
    get {
      switch name {
      case .windowClass: windowClass
      case .instance: instance
      case .executable: executable
      case .script: script
      case .unit: unit
      case .sandbox: sandbox
      case .host: host
      }
    }
    set {
      switch name {
      case .windowClass: windowClass = newValue
      case .instance: instance = newValue
      case .executable: executable = newValue
      case .script: script = newValue
      case .unit: unit = newValue
      case .sandbox: sandbox = newValue
      case .host: host = newValue
      }
    }
  }

  /// The facts that are known, in the order in which they are shown.
  public var facts: [(name: FactName, fact: Fact)] {
    FactName.allCases.compactMap { name in self[name].map { (name, $0) } }
  }

  /// A subject of which nothing is known; only `any` and `unknown` surely match it, and every other matcher could.
  public static let unknown = Subject(origin: .unknown)

  /// Whether it can't be told for certain which app it is: one of several, one of which nothing could be asked, or a program
  /// of this machine whose executable isn't attested.
  public var isUnsure: Bool {
    switch origin {
    case .unknown: true
    case .remote: false
    case .local:
      !candidates.isEmpty || unsure.contains(.executable) || executable.map { $0.evidence != .attested } ?? false
    }
  }

  /// What is known of one fact, on evidence that is strong enough for it.
  func knowledge(of name: FactName) -> Knowledge {
    if name.bestEvidence == .attested {
      // What another machine's program is can't be attested here, so it has none of these.
      if origin == .remote { return .absent }
      if let fact = self[name] { return fact.evidence == .attested ? .known(fact.value) : .unknown }
    } else if let fact = self[name] {
      return .known(fact.value)
    }
    return origin == .unknown || unsure.contains(name) ? .unknown : .absent
  }

  /// Whether nothing at all is known.
  public var isUnknown: Bool {
    if origin != .unknown || !candidates.isEmpty { return false }
    return windowClass == nil && instance == nil && executable == nil && script == nil && unit == nil && sandbox == nil
  }

  /// Whether the server knows no local process behind the X client, whatever else is known of it.
  public var isRemote: Bool { origin == .remote }

  /// Whether it is known to be a process of this machine.
  public var isLocal: Bool { if case .local = origin { true } else { false } }

  /// Whether this and `other` are the same app, whose own content it may always read back (product.md 2).
  ///
  /// Either the same process, or the same attested executable that says the same class and runs the same script in the
  /// same sandbox. A class alone never suffices, since any program may claim any class; an executable alone neither, since
  /// all scripts of one interpreter share it.
  public func isSameApp(as other: Subject) -> Bool {
    guard case .local(let mine) = origin, case .local(let theirs) = other.origin else { return false }
    if mine == theirs { return true }
    guard let exe = executable, exe.evidence == .attested, exe == other.executable,
      let windowClass, windowClass.evidence == .declared, windowClass == other.windowClass
    else { return false }
    return script == other.script && sandbox == other.sandbox
  }
}
