import Foundation

/// Keys by their place on the keyboard, as the server numbers them: the layout says what they mean.
enum Key: Int {
  case c = 54
  case x = 53
  case v = 55
  case i = 31
  case b = 56
  case insert = 118
  case delete = 119
  case keypadInsert = 90
  case a = 38
}

/// A window that tells which keys reach it, and a hand that presses them (`xpb-keys --help`).
final class Keys: Talker {
  /// A window of this class, with the keyboard.
  static func window(_ windowClass: String, on desktop: Desktop, screen: Int = 0) throws -> Keys {
    let keys = try silent(on: desktop, screen: screen)
    try keys.tell("class \(windowClass.lowercased()) \(windowClass)")
    try keys.tell("listen")
    return keys
  }

  /// Without a window.
  static func silent(on desktop: Desktop, screen: Int = 0) throws -> Keys {
    let folder = try Place.clients.get()
    let keys = Keys(
      try desktop.start(folder + "/xpb-keys", ["--display", "\(desktop.display).\(screen)"]), alive: desktop.alive)
    try keys.wait("windows")
    return keys
  }

  /// The priority of the client of a window.
  func priority(of window: Int) throws -> Int {
    try tell("priority \(window)")
    return try wait("priority").number("value") ?? 0
  }

  /// Whether a key pressed with these modifiers reaches the window.
  func reaches(_ key: Key, _ modifiers: String...) throws -> Bool {
    let isThis = { (event: Event) in event.number("code") == key.rawValue }
    let before = count("key", where: isThis)
    forget()
    try tell("key \(key.rawValue) " + modifiers.joined(separator: " "))
    // Keys arrive in the order in which they were pressed, so behind this one nothing of it comes any more. Pause is
    // held back nowhere and means nothing.
    try tell("key 127")
    try wait("key") { $0.number("code") == 127 }
    return count("key", where: isThis) > before
  }
}
