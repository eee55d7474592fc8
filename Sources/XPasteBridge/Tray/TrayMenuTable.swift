import Tray

// The menu as hosts read it: com.canonical.dbusmenu, version 3.
extension TrayRunner {
  static let menuInterface = "com.canonical.dbusmenu"
  private static let itemSignature = "(ia{sv}av)"

  /// The interface's table.
  func menuTable() -> BusTable {
    BusTable(
      interface: Self.menuInterface, methods: readingMethods + eventMethods,
      properties: [
        BusTable.Property("Version", "u") { message throws(SystemFailure) in try message.append(UInt32(3)) },
        BusTable.Property("TextDirection", "s") { message throws(SystemFailure) in try message.append("ltr") },
        BusTable.Property("Status", "s") { message throws(SystemFailure) in try message.append("normal") },
        BusTable.Property("IconThemePath", "as") { message throws(SystemFailure) in try message.append([String]()) },
      ],
      signals: [
        BusTable.Signal(
          name: "ItemsPropertiesUpdated", signature: "a(ia{sv})a(ias)", parameters: ["updatedProps", "removedProps"]),
        BusTable.Signal(name: "LayoutUpdated", signature: "ui", parameters: ["revision", "parent"]),
        BusTable.Signal(name: "ItemActivationRequested", signature: "iu", parameters: ["id", "timestamp"]),
      ])
  }

  private var readingMethods: [BusTable.Method] {
    [
      BusTable.Method(
        name: "GetLayout", takes: ("iias", ["parentId", "recursionDepth", "propertyNames"]),
        gives: ("u\(Self.itemSignature)", ["revision", "layout"])
      ) { [unowned self] call throws(SystemFailure) in try answerLayout(call) },
      BusTable.Method(
        name: "GetGroupProperties", takes: ("aias", ["ids", "propertyNames"]), gives: ("a(ia{sv})", ["properties"])
      ) { [unowned self] call throws(SystemFailure) in try answerGroup(call) },
      BusTable.Method(name: "GetProperty", takes: ("is", ["id", "name"]), gives: ("v", ["value"])) {
        [unowned self] call throws(SystemFailure) in try answerProperty(call)
      },
      BusTable.Method(name: "AboutToShow", takes: ("i", ["id"]), gives: ("b", ["needUpdate"])) {
        [unowned self] call throws(SystemFailure) in try answerAboutToShow(call)
      },
      BusTable.Method(
        name: "AboutToShowGroup", takes: ("ai", ["ids"]), gives: ("aiai", ["updatesNeeded", "idErrors"])
      ) { [unowned self] call throws(SystemFailure) in try answerAboutToShowGroup(call) },
    ]
  }

  private var eventMethods: [BusTable.Method] {
    [
      BusTable.Method(
        name: "Event", takes: ("isvu", ["id", "eventId", "data", "timestamp"]), gives: ("", [])
      ) { [unowned self] call throws(SystemFailure) in try answerEvent(call) },
      BusTable.Method(name: "EventGroup", takes: ("a(isvu)", ["events"]), gives: ("ai", ["idErrors"])) {
        [unowned self] call throws(SystemFailure) in try answerEventGroup(call)
      },
    ]
  }

  /// More than any host asks for at once; everything here is done before the next paste is answered.
  private static let mostIDs = 1_024

  private func refuseAsTooMany(_ call: BusMessage) throws(SystemFailure) {
    try call.refuse("org.freedesktop.DBus.Error.LimitsExceeded", "more than \(Self.mostIDs) items at once")
  }

  private func refuse(_ call: BusMessage, _ id: Int32) throws(SystemFailure) {
    try call.refuse("org.freedesktop.DBus.Error.InvalidArgs", "the menu has no item \(id)")
  }

  // MARK: reading

  private func answerLayout(_ call: BusMessage) throws(SystemFailure) {
    let (id, depth, names) = (try call.readInt32(), try call.readInt32(), try call.readStrings())
    guard names.count <= Self.mostIDs else { return try refuseAsTooMany(call) }
    let known = read()
    guard let item = known.menu.item(id) else { return try refuse(call, id) }
    let answer = try call.makeReturn()
    try answer.append(known.revision)
    try write(item.pruned(to: depth), names, to: answer)
    try answer.send()
  }

  private func write(_ item: MenuItem, _ names: [String], to message: BusMessage) throws(SystemFailure) {
    try message.open("r", "ia{sv}av")
    try message.append(item.id)
    try write(item.properties(named: names), to: message)
    try message.append(array: "v", item.children) { [unowned self] (message, child) throws(SystemFailure) in
      try message.append(variant: Self.itemSignature) { message throws(SystemFailure) in
        try write(child, names, to: message)
      }
    }
    try message.close()
  }

  private func write(_ properties: [String: MenuValue], to message: BusMessage) throws(SystemFailure) {
    let sorted = properties.sorted { $0.key < $1.key }
    try message.append(array: "{sv}", sorted) { [unowned self] (message, property) throws(SystemFailure) in
      try message.open("e", "sv")
      try message.append(property.key)
      try write(property.value, to: message)
      try message.close()
    }
  }

