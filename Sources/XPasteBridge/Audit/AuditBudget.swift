import BridgeCore
import Policy
import Selection

/// How many records a second are written, so that they fill neither a disk nor the journal's own limit (10,000 in 30 s).
/// Each program has its own share, so that one that floods hides nothing of the others. What is left out is counted by
/// program.
struct AuditBudget {
  /// Records of one program (our choice: a person's own pastes with `audit: true` never come near).
  static let ofProgram = 20
  /// Records of one program that are written whatever the others do.
  static let ofProgramAlways = 3
  /// Records beyond those, of all programs together.
  static let ofAll = 100
  /// Programs that are told apart; the others share what one has.
  static let mostPrograms = 64
  /// After so many seconds without a record a program's place is free.
  static let idleSeconds: UInt64 = 60

  /// Which program: its attested file, so that one that is started again and again is one; else its process; else what
  /// little is known.
  enum Program: Hashable {
    case executable(String)
    case process(ProcessIdentity)
    case remote
    case unknown
    /// All for whom there was no place.
    case others

    init(_ subject: Subject?) {
      if let executable = subject?.executable, executable.evidence == .attested {
        self = .executable(executable.value)
        return
      }
      switch subject?.origin {
      case .local(let process): self = .process(process)
      case .remote: self = .remote
      case .unknown, nil: self = .unknown
      }
    }
  }

  /// Records of one program that were left out.
  struct Gap: Hashable {
    /// The program as it was last seen; `nil` for all for whom there was no place.
    var program: Subject?
    /// How many.
    var count: Int
  }

  private struct Place {
    var subject: Subject?
    var second: UInt64
    var lines = 0
    var unsaid = 0
  }

  private var places: [Program: Place] = [:]
  private var second: UInt64 = 0
  private var shared = 0

  /// Whether anything was left out since the gaps were last taken.
  var hasGaps: Bool { places.values.contains { $0.unsaid > 0 } }
  /// The second that records are counted in.
  var currentSecond: UInt64 { second }

  /// Begins `second` if it is a new one; whether it is.
  mutating func begin(_ second: UInt64) -> Bool {
    guard second != self.second else { return false }
    (self.second, shared) = (second, 0)
    return true
  }

  /// Whether one more record that `subject` has caused is written in this second.
  mutating func admits(_ subject: Subject?) -> Bool {
    let program = place(for: Program(subject))
    var place = places[program] ?? Place(subject: nil, second: second)
    if place.second != second { (place.second, place.lines) = (second, 0) }
    place.subject = program == .others ? nil : subject
    defer { places[program] = place }
    let isAlways = place.lines < Self.ofProgramAlways
    guard place.lines < Self.ofProgram, isAlways || shared < Self.ofAll else {
      place.unsaid += 1
      return false
    }
    place.lines += 1
    if !isAlways { shared += 1 }
    return true
  }

  private mutating func place(for program: Program) -> Program {
    guard places[program] == nil else { return program }
    if places.count >= Self.mostPrograms {
      places = places.filter { $0.value.unsaid > 0 || $0.value.second + Self.idleSeconds > second }
    }
    return places.count < Self.mostPrograms ? program : .others
  }

  /// What was left out, by program, and counts anew.
  mutating func takeGaps() -> [Gap] {
    var gaps: [Gap] = []
    for (program, place) in places where place.unsaid > 0 {
      gaps.append(Gap(program: place.subject, count: place.unsaid))
      places[program]?.unsaid = 0
    }
    return gaps.sorted { $0.count > $1.count }
  }
}

extension AuditRecord {
  /// The program that has caused it: who pastes, lists or drags, else who copied.
  var cause: Subject? {
    switch kind {
    case .paste, .drag, .list, .action, .allowOnce: destination ?? source
    case .copy, .cut, .clear, .expire: source ?? destination
    }
  }
}
