/// The value of a menu item's property, as com.canonical.dbusmenu has them.
public enum MenuValue: Hashable, Sendable {
  /// A string.
  case text(String)
  /// A boolean.
  case truth(Bool)
  /// A 32-bit integer.
  case number(Int32)
}

/// One item of the menu with what is below it.
public struct MenuItem: Hashable, Sendable {
  /// What it looks like.
  public enum Kind: Hashable, Sendable {
    /// Text.
    case text
    /// A line.
    case separator
    /// Text with a mark that is set or isn't.
    case checkmark(Bool)
  }

  /// Its number, never another item's.
  public var id: Int32
  /// What it looks like.
  public var kind: Kind
  /// Its text, without the underlines that mark keys.
  public var label: String
  /// Whether it can be chosen; one that can't is grey.
  public var isEnabled: Bool
  /// What is below it, in order, as far as it is told.
  public private(set) var children: [MenuItem]
  /// Whether there is something below it, told or not.
  public let isSubmenu: Bool

  /// Describes an item.
  public init(
    _ id: Int32, _ label: String = "", kind: Kind = .text, isEnabled: Bool = true, children: [MenuItem] = []
  ) {
    self.id = id
    self.kind = kind
    self.label = label
    self.isEnabled = isEnabled
    self.children = children
    isSubmenu = !children.isEmpty
  }

  /// What each property is where an item doesn't say otherwise; those of images and keys, which no item has, are left out.
  public static let defaults: [String: MenuValue] = [
    "type": .text("standard"), "label": .text(""), "enabled": .truth(true), "visible": .truth(true),
    "icon-name": .text(""), "toggle-type": .text(""), "toggle-state": .number(-1), "children-display": .text(""),
  ]

  /// The properties that aren't at their defaults.
  public var properties: [String: MenuValue] {
    var properties: [String: MenuValue] = [:]
    switch kind {
    case .separator: properties["type"] = .text("separator")
    case .text: break
    case .checkmark(let isSet):
      properties["toggle-type"] = .text("checkmark")
      properties["toggle-state"] = .number(isSet ? 1 : 0)
    }
    // An underline marks the next letter as a key; two of them are one to read.
    if !label.isEmpty {
      let parts = label.split(separator: "_", omittingEmptySubsequences: false)
      properties["label"] = .text(parts.joined(separator: "__"))
    }
    if !isEnabled { properties["enabled"] = .truth(false) }
    if isSubmenu { properties["children-display"] = .text("submenu") }
    return properties
  }

  /// The properties of these names, or all when there are none.
  public func properties(named names: [String]) -> [String: MenuValue] {
    names.isEmpty ? properties : properties.filter { names.contains($0.key) }
  }

  /// The item of this number, here or below.
  public func item(_ id: Int32) -> MenuItem? {
    if self.id == id { return self }
    for child in children {
      if let found = child.item(id) { return found }
    }
    return nil
  }

  /// This item and all below it.
  public var all: [MenuItem] { [self] + children.flatMap(\.all) }

  /// The same with `depth` levels below it; negative for all.
  public func pruned(to depth: Int32) -> MenuItem {
    guard depth >= 0 else { return self }
    var item = self
    item.children = depth == 0 ? [] : children.map { $0.pruned(to: depth - 1) }
    return item
  }

  /// This item and all below it, each with its properties.
  var flattened: [Int32: [String: MenuValue]] {
    Dictionary(all.map { ($0.id, $0.properties) }, uniquingKeysWith: { first, _ in first })
  }

  /// Which items there are, and where: what a layout is.
  var shape: [Int32] { [id, Int32(children.count)] + children.flatMap(\.shape) }
}

/// What has to be told of a menu that takes another's place.
public struct MenuChange: Hashable, Sendable {
  /// An item's properties that are new or another value now.
  public struct Update: Hashable, Sendable {
    /// The item.
    public var id: Int32
    /// The properties.
    public var properties: [String: MenuValue]

    /// Describes a change.
    public init(id: Int32, properties: [String: MenuValue]) { (self.id, self.properties) = (id, properties) }
  }

  /// An item's properties that are back at their defaults.
  public struct Removal: Hashable, Sendable {
    /// The item.
    public var id: Int32
    /// Their names.
    public var names: [String]

    /// Describes a change.
    public init(id: Int32, names: [String]) { (self.id, self.names) = (id, names) }
  }

  /// Whether other items are there, or elsewhere.
  public var isLayoutNew: Bool
  /// What changed of items that stay.
  public var updates: [Update] = []
  /// What went of items that stay.
  public var removals: [Removal] = []

  /// The way from one menu to another.
  public init(from before: MenuItem, to now: MenuItem) {
    isLayoutNew = before.shape != now.shape
    let old = before.flattened
    for (id, properties) in now.flattened.sorted(by: { $0.key < $1.key }) {
      guard let former = old[id], former != properties else { continue }
      let changed = properties.filter { former[$0.key] != $0.value }
      let gone = former.keys.filter { properties[$0] == nil }.sorted()
      if !changed.isEmpty { updates.append(Update(id: id, properties: changed)) }
      if !gone.isEmpty { removals.append(Removal(id: id, names: gone)) }
    }
  }
}
