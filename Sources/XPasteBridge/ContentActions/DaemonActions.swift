import BridgeCore
import ContentActions

extension Daemon {
  func actionListReport() -> JSON {
    let catalog = actions.catalog()
    return ActionReports.list(catalog, actions) { fit(of: $0, isForFocus: false) }
  }

  func menuReport() -> JSON {
    ActionReports.menu(
      actions.catalog().actions.filter { action in
        if case .fits = fit(of: action, isForFocus: true) { true } else { false }
      })
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
