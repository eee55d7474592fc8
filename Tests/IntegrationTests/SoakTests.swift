import Foundation
import Testing

extension IntegrationTests {
  /// A short run of the soak with orders that are the same each time; `make soak` is the long one.
  @Suite(.serialized) struct SoakTests {
    @Test("mixed transfers with deaths at random moments: whole or refused, and nothing is left", arguments: [1, 2])
    func mixedTransfers(seed: Int) throws {
      let desktop = try Desktop(windowManager: false)
      defer { desktop.close() }
      let words = ["--binary", try Bridge.binary(), "--clients", try Place.clients.get(), "--seed", "\(seed)"]
      let answer = try desktop.run(
        Place.source + "/Tests/Soak/soak", words + ["--count", "1500"], within: 120)
      let told = String(decoding: answer.output, as: UTF8.self)
      #expect(answer.status == 0, "\(told.suffix(3_000))")
      #expect(told.contains("\n0 faults"), "\(told.suffix(3_000))")
    }
  }
}
