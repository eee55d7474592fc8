import Policy
import Selection

/// A fight over a board's selection: claims of one that come right upon ours.
struct BoardFight: Sendable {
  /// The last of these claims.
  var change: OwnerChange
  /// Who made it.
  var source: Subject
  /// When.
  var lastSeen: MonotonicTime
  /// Claims that were met since we last kept quiet.
  var rounds = 0
  /// Whether it has been written down that the selection was left alone.
  var isTold = false
}

// Nobody gets an endless fight over a board's selection (product.md 5.9): after some rounds it is left alone for a
// while. What the board holds is reached past X meanwhile.
extension Bridge {
  /// Takes note of a claim of a board's selection by somebody else. Gives what follows where that is left alone for now,
  /// and `nil` where it is to be met as always. `denial` is that of one who isn't a member.
  mutating func fightGoesOn(
    _ change: OwnerChange, from phase: Phase, by source: Subject, denial: Decision?, at now: MonotonicTime
  ) -> [Effect]? {
    let selection = change.selection
    guard isBoard(selection) else { return nil }
    // A member's claim is a copy, unless it is a program's answer to ours; nobody else has any business there.
    let milliseconds = denial == nil ? Self.reactionMilliseconds : Self.rivalryMilliseconds
    var isAnswer = claimedAt[selection].map { now < $0.advanced(byMilliseconds: milliseconds) } ?? false
    var isLeft = false
    if case .foreign(_, let rival, isRival: true) = phase {
      // A member needn't wait because of somebody who has no business there.
      isLeft = denial != nil || boardDenial(on: selection, to: rival) == nil
      isAnswer = isLeft
    }
    guard isAnswer else {
      boardFights[selection] = nil
      return nil
    }
    var fight = boardFights[selection] ?? BoardFight(change: change, source: source, lastSeen: now)
    (fight.change, fight.source, fight.lastSeen) = (change, source, isLeft ? fight.lastSeen : now)
    fight.rounds += isLeft ? 0 : 1
    guard isLeft || fight.rounds > (denial == nil ? Self.sourceRounds : Self.rivalryRounds) else {
      boardFights[selection] = fight
      return nil
    }
    var effects: [Effect] = []
    if !fight.isTold {
      let record = AuditRecord(
        kind: .copy, selection: policyName(of: selection), source: source, verdict: denial?.verdict ?? .allow,
        reason: denial?.reason ?? .builtInDefault, outcome: .left, limit: .rival, notifies: true, isAlwaysWritten: true)
      effects = [.audit(record)]
    }
    fight.isTold = true
    boardFights[selection] = fight
    phases[selection] = .foreign(owner: change.owner, source: source, isRival: true)
    return effects
  }

  /// When a board's selection that was left alone is taken again.
  func fightPauses(on selection: NamedAtom) -> MonotonicTime? {
    guard isBoard(selection) else { return nil }
    return boardFights[selection]?.lastSeen.advanced(byMilliseconds: Self.rivalryMilliseconds)
  }

  /// The pause is over: the last claim is met like a new one.
  mutating func resumeFight(on selection: NamedAtom, at now: MonotonicTime) -> [Effect] {
    guard var fight = boardFights[selection] else { return [] }
    fight.rounds = 0
    boardFights[selection] = fight
    guard let denial = boardDenial(on: selection, to: fight.source) else {
      return takeOver(fight.change, fight.source, at: now)
    }
    return denyCopy(fight.change, source: fight.source, denial, isWritten: false)
  }
}
