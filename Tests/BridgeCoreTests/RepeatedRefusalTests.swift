import Policy
import Selection
import Testing

@testable import BridgeCore

/// A refused paste is written down whenever a person could have made it, and never by the thousand.
@Suite struct RepeatedRefusalTests {
  private static func stage() -> Stage {
    var stage = Stage(Policies.financeStays)
    stage.copy(.init(0x40_0001, Apps.ledger, [("UTF8_STRING", .bytes([1]))]))
    return stage
  }

  private static func refusals(_ stage: Stage) -> [Int] {
    stage.audit.filter { $0.kind == .paste && $0.outcome == .refused }.map(\.count)
  }

  @Test func laterOnesAreCounted() {
    var stage = Self.stage()
    stage.request("UTF8_STRING", by: Apps.browser)
    #expect(Self.refusals(stage) == [1])
    stage.wait(milliseconds: 600)
    stage.request("UTF8_STRING", by: Apps.browser)
    #expect(Self.refusals(stage) == [1], "one paste may be many conversions")
    stage.wait(milliseconds: 600)
    stage.request("UTF8_STRING", by: Apps.browser)
    #expect(Self.refusals(stage) == [1, 2])
    #expect(stage.audit.last?.notifies == false)
    stage.wait(milliseconds: 31_000)
    stage.request("UTF8_STRING", by: Apps.browser)
    #expect(Self.refusals(stage) == [1, 2, 1])
  }

  @Test func pollingIsWrittenOnceAMinute() {
    var stage = Self.stage()
    for _ in 0..<1_200 {
      stage.request("UTF8_STRING", by: Apps.browser)
      stage.wait(milliseconds: 500)
    }
    let counts = Self.refusals(stage)
    #expect((12...18).contains(counts.count), "\(counts.count) records in ten minutes")
    #expect(counts.max() == 120)
  }
}
