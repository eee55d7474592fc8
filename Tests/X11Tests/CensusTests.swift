import Testing

@testable import XPasteBridge

/// Which connections are left for a client without a process. Inodes stand for connections; base 1 is asked about, and
/// its process 10 has ended. Connection 100 is truly its.
@Suite struct CensusTests {
  /// Process 20, with connection 200, is an honest program that forked: its parent 19 is gone.
  private let honest: [UInt32: Int32] = [2: 19]

  private func candidates(
    _ processIDs: [UInt32: Int32], ends: ClosedRange<UInt32>..., holders: [Int32: [UInt32]], unseen: Set<Int32> = [],
    elsewhere: Set<Int32> = [], known: [UInt32: UInt32] = [:]
  ) -> [UInt32: [Int32]] {
    func end(_ inode: UInt32) -> ConnectionEnd { ConnectionEnd(inode: inode, cookie: UInt64(inode), peer: inode + 1) }
    let census = ConnectionCensus(
      processIDs: processIDs, ends: ends.flatMap { $0.map(end) },
      holders: holders.mapValues { Dictionary(uniqueKeysWithValues: $0.map { ($0, 3) }) }, unseen: unseen,
      known: known.mapValues(end), elsewhere: elsewhere)
    return Dictionary(uniqueKeysWithValues: census.candidates(for: 1).map { ($0.end.inode, $0.holders) })
  }

  @Test func theOnlyOneLeft() {
    #expect(
      candidates([0: 5, 1: 10, 3: 30], ends: 100...100, 300...300, holders: [11: [100], 30: [300]]) == [100: [11]])
    // A program whose sockets can't be seen takes part with none.
    #expect(
      candidates([1: 10, 3: 30], ends: 100...100, 300...300, holders: [11: [100]], unseen: [30]) == [100: [11]])
    // Parent and child hold it.
    #expect(candidates([1: 10], ends: 100...100, holders: [11: [100], 12: [100]]) == [100: [11, 12]])
  }

  @Test func anotherForkedOne() {
    let both = honest.merging([1: 10]) { first, _ in first }
    #expect(candidates(both, ends: 100...100, 200...200, holders: [11: [100], 20: [200]]) == [100: [11], 200: [20]])
    #expect(
      candidates(both, ends: 100...100, 200...200, holders: [11: [100], 20: [200]], known: [2: 200]) == [100: [11]])
  }

  /// The holder forbids looking into it, so only the honest connection is seen.
  @Test func hiddenHolder() {
    let both = honest.merging([1: 10]) { first, _ in first }
    #expect(candidates(both, ends: 100...100, 200...200, holders: [20: [200]]).isEmpty)
    // Nor with another client of its own that can't be seen, connected from elsewhere.
    let three = both.merging([3: 30]) { first, _ in first }
    #expect(candidates(three, ends: 100...100, 200...200, holders: [20: [200]], unseen: [30]).isEmpty)
  }

  /// The process that connected lives on as a program that can't be seen, and its child 21 holds that connection, as after
  /// `dbus-launch --exit-with-session`: the child's is no other client's.
  @Test func leftByAProgramThatCannotBeSeen() {
    #expect(
      candidates([1: 10, 2: 40, 4: 40], ends: 200...200, 400...400, holders: [21: [200]], unseen: [40]).isEmpty)
    #expect(
      candidates(
        [1: 10, 2: 40, 4: 40], ends: 100...100, 200...200, 400...400, holders: [21: [200], 11: [100]], unseen: [40]
      ).isEmpty)
  }

  /// dbus-launch's helper holds the connection that it was left and one of its own: both clients are its.
  @Test func twoConnectionsOfOneProcess() {
    func end(_ inode: UInt32) -> ConnectionEnd { ConnectionEnd(inode: inode, cookie: UInt64(inode), peer: inode + 1) }
    let census = ConnectionCensus(
      processIDs: [1: 10, 2: 11], ends: [end(100), end(101)], holders: [11: [100: 3, 101: 4]], unseen: [], known: [:])
    #expect(census.settled().mapValues(\.holder) == [1: 11])
    // Beside another that forked nothing is settled.
    let two = ConnectionCensus(
      processIDs: [1: 10, 2: 11, 3: 12], ends: [end(100), end(101), end(102)],
      holders: [11: [100: 3, 101: 4], 13: [102: 3]], unseen: [], known: [:])
    #expect(two.settled().isEmpty)
  }

  /// Connected from another network name space, the connection isn't listed.
  @Test func connectionOutOfSight() {
    let both = honest.merging([1: 10]) { first, _ in first }
    #expect(candidates(both, ends: 200...200, holders: [11: [], 20: [200]]).isEmpty)
  }

  /// Another client of its own, process 30, also holds the connection in order to have it taken off.
  @Test func heldByANamedProcess() {
    let three = honest.merging([1: 10, 3: 30]) { first, _ in first }
    #expect(
      candidates(three, ends: 100...100, 200...200, 300...300, holders: [20: [200], 30: [100, 300]])
        == [100: [30], 200: [20], 300: [30]])
    // It gives its own connection away unseen: then one is missing.
    #expect(candidates(three, ends: 100...100, 200...200, 300...300, holders: [20: [200], 30: [100]]).isEmpty)
  }

  /// Process 30 was given a number that the server still names for an older client, too.
  @Test func numberUsedAgainByAnotherClient() {
    #expect(
      candidates([1: 30, 3: 30], ends: 100...100, 300...300, holders: [11: [100], 30: [300]])
        == [100: [11], 300: [30]])
  }

  /// Connections that the server doesn't name, as while they begin, or under a false name: more to choose from.
  @Test func connectionsTooMany() {
    #expect(
      candidates([1: 10], ends: 100...101, holders: [11: [100], 40: [101]]) == [100: [11], 101: [40]])
  }
}
