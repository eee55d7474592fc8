import Glibc
import Policy
import Selection
import X11

/// Finds out who is behind a window (product.md 4).
///
/// Windows that own selections and ask for them are mostly hidden and say nothing. So: the process of the window's X
/// client, as the server saw it connect, asked at every decision, because XIDs go to the next client at once; then the
/// class, from the window and its ancestors, else from other windows of the client, else from those of the process's
/// other clients. Where the process that connected has ended, the one that holds its connection counts.
final class SubjectResolver {
  /// Clients remembered, each with one open descriptor. Our choice: more than take part in selections in a session.
  private static let capacity = 64
  /// Requests whose requestors are asked about together. Our choice: few enough that the last is decided within some
  /// milliseconds of the answer.
  private static let askedAhead = 16

  private let display: Display
  /// Finds processes for clients met for the first time.
  let holderSearch: HolderSearch
  private var memories: [UInt32: ClientMemory] = [:]
  private var useCount: UInt64 = 0
  /// What was asked about the requestors of requests that wait; it counts for those requests alone.
  private var ahead: [Window: Ahead] = [:]
  /// The count of events taken at which all those requests have been dealt with.
  private var aheadEnd: UInt64 = 0
  /// Searches made because no memory answered, for tests and measurements.
  private(set) var searchCount = 0

  init(display: Display, connections: ConnectionSource? = nil) {
    self.display = display
    holderSearch = HolderSearch(display: display, source: connections ?? ConnectionSource(display: display.name))
  }

  /// Who is behind `window`, now.
  func resolve(_ window: Window) -> Subject {
    let base = display.resourceBase(of: window)
    // Base 0 is the server itself: the root window is nobody's.
    guard window != .none, base != 0 else { return .unknown }
    let memory = memories[base]
    let answer = answer(question(about: window, knowing: memory))
    if let memory, answer.processID == memory.holder.namedID, holderSearch.isCurrent(memory.holder) {
      if let subject = recall(memory, base: base, window: window, answer: answer) { return subject }
      return search(window, answer: answer, holder: memory.holder)
    }
    memories[base] = nil
    guard let id = answer.processID else {
      guard answer.windowExists else { return .unknown }
      guard display.namesPrograms else {
        return completed(search(window, answer: answer, holder: nil, origin: .unknown), by: .unknown)
      }
      return search(window, answer: answer, holder: nil)
    }
    let finding = holder(base: base, id: id)
    if case .process(let holder) = finding { return search(window, answer: answer, holder: holder) }
    return completed(search(window, answer: answer, holder: nil, origin: .unknown), by: finding)
  }

  /// `subject`, of which nothing is known but what its windows say, as what was found of its process makes it.
  private func completed(_ subject: Subject, by finding: HolderFinding) -> Subject {
    var subject = subject
    switch finding {
    case .process(let holder):
      return self.subject(
        holder.process, pair: nil, evidence: .declared, machine: subject.host?.value, origin: subject.origin)
    case .oneOf(let executable, _, _, _, _) where Forwarder.isOne(executable): subject.origin = .remote
    case .oneOf(let executable, let script, let unit, let sandbox, let processes):
      (subject.executable, subject.script, subject.unit, subject.sandbox) = (executable, script, unit, sandbox)
      subject.candidates = candidates(processes, like: subject)
    case .among(let processes): subject.candidates = candidates(processes, like: subject)
    case .unknown:
      // The process that connected has ended and another holds its connection, or the server names none: nothing in /proc
      // may be believed.
      subject.unsure.formUnion([.executable, .script, .unit, .sandbox])
      // Windows of its other connections can't be found.
      if subject.windowClass == nil { subject.unsure.formUnion([.windowClass, .instance]) }
    }
    return subject
  }

