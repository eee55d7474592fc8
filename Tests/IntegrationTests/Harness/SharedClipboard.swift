import Foundation
import Glibc

/// Barrier between two displays: keyboard, pointer and clipboard of the first serve both.
///
/// It owns a display's CLIPBOARD without content as soon as somebody has copied on the other, and has the content when the
/// pointer comes over.
final class BarrierPair {
  let one: Desktop
  let two: Desktop
  private let server: Child

  init() throws {
    one = try Desktop()
    two = try Desktop()
    let port = try Self.freePort()
    let settings = try one.file("barrier.conf", Data(Self.settings.utf8))
    // In the foreground, without a tray icon and without the certificate that each would need.
    let common = ["-f", "--no-tray", "--disable-crypto", "-d", "NOTE"]
    let serving = ["-n", "one", "-c", settings, "-a", "127.0.0.1:\(port)", "--display", one.display]
    server = try one.start("/usr/bin/barriers", common + serving, keepsOutput: false)
    try two.start(
      "/usr/bin/barrierc", common + ["-n", "two", "--display", two.display, "127.0.0.1:\(port)"], keepsOutput: false)
    guard waitUntil(within: 20, { hasLogged("client \"two\" has connected", "barriers", on: one) }) else {
      throw HarnessError(
        "barrierc", expected: "a connection within 20 s", found: two.log("barrierc"), alive: one.alive())
    }
  }

  private static let settings = """
    section: screens
      one:
      two:
    end
    section: links
      one:
        right = two
      two:
        left = one
    end
    section: options
      keystroke(F8) = switchToScreen(one)
      keystroke(F9) = switchToScreen(two)
    end

    """

  /// One that nobody listens on. It is free for whoever is first, but the kernel hands it out once in a long while.
  private static func freePort() throws -> UInt16 {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 && getsockname(socket, $0, &size) == 0
      }
    }
    guard isBound else {
      throw HarnessError("127.0.0.1", expected: "a free port", found: String(cString: strerror(errno)))
    }
    return UInt16(bigEndian: address.sin_port)
  }

  private func hasLogged(_ text: String, _ program: String, on desktop: Desktop) -> Bool {
    let log = try? String(contentsOfFile: "\(desktop.folder)/\(program).log", encoding: .utf8)
    return log?.contains(text) ?? false
  }

  /// Takes the pointer to the other display by the key that Barrier knows for it. All keys are pressed on the first.
  func go(to desktop: Desktop) throws {
    _ = try one.run("/usr/bin/xdotool", ["key", desktop === two ? "F9" : "F8"], within: 10)
  }

  /// Ends Barrier on the first display, and with it what it owns there.
  func endServer() { server.end() }

  func close() {
    one.close()
    two.close()
  }
}

/// x11vnc with a viewer connected to it. Of a clipboard it asks for STRING alone, and looks once in a second.
final class RemoteViewer {
  let server: Child
  private let viewer: Talker
  private let desktop: Desktop

  init(on desktop: Desktop) throws {
    self.desktop = desktop
    // PRIMARY would have two of three looks, the name `localhost` be looked up, and the line measured for 3 s. What the
    // variable ends is a wait of 8 s for a login screen to be gone.
    let options = [
      "-display", desktop.display, "-listen", "127.0.0.1", "-no6", "-speeds", "lan", "-nopw", "-norc", "-forever",
      "-quiet", "-noshm", "-noprimary",
    ]
    server = try desktop.start("/usr/bin/x11vnc", options, adding: ["X11VNC_AVOID_WINDOWS": "never"])
    let deadline = Deadline(seconds: 20)
    var port: String?
    while port == nil, let line = try server.line(by: deadline) {
      let text = String(decoding: line, as: UTF8.self)
      if text.hasPrefix("PORT=") { port = String(text.dropFirst("PORT=".count)) }
    }
    guard let port else {
      throw HarnessError("x11vnc", expected: "its port", found: desktop.log("x11vnc"), alive: desktop.alive())
    }
    viewer = Talker(
      try desktop.start("/usr/bin/python3", [Place.programs + "/viewer.py", port]), alive: desktop.alive)
    try viewer.wait("ready", within: 20)
    try viewer.wait("shown", within: 20)
    try warmUp()
  }

  /// In the first 15 s x11vnc sends no selection, unless it has sent a cut buffer, as xterm sets one.
  private func warmUp() throws {
    for number in 1...20 {
      let set = ["-root", "-f", "CUT_BUFFER0", "8s", "-set", "CUT_BUFFER0", "warm \(number)"]
      _ = try desktop.run("/usr/bin/xprop", set)
      if (try? viewer.wait("cut", within: 1)) != nil { break }
    }
    guard viewer.count("cut") > 0 else {
      throw HarnessError("x11vnc", expected: "a text within 20 s", found: desktop.log("x11vnc"), alive: desktop.alive())
    }
    viewer.forget()
  }

  /// The next text that the viewer is sent.
  func received() throws -> String? { try viewer.wait("cut", within: 20).text("text") }

  /// Copies in the viewer, which makes x11vnc take CLIPBOARD.
  func copy(_ text: String) throws {
    let path = try desktop.file("viewer.txt", Data(text.utf8))
    try desktop.takingClipboard { try viewer.tell("cut " + path) }
  }

  /// Ends x11vnc, and with it what it owns.
  func exit() {
    viewer.quit()
    server.end()
  }
}
