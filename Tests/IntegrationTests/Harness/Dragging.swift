import Foundation

extension MarkingProgram {
  /// Takes what is marked in the first line with the mouse and begins to drag it; returns when XdndSelection is the
  /// program's, by name, and the daemon has dealt with that.
  func beginDrag(with mouse: Mouse, guardedBy bridge: Bridge, on desktop: Desktop) throws {
    let (x, y) = (kind.start.x + 12, kind.start.y)
    try desktop.probe.tell("watch XdndSelection")
    try desktop.probe.tell("sync")
    desktop.probe.forget()
    try mouse.tell("hold \(window) \(x) \(y) \(x) \(y + 24) 8 10")
    try desktop.probe.wait("owner-change") { $0.text("selection") == "XdndSelection" && $0.number("window") != 0 }
    try bridge.sync()
  }

  /// Moves what is dragged about over this program until `condition` holds, as a hand does.
  func hover(with mouse: Mouse, until condition: () throws -> Bool) throws -> Bool {
    var step = 0
    return try waitUntil(within: 10) {
      step += 1
      try mouse.tell("move \(window) \(120 + step % 40) \(70 + step % 7)")
      return try condition()
    }
  }
}
