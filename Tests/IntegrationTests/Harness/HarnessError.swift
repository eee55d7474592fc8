/// Why a test can't go on: what was expected, what was found, and who was alive then.
struct HarnessError: Error, CustomStringConvertible {
  let description: String

  init(_ place: String, expected: String, found: String, alive: String = "") {
    description = "\(place): expected \(expected), found \(found)" + (alive.isEmpty ? "" : "; alive: \(alive)")
  }
}
