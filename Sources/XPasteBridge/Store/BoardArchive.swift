import BoardStore
import Boards
import BridgeCore
import Policy
import Selection

/// The store on disk behind persistent boards: turns items into its rows and back. It is opened when the first persistent
/// board is, and nobody waits for it.
final class BoardArchive: BoardKeeper {
  /// A board that is being read.
  private struct Reading {
    let changeCount: UInt64
    var items: [UInt64: Draft] = [:]
    var missing: Set<OrderNumber> = []
  }

  /// An item that is being read.
  private struct Draft {
    let record: ItemRecord
    let types: [String]
    var contents: [Int: StoredContent] = [:]
  }

  /// What an order was about, where its answer brings something.
  private struct Question {
    let place: ItemPlace
    let representation: Int
  }

  var onLoaded: ([StoredBoard]) -> Void = { _ in }
  private let loop: EventLoop
  private let say: (String, Priority) -> Void
  private var store: BoardStore?
  private var orders: BoardOrders?
  /// Changes that the store hasn't confirmed.
  private var unconfirmed: Set<OrderNumber> = []
  private var source: EventSource?
  private var intern: ([String]) -> [NamedAtom] = { _ in [] }
  /// What the store had when it was opened; `nil` before.
  private var found: [String: KeptBoard]?
  private var wanted: [String] = []
  private var questions: [OrderNumber: Question] = [:]
  private var readings: [String: Reading] = [:]
  private var failure: String?
  private var keySource: KeySource?

  var standing: BoardStoreStanding {
    if let failure { return .failed(failure) }
    return keySource.map { .open($0) } ?? (store == nil ? .unused : .opening)
  }

  init(loop: EventLoop, say: @escaping (String, Priority) -> Void) {
    (self.loop, self.say) = (loop, say)
  }

  func load(_ boards: [String], intern: @escaping ([String]) -> [NamedAtom]) {
    self.intern = intern
    guard open() != nil else { return }
    wanted += boards
    readWanted()
  }

  func keep(_ item: BoardItem, on board: String, changeCount: UInt64) {
    guard open() != nil else { return }
    orders?.keep(item, on: board, changeCount: changeCount)
  }

  func forget(_ items: [UInt64], of board: String, changeCount: UInt64) {
    orders?.add(.removeItems(items, fromBoard: board, changeCount: changeCount))
  }

  func forget(_ board: String) {
    guard open() != nil else { return }
    orders?.add(.removeBoard(board))
  }

  var unstoredCount: Int { unconfirmed.count + (orders?.count ?? 0) }

  func end() {
    orders?.finish()
    store?.end()
    takeEvents()
  }

  // MARK: the store

  private func open() -> BoardStore? {
    if let store { return store }
    guard failure == nil else { return nil }
    guard let configuration = StoreConfiguration.ofThisUser() else {
      return fail("neither HOME nor XDG_STATE_HOME is set")
    }
    let opened: BoardStore
    do throws(StoreFailure) { opened = try BoardStore(configuration) } catch { return fail("\(error)") }
    do throws(SystemFailure) {
      source = try loop.addInput(opened.descriptor) { [weak self] in self?.takeEvents() }
      orders = try BoardOrders(loop: loop) { [weak self, unowned opened] in
        self?.unconfirmed.insert(opened.submit($0))
      }
    } catch {
      return fail("\(error)")
    }
    store = opened
    return opened
  }

  private func fail(_ reason: String) -> BoardStore? {
    failure = reason
    say("boards are kept in memory alone: \(reason)", .warning)
    return nil
  }

  private func takeEvents() {
    for event in store?.takeEvents() ?? [] { take(event) }
  }

  private func take(_ event: StoreEvent) {
    switch event {
    case .opened(let contents):
      keySource = contents.keySource
      for remark in contents.remarks { say("stored boards: \(remark)", .warning) }
      store?.submit(.removeExpired(now: Int64(Posix.wallClockMilliseconds())))
      found = Dictionary(contents.boards.map { ($0.record.name, $0) }) { first, _ in first }
      readWanted()
    case .unavailable(let reason): _ = fail("\(reason)")
    case .content(let number, let content):
      guard let question = questions.removeValue(forKey: number) else { return }
      readings[question.place.board]?.items[question.place.serial]?.contents[question.representation] = content
      settle(question.place.board, number)
    case .rejected(let number, let reason):
      unconfirmed.remove(number)
      guard let question = questions.removeValue(forKey: number) else {
        // Said once for all that the store doesn't do after it couldn't be opened.
        if failure == nil { say("a board's change is not stored: \(reason)", .warning) }
        return
      }
      say("an item of board `\(Label.plain(question.place.board))` can't be read: \(reason)", .warning)
      readings[question.place.board]?.items[question.place.serial] = nil
      settle(question.place.board, number)
    case .remains(let reason): say("what was removed of boards still stands, sealed, in the log: \(reason)", .warning)
    case .done(let number): unconfirmed.remove(number)
    case .expired, .rekeyed: break
    }
  }

  /// Asks for the content of the boards that are wanted, once the store has been opened.
  private func readWanted() {
    guard let store, let found else { return }
    let now = Int64(Posix.wallClockMilliseconds())
    for name in wanted {
      guard let board = found[name], readings[name] == nil else { continue }
      var reading = Reading(changeCount: board.record.changeCount)
      for item in board.items where item.record.expires.map({ $0 > now }) ?? true {
        reading.items[item.record.serial] = Draft(record: item.record, types: item.representations.map(\.type))
        for index in item.representations.indices {
          let place = ItemPlace(board: name, serial: item.record.serial)
          let number = store.submit(.read(place, representation: index))
          questions[number] = Question(place: place, representation: index)
          reading.missing.insert(number)
        }
      }
      readings[name] = reading
    }
    wanted = []
  }

