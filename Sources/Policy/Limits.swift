/// The named limits of product.md 9; `limits:` in a policy file overrides each.
public struct Limits: Hashable, Sendable {
  /// T_targets: how long an owner may take to answer TARGETS, in milliseconds.
  public var targetsMilliseconds = 2_000
  /// T_cap: how long a whole capture may take, in milliseconds.
  public var captureMilliseconds = 10_000
  /// T_idle: how long one transfer may stand still, in milliseconds.
  public var idleMilliseconds = 5_000
  /// T_wait: how long a paste waits for a target still being captured, in milliseconds.
  public var waitMilliseconds = 500
  /// MAX: bytes of one clip.
  public var clipBytes = 256 << 20
  /// Bytes of all clips and transfers together.
  public var totalBytes = 1 << 30
  /// Targets captured of one clip.
  public var targets = 256
  /// Pairs answered in one MULTIPLE request.
  public var multiplePairs = 64
  /// Outgoing transfers side by side to one X client.
  public var transfersPerClient = 64
  /// Outgoing transfers side by side in all.
  public var transfers = 512
  /// Refusals of one X client within ten seconds that count as a flood.
  public var floodRefusals = 200

  /// The defaults of product.md 9.
  public init() {}
}
