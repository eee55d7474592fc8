import Foundation
import Selection

@testable import X11

/// An X server of the test's own, on a number that the server picks; it ends with the value.
@MainActor final class PrivateServer {
  let name: String
  private let server = Process()
  private var programs: [Process] = []

  init(_ options: [String] = []) throws {
    let output = Pipe()
    server.executableURL = URL(fileURLWithPath: "/usr/bin/Xvfb")
    server.arguments = ["-displayfd", "1", "-noreset", "-screen", "0", "800x600x24"] + options
    server.standardOutput = output
    server.standardError = FileHandle.nullDevice
    try server.run()
    // The number comes as one line when the server takes connections; the end of the file comes if it fails.
    var number = ""
    while !number.hasSuffix("\n") {
      let piece = output.fileHandleForReading.availableData
      if piece.isEmpty { throw Failure("Xvfb did not start") }
      number += String(decoding: piece, as: UTF8.self)
    }
    name = ":" + number.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  isolated deinit { end() }

  var processID: Int32 { server.processIdentifier }

  /// A connection to it.
  func connect() throws -> Display { try Display.open(name) }

  /// Starts a program on it.
  @discardableResult
  func start(_ path: String, _ arguments: [String], input: String? = nil) throws -> Process {
    let program = Process()
    program.executableURL = URL(fileURLWithPath: path)
    program.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    environment["DISPLAY"] = name
    environment["NO_AT_BRIDGE"] = "1"
    environment["GDK_BACKEND"] = "x11"
    program.environment = environment
    program.standardOutput = FileHandle.nullDevice
    program.standardError = FileHandle.nullDevice
    let pipe = Pipe()
    program.standardInput = pipe
    try program.run()
    if let input { pipe.fileHandleForWriting.write(Data(input.utf8)) }
    try pipe.fileHandleForWriting.close()
    programs.append(program)
    return program
  }

  /// Ends the server and all programs, each by its own number.
  func end() {
    for program in programs + [server] where program.isRunning {
      kill(program.processIdentifier, SIGKILL)
    }
    // Not waitUntilExit: that also waits for what the program itself had started.
    _ = try? waitFor("the end of the programs", seconds: 2) {
      (programs + [server]).allSatisfy { !$0.isRunning } ? true : nil
    }
    programs = []
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Waits until `condition` gives a value; fails after ten seconds, saying what it waited for.
func waitFor<T>(_ what: String, seconds: Double = 10, _ condition: () throws -> T?) throws -> T {
  let deadline = Date(timeIntervalSinceNow: seconds)
  while Date() < deadline {
    if let value = try condition() { return value }
    usleep(2_000)
  }
  throw Failure("waited in vain for \(what)")
}

extension Display {
  /// Takes events until one matches.
  func event(_ what: String, _ matches: (DisplayEvent) -> Bool) throws -> DisplayEvent {
    guard let event = takeEvent(until: .now.advanced(byMilliseconds: 10_000), matches) else {
      throw Failure("no event: \(what)")
    }
    return event
  }

  /// The next event for the core that matches; earlier ones are dropped.
  func incoming(_ what: String, _ matches: (SelectionEvent) -> Bool) throws -> SelectionEvent {
    try waitFor(what) {
      flush()
      while let next = nextSelectionEvent(isServed: { _ in true }) {
        if case .selection(let event) = next, matches(event) { return event }
      }
      return nil
    }
  }

  /// Stores a property on any window, as a peer.
  @discardableResult
  func put(_ bytes: [UInt8], type: String, format: UInt8, in property: Atom, of window: Window) -> Serial {
    let type = atoms.intern(type).atom.id
    return bytes.withUnsafeBytes {
      xcb.changeProperty(window: window.id, property: property.id, type: type, format: format, bytes: $0)
    }
  }

  /// Owns a selection as a peer, with the server's time unless another is given.
  func own(_ selection: String, with window: Window, time: ServerTime? = nil) {
    let time = time ?? serverTime()
    xcb.setSelectionOwner(window.id, selection: atoms.intern(selection).atom.id, time: time.milliseconds)
    synchronize()
  }

  /// Gives a window a class.
  func setClass(_ instance: String, _ windowClass: String, on window: Window) {
    let bytes = Array(instance.utf8) + [0] + Array(windowClass.utf8) + [0]
    let string: UInt32 = 31
    _ = bytes.withUnsafeBytes {
      xcb.changeProperty(
        window: window.id, property: AtomNumber.wmClass, type: string, format: 8, bytes: $0)
    }
    synchronize()
  }
}
