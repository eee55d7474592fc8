import Selection

/// The windows on which our conversions are answered, each open conversion on one of its own: GTK 3 owners stall
/// several incremental transfers to one window (product.md 5.3).
///
/// A window whose answer may still come is not destroyed when its conversion ends: the owner would store into a window
/// that is gone, and Xlib ends a program that gets BadWindow (measured: xclip). It is *retired*: nothing that arrives
/// there is believed, it never serves again, and it goes when the late answer has come, when it is old, or when there
/// are too many.
nonisolated struct RequestorWindows {
  /// Windows kept for the next conversions. Our choice: most clips have fewer targets.
  static let spareCount = 32
  /// Spare windows that rest before the first of them serves again (our choice): an owner that answers twice must not answer
  /// the next question on the same window.
  static let restingCount = 8
  /// Windows kept for late answers. Our choice: four clips of the most targets.
  static let retiredCount = 1_024
  /// How long a late answer is waited for. Our choice: three times the longest capture.
  static let retiredMilliseconds = 30_000

  /// A use of a window. From one use to the next the answer has another property.
  struct Use {
    let window: Window
    /// 0 or 1.
    let turn: Int
  }

  private var uses: [ConversionID: Use] = [:]
  private var open: [Window: ConversionID] = [:]
  private var spare: [Use] = []
  private var retired: [(window: Window, since: MonotonicTime)] = []

  /// The use of a window for an open conversion.
  func use(of conversion: ConversionID) -> Use? { uses[conversion] }

  /// The conversion that is open on `window`.
  func conversion(on window: Window) -> ConversionID? { open[window] }

  /// Whether the window is in use or will be: not destroyed by ourselves.
  func contains(_ window: Window) -> Bool { open[window] != nil || spare.contains { $0.window == window } }

  /// Takes a window for `conversion` that has been spare for a while, or one that `make` makes.
  mutating func open(_ conversion: ConversionID, make: () -> Window) -> Use {
    let isRested = spare.count + retired.count > Self.restingCount
    let last = isRested && !spare.isEmpty ? spare.removeFirst() : nil
    let use = last.map { Use(window: $0.window, turn: 1 - $0.turn) } ?? Use(window: make(), turn: 0)
    uses[conversion] = use
    open[use.window] = conversion
    return use
  }

  /// Ends `conversion`; a reusable window is kept for another one, any other retires. Returns what it used.
  mutating func close(_ conversion: ConversionID, isReusable: Bool, at now: MonotonicTime) -> Use? {
    guard let use = uses.removeValue(forKey: conversion) else { return nil }
    open[use.window] = nil
    guard isReusable, spare.count < Self.spareCount else {
      retired.append((use.window, now))
      return use
    }
    spare.append(use)
    return use
  }

  /// The late answer has come to `window`; `true` when it is a retired one, which can then be destroyed.
  mutating func takeRetired(_ window: Window) -> Bool {
    guard let index = retired.firstIndex(where: { $0.window == window }) else { return false }
    retired.remove(at: index)
    return true
  }

  /// Takes out the retired windows that nothing is waited for any more.
  mutating func takeOverdue(at now: MonotonicTime) -> [Window] {
    let isOverdue = { (since: MonotonicTime) in now >= since.advanced(byMilliseconds: Self.retiredMilliseconds) }
    let old = retired.prefix { isOverdue($0.since) }.count
    let count = max(old, retired.count - Self.retiredCount)
    let windows = retired.prefix(count).map(\.window)
    retired.removeFirst(count)
    return windows
  }

  /// Open conversions.
  var openCount: Int { uses.count }
}