  private func candidates(_ processes: [ProcessRecord], like subject: Subject) -> [Subject] {
    processes.map { process in
      var candidate = self.subject(
        process, pair: nil, evidence: .declared, machine: subject.host?.value, origin: .unknown)
      (candidate.windowClass, candidate.instance) = (subject.windowClass, subject.instance)
      candidate.unsure.formUnion(subject.unsure.intersection([.windowClass, .instance]))
      return candidate
    }
  }

  /// Binds what can be told apart now to its process, before more comes.
  func settle() { holderSearch.settle(known: memories.mapValues(\.holder)) }

  /// All X clients of the display, without those that have ended and left something there; `earlier` says which of them came first.
  func clients(earlier: EarlierClients = EarlierClients()) -> [ClientDescription] {
    let (topLevels, processIDs) = display.survey()
    let byClient = Dictionary(grouping: topLevels.all, by: display.resourceBase(of:))
    let retained = display.retainedClients(among: processIDs.keys)
    let bases = display.clientBases().filter { !retained.contains($0) }
    let first = earlier.remaining(among: processIDs, bases: bases)
    return bases.map { base in
      let isOurs = display.isOurs(Window(base))
      let windows = display.describe(Array((byClient[base] ?? []).suffix(ClientMemory.questions * 4)))
      let shown = windows.max { $0.standing < $1.standing }
      let subject: Subject
      if let shown {
        subject = resolve(shown.window)
      } else {
        // Without a window there is nothing but the process.
        let finding = display.namesPrograms ? processIDs[base].map { holder(base: base, id: $0) } : .unknown
        subject = finding.map { completed(.unknown, by: $0) } ?? Subject(origin: .remote)
      }
      return ClientDescription(
        subject: subject, resourceBase: base, windows: windows, isSelf: isOurs || processIDs[base] == getpid(),
        isEarlier: first.contains(base))
    }
  }

  /// Who a process is that came another way than by X. Its class is that of its X client, if it has one with a window.
  func resolve(_ process: ProcessRecord) -> Subject {
    let id = process.identity.id
    let (topLevels, processIDs) = display.survey()
    let bases = Set(processIDs.filter { $0.value == id }.keys)
    for window in topLevels.all.reversed() where bases.contains(display.resourceBase(of: window)) {
      let found = resolve(window)
      if found.origin == .local(process.identity), found.windowClass != nil { return found }
    }
    var subject = subject(
      process.refresh() ? process : nil, pair: nil, evidence: .declared, machine: nil, origin: .unknown)
    // It may have windows, and nothing says which.
    if !display.namesPrograms { subject.unsure.formUnion([.windowClass, .instance]) }
    return subject
  }

  // MARK: Several at once

  private enum Ahead {
    case asked(AskedIdentity)
    case answered(IdentityQuestion, IdentityAnswer)
  }

  /// Asks about all whose requests wait to be taken, so that they share a round trip. Call it before each event is taken.
  ///
  /// Every decision still rests on what the server said after the request had come. Returns whether questions were asked:
  /// a good moment to send the answers to the requests before.
  func askAhead() -> Bool {
    guard display.takenEventCount >= aheadEnd else { return false }
    // An answer that nobody wanted is taken nevertheless: the connection would keep it.
    for case .asked(let asked) in ahead.values { _ = display.take(asked) }
    ahead = [:]
    let requestors = display.waitingRequestors(atMost: Self.askedAhead)
    guard requestors.count > 1 else { return false }
    aheadEnd = display.takenEventCount + UInt64(requestors.count)
    for window in Set(requestors) {
      let memory = memories[display.resourceBase(of: window)]
      ahead[window] = .asked(display.ask(question(about: window, knowing: memory)))
    }
    return true
  }

  private func answer(_ question: IdentityQuestion) -> IdentityAnswer {
    // Past its requests an answer is stale.
    guard display.takenEventCount <= aheadEnd, let known = ahead[question.window] else {
      return display.answer(question)
    }
    let answer: (to: IdentityQuestion, IdentityAnswer) =
      switch known {
      case .asked(let asked): (asked.question, display.take(asked))
      case .answered(let earlier, let answer): (earlier, answer)
      }
    ahead[question.window] = .answered(answer.to, answer.1)
    // What is remembered of the client may have changed since.
    return answer.to == question ? answer.1 : display.answer(question)
  }

