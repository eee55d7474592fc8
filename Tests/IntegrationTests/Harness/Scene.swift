import Foundation
import Testing

/// A desktop with the daemon on it and somebody who pastes: what a fault's test starts from.
final class Scene {
  let desktop: Desktop
  let bridge: Bridge
  let paster: Requestor

  init(policy: String = Bridge.allowAll) throws {
    desktop = try Desktop()
    bridge = try Bridge(on: desktop, policy: policy)
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

  /// Ends the scene; a daemon that doesn't answer or exit cleanly fails the test.
  func end() throws {
    try bridge.stop()
    desktop.close()
  }

  /// Runs a test's body and the proof of health after it.
  static func run(policy: String = Bridge.allowAll, _ body: (Scene) throws -> Void) throws {
    let scene = try Scene(policy: policy)
    defer { scene.desktop.close() }
    try body(scene)
    try scene.end()
  }
}

/// Bytes of size:N as the owner makes them.
func countingBytes(_ count: Int) -> Data { Data((0..<count).map { UInt8($0 % 251) }) }

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
