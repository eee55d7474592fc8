import Selection

/// Both halves of a window's WM_CLASS (ICCCM 4.1.2.5), which the program itself wrote.
public nonisolated struct ClassPair: Hashable, Sendable {
  /// The instance half.
  public var instance: String
  /// The class half.
  public var windowClass: String
  /// Whether it was read: of a property beyond the limit nothing counts, and what it says isn't known.
  public var isKnown = true

  /// Joins both halves.
  public init(instance: String, windowClass: String) {
    self.instance = instance
    self.windowClass = windowClass
  }

  /// A class that is there and isn't known.
  static let tooLong: ClassPair = {
    var pair = ClassPair(instance: "", windowClass: "")
    pair.isKnown = false
    return pair
  }()

  /// Reads the two strings, each ended by a zero. An empty class is no class: GTK 4 writes one on its hidden windows.
  init?(property bytes: UnsafeRawBufferPointer) {
    let halves = bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
    guard halves.count >= 2, !halves[1].isEmpty else { return nil }
    instance = PropertyText.string(of: halves[0])
    windowClass = PropertyText.string(of: halves[1])
  }
}

/// What a window says of itself, and how it stands among its client's windows.
public nonisolated struct ClassedWindow: Hashable, Sendable {
  /// How likely it is that the person sees this window as the app.
  public enum Standing: Int, Hashable, Sendable, Comparable {
    /// Not mapped: a group leader or a hidden window.
    case hidden
    /// Mapped past the window manager: a popup.
    case popup
    /// Mapped without a window manager.
    case mapped
    /// Managed by the window manager, which gave it WM_STATE (ICCCM 4.1.3.1).
    case managed

    /// Less likely than.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
  }

  /// The window.
  public var window: Window
  /// Its class; `nil` when it has none.
  public var pair: ClassPair?
  /// How it stands.
  public var standing: Standing
  /// WM_CLIENT_MACHINE, where it has one.
  public var machine: String?
}

/// Text of properties: UTF-8 where it is valid, else Latin-1.
nonisolated enum PropertyText {
  static func string(of bytes: some Collection<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self) ?? AtomName.string(of: bytes)
  }
}

extension Display {
  /// Words of WM_CLASS and WM_CLIENT_MACHINE that are read: 1 KiB. Our choice; what a longer one
  /// says isn't known.
  private static let textWords: UInt32 = 256

  /// Asks for a window's WM_CLASS.
  func askClass(of window: Window) -> Serial {
    xcb.getProperty(window: window.id, property: AtomNumber.wmClass, length: Self.textWords)
  }

  /// The class in the reply to ``askClass(of:)``, and whether the window exists.
  func takeClass(_ serial: Serial) -> (pair: ClassPair?, exists: Bool) {
    guard let reply = xcb.reply(to: serial) else { return (nil, false) }
    let header = Header(reply)
    guard header.format == 8 else { return (nil, true) }
    if header.bytesAfter > 0 { return (.tooLong, true) }
    return (reply.withTail(header.byteCount) { ClassPair(property: $0) }, true)
  }

  /// Reads class, standing and machine of `windows` in one round trip.
  public func describe(_ windows: [Window]) -> [ClassedWindow] {
    let state = atoms.intern("WM_STATE").atom.id
    let asked = windows.map { window in
      (
        window: window, pair: askClass(of: window),
        state: xcb.getProperty(window: window.id, property: state, length: 1),
        attributes: xcb.getWindowAttributes(window.id),
        machine: xcb.getProperty(window: window.id, property: AtomNumber.wmClientMachine, length: Self.textWords)
      )
    }
    return asked.map { asked in
      ClassedWindow(
        window: asked.window, pair: takeClass(asked.pair).pair,
        standing: takeStanding(state: asked.state, attributes: asked.attributes),
        machine: takeText(asked.machine))
    }
  }

  private func takeStanding(state: Serial, attributes: Serial) -> ClassedWindow.Standing {
    let stateReply = xcb.reply(to: state)
    guard let reply = xcb.reply(to: attributes) else { return .hidden }
    if let stateReply, Header(stateReply).type != 0 { return .managed }
    // GetWindowAttributes' reply: map state at 26 (0 is unmapped), override-redirect at 27.
    guard reply.byte(at: 26) != 0 else { return .hidden }
    return reply.byte(at: 27) != 0 ? .popup : .mapped
  }

  private func takeText(_ serial: Serial) -> String? {
    guard let reply = xcb.reply(to: serial) else { return nil }
    let header = Header(reply)
    guard header.format == 8, header.byteCount > 0, header.bytesAfter == 0 else { return nil }
    return reply.withTail(header.byteCount) { bytes in PropertyText.string(of: bytes.prefix { $0 != 0 }) }
  }
}