  private func write(_ value: MenuValue, to message: BusMessage) throws(SystemFailure) {
    switch value {
    case .text(let text): try message.append(variant: "s") { message throws(SystemFailure) in try message.append(text) }
    case .truth(let truth):
      try message.append(variant: "b") { message throws(SystemFailure) in try message.append(truth) }
    case .number(let number):
      try message.append(variant: "i") { message throws(SystemFailure) in try message.append(number) }
    }
  }

  private func answerGroup(_ call: BusMessage) throws(SystemFailure) {
    let (ids, names) = (try call.readInt32s(), try call.readStrings())
    guard max(ids.count, names.count) <= Self.mostIDs else { return try refuseAsTooMany(call) }
    let menu = read().menu
    // No numbers mean all items. Those that aren't there any more are left out, as hosts ask for what they knew.
    let items = ids.isEmpty ? menu.all : ids.compactMap(menu.item)
    let answer = try call.makeReturn()
    try answer.append(array: "(ia{sv})", items) { [unowned self] (message, item) throws(SystemFailure) in
      try write(MenuChange.Update(id: item.id, properties: item.properties(named: names)), to: message)
    }
    try answer.send()
  }

  private func write(_ update: MenuChange.Update, to message: BusMessage) throws(SystemFailure) {
    try message.open("r", "ia{sv}")
    try message.append(update.id)
    try write(update.properties, to: message)
    try message.close()
  }

  private func answerProperty(_ call: BusMessage) throws(SystemFailure) {
    let (id, name) = (try call.readInt32(), try call.readString())
    guard let item = read().menu.item(id) else { return try refuse(call, id) }
    guard let value = item.properties[name] ?? MenuItem.defaults[name] else {
      return try call.refuse(
        "org.freedesktop.DBus.Error.InvalidArgs", "no item has a property `\(Label.plain(name, to: 64))`")
    }
    let answer = try call.makeReturn()
    try write(value, to: answer)
    try answer.send()
  }

  private func answerAboutToShow(_ call: BusMessage) throws(SystemFailure) {
    let id = try call.readInt32()
    let isNew = refresh()
    guard read().menu.item(id) != nil else { return try refuse(call, id) }
    let answer = try call.makeReturn()
    try answer.append(isNew)
    try answer.send()
  }

  private func answerAboutToShowGroup(_ call: BusMessage) throws(SystemFailure) {
    let ids = try call.readInt32s()
    guard ids.count <= Self.mostIDs else { return try refuseAsTooMany(call) }
    let isNew = refresh()
    let menu = read().menu
    let wrong = ids.filter { menu.item($0) == nil }
    guard wrong.isEmpty || wrong.count < ids.count else { return try refuse(call, wrong[0]) }
    let answer = try call.makeReturn()
    try answer.append(isNew ? ids.filter { menu.item($0) != nil } : [])
    try answer.append(wrong)
    try answer.send()
  }

  // MARK: events

  private func answerEvent(_ call: BusMessage) throws(SystemFailure) {
    let (id, event) = (try call.readInt32(), try call.readString())
    guard read().menu.item(id) != nil else { return try refuse(call, id) }
    do throws(ControlFailure) {
      if event == "clicked" { try clicked(id) }
    } catch {
      return try call.refuse("org.xpastebridge.Error.LockdownRefused", error.line)
    }
    try call.makeReturn().send()
  }

  private func answerEventGroup(_ call: BusMessage) throws(SystemFailure) {
    var events: [(id: Int32, name: String)] = []
    guard try call.enter("a", "(isvu)") else { return }
    while try call.enter("r", "isvu") {
      guard events.count < Self.mostIDs else { return try refuseAsTooMany(call) }
      events.append((try call.readInt32(), try call.readString()))
      try call.skip("vu")
      try call.leave()
    }
    try call.leave()
    let menu = read().menu
    let wrong = events.map(\.id).filter { menu.item($0) == nil }
    guard wrong.isEmpty || wrong.count < events.count else { return try refuse(call, wrong[0]) }
    // A person clicks an item once; each click of the lockdown is asked of all policies.
    for id in Set(events.filter { $0.name == "clicked" && menu.item($0.id) != nil }.map(\.id)) {
      // The answer has no place for a refusal; the mark stays as it was, which hosts are shown.
      try? clicked(id)
    }
    let answer = try call.makeReturn()
    try answer.append(wrong)
    try answer.send()
  }

  // MARK: signals

  /// Tells that the menu has other items.
  func sendLayout(_ revision: UInt32, on connection: BusConnection) throws(SystemFailure) {
    try connection.emitSignal(path: TrayModel.menuPath, interface: Self.menuInterface, member: "LayoutUpdated") {
      message throws(SystemFailure) in
      try message.append(revision)
      try message.append(TrayMenu.root)
    }
  }

  /// Tells what items that stay look like now.
  func sendItems(
    _ updates: [MenuChange.Update], _ removals: [MenuChange.Removal], on connection: BusConnection
  ) throws(SystemFailure) {
    try connection.emitSignal(path: TrayModel.menuPath, interface: Self.menuInterface, member: "ItemsPropertiesUpdated")
    {
      [unowned self] message throws(SystemFailure) in
      try message.append(array: "(ia{sv})", updates) { [unowned self] (message, update) throws(SystemFailure) in
        try write(update, to: message)
      }
      try message.append(array: "(ias)", removals) { (message, removal) throws(SystemFailure) in
        try message.open("r", "ias")
        try message.append(removal.id)
        try message.append(removal.names)
        try message.close()
      }
    }
  }
}
