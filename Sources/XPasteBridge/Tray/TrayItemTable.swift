import Tray

// The item as hosts read it (freedesktop.org, "Status Notifier Item").
extension TrayRunner {
  static let itemInterface = "org.kde.StatusNotifierItem"

  /// The interface's table.
  func itemTable() -> BusTable {
    BusTable(
      interface: Self.itemInterface,
      methods: [
        unsupported("ContextMenu", "ii", ["x", "y"]), unsupported("Activate", "ii", ["x", "y"]),
        unsupported("SecondaryActivate", "ii", ["x", "y"]), unsupported("Scroll", "is", ["delta", "orientation"]),
      ],
      properties: constants + [
        text("Status") { $0.read().face.status },
        text("IconName") { $0.iconName($0.read().face) },
        text("AttentionIconName") { $0.iconName($0.read().face) },
        pixmap("IconPixmap") { $0.read().face.sign }, pixmap("AttentionIconPixmap") { $0.read().face.sign },
        BusTable.Property("ToolTip", "(sa(iiay)ss)") { [unowned self] message throws(SystemFailure) in
          try write(toolTip: read().face, to: message)
        },
      ],
      signals: ["NewTitle", "NewIcon", "NewAttentionIcon", "NewOverlayIcon", "NewToolTip"]
        .map { BusTable.Signal(name: $0, signature: "", parameters: []) }
        + [BusTable.Signal(name: "NewStatus", parameters: ["status"])])
  }

  private var constants: [BusTable.Property] {
    [
      text("Category") { _ in "SystemServices" }, text("Id") { _ in "xpastebridge" },
      text("Title") { _ in "XPasteBridge" },
      text("OverlayIconName") { _ in "" }, text("AttentionMovieName") { _ in "" },
      text("IconThemePath") { $0.themePath },
      pixmap("OverlayIconPixmap") { _ in nil },
      BusTable.Property("WindowId", "i") { message throws(SystemFailure) in try message.append(Int32(0)) },
      // There is nothing but the menu: hosts show it on every click.
      BusTable.Property("ItemIsMenu", "b") { message throws(SystemFailure) in try message.append(true) },
      BusTable.Property("Menu", "o") { message throws(SystemFailure) in
        try message.append(objectPath: TrayModel.menuPath)
      },
    ]
  }

  private func text(_ name: String, _ value: @escaping (TrayRunner) -> String) -> BusTable.Property {
    BusTable.Property(name, "s") { [unowned self] message throws(SystemFailure) in try message.append(value(self)) }
  }

  private func pixmap(_ name: String, _ sign: @escaping (TrayRunner) -> TraySign?) -> BusTable.Property {
    BusTable.Property(name, "a(iiay)") { [unowned self] message throws(SystemFailure) in
      try write(pixmapsOf: sign(self), to: message)
    }
  }

  private func write(pixmapsOf sign: TraySign?, to message: BusMessage) throws(SystemFailure) {
    let pictures = sign.map { Array(zip(TrayIcon.sides, pixels($0))) } ?? []
    try message.append(array: "(iiay)", pictures) { (message, picture) throws(SystemFailure) in
      try message.open("r", "iiay")
      try message.append(Int32(picture.0))
      try message.append(Int32(picture.0))
      try message.append(bytes: picture.1)
      try message.close()
    }
  }

  private func write(toolTip face: TrayFace, to message: BusMessage) throws(SystemFailure) {
    try message.open("r", "sa(iiay)ss")
    try message.append(iconName(face))
    try write(pixmapsOf: nil, to: message)
    try message.append("XPasteBridge: \(face.headline)")
    try message.append(face.description)
    try message.close()
  }

  /// A method that hosts try before they show the menu themselves: those that do so are told by an error that they have to.
  private func unsupported(_ name: String, _ signature: String, _ names: [String]) -> BusTable.Method {
    BusTable.Method(name: name, takes: (signature, names), gives: ("", [])) { call throws(SystemFailure) in
      try call.refuse("org.freedesktop.DBus.Error.NotSupported", "this item has a menu and nothing else")
    }
  }
}