  // MARK: The short way

  private func question(about window: Window, knowing memory: ClientMemory?) -> IdentityQuestion {
    var question = IdentityQuestion(window)
    if let memory { extend(&question, by: memory) }
    return question
  }

  private func extend(_ question: inout IdentityQuestion, by memory: ClientMemory) {
    if let ancestor = memory.ancestors[question.window], ancestor != .none, ancestor != question.window {
      question.classesOf = [ancestor]
    }
    guard memory.ancestors[question.window] == Window.none else { return }
    question.classesOf = Array(memory.candidates.prefix(ClientMemory.questions))
    switch memory.source {
    case .ownTopLevel, .sameClient: break
    case .sameProcess: question.processesOf = question.classesOf
    case .nowhere: question.wantsTopLevels = true
    }
  }

  /// The subject, if what was asked again confirms `memory`; `nil` when only a search can tell.
  private func recall(_ memory: ClientMemory, base: UInt32, window: Window, answer: IdentityAnswer) -> Subject? {
    let pair: ClassPair
    if let own = answer.classes[window] {
      pair = own
    } else {
      guard let ancestor = memory.ancestors[window] else { return nil }
      if ancestor != .none {
        guard let found = answer.classes[ancestor] else { return nil }
        pair = found
      } else if case .nowhere(let topLevels) = memory.source {
        // The same windows as before, and still none of them has a class.
        guard topLevels == answer.topLevels, answer.classes.isEmpty else { return nil }
        touch(base)
        return subject(memory.process, pair: nil, evidence: .declared, machine: memory.machine)
      } else {
        guard let found = confirmedClass(memory, base: base, answer: answer) else { return nil }
        pair = found
      }
    }
    touch(base)
    return subject(memory.process, pair: pair, evidence: .declared, machine: memory.machine)
  }

  private func confirmedClass(_ memory: ClientMemory, base: UInt32, answer: IdentityAnswer) -> ClassPair? {
    let isOurs = { [display] (window: Window) in
      // Bases of other clients are confirmed by the process that the server names for them now.
      display.resourceBase(of: window) == base || answer.processIDs[window] == memory.process.identity.id
    }
    let active = answer.activeWindow
    if active != .none, let found = answer.classes[active], isOurs(active) { return found }
    // A window that has become active and wasn't a candidate may be this app's, with another class.
    if active != .none, !memory.candidates.contains(active) {
      if display.resourceBase(of: active) == base { return nil }
      let id = memory.process.identity.id
      if memory.source == .sameProcess, display.answer(IdentityQuestion(active)).processID == id {
        return nil
      }
    }
    guard isOurs(memory.window) else { return nil }
    return answer.classes[memory.window]
  }

  private func touch(_ base: UInt32) {
    useCount += 1
    memories[base]?.lastUse = useCount
  }

  // MARK: The long way

  private typealias Finding = ClientMemory.Finding

