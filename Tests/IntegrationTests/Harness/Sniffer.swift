import Foundation

/// A program that reads every copy as soon as it can (`xpb-sniffer`).
final class Sniffer: Talker {
  /// Its own window, for asking about its client.
  private(set) var window = 0

  /// `mode`: listen, poll, evil or watch.
  static func start(_ mode: String, on desktop: Desktop) throws -> Sniffer {
    let folder = try Place.clients.get()
    let child = try desktop.start(folder + "/xpb-sniffer", ["--display", desktop.display, mode])
    let sniffer = Sniffer(child, alive: desktop.alive)
    sniffer.window = try sniffer.wait("ready").number("window") ?? 0
    return sniffer
  }

  /// Everything it has read, at its end, where `isMeant`.
  func end(where isMeant: (Event) -> Bool = { _ in true }) throws -> [String] {
    child.closeInput()
    try wait("end")
    return events.filter { $0.name == "read" && isMeant($0) }.compactMap { $0.text("text") }
  }
}
