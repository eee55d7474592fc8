import Boards
import BridgeCore
import Policy

/// A pretended store of boards.
struct StoreStage {
  /// What it keeps, the newest first.
  private(set) var kept: [String: [BoardItem]] = [:]
  /// The boards it was asked for, in order.
  private(set) var loads: [String] = []

  mutating func carryOut(_ effect: Effect) {
    switch effect {
    case .loadBoards(let names): loads += names
    case .keepItem(let item, let board):
      kept[board, default: []].removeAll { $0.number == item.number }
      kept[board, default: []].insert(item, at: 0)
    case .forgetItems(let numbers, let board): kept[board]?.removeAll { numbers.contains($0.number) }
    case .forgetBoard(let board): kept[board] = nil
    default: break
    }
  }
}

extension Stage {
  mutating func replacePolicy(_ policy: PolicySet) {
    run(bridge.replacePolicy(policy, boards: policy.boards.map { atom($0.name) }, at: now))
  }
}