  private func search(
    _ window: Window, answer: IdentityAnswer, holder: ClientHolder?, origin: Origin = .remote
  ) -> Subject {
    searchCount += 1
    let process = holder?.process
    let base = display.resourceBase(of: window)
    let (ancestor, ancestorPair, isTop) = classedAncestor(of: window, own: answer.classes[window])
    var finding: Finding
    var spent: (from: MonotonicTime, to: MonotonicTime)?
    if let ancestorPair {
      finding = Finding(source: .ownTopLevel, window: ancestor, pair: ancestorPair, candidates: [ancestor])
      finding.machine = display.describe([ancestor]).first?.machine
    } else if let recent = memories[base]?.budget.standIn(at: .now) {
      finding = recent
    } else {
      let begun = MonotonicTime.now
      // The clients that come by one ssh are programs of their own.
      let shared = process.flatMap { Forwarder.isOne($0.executable) ? nil : $0.identity.id }
      finding = searchWindows(base: base, active: answer.activeWindow, processID: shared)
      spent = (begun, .now)
    }
    if let holder {
      remember(finding, base: base, window: window, ancestor: ancestor, isTop: isTop, holder: holder)
      if let spent { memories[base]?.budget.spend(from: spent.from, to: spent.to, finding: finding) }
    }
    if finding.pair == nil, let process, Wine.isWine(process.executable?.value),
      let pair = display.answer(IdentityQuestion(answer.activeWindow)).classes[answer.activeWindow]
    {
      return subject(process, pair: pair, evidence: .inferred, machine: finding.machine, origin: origin)
    }
    return subject(process, pair: finding.pair, evidence: .declared, machine: finding.machine, origin: origin)
  }

  /// The first window with a class from `window` upwards among the same client's, and whether `window` is a top-level.
  private func classedAncestor(of window: Window, own: ClassPair?) -> (Window, ClassPair?, isTop: Bool) {
    if let own { return (window, own, false) }
    var next = window
    // Our choice: no toolkit nests a window that asks for selections deeper.
    for depth in 0..<16 {
      guard let parent = display.parentOfSameClient(next) else { return (.none, nil, depth == 0) }
      if let pair = display.describe([parent]).first?.pair { return (parent, pair, false) }
      next = parent
    }
    return (.none, nil, false)
  }

  private func searchWindows(base: UInt32, active: Window, processID: Int32?) -> Finding {
    let (topLevels, processIDs) = display.survey()
    let others = Set(processIDs.filter { $0.value == processID && $0.key != base }.keys)
    for (bases, source) in [(Set([base]), ClientMemory.Source.sameClient), (others, .sameProcess)] where !bases.isEmpty
    {
      let isTheirs = { [display] (window: Window) in bases.contains(display.resourceBase(of: window)) }
      // The active window first, then the topmost: of a client with thousands only the first ones are looked at.
      var windows = Array(topLevels.all.filter(isTheirs).suffix(Display.describedWindows))
      if isTheirs(active) { windows = windows.filter { $0 != active } + [active] }
      var described = display.describe(windows)
      // A window manager that publishes a list of windows adds a new one a moment after it has framed it (openbox: after
      // its program was told that the window is there), and some publish none.
      if !described.contains(where: { $0.pair != nil }) {
        described += display.describe(display.descend(from: topLevels.rootChildren, findingClients: bases))
      }
      let classed = described.filter { $0.pair != nil }
      let best = classed.first { $0.window == active } ?? Self.likeliest(classed)
      guard let best else { continue }
      let candidates = [best] + classed.filter { $0.window != best.window }.sorted { $0.standing > $1.standing }
      return Finding(
        source: source, window: best.window, pair: best.pair, candidates: candidates.map(\.window),
        machine: best.machine ?? classed.lazy.compactMap(\.machine).first)
    }
    let mine = others.union([base])
    let candidates = topLevels.all.filter { mine.contains(display.resourceBase(of: $0)) }
    return Finding(source: .nowhere(topLevels), candidates: candidates)
  }

  /// The window that most likely stands for the app: managed before mapped before hidden, the oldest of several.
  private static func likeliest(_ windows: [ClassedWindow]) -> ClassedWindow? {
    windows.min { ($1.standing, $0.window.id) < ($0.standing, $1.window.id) }
  }

