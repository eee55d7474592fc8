import BoardStore
import Boards
import BridgeCore
import Foundation
import Policy
import Selection
import Testing

@testable import XPasteBridge

/// Large content of boards is copied a little at a time: between two steps the loop looks at X.
struct ContentQueueTests {
  private static let byteCount = 64 << 20
  /// Rounds that the loop has made at least when 64 MiB are through.
  private static let rounds = byteCount / ContentQueue.stepBytes - 1

  private func payload(_ byteCount: Int = byteCount) -> Payload {
    var payload = Payload()
    let block = (0..<Payload.segmentBytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for start in stride(from: 0, to: byteCount, by: block.count) {
      block.prefix(byteCount - start).withUnsafeBytes { payload.append($0) }
    }
    return payload
  }

  /// Rounds of `loop` until `isDone`.
  private func count(_ loop: EventLoop, until isDone: () -> Bool) -> Int {
    var count = 0
    while !isDone(), count < 10_000 {
      _ = try? loop.runOnce(milliseconds: 1_000)
      count += 1
    }
    return count
  }

  @Test("there and back: sealed, byte for byte, in many steps; what is small goes at once")
  func thereAndBack() throws {
    let loop = try EventLoop()
    let queue = try ContentQueue(loop: loop)
    let payload = payload()
    var file: OwnedDescriptor?
    queue.add(try OutgoingContent(payload) { file = try? $0.get() })
    #expect(count(loop) { file != nil } >= Self.rounds)
    let made = try #require(file)
    #expect(Posix.sealedByteCount(made, Posix.Seals.content) == Self.byteCount)
    let target = NamedAtom(Atom(1), "x")
    let small = try Posix.memfd("test", byteCount: 0)
    try Posix.addSeals(small, Posix.Seals.content)
    var found: [Representation]?
    let forms = [
      IncomingContent.Form(target: target, byteCount: Self.byteCount, descriptor: made),
      IncomingContent.Form(target: target, byteCount: 0, descriptor: small),
    ]
    queue.add(IncomingContent(forms) { found = try? $0.get() })
    #expect(count(loop) { found != nil } >= Self.rounds)
    #expect(found?.map(\.payload) == [payload, Payload()])
    var isAtOnce = false
    queue.add(IncomingContent([forms[1]]) { _ in isAtOnce = true })
    #expect(isAtOnce)
  }

  @Test("a job that fails says so and leaves the others alone")
  func failure() throws {
    let loop = try EventLoop()
    let queue = try ContentQueue(loop: loop)
    let file = try Posix.memfd("test", byteCount: 10)
    let target = NamedAtom(Atom(1), "x")
    var results: [Bool] = []
    // It has fewer bytes than was said.
    queue.add(
      IncomingContent([IncomingContent.Form(target: target, byteCount: 20, descriptor: file)]) { read in
        results.append((try? read.get()) != nil)
      })
    queue.add(
      IncomingContent([IncomingContent.Form(target: target, byteCount: 10, descriptor: file)]) { read in
        results.append((try? read.get()) != nil)
      })
    _ = count(loop) { results.count == 2 }
    #expect(results == [false, true])
  }

  @Test("items on their way to the store: in many steps, and what comes after them waits")
  func orders() throws {
    let loop = try EventLoop()
    var order: [String] = []
    var kept: [NewItem] = []
    let orders = try BoardOrders(loop: loop) { given in
      switch given {
      case .saveBoard: order.append("board")
      case .keep(let item, _, _):
        order.append("item")
        kept.append(item)
      case .removeItems: order.append("remove")
      default: order.append("other")
      }
    }
    let target = NamedAtom(Atom(1), "UTF8_STRING")
    func item(_ payload: Payload) -> BoardItem {
      BoardItem(
        source: .unknown, origin: "clipboard", copiedAt: .now,
        representations: [Representation(target: target, type: target, format: 8, payload: payload)])
    }
    let large = payload()
    orders.keep(item(large), on: "b", changeCount: 1)
    orders.add(.removeItems([1], fromBoard: "b", changeCount: 2))
    orders.keep(item(Payload()), on: "b", changeCount: 3)
    #expect(count(loop) { orders.count == 0 } >= Self.rounds)
    #expect(order == ["board", "item", "remove", "board", "item"])
    // At the end nothing waits for the loop.
    orders.keep(item(large), on: "b", changeCount: 4)
    orders.finish()
    #expect(order.suffix(2) == ["board", "item"] && kept.count == 3)
    for (item, payload) in zip(kept, [large, Payload(), large]) {
      let content = try #require(item.representations.first?.content)
      #expect(content.byteCount == payload.count)
      #expect(content.withBytes { Payload($0) } == payload)
    }
  }
}
