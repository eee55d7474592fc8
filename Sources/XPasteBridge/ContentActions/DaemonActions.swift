import BridgeCore
import ContentActions

extension Daemon {
  func actionListReport() -> JSON {
    let catalog = actions.catalog()
    return ActionReports.list(catalog, actions) { fit(of: $0, isForFocus: false) }
  }

  func menuReport() -> JSON {
    let fitting = actions.catalog().actions.filter { action in
      if case .fits = fit(of: action, isForFocus: true) { true } else { false }
    }
    return MenuReport.items(boardsOfActiveApp, fitting)
  }

  /// What the active app may read, beside what plain paste gives it.
  private var boardsOfActiveApp: [BoardDescription] {
    guard case .boards(let boards)? = session.callBoard(.list, from: session.activeSubject) else { return [] }
    return boards.filter { $0.origin != nil }
  }

  func offerItem(_ item: UInt64, of board: String) -> JSON {
    MenuReport.outcome(board, session.callBoard(.offer(board, item: item), from: session.activeSubject))
  }

  func runAction(_ name: String, onEnd: @escaping (JSON) -> Void) {
    let catalog = actions.catalog()
    guard let action = catalog.actions.first(where: { $0.name == name || $0.title == name }) else {
      return onEnd(ActionReports.unknown(name, catalog))
    }
    session.runAction(action, program: actions.program(of: action)) { onEnd(ActionReports.outcome(action.name, $0)) }
  }

  private func fit(of action: ContentAction, isForFocus: Bool) -> ActionFit {
    session.fit(of: action, program: actions.program(of: action), isForFocus: isForFocus)
  }

  /// How runs are shut in on this system, for `status`.
  var sandboxReport: JSON {
    .object([
      "landlock": .integer(Posix.landlockVersion),
      "helper": .bool(Posix.stat(actions.helper)?.isRegular ?? false),
    ])
  }
}