  private func remember(
    _ finding: Finding, base: UInt32, window: Window, ancestor: Window, isTop: Bool, holder: ClientHolder
  ) {
    var memory =
      memories[base]
      ?? ClientMemory(
        holder: holder, source: finding.source, window: finding.window, candidates: [], machine: nil,
        ancestors: [:], lastUse: 0)
    if memory.ancestors.count >= ClientMemory.questions { memory.ancestors = [:] }
    memory.machine = finding.machine ?? memory.machine
    switch finding.source {
    case .ownTopLevel: memory.ancestors[window] = ancestor
    case .sameClient, .sameProcess, .nowhere:
      // "No ancestor has a class" is remembered of top-levels alone: an ancestor could get one later.
      memory.ancestors[window] = isTop ? Window.none : nil
      memory.source = finding.source
      memory.window = finding.window
      memory.candidates = finding.candidates
      if case .nowhere = finding.source, finding.candidates.count > ClientMemory.questions {
        // More windows than can be asked again: searched again every time.
        memory.ancestors[window] = nil
      }
    }
    memories[base] = memory
    touch(base)
    if memories.count > Self.capacity, let oldest = memories.min(by: { $0.value.lastUse < $1.value.lastUse }) {
      memories[oldest.key] = nil
    }
  }

  /// The process behind a client that isn't remembered.
  private func holder(base: UInt32, id: Int32) -> HolderFinding {
    // The record of a process is shared by its clients.
    settle()
    let shared = memories.values.first { $0.process.identity.id == id }?.process
    let process = shared?.refresh() == true ? shared : ProcessRecord(id)
    return holderSearch.find(base: base, id: id, process: process, known: memories.mapValues(\.holder))
  }

  private func subject(
    _ process: ProcessRecord?, pair: ClassPair?, evidence: Evidence, machine: String?, origin: Origin = .remote
  ) -> Subject {
    // What is known of the process that forwards says nothing of the program at the other end.
    let isForwarded = Forwarder.isOne(process?.executable)
    // One that forbids being inspected may forward.
    let mayForward = process.map { $0.executable == nil && Forwarder.isNamedLikeOne($0.identity.id) } ?? false
    let process = isForwarded ? nil : process
    let isKnown = pair?.isKnown ?? true
    var subject = Subject(
      origin: mayForward ? .unknown : process.map { .local($0.identity) } ?? (isForwarded ? .remote : origin),
      windowClass: isKnown ? pair.map { Fact($0.windowClass, evidence) } : nil,
      // An empty instance is as good as none.
      instance: isKnown ? pair.flatMap { $0.instance.isEmpty ? nil : Fact($0.instance, evidence) } : nil,
      executable: process?.executable, script: process?.script, unit: process?.unit, sandbox: process?.sandbox,
      host: machine.map { Fact($0, .declared) })
    if !isKnown { subject.unsure.formUnion([.windowClass, .instance]) }
    // Every process runs something; what isn't attested could be anything.
    if let process, process.executable?.evidence != .attested {
      subject.unsure.insert(.executable)
      if process.executable == nil { subject.unsure.formUnion([.script, .sandbox]) }
    }
    return subject
  }
}

/// Programs that connect to the X server for programs of other machines: `ssh -X` on this side, and sshd where the X
/// server is reached by way of another machine's.
nonisolated enum Forwarder {
  private static let names: Set<Substring> = ["ssh", "sshd", "sshd-session", "dbclient", "dropbear"]

  /// Whether `executable` is one, so that the X client is a program of another machine.
  static func isOne(_ executable: Fact?) -> Bool {
    guard let executable, executable.evidence == .attested else { return false }
    return executable.value.utf8.split(separator: UInt8(ascii: "/")).last.map { names.contains(Substring($0)) } ?? false
  }

  /// Whether the process `id`, whose executable can't be read, bears the name of one.
  static func isNamedLikeOne(_ id: Int32) -> Bool { ProcessFile.name(of: id).map { names.contains($0) } ?? false }
}

/// Wine, whose selections belong to its explorer and not to the program at work.
nonisolated enum Wine {
  static func isWine(_ executable: String?) -> Bool {
    guard let name = executable?.split(separator: "/").last?.lowercased() else { return false }
    return name.hasPrefix("wine") || name == "explorer.exe"
  }
}
