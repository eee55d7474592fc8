import Selection

/// The windows on which our conversions are answered, each open conversion on one of its own: GTK 3 owners stall
/// several incremental transfers to one window (product.md 5.3).
nonisolated struct RequestorWindows {
  /// Windows kept for the next conversions. Our choice: most clips have fewer targets.
  static let spareCount = 32

  private var windows: [ConversionID: Window] = [:]
  private var conversions: [Window: ConversionID] = [:]
  private var spare: [Window] = []

  /// The window of an open conversion.
  func window(of conversion: ConversionID) -> Window? { windows[conversion] }

  /// The open conversion that is answered on `window`.
  func conversion(on window: Window) -> ConversionID? { conversions[window] }

  /// Takes a spare window for `conversion`, or one that `make` makes.
  mutating func open(_ conversion: ConversionID, make: () -> Window) -> Window {
    let window = spare.popLast() ?? make()
    windows[conversion] = window
    conversions[window] = conversion
    return window
  }

  /// Ends `conversion`. Returns its window and whether it was kept; the others are to be destroyed, so that a late
  /// answer or chunk finds no window and can't be taken for that of another conversion.
  mutating func close(_ conversion: ConversionID, isReusable: Bool) -> (window: Window, isKept: Bool)? {
    guard let window = windows.removeValue(forKey: conversion) else { return nil }
    conversions[window] = nil
    let isKept = isReusable && spare.count < Self.spareCount
    if isKept { spare.append(window) }
    return (window, isKept)
  }

  /// Open conversions.
  var openCount: Int { windows.count }
}
