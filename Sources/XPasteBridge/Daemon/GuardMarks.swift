import Policy
import Selection
import X11

/// The selections that mark the screens of a display as guarded (ICCCM 2.8), one for each: CLIPBOARD is common to the
/// screens, so an instance on another screen would only fight this one.
///
/// Any X client can take a selection, in the name of any window. So a loss means nothing by itself: only an instance of
/// ours that is attested and owns the mark with a window of its own ends us. Where that can't be known, the mark is taken
/// back and the guard goes on.
final class GuardMarks {
  private let display: Display
  private let resolver: SubjectResolver
  private let isSuccessor: (Subject) -> Bool
  private let say: (String, Priority) -> Void
  private var marks: [ManagerSelection] = []
  private var pace = RetakePace()
  private var lost: Set<Int> = []

  /// When ``deadlineReached()`` is to be called; `nil` while no mark is lost.
  private(set) var deadline: MonotonicTime?

  init(
    display: Display, resolver: SubjectResolver, isSuccessor: @escaping (Subject) -> Bool,
    say: @escaping (String, Priority) -> Void
  ) {
    self.display = display
    self.resolver = resolver
    self.isSuccessor = isSuccessor
    self.say = say
  }

  /// Marks all screens; with `replaces` in the place of another instance.
  func take(replaces: Bool) throws(RunnerError) {
    for screen in display.roots.indices { marks.append(try take(screen, replaces: replaces)) }
  }

  /// Gives the marks up, which tells a successor that we are gone.
  func resign() { marks.forEach(display.resign) }

  /// Whether a predecessor that was replaced hasn't gone.
  var hasLingeringPredecessor: Bool { marks.contains(where: \.hasLingeringPredecessor) }

  /// The screen that `selection` marks.
  func screen(markedBy selection: Atom) -> Int? { marks.firstIndex { $0.selection.atom == selection } }

  /// Since when the mark of `screen` is ours.
  func time(of screen: Int) -> ServerTime { marks[screen].time }

  /// Somebody has taken the mark of `screen`: the end of our work, if it is a successor.
  func lose(_ screen: Int) -> RunnerEnding? {
    lost.insert(screen)
    let due = pace.due(at: .now)
    guard due <= .now else {
      deadline = due
      return nil
    }
    return deadlineReached()
  }

  /// Takes back what was lost, unless a successor has it.
  func deadlineReached() -> RunnerEnding? {
    let screens = lost
    lost = []
    deadline = nil
    for screen in screens.sorted() {
      if let ending = settle(screen) { return ending }
    }
    return nil
  }

  private func settle(_ screen: Int) -> RunnerEnding? {
    let owner = display.selectionOwner(marks[screen].selection.atom)
    // A claim in the name of our own window is nobody's that could be named.
    let subject = owner == .none || display.isOurs(owner) ? Subject.unknown : resolver.resolve(owner)
    if isSuccessor(subject) { return .replaced(by: subject) }
    let outcome: String
    do throws(ManagerSelectionError) {
      marks[screen] = try display.acquire(
        marks[screen].selection, for: marks[screen].window, on: display.roots[screen], replacing: true,
        withinMilliseconds: 0)
      outcome = "taken back"
    } catch {
      // Its loss comes as an event of its own only to an owner.
      lost.insert(screen)
      outcome = "to be taken back"
    }
    let count = pace.retaken(at: .now)
    if !lost.isEmpty { deadline = pace.due(at: .now) }
    if let count {
      let times = count > 1 ? " \(count) times" : ""
      say(
        "\(Self.name(subject)) took the mark that screen \(screen) is guarded\(times): \(outcome); guarding as before",
        .warning)
    }
    return nil
  }

  private func take(
    _ screen: Int, replaces: Bool, withinMilliseconds milliseconds: Int = ManagerSelection.predecessorMilliseconds
  ) throws(RunnerError) -> ManagerSelection {
    let name = display.atoms.intern("_XPASTEBRIDGE_S\(screen)")
    let mark: ManagerSelection
    do throws(ManagerSelectionError) {
      mark = try display.acquire(
        name, on: display.roots[screen], replacing: replaces, withinMilliseconds: milliseconds)
    } catch {
      switch error {
      case .owned(let window):
        let owner = resolver.resolve(window)
        guard !Instance.isLikely(owner) else {
          throw .alreadyRunning(display: display.name, screen: screen, owner: owner)
        }
        let who = display.namesPrograms ? "a program that guards nothing" : "a program that can't be told"
        say("screen \(screen) was marked as guarded by \(who); taken over", .warning)
        return try take(screen, replaces: true, withinMilliseconds: 0)
      case .lost: throw display.isLost ? .serverLost : .overtaken(display: display.name, screen: screen)
      }
    }
    // A predecessor that isn't sure of us takes the mark back and guards on; two would only fight.
    guard milliseconds > 0, mark.hasLingeringPredecessor else { return mark }
    let owner = display.selectionOwner(name.atom)
    guard owner == mark.window else {
      throw .refused(display: display.name, screen: screen, owner: resolver.resolve(owner))
    }
    return mark
  }

  private static func name(_ subject: Subject) -> String {
    guard case .local(let process) = subject.origin else { return "another program" }
    let path = subject.executable.flatMap { $0.evidence == .attested ? "`\(Label.shortened($0.value))`" : nil }
    return "\(path ?? "a program") (pid \(process.id))"
  }
}
