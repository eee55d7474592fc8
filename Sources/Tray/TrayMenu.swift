/// The menu below the sign.
public enum TrayMenu {
  /// Refusals shown (our choice: what fits beside the rest without scrolling).
  public static let refusalLimit = 8
  /// Boards shown.
  public static let boardLimit = 20

  /// The root's number, which the protocol fixes.
  public static let root: Int32 = 0
  static let headline: Int32 = 1
  static let policy: Int32 = 2
  static let fault: Int32 = 3
  static let trial: Int32 = 4
  static let firstLine: Int32 = 5
  static let refusals: Int32 = 6
  static let boards: Int32 = 7
  static let secondLine: Int32 = 8
  /// The item that sets and lifts a lockdown.
  public static let lockdown: Int32 = 9
  // Each refusal has ten numbers for itself and what is below it.
  static let firstRefusal: Int32 = 100
  static let firstBoard: Int32 = 300
  static let moreBoards: Int32 = 399

  static let trialLine = "The policy isn't enforced: what it would refuse is only written down"

  /// The menu of a state.
  public static func menu(of state: TrayState) -> MenuItem {
    var items = [
      MenuItem(headline, TrayFace(state).headline, isEnabled: false),
      MenuItem(policy, state.summary, isEnabled: false),
    ]
    if let error = state.fault { items.append(MenuItem(fault, error, isEnabled: false)) }
    if !state.isEnforced { items.append(MenuItem(trial, trialLine, isEnabled: false)) }
    items.append(MenuItem(firstLine, kind: .separator))
    items.append(refusalItem(state.refusals))
    if !state.boards.isEmpty { items.append(boardItem(state.boards)) }
    items.append(MenuItem(secondLine, kind: .separator))
    items.append(lockdownItem(state))
    return MenuItem(root, children: items)
  }

  private static func lockdownItem(_ state: TrayState) -> MenuItem {
    let isStuck = state.isLockedDown && !state.liftsLockdown
    return MenuItem(
      lockdown, isStuck ? "Lockdown (the policy doesn't let it be lifted)" : "Lockdown",
      kind: .checkmark(state.isLockedDown), isEnabled: !isStuck)
  }

  private static func refusalItem(_ all: [TrayState.Refusal]) -> MenuItem {
    guard !all.isEmpty else { return MenuItem(refusals, "No refusals so far", isEnabled: false) }
    let items = all.prefix(refusalLimit).enumerated().map { index, refusal in
      let id = firstRefusal + Int32(index) * 10
      return MenuItem(id, line(of: refusal), children: details(of: refusal, id))
    }
    return MenuItem(refusals, "Last refusals", children: items)
  }

  private static func line(of refusal: TrayState.Refusal) -> String {
    let who = [refusal.source, refusal.destination].compactMap { $0?.name }.joined(separator: " → ")
    let times = refusal.count > 1 ? " (\(refusal.count) times)" : ""
    return "\(refusal.clock)  \(refusal.action)  \(who): \(refusal.reason)\(times)"
  }

  private static func details(of refusal: TrayState.Refusal, _ id: Int32) -> [MenuItem] {
    let lines: [String?] = [
      refusal.source.map { "From: \($0.description)" }, refusal.destination.map { "To: \($0.description)" },
      "Decided by: \(refusal.reason)", refusal.place.map { "Written in: \($0)" }, refusal.message,
    ]
    return lines.enumerated().compactMap { index, line in line.map { MenuItem(id + 1 + Int32(index), $0) } }
  }

  private static func boardItem(_ all: [TrayState.BoardLine]) -> MenuItem {
    var items = all.prefix(boardLimit).enumerated().map { index, board in
      MenuItem(
        firstBoard + Int32(index), "\(board.name): \(board.items) item\(board.items == 1 ? "" : "s")",
        isEnabled: false)
    }
    if all.count > boardLimit { items.append(MenuItem(moreBoards, "\(all.count - boardLimit) more", isEnabled: false)) }
    return MenuItem(boards, "Boards", children: items)
  }
}
