import CSystemd
import Glibc

/// The boards that outlive the session, in one file of the user's. All work on it is done by a thread of its own: orders go
/// there and events come back as values, and nobody waits for the disk.
///
/// ```swift
/// let store = try BoardStore(configuration)
/// source = try loop.addInput(store.descriptor) { for event in store.takeEvents() { … } }
/// let number = store.submit(.keep(item, onBoard: "com.acme.finance", changeCount: 8))
/// ```
public final class BoardStore {
  /// What goes to the store's thread.
  enum Letter: Sendable {
    case order(OrderNumber, StoreOrder)
    case end
  }

  private let orders: Mailbox<Letter>
  private let events: Mailbox<StoreEvent>
  private var thread: pthread_t?
  private var lastNumber: UInt64 = 0

  /// Starts the thread, which opens the store; the first event says whether it could. The only errors thrown here are the
  /// system's, when it has no descriptors or threads left.
  public init(_ configuration: StoreConfiguration) throws(StoreFailure) {
    orders = try Mailbox()
    events = try Mailbox()
    thread = try StoreThread(configuration, orders, events).start()
  }

  deinit { end() }

  /// Can be read (`EPOLLIN`) while events wait. It belongs to the store.
  public var descriptor: Int32 { events.descriptor }

  /// Hands an order over; its answer comes as an event. Orders are carried out in their order.
  @discardableResult
  public func submit(_ order: StoreOrder) -> OrderNumber {
    lastNumber += 1
    let number = OrderNumber(value: lastNumber)
    orders.put(.order(number, order))
    return number
  }

  /// The events since the last call, perhaps none.
  public func takeEvents() -> [StoreEvent] { events.takeAll() }

  /// Waits until all orders are carried out, and ends the thread. Their events can still be taken; later orders are lost.
  public func end() {
    guard let thread else { return }
    self.thread = nil
    orders.put(.end)
    pthread_join(thread, nil)
  }

  /// Puts the store's files aside, so that the next store in `folder` begins empty, and says under which name they are
  /// kept. For a person who has lost the key, or wants to start anew after damage; the store itself never does it.
  public static func setAside(folder: String) throws(StoreFailure) -> String {
    let lock = try StoreFiles.lockFolder(folder)
    defer { withExtendedLifetime(lock) {} }
    var count = 1
    while StoreFiles.exists("\(folder)/\(StoreFiles.database).aside-\(count)") { count += 1 }
    let name = "\(StoreFiles.database).aside-\(count)"
    // The log first: a file without it would be older than the person remembers, and without an error.
    if StoreFiles.exists("\(folder)/\(StoreFiles.database)-wal") {
      try StoreFiles.rename(StoreFiles.database + "-wal", to: name + "-wal", in: folder)
    }
    try StoreFiles.rename(StoreFiles.database, to: name, in: folder)
    // The next store begins with the same key file; when that has another key, this one still has its own.
    try StoreFiles.link(StoreFiles.key, as: name + ".key", in: folder)
    return "\(folder)/\(name)"
  }
}

/// The store's thread: takes orders one by one, and is the only one that has the database.
private final class StoreThread {
  private let configuration: StoreConfiguration
  private let orders: Mailbox<BoardStore.Letter>
  private let events: Mailbox<StoreEvent>

  init(_ configuration: StoreConfiguration, _ orders: Mailbox<BoardStore.Letter>, _ events: Mailbox<StoreEvent>) {
    (self.configuration, self.orders, self.events) = (configuration, orders, events)
  }

  /// Starts the thread and leaves `self` to it alone.
  consuming func start() throws(StoreFailure) -> pthread_t {
    var all = sigset_t()
    var former = sigset_t()
    var thread = pthread_t()
    // Signals are the main thread's.
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    let pointer = Unmanaged.passRetained(self)
    let result = pthread_create(
      &thread, nil,
      { pointer in
        pthread_setname_np(pthread_self(), "boards")
        if let pointer { Unmanaged<StoreThread>.fromOpaque(pointer).takeRetainedValue().run() }
        return nil
      }, pointer.toOpaque())
    guard result == 0 else {
      pointer.release()
      throw .system(call: "pthread_create", path: "the store", code: result)
    }
    return thread
  }

  private func run() {
    let database: BoardDatabase
    do {
      let (opened, contents) = try BoardDatabase.open(configuration)
      database = opened
      events.put(.opened(contents))
    } catch {
      events.put(.unavailable(error))
      return reject(with: error)
    }
    while true {
      // What was removed is confirmed when the log is empty, once for all orders that came together.
      var unconfirmed: [StoreEvent] = []
      var isEnded = false
      for letter in orders.waitForLetters() {
        switch letter {
        case .order(let number, let order):
          let answer = answer(to: order, number, database)
          if database.hasRemains { unconfirmed.append(answer) } else { events.put(answer) }
        case .end: isEnded = true
        }
      }
      if database.hasRemains { do { try database.empty() } catch { events.put(.remains(error)) } }
      for answer in unconfirmed { events.put(answer) }
      if isEnded { return }
    }
  }

  /// Answers every order as the opening ended.
  private func reject(with failure: StoreFailure) {
    while true {
      for letter in orders.waitForLetters() {
        switch letter {
        case .order(let number, _): events.put(.rejected(number, failure))
        case .end: return
        }
      }
    }
  }

  private func answer(to order: StoreOrder, _ number: OrderNumber, _ database: BoardDatabase) -> StoreEvent {
    do {
      switch order {
      case .saveBoard(let record): try database.save(record)
      case .removeBoard(let name): try database.removeBoard(name)
      case .keep(let item, let name, let count): try database.keep(item, on: name, changeCount: count)
      case .replaceItems(let items, let name, let count):
        try database.replaceItems(items, on: name, changeCount: count)
      case .amend(let record, let name, let count): try database.amend(record, on: name, changeCount: count)
      case .removeItems(let serials, let name, let count):
        try database.removeItems(serials, from: name, changeCount: count)
      case .removeExpired(let now): return .expired(number, try database.removeExpired(now: now))
      case .read(let place, let representation):
        return .content(number, try database.read(place, representation: representation))
      case .rekey:
        let remarks = try database.rekey()
        return .rekeyed(number, database.key.source, remarks: remarks)
      }
      return .done(number)
    } catch {
      return .rejected(number, error)
    }
  }
}
