@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

/// What sd-event calls back into; it lives as long as its source.
private final class Callback {
  let ready: () -> Void
  let beforeWait: (() -> Void)?

  init(_ ready: @escaping () -> Void, beforeWait: (() -> Void)? = nil) {
    self.ready = ready
    self.beforeWait = beforeWait
  }

  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// `pointer` came from a `Callback` that its `EventSource` still holds, and sd-event calls on the main thread only.
  nonisolated static func fire(_ pointer: UnsafeMutableRawPointer?) -> Int32 {
    nonisolated(unsafe) let pointer = pointer!
    MainActor.assumeIsolated { Unmanaged<Callback>.fromOpaque(pointer).takeUnretainedValue().ready() }
    return 0
  }

  /// As `fire`, for what has to be done before every wait.
  nonisolated static func prepare(_ pointer: UnsafeMutableRawPointer?) -> Int32 {
    nonisolated(unsafe) let pointer = pointer!
    MainActor.assumeIsolated { Unmanaged<Callback>.fromOpaque(pointer).takeUnretainedValue().beforeWait?() }
    return 0
  }
}

/// One thing the loop waits for; it ends when the last reference goes.
final class EventSource {
  // Only the main thread makes, uses and releases sources.
  fileprivate nonisolated(unsafe) let pointer: OpaquePointer
  private let callback: Callback

  fileprivate init(_ pointer: OpaquePointer, _ callback: Callback) {
    self.pointer = pointer
    self.callback = callback
  }

  deinit { sd_event_source_disable_unref(pointer) }

  /// Stops reporting until `resume`.
  func pause() { setEnabled(SD_EVENT_OFF) }
  /// Reports again.
  func resume() { setEnabled(SD_EVENT_ON) }

  fileprivate func setEnabled(_ state: Int) {
    // Fails only for a source that doesn't exist, which ours does.
    sd_event_source_set_enabled(pointer, Int32(state))
  }
}

/// A source that fires once in the next round, as often as it is asked to.
final class DeferredCall {
  private let source: EventSource

  fileprivate init(_ source: EventSource) { self.source = source }

  /// Fires in the next round; the loop doesn't wait before it.
  func request() { source.setEnabled(SD_EVENT_ONESHOT) }
}

/// One timer on the monotonic clock, off until it is set.
final class EventTimer {
  private let source: EventSource
  private var deadline: MonotonicTime?

  fileprivate init(_ source: EventSource) { self.source = source }

  /// Fires once at `deadline`; `nil` switches it off.
  func set(_ deadline: MonotonicTime?) {
    guard deadline != self.deadline else { return }
    self.deadline = deadline
    guard let deadline else { return source.setEnabled(SD_EVENT_OFF) }
    // Rounded up: a timer that fires early would find its deadline not yet reached and spin.
    sd_event_source_set_time(source.pointer, (deadline.nanoseconds + 999) / 1_000)
    source.setEnabled(SD_EVENT_ONESHOT)
  }

  fileprivate func fired() { deadline = nil }
}

/// The one loop of the daemon, over sd-event: descriptors, timers, signals and the service manager's watchdog.
final class EventLoop {
  /// 1 ms: no deadline of product.md 9 is finer, and sd-event may join what falls together (0 would mean 250 ms).
  private static let timerAccuracyMicroseconds: UInt64 = 1_000

  // Only the main thread makes, runs and releases loops.
  nonisolated(unsafe) let pointer: OpaquePointer
  private var wake: DeferredCall?

  init() throws(SystemFailure) {
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(sd_event_new(&made), "sd_event_new")
    pointer = made!
    wake = try makeDeferredCall {}
  }

  deinit { sd_event_unref(pointer) }