  /// Hands a board over when the last of it has come.
  private func settle(_ name: String, _ number: OrderNumber) {
    readings[name]?.missing.remove(number)
    guard let reading = readings[name], reading.missing.isEmpty else { return }
    readings[name] = nil
    let items = reading.items.values.sorted { $0.record.serial > $1.record.serial }.compactMap { draft in
      StoredForm.item(draft.record, types: draft.types, contents: draft.contents, intern: intern)
    }
    onLoaded([StoredBoard(name: name, changeCount: reading.changeCount, items: items)])
  }
}

/// Items as the store has them: times by the wall clock, programs and types in words.
enum StoredForm {
  /// Parts what is more than a name in a type: the target, the property's type and its format. No atom has it in its name.
  private static let mark: Character = "\u{1f}"

  static func newItem(_ item: BoardItem, _ contents: [StoredContent]) -> NewItem {
    let record = ItemRecord(
      serial: item.number, position: Int64(clamping: item.number), created: wall(item.copiedAt),
      expires: item.expiry.map(wall), isPinned: item.isPinned, source: source(of: item))
    return NewItem(
      record, zip(item.representations, contents).map { NewItem.Representation(type: type(of: $0), content: $1) })
  }

  /// The item; `nil` when something of it is missing or isn't as we write it.
  static func item(
    _ record: ItemRecord, types: [String], contents: [Int: StoredContent], intern: ([String]) -> [NamedAtom]
  ) -> BoardItem? {
    guard let json = try? JSON(reading: record.source),
      let subject = json["subject"].flatMap({ RecordJSON.subject(reading: $0) }), let origin = json["origin"]?.text
    else { return nil }
    var forms: [Representation] = []
    for (index, type) in types.enumerated() {
      guard let content = contents[index], let form = form(type, content, intern) else { return nil }
      forms.append(form)
    }
    var item = BoardItem(
      source: inAnotherRun(subject), origin: origin, isCut: json["cut"]?.truth ?? false,
      copiedAt: monotonic(record.created), expiry: record.expires.map(monotonic), representations: forms)
    (item.number, item.isPinned) = (record.serial, record.isPinned)
    item.isLocalOnly = json["localOnly"]?.truth ?? false
    item.placedBy = json["placedBy"].flatMap { RecordJSON.subject(reading: $0) }.map(inAnotherRun)
    if let steps = json["steps"]?.elements {
      let made = steps.compactMap(step)
      // By each of them it is decided: one that can't be read would be a rule left out.
      guard made.count == steps.count else { return nil }
      item.derivation = Derivation(steps: made)
    }
    return item
  }

  private static func source(of item: BoardItem) -> String {
    JSON.object([
      "subject": RecordJSON.subject(item.source), "origin": .string(item.origin), "cut": .bool(item.isCut),
      "localOnly": .bool(item.isLocalOnly), "placedBy": item.placedBy.map(RecordJSON.subject),
      "steps": item.derivation.map { .array($0.steps.map(words)) },
    ]).description
  }

  private static func words(of step: Derivation.Step) -> JSON {
    .object([
      "program": RecordJSON.subject(step.program), "target": .string(step.input.target),
      "bytes": .integer(step.input.size), "sensitive": .bool(step.input.isSensitive),
    ])
  }

  private static func step(_ json: JSON) -> Derivation.Step? {
    guard let program = json["program"].flatMap({ RecordJSON.subject(reading: $0) }), let target = json["target"]?.text,
      let bytes = json["bytes"]?.number
    else { return nil }
    let input = ContentFacts(target: target, size: bytes, isSensitive: json["sensitive"]?.truth ?? false)
    return Derivation.Step(program: inAnotherRun(program), input: input)
  }

  /// Process numbers mean other processes by now: what is known of the app stays, and no process is it.
  private static func inAnotherRun(_ subject: Subject) -> Subject {
    var subject = subject
    if subject.isLocal { subject.origin = .local(ProcessIdentity(id: 0, startTime: 0)) }
    return subject
  }

  private static func type(of form: Representation) -> String {
    guard form.type != form.target || form.format != 8 else { return form.target.name }
    return [form.target.name, form.type.name, String(form.format)].joined(separator: String(mark))
  }

  private static func form(
    _ type: String, _ content: StoredContent, _ intern: ([String]) -> [NamedAtom]
  ) -> Representation? {
    let parts = type.split(separator: mark, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 1 || parts.count == 3, let format = parts.count == 3 ? Int(parts[2]) : 8,
      [8, 16, 32].contains(format)
    else { return nil }
    let atoms = intern([parts[0], parts.count == 3 ? parts[1] : parts[0]])
    guard atoms.count == 2 else { return nil }
    let payload = content.byteCount > 0 ? Payload(0..<content.byteCount, of: content.pages) : Payload()
    return Representation(target: atoms[0], type: atoms[1], format: format, payload: payload)
  }

  private static func wall(_ time: MonotonicTime) -> Int64 {
    let distance = Int64(bitPattern: time.nanoseconds &- Posix.monotonicNow().nanoseconds) / 1_000_000
    return Int64(Posix.wallClockMilliseconds()) + distance
  }

  private static func monotonic(_ wall: Int64) -> MonotonicTime {
    let now = Posix.monotonicNow()
    let distance = wall - Int64(Posix.wallClockMilliseconds())
    guard distance < 0 else { return now.advanced(byMilliseconds: Int(distance)) }
    let back = UInt64(-distance) &* 1_000_000
    return MonotonicTime(nanoseconds: now.nanoseconds > back ? now.nanoseconds - back : 0)
  }
}
