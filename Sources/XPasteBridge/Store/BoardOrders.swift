import BoardStore
import Boards
import Selection

/// Orders on their way to the store. What an item holds is copied for it a little at a time, and whatever comes after
/// the item waits for that.
final class BoardOrders {
  private enum Waiting {
    case order(StoreOrder)
    case item(ItemCopy)
  }

  private let submit: (StoreOrder) -> Void
  private var waiting: [Waiting] = []
  private var stepping: DeferredCall?

  /// Hands orders to `submit`, in their order.
  init(loop: EventLoop, submit: @escaping (StoreOrder) -> Void) throws(SystemFailure) {
    self.submit = submit
    stepping = try loop.makeDeferredCall { [weak self] in self?.step(ContentQueue.stepBytes) }
  }

  /// Orders that the store doesn't have yet.
  var count: Int { waiting.count }

  /// Gives an order.
  func add(_ order: StoreOrder) {
    guard !waiting.isEmpty else { return submit(order) }
    waiting.append(.order(order))
  }

  /// Has an item kept.
  func keep(_ item: BoardItem, on board: String, changeCount: UInt64) {
    add(.saveBoard(BoardRecord(name: board, changeCount: changeCount)))
    waiting.append(.item(ItemCopy(item, board, changeCount)))
    stepping?.request()
  }

  /// Hands over all that waits, however long that takes.
  func finish() { step(.max) }

  private func step(_ bytes: Int) {
    var room = bytes
    while let next = waiting.first, room > 0 {
      switch next {
      case .order(let order): submit(order)
      case .item(let copy):
        guard let order = copy.advance(&room) else { continue }
        submit(order)
      }
      waiting.removeFirst()
    }
    if !waiting.isEmpty { stepping?.request() }
  }
}

/// An item that is being copied for the store.
private final class ItemCopy {
  private let item: BoardItem
  private let board: String
  private let changeCount: UInt64
  private var contents: [StoredContent] = []
  private var draft: ContentDraft?
  private var chunk = 0

  init(_ item: BoardItem, _ board: String, _ changeCount: UInt64) {
    (self.item, self.board, self.changeCount) = (item, board, changeCount)
  }

  /// Copies at most `room` bytes and one chunk more; the order to keep it when all is there.
  func advance(_ room: inout Int) -> StoreOrder? {
    while contents.count < item.representations.count {
      let payload = item.representations[contents.count].payload
      if draft == nil {
        draft = ContentDraft(byteCount: payload.count)
        chunk = 0
      }
      while chunk < payload.chunkCount {
        guard room > 0 else { return nil }
        payload.withChunk(chunk) { draft?.append($0) }
        room -= payload.byteCount(ofChunk: chunk)
        chunk += 1
      }
      if let whole = draft.take() { contents.append(whole.finished()) }
    }
    return .keep(StoredForm.newItem(item, contents), onBoard: board, changeCount: changeCount)
  }
}
