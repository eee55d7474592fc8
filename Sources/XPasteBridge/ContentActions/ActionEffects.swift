import BridgeCore
import ContentActions
import Policy
import Selection
import X11

/// Who waits for runs of actions to end, and what runs them.
final class ActionDesk {
  /// What runs them.
  let children: ActionChildren
  private var waiting: [UInt64: (ActionOutcome) -> Void] = [:]
  private var count: UInt64 = 0

  /// A desk for runs by `children`.
  init(children: ActionChildren) { self.children = children }

  /// A number for a run whose end `onEnd` wants to hear of.
  func begin(_ onEnd: @escaping (ActionOutcome) -> Void) -> UInt64 {
    count += 1
    waiting[count] = onEnd
    return count
  }

  /// Tells how a run ended.
  func conclude(_ number: UInt64, _ outcome: ActionOutcome) { waiting.removeValue(forKey: number)?(outcome) }
}

extension EffectRunner {
  /// Whether `action` fits the clip; with `isForFocus`, also whether the active app may have what it would be given.
  func fit(of action: ContentAction, program: String, isForFocus: Bool) -> ActionFit {
    guard !isLost else { return .unfit }
    let active = activeSubject
    return bridge.fit(of: action, program: program, reader: isForFocus ? active : nil, active: active, at: .now)
  }

  /// The active app.
  var activeSubject: Subject { isLost ? .unknown : resolver.resolve(display.activeWindow) }

  /// Runs `action` on the clip; `onEnd` hears once how that ended.
  func runAction(_ action: ContentAction, program: String, onEnd: @escaping (ActionOutcome) -> Void) {
    guard !isLost, let desk else { return onEnd(.failed(.noProgram)) }
    let number = desk.begin(onEnd)
    carryOut(bridge.actionRequested(action, program: program, number: number, active: activeSubject, at: .now))
    display.flush()
  }

  /// What a run made goes to the core with the server's time, since no X client's copy brings one.
  func actionEnded(_ run: ActionRun, _ result: ActionChildren.Result) {
    guard !isLost else { return }
    let targets = run.action.outputs(from: run.input.target.name).map { display.atoms.intern($0) }
    let time = display.serverTime()
    guard !isLost else { return }
    carryOut(
      bridge.actionEnded(
        run.number, result, targets: targets, ownedBy: display.ownerWindow, time: time, at: .now))
    display.flush()
  }
}
