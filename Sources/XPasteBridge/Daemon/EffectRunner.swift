import BridgeCore
import Policy
import Selection
import X11

/// Carries out the core's effects on one display and feeds the outcomes back to it.
final class EffectRunner {
  private(set) var bridge: Bridge

  init(bridge: Bridge) { self.bridge = bridge }

  /// Whether the X server is gone.
  var isLost: Bool { false }
  /// When `deadlineReached` has to be called.
  var nextDeadline: MonotonicTime? { bridge.nextDeadline }
  /// Takes in everything that X has for us and flushes; call it before every wait.
  func drain() {}
  /// Hands the core its deadline.
  func deadlineReached() {}
  /// Puts a new policy in force.
  func replacePolicy(_ policy: PolicySet) {}
  /// A round trip to the server, then `drain`: what happened before is visible afterwards.
  func synchronize() {}
}
