import Selection
import Testing

@testable import XPasteBridge

@Suite struct SearchBudgetTests {
  private func milliseconds(_ count: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: count * 1_000_000) }

  @Test("searches of one client have a share of the time; beyond it the last finding stands in")
  func share() {
    var budget = SearchBudget()
    #expect(budget.standIn(at: milliseconds(0)) == nil, "nothing was found yet")
    let found = ClientMemory.Finding(source: .sameClient, window: Window(7))
    budget.spend(from: milliseconds(0), to: milliseconds(40), finding: found)
    #expect(budget.standIn(at: milliseconds(40)) == nil, "a person's pastes are always searched for")
    budget.spend(from: milliseconds(40), to: milliseconds(70), finding: found)
    #expect(budget.standIn(at: milliseconds(70))?.window == Window(7))
    #expect(budget.standIn(at: milliseconds(160))?.window == Window(7))
    #expect(budget.standIn(at: milliseconds(180)) == nil, "a fifth of the time has come back")
    budget.spend(from: milliseconds(5_000), to: milliseconds(5_060), finding: found)
    #expect(budget.standIn(at: milliseconds(5_060)) != nil, "what isn't spent doesn't pile up")
  }
}