  /// Calls `onReady` when `descriptor` can be read, and `beforeWait` before every wait of the loop.
  func addInput(
    _ descriptor: Int32, beforeWait: (() -> Void)? = nil, onReady: @escaping () -> Void
  ) throws(SystemFailure) -> EventSource {
    let callback = Callback(onReady, beforeWait: beforeWait)
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_event_add_io(
        pointer, &made, descriptor, EPOLLIN.rawValue, { _, _, _, userdata in Callback.fire(userdata) },
        callback.pointer), "sd_event_add_io")
    let source = EventSource(made!, callback)
    if beforeWait != nil {
      try SystemFailure.unlessNegative(
        sd_event_source_set_prepare(made!, { _, userdata in Callback.prepare(userdata) }),
        "sd_event_source_set_prepare")
    }
    return source
  }

  /// Ends the loop's wait whenever `descriptor` takes something more, and calls `onReady`. One that is waited for to be
  /// read, too, has to be another descriptor of the same.
  func addOutput(_ descriptor: Int32, onReady: @escaping () -> Void = {}) throws(SystemFailure) -> EventSource {
    let callback = Callback(onReady)
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_event_add_io(
        pointer, &made, descriptor, EPOLLOUT.rawValue, { _, _, _, userdata in Callback.fire(userdata) },
        callback.pointer), "sd_event_add_io")
    return EventSource(made!, callback)
  }

  /// Makes a timer that calls `fire`.
  func makeTimer(_ fire: @escaping () -> Void) throws(SystemFailure) -> EventTimer {
    weak var timer: EventTimer?
    let callback = Callback {
      timer?.fired()
      fire()
    }
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_event_add_time(
        pointer, &made, CLOCK_MONOTONIC, UInt64.max, Self.timerAccuracyMicroseconds,
        { _, _, userdata in Callback.fire(userdata) }, callback.pointer), "sd_event_add_time")
    let source = EventSource(made!, callback)
    source.setEnabled(SD_EVENT_OFF)
    let result = EventTimer(source)
    timer = result
    return result
  }

  /// Makes a call that is carried out in the loop's next round whenever it is requested.
  func makeDeferredCall(_ fire: @escaping () -> Void) throws(SystemFailure) -> DeferredCall {
    let callback = Callback(fire)
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_event_add_defer(pointer, &made, { _, userdata in Callback.fire(userdata) }, callback.pointer),
      "sd_event_add_defer")
    let source = EventSource(made!, callback)
    source.setEnabled(SD_EVENT_OFF)
    return DeferredCall(source)
  }

  /// Calls `onSignal` for each `signal`, which sd-event blocks for the whole process.
  func addSignal(_ signal: Int32, _ onSignal: @escaping () -> Void) throws(SystemFailure) -> EventSource {
    let callback = Callback(onSignal)
    var made: OpaquePointer?
    try SystemFailure.unlessNegative(
      sd_event_add_signal(
        pointer, &made, signal | Int32(bitPattern: UInt32(SD_EVENT_SIGNAL_PROCMASK)),
        { _, _, userdata in Callback.fire(userdata) }, callback.pointer), "sd_event_add_signal")
    return EventSource(made!, callback)
  }

  /// Pings the service manager's watchdog, if it set one; does nothing otherwise.
  func enableWatchdog() throws(SystemFailure) {
    try SystemFailure.unlessNegative(sd_event_set_watchdog(pointer, 1), "sd_event_set_watchdog")
  }

  /// Runs until `exit`; returns its code.
  func run() throws(SystemFailure) -> Int32 {
    try SystemFailure.unlessNegative(sd_event_loop(pointer), "sd_event_loop")
  }

  /// One round, waiting at most `milliseconds`; false when the loop has ended. For tests.
  func runOnce(milliseconds: Int) throws(SystemFailure) -> Bool {
    guard sd_event_get_state(pointer) != SD_EVENT_FINISHED else { return false }
    try SystemFailure.unlessNegative(sd_event_run(pointer, UInt64(milliseconds) * 1_000), "sd_event_run")
    return sd_event_get_state(pointer) != SD_EVENT_FINISHED
  }

  /// Ends `run` with `code`, also when called from a `beforeWait`, after which sd-event would wait once more.
  func exit(_ code: Int32) {
    sd_event_exit(pointer, code)
    wake?.request()
  }
}

/// The service manager's notification socket (sd_notify); without one, nothing happens.
enum ServiceNotice {
  /// Sends `state`, lines of `NAME=value`.
  static func send(_ state: String) { sd_notify(0, state) }

  /// The daemon serves from now on.
  static func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }

  /// A reload begins; `ready` ends it.
  static func reloading() {
    send("RELOADING=1\nMONOTONIC_USEC=\(Posix.monotonicNow().nanoseconds / 1_000)")
  }

  /// How long a start that came to nothing is held up. As long as the unit would else wait before every start, which has
  /// to be short for the sake of those who wait for a paste while the daemon has crashed.
  private static let holdUpMilliseconds = 3_000

  /// A start came to nothing: waits a while, so that a service manager that starts us anew at once doesn't do so all the
  /// time. Signals end it. Without a service manager nothing waits.
  static func holdUp(_ line: String) {
    guard DescriptorStore.isThere else { return }
    send("STATUS=trying again in 3 s: \(Label.plain(line, to: 256))")
    Posix.sleep(milliseconds: holdUpMilliseconds)
  }

  /// The daemon is about to end.
  static func stopping(_ status: String) { send("STOPPING=1\nSTATUS=\(status)") }
}
