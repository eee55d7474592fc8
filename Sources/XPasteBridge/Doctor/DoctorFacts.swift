/// All that `doctor` judges by, gathered before: the judgement itself asks nobody.
struct DoctorFacts {
  /// The X server, as a new client sees it.
  enum Server: Hashable {
    /// It can be reached; the names of extensions that it lacks, and of the one by which it hands copies out itself.
    case reachable(missing: [String], copying: String? = nil)
    /// It can't, for this reason.
    case unreachable(String)
    /// It can, and lacks what no daemon can do without, for this reason.
    case unfit(String)
  }

  /// The user's unit.
  enum Unit: Hashable {
    /// It is started with this target, if anything starts that.
    case enabled(String, Start)
    /// It is there and isn't started by itself.
    case disabled
    /// It can't be started: masked, at this path where that is known.
    case masked(String?)
    /// There is none.
    case absent
  }

  /// What the user's service manager says of an enabled unit.
  enum Start: Hashable {
    /// The target is active, so that the unit was started.
    case byTarget
    /// The unit is active although its target isn't: something else has started it.
    case byOther
    /// Neither is active.
    case never
    /// There is no service manager to be asked, for this reason.
    case unasked(String)
  }

  /// Who shows notifications.
  enum NoticeServer: Hashable {
    /// A program that runs.
    case running
    /// One that is started when it is needed.
    case startable
    /// Nobody.
    case absent
    /// The session bus can't be asked, for this reason.
    case unasked(String)
  }

  /// What policy files say that a daemon would read now.
  struct Files: Hashable {
    var count = 0
    var errors: [String] = []
    /// Managed folders and files that others than root may change.
    var changeable: [String] = []
  }

  /// What the daemon says of itself.
  enum Running {
    /// Its `status` and `clients`.
    case answering(status: JSON, clients: JSON)
    /// None could be asked, for this reason.
    case absent(String)
  }

  var server: Server
  var unit: Unit
  /// Why there is no run-time folder; `nil` when there is one.
  var runtimeProblem: String?
  var notices: NoticeServer
  /// The files that a daemon would read.
  var files: Files
  var running: Running
  /// This command's version, which a running daemon should be of, too.
  var version: String
}
