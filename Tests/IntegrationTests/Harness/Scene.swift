import Foundation
import Testing

/// A desktop with the daemon on it and somebody who pastes: what a fault's test starts from.
final class Scene {
  let desktop: Desktop
  let bridge: Bridge
  let paster: Requestor

  init(
    policy: String = Bridge.allowAll, windowManager: Bool = true, environment: [String: String]? = nil,
    options: [String] = []
  ) throws {
    desktop = try Desktop(windowManager: windowManager)
    // What the command line needs to find the daemon is the one thing that an empty environment can't do without.
    let runtime = ["XDG_RUNTIME_DIR": desktop.environment["XDG_RUNTIME_DIR"]!]
    bridge = try Bridge(
      on: desktop, policy: policy, options: options, environment: environment.map { $0.merging(runtime) { $1 } })
    paster = try desktop.requestor()
  }

  /// An owner that has just copied, and whose copy the daemon has dealt with.
  func copied(_ commands: String..., time: String = "fresh") throws -> Owner {
    let owner = try desktop.owner()
    for command in commands { try owner.tell(command) }
    try owner.claim(time)
    try bridge.sync()
    return owner
  }

  /// Claims without waiting for what the daemon makes of it: for owners that never let it finish.
  func claimed(_ commands: String..., awaiting target: String = "TARGETS") throws -> Owner {
    let owner = try desktop.owner()
    for command in commands { try owner.tell(command) }
    owner.order("claim")
    try owner.wait("claimed")
    try owner.wait("request") { $0.text("target") == target }
    return owner
  }

  /// Somebody else gets the content whole and within a second, whatever is going on.
  func expectOthersServed(
    _ wanted: Data, _ target: String = "UTF8_STRING", sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let answer = try paster.convert(target, "out=\(paster.contentPath)")
    expectSame(try paster.content(of: answer), wanted, target, sourceLocation: sourceLocation)
    let needed = answer.number("us") ?? .max
    #expect(needed < 1_000_000, "served within a second, found \(needed) us", sourceLocation: sourceLocation)
  }

  /// A copy by somebody else replaces whatever is there, within a second.
  @discardableResult
  func expectNextCopy(
    _ text: String = "next", sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Owner {
    let begun = Deadline.now
    let owner = try copied("target UTF8_STRING text:\(text)")
    #expect(try paster.text() == text, sourceLocation: sourceLocation)
    let needed = (Deadline.now - begun) / 1_000_000
    #expect(needed < 1_000, "copied and pasted within a second, found \(needed) ms", sourceLocation: sourceLocation)
    return owner
  }

  /// Ends the scene; a daemon that doesn't answer or exit cleanly fails the test.
  func end() throws {
    try bridge.stop()
    desktop.close()
  }

  /// Runs a test's body and the proof of health after it.
  static func run(
    policy: String = Bridge.allowAll, windowManager: Bool = true, environment: [String: String]? = nil,
    options: [String] = [], _ body: (Scene) throws -> Void
  ) throws {
    let scene = try Scene(policy: policy, windowManager: windowManager, environment: environment, options: options)
    defer { scene.desktop.close() }
    try body(scene)
    try scene.end()
  }
}

/// Bytes of size:N as the owner makes them.
func countingBytes(_ count: Int) -> Data {
  let period = Data(0..<251)
  var bytes = Data(capacity: count + period.count)
  while bytes.count < count { bytes.append(period) }
  return bytes.prefix(count)
}

/// Compares content. `#expect(a == b)` would set out to list the differences, which takes for ever with megabytes.
func expectSame(
  _ found: Data?, _ wanted: Data, _ what: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  guard found != wanted else { return }
  guard let found else {
    Issue.record("\(what): expected \(wanted.count) bytes, found a refusal", sourceLocation: sourceLocation)
    return
  }
  let common = zip(found, wanted).prefix { $0 == $1 }.count
  let shown = found.dropFirst(common).prefix(24).map { String(format: "%02x", $0) }.joined(separator: " ")
  Issue.record(
    "\(what): expected \(wanted.count) bytes, found \(found.count), other from byte \(common): \(shown)",
    sourceLocation: sourceLocation)
}
